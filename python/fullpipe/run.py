"""One run: a scenario goes in, a :class:`Run` with metrics and trace comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from fullpipe import _core
from fullpipe.controllers import given, named
from fullpipe.runners import runner

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from fullpipe.controllers import Controllers
    from fullpipe.frame import Labels, Numbers
    from fullpipe.metrics import FlowMetrics, LinkMetrics, Metrics, WorkloadMetrics
    from fullpipe.runners import Progress, Result

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


def _view(column: Numbers | Labels) -> Numbers | Labels:
    """The same memory, read-only: :meth:`Run.trace` shows it, too."""
    if isinstance(column, tuple):
        codes, labels = column[0].view(), column[1]
        codes.flags.writeable = False
        return codes, list(labels)
    numbers = column.view()
    numbers.flags.writeable = False
    return numbers


class Run:
    """A finished run.

    Attributes:
        scenario: What was run.
        metrics: Everything that was measured, in SI units; :mod:`fullpipe.metrics` and
            `docs/metrics.md` explain it.
        trace_hash: A fingerprint of the trace, 16 hexadecimal digits: the same scenario and seed
            give the same one on every machine. None without a trace.
    """

    scenario: _core.Scenario
    metrics: Metrics
    trace_hash: str | None

    def __init__(self, scenario: _core.Scenario, result: Result) -> None:
        self.scenario = scenario
        self.metrics = cast(
            "Metrics", {**json.loads(result.metrics_json()), "trace_hash": result.trace_hash}
        )
        self.trace_hash = result.trace_hash
        self._result = result
        self._frames: dict[str, pl.DataFrame] = {}

    def __repr__(self) -> str:
        duration_s = self.metrics["duration_s"]
        on = "" if self.runner == "sim" else f" on {self.runner}"
        workloads = f" and {len(self.workloads)} workloads" if self.workloads else ""
        flows = f"{len(self.flows)} flows{workloads}"
        return f"<Run of {self.scenario.file}{on}: {flows}, {duration_s:g} s, seed {self.seed}>"

    @property
    def seed(self) -> int:
        """The seed of everything random in this run."""
        return self.metrics["seed"]

    @property
    def runner(self) -> str:
        """What it was run on."""
        return self.metrics["runner"]

    @property
    def flows(self) -> list[FlowMetrics]:
        """The metrics of each flow, in the scenario's order."""
        return self.metrics["flows"]

    @property
    def workloads(self) -> list[WorkloadMetrics]:
        """The metrics of each workload, in the scenario's order; none where no flows arrive."""
        return self.metrics.get("workloads", [])

    @property
    def links(self) -> list[LinkMetrics]:
        """The metrics of each link."""
        return self.metrics["links"]

    @property
    def has_trace(self) -> bool:
        """Whether a trace was recorded."""
        return bool(self._result.tables)

    @property
    def tables(self) -> list[str]:
        """The names of the recorded tables; empty without a trace."""
        return list(self._result.tables)

    def trace(self, table: str = "flows") -> pl.DataFrame:
        """The recorded trace as a frame, one row a sample, in the order of time.

        `time`, `start` and `end` are in seconds of virtual time from the start of the run, `flow`
        and `link` are names (Enum), states are labels (Enum); sizes are in bytes, rates in bit/s,
        delays in seconds; null is "none yet". :meth:`units` has the unit of every column.

        Args:
            table: `"flows"` (cwnd, inflight, rtt, … and each algorithm's own fields as
                `<algorithm>.<field>`), `"links"` (queue, sojourn, drops, marks), `"transitions"`
                (each change of state, with its reason) or, where a flow's application asks,
                `"responses"` (start and end of each, its bytes). Where flows arrive, `"workloads"`
                (how many are under way) and `"transfers"` (a row an arrival: its start, bytes, RTT,
                the time it took, and would have taken alone).

        Raises:
            ValueError: When nothing was recorded, or no such table.
        """
        if table not in self._frames:
            from fullpipe.frame import frame

            recorded = self._result.table(self._check(table))
            self._frames[table] = frame(recorded, self._result.units(table), self._names())
        return self._frames[table]

    def columns(self, table: str = "flows") -> dict[str, Numbers | Labels]:
        """The recorded trace as NumPy arrays: read-only views of what was recorded, nothing is copied.

        Each array has the shape (rows,), in the order of :meth:`trace`'s rows. By dtype:

        - uint64: `time`, `start` and `end` in nanoseconds since the run began, sizes in bytes, and counts;
        - uint32: an index, `flow` into :attr:`flows` and `link` into :attr:`links`;
        - float32: rates in bit/s, delays in seconds, `ssthresh` in bytes, an algorithm's numbers; NaN is "none";
        - words (`limited_by`, states, reasons) are a pair (codes, labels): each code is an index into the list of
          labels, or the largest value of its dtype for "none". Codes are uint8, and uint32 from the 256th label on.

        :meth:`units` has the unit of every column, but for times in nanoseconds, which are in seconds there.

        Args:
            table: As for :meth:`trace`.

        Raises:
            ValueError: When nothing was recorded, or no such table.
        """
        recorded = self._result.table(self._check(table))
        return {name: _view(column) for name, column in recorded.items()}

    def units(self, table: str = "flows") -> dict[str, str]:
        """The unit of each column of :meth:`trace`: `s`, `B`, `bit/s`, or empty for names, labels and counts.

        Raises:
            ValueError: When nothing was recorded, or no such table.
        """
        units = self._result.units(self._check(table))
        return {name: "s" if unit == "ns" else unit for name, unit in units.items()}

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws window, rate, the algorithms' states, RTT and queue over time.

        Args:
            path: Where to save the picture, if at all; the ending (.png, .svg, .pdf) says as what.

        Raises:
            ValueError: When no trace was recorded.
            OSError: When `path` can't be written.
        """
        from fullpipe.plot import picture

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
        from fullpipe.results import fresh_directory, write_run

        with fresh_directory(directory) as aside:
            write_run(self, aside)
        return Path(directory)

    def qlog(
        self,
        path: str | os.PathLike[str],
        flow: str | None = None,
        form: Literal["json", "json-seq"] | None = None,
    ) -> Path:
        """Writes the trace as qlog 0.3, which qvis opens; `docs/qlog.md` says which value stands where.

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
        from fullpipe.qlog import of_run, write

        return write(of_run(self), path, flow=flow, form=form)

    def _check(self, table: str) -> str:
        if not self.has_trace:
            raise ValueError('no trace was recorded; run with trace="10ms" or trace="ack"')
        if table not in self._result.tables:
            raise ValueError(f"no table {table!r}; there are {', '.join(self._result.tables)}")
        return table

    def _names(self) -> dict[str, list[str]]:
        """The names behind the numbers of a trace's columns."""
        named: dict[str, Sequence[Mapping[str, object]]] = {
            "flow": self.flows,
            "workload": self.workloads,
            "link": self.links,
        }
        return {kind: [str(each["name"]) for each in those] for kind, those in named.items()}
