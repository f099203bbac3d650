"""The results of one run: its metrics and its trace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from fullpipe import _core
    from fullpipe.base.frame import Labels, Numbers
    from fullpipe.base.metrics import FlowMetrics, LinkMetrics, Metrics, WorkloadMetrics
    from fullpipe.runners import Result


class Copied:
    """The result of a runner as data, in pickles and copies of a run."""

    def __init__(self, result: Result) -> None:
        self.trace_hash = result.trace_hash
        self.tables = list(result.tables)
        self._metrics = result.metrics_json()
        self._columns = {table: result.table(table) for table in self.tables}
        self._units = {table: result.units(table) for table in self.tables}

    def metrics_json(self) -> str:
        """The metrics as one JSON object."""
        return self._metrics

    def table(self, name: str) -> dict[str, Numbers | Labels]:
        """Returns the columns of a table."""
        return self._columns[name]

    def units(self, name: str) -> dict[str, str]:
        """Returns the unit of each column of a table."""
        return self._units[name]


class RunData:
    """A finished run as data, for views, results and reports.

    Attributes:
        scenario: The scenario that was run.
        metrics: All metrics, in SI units; :mod:`fullpipe.base.metrics` and `docs/reference/metrics.md` explain
            them.
        trace_hash: A fingerprint of the trace, 16 hexadecimal digits: the same scenario and seed
            give the same one on every machine. None without a trace.
        level: The trace level that the runner was asked for; None if it is unknown.
    """

    scenario: _core.Scenario
    metrics: Metrics
    trace_hash: str | None
    level: str | None

    def __init__(self, scenario: _core.Scenario, result: Result, level: str | None = None) -> None:
        self.scenario, self.level = scenario, level
        self.metrics = cast(
            "Metrics", {**json.loads(result.metrics_json()), "trace_hash": result.trace_hash}
        )
        self.trace_hash = result.trace_hash
        self._result = result
        self._frames: dict[str, pl.DataFrame] = {}
        self._png: bytes | None = None

    def __getstate__(self) -> dict[str, object]:
        """Returns the run as data: the runner's result belongs to its process."""
        return {**self.__dict__, "_result": Copied(self._result), "_frames": {}}

    def __repr__(self) -> str:
        metrics, on = self.metrics, "" if self.runner == "sim" else f" on {self.runner}"
        workloads = self.workload_metrics
        also = f" and {_count(len(workloads), 'workload')}" if workloads else ""
        flows = _count(len(self.flow_metrics), "flow")
        return f"<Run of {self.scenario.file}{on}: {flows}{also}, {metrics['duration_s']:g} s, seed {self.seed}>"

    @property
    def seed(self) -> int:
        """The seed of everything random in this run."""
        return self.metrics["seed"]

    @property
    def runner(self) -> str:
        """The name of the runner that executed the run."""
        return self.metrics["runner"]

    @property
    def flow_metrics(self) -> list[FlowMetrics]:
        """The metrics of each flow, nested as in `metrics.json`, in the scenario's order."""
        return self.metrics["flows"]

    @property
    def workload_metrics(self) -> list[WorkloadMetrics]:
        """The metrics of each workload, nested as in `metrics.json`, in the scenario's order."""
        return self.metrics.get("workloads", [])

    @property
    def link_metrics(self) -> list[LinkMetrics]:
        """The metrics of each link, nested as in `metrics.json`."""
        return self.metrics["links"]

    @property
    def flows(self) -> pl.DataFrame:
        """The metrics of the flows: a row for each, in the scenario's order.

        Columns are `flow` (its name), `cc`, and the metrics, with the names that the rows of a sweep have:
        `goodput_bps` (bit/s), `rtt_s.mean` (seconds), `retransmits`. Null stands for no value.
        """
        return self._metrics_of("flow", self.flow_metrics)

    @property
    def workloads(self) -> pl.DataFrame:
        """The metrics of the workloads: a row for each, in the scenario's order; empty without workloads.

        Columns are `workload` (its name), `cc`, and the metrics, with names like `completion_s.p95` (seconds).
        """
        return self._metrics_of("workload", self.workload_metrics)

    @property
    def links(self) -> pl.DataFrame:
        """The metrics of the links: a row for each, the bottleneck first.

        Columns are `link` (its name), and the metrics, with names like `utilization` (a share of 1) and
        `queue_delay_s.p95` (seconds).
        """
        return self._metrics_of("link", self.link_metrics)

    def _metrics_of(self, kind: str, metrics: Sequence[Mapping[str, object]]) -> pl.DataFrame:
        from fullpipe.base.frame import flattened

        return flattened(metrics, {"name": kind})

    @property
    def has_trace(self) -> bool:
        """Whether a trace was recorded."""
        return bool(self._result.tables)

    @property
    def files(self) -> Path | None:
        """The directory with the files that programs left, like qlogs, as long as this object lives; None without."""
        folders = getattr(self._result, "folders", None)
        return None if folders is None else folders.path

    @property
    def tables(self) -> list[str]:
        """The names of the recorded tables; empty without a trace."""
        return list(self._result.tables)

    def trace(self, table: str = "flows") -> pl.DataFrame:
        """Returns the recorded trace as a frame, one row per sample, in the order of time.

        `time`, `start` and `end` are in seconds of virtual time from the start of the run, `flow`
        and `link` are names (Enum), states are labels (Enum); sizes are in bytes, rates in bit/s,
        delays in seconds; null means that there is no value yet. :meth:`units` has the unit of
        every column.

        Args:
            table: `"flows"` (cwnd, inflight, rtt, … and each algorithm's own fields as
                `<algorithm>.<field>`), `"links"` (queue, sojourn, drops, marks, rate),
                `"queues"` (the part of each flow or workload in the queue of each link, its drops
                and marks), `"packets"` and `"acks"` (a row for each packet and ACK, if they were
                recorded), or `"transitions"` (each change of state, with its reason). With flows that send
                requests also `"responses"` (start, end and bytes of each response). With workloads
                also `"workloads"` (number of active flows) and `"transfers"` (one row per arrival:
                its start, bytes, RTT, completion time, and completion time alone on the path).

        Raises:
            ValueError: When no trace was recorded, or it has no such table.
        """
        if table not in self._frames:
            from fullpipe.base.frame import frame

            recorded = self._result.table(self._check(table))
            self._frames[table] = frame(recorded, self._result.units(table), self._names(table))
        return self._frames[table]

    def columns(self, table: str = "flows") -> dict[str, Numbers | Labels]:
        """Returns the recorded trace as NumPy arrays: read-only views without a copy.

        Each array has the shape (rows,), in the order of :meth:`trace`'s rows. By dtype:

        - uint64: `time`, `start` and `end` in nanoseconds since the run began, sizes in bytes, and counts;
        - uint32: an index, `flow` into :attr:`flows` and `link` into :attr:`links`;
        - float32: rates in bit/s, delays in seconds, `ssthresh` in bytes, an algorithm's numbers; NaN is "none";
        - words (`limited_by`, states, reasons) are a pair (codes, labels): each code is an index into the list of
          labels, or the largest value of its dtype for "none". Codes are uint8, and uint32 from the 256th label on.

        :meth:`units` has the unit of every column; for the times, which are nanoseconds here, it says seconds.

        Args:
            table: As for :meth:`trace`.

        Raises:
            ValueError: When no trace was recorded, or it has no such table.
        """
        recorded = self._result.table(self._check(table))
        return {name: _view(column) for name, column in recorded.items()}

    def units(self, table: str = "flows") -> dict[str, str]:
        """Returns the unit of each column of :meth:`trace`: `s`, `B`, `bit/s`, or empty for names, labels and counts.

        Raises:
            ValueError: When no trace was recorded, or it has no such table.
        """
        units = self._result.units(self._check(table))
        return {name: "s" if unit == "ns" else unit for name, unit in units.items()}

    def _check(self, table: str) -> str:
        if not self.has_trace:
            raise ValueError('no trace was recorded; run with trace="10ms" or trace="ack"')
        if table not in self._result.tables:
            raise ValueError(f"no table {table!r}; there are {', '.join(self._result.tables)}")
        return table

    def _names(self, table: str) -> dict[str, list[str]]:
        """Returns the names behind the indices in a table's columns."""
        named: dict[str, Sequence[Mapping[str, object]]] = {
            # in a queue wait packets of flows and of workloads
            "flow": [*self.flow_metrics, *self.workload_metrics]
            if table == "queues"
            else self.flow_metrics,
            "workload": self.workload_metrics,
            "link": self.link_metrics,
        }
        return {kind: [str(each["name"]) for each in those] for kind, those in named.items()}


def _view(column: Numbers | Labels) -> Numbers | Labels:
    """Returns a read-only view, since frames of :meth:`RunData.trace` share the memory."""
    if isinstance(column, tuple):
        codes, labels = column[0].view(), column[1]
        codes.flags.writeable = False
        return codes, list(labels)
    numbers = column.view()
    numbers.flags.writeable = False
    return numbers


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"
