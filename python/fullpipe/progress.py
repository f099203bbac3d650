"""Progress bars on a terminal or in a notebook: of one run, once it has lasted a second, and of many runs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from fullpipe.notebook import Line, is_notebook
from fullpipe.terminal import console

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress


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
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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

    def __init__(self, silent: bool = False, of: str = "runs") -> None:
        self.at = f"before the first of the {of}"
        self._of = of
        self._speaks = not silent
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
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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


def counting() -> Progress:
    """Returns a bar that counts, on standard error: `counting().add_task("simulating", total=9)`."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def reading() -> Progress:
    """Returns a bar of bytes, on standard error: `reading().add_task("reading", total=1_000_000)`."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
