"""Errors for users, and the early end of a command: a message and an exit code with the reason.

The exit code is 2 for an error that the user can fix, 3 if a condition was not evaluated, and 128 + n for signal n.
"""

from __future__ import annotations

import _thread
import errno
import math
import os
import re
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from fullpipe import _core
from fullpipe._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, TracebackType


UNEVALUATED = 3
"""The exit code of a command that judges, if no condition is missed and one was not evaluated."""

CALL_S = 10.0
"""Time within which a call of a class must return."""
WAKES: int | None = getattr(signal, "SIGURG", None)
"""The signal that wakes a waiting main thread; the system ignores it."""

called: dict[str, str] = {}
"""Words of an error, and those with which the user gave them: an option for a `--set`."""


CONTROLLER = "controller "
"""The beginning of the core's note about an exception of a user's class: its name and the time."""
_METHODS = "docs/reference/controller.md has the methods and their arguments"


class UserError(ValueError):
    """An error that the user can fix; the text has the place, the problem and the fix."""


class DamagedError(UserError):
    """A kept file is damaged, or of another version of fullpipe; the text has the file and the fix."""


class OtherVersionError(DamagedError):
    """A kept file is of another version of fullpipe."""


class RunnerError(UserError):
    """The runner is unknown or not installed; the text lists the known ones, or says how to install it."""


class UnrepeatableError(UserError):
    """A run had other results when it ran again: an algorithm keeps state from run to run, or depends on a clock."""


class EndlessCallError(Exception):
    """A method of a user's class does not return; raised in the method, at the line of its loop."""

    def __init__(self, text: str = "the method does not return") -> None:
        super().__init__(text)  # a worker of a cluster sends it with its text


class WaitingCallError(UserError):
    """A method of a user's class waits, and does not return; the text has the method and the line."""


class OfClassError(Exception):
    """An exception of a user's class on its way out of a command.

    No code of a command takes it for an end of its own: EOFError and `click.Abort` would be a missed condition,
    `click.exceptions.Exit(0)` success, OSError an error about a file of the command.

    Attributes:
        error: The exception.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error

    def __str__(self) -> str:
        """Returns the exception in words."""
        return f"{type(self.error).__name__}: {self.error}"


def of_class(error: BaseException) -> BaseException:
    """Returns what a user's class raises to its caller: in a command an :class:`OfClassError`.

    The end by a signal is unchanged, and so is the core's own error about the class, which has no traceback.
    """
    if not Exit.of_command or isinstance(error, Stopped | OfClassError):
        return error
    return (
        error
        if isinstance(error, ScenarioError) and error.__traceback__ is None
        else OfClassError(error)
    )


class FailedRunsError(UserError):
    """Runs of a sweep failed; the text has the first error. Finished runs are kept."""

    def __init__(self, what: str, first: Exception, *, in_a_row: bool = False) -> None:
        super().__init__(
            f"{what}; finished runs are kept, and the same command makes the others; the first error: {first}"
        )
        self.first = first
        """The first error."""
        self.in_a_row = in_a_row
        """Whether the failures came one after another, so that more runs would fail too."""


def how_to_add(extra: str) -> str:
    """Returns how to install an extra."""
    return (
        f"in a clone of fullpipe, run make extra EXTRA={extra}; in an environment of your own, "
        f"run pip install '.[{extra}]' there"
    )


class MissingExtraError(ImportError):
    """A package that an extra brings is not installed; the text has the fix."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs {package}, which is an extra\n  fix: {how_to_add(extra)}",
            name=package,
        )


def refusal(
    problem: str, fix: str, *, file: str = "", key: str = "", value: str = "", place: str = ""
) -> ScenarioError:
    """A :class:`ScenarioError` with the same text and attributes as the core's.

    The text begins with `place`, or else with those of file, key and value that are given.
    """
    if not place:
        where = f"{key} = {value}" if key and value else key
        place = ": ".join(part for part in (file, where) if part)
    error = ScenarioError(f"{place}: {problem}\n  fix: {fix}")
    error.file, error.line, error.key, error.value, error.problem, error.fix = (
        file,
        None,
        key,
        value,
        problem,
        fix,
    )
    return error


ENDS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals that end a command cleanly."""
_ONCE_S = 0.2
"""Time within which a second signal is the same one: a terminal sends it to a command's parent and child."""


class Exit:
    """The way in which the command ends."""

    of_command = False
    """Whether this process is the command's."""

    told: int | None = None
    """The end to write of the pipe that takes the exit code to the parent of :mod:`fullpipe.algorithms.guard`."""

    at_once = False
    """Whether it leaves out the clean-up of the interpreter and of libraries: Ray's may abort the process after its
    cluster is lost or half started, and a thread whose algorithm does not return would never end."""

    alone = False
    """Whether the command prints JSON or Markdown alone on standard output."""

    heard: int | None = None
    """The end to write of the pipe from which the thread of :func:`watch_signals` reads."""

    endless: WaitingCallError | None = None
    """The error to raise in the main thread when it is woken."""

    stopped = (0, -math.inf)
    """The number of the last signal that ended the command, and its time."""

    passed_on = False
    """Whether another exception than the signal's own ends the command, so that the signal need not come again."""


@contextmanager
def ending() -> Iterator[None]:
    """Ends the process with the exit code of the block, at once if :class:`Exit` says so.

    After the work, Ctrl-C changes nothing any more: Python gives SIGINT back to the system before
    it unloads its modules, and the system would kill the process.
    """
    Exit.of_command, Exit.passed_on = True, False
    try:
        yield
    except SystemExit as end:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if isinstance(end, Stopped):
            end.answered = True
        code = end.code if isinstance(end.code, int) else 2 if end.code else 0
        if Exit.told is not None:
            os.write(Exit.told, bytes([code & 0xFF]))
        if Exit.at_once:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        raise
    finally:
        Exit.of_command = False


class Stopped(SystemExit):
    """A signal ended the command. No `except Exception` catches it, and every context cleans up.

    Python raises it between any two steps, so also where a library drops all errors, as some do while they are
    imported. Then the signal comes again.
    """

    code: int
    answered = False
    """Whether the command ends by it."""

    def __del__(self) -> None:
        if not self.answered and Exit.of_command:
            # Not here: an error of this method is dropped, too.
            _thread.start_new_thread(_again, (self.code - 128,))


def _again(number: int) -> None:
    time.sleep(_ONCE_S)
    if Exit.of_command and not Exit.passed_on:
        Exit.stopped = 0, -math.inf
        os.kill(os.getpid(), number)


def fail(problem: object) -> NoReturn:
    """Prints the problem and ends the command."""
    text = str(problem)
    for words, name in called.items():
        text = re.sub(rf"^\w+ with {re.escape(words)}(, point [^:]*)?:", f"{name}:", text)
        text = text.replace(words, name)
    print(f"error: {text}", file=sys.stderr)
    raise SystemExit(2)


@contextmanager
def user_errors() -> Iterator[None]:
    """Fails if the block raises an error that the user can fix: about a scenario, a runner, a file or a directory."""
    try:
        yield
    except (ScenarioError, UserError, FileExistsError) as error:
        fail(error)
    except OSError as error:
        if not (error.filename and error.strerror):
            fail(error)
        fix = of_disk(error) or _of_home(error)
        fail(f"{error.filename}: {error.strerror}" + (f"\n  fix: {fix}" if fix else ""))


def of_disk(error: OSError) -> str:
    """Returns the fix if the disk is the reason of an error; empty otherwise."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "make room on the disk, then run the same command again"
        case errno.EIO:
            return "check the disk, then run the same command again"
    return ""


def _of_home(error: OSError) -> str:
    """Returns the fix if a directory of the user's can't be made or written; empty otherwise."""
    place, denied = (
        Path(str(error.filename)),
        error.errno in (errno.EACCES, errno.EPERM, errno.EROFS),
    )
    for variable, usual in (("XDG_CACHE_HOME", ".cache"), ("XDG_STATE_HOME", ".local/state")):
        home = Path(os.path.expanduser("~"))  # noqa: PTH111  (which a user may not have)
        folder = Path(os.environ.get(variable) or home / usual)
        # The error may name a directory above it.
        inside, above = place.is_relative_to(folder), folder.is_relative_to(place)
        if (inside and denied) or (above and not place.is_dir()):
            return f"set {variable} to a directory that this user can write"
    return ""


@contextmanager
def stoppable(
    where: Callable[[], str], kept: str | Callable[[], str] = "nothing kept"
) -> Iterator[None]:
    """Ends the command on Ctrl-C or a signal, and prints `where` the block was and which results are `kept`."""
    try:
        yield
    except (KeyboardInterrupt, Stopped) as stop:
        if isinstance(stop, Stopped):
            stop.answered = True
        with suppress(OSError):  # SIGHUP: the terminal is gone
            print(
                f"interrupted {where()}{_in_a_call(stop)}; {kept if isinstance(kept, str) else kept()}",
                file=sys.stderr,
            )
        raise SystemExit(stop.code if isinstance(stop, Stopped) else 128 + signal.SIGINT) from None


def _in_a_call(stop: BaseException) -> str:
    """Returns the call of a class during which a signal ended the command; empty without one."""
    notes = " ".join(getattr(stop, "__notes__", ()))
    found = re.search(rf"{CONTROLLER}(\S+) failed at (\S+ s)", notes)
    trace = _of_the_user(stop)
    if not (found and trace):
        return ""
    name, at = found.groups()
    return f", in {trace.tb_frame.f_code.co_name} of {name}, called at {at}"


def heed_signals() -> None:
    """Lets SIGINT, SIGTERM and SIGHUP end the command cleanly, and SIGPIPE silently.

    Python's own handler of SIGINT raises KeyboardInterrupt, which click answers with exit code 1.
    """
    for number in ENDS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _stop)
    if hasattr(signal, "SIGPIPE"):
        # Like other commands in a pipeline: `fullpipe … | head -1`.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _stop(number: int, _frame: object) -> None:
    if Exit.heard is not None:
        with suppress(OSError):
            os.write(Exit.heard, b"\0")
    last, at = Exit.stopped
    Exit.stopped = number, time.monotonic()
    if Exit.told is None or number != last or Exit.stopped[1] > at + _ONCE_S:
        raise Stopped(128 + number)


def watch_signals() -> None:
    """Ends the command soon after a signal, though an algorithm in Python may be in a call that does not return.

    Python handles a signal between two steps of its own code, so that `10**10**9` or a slow regular expression in
    `on_ack` would keep it from that.
    """
    if Exit.heard is None and Exit.of_command and sys.platform == "linux":
        reads, Exit.heard = os.pipe()
        os.set_blocking(Exit.heard, False)
        _watch(reads, bytes(ENDS), Exit.told)
        limit_calls(Exit.told)
        signal.set_wakeup_fd(Exit.heard, warn_on_full_buffer=False)


def limit_calls(exits: int | None = None) -> None:
    """Ends a call of a class that does not return, and wakes one that waits, in a process that is fullpipe's own.

    Args:
        exits: The pipe for the exit code, if the process has one.
    """
    _core.limit_calls(exits, CALL_S)
    if WAKES is not None:
        signal.signal(WAKES, _woken)


def _watch(reads: int, numbers: bytes, told: int | None) -> None:
    # In one of its threads a signal would be handled before its number is in the pipe.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    _core.watch_signals(reads, numbers, told)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def interruptible() -> Iterator[None]:
    """Lets Ctrl-C end a call of the API soon, as :func:`watch_signals` lets it end a command.

    KeyboardInterrupt reaches the caller, unless an algorithm keeps the interpreter for a second: the script ends then.
    An interactive interpreter does not, since its user may still wait.
    """
    usual = sys.platform == "linux" and threading.current_thread() is threading.main_thread()
    if (
        not usual
        or Exit.of_command
        or hasattr(sys, "ps1")
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    reads, heard = os.pipe()
    os.set_blocking(heard, False)

    def interrupt(number: int, frame: FrameType | None) -> None:
        os.write(heard, b"\0")
        signal.default_int_handler(number, frame)

    _watch(reads, bytes([signal.SIGINT]), None)
    before = signal.set_wakeup_fd(heard, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, interrupt)
    wakes = WAKES is not None and signal.getsignal(WAKES) is signal.SIG_DFL
    if WAKES is not None and wakes:
        signal.signal(WAKES, _woken)
    try:
        yield
    finally:
        if WAKES is not None and wakes:
            signal.signal(WAKES, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(before)
        os.close(heard)


def end_call(thread: int) -> None:
    """Raises :class:`EndlessCallError` in a thread, at its next step, unless a debugger waits there.

    A main thread that waits is woken for it.
    """
    if not _is_debugged(thread):
        _raise_in(thread, EndlessCallError)
        if thread == threading.main_thread().ident:
            _wake()


def end_wait(thread: int) -> None:
    """Ends the command if the call of a thread waits still, which only the main thread can be woken from."""
    if thread != threading.main_thread().ident and (text := waiting(thread)):
        Exit.endless = WaitingCallError(text)
        _wake()


def waiting(thread: int) -> str | None:
    """Returns the error about a thread's call that does not return, with its place; None if a debugger waits there."""
    frame = sys._current_frames().get(thread)
    if frame is None or _is_debugged(thread):
        return None
    import traceback

    own: list[traceback.FrameSummary] = []
    for each in traceback.extract_stack(frame):
        if Path(each.filename).is_relative_to(Path(__file__).parent):
            own.clear()
        elif not _is_not_the_users(each.filename):
            own.append(each)
    method = own[0].name if own else "a method of a class"
    place = "".join(traceback.format_list(own)).rstrip()
    return f"{method} does not return\n{place}\n  fix: let each method of the class return, and wait for nothing"


def _is_debugged(thread: int) -> bool:
    """Whether a debugger is attached to a thread, or waits in it."""
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    if monitoring and monitoring.get_tool(monitoring.DEBUGGER_ID):
        return True
    frame = sys._current_frames().get(thread)
    while frame is not None:
        name = Path(frame.f_code.co_filename).name
        if name in ("pdb.py", "bdb.py") or name.startswith("pydevd") or frame.f_trace:
            return True
        frame = frame.f_back
    return False


def _wake() -> None:
    main = threading.main_thread().ident
    if WAKES is not None and main is not None and signal.getsignal(WAKES) is _woken:
        signal.pthread_kill(main, WAKES)


def _woken(_number: int, _frame: object) -> None:
    """Raises what ends the command; an exception that was raised in the main thread itself needs none of it."""
    error, Exit.endless = Exit.endless, None
    if error is not None:
        raise error


def _raise_in(thread: int, kind: type[BaseException]) -> None:
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))


def interrupt_calls() -> None:
    """Raises KeyboardInterrupt in the calls of algorithms in Python on the core's threads, at the next step of each."""
    own = {
        each.ident for each in threading.enumerate() if not isinstance(each, threading._DummyThread)
    }
    for each in sys._current_frames().keys() - own:
        _raise_in(each, KeyboardInterrupt)


@contextmanager
def printing() -> Iterator[None]:
    """Fails if standard output can't be written, in the block or by the flush at its end."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise  # it is about another file
        # Otherwise Python would try to write the rest again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error: standard output: {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None


@contextmanager
def tracebacks() -> Iterator[None]:
    """Fails with the traceback of any other exception, which begins in the user's own code if that raised it."""
    try:
        yield
    except Stopped:
        with suppress(OSError):
            print("interrupted", file=sys.stderr)
        raise
    except (Exception, SystemExit) as raised:
        error: BaseException = raised
        if isinstance(error, OfClassError):
            error = error.error
        elif isinstance(error, SystemExit):
            raise
        if missing := _lacks(error):
            print(
                f"error: fullpipe._core has no {missing}: the compiled part is older than the rest\n"
                "  fix: run make setup",
                file=sys.stderr,
            )
            raise SystemExit(2) from None
        print(_traced(error), file=sys.stderr)
        raise SystemExit(2) from None


def _traced(error: BaseException) -> str:
    """Returns an exception with its traceback, which begins in the user's own code, and the class that raised it."""
    import traceback

    trace = _of_the_user(error)
    notes: list[str] = getattr(error, "__notes__", [])
    of = next((each for each in notes if each.startswith(CONTROLLER)), "")
    others = [each for each in notes if each != of]
    if of and trace is None:  # the call itself failed: a method with other arguments
        problem = ", ".join([f"{type(error).__name__}: {error}", *others])
        return f"error: {of}: {problem}\n  fix: {_METHODS}"
    head = ""
    if of and trace is not None:
        method = trace.tb_frame.f_code.co_name
        place = "" if method.startswith("<") else f" in {method}"
        head = f"error: {of}{place}\n"
    if of:
        error.__notes__ = others
    try:
        lines = traceback.format_exception(error.with_traceback(trace or error.__traceback__))
    finally:
        if of:
            error.__notes__ = notes
    return head + "".join(lines).removesuffix("\n")


def in_words(error: BaseException) -> str:
    """Returns an error as the command prints it."""
    if isinstance(error, OfClassError):
        error = error.error
    elif isinstance(error, ScenarioError | UserError | OSError):
        return f"error: {error}"
    return _traced(error)


def _of_the_user(error: BaseException) -> TracebackType | None:
    """Returns the traceback of an exception from the first frame of the user's own code on."""
    trace = error.__traceback__
    while trace is not None and _is_not_the_users(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def is_of_class(error: BaseException) -> bool:
    """Whether an exception comes from a user's class, as the core has noted."""
    return any(each.startswith(CONTROLLER) for each in getattr(error, "__notes__", ()))


def _lacks(error: BaseException) -> str | None:
    """Returns the name that the compiled part lacks, if that is the error: a checkout was updated, and not built."""
    if isinstance(error, AttributeError) and error.obj is sys.modules.get("fullpipe._core"):
        return error.name
    if isinstance(error, ImportError) and error.name == "fullpipe._core":
        return error.msg.partition("name '")[2].partition("'")[0]
    return None


def _is_not_the_users(file: str) -> bool:
    libraries = (Path(__file__).parent, Path(os.__file__).parent)
    return (
        file.startswith("<frozen ")
        or any(map(Path(file).is_relative_to, libraries))
        or "site-packages" in file
    )
