"""The directory of a sweep, opened for reading."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from fullpipe.algorithms.own import options
from fullpipe.report.kept import Kept
from fullpipe.results import about as abouts
from fullpipe.results import objects, read_parquet, scan_parquet
from fullpipe.results.sweep import series_files, series_folder, shard_files
from fullpipe.run import parse
from fullpipe.runners import SIMULATOR, option

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from fullpipe._core import Scenario
    from fullpipe.base.toml import Setting
    from fullpipe.runs.view.figure import Picture
    from fullpipe.study.sweeps.until import Miss


class Sweep(Kept):
    """The data set of a sweep; a notebook shows it as the table of `fullpipe sweep`, with a picture.

    Attributes:
        directory: Its path; for a URL that of a copy.
        called: Its name: the path, or the URL.
        about: The contents of `sweep.json`: `axes`, `mode`, `seeds`, `points`, `runs`,
            `added_jitter`, `version` and more.
    """

    directory: Path
    called: str
    about: abouts.SweepAbout

    def __init__(self, directory: str | os.PathLike[str], *, called: str | None = None) -> None:
        """Opens the directory of a sweep, or the URL of an object store, whose contents are copied first.

        Args:
            directory: The directory or URL.
            called: Its name in outputs; None for `directory` itself.

        Raises:
            OSError: When it is not the directory of a sweep, or can't be read.
            ObjectsError: When the object store can't be read.
            DamagedError: When its `sweep.json` is damaged, or of another version of fullpipe.
        """
        self.directory, self.called = objects.local(directory), called or str(directory)
        self.about = abouts.sweep(self.directory)
        self._points: pl.DataFrame | None = None

    def __repr__(self) -> str:
        return (
            f"<Sweep in {self.called}: {self.about['points']} points, {len(self.seeds)} seeds each>"
        )

    @property
    def axes(self) -> dict[str, list[str]]:
        """The keys that vary, with their values."""
        return {axis["key"]: axis["values"] for axis in self.about["axes"]}

    @property
    def seeds(self) -> list[int]:
        """The seeds that each point is run with."""
        return list(self.about["seeds"])

    @property
    def runners(self) -> list[str]:
        """The names of its runners; the column `runner` of the rows."""
        return list(self.about["runners"])

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of all rows, 16 hexadecimal digits; None if runs are missing or real clocks ran them all.

        The same sweep has the same one on every machine, whatever the number of threads and the order of its runs.
        """
        return self.about.get("fingerprint")

    @property
    def points(self) -> pl.DataFrame:
        """One row per point: `point`, each varied key as written and as `<key>.value`, and its `scenario`."""
        if self._points is None:
            self._points = read_parquet(self.directory / "points.parquet", ["point", "scenario"])
        return self._points

    def scan(self) -> pl.LazyFrame:
        """Returns the rows, one per flow and run, without reading them yet.

        Raises:
            FileNotFoundError: When no run has finished.
            DamagedError: When a shard is damaged; the same sweep makes it again.
        """
        import polars as pl

        from fullpipe.results.fingerprint import NAME

        shards = shard_files(self.directory, self.about["identity"])
        if not shards:
            raise FileNotFoundError(f"{self.directory}: no run has finished")
        rows = pl.concat([scan_parquet(shard.file) for shard in shards], how="diagonal_relaxed")
        # Columns that the first shard lacks come last: whichever it is, the fingerprint is behind them.
        known = NAME in rows.collect_schema().names()
        return rows.select(pl.exclude(NAME), NAME) if known else rows

    def frame(self) -> pl.DataFrame:
        """Returns the rows, one per flow and run, sorted by point, seed, runner and flow.

        Raises:
            FileNotFoundError: When no run has finished.
        """
        return self.scan().collect().sort("point", "seed", "runner", "flow_index")

    @property
    def flows(self) -> pl.DataFrame:
        """The rows of :meth:`frame`, one per flow and run, without those of links.

        Columns are `point`, `seed`, `runner`, each varied key, `flow`, `cc`, and the metrics, with names like
        `goodput_bps` (bit/s) and `rtt_s.mean` (seconds).
        """
        from fullpipe.results.rows import without_links

        return without_links(self.frame())

    @property
    def links(self) -> pl.DataFrame:
        """One row per link and run, sorted by point, seed, runner and link.

        Columns are `point`, `seed`, `runner`, each varied key, `link`, and the metrics, with names like
        `utilization` (a share of 1) and `queue_delay_s.p95` (seconds).
        """
        from fullpipe.results.rows import links_of

        keys = [
            "point",
            "seed",
            "runner",
            *(key for key in self.axes if key in self.points.columns),
        ]
        return links_of(self.frame(), keys)

    def trace(self, table: str = "flows", *, point: int = 0, on: str | None = None) -> pl.DataFrame:
        """Returns the trace of the first seed of a point; the same as :meth:`series`.

        Raises:
            FileNotFoundError: When no trace was recorded.
        """
        return self.series(point, table, on)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        panels: Sequence[str] | None = None,
        metrics: Sequence[str] = (),
    ) -> Picture:
        """Draws metrics over a swept number, as maps over two, or as a mark with an interval for each contender.

        Args:
            path: The file to save the picture to; its suffix (.png, .svg, .pdf) selects the format. None to not save
                it. An existing file is replaced.
            panels: Draws recorded runs over time instead, over each other: keys of panels, as for
                :meth:`fullpipe.Run.plot`.
            metrics: The metrics to draw, like `["goodput", "rtt"]`; empty for those that suit the scenario.

        Raises:
            NoResultsError: When no run has finished.
            ValueError: When `panels` are given and no run was recorded over time.
            PanelError: When there is no such panel, or the runs have no data of it.
            MetricError: When a metric is unknown, or no run has a value of it.
            OSError: When `path` can't be written.
        """
        if panels is not None:
            return self._over_time(path, panels)
        return self._charts(path, metrics)

    def _repr_html_(self) -> str:
        from fullpipe.runs.view.html import Page
        from fullpipe.study.sweeps.show import show

        page = Page()
        show(self, page)
        page.add_png(self._repr_png_())
        return page.html()

    def misses(self, rule: str) -> list[Miss]:
        """Returns the flows that miss a rule like `"ci(goodput) < 2%"`, with half their interval over their mean.

        Raises:
            RuleError: When it is not a rule, or no run has its metric.
        """
        from fullpipe.study.sweeps.until import misses

        return misses(self, rule)

    def replay(self, point: int, seed: int, on: str = SIMULATOR) -> str:
        """Returns the command that repeats a run; in real time the result will differ.

        Raises:
            IndexError: When there is no such point.
        """
        self._check(point)
        again = options(self.about.get("algorithms", []))
        where = ["--point", f"{point}", *again, "--seed", f"{seed}"]
        return shlex.join(["fullpipe", "run", self.called, *option(on), *where])

    def scenario(self, point: int) -> str:
        """Returns the complete scenario of a point as TOML, with the first seed.

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
        """Loads the scenario of a point for :func:`fullpipe.run`; `seed` and `set` are as for :func:`fullpipe.load`.

        Raises:
            IndexError: When there is no such point.
            ScenarioError: When it is refused.
        """
        return parse(self.scenario(point), f"{self.directory}, point {point}", seed=seed, set=set)

    def _check(self, point: int) -> None:
        if not 0 <= point < self.about["points"]:
            raise IndexError(
                f"{self.directory} has points 0 to {self.about['points'] - 1}, but not {point}"
            )

    def series(self, point: int, table: str = "flows", on: str | None = None) -> pl.DataFrame:
        """Returns the trace of the first seed of a point, with the columns of :meth:`fullpipe.Run.trace`.

        Args:
            point: The point's number.
            table: `"flows"` or `"links"`.
            on: The runner; None for the first.

        Raises:
            FileNotFoundError: When no trace was recorded.
        """
        name = f"{point}-{self.seeds[0]}" + ("" if table == "flows" else f".{table}")
        runner = on or self.runners[0]
        try:
            return read_parquet(series_files(self.directory, runner)[name])
        except KeyError:
            folder = series_folder(self.directory, runner)
            raise FileNotFoundError(f"{folder} has no trace {name}") from None
