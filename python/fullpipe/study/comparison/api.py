"""`fullpipe.compare`: runs each algorithm alone, then all together, into a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.base.arguments import checked
from fullpipe.base.progress import Counter
from fullpipe.base.toml import as_set
from fullpipe.report.kept import Kept
from fullpipe.results import objects
from fullpipe.results.sweep import PARTS
from fullpipe.runners import SIMULATOR, chosen, has
from fullpipe.runs.given import name_of
from fullpipe.runs.lengths import is_drifting, lengths
from fullpipe.scenario.path_options import keyed
from fullpipe.study.comparison.plan import Comparison as Plan
from fullpipe.study.comparison.plan import open_directory, plan
from fullpipe.study.engine import Engine
from fullpipe.study.execute import one_cluster, refuse_engine
from fullpipe.study.sweeps.dataset import Sweep
from fullpipe.study.sweeps.execute import Execution

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from fullpipe.algorithms.classes import Controllers
    from fullpipe.base.toml import Setting
    from fullpipe.runners import Runner
    from fullpipe.runs.given import Algorithm
    from fullpipe.runs.lengths import Length
    from fullpipe.runs.view.figure import Picture
    from fullpipe.stats.steady import Steadiness


@checked
def compare(
    *algorithms: Algorithm,
    rate: Setting | None = None,
    rtt: Setting | None = None,
    buffer: Setting | None = None,
    queue: Setting | None = None,
    loss: Setting | None = None,
    profile: str | None = None,
    stack: str | None = None,
    duration: Setting | None = None,
    bytes: str | None = None,  # noqa: A002  (the same word as --bytes)
    set: Mapping[str, Setting] | None = None,  # noqa: A002  (the same word as --set)
    repeat: int = 10,
    seed: int | None = None,
    until: str | None = None,
    on: str | Sequence[str] = SIMULATOR,
    controllers: Controllers | None = None,
    out: str | os.PathLike[str] | None = None,
    engine: str = "local",
    threads: int | None = None,
) -> Comparison:
    """Compares algorithms on one path: runs each alone, then all together, one flow of each.

    The options have the names and the syntax of `fullpipe compare`. Finished runs are not repeated.

        >>> found = fullpipe.compare("cubic", "bbr3", rate="20mbit", duration="10s", repeat=10)
        >>> found.flows["case"].unique().sort().to_list()
        ['alone', 'together']
        >>> found.sentences[0]  # doctest: +ELLIPSIS
        'together: bbr3 has 38 % higher goodput than cubic (95 % CI 12 to 72 %), at 0.79 % higher p95 ...'

    Args:
        *algorithms: Two or more, each a name (`fullpipe list algorithms`), `"my.module:Mine"`, or a class.
        rate: Rate of the link, like `"20mbit"`.
        rtt: Round-trip time without queueing, like `"40ms"`.
        buffer: Buffer, like `"2bdp"`.
        queue: Queue, like `"fq_codel"`.
        loss: Random loss, like `"1%"`.
        profile: Named path, like `"lte"`.
        stack: TCP at both ends of every flow: `"rfc"`, `"linux"` or `"linux-fq"`.
        duration: Length of each run, like `"30s"`, with a warm-up that is not measured: 10 s, or 100 RTTs with full
            buffers, and at most half.
        bytes: Bytes that each flow transfers, like `"1GB"`; None for unlimited flows.
        set: Any other key of the scenario, `{"path.jitter": "5ms"}`.
        repeat: Runs of each algorithm and of all together, each with another seed. With fewer than 3 no
            difference is tested; fewer than 10 can mislead.
        seed: The seed of the first run; None for 1.
        until: `"steady"` prolongs the runs until no number drifts, as in :func:`fullpipe.run`; `out` then has a
            directory for each length.
        on: The runners: `"sim"`, or others of :func:`fullpipe.runners.names`, as `"sim,kernel"` or a list.
        controllers: Algorithms of your own by name, as for :func:`fullpipe.run`.
        out: The directory, or the URL of an object store, `"s3://bucket/prefix"`; None for one in `results/`, named
            after algorithms and path.
        engine: `"local"`, or `"ray"`.
        threads: The number of runs at a time; None for one per core.

    Returns:
        The comparison.

    Raises:
        TooFewError: When there are fewer than two different algorithms.
        ScenarioError: When a setting is refused.
        RunnerError: When a runner is not installed, or its runs can't execute there.
        RuleError: When `until` is another word.
        FileExistsError: When `out` has other contents.
        OSError: When `out` can't be written.
        ClusterError: When the Ray cluster can't execute the runs; finished runs are kept.
        ObjectsError: When the object store can't be read or written.
        KeyboardInterrupt: On Ctrl-C; finished runs are kept, and the same call resumes.
    """
    options = {
        "rate": rate,
        "rtt": rtt,
        "buffer": buffer,
        "queue": queue,
        "loss": loss,
        "profile": profile,
        "stack": stack,
        "duration": duration,
    }
    classes: dict[str, type] = dict(controllers or {})
    names = [name_of(each, classes) for each in algorithms]
    runners, where = chosen(on), Engine(engine, threads)
    refuse_engine(where, runners)
    loopback = all(has(runner.name, "loopback") for runner in runners)
    settings = {**keyed(options), **(set or {})}
    pairs = [(key, as_set(value)) for key, value in settings.items()]

    def planned(length: Length | None) -> Plan:
        keys = length.over(pairs) if length else pairs
        return plan(names, keys, repeat, seed, size=bytes, loopback=loopback, controllers=classes)

    if until is None:
        return _executed(planned(None), out, runners, where)
    for length in lengths(planned(None).specs[1][1].scenarios(), until):
        place = length.inside(str(out)) if out is not None else None
        made = _executed(planned(length), place, runners, where)
        if not is_drifting(_verdicts(made.directory)):
            break
    return made


def _executed(
    planned: Plan,
    out: str | os.PathLike[str] | None,
    runners: Sequence[Runner],
    where: Engine,
) -> Comparison:
    """Executes the missing runs of a plan."""
    place = out if out is not None else planned.usual_directory
    command = "fullpipe.compare()"
    with (
        Counter(silent=True) as counter,
        objects.writable(place) as (directory, push),
        one_cluster(where),
    ):
        open_directory(directory, planned, command, str(place))
        for part, spec in planned.specs:
            Execution(
                directory / part,
                counter,
                command,
                f"{place}, {part},",
                engine=where,
                runners=runners,
                push=push,
            ).run(spec)
    return Comparison(directory)


def _verdicts(directory: Path) -> list[Steadiness]:
    """Returns the verdict on each point of a comparison: whether its numbers are steady."""
    from fullpipe.report.panels import steady
    from fullpipe.results.load import load

    return list(steady.verdicts(load(directory)).values())


class Comparison(Kept):
    """A comparison of algorithms; a notebook shows it as the table and sentences of `fullpipe compare`, with a picture.

    Attributes:
        directory: Its directory; for a URL that of a copy.
        alone: The runs of each algorithm alone, as a sweep over `flow.0.cc`.
        together: The runs of all together, as a sweep of one point.
    """

    alone: Sweep
    together: Sweep

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        """Opens the directory of a comparison, or the URL of an object store, whose contents are copied first.

        Raises:
            OSError: When it is not the directory of a comparison, or can't be read.
            DamagedError: When a file is damaged, or of another version of fullpipe.
        """
        self.directory = objects.local(directory)
        self.alone, self.together = (Sweep(self.directory / part) for part in PARTS)

    def __repr__(self) -> str:
        seeds = len(self.together.seeds)
        return f"<Comparison of {', '.join(self.algorithms)} in {objects.called(self.directory)}: {seeds} seeds>"

    @property
    def algorithms(self) -> list[str]:
        """The names of the algorithms."""
        return self.alone.axes["flow.0.cc"]

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow and run: `case` (`alone` or `together`), `seed`, `flow`, `cc`, and the metrics.

        Metrics have names like `goodput_bps` (bit/s) and `rtt_s.mean` (seconds).
        """
        return self._both("flows")

    @property
    def links(self) -> pl.DataFrame:
        """One row per link and run: `case`, `seed`, `link`, and the metrics; alone also `flow.0.cc`."""
        return self._both("links")

    @property
    def sentences(self) -> list[str]:
        """The significant differences in words, the largest first, with 95 % intervals."""
        from fullpipe.results.load import load
        from fullpipe.study.comparison.show import told

        return told(load(self.directory))

    def trace(self, table: str = "flows", *, algorithm: str | None = None) -> pl.DataFrame:
        """Returns the trace of the first seed, with the columns of :meth:`fullpipe.Run.trace`.

        Args:
            table: `"flows"` or `"links"`.
            algorithm: The algorithm that runs alone; None for all together.

        Raises:
            ValueError: When there is no such algorithm.
            FileNotFoundError: When no trace was recorded.
        """
        if algorithm is None:
            return self.together.series(0, table)
        if algorithm not in self.algorithms:
            raise ValueError(f"no algorithm {algorithm!r}; there are {', '.join(self.algorithms)}")
        return self.alone.series(self.algorithms.index(algorithm), table)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        panels: Sequence[str] | None = None,
    ) -> Picture:
        """Draws goodput over delay, alone and together, and the rates together over time.

        Args:
            path: The file to save the picture to; its suffix (.png, .svg, .pdf) selects the format. None to not save
                it. An existing file is replaced.
            panels: Draws the run of all together over time instead: keys of panels, as for :meth:`fullpipe.Run.plot`.

        Raises:
            PanelError: When there is no such panel, or the runs have no data of it.
            OSError: When `path` can't be written.
        """
        if panels is not None:
            return self.together.plot(path, panels=panels)
        from fullpipe.results.load import load
        from fullpipe.study.comparison.picture import picture

        figure = picture(load(self.directory))
        if path is not None:
            from fullpipe.results.files import write_picture

            write_picture(figure, path)
        return figure

    def _both(self, table: str) -> pl.DataFrame:
        import polars as pl

        parts = zip(PARTS, (self.alone, self.together), strict=True)
        frames = [
            (part.flows if table == "flows" else part.links).select(
                pl.lit(name).alias("case"), pl.all()
            )
            for name, part in parts
        ]
        return pl.concat(frames, how="diagonal_relaxed")

    def _repr_html_(self) -> str:
        from fullpipe.results.load import load
        from fullpipe.runs.view.html import Page
        from fullpipe.runs.view.path import path_line
        from fullpipe.study.comparison.show import show

        page = Page()
        show(load(self.directory), path_line(self.together.scenario(0)), page)
        page.add_png(self._repr_png_())
        return page.html()

    def _repr_png_(self) -> bytes:
        if self._png is None:
            self._png = self.plot().png()
        return self._png
