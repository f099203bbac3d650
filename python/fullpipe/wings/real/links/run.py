"""Runs a program behind a path, and reports the results."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from contextlib import nullcontext, suppress
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe import _core
from fullpipe.base import terminal
from fullpipe.errors import UserError, stoppable
from fullpipe.results import disk, objects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fullpipe._core import Scenario


class LinkError(UserError):
    """The program can't run behind the path; the text has the fix."""


class Outcome(NamedTuple):
    """The end of a link: its report, as in `link.json`, and whether Ctrl-C ended the program."""

    report: dict[str, Any]
    interrupted: bool


def link(
    scenario: Scenario,
    command: Sequence[str],
    far: Sequence[Sequence[str]],
    *,
    cc: str | None = None,
    server_cc: str | None = None,
    upload: bool,
    uplink: bool,
    unconfined: bool,
    live: bool,
    out: str | None,
) -> int:
    """Runs `command`, or a shell, and prints a report on standard error at the end.

    Args:
        scenario: The scenario; all packets take the path of its first flow.
        command: The program with its arguments.
        far: Programs for the far end.
        cc: Congestion control of the program's connections, by the kernel's name or fullpipe's; None for the
            machine's.
        server_cc: Congestion control of the far end's connections.
        upload: Whether the program's sent data take the scenario's data path; otherwise its
            received data do.
        uplink: Whether programs can reach the Internet, through a proxy at the far end.
        unconfined: Whether programs can use the machine's devices, shared memory, set-user-ID
            programs and all system calls.
        live: Whether to print a line each second, on a terminal with bars.
        out: A new directory, or the URL of an object store, for the report, the scenario and captures.

    Returns:
        The exit code of the program; 130 if Ctrl-C ended it.

    Raises:
        LinkError: When the program can't run behind the path.
        FileExistsError: When `out` exists already.
        OSError: When this machine does not allow it, or `out` can't be written.
    """
    refuse()
    with objects.fresh(out) if out else nullcontext() as aside:
        shown = _live_lines("up" if upload else "down") if live else None
        with stoppable(lambda: "while the command ran", "it was ended and left nothing behind"):
            report, _ = execute(
                scenario,
                list(command) or [os.environ.get("SHELL", "/bin/sh")],
                far,
                cc=cc,
                server_cc=server_cc,
                upload=upload,
                uplink=uplink,
                unconfined=unconfined,
                each_second=shown,
                aside=aside,
                called=shlex.join(["fullpipe", *sys.argv[1:]]),
            )
    _show(report, out, uplink=uplink)
    return int(report["exit_code"])


def refuse() -> None:
    """Checks whether this place can have a link.

    Raises:
        LinkError: When it can't.
    """
    if sys.platform != "linux":
        raise LinkError(
            "a link needs Linux: network namespaces and TUN devices\n  fix: run it in a virtual machine with Linux"
        )
    if "FULLPIPE_FAR" in os.environ:
        raise LinkError(
            "links can't be nested, and this command runs behind one\n  fix: define the whole path in one link"
        )


def execute(
    scenario: Scenario,
    program: Sequence[str],
    far: Sequence[Sequence[str]],
    *,
    cc: str | None,
    server_cc: str | None,
    upload: bool,
    uplink: bool,
    unconfined: bool,
    each_second: Callable[[dict[str, Any]], object] | None,
    aside: Path | None,
    called: str,
    named: Sequence[str] = (),
) -> Outcome:
    """Runs a program behind a path.

    Args:
        scenario: The scenario; all packets take the path of its first flow.
        program: The program with its arguments.
        far: Programs for the far end.
        cc: As for :func:`link`.
        server_cc: As for :func:`link`.
        upload: As for :func:`link`.
        uplink: As for :func:`link`.
        unconfined: As for :func:`link`.
        each_second: Called each second with its numbers.
        aside: A directory for captures, report, scenario, metrics and trace.
        called: The command, for results in `aside`.
        named: The program that titles and results name; empty for `program` itself.

    Raises:
        LinkError: When the program can't run behind the path.
        OSError: When this machine does not allow it, or `aside` can't be written.
    """
    outcome = _run(
        each_second or (lambda _: None),
        lambda: _core.link(
            scenario,
            list(program),
            [list(one) for one in far],
            cc=cc,
            far_cc=server_cc,
            upload=upload,
            uplink=uplink,
            unconfined=unconfined,
            live=each_second is not None,
            captures=aside,
        ),
    )
    if aside:
        from fullpipe.wings.real.links.series import keep

        report = outcome.report
        series = report.pop("series")
        began = series["began_s"]
        report["flows"] = keep(aside, report, series, scenario, named or program, called)._asdict()
        disk.write(aside / "link.json", json.dumps(report, indent=1) + "\n")
        report["began_s"] = began
    return outcome


def _run(live: Callable[[dict[str, Any]], object], begin: Callable[[], _core.LinkRun]) -> Outcome:
    """Runs it, calls `live` each second with its numbers, and returns the outcome."""
    interrupts = 0
    in_front = _in_foreground()

    def interrupted(_number: int, _frame: object) -> None:
        nonlocal interrupts
        interrupts += 1

    before = signal.getsignal(signal.SIGINT)
    # Ignored as in the background of a script; another thread than the main one gets no signal.
    handles = before is not signal.SIG_IGN and current_thread() is main_thread()
    if handles:
        signal.signal(signal.SIGINT, interrupted)
    report: dict[str, Any] | None = None
    refused = None
    stopped = False
    run = None
    try:
        run = begin()
        while (heard := run.hear()) is not None:
            # The terminal's Ctrl-C also reaches the command. The command handles the first
            # Ctrl-C; the second one ends the command.
            if interrupts > (1 if in_front else 0):
                stopped = True
                run.stop()
            said = json.loads(heard or "{}")
            if "live" in said:
                live(said["live"])
            if "trouble" in said:
                refused = f"{said['trouble']['problem']}\n  fix: {said['trouble']['fix']}"
            if "refused" in said.get("done", {}):
                refused = said["done"]["refused"]
            elif "done" in said:
                report = said["done"]
    finally:
        if run is not None:
            run.end()
        if handles:
            signal.signal(signal.SIGINT, before)
        _take_terminal_back(in_front)
    if report is None:
        raise LinkError(
            refused
            or "the processes that emulate the path were killed and left nothing behind\n  fix: run it again"
        )
    if stopped and report["exit_code"] == 128 + signal.SIGTERM:  # as Ctrl-C ends every command
        report["exit_code"] = 128 + signal.SIGINT
    return Outcome(report, interrupts > 0)


def _live_lines(way: str) -> Callable[[dict[str, Any]], None]:
    """Returns a function that prints a second's numbers, on a terminal with bars for the direction `way`."""
    from fullpipe.wings.real.links.chart import LEAST_WIDTH, Chart
    from fullpipe.wings.real.links.show import LIVE_HEADER, live

    console = terminal.console(stderr=True)
    utf8 = console.encoding.lower().replace("-", "") == "utf8"
    if sys.stderr.isatty() and console.width >= LEAST_WIDTH and utf8:
        chart = Chart(way, console.width - 1)

        def draw(now: dict[str, Any]) -> None:
            for line in chart.lines(now):
                console.print(line, soft_wrap=True)

        return draw
    header = [LIVE_HEADER]

    def say(now: dict[str, Any]) -> None:
        while header:
            print(header.pop(), file=sys.stderr)
        print(live(now), file=sys.stderr, flush=True)

    return say


def _show(report: dict[str, Any], out: str | None, *, uplink: bool) -> None:
    from fullpipe.wings.real.links.show import show, unreached

    console = terminal.console(stderr=True)
    console.print()
    show(report, console)
    if words := unreached(report, uplink=uplink):
        console.print(words, markup=False, highlight=False, soft_wrap=True)
    if out:
        console.print(
            f"kept in {out}: near.pcapng, far.pcapng, link.json, metrics and trace",
            markup=False,
            soft_wrap=True,
        )


def _in_foreground() -> bool:
    with suppress(OSError):
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    return False


def _take_terminal_back(was_ours: bool) -> None:
    """Takes back the terminal's foreground, which a shell takes and can't return from its namespace."""
    if was_ours and current_thread() is main_thread():
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with suppress(OSError):
            os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, before)
