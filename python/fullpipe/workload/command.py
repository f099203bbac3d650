"""`fullpipe workload extract`, `describe` and `fit`."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import typer

from fullpipe.errors import fail, stoppable
from fullpipe.workload.flows import FlowsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.progress import Progress

    from fullpipe.workload.extract import Extracted


def extract(
    sources: Sequence[Path],
    out: Path,
    *,
    idle_s: float,
    pause_s: float,
    udp: bool,
    addresses: bool,
    columns: Mapping[str, str],
) -> None:
    """Extracts, shows how far it is, and prints what came of it; exit code 1 when not all could be read.

    Raises:
        OSError: When a file can't be read or written.
    """
    from rich.console import Console

    from fullpipe.workload.show import told

    extracted = _extracted(
        sources, out, idle_s=idle_s, pause_s=pause_s, udp=udp, addresses=addresses, columns=columns
    )
    told(extracted, Console(highlight=False))
    _warn(extracted)


def describe(source: Path, *, plot: Path | None, as_json: bool) -> None:
    """Prints what the flows of a file are like; a capture's are extracted first.

    Raises:
        OSError: When a file can't be read or written.
    """
    from rich.console import Console

    from fullpipe.results import fresh_file
    from fullpipe.workload.describe import describe as described_of
    from fullpipe.workload.show import record, show

    if plot is not None and plot.suffix not in (".png", ".svg", ".pdf"):
        fail(
            f"--plot {plot}: a picture is a .png, .svg or .pdf\n  fix: --plot {plot.with_suffix('.png')}"
        )
    if plot is not None and plot.exists():
        fail(f"--plot {plot} exists already; name a new file, results are never overwritten")
    with _flows(source) as (file, extracted):
        described = described_of(file)._replace(name=str(source))
    if as_json:
        print(record(described))
    else:
        show(described, Console(highlight=False))
    if plot is not None:
        from fullpipe.workload.picture import draw

        with fresh_file(plot, called=f"--plot {plot}") as aside:
            named = aside.with_name(aside.name + plot.suffix)
            try:
                draw(described, named)
                named.replace(aside)
            finally:
                named.unlink(missing_ok=True)
    if extracted is not None:
        _warn(extracted)


def fit(source: Path, *, as_json: bool) -> None:
    """Prints laws that come near to the sizes of the flows of a file; a capture's are extracted first.

    Raises:
        OSError: When the file can't be read.
    """
    from rich.console import Console

    from fullpipe.workload.fit import TooFewFlowsError, fits
    from fullpipe.workload.flows import read
    from fullpipe.workload.show_fit import record, show

    with _flows(source) as (file, extracted):
        sizes = read(file)["bytes"].cast(float).to_numpy()
    try:
        found = fits(sizes)
    except TooFewFlowsError as error:
        fail(f"{source}: {error}\n  fix: name a file of more flows, or write a law by hand")
    if as_json:
        print(record(found, len(sizes)))
    else:
        show(found, len(sizes), Console(highlight=False))
    if extracted is not None:
        _warn(extracted)


@contextmanager
def _flows(source: Path) -> Iterator[tuple[Path, Extracted | None]]:
    """A file of flows; of a capture or a log one that goes when the block ends, with what its extraction said."""
    from fullpipe.workload.logs import kind

    try:
        if source.is_file() and kind(source) == "parquet":
            yield source, None
        else:
            with TemporaryDirectory(prefix="fullpipe-") as folder:
                extracted = _extracted([source], Path(folder) / "flows.parquet")
                yield extracted.out, extracted
    except FlowsError as error:
        fail(error)


def _extracted(sources: Sequence[Path], out: Path, **options: object) -> Extracted:
    from fullpipe.workload.extract import extract as run

    bar = _Bar(sources)
    try:
        with stoppable(lambda: bar.at), bar:
            return run(sources, out, **options, progress=bar)  # type: ignore[arg-type]
    except FlowsError as error:
        fail(error)


def _warn(extracted: Extracted) -> None:
    for warning in extracted.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if any(source.get("refused") or source.get("damage") for source in extracted.about["sources"]):
        print("what could be read is kept; exit code 1, since not all could", file=sys.stderr)
        raise typer.Exit(1)


class _Bar:
    """Shows how far the reading is, on standard error, once it has lasted a second.

    Attributes:
        at: How far it is, in words.
    """

    _PATIENCE_S = 1.0

    def __init__(self, files: Sequence[Path]) -> None:
        self.at = "before the first packet"
        self._total = sum(file.stat().st_size for file in files if file.is_file())
        self._begun = time.monotonic()
        self._bar: Progress | None = None

    def __call__(self, read: int, packets: int, flows: int, open_flows: int) -> None:
        """So much is read, seen, over and open."""
        self.at = f"after {packets:,} packets"
        seconds = time.monotonic() - self._begun
        if seconds < self._PATIENCE_S or not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = self._make()
        text = f"{packets / 1e6:.1f} M packets, {packets / seconds / 1e6:.1f} M/s, {flows + open_flows:,} flows,"
        self._bar.update(self._bar.task_ids[0], completed=read, said=text)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _make(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn("extracting"),
            BarColumn(),
            TextColumn("{task.fields[said]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
        bar.add_task("extracting", total=self._total, said="")
        bar.start()
        return bar
