"""A fleet directory of simulated paths, filled shard by shard.

A shard is a range of paths, run under all arms. A shard's rows are written to the tables first and
its name to `shards/` afterwards. Thus the names show which paths are missing, and files without a
name are from a killed process. The name `counted` marks counters that cover all these shards.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe.batch.store import Store, gaps, header
from fullpipe.fleet import store as tables
from fullpipe.fleet.population.spec import FORMAT, PopulationSpec
from fullpipe.frame import table
from fullpipe.results import scan_parquet, write_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fullpipe.batch.pool import Shard

ABOUT = "simulate.json"
_SHARD = re.compile(r"(\d+)-(\d+)")
_DAY = datetime(2019, 12, 1, tzinfo=UTC)
"""The day on which simulated downloads begin."""
_DAY_US = 86_400_000_000
_HOSTS = 8
"""Number of hosts in each arm over which paths are spread, since the tables need hosts."""
_INTERVAL = "30m"
_NOT_COLUMNS = ("day", "first_s", "last_s", "done", "request_time_s")


class PopulationStore(Store):
    """The directory of one population, opened for filling."""

    ABOUT = ABOUT
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
        """Returns the half-open ranges of paths that no shard covers; deletes files of no shard."""
        known = {f"{first:07}-{end:07}" for first, end in self._shards()}
        for file in self.directory.glob("*/**/*.parquet"):
            if _SHARD.fullmatch(file.stem.lstrip(".")) and file.stem not in known:
                file.unlink()
        return gaps(self._shards(), self.spec.paths)

    def add(self, shard: Shard) -> None:
        """Writes a shard.

        Raises:
            OSError: When a file can't be written.
        """
        self._counted.unlink(missing_ok=True)
        part = f"{shard.first:07}-{shard.end:07}"
        drawn = table(self.spec.plan.paths(shard.first, shard.end))
        write_parquet(drawn, self.directory / "paths" / f"{part}.parquet")
        frame = _named(table(shard.rows))
        tables.write(self.directory, "requests", _requests(frame), part)
        tables.write(self.directory, "connections", frame.drop(_NOT_COLUMNS), part)
        (self.directory / "shards" / part).touch()

    def finish(self) -> None:
        """Writes the counters of the hosts, computed from all connections, unless they are complete.

        Raises:
            OSError: When a file can't be written.
        """
        if self._counted.exists():
            return
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
        tables.write(self.directory, "counters", counters, "all")
        self._counted.touch()

    @property
    def _counted(self) -> Path:
        return self.directory / "shards" / "counted"

    def _shards(self) -> Iterator[tuple[int, int]]:
        for file in (self.directory / "shards").iterdir():
            if found := _SHARD.fullmatch(file.name):
                yield int(found[1]), int(found[2])

    def _make(self, aside: Path) -> None:
        for folder in ("shards", "paths"):
            (aside / folder).mkdir()
        (aside / "population.toml").write_text(self.spec.text, encoding="utf-8")

    def _description(self) -> dict[str, Any]:
        spec = self.spec
        return {
            **header(spec.identity, FORMAT, self._command),
            "population": spec.file,
            "title": spec.plan.title,
            "arms": list(spec.arms),
            "paths": spec.paths,
            "seed": spec.seed,
            "changes": dict(spec.changes),
        }


def opened(directory: Path) -> PopulationSpec:
    """Returns the spec of a directory of simulated paths.

    Raises:
        FileNotFoundError: When the directory holds no simulated paths.
        OSError: When a file can't be read.
    """
    if not (directory / ABOUT).is_file():
        raise FileNotFoundError(
            f"{directory}: no {ABOUT}\n  fix: name a directory that `fullpipe fleet simulate` made"
        )
    about = json.loads((directory / ABOUT).read_text(encoding="utf-8"))
    text = (directory / "population.toml").read_text(encoding="utf-8")
    changes = list(about["changes"].items())
    return PopulationSpec(
        text, about["population"], about["arms"], about["paths"], about["seed"], changes
    )


def paths(directory: Path) -> pl.LazyFrame:
    """Returns a row per path: number (`pair`), class, seed of its runs, and the value drawn for each key."""
    return scan_parquet(sorted((directory / "paths").glob("[!.]*.parquet")))


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
