"""A fleet directory of simulated paths, filled shard by shard.

A shard is a range of paths, run under all arms. A shard's rows are written to the tables first, and
`shards/NAME.json` with the names of these files afterwards. Thus these show which paths are missing,
and other files are from a killed process. `shards/counted.json` is that of the counters, which cover
all shards.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict

import polars as pl

from fullpipe.base.frame import table
from fullpipe.errors import DamagedError
from fullpipe.results import disk, scan_parquet, sums, write_shard
from fullpipe.results.kept import read_sealed, read_text, shards
from fullpipe.study.store import Store, gaps, header
from fullpipe.wings.fleet import records
from fullpipe.wings.fleet import store as tables
from fullpipe.wings.fleet.population.spec import FORMAT, PopulationSpec
from fullpipe.wings.fleet.records import COUNTED, SHARDS, SIMULATED

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.study.engine import Shard

_SHARD = re.compile(r"(\d+)-(\d+)")
_ALL = "all"
_PART = re.compile(rf"\.?(?:{_SHARD.pattern}|{_ALL})[-.]")
_DAY = datetime(2019, 12, 1, tzinfo=UTC)
"""The day on which simulated downloads begin."""
_DAY_US = 86_400_000_000
_HOSTS = 8
"""Number of hosts in each arm over which paths are spread, since the tables need hosts."""
_INTERVAL = "30m"
_NOT_COLUMNS = ("day", "first_s", "last_s", "done", "request_time_s")


class PopulationAbout(TypedDict):
    """The contents of `simulate.json`."""

    format: int
    version: str
    build: str
    identity: str
    command: str
    population: str
    title: str
    arms: list[str]
    paths: int
    seed: int
    changes: dict[str, str]


class PopulationStore(Store):
    """The directory of one population, opened for filling."""

    ABOUT = SIMULATED
    FILES = ("population.toml",)
    about: PopulationAbout
    OTHER_BUILD = (
        "paths simulated by another build of fullpipe ({}), which may give different results"
    )
    OTHER_SPEC = "paths of another population, other arms or another seed"

    def __init__(self, directory: Path, spec: PopulationSpec, command: str, called: str) -> None:
        """Creates the directory, or opens an existing one.

        Raises:
            FileExistsError: When the directory holds something else.
            OSError: When the directory can't be written.
        """
        self.spec, self._command = spec, command
        super().__init__(directory, spec.identity, called)
        if self.about["paths"] < spec.paths:
            self._describe()

    def missing(self) -> list[tuple[int, int]]:
        """Returns the half-open ranges of paths that no shard covers.

        Deletes damaged shards, and files of no shard.
        """
        for folder in (SHARDS, "paths"):
            disk.make_folder(self.directory / folder)
        known = set()
        for name, written in self._shards().items():
            if tables.are_whole(self.directory, written["files"]):
                known.update(written["files"])
            else:
                self.repaired.append(
                    f"{self._marker(name)}: a file of it is damaged; it is made again"
                )
                disk.remove(self._marker(name))
        for file in (*self.directory.glob("*/arm=*/day=*/*"), *self.directory.glob("paths/*")):
            ours = _PART.match(file.name) and str(file.relative_to(self.directory)) not in known
            if ours:
                disk.remove(file)
        return gaps(self._ranges(), self.spec.paths)

    def add(self, shard: Shard) -> None:
        """Writes a shard.

        Raises:
            OSError: When a file can't be written.
        """
        disk.remove(self._marker(COUNTED))
        part = f"{shard.first:07}-{shard.end:07}"
        drawn = table(self.spec.plan.paths(shard.first, shard.end))
        paths = write_shard(drawn, self.directory / "paths", part)
        frame = _named(table(shard.rows))
        files = [
            str(paths.relative_to(self.directory)),
            *tables.write(self.directory, "requests", _requests(frame), part),
            *tables.write(self.directory, "connections", frame.drop(_NOT_COLUMNS), part),
        ]
        self._mark(part, files)

    def finish(self) -> None:
        """Writes the counters of the hosts, computed from all connections, unless they are complete.

        Raises:
            OSError: When a file can't be written.
        """
        if COUNTED in self._shards():
            return
        tables.remove(self.directory, "counters", _ALL)
        fresh = pl.col("data_segs_out") - pl.col("retrans_total_packets")
        counters = (
            tables.scan(self.directory, "connections")
            .with_columns(time=pl.col("last_seen").dt.truncate(_INTERVAL).dt.offset_by(_INTERVAL))
            .group_by("arm", "host", "time")
            .agg(
                interval_s=pl.lit(1800.0),
                # Linux leaves pure retransmissions out of OutSegs.
                out_segs=fresh.sum(),
                retrans_segs=pl.col("retrans_total_packets").sum(),
            )
            .sort("arm", "host", "time")
            .collect(engine="streaming")
        )
        self._mark(COUNTED, tables.write(self.directory, "counters", counters, _ALL))

    def _marker(self, name: str) -> Path:
        return self.directory / SHARDS / f"{name}.json"

    def _mark(self, name: str, files: list[str]) -> None:
        """Records the files of a shard, which completes it."""
        written = {"format": FORMAT, "identity": self.spec.identity, "files": files}
        sums.write_json(self._marker(name), written)

    def _shards(self) -> dict[str, records.Shard]:
        """Returns the shards of this population by name, without damaged records."""
        found = {}
        folder = self.directory / SHARDS
        for file in sorted(folder.glob("[!.]*.json")) if folder.is_dir() else ():
            with suppress(DamagedError):
                written = read_sealed(file, records.Shard, FORMAT)
                if written["identity"] == self.spec.identity:
                    found[file.stem] = written
        return found

    def _ranges(self) -> list[tuple[int, int]]:
        names = (_SHARD.fullmatch(name) for name in self._shards())
        return [(int(name[1]), int(name[2])) for name in names if name]

    def _has_shards(self) -> bool:
        return bool(self._shards())

    def _read(self) -> PopulationAbout:
        return _about(self.directory)

    def _make(self, aside: Path) -> None:
        for folder in (SHARDS, "paths"):
            disk.make_folder(aside / folder)
        disk.write(aside / "population.toml", self.spec.text)

    def _description(self) -> dict[str, Any]:
        spec = self.spec
        return {
            **header(spec.identity, FORMAT, self._command),
            "population": spec.file,
            "title": spec.plan.title,
            "arms": list(spec.arms),
            "paths": max([spec.paths, *(end for _, end in self._ranges())]),
            "seed": spec.seed,
            "changes": dict(spec.changes),
        }


def opened(directory: Path) -> PopulationSpec:
    """Returns the spec of a directory of simulated paths.

    Raises:
        FileNotFoundError: When the directory holds no simulated paths.
        DamagedError: When a file is damaged, or of another version.
        OSError: When a file can't be read.
    """
    if not (directory / SIMULATED).is_file():
        raise FileNotFoundError(
            f"{directory}: no {SIMULATED}\n  fix: name a directory that `fullpipe fleet simulate` made"
        )
    about = _about(directory)
    text = read_text(directory / "population.toml")
    changes = list(about["changes"].items())
    return PopulationSpec(
        text, about["population"], about["arms"], about["paths"], about["seed"], changes
    )


def paths(directory: Path) -> pl.LazyFrame:
    """Returns a row per path: number (`pair`), class, seed of its runs, and the value drawn for each key."""
    return scan_parquet(shards(directory / "paths"))


def _about(directory: Path) -> PopulationAbout:
    return read_sealed(directory / SIMULATED, PopulationAbout, FORMAT)


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds hosts, clients and times: each path is a separate client, at a random time of the day."""
    start = pl.lit(_DAY) + pl.duration(microseconds=(pl.col("day") * _DAY_US).cast(pl.Int64))

    def after(column: str) -> pl.Expr:
        return start + pl.duration(microseconds=(pl.col(column) * 1e6).cast(pl.Int64))

    return frame.with_columns(
        host=pl.format("{}-{}", "arm", pl.col("pair") % _HOSTS + 1),
        client=pl.format("path-{}", "pair"),
        first_seen=after("first_s"),
        last_seen=after("last_s"),
        state=pl.lit("ESTAB"),
        ts=pl.lit(value=True),
        sack=pl.lit(value=True),
        app_limited=pl.col("app_limited") > 0,
    )


def _requests(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the log of nginx for these downloads: status 499 if the client gave up waiting."""
    return frame.select(
        "arm",
        "host",
        "pair",
        "client",
        pl.col("last_seen").alias("time"),
        pl.when(pl.col("done") > 0).then(200).otherwise(499).alias("status"),
        pl.col("bytes_acked").alias("body_bytes_sent"),
        "request_time_s",
        pl.lit("HTTP/1.1").alias("protocol"),
        pl.col("rtt_s").alias("tcpinfo_rtt_s"),
        pl.col("rttvar_s").alias("tcpinfo_rttvar_s"),
        pl.col("cwnd_packets").alias("tcpinfo_snd_cwnd_packets"),
    )
