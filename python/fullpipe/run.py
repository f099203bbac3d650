"""Runs one scenario and returns a :class:`Run` with its metrics and trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fullpipe import _core
from fullpipe.controllers import given, named
from fullpipe.origin import read
from fullpipe.run_data import RunData
from fullpipe.runners import runner

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from fullpipe.controllers import Controllers
    from fullpipe.runners import Progress

    Setting = str | int | float | bool


def run(
    scenario: str | os.PathLike[str] | _core.Scenario,
    *,
    seed: int | None = None,
    trace: str = "off",
    set: Mapping[str, Setting] | None = None,  # noqa: A002  (the same word as --set)
    progress: Progress | None = None,
    controllers: Controllers | None = None,
    on: str = "sim",
    **overrides: Setting,
) -> Run:
    """Runs a scenario, in virtual time by default.

    Args:
        scenario: The path of a TOML file, its text (any string with a line break), the name of a
            scenario in the package (`fullpipe list scenarios`), or a scenario from :func:`load`. For
            the latter, give `seed`, `set`, `controllers` and `overrides` to :func:`load`.
        seed: The seed of everything random; None for the scenario's.
        trace: `"off"`, `"ack"` (a row at every ACK), or the interval between two rows, like
            `"10ms"`; `"10ms packets 2s..4s"` also records each packet of this time.
        set: Values that override keys of the scenario: `{"path.rate": "20mbit",
            "flow.0.params.beta": 0.8}`. `fullpipe explain scenario` lists the keys.
        progress: Called with (seconds done, seconds in all, events done) during the run.
        controllers: Algorithms of your own by the names that the scenario uses for them:
            `controllers={"mine": Mine}`. A class that can be imported needs no entry: `cc =
            "my.module:Mine"`.
        on: The runner: `"sim"`, or another of :func:`fullpipe.runners.names`. A real-time runner
            takes the time of the scenario's duration.
        **overrides: Like `set`, for keys outside of tables: `duration="10s"`.

    Returns:
        The finished run.

    Raises:
        ScenarioError: When the scenario has an error, needs more memory than is free, or asks for
            something that the runner does not support; the text has place, problem and fix.
        RunnerError: When there is no such runner, or it is not installed on this machine.
        TypeError: When overrides are given with an already loaded Scenario.
        OSError: When the file can't be read.
        KeyboardInterrupt: On Ctrl-C.
    """
    if not isinstance(scenario, _core.Scenario):
        scenario = load(scenario, seed=seed, set=set, controllers=controllers, **overrides)
    elif seed is not None or set or overrides or controllers:
        more = [
            name
            for name, value in (("seed", seed), ("controllers", controllers))
            if value is not None
        ]
        later = ", ".join([*more, *(set or {}), *overrides])
        raise TypeError(f"a loaded Scenario can't be changed: give {later} to fullpipe.load()")
    chosen = runner(on)
    chosen.refuse(scenario, trace)
    return Run(scenario, chosen.execute(scenario, trace, progress))


def load(
    scenario: str | os.PathLike[str],
    *,
    seed: int | None = None,
    set: Mapping[str, Setting] | None = None,  # noqa: A002
    controllers: Controllers | None = None,
    **overrides: Setting,
) -> _core.Scenario:
    """Reads and checks a scenario without running it; the arguments are those of :func:`run`.

    Returns:
        The scenario; :func:`run` can run it any number of times.

    Raises:
        ScenarioError: When the scenario has an error.
        OSError: When the file can't be read.
    """
    text, file = read(scenario)
    return parse(text, file, seed=seed, set={**(set or {}), **overrides}, controllers=controllers)


def parse(
    text: str,
    file: str,
    *,
    seed: int | None = None,
    set: Mapping[str, Setting] | None = None,  # noqa: A002
    controllers: Controllers | None = None,
) -> _core.Scenario:
    """Like :func:`load`, with the text of a scenario and the name that errors use for it.

    Raises:
        ScenarioError: When the scenario has an error.
    """
    settings = [(key, toml_value(value)) for key, value in (set or {}).items()]
    if seed is not None:
        # As a key, so that a seed of any size is checked like one in the file.
        settings.append(("seed", toml_value(seed)))
    classes = given(named(text, settings), controllers)
    return _core.Scenario.parse(text, file, settings, controllers=classes)


def toml_value(value: Setting) -> str:
    """Formats `value` as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Run(RunData):
    """A finished run with its metrics and trace, which can be plotted, saved and exported."""

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws window, rate, the algorithms' states, RTT and queue over time.

        Args:
            path: The file to save the picture to; its suffix (.png, .svg, .pdf) selects the format. None to not save
                it.

        Raises:
            ValueError: When no trace was recorded.
            OSError: When `path` can't be written.
        """
        from fullpipe.view.plot import picture

        figure = picture(self)
        if path is not None:
            from fullpipe.results import disk

            file = Path(path)
            named = file if file.suffix else file.with_suffix(".png")
            with disk.replacing(named) as out:
                figure.savefig(out, format=named.suffix[1:])
        return figure

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Writes scenario.toml, resolved.toml, metrics.json and, with a trace, *.parquet and picture.png.

        The directory appears complete or not at all.

        Returns:
            The directory.

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
