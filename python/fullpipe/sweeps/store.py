"""The directory of a sweep: what is in it, and how it grows shard by shard.

A shard's file is named after the numbers of its runs, the sweep's identity and, but for the
simulator, the runner.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe import _core
from fullpipe.batch.spec import FORMAT
from fullpipe.batch.store import Store, gaps, header, write_whole
from fullpipe.frame import table
from fullpipe.results import write_parquet
from fullpipe.runners import SIMULATOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fullpipe._core import _Rows
    from fullpipe.batch.pool import Shard
    from fullpipe.batch.spec import SweepSpec

_SHARD = re.compile(r"(\d+)-(\d+)-([0-9a-f]{16})(?:-([a-z0-9-]+))?\.parquet")


class SweepStore(Store):
    """The directory of one sweep, opened to be filled."""

    ABOUT = "sweep.json"
    OTHER_BUILD = "a sweep by another build of fullpipe ({}), whose runs may differ"
    OTHER_SPEC = "a sweep of another scenario or other points"

    def __init__(
        self,
        directory: Path,
        spec: SweepSpec,
        command: str,
        called: str,
        runners: Sequence[str] = (SIMULATOR,),
    ) -> None:
        """Makes the directory, or opens the one that is there, where runners may be added.

        Raises:
            FileExistsError: When there is something else.
            OSError: When it can't be written.
        """
        self.spec, self.runners, self._command = spec, list(runners), command
        super().__init__(directory, spec.identity, called)
        self.runners = list(dict.fromkeys([*self.about["runners"], *runners]))
        if len(self.about["seeds"]) < spec.plan.seeds[1] or self.runners != self.about["runners"]:
            self._describe()
        self._points = _points(spec)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other processes from filling the same directory.

        Raises:
            BlockingIOError: When one does so already.
        """
        with super().alone():
            for leftover in (self.directory / "runs").glob(".*"):  # of a process that was killed
                leftover.unlink()
            yield

    def missing(self, runner: str = SIMULATOR) -> list[tuple[int, int]]:
        """Ranges of run numbers that no shard of a runner has, each with the number behind its last."""
        return gaps(self._shards(runner), self.spec.plan.runs)

    def add(self, shard: Shard) -> None:
        """Writes a shard.

        Raises:
            OSError: When it can't be written.
        """
        whose = "" if shard.runner == SIMULATOR else f"-{shard.runner}"
        name = f"{shard.first:07}-{shard.end:07}-{self.spec.identity}{whose}.parquet"
        more = {key: pl.lit(value) for key, value in shard.more.items()}
        write_whole(self._frame(shard.rows).with_columns(**more), self.directory / "runs" / name)

    def _shards(self, runner: str) -> Iterator[tuple[int, int]]:
        for file in (self.directory / "runs").iterdir():
            if (found := _SHARD.fullmatch(file.name)) and (found[4] or SIMULATOR) == runner:
                yield int(found[1]), int(found[2])

    def _frame(self, rows: _Rows) -> pl.DataFrame:
        """A shard's rows, with what was varied behind point and seed."""
        frame = table(rows)
        varied = self._points.drop("point")[frame["point"]]
        return pl.concat(
            [frame.select("point", "seed"), varied, frame.drop("point", "seed")], how="horizontal"
        )

    def _make(self, aside: Path) -> None:
        (aside / "runs").mkdir()
        (aside / "scenario.toml").write_text(self.spec.text, encoding="utf-8")
        scenarios = pl.Series("scenario", self.spec.scenarios(), dtype=pl.String)
        write_parquet(_points(self.spec).with_columns(scenarios), aside / "points.parquet")

    def _description(self) -> dict[str, Any]:
        plan = self.spec.plan
        first, count = plan.seeds
        return {
            **header(self.spec.identity, FORMAT, self._command),
            "file": self.spec.file,
            "scenario": self.spec.text,
            "mode": plan.mode,
            "axes": [
                {"key": key, "values": [plain(value) for value in values], "unit": unit(values)}
                for key, values in plan.axes
            ],
            "zip": list(self.spec.together),
            "seeds": list(range(first, first + count)),
            "points": plan.points,
            "runners": self.runners,
            "runs": plan.runs * len(self.runners),
            "added_jitter": {
                key: least if least == most else [least, most]
                for key, least, most in plan.added_jitter
            },
        }


def plain(value: str) -> str:
    """A value as it is meant: without the quotes that a `--set` may need."""
    return str(tomllib.loads(f"value = {value}")["value"]) if value[:1] in ('"', "'") else value


def unit(values: Sequence[str]) -> str | None:
    """The base unit of all values; empty for plain numbers and shares, None where they have not one in common."""
    quantities = [_core.quantity(plain(value)) for value in values]
    units = {quantity[1] if quantity else None for quantity in quantities}
    return units.pop() if len(units) == 1 else None


def _points(spec: SweepSpec) -> pl.DataFrame:
    """A row a point: its number, each varied key as written, and as a number where its values have one unit."""
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
