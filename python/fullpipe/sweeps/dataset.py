"""A sweep's directory, opened to be read."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe.results import read_parquet, scan_parquet
from fullpipe.run import parse
from fullpipe.runners import SIMULATOR, option

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import polars as pl

    from fullpipe._core import Scenario
    from fullpipe.run import Setting
    from fullpipe.sweeps.until import Miss


class Sweep:
    """The data set of a sweep.

    Attributes:
        directory: Where it is.
        about: What `sweep.json` says: `axes`, `mode`, `seeds`, `points`, `runs`, `added_jitter`,
            `version` and more.
    """

    directory: Path
    about: dict[str, Any]

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        """Opens the directory of a sweep.

        Raises:
            OSError: When there is none, or it can't be read.
        """
        self.directory = Path(directory)
        self.about = json.loads((self.directory / "sweep.json").read_text(encoding="utf-8"))
        self._points: pl.DataFrame | None = None

    def __repr__(self) -> str:
        return f"<Sweep in {self.directory}: {self.about['points']} points, {len(self.seeds)} seeds each>"

    @property
    def axes(self) -> dict[str, list[str]]:
        """The keys that are varied, with their values."""
        return {axis["key"]: axis["values"] for axis in self.about["axes"]}

    @property
    def seeds(self) -> list[int]:
        """The seeds that each point is run with."""
        return list(self.about["seeds"])

    @property
    def runners(self) -> list[str]:
        """What it was run on; `runner` in the rows."""
        return list(self.about.get("runners", [SIMULATOR]))

    @property
    def points(self) -> pl.DataFrame:
        """A row a point: `point`, each varied key as written and as `<key>.value`, and its `scenario`."""
        if self._points is None:
            self._points = read_parquet(self.directory / "points.parquet")
        return self._points

    def scan(self) -> pl.LazyFrame:
        """The rows, one a flow and run, without reading them yet.

        Raises:
            FileNotFoundError: When no shard is done yet.
        """
        import polars as pl

        shards = sorted((self.directory / "runs").glob("*.parquet"))
        if not shards:
            raise FileNotFoundError(f"{self.directory}: no run is done yet")
        return pl.concat([scan_parquet(shard) for shard in shards], how="diagonal_relaxed")

    def frame(self) -> pl.DataFrame:
        """The rows, one a flow and run, by point, seed and flow; of several runners, in the order of their names.

        Raises:
            FileNotFoundError: When no shard is done yet.
        """
        return self.scan().collect().sort("point", "seed", "runner", "flow_index")

    def misses(self, rule: str) -> list[Miss]:
        """The flows of which a rule like `"ci(goodput) < 2%"` does not hold, with half their interval over their mean.

        Raises:
            RuleError: When it is no rule, or no run has its metric.
        """
        from fullpipe.sweeps.until import misses

        return misses(self, rule)

    def replay(self, point: int, seed: int, on: str = SIMULATOR) -> str:
        """The command that makes one of the runs again, or on a machine's clock another like it.

        Raises:
            IndexError: When there is no such point.
        """
        self._check(point)
        where = ["--point", f"{point}", "--seed", f"{seed}"]
        return shlex.join(["fullpipe", "run", str(self.directory), *option(on), *where])

    def scenario(self, point: int) -> str:
        """The whole scenario of a point as TOML, with the first seed.

        Raises:
            IndexError: When there is no such point.
        """
        self._check(point)
        return str(self.points["scenario"][point])

    def load(
        self,
        point: int,
        *,
        seed: int | None = None,
        set: Mapping[str, Setting] | None = None,  # noqa: A002
    ) -> Scenario:
        """The scenario of a point, ready for :func:`fullpipe.run`; `seed` and `set` are those of :func:`fullpipe.load`.

        Raises:
            IndexError: When there is no such point.
            ScenarioError: When it is refused.
        """
        return parse(self.scenario(point), f"{self.directory}, point {point}", seed=seed, set=set)

    def _check(self, point: int) -> None:
        if not 0 <= point < self.about["points"]:
            raise IndexError(
                f"{self.directory} has points 0 to {self.about['points'] - 1}, and none is {point}"
            )

    def series(self, point: int, table: str = "flows", on: str | None = None) -> pl.DataFrame:
        """What was recorded over time of the first seed of a point: the columns of :meth:`fullpipe.Run.trace`.

        Args:
            point: Its number.
            table: `"flows"` or `"links"`.
            on: The runner; None for the first.

        Raises:
            FileNotFoundError: When nothing was recorded.
        """
        return read_parquet(
            series_file(self.directory, point, self.seeds[0], table, on or self.runners[0])
        )


def series_file(directory: Path, point: int, seed: int, table: str, runner: str) -> Path:
    """Where a table of a recorded run is."""
    folder = directory / "series" / ("" if runner == SIMULATOR else runner)
    return folder / (
        f"{point}-{seed}.parquet" if table == "flows" else f"{point}-{seed}.{table}.parquet"
    )
