"""Progress of one run and of many: as a bar on a terminal or in a notebook, elsewhere as a line a minute."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from fullpipe.base.notebook import Line, is_notebook
from fullpipe.base.terminal import console
from fullpipe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rich.progress import Progress, ProgressColumn

PERIOD = "FULLPIPE_PROGRESS_S"
"""The environment variable with the seconds between two lines of progress."""
_PERIOD_S = 60.0


class Log:
    """Prints a line of progress a minute on standard error if it is no terminal, as in CI; nothing for shorter work."""

    def __init__(self, words: Callable[[], str]) -> None:
        """Takes the function that returns the progress in words."""
        self._words = words
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Log:
        if not sys.stderr.isatty() and not is_notebook():
            period_s, begun = _period_s(), time.monotonic()
            # A thread, since a single run may last for hours without a word.
            self._thread = threading.Thread(target=self._run, args=(period_s, begun), daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, period_s: float, begun: float) -> None:
        while not self._ended.wait(period_s):
            with suppress(OSError):  # the reader of a pipe has gone
                line = f"{self._words()}, {_clock(time.monotonic() - begun)} so far"
                print(line, file=sys.stderr, flush=True)


def _period_s() -> float:
    text = os.environ.get(PERIOD, f"{_PERIOD_S}")
    with suppress(ValueError):
        if (period_s := float(text)) > 0:
            return period_s
    raise UserError(f"{PERIOD} = {text}: not a number of seconds\n  fix: write one, like 10")


class Bar:
    """Shows the progress of a run on standard error, or in a notebook's cell.

    Call it as :func:`fullpipe.run` calls its `progress`.

    Attributes:
        at: The progress in words.
    """

    _PATIENCE_S = 1.0
    PERIOD_S = 0.1

    def __init__(self, what: str = "simulating") -> None:
        self._what = what
        self._line = Line() if is_notebook() else None
        shown = sys.stderr.isatty() or self._line is not None
        self._next = time.monotonic() + self._PATIENCE_S if shown else float("inf")
        self._bar: Progress | None = None
        self.at = "before the run"
        self._log = Log(lambda: f"{self._what}, {self.at}")

    def __call__(self, done_s: float, duration_s: float, events: int) -> None:
        """Updates the bar: `done_s` of `duration_s` seconds of virtual time are done, after `events` events."""
        self.at = f"at {done_s:.1f} of {duration_s:g} s"
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self.PERIOD_S
        if self._line is not None:
            words = f"{self._what}, {done_s:.1f} of {duration_s:g} s"
            self._line.show(done_s, duration_s, words)
            return
        if self._bar is None:
            self._bar = self._make(duration_s)
        count = f", {events / 1e6:.1f} M events" if events else ""
        self._bar.update(self._bar.task_ids[0], completed=done_s, events=count)

    def __enter__(self) -> Bar:
        self.at = "while the run began"
        self._log.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._log.__exit__()
        if self._bar is not None:
            self._bar.stop()
        if self._line is not None:
            self._line.stop()
        if kind is None:
            self.at = "after the run"

    def _make(self, duration_s: float) -> Progress:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn(self._what),
            BarColumn(),
            TextColumn("{task.completed:.1f} of {task.total:g} s{task.fields[events]},"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console(stderr=True),
            transient=True,
        )
        bar.add_task("run", total=duration_s, events="")
        bar.start()
        return bar


class Intervals(Bar):
    """Shows the progress of a run in real time, and on a terminal a line per second and flow, as iperf3 does."""

    MOST = 8
    """The largest number of flows with lines: more would hide each other."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._names: set[str] = set()

    def interval_of(
        self, name: str, from_s: float, to_s: float, counts: tuple[int, int, int]
    ) -> None:
        """Prints the line of a flow.

        Args:
            name: Its name.
            from_s: Start of the interval.
            to_s: Its end.
            counts: Bytes acknowledged, packets sent again, congestion window in bytes.
        """
        if not sys.stderr.isatty() or len(self._names | {name}) > self.MOST:
            return
        out = self._bar.console if self._bar else console(stderr=True)
        if not self._names:
            out.print(f"{'interval':>15} {'bitrate':>13} {'re-sent':>8} {'cwnd':>10}  flow")
        self._names.add(name)
        acked, again, cwnd = counts
        rate = f"{8e-6 * acked / max(to_s - from_s, 1e-9):,.2f} Mbit/s"
        out.print(
            f"{from_s:>6.2f}-{to_s:<6.2f} s {rate:>13} {again:>8,} {cwnd / 1e3:>7,.0f} kB  {name}",
            markup=False,
            soft_wrap=True,
        )


class Counter:
    """Shows the progress of a sweep, or of other counted work, on standard error, or in a notebook's cell.

    Attributes:
        at: The progress in words.
    """

    def __init__(self, silent: bool = False, of: str = "runs", *, notes: bool = True) -> None:
        """Shows nothing if it is `silent`, and prints no notes without `notes`."""
        self.at = f"before the first of the {of}"
        self._of = of
        self._speaks = notes and not silent
        self._log = None if silent else Log(lambda: ", ".join(filter(None, (self._what, self.at))))
        self._line = Line() if is_notebook() else None
        self._silent = self._line is None and (silent or not sys.stderr.isatty())
        self._next = 0.0
        self._bar: Progress | None = None
        self._before = self._total = 0
        self._what = ""
        self._begun = time.monotonic()

    def begin(self, total: int, done: int, what: str = "running") -> None:
        """Begins with `total` runs, `done` of them finished already. May be called again with more runs."""
        self._what = what
        self._total, self._before, self._begun = total, done, time.monotonic()
        self.show(0, 0)

    def show(self, runs: int, packets: int, left_s: float | None = None) -> None:
        """Updates the bar.

        Args:
            runs: Runs finished since `begin`.
            packets: Packets that they moved.
            left_s: Seconds that the remaining runs take; None to estimate them from the finished ones.
        """
        done = self._before + runs
        self.at = f"after {done:,} of {self._total:,} {self._of}"
        if self._silent:
            return
        seconds = max(time.monotonic() - self._begun, 1e-3)
        rate = f"{runs / seconds:,.0f} {self._of}/s, {packets / seconds / 1e6:.1f} M packets/s, "
        if left_s is None:
            left_s = seconds / runs * (self._total - done) if runs else None
        else:
            rate = ""
        text = rate + ("" if left_s is None else f"{_clock(left_s)} left")
        if self._line is not None:
            if (now := time.monotonic()) >= self._next or done == self._total:
                self._next = now + Bar.PERIOD_S
                words = f"{self._what}, {done:,} of {self._total:,} {self._of}, {text}"
                self._line.show(done, self._total, words.removesuffix(", "))
            return
        if self._bar is None:
            self._bar = self._make()
        task = self._bar.task_ids[0]
        self._bar.update(task, description=self._what, total=self._total, completed=done, rate=text)

    def note(self, text: str) -> None:
        """Prints a line, also without a terminal."""
        if self._speaks:
            print(text, file=sys.stderr)

    def recorded(self) -> None:
        """Notes that another run has been recorded."""
        self.at = "while recording"

    def __enter__(self) -> Counter:
        if self._log is not None:
            self._log.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._log is not None:
            self._log.__exit__()
        if self._bar is not None:
            self._bar.stop()
        if self._line is not None:
            self._line.stop()

    def _make(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            console=console(stderr=True),
            transient=True,
        )
        bar.add_task(self._what, total=self._total, completed=self._before, rate="")
        bar.start()
        return bar


def _clock(seconds: float) -> str:
    """Formats seconds like 1:02:03, or 2:03 below an hour."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _logged(
    *columns: ProgressColumn, amount: Callable[[float], str] = lambda each: f"{each:,.0f}"
) -> Progress:
    """Returns a bar with columns, whose last task is a line a minute where there is no terminal."""
    from rich.progress import Progress

    def words() -> str:
        if not bar.tasks:
            return "before the first step"
        task = bar.tasks[-1]
        total = "" if task.total is None else f" of {amount(task.total)}"
        return f"{task.description}, after {amount(task.completed)}{total}"

    class Logged(Progress):
        by_the_minute = Log(words)

        def start(self) -> None:
            self.by_the_minute.__enter__()
            super().start()

        def stop(self) -> None:
            self.by_the_minute.__exit__()
            super().stop()

    out = console(stderr=True)
    bar = Logged(*columns, console=out, transient=True, disable=not sys.stderr.isatty())
    return bar


def counting() -> Progress:
    """Returns a bar that counts, on standard error: `counting().add_task("simulating", total=9)`."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

    return _logged(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())


def reading() -> Progress:
    """Returns a bar of bytes, on standard error: `reading().add_task("reading", total=1_000_000)`."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return _logged(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        amount=lambda each: f"{each / 1e6:,.0f} MB",
    )
