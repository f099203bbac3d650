"""Pictures and reports of runs that are in memory, over each other if there are several."""

from __future__ import annotations

import os
import shlex
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol, TypeAlias

from fullpipe import _core
from fullpipe.algorithms.own import options, own
from fullpipe.runners import option
from fullpipe.runs.data import RunData
from fullpipe.scenario.origin import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe.report import Form
    from fullpipe.report.model import Recorded
    from fullpipe.results.model import Results
    from fullpipe.runs.view.figure import Picture

USUAL = ("rate", "cwnd", "rtt", "queue")
"""The panels that :func:`plot_runs` shows, if the runs have data of them."""


class InDirectory(Protocol):
    """Results in a directory."""

    @property
    def directory(self) -> Path:
        """The directory."""


Source: TypeAlias = "RunData | InDirectory | str | os.PathLike[str]"


def plot_runs(
    runs: Mapping[str, Source],
    path: str | os.PathLike[str] | None = None,
    *,
    panels: Sequence[str] | None = None,
) -> Picture:
    """Draws recorded runs over each other, panel below panel.

        >>> before = fullpipe.run("cubic", duration="5s", trace="10ms")
        >>> after = fullpipe.run("cubic", queue="fq_codel", duration="5s", trace="10ms")
        >>> picture = fullpipe.plot_runs({"before": before, "after": after}, panels=["rate", "queue"])

    Args:
        runs: The runs by their names in the legend: a :class:`Run`, the result of :func:`fullpipe.link`, or the
            directory of kept results. A sweep or a comparison stands for the runs that its report shows at first.
        path: The file to save the picture to; its suffix (.png, .svg, .pdf) selects the format. None to not save it.
            An existing file is replaced.
        panels: The keys of panels, as for `fullpipe report --panel`: `"rate"` (Mbit/s), `"cwnd"` (kB), `"rtt"` (ms),
            `"queue"` (ms), or columns of the trace, like `"srtt"`. None for these four.

    Returns:
        A figure of matplotlib, which a notebook shows without a magic command.

    Raises:
        ValueError: When no run is given, or none was recorded over time.
        PanelError: When there is no such panel, or the runs have no data of it.
        OSError: When a file can't be read, or `path` can't be written.
    """
    from fullpipe.report.panels import drawn
    from fullpipe.report.static_time import stacked

    with ExitStack() as stack:
        recorded, titles = [], []
        for name, run in runs.items():
            results = stack.enter_context(results_of(run))
            titles.append(results.title)
            recorded += _recorded(name, results)
        if not recorded:
            raise ValueError("no run to draw: give at least one")
        read = drawn.shown(recorded)
        keys = panels or [key for key in USUAL if drawn.is_there(key, read)]
        chosen = [drawn.find(key, read, called="panels") for key in keys]
        title = " against ".join(runs) if len(runs) > 1 else titles[0]
        figure = stacked(read, chosen, title)
    if path is not None:
        from fullpipe.results.files import write_picture

        write_picture(figure, path)
    return figure


def report_of(source: Source, path: str | os.PathLike[str], form: str | None = None) -> Path:
    """Writes the report of a run or of a directory of results.

    Args:
        source: The run or directory.
        path: The file or directory to write. An existing file is replaced, an existing directory is not.
        form: The format; None to take it from the suffix.

    Raises:
        ValueError: When the format is unknown.
        FileExistsError: When the directory exists.
        OSError: When it can't be read or written.
    """
    from fullpipe.report.build import of_results
    from fullpipe.report.write import make

    target, chosen = Path(path), form_of(path, form)
    if target.is_dir():
        raise FileExistsError(f"{path} already exists; name a new one")
    with results_of(source) as results:
        return make(of_results(results), chosen, target)


def form_of(path: str | os.PathLike[str], form: str | None = None) -> Form:
    """Returns the format of a report: that of the path's suffix, unless `form` has one.

    Raises:
        ValueError: When it is unknown.
    """
    from fullpipe.report import Form

    name = form or Path(path).suffix.removeprefix(".")
    if name not in list(Form):
        raise ValueError(
            f"form {form!r}: not one of {', '.join(Form)}"
            if form
            else f'{path}: give a suffix (.html or .pdf), or form="{Form.MD}"'
        )
    return Form(name)


@contextmanager
def results_of(source: Source) -> Iterator[Results]:
    """Provides results in the form that reports are made of; files of a run are there until the block ends."""
    if not isinstance(source, RunData):
        from fullpipe.results.load import load

        yield load(Path(source) if isinstance(source, str | os.PathLike) else source.directory)
        return
    from fullpipe.results import save_run
    from fullpipe.results.single import load_run

    with TemporaryDirectory(prefix="fullpipe-") as folder:
        directory = Path(folder)
        save_run(source, directory, picture=False)
        results = load_run(directory)
        title = source.scenario.title or shown(source.scenario.file)
        point = replace(results.points[0], label=title, command=_command(source))
        series = [replace(each, point=point) for each in results.series]
        yield replace(results, title=title, points={0: point}, series=series)


def _command(run: RunData) -> str:
    """Returns the command that repeats a run; without a file, that of the scenario that the page has."""
    scenario = run.scenario
    there = Path(scenario.file).is_file()
    settings = [
        part
        for key, value in (scenario.settings if there else ())
        if key != "seed"
        for part in ("--set", f"{key}={value}")
    ]
    file = shown(scenario.file) if there else "resolved.toml"
    seed = ["--seed", str(run.seed)]
    again = options(own(_core.algorithm_names(scenario.to_toml())))
    return shlex.join(["fullpipe", "run", file, *option(run.runner), *settings, *again, *seed])


def _recorded(name: str, results: Results) -> list[Recorded]:
    from fullpipe.report.model import Timeline
    from fullpipe.report.panels import time

    section = time.section(results)
    for block in section.blocks if section else ():
        if isinstance(block, Timeline):
            runs = [block.runs[number] for number in block.first]
            if not name:
                return runs
            return [
                replace(each, label=f"{name}, {each.label}" if len(runs) > 1 else name)
                for each in runs
            ]
    whose = f"{name}: " if name else ""
    raise ValueError(f'{whose}no trace was recorded; run with trace="10ms" or trace="ack"')
