"""Extracts flows from captures and logs into a file."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe._core import __version__
from fullpipe.results.sums import is_whole
from fullpipe.study.checkpoint import Checkpoint, directory
from fullpipe.wings.fleet.workload.flows import KEY, FlowsError
from fullpipe.wings.traces.foreign import formats

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl

_FLOWS = "flows"
_ROWS = 1 << 17
_PIECE = 1 << 20


class Extracted(NamedTuple):
    """Result of an extraction."""

    out: Path
    about: dict[str, Any]
    """Metadata of the file: `sources`, `options`, `counts`."""
    warnings: list[str]
    """Warnings about parts of the sources that were not read; empty if all was read."""


def extract(
    sources: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    idle_s: float = 60.0,
    pause_s: float = 0.1,
    udp: bool = False,
    addresses: bool = False,
    columns: Mapping[str, str] | None = None,
    progress: Callable[[int, int, int, int], object] | None = None,
) -> Extracted:
    """Extracts the flows of captures, or of logs, into a Parquet file.

    The flows of a finished log, or of all captures, are kept in `OUT.unfinished` until the file is complete.

    Args:
        sources: Captures in order of time, where flows may span several of them; or logs, or CSV files.
        out: The output file, which must not exist yet.
        idle_s: Time without a packet after which a flow has ended.
        pause_s: Pause after which payload begins a new chunk.
        udp: Whether UDP datagrams form flows, too.
        addresses: Whether to keep the IP addresses of both ends.
        columns: Names of the columns `start` and `bytes` in a CSV file.
        progress: Called ten times a second with the numbers of bytes read, packets, ended flows and open flows.

    Raises:
        FlowsError: When no source can be read, or the sources contain no flow.
        ForeignError: When a source is of a format that other commands read.
        FileExistsError: When `out` exists.
        OSError: When a file can't be read or written.
    """
    from fullpipe.results import fresh_file, scan_parquet
    from fullpipe.results.kept import shards
    from fullpipe.wings.fleet.workload import captures, logs

    files = [Path(source) for source in sources]
    kind = _one_kind(files, columns)
    options = {"idle_s": idle_s, "pause_s": pause_s, "udp": udp, "addresses": addresses}
    told = progress or (lambda *_: None)

    def heard(some: Sequence[Path], before: int) -> Iterator[pl.DataFrame | dict[str, Any]]:
        def tell(read: int, *numbers: int) -> None:
            told(before + read, *numbers)

        if kind == "capture":
            return captures.frames(some, **options, progress=tell)  # type: ignore[arg-type]
        named = columns or {}
        return logs.frames(kind, some, udp=udp, addresses=addresses, columns=named, progress=tell)

    with (
        Checkpoint(
            Path(out), _work(files, {**options, "columns": columns}), f"--out {out}"
        ) as so_far,
        _useful(so_far),
        fresh_file(out, called=f"--out {out}") as aside,
        _Hashes(files) as hashes,
    ):
        # A flow may span captures, so that they are one piece of work.
        groups = [files] if kind == "capture" else [[file] for file in files]
        report = _read(groups, heard, so_far)
        parts = shards(so_far.folder(_FLOWS))
        rows = scan_parquet(parts) if parts else None
        _refuse(report)
        if rows is None:
            raise FlowsError(_no_flow(files, report, udp))
        digests = hashes.wait()
        about: dict[str, Any] = {
            "format": 1,
            "sources": [
                {**file, "sha256": digest, "bytes": path.stat().st_size}
                for path, file, digest in zip(files, report.pop("files"), digests, strict=True)
            ],
            "options": options,
            "counts": {**report, **_counted(rows)},
        }
        if not about["counts"]["flows"]:
            raise FlowsError(_none(files, "" if udp or kind == "csv" else " of TCP", about))
        _write(rows, aside, about)
    return Extracted(Path(out), about, _warnings(about))


def _one_kind(files: Sequence[Path], columns: Mapping[str, str] | None) -> str:
    """Returns the common kind of the files; refuses a mixture, other formats, and `columns` for other than CSV."""
    kinds = {_kind(file) for file in files}
    if "parquet" in kinds:
        formats.refuse(files[0], formats.FORMATS["parquet"], "workload extract")
    if len(kinds) > 1:
        raise FlowsError(
            f"{' and '.join(sorted(kinds))} files together\n  fix: extract each kind separately"
        )
    kind = kinds.pop()
    if columns and kind != "csv":
        raise FlowsError(f"{files[0]}: --columns applies only to CSV files\n  fix: omit --columns")
    return kind


def _kind(file: Path) -> str:
    from fullpipe.wings.fleet.workload import logs

    if file.is_dir():
        raise FlowsError(f"{file}: is a directory\n  fix: name the files in it, in order of time")
    formats.refuse_stream(file)
    try:
        return logs.kind(file)
    except FileNotFoundError:
        raise FlowsError(
            f"{file}: no such file\n  fix: name a capture, a Zeek conn.log or a CSV file"
        ) from None
    except PermissionError as error:
        raise FlowsError(
            f"{file}: {error.strerror}\n  fix: allow reading: chmod u+r {file}"
        ) from error
    except OSError:
        return "capture"  # the file's reader reports the error, and continues


@contextmanager
def _useful(so_far: Checkpoint) -> Iterator[None]:
    """Discards all parts if a file is refused, since only another one helps."""
    try:
        yield
    except FlowsError:
        so_far.discard()
        raise


def unfinished(out: Path) -> Path:
    """Returns the directory that keeps the flows of finished files."""
    return directory(out)


def _work(files: Sequence[Path], options: Mapping[str, object]) -> dict[str, str]:
    """Returns all that the flows depend on, by names for messages."""
    from fullpipe.base.build import build

    of = [file.stat() if file.exists() else None for file in files]
    return {
        "fullpipe": f"{__version__}, {build()}",
        "the input": ", ".join(
            f"{file} ({now.st_size} bytes, {now.st_mtime_ns})" if now else str(file)
            for file, now in zip(files, of, strict=True)
        ),
        "the options": json.dumps(options),
    }


def _read(
    groups: Sequence[Sequence[Path]],
    heard: Callable[[Sequence[Path], int], Iterator[pl.DataFrame | dict[str, Any]]],
    so_far: Checkpoint,
) -> dict[str, Any]:
    """Reads unfinished groups of files; returns the report of all."""
    folder, before = so_far.folder(_FLOWS), 0
    report: dict[str, Any] = {"files": []}
    for number, files in enumerate(groups):
        done = so_far.get((number,))
        if done is None or not all(is_whole(folder / name) for name in done["written"]):
            done = _written(heard(files, before), folder, f"{number:04}")
            so_far.add((number,), done)
        before += sum(file.stat().st_size for file in files if file.exists())
        report = {**report, **done["report"], "files": [*report["files"], *done["report"]["files"]]}
    return report


def _written(
    heard: Iterator[pl.DataFrame | dict[str, Any]], folder: Path, stem: str
) -> dict[str, Any]:
    """Writes the frames of a group into a folder; returns their names, and the report that follows them."""
    from fullpipe.results import disk, write_shard

    def forget() -> None:
        for file in (*folder.glob(f"{stem}-*"), *folder.glob(f".{stem}-*")):
            disk.remove(file)

    forget()  # of a killed process
    written: list[str] = []
    try:
        for number, frame in enumerate(heard):
            if isinstance(frame, dict):
                return {"written": written, "report": frame}
            written.append(write_shard(frame, folder, f"{stem}-{number:06}").name)
    except BaseException:
        forget()
        raise
    raise AssertionError("the report comes last")


_UDP = "for flows of UDP datagrams, too: fullpipe workload extract --udp"


def _refuse(report: dict[str, Any]) -> None:
    """Raises an error if no source could be read at all."""
    refused = [file for file in report["files"] if file.get("refused")]
    if refused and len(refused) == len(report["files"]):
        raise FlowsError("\n".join(f"{file['path']}: {file['refused']}" for file in refused))


def _none(files: Sequence[Path], what: str, about: dict[str, Any]) -> str:
    damage = _damage(about["sources"])
    fix = _UDP if what else "name another file"
    if damage:
        fix = "correct the file, or name another one"
    return f"{', '.join(map(str, files))}: no flows{what} found{damage}\n  fix: {fix}"


def _no_flow(files: Sequence[Path], report: dict[str, Any], udp: bool) -> str:
    named = ", ".join(map(str, files))
    damage = _damage(report["files"])
    if not report["packets"]:
        return f"{named}: the capture has no packets{damage}\n  fix: name a capture with packets"
    unknown = {link for file in report["files"] if file["unknown_links"] for link in file["links"]}
    if unknown:
        return (
            f"{named}: unsupported link type: {', '.join(sorted(unknown))}\n"
            "  fix: capture on an Ethernet, loopback or tunnel interface, or on `any`"
        )
    if report["unreadable"] == report["packets"]:
        return (
            f"{named}: all {report['packets']:,} packets are truncated too early{damage}\n"
            "  fix: capture at least 68 bytes of each packet, preferably 96 (tcpdump -s 96)"
        )
    return (
        f"{named}: none of {report['packets']:,} packets is TCP{'' if not udp else ' or UDP'}{damage}\n"
        + ("  fix: name another capture" if udp else f"  fix: {_UDP}")
    )


def _damage(files: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"; {file['damage']}" for file in files if file.get("damage"))


def _counted(rows: pl.LazyFrame) -> dict[str, Any]:
    """Returns totals over all rows."""
    import polars as pl

    both = ("payload_bytes", "sequence_bytes")
    payload, sequence = (
        pl.sum_horizontal(pl.col(f"up_{name}"), pl.col(f"down_{name}")) for name in both
    )
    known = pl.all_horizontal(
        pl.col(f"{way}_{name}").is_not_null() for way in ("up", "down") for name in both
    )
    more = {
        way: pl.when(known).then(
            pl.col(f"{way}_payload_bytes").cast(pl.Int64)
            - pl.col(f"{way}_sequence_bytes").cast(pl.Int64)
        )
        for way in ("up", "down")
    }
    found = rows.select(
        flows=pl.len(),
        with_payload=pl.col("start").is_not_null().sum(),
        bytes=pl.col("bytes").sum(),
        payload_bytes=payload.sum(),
        sequence_bytes=sequence.sum(),
        more_by_lengths=sum(
            (pl.when(each > 0).then(each).sum() for each in more.values()), pl.lit(0)
        ),
        more_by_numbers=sum(
            (pl.when(each < 0).then(-each).sum() for each in more.values()), pl.lit(0)
        ),
        cut_at_start=(pl.col("begin") == "capture").sum(),
        cut_at_end=(pl.col("end") == "capture").sum(),
        first=pl.col("first").min().dt.epoch("ns"),
        last=pl.max_horizontal(pl.col("last").max(), pl.col("first").max()).dt.epoch("ns"),
    ).collect(engine="streaming")
    return dict(found.row(0, named=True))


def _write(rows: pl.LazyFrame, to: Path, about: dict[str, Any]) -> None:
    from fullpipe.results import disk

    with disk.NewFile(to) as file:
        rows.sink_parquet(file, metadata={KEY: json.dumps(about)}, row_group_size=_ROWS)


def _warnings(about: dict[str, Any]) -> list[str]:
    said = []
    before = None
    for source in about["sources"]:
        if source.get("refused"):
            said.append(f"{source['path']}: {source['refused']}")
        if source.get("damage"):
            said.append(f"{source['path']}: {source['damage']}")
        if source.get("unknown_links"):
            said.append(
                f"{source['path']}: {source['unknown_links']:,} packets have an unsupported link type"
            )
        if source.get("first") is not None:
            if before and source["first"] < before["last"] - 60_000_000_000:
                said.append(
                    f"{source['path']} begins before {before['path']} ends: name captures in order of time"
                )
            before = source
    if about["counts"].get("unreadable"):
        said.append(
            f"{about['counts']['unreadable']:,} packets are truncated too early or have invalid headers"
        )
    return said


class _Hashes:
    """Computes SHA-256 of the files on a thread, while they are being read anyway."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._found: list[str] = []
        self._stop = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Hashes:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        self._thread.join()

    def wait(self) -> list[str]:
        """Returns the hashes in the order of the files."""
        self._thread.join()
        return self._found

    def _run(self) -> None:
        for file in self._files:
            digest = hashlib.sha256()
            try:
                with file.open("rb") as content:
                    while not self._stop and (piece := content.read(_PIECE)):
                        digest.update(piece)
                self._found.append(digest.hexdigest())
            except OSError:  # the reader of the file reports the error
                self._found.append("")
