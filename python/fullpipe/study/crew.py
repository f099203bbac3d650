"""Processes that run parts of a plan side by side: threads would wait for each other in the methods of a Python class.

Each imports the classes by their names, and makes the same plan; this process runs a part, too. Classes that another
process can't import, as those of a notebook, run in this one alone.
"""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe import _core
from fullpipe.algorithms.classes import sources
from fullpipe.errors import ENDS, UserError, limit_calls
from fullpipe.study.engine import Shard, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from fullpipe._core import _Rows
    from fullpipe.study.spec import Planned

    Steps = Callable[[Sequence[tuple[int, int]]], Generator[Step, None, None]]

_LOOK_UP_S = 0.1
_START_S = 60.0
_END_S = 1.0


class Done(NamedTuple):
    """Finished runs.

    Attributes:
        rows: Their metrics.
        packets: The packets that they moved.
        seconds: The time that they took.
    """

    rows: _Rows
    packets: int
    seconds: float


class FailedError(Exception):
    """Runs that failed in another process.

    Attributes:
        first: The number of the first run.
        end: The number after that of the last run.
        text: The traceback.
    """

    def __init__(self, first: int, end: int, text: str) -> None:
        super().__init__(text)
        self.first, self.end, self.text = first, end, text


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection
    doing: tuple[int, int] | None = None


class Crew:
    """Processes that execute runs of a plan, next to this one, until it is closed."""

    def __init__(self, workers: Sequence[_Worker]) -> None:
        self._workers = workers

    @staticmethod
    def of(spec: Planned, number: int) -> Crew | None:
        """Starts the processes; returns None if they can't make the plan or import its classes."""
        told = _told(spec)
        if told is None or not sys.executable:
            return None
        crew = Crew([_start() for _ in range(number)])
        try:
            for each in crew._workers:
                each.pipe.send_bytes(told)
            ready = [each.pipe.poll(_START_S) and each.pipe.recv() for each in crew._workers]
        except (EOFError, OSError):
            ready = [False]
        except BaseException:
            crew.close()
            raise
        if all(ready):
            return crew
        crew.close()
        return None

    def steps(
        self, ranges: Sequence[tuple[int, int]], task_s: float, here: Steps
    ) -> Generator[Step, None, None]:
        """Executes ranges of runs, about `task_s` of work at a time, in the processes and here.

        Args:
            ranges: The ranges.
            task_s: Seconds of work in a task.
            here: Executes ranges in this process.

        Raises:
            FailedError: When a run fails in another process.
            UserError: When a process ends.
            Exception: That of a run that fails here.
        """
        left = [*reversed(ranges)]
        runs, packets, seconds = 0, 0, 0.0
        own: Generator[Step, None, None] | None = None
        begun = 0.0

        def task() -> tuple[int, int] | None:
            if not left:
                return None
            first, end = left.pop()
            fair = math.ceil((sum(b - a for a, b in left) + end - first) / self.size / 2)
            some = math.ceil(task_s * runs / seconds) if seconds else 1
            some = min(some, end - first, fair)
            if first + some < end:
                left.append((first + some, end))
            return first, first + some

        try:
            while True:
                for each in self._workers:
                    if not each.doing and (given := task()):
                        each.doing = given
                        with suppress(OSError):  # `_done` tells the end of the process
                            each.pipe.send(given)
                if own is None and (given := task()):
                    own, begun = here([given]), time.monotonic()
                busy = [each for each in self._workers if each.doing]
                if own is None and not busy:
                    return
                step = next(own, None) if own else Step(0, 0)
                yield Step(runs, packets)
                if step is None:
                    own = None
                elif step.shard:
                    runs, packets = runs + step.runs, packets + step.packets
                    seconds += time.monotonic() - begun
                    yield Step(runs, packets, step.shard)
                heard = wait([each.pipe for each in busy], 0 if own else _LOOK_UP_S)
                for each in busy:
                    if each.pipe in heard and each.doing:
                        first, end = each.doing
                        done = _done(each)
                        runs, packets = runs + end - first, packets + done.packets
                        seconds += done.seconds
                        each.doing = None
                        yield Step(runs, packets, Shard(first, end, done.rows))
        finally:
            if own:
                own.close()

    @property
    def size(self) -> int:
        """The number of runs at a time, here included."""
        return len(self._workers) + 1

    def close(self) -> None:
        """Ends the processes: at once if they are at work."""
        for each in self._workers:
            each.pipe.close()
            if each.doing:
                each.process.kill()
        end = time.monotonic() + _END_S
        for each in self._workers:
            try:
                each.process.wait(max(end - time.monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                each.process.kill()
                each.process.wait()


def _start() -> _Worker:
    pipe, theirs = Pipe()
    call = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        f"from fullpipe.study.crew import serve; serve({theirs.fileno()}, {os.getpid()})"
    )
    # The signals of a terminal are for this process, which ends the other.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", call], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
    return _Worker(process, pipe)


def _done(worker: _Worker) -> Done:
    assert worker.doing is not None
    first, end = worker.doing
    try:
        made: Done | str = worker.pipe.recv()
    except (EOFError, OSError):
        code = worker.process.wait()
        how = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        runs = f"runs {first + 1} to {end}" if end - first > 1 else f"run {end}"
        raise UserError(
            f"a process of the sweep ended {how} in {runs}; finished runs are kept\n"
            "  fix: let the algorithm raise an exception; if memory was the reason, use fewer threads: --threads 1"
        ) from None
    if isinstance(made, str):
        raise FailedError(first, end, made)
    return made


def _told(spec: Planned) -> bytes | None:
    """Returns what a process needs to make the plan; None if it can't be sent."""
    libraries = [(each.name, str(each.file)) for each in spec.plugins]
    if any(each.file.read_bytes() != each.content for each in spec.plugins):
        return None  # it was built again
    if any(made.__module__ == "__main__" for _, made, _ in spec.classes):
        return None
    try:
        plan = pickle.dumps(spec.moved(str))
    except (AttributeError, TypeError, pickle.PicklingError):
        return None
    return pickle.dumps((libraries, plan, _digest(spec)))


def _digest(spec: Planned) -> str:
    return hashlib.sha256(sources(spec.classes)).hexdigest()


def serve(descriptor: int, parent: int) -> None:
    """Executes the runs that a crew asks for; called in a process of its own.

    Args:
        descriptor: That of the connection to the crew.
        parent: The number of the crew's process.
    """
    if sys.platform == "linux":
        _core.end_with(parent)
        limit_calls()
    pipe = Connection(descriptor)
    with suppress(EOFError, BrokenPipeError):
        spec = _prepared(pipe.recv_bytes())
        pipe.send(spec is not None)
        while spec is not None:
            first, end = pipe.recv()
            start = time.perf_counter()
            try:
                made: Any = Done(*spec.work(first, end), time.perf_counter() - start)
            except BaseException:
                made = traceback.format_exc()
            pipe.send(made)


def _prepared(told: bytes) -> Planned | None:
    """Returns the runs, ready to be made; None if they would not be the crew's."""
    libraries, plan, digest = pickle.loads(told)
    try:
        for name, file in libraries:
            _core.load_plugin(file, name, replaces=True)
        spec: Planned = pickle.loads(plan)
        spec.prepare()
    except Exception:
        return None
    return spec if _digest(spec) == digest else None
