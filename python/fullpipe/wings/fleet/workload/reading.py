"""Reads flows for a command, with a progress bar and warnings about unreadable parts."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fullpipe.base.progress import Log
from fullpipe.base.terminal import console
from fullpipe.errors import fail, stoppable
from fullpipe.wings.fleet.workload.flows import FlowsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.progress import Progress

    from fullpipe.wings.fleet.workload.extract import Extracted


@contextmanager
def flows_of(source: Path) -> Iterator[tuple[Path, Extracted | None]]:
    """Yields a file of flows; for a capture or log, a temporary one with the result of its extraction."""
    from fullpipe.wings.fleet.workload.logs import kind

    try:
        if source.is_file() and kind(source) == "parquet":
            yield source, None
        else:
            with TemporaryDirectory(prefix="fullpipe-") as folder:
                done = extracted([source], Path(folder) / "flows.parquet", lambda: "nothing kept")
                yield done.out, done
    except FlowsError as error:
        fail(error)


def extracted(
    sources: Sequence[Path], out: Path, kept: Callable[[], str], **options: object
) -> Extracted:
    """Extracts the flows of captures and logs.

    Raises:
        OSError: When a file can't be read or written.
    """
    from fullpipe.wings.fleet.workload.extract import extract as run

    bar = _Bar(sources)
    try:
        with stoppable(lambda: bar.at, kept), bar:
            return run(sources, out, **options, progress=bar)  # type: ignore[arg-type]
    except FlowsError as error:
        fail(error)


def kept_of(out: Path) -> str:
    """Returns the message about finished files of an interrupted extraction."""
    from fullpipe.wings.fleet.workload.extract import unfinished

    if not unfinished(out).is_dir():
        return "nothing kept"
    return f"finished files are kept in {unfinished(out)}; the same command resumes there"


def warn(done: Extracted) -> None:
    """Prints the warnings; ends the command with exit code 1 if a file was not read completely."""
    for warning in done.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if any(source.get("refused") or source.get("damage") for source in done.about["sources"]):
        print(
            "the readable part is saved; exit code 1, since some input could not be read",
            file=sys.stderr,
        )
        raise SystemExit(1)


class _Bar:
    """Shows the progress of reading on standard error, after the first second.

    Attributes:
        at: Progress in words, for a message.
    """

    _PATIENCE_S = 1.0

    def __init__(self, files: Sequence[Path]) -> None:
        self.at = "before the first packet"
        self._total = sum(file.stat().st_size for file in files if file.is_file())
        self._begun = time.monotonic()
        self._bar: Progress | None = None
        self._log = Log(lambda: f"extracting, {self.at}")

    def __call__(self, read: int, packets: int, flows: int, open_flows: int) -> None:
        """Updates the bar: bytes read, packets seen, ended flows and open flows."""
        self.at = f"after {packets:,} packets" if packets else f"after {flows:,} flows"
        seconds = time.monotonic() - self._begun
        if seconds < self._PATIENCE_S or not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = self._make()
        text = f"{packets / 1e6:.1f} M packets, {packets / seconds / 1e6:.1f} M/s, {flows + open_flows:,} flows,"
        self._bar.update(self._bar.task_ids[0], completed=read, said=text)

    def __enter__(self) -> _Bar:
        self._log.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._log.__exit__()
        if self._bar is not None:
            self._bar.stop()

    def _make(self) -> Progress:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn("extracting"),
            BarColumn(),
            TextColumn("{task.fields[said]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console(stderr=True),
            transient=True,
        )
        bar.add_task("extracting", total=self._total, said="")
        bar.start()
        return bar
