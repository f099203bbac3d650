"""The directory of a sweep, which grows shard by shard.

A shard's file is named after the numbers of its runs, the sweep's identity, except for the
simulator the runner, and its checksum.
"""

from __future__ import annotations

import math
import tomllib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe import _core
from fullpipe.algorithms.own import own
from fullpipe.base.frame import table
from fullpipe.results import about as abouts
from fullpipe.results import code, disk, fingerprint, sums, write_parquet, write_shard
from fullpipe.results.kept import read_parquet, scan_parquet, shards
from fullpipe.results.sweep import (
    ShardFile,
    fingerprint_of,
    series_files,
    shard_files,
    shard_stem,
)
from fullpipe.runners import SIMULATOR
from fullpipe.study.store import Store, gaps, header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fullpipe.study.engine import Shard
    from fullpipe.study.spec import SweepSpec


_MADE_AS = ("command", "mode", "axes", "zip")
"""Entries of a description that tell how the points were made."""


class SweepStore(Store):
    """The directory of one sweep, opened to add shards."""

    ABOUT = abouts.SWEEP
    FILES = ("scenario.toml", "points.parquet")
    about: abouts.SweepAbout
    OTHER_BUILD = "a sweep by a different build of fullpipe ({}), whose runs may differ"
    OTHER_SPEC = "a sweep of a different scenario or different points"

    def __init__(
        self,
        directory: Path,
        spec: SweepSpec,
        command: str,
        called: str,
        runners: Sequence[str] = (SIMULATOR,),
        trace: str = "off",
    ) -> None:
        """Makes the directory, or opens the existing one, adds runners to it, and notes the trace level.

        Raises:
            FileExistsError: When the directory has other contents.
            OSError: When it can't be written.
        """
        self.spec, self.runners, self._command = spec, list(runners), command
        self._trace = trace
        super().__init__(directory, spec.identity, called)
        self.runners = list(dict.fromkeys([*self.about["runners"], *runners]))
        if (
            len(self.about["seeds"]) < spec.plan.seeds[1]
            or self.runners != self.about["runners"]
            or self.about.get("trace") != trace
        ):
            self._describe()
            self.about = self._read()
        self._points = points_of(spec)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other processes from adding to the same directory, and makes damaged files again.

        Raises:
            BlockingIOError: When another process does so already.
        """
        with super().alone():
            runs = self.directory / "runs"
            disk.make_folder(runs)
            for leftover in runs.glob(".*"):  # left by a killed process
                disk.remove(leftover)
            recorded = [
                file
                for runner in self.runners
                for file in series_files(self.directory, runner).values()
            ]
            for file in (*(shard.file for shard in self._shards()), *recorded):
                if not sums.is_whole(file):
                    self.repaired.append(f"{file}: damaged; its runs are made again")
                    disk.remove(file)
            known = {shard.file for shard in self._shards()}
            stems = {sums.stem(file) for file in known}
            for file in shards(runs):  # a copy that a killed process has not replaced
                if file not in known and sums.is_shard(file) and sums.stem(file) in stems:
                    disk.remove(file)
            yield

    def missing(self, runner: str = SIMULATOR) -> list[tuple[int, int]]:
        """Returns ranges of run numbers that no shard of a runner has, each with the number after its last."""
        known = [(shard.first, shard.end) for shard in self._shards() if shard.runner == runner]
        return gaps(known, self.spec.plan.runs)

    def add(self, shard: Shard, *, real_time: bool = False) -> None:
        """Writes a shard; `real_time` tells that a clock decided its rows, which have no fingerprint then.

        Raises:
            OSError: When it can't be written.
        """
        name = shard_stem(shard.first, shard.end, self.spec.identity, shard.runner)
        more = {key: pl.lit(value) for key, value in shard.more.items()}
        rows = self._frame(table(shard.rows), real_time=real_time)
        write_shard(rows.with_columns(**more), self.directory / "runs", name)

    def discard(self) -> None:
        """Deletes the shards of the simulator, whose results can't be trusted.

        Raises:
            OSError: When one can't be deleted.
        """
        for shard in self._shards():
            if shard.runner == SIMULATOR:
                disk.remove(shard.file)

    def _shards(self) -> list[ShardFile]:
        return shard_files(self.directory, self.spec.identity)

    def _has_shards(self) -> bool:
        return bool(self._shards())

    def _read(self) -> abouts.SweepAbout:
        return abouts.sweep(self.directory)

    def seal(self) -> None:
        """Gives all shards the same columns, and writes the fingerprint of all rows when no run is missing.

        Raises:
            OSError: When it can't be written.
        """
        self._align()
        about = dict(self.about)
        complete = not any(self.missing(runner) for runner in self.runners)
        found = fingerprint_of(self.directory, self.about) if complete else None
        about.pop(fingerprint.NAME, None)
        about |= {fingerprint.NAME: found} if found else {}
        if about != self.about:
            sums.write_json(self.directory / self.ABOUT, about)

    def _align(self) -> None:
        """Writes shards of a runner again that lack columns of its others, as of a number that only some runs have.

        Other programs read all files of a data set only if their columns are equal.
        """
        for runner in self.runners:
            self._align_of([shard for shard in self._shards() if shard.runner == runner])

    def _align_of(self, there: Sequence[ShardFile]) -> None:
        frames = [scan_parquet(shard.file).collect_schema() for shard in there]
        if all(each == frames[0] for each in frames):
            return
        # In the order of the runs, so that it does not depend on how they are cut.
        whole = pl.concat([pl.DataFrame(schema=each) for each in frames], how="diagonal_relaxed")
        for shard, schema in zip(there, frames, strict=True):
            if schema != whole.schema:
                frame = pl.concat([whole, read_parquet(shard.file)], how="diagonal_relaxed")
                stem = sums.stem(shard.file)
                if write_shard(frame, self.directory / "runs", stem) != shard.file:
                    disk.remove(shard.file)

    def _frame(self, frame: pl.DataFrame, *, real_time: bool) -> pl.DataFrame:
        """Returns a shard's rows with the varied keys after point and seed, and with fingerprints behind them."""
        if not real_time:
            frame = frame.with_columns(fingerprint.of_rows(frame))
        varied = self._points.drop("point")[frame["point"]]
        return pl.concat(
            [frame.select("point", "seed"), varied, frame.drop("point", "seed")], how="horizontal"
        )

    def _make(self, aside: Path) -> None:
        disk.make_folder(aside / "runs")
        disk.write(aside / "scenario.toml", self.spec.text)
        code.keep(self.spec.algorithms, aside)
        scenarios = pl.Series("scenario", self.spec.scenarios(), dtype=pl.String)
        write_parquet(points_of(self.spec).with_columns(scenarios), aside / "points.parquet")

    def _description(self) -> dict[str, Any]:
        plan, there = self.spec.plan, self._shards()
        first, count = plan.seeds
        count = max([count, *(math.ceil(shard.end / plan.points) for shard in there)])
        runners = list(dict.fromkeys([*self.runners, *(shard.runner for shard in there)]))
        algorithms = own(self.spec.algorithms)
        return {
            **header(self.spec.identity, abouts.SWEEP_FORMAT, self._command),
            "file": self.spec.file,
            "scenario": self.spec.text,
            "mode": plan.mode,
            "axes": axes_of(plan),
            "zip": list(self.spec.together),
            "seeds": list(range(first, first + count)),
            "points": plan.points,
            "runners": runners,
            "runs": plan.points * count * len(runners),
            "added_jitter": {
                key: least if least == most else [least, most]
                for key, least, most in self.spec.added_jitter
            },
            **({"algorithms": algorithms} if algorithms else {}),
            "trace": self._trace,
            **self._made_as(),
        }

    def _made_as(self) -> dict[str, Any]:
        """Returns the entries that the complete scenarios of a kept sweep do not tell."""
        about = getattr(self, "about", None) if self.spec.whole else None
        return {key: about[key] for key in _MADE_AS} if about else {}


def plain(value: str) -> str:
    """Returns a value without the quotes that `--set` may need."""
    return str(tomllib.loads(f"value = {value}")["value"]) if value[:1] in ('"', "'") else value


def unit(values: Sequence[str]) -> str | None:
    """Returns the base unit of all values; empty for plain numbers and shares, None without a common unit."""
    quantities = [_core.quantity(plain(value)) for value in values]
    units = {quantity[1] if quantity else None for quantity in quantities}
    return units.pop() if len(units) == 1 else None


def axes_of(plan: _core.SweepPlan) -> list[abouts.AxisAbout]:
    """Returns the keys that vary in a plan, as `sweep.json` has them."""
    return [
        {"key": key, "values": [plain(value) for value in values], "unit": unit(values)}
        for key, values in plan.axes
    ]


def points_of(spec: SweepSpec) -> pl.DataFrame:
    """Returns a row per point: its number, each varied key as written, and as a number if its values have one unit."""
    plan = spec.plan
    columns = [pl.Series("point", range(plan.points), dtype=pl.Int64)]
    for axis, (key, values) in enumerate(plan.axes):
        places = pl.Series(plan.places(axis), dtype=pl.UInt32)
        words = [plain(value) for value in values]
        columns.append(pl.Series(key, words, dtype=pl.String).gather(places))
        if unit(values) is not None:
            numbers = [
                quantity[0] if (quantity := _core.quantity(word)) else None for word in words
            ]
            columns.append(pl.Series(f"{key}.value", numbers, dtype=pl.Float64).gather(places))
    return pl.DataFrame(columns)
