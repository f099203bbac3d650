"""Progress bars, on a terminal: of a run, once it has lasted a second, and of many."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress


class Bar:
    """Shows how far a run is, on standard error. Call it as :func:`fullpipe.run` calls its `progress`.

    Attributes:
        at: How far it is, in words.
    """

    _PATIENCE_S = 1.0
    _PERIOD_S = 0.1

    def __init__(self) -> None:
        self._next = time.monotonic() + self._PATIENCE_S if sys.stderr.isatty() else float("inf")
        self._bar: Progress | None = None
        self.at = "before the run"

    def __call__(self, done_s: float, duration_s: float, events: int) -> None:
        """The run is at `done_s` of `duration_s` seconds of virtual time, after so many events."""
        self.at = f"at {done_s:.1f} of {duration_s:g} s"
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._PERIOD_S
        if self._bar is None:
            self._bar = self._make(duration_s)
        self._bar.update(self._bar.task_ids[0], completed=done_s, events=f"{events / 1e6:.1f}")

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if kind is None:
            self.at = "after the run"

    @staticmethod
    def _make(duration_s: float) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn("simulating"),
            BarColumn(),
            TextColumn("{task.completed:.1f} of {task.total:g} s, {task.fields[events]} M events,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
        bar.add_task("run", total=duration_s, events="0")
        bar.start()
        return bar


def counting() -> Progress:
    """A bar that counts, on standard error: `study.add_task("simulating", total=9)`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
