"""One run: a scenario goes in, a :class:`Run` with metrics and trace comes out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fullpipe import _core
from fullpipe.controllers import given, named
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
    """Runs a scenario, in virtual time if nothing else is said.

    Args:
        scenario: The path of a TOML file, or its text: whatever has a line break is text. Or what
            :func:`load` gave; `seed`, `set`, `controllers` and `overrides` then belong to
            :func:`load`.
        seed: The seed of everything random, instead of the scenario's.
        trace: `"off"`, `"ack"` (a row at every ACK), or the interval between two rows, like
            `"10ms"`.
        set: Keys with values to use instead of the scenario's: `{"path.rate": "20mbit",
            "flow.0.params.beta": 0.8}`. `fullpipe explain scenario` lists the keys.
        progress: Called with (seconds done, seconds in all, events done) while the run lasts.
        controllers: Algorithms of your own, by the names that the scenario calls them:
            `controllers={"mine": Mine}`. One that can be imported needs no entry: `cc =
            "my.module:Mine"`.
        on: What it runs on: `"sim"`, or another of :func:`fullpipe.runners.names`. A real-time one
            takes as long as the scenario says.
        **overrides: The same as `set`, for keys that are in no table: `duration="10s"`.

    Returns:
        The finished run.

    Raises:
        ScenarioError: When something is wrong with the scenario, or it would need more memory than
            there is; the text says what, where and how to mend it. Also when a runner has not got
            what it needs.
        RunnerError: When there is no such runner, or it is not on this machine.
        TypeError: When a scenario that is checked already shall get another seed or other values.
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
        raise TypeError(f"a loaded Scenario does not change: give {later} to fullpipe.load()")
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
        The scenario, as often as you like to :func:`run`.

    Raises:
        ScenarioError: When something is wrong with the scenario.
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
    """:func:`load` with the text of a scenario, and with what errors shall call it.

    Raises:
        ScenarioError: When something is wrong with the scenario.
    """
    settings = [(key, toml_value(value)) for key, value in (set or {}).items()]
    if seed is not None:
        # as a key it is refused like one, whatever its size
        settings.append(("seed", toml_value(seed)))
    classes = given(named(text, settings), controllers)
    return _core.Scenario.parse(text, file, settings, controllers=classes)


def read(scenario: str | os.PathLike[str]) -> tuple[str, str]:
    """The text of a scenario, and what errors call it.

    Raises:
        OSError: When the file can't be read.
    """
    if isinstance(scenario, str) and "\n" in scenario:
        return scenario, "<text>"
    path = Path(scenario)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except UnicodeDecodeError as error:
        raise OSError(
            f"{path}: not a text file in UTF-8 ({error.reason} at byte {error.start})"
        ) from error


def toml_value(value: Setting) -> str:
    """`value` as `--set` would have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Run(RunData):
    """A finished run: its metrics and trace, and what can be made of them."""

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws window, rate, the algorithms' states, RTT and queue over time.

        Args:
            path: Where to save the picture, if at all; the ending (.png, .svg, .pdf) says as what.

        Raises:
            ValueError: When no trace was recorded.
            OSError: When `path` can't be written.
        """
        from fullpipe.view.plot import picture

        figure = picture(self)
        if path is not None:
            figure.savefig(path)
        return figure

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Writes scenario.toml, resolved.toml, metrics.json and, with a trace, *.parquet and picture.png.

        The directory appears whole or not at all.

        Returns:
            The directory.

        Raises:
            FileExistsError: When there is something already: nothing is overwritten.
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
        """Writes the trace as qlog 0.3, which qvis opens; `docs/reference/qlog.md` says which value stands where.

        Args:
            path: The file, a new one.
            flow: This flow alone, by its name; None for all.
            form: None for what the ending says: `.qlog` is JSON with a trace a flow, `.sqlog` JSON-SEQ (RFC 7464) with
                a `group_id` a flow.

        Returns:
            The file.

        Raises:
            ValueError: When no trace was recorded, there is no such flow, or neither `form` nor the ending says a form.
            FileExistsError: When there is something already: nothing is overwritten.
            OSError: When it can't be written.
        """
        from fullpipe.results.qlog import of_run, write

        return write(of_run(self), path, flow=flow, form=form)
