"""Runs one scenario and returns a :class:`Run` with its metrics and trace."""

from __future__ import annotations

import copyreg
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.algorithms.resolve import described_in
from fullpipe.base.arguments import checked
from fullpipe.errors import interruptible
from fullpipe.runs.data import RunData
from fullpipe.runs.lengths import is_drifting, lengths

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from fullpipe.algorithms.classes import Controllers
    from fullpipe.base.toml import Setting
    from fullpipe.runners import Progress
    from fullpipe.runs.given import Algorithm, ScenarioLike
    from fullpipe.runs.view.figure import Picture


@checked
def run(
    scenario: ScenarioLike,
    *,
    cc: Algorithm | None = None,
    rate: Setting | None = None,
    rtt: Setting | None = None,
    buffer: Setting | None = None,
    queue: Setting | None = None,
    loss: Setting | None = None,
    profile: str | None = None,
    stack: str | None = None,
    duration: Setting | None = None,
    set: Mapping[str, Setting] | None = None,  # noqa: A002  (the same word as --set)
    seed: int | None = None,
    until: str | None = None,
    trace: str = "off",
    on: str = "sim",
    controllers: Controllers | None = None,
    progress: Progress | None = None,
    **overrides: Setting,
) -> Run:
    """Runs a scenario, in virtual time by default.

    The options have the names and the syntax of `fullpipe run`.

        >>> run = fullpipe.run(["cubic", "bbr3"], rate="20mbit", rtt="40ms", queue="fq_codel", duration="5s")
        >>> run.flows["flow"].to_list()
        ['cubic', 'bbr3']

    Args:
        scenario: The path of a TOML file, its text (any string with a line break), the name of a scenario in the
            package (`fullpipe list scenarios`), a mapping of the same tables and keys
            (`{"path": {"rate": "20mbit"}, "flow": [{"cc": "cubic"}]}`), or a scenario from :func:`load`. Or
            algorithms, as a list: a flow of each shares one path.
        cc: The algorithm of the first flow: its name, or a class.
        rate: Rate of the bottleneck, like `"20mbit"`.
        rtt: Round-trip time without queueing, like `"40ms"`.
        buffer: Buffer of the bottleneck, like `"2bdp"`, `"100packets"` or `"1MB"`.
        queue: Queue of the bottleneck, like `"fq_codel"`, or `{"kind": "codel", "target": "10ms"}`.
        loss: Random loss, like `"1%"`.
        profile: Named path, like `"lte"`; it replaces the whole path.
        stack: TCP at both ends of every flow: `"rfc"`, `"linux"` or `"linux-fq"`.
        duration: Length of the run, like `"30s"`. If the scenario's warm-up is longer than half of it, the warm-up
            becomes `measure_from = "auto"`.
        set: Values that override keys of the scenario: `{"path.jitter": "5ms", "flow.0.params.beta": 0.8}`.
            `fullpipe explain scenario` lists the keys.
        seed: The seed of everything random; None for the scenario's.
        until: `"steady"` prolongs the run until no number drifts, at most four times: it is twice as long as the last
            one, and measured in its second half. None for the scenario's length.
        trace: `"off"`, `"ack"` (a row at every ACK), or the interval between two rows, like
            `"10ms"`; `"10ms packets 2s..4s"` also records each packet of this time.
        on: The runner: `"sim"`, or another of :func:`fullpipe.runners.names`. A real-time runner
            takes the time of the scenario's duration.
        controllers: Algorithms of your own by the names that the scenario uses for them:
            `controllers={"mine": Mine}`. A class that can be imported needs no entry: `cc =
            "my.module:Mine"`.
        progress: Called with (seconds done, seconds in all, events done) during the run; None for a bar in a
            notebook, and none elsewhere.
        **overrides: Like `set`, for keys outside of tables: `measure_from="5s"`.

    Returns:
        The finished run.

    Raises:
        ScenarioError: When the scenario has an error, needs more memory than is free, or asks for
            something that the runner does not support; the text has place, problem and fix.
        RunnerError: When there is no such runner, or it is not installed on this machine.
        RuleError: When `until` is another word.
        TypeError: When a scenario can't have such a value.
        OSError: When the file can't be read.
        KeyboardInterrupt: On Ctrl-C.
    """
    from contextlib import nullcontext

    from fullpipe.base.notebook import is_notebook
    from fullpipe.base.progress import Bar
    from fullpipe.runners import refuse, runner

    loaded = unjudged(
        scenario,
        cc=cc,
        rate=rate,
        rtt=rtt,
        buffer=buffer,
        queue=queue,
        loss=loss,
        profile=profile,
        stack=stack,
        duration=duration,
        set=set,
        seed=seed,
        controllers=controllers,
        **overrides,
    )
    chosen = runner(on)

    def execute(scenario: _core.Scenario) -> Run:
        refuse(chosen, scenario, trace)
        with (
            Bar() if progress is None and is_notebook() else nullcontext(progress) as shown,
            interruptible() if scenario.controllers or _core.plugins() else nullcontext(),
        ):
            return Run(scenario, chosen.execute(scenario, trace, shown), trace)

    if until is None:
        return execute(loaded)
    from fullpipe.stats.steady import of_run  # needs polars

    for length in lengths([loaded.to_toml()], until):
        made = execute(unjudged(loaded, set=dict(length.settings)) if length.number else loaded)
        if not is_drifting([of_run(made.metrics)]):
            break
    return made


@checked
def load(
    scenario: ScenarioLike,
    *,
    cc: Algorithm | None = None,
    rate: Setting | None = None,
    rtt: Setting | None = None,
    buffer: Setting | None = None,
    queue: Setting | None = None,
    loss: Setting | None = None,
    profile: str | None = None,
    stack: str | None = None,
    duration: Setting | None = None,
    set: Mapping[str, Setting] | None = None,  # noqa: A002
    seed: int | None = None,
    on: str | None = None,
    controllers: Controllers | None = None,
    **overrides: Setting,
) -> _core.Scenario:
    """Reads and checks a scenario without running it; the arguments are those of :func:`run`.

        >>> lte = fullpipe.load(["cubic", "bbr3"], profile="lte")
        >>> lte.flows
        [('cubic', 'cubic'), ('bbr3', 'bbr3')]

    The runner `on` checks it, by default the simulator: :func:`load` refuses what :func:`run` refuses. Programs, which
    the simulator does not run, pass; an algorithm that only a kernel has needs `on="kernel"`.

    Returns:
        The scenario; :func:`run` can run it any number of times, also with further options. It can be pickled and
        copied; the files that it names are read again, at their places.

    Raises:
        ScenarioError: When the scenario has an error, or :func:`run` would refuse it.
        RunnerError: When there is no such runner, or it is not installed on this machine.
        TypeError: When a scenario can't have such a value.
        OSError: When the file can't be read.
    """
    from fullpipe.runners import refuse, runner

    loaded = unjudged(
        scenario,
        cc=cc,
        rate=rate,
        rtt=rtt,
        buffer=buffer,
        queue=queue,
        loss=loss,
        profile=profile,
        stack=stack,
        duration=duration,
        set=set,
        seed=seed,
        controllers=controllers,
        **overrides,
    )
    if on is None:
        _core.check_simulator(loaded)
    else:
        refuse(runner(on), loaded, "off")
    return loaded


def unjudged(
    scenario: ScenarioLike,
    *,
    cc: Algorithm | None = None,
    set: Mapping[str, Setting] | None = None,  # noqa: A002
    seed: int | None = None,
    controllers: Controllers | None = None,
    **options: Setting | None,
) -> _core.Scenario:
    """Like :func:`load`, without the check of a runner, which a run makes itself.

    Raises:
        ScenarioError: When the scenario has an error.
        TypeError: When a scenario can't have such a value.
        OSError: When the file can't be read.
    """
    changed = any(each is not None for each in (cc, seed, *options.values())) or set or controllers
    if isinstance(scenario, _core.Scenario) and not changed:
        return scenario
    from fullpipe.runs.given import given

    text, file, settings, classes = given(
        scenario, cc=cc, options=options, set=set, controllers=controllers
    )
    return parse(text, file, seed=seed, set=settings, controllers=classes)


def parse(
    text: str,
    file: str,
    *,
    seed: int | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002
    controllers: Controllers | None = None,
) -> _core.Scenario:
    """Like :func:`load`, with the text of a scenario and the name that errors use for it.

    Raises:
        ScenarioError: When the scenario has an error.
    """
    from fullpipe.base.toml import as_set

    settings = [(key, as_set(value)) for key, value in (set or {}).items()]
    if seed is not None:
        # As a key, so that a seed of any size is checked like one in the file.
        settings.append(("seed", as_set(seed)))
    classes = described_in(text, settings, controllers)
    return _core.Scenario.parse(text, file, settings, controllers=classes)


def _reduced(
    scenario: _core.Scenario,
) -> tuple[Callable[..., _core.Scenario], tuple[object, ...]]:
    """Returns a scenario as its text, settings and folder, for pickles and copies."""
    settings = [each for each in scenario.settings if each[0] != "seed"]
    settings.append(("seed", str(scenario.seed)))
    of = dict(scenario.controllers)
    return _restored, (scenario.source, scenario.file, scenario.folder, settings, of)


def _restored(
    text: str,
    file: str,
    folder: Path,
    settings: list[tuple[str, str]],
    controllers: dict[str, type],
) -> _core.Scenario:
    classes = described_in(text, settings, controllers)
    # Names of files are relative to the scenario's file, or to the folder of a text.
    name = file if folder == Path.cwd() else str(folder / file)
    return _core.Scenario.parse(text, name, settings, controllers=classes)


copyreg.pickle(_core.Scenario, _reduced)


class Run(RunData):
    """A finished run with its metrics and trace, which can be plotted, saved and exported.

    A notebook shows it as the tables of `fullpipe run`, with the picture if a trace was recorded. It can be pickled and
    copied, with its metrics and its trace, so that a pool of processes can return it; classes of `controllers` must be
    importable there. The files that programs left stay in the process that ran them.
    """

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        panels: Sequence[str] | None = None,
    ) -> Picture:
        """Draws the run over time: window, rate, the algorithms' states, RTT and queue.

            >>> run = fullpipe.run("cubic", duration="5s", trace="10ms")
            >>> picture = run.plot("cwnd.png", panels=["cwnd", "rtt"])

        Args:
            path: The file to save the picture to; its suffix (.png, .svg, .pdf) selects the format. None to not save
                it. An existing file is replaced.
            panels: The keys of panels of a report, below each other, as for `fullpipe report --panel`: `"rate"`,
                `"cwnd"`, `"rtt"`, `"queue"`, or columns of the trace, like `"srtt"`. None for the usual picture.

        Returns:
            A figure of matplotlib, which a notebook shows without a magic command.

        Raises:
            ValueError: When no trace was recorded.
            PanelError: When there is no such panel, or the run has no data of it.
            OSError: When `path` can't be written.
        """
        if panels is not None:
            from fullpipe.report.plots import plot_runs

            return plot_runs({"": self}, path, panels=panels)
        from fullpipe.runs.view.plot import picture

        figure = picture(self)
        if path is not None:
            from fullpipe.results.files import write_picture

            write_picture(figure, path)
        return figure

    def report(
        self, path: str | os.PathLike[str] = "report.html", *, form: str | None = None
    ) -> Path:
        """Writes the report of `fullpipe report`: tables, and with a trace charts.

            >>> run = fullpipe.run("cubic", duration="5s", trace="10ms")
            >>> run.report("cubic.html").name
            'cubic.html'

        Args:
            path: The file or directory.
            form: The format: `"html"`, `"pdf"`, `"md"`, `"png"` or `"svg"`; None to take it from the suffix. The last
                three make a directory.

        Returns:
            The file or directory. An existing file is replaced, an existing directory is not.

        Raises:
            ValueError: When the format is unknown.
            FileExistsError: When the directory exists.
            OSError: When it can't be written.
        """
        from fullpipe.report.plots import report_of

        return report_of(self, path, form)

    def _repr_html_(self) -> str:
        from fullpipe.runs.view.html import Page
        from fullpipe.runs.view.run import show_in_notebook

        page = Page()
        show_in_notebook(self, page)
        page.add_png(self._repr_png_())
        return page.html()

    def _repr_png_(self) -> bytes | None:
        if self._png is None and self.has_trace:
            self._png = self.plot().png()
        return self._png

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Writes scenario.toml, resolved.toml, metrics.json and, with a trace, *.parquet and picture.png.

        The directory appears complete or not at all.

        Returns:
            The directory, which `fullpipe report` and `fullpipe compare` read.

        Raises:
            FileExistsError: When the directory exists and is not empty: nothing is overwritten.
            OSError: When it can't be written.
        """
        from fullpipe.results import fresh_directory, save_run

        with fresh_directory(directory) as aside:
            save_run(self, aside)
        return Path(directory)

    def qlog(
        self,
        path: str | os.PathLike[str],
        flow: str | None = None,
        form: Literal["json", "json-seq"] | None = None,
    ) -> Path:
        """Writes the trace as qlog 0.3, which qvis opens; `docs/reference/qlog.md` maps each value to its place.

        Args:
            path: The new file.
            flow: The name of the only flow to write; None for all flows.
            form: The format; None to take it from the suffix: `.qlog` is JSON with one trace per flow, `.sqlog` is
                JSON-SEQ (RFC 7464) with one `group_id` per flow.

        Returns:
            The file.

        Raises:
            ValueError: When no trace was recorded, there is no such flow, or neither `form` nor the suffix is a known
                format.
            FileExistsError: When the file exists: nothing is overwritten.
            OSError: When it can't be written.
        """
        from fullpipe.results.qlog import of_run, write

        return write(of_run(self), path, flow=flow, form=form)
