"""Commands for `test_faults.py`, each with the smallest work that has all of its steps, in this process."""

from __future__ import annotations

import json
import os
import zlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.figure import Figure

from fullpipe import _core
from fullpipe.results import kept, read_parquet, sums
from fullpipe.results.load import load
from fullpipe.study import threads
from fullpipe.study.checks import run as checks
from fullpipe.study.evaluation import conformance
from fullpipe.study.sweeps import execute as sweeps
from fullpipe.wings.fleet import ingest, sample, store, workload
from fullpipe.wings.fleet.population import execute as population
from fullpipe.wings.fleet.population import store as population_store
from test_published import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

SCENARIO = """\
duration = "20ms"
measure_from = "0s"
start_jitter = "5ms"
[path]
rate = "10mbit"
rtt = "2ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
"""
SS = (
    "@{at}\nESTAB 0 0 10.0.0.1:443 192.0.2.7:{port}\n\t cubic rto:204 rtt:20/1 mss:1000 cwnd:10 bytes_sent:110 "
    "bytes_retrans:10 bytes_acked:{acked} segs_out:9 busy:500ms rwnd_limited:50ms(10.0%)\n"
)


CHANGING = {"sweep.json", "simulate.json", "ingest.json", "picture.png", "report.html"}
"""Files with a checksum inside, or that can be made again at any time."""


class Subject(NamedTuple):
    """A command.

    Attributes:
        arguments: Its arguments, in the directory that the faults concern; inputs are in `inputs` there.
        kept: Reads its results; called only if `out` exists.
        once: Whether it refuses existing results.
    """

    arguments: Callable[[Path], list[str]]
    kept: Callable[[Path], object]
    once: bool = False


def _sweep(*more: str) -> Callable[[Path], list[str]]:
    return lambda root: [
        "sweep",
        f"{root}/inputs/small.toml",
        "--set",
        "path.rate=10mbit,20mbit",
        "--out",
        f"{root}/out",
        "--threads",
        "1",
        *more,
    ]


def _whole(directory: Path) -> None:
    """Checks every checksum of a directory."""
    for file in directory.rglob("*"):
        inside = str(file.relative_to(directory.parent))
        if file.is_file() and "/." not in inside and file.name != sums.SUMS:
            checked = sums.check(file) if file.name not in CHANGING else True
            assert checked or "shards/" in inside, file


def _rows_of(directory: Path) -> object:
    _whole(directory)
    results = load(directory)
    series = {
        (each.point.number, each.seed, table): read_parquet(file).write_csv()
        for each in results.series
        for table, file in each.files.items()
    }
    return results.rows.sort("point", "seed", "flow_index").write_csv(), series


def _tables(directory: Path, *names: str) -> object:
    _whole(directory)
    tables = {}
    for name in names:
        rows = store.scan(directory, name).collect()
        tables[name] = (
            rows.sort(rows.columns[:6], nulls_last=True).write_csv() if rows.height else ""
        )
    return tables


def _population(directory: Path) -> object:
    drawn = kept.scan_parquet(kept.shards(directory / "paths")).sort("pair").collect()
    return drawn.write_csv(), _by_pair(directory)


def _by_pair(directory: Path) -> object:
    _whole(directory)
    of = {
        "connections": ("arm", "pair"),
        "requests": ("arm", "pair"),
        "counters": ("arm", "host", "time"),
    }
    return {
        name: store.scan(directory, name).sort(*by).collect().write_csv() for name, by in of.items()
    }


def _directory(directory: Path) -> object:
    _whole(directory)
    return {
        str(file.relative_to(directory)): file.read_bytes()
        for file in sorted(directory.rglob("*"))
        if file.is_file() and file.name not in ("report.html", sums.SUMS) and file.name[0] != "."
    }


def _flows(file: Path) -> object:
    about = workload.about(file)
    assert about
    return read_parquet(file).write_json(), json.dumps(about)


def _ingested(directory: Path) -> object:
    about = json.loads((directory / "ingest.json").read_text())
    return _tables(directory, "connections", "samples", "counters", "requests"), [
        (source["host"], source["counts"], [each["path"] for each in source["files"]])
        for source in about["sources"]
    ]


SUBJECTS: dict[str, Subject] = {
    "sweep": Subject(_sweep("--repeat", "2"), _rows_of),
    "sweep --until": Subject(
        _sweep("--until", "ci(goodput) < 0.1%", "--max-repeat", "4"), _rows_of
    ),
    "compare": Subject(
        lambda root: [
            *(
                "compare",
                "cubic",
                "newreno",
                "--rate",
                "10mbit",
                "--rtt",
                "2ms",
                "--out",
                f"{root}/out",
            ),
            *("--set", "duration=20ms", "--set", "measure_from=0s", "--repeat", "1"),
        ],
        lambda out: [_rows_of(out / part) for part in ("alone", "together")],
    ),
    "reproduce": Subject(
        lambda root: ["reproduce", f"{root}/inputs/study.toml", "--out", f"{root}/out"],
        _directory,
        once=True,
    ),
    "check": Subject(
        lambda root: [
            *("check", f"{root}/inputs/small.toml", "--repeat", "2", "--json"),
            *("--out", f"{root}/out"),
        ],
        _directory,
        once=True,
    ),
    "test": Subject(
        lambda root: [
            *("test", "upload", "--rate", "1mbit", "--duration", "1s", "--repeat", "3"),
            *("--out", f"{root}/out"),
        ],
        _directory,
        once=True,
    ),
    "validate": Subject(
        lambda root: [
            *("validate", "--cell", "reno-10m-20ms-2bdp-loss", "--seeds", "2"),
            *("--out", f"{root}/out"),
        ],
        lambda out: out.read_text(),
        once=True,
    ),
    "evaluate": Subject(
        lambda root: ["evaluate", "bbr3", "--suite", "bbr-draft", "--out", f"{root}/out"],
        _directory,
        once=True,
    ),
    "fleet simulate": Subject(
        lambda root: [
            *(
                "fleet",
                "simulate",
                "--paths",
                "3",
                "--cc",
                "cubic,bbr1",
                "--out",
                f"{root}/out",
                "--threads",
                "1",
            ),
        ],
        _population,
    ),
    "fleet ingest": Subject(
        lambda root: [
            *(
                "fleet",
                "ingest",
                "--arm",
                f"cubic={root}/inputs/{{host}}/*.ss",
                "--samples",
                "-o",
                f"{root}/out",
            ),
        ],
        _ingested,
    ),
    "workload extract": Subject(
        lambda root: [
            "workload",
            "extract",
            f"{root}/inputs/a.csv",
            f"{root}/inputs/b.csv",
            "-o",
            f"{root}/out",
        ],
        _flows,
        once=True,
    ),
}


class Sampler:
    """In place of the kernel's table: samples with numbers."""

    def __init__(self) -> None:
        self.asked = 0

    def list(self) -> tuple[bytes, int, bool]:
        """Returns a sample."""
        self.asked += 1
        return f"sample {self.asked}\n".encode(), 1, False


def sampling(root: Path, sampler: Sampler, count: int) -> None:
    """Runs the agent with files of three seconds."""
    chosen = SimpleNamespace(sampler=lambda: sampler)
    sample.sample(root / "out", chosen, interval_s=1, rotate_s=3, keep=None, count=count)  # type: ignore[arg-type]


def sampled(root: Path) -> list[int]:
    """Returns the numbers of the samples in the agent's files, in the order of the files' names."""
    lines: list[bytes] = []
    for file in sorted((root / "out").glob("*.ss.gz")):
        stream, text = zlib.decompressobj(wbits=31), b""
        for byte in file.read_bytes():  # up to where it is cut
            try:
                text += stream.decompress(bytes([byte]))
            except zlib.error:
                break
        lines += text.split(b"\n")[:-1]
    return [int(line.split()[1]) for line in lines if line.startswith(b"sample ")]


def inputs(root: Path) -> None:
    """Writes the inputs of all subjects."""
    folder = root / "inputs"
    folder.mkdir(parents=True)
    (folder / "small.toml").write_text(SCENARIO)
    (folder / "study.toml").write_text(GOOD.replace('"2s"', '"50ms"'))
    for name in "ab":
        (folder / f"{name}.csv").write_text("start,bytes\n1,2\n2,3\n")
    for host in "xy":
        (folder / host).mkdir()
        for day in range(2):
            samples = (
                SS.format(at=1576576800 + 86400 * day + s, port=1, acked=100 + s) for s in (0, 10)
            )
            (folder / host / f"{day}.ss").write_text("".join(samples))
    for file in folder.rglob("*.*"):
        os.utime(file, (0, 0))  # as after a loss of power


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the work small and its order fixed: one thread, a commit or a shard for each run, no drawing."""
    monkeypatch.setattr(sweeps, "SHARD_S", 0.0)
    monkeypatch.setattr(checks, "_SHARD_S", 0.0)
    monkeypatch.setattr("fullpipe.study.engine.cores", lambda: 1)
    monkeypatch.setattr(population, "SHARD_S", 0.0)
    monkeypatch.setattr(population_store, "_HOSTS", 1)
    monkeypatch.setattr("fullpipe.study.sweeps.until.LEAST", 2)
    monkeypatch.setattr(threads, "_LOOK_UP_S", 0.001)
    monkeypatch.setattr(ingest, "_COMMIT_S", 0.0)
    monkeypatch.setattr(ingest, "os", SimpleNamespace(cpu_count=lambda: 1))
    monkeypatch.setattr(Figure, "savefig", _drawing)
    monkeypatch.setattr("fullpipe.runs.view.plot.picture", lambda _: Figure())
    monkeypatch.setattr(sample, "_SYNC_S", 0.0)
    monkeypatch.setattr(sample, "_counters", lambda _: b"")
    monkeypatch.setattr("fullpipe.wings.fleet.sample.time.sleep", lambda _: None)
    sections = _core.conformance_cases()[:2]
    monkeypatch.setattr(conformance, "_core", _Core(sections))


def _drawing(_figure: Figure, file: Any, **_: object) -> None:  # noqa: ANN401
    file.write(b"a picture")


class _Core:
    """The extension, with fewer conformance cases."""

    def __init__(self, sections: list[str]) -> None:
        self.conformance_cases = lambda: sections

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(_core, name)
