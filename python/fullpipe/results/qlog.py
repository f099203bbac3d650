"""Writes a trace as qlog 0.3, which qvis opens.

The format is that of draft-ietf-quic-qlog-main-schema-03, the events are those of
draft-ietf-quic-qlog-quic-events-02. `docs/reference/qlog.md` maps each value to its place. The text is made
and written slice by slice, so that a long trace needs no more memory than a short one.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from fullpipe._core import __version__, quantity
from fullpipe.base.metrics import Metrics
from fullpipe.errors import UserError
from fullpipe.results import disk
from fullpipe.results.files import RUNNERS, fresh_file
from fullpipe.results.kept import read_json, read_measured, read_parquet, read_text
from fullpipe.results.sums import is_there
from fullpipe.results.words import first_comment
from fullpipe.runners import has

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from fullpipe.base.metrics import FlowMetrics
    from fullpipe.runs.data import RunData

Form = Literal["json", "json-seq"]

_ENDINGS: dict[str, Form] = {".qlog": "json", ".sqlog": "json-seq"}

COUNTS = ("sent", "retransmits", "loss_fraction", "drops", "marks")
"""Metrics of each flow in the summary, since events stand for several packets."""

_SLICE = 20_000
"""Number of rows whose text is in memory at once."""


class QlogError(UserError):
    """A trace can't be written as qlog; the text has the reason and the fix."""


@dataclass(frozen=True)
class QlogRun:
    """A traced run, from memory or from a directory.

    Attributes:
        metrics: Its metrics.
        flows: The trace's rows.
        transitions: The changes of state.
        title: The scenario's title.
        resolved: The scenario with every default; empty for a measurement.
    """

    metrics: Metrics
    flows: pl.DataFrame
    transitions: pl.DataFrame
    title: str
    resolved: str

    @property
    def runner(self) -> str:
        """The name of its runner."""
        return self.metrics["runner"]


def of_run(run: RunData) -> QlogRun:
    """Takes a finished run.

    Raises:
        ValueError: When it has no trace.
    """
    scenario = run.scenario
    title = scenario.title or scenario.file
    return QlogRun(
        run.metrics, run.trace("flows"), run.trace("transitions"), title, scenario.to_toml()
    )


def of_saved(directory: Path) -> QlogRun:
    """Reads a run that `fullpipe run --out` saved, or a kept measurement.

    Raises:
        QlogError: When the directory has no run with a trace.
        OSError: When it can't be read.
    """
    parts = ("metrics.json", "trace.parquet", "transitions.parquet", "resolved.toml")
    measured = is_there(directory / "measured.json")
    files = [directory / name for name in (parts[:2] if measured else parts)]
    missing = [file.name for file in files if not is_there(file)]
    if is_there(directory / RUNNERS):
        raise QlogError(
            f"{directory}: runs of several runners\n  fix: name the directory of one, like {directory}/sim"
        )
    if missing:
        raise QlogError(
            f"{directory}: no run with a trace: there is no {missing[0]}\n"
            "  fix: name a directory that `fullpipe run --out` wrote; for a point of a sweep use "
            "`fullpipe run DIR --point N --qlog FILE`"
        )
    if measured:
        return _measured(directory, *files)
    metrics, flows, transitions, resolved = files
    text = read_text(resolved)
    title = next(iter(first_comment(text)), str(directory))
    return QlogRun(
        read_json(metrics, Metrics),
        read_parquet(flows),
        read_parquet(transitions),
        title,
        text,
    )


def _measured(directory: Path, metrics: Path, flows: Path) -> QlogRun:
    rows, states = read_parquet(flows), directory / "transitions.parquet"
    if is_there(states):
        changes = read_parquet(states)
    else:
        changes = pl.DataFrame(
            schema={"time": pl.Float64, "flow": pl.String, "from": pl.String, "to": pl.String}
        )
    changes = changes.with_columns(pl.col("from", "to").cast(pl.String))
    # The type of a run's trace: words of a list.
    words = pl.Enum(pl.concat([changes["from"], changes["to"]]).drop_nulls().unique().sort())
    changes = changes.with_columns(
        pl.col("flow").cast(rows.schema["flow"]), pl.col("from", "to").cast(words)
    )
    title = next(iter(first_comment(read_text(directory / "scenario.toml"))), str(directory))
    return QlogRun(read_measured(metrics), rows, changes, title, "")


def form_of(path: Path) -> Form:
    """Returns the format for the suffix of a file.

    Raises:
        QlogError: When the suffix is unknown.
    """
    try:
        return _ENDINGS[path.suffix]
    except KeyError:
        raise QlogError(
            f"{path}: the suffix is neither .qlog nor .sqlog\n  fix: name it {path.stem}.qlog for JSON, or "
            f"{path.stem}.sqlog for JSON-SEQ"
        ) from None


def write(
    source: QlogRun,
    path: str | os.PathLike[str],
    *,
    flow: str | None = None,
    form: Form | None = None,
) -> Path:
    """Writes a new file as :func:`write_into` does; it appears complete or not at all.

    Without `form` its suffix selects the format.

    Raises:
        QlogError: When neither `form` nor the suffix is a known format, or the trace has no rows to write.
        FileExistsError: When the file exists: nothing is overwritten.
        OSError: When it can't be written.
    """
    target = Path(path)
    form = form or form_of(target)
    _wanted(source, flow)
    with fresh_file(target) as aside:
        write_into(aside, source, form, flow)
    return target


def write_into(file: Path, source: QlogRun, form: Form, flow: str | None = None) -> None:
    """Writes qlog.

    Args:
        file: The file to write; an existing one is replaced.
        source: The run.
        form: JSON has one trace per flow. JSON-SEQ can have only one trace, in which each flow is a group.
        flow: The only flow to write; None for all that have rows.

    Raises:
        QlogError: When the trace has no rows to write, or the format is unknown.
        OSError: When it can't be written.
    """
    flows = _wanted(source, flow)
    header = {"qlog_version": "0.3", "qlog_format": form.upper(), **_about(source)}
    with TextIOWrapper(disk.NewFile(file), encoding="utf-8", newline="\n") as out:
        if form == "json":
            out.write(f'{json.dumps(header)[:-1]}, "traces": [')
            for number, each in enumerate(flows):
                opening = json.dumps(_trace(source, each["name"]))[:-1]
                out.write(f'{"," if number else ""}\n{opening}, "events": [')
                for part, text in enumerate(_events(source, [each], ",\n")):
                    out.write(f"{',' if part else ''}\n{text}")
                out.write("\n]}")
            out.write("\n]}\n")
        elif form == "json-seq":
            # RFC 7464 §2.2: a record separator before each text, a line feed after it.
            out.write(f"\x1e{json.dumps({**header, 'trace': _trace(source, flow)})}\n")
            for text in _events(source, flows, "\n\x1e"):
                out.write(f"\x1e{text}\n")
        else:
            raise QlogError(f'form {form!r}: must be "json" or "json-seq"')


def _wanted(source: QlogRun, flow: str | None) -> list[FlowMetrics]:
    """Returns the flows to write.

    Without rows a flow would have a trace without events, which qvis can't open. Unresponsive traffic has rows with
    delivered bytes, but no window, RTT or loss that qlog could have.
    """
    names = [each["name"] for each in source.metrics["flows"]]
    if flow is not None and flow not in names:
        raise QlogError(f"no flow {flow!r}; there are {', '.join(names)}")
    traced = set(source.flows["flow"].unique().cast(pl.String))
    flows = [
        each
        for each in source.metrics["flows"]
        if each["name"] in traced and flow in (None, each["name"]) and each["cc"] != "none"
    ]
    if not flows:
        raise QlogError(
            f"the trace has no rows for qlog of {flow or 'any flow'}, so that the qlog would be empty"
        )
    return flows


def _about(source: QlogRun) -> dict[str, Any]:
    metrics = source.metrics
    summary = {
        "generator": f"fullpipe {__version__}",
        "runner": source.runner,
        "seed": metrics["seed"],
        "duration": metrics["duration_s"] * 1e3,
        "trace_hash": metrics["trace_hash"],
        "goodput": {
            flow["name"]: None if flow["goodput_bps"] is None else round(flow["goodput_bps"])
            for flow in metrics["flows"]
        },
        "measure_from": metrics["measure_from_s"] * 1e3,
        "counts": {
            flow["name"]: {name: flow.get(name) for name in COUNTS} for flow in metrics["flows"]
        },
    }
    return {"title": source.title, "summary": summary}


def _trace(source: QlogRun, name: str | None) -> dict[str, Any]:
    protocol = "QUIC" if has(source.runner, "quic") else "TCP"
    return {
        **({"title": name} if name else {}),
        "description": "a packet_sent stands for all data sent since the previous one",
        "vantage_point": {"name": name or "senders", "type": "server"},
        "common_fields": {
            "time_format": "relative",
            "reference_time": 0,
            "protocol_type": [protocol],
        },
    }


def _events(source: QlogRun, flows: list[FlowMetrics], between: str) -> Iterator[str]:
    """Yields the events of some flows in order of time, slice by slice; several flows differ in `group_id`."""
    names = [flow["name"] for flow in flows]
    grouped = len(names) > 1
    of_them = pl.col("flow").cast(pl.String).is_in(names)
    rows = _numbered(source.flows.filter(of_them))
    transitions = source.transitions.filter(of_them)
    fields = _fields(rows)

    begun = 0
    kinds = [_parameters(source, flows)]
    for part in rows.iter_slices(_SLICE):
        ended = transitions["time"].search_sorted(part["time"][-1], side="right")
        kinds += [_packets(part), _states(transitions[begun:ended]), _metrics(part, fields)]
        begun = ended
        yield between.join(_lines(pl.concat(kinds), grouped=grouped))
        kinds = []
    if begun < transitions.height:
        yield between.join(_lines(_states(transitions[begun:]), grouped=grouped))


def _numbered(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the bytes sent since the flow's previous row, and a packet number that counts rows with such bytes."""
    # Bytes sent have arrived, are in flight, or were declared lost.
    sent = pl.sum_horizontal("delivered", "lost", "inflight").cum_max().over("flow")
    # JSON has no NaN and no infinity. A trace of ours has none, but a file may be another's.
    numbers = pl.selectors.float()
    rows = rows.with_columns(pl.when(numbers.is_finite()).then(numbers).name.keep())
    rows = rows.with_columns(sent.diff().over("flow").fill_null(sent).alias("length"))
    return rows.with_columns(number=(pl.col("length") > 0).cum_sum().over("flow") - 1)


def _fields(rows: pl.DataFrame) -> list[tuple[str, str, pl.Expr]]:
    """Returns columns, their names in qlog and their text; columns unknown to qlog keep their name and unit."""
    known = {"time", "flow", "length", "number", *(column for column, *_ in _NAMED)}
    columns = [column for column in rows.columns if column not in known]
    others = [(column, column, _text(rows[column])) for column in columns]
    return [*_NAMED, *others]


def _text(column: pl.Series) -> pl.Expr:
    """Formats the values of a column as JSON."""
    if isinstance(column.dtype, pl.Enum):
        return _words(column)
    return (
        _digits(pl.col(column.name))
        if column.dtype.is_float()
        else pl.col(column.name).cast(pl.String)
    )


def _digits(number: pl.Expr) -> pl.Expr:
    """Formats a number with seven significant digits."""
    return number.cast(pl.Float64).round_sig_figs(7).cast(pl.String)


def _whole(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64).round_sig_figs(7).cast(pl.UInt64).cast(pl.String)


def _words(column: pl.Series) -> pl.Expr:
    words: list[str] = column.dtype.categories.to_list()  # type: ignore[attr-defined]  # an Enum's
    return pl.col(column.name).cast(pl.String).replace(words, [json.dumps(word) for word in words])


# draft-ietf-quic-qlog-quic-events-02, metrics_updated: times in ms, sizes in bytes, rates in bit/s.
_NAMED = [
    ("cwnd", "congestion_window", pl.col("cwnd").cast(pl.String)),
    ("inflight", "bytes_in_flight", pl.col("inflight").cast(pl.String)),
    ("ssthresh", "ssthresh", _whole("ssthresh")),
    ("rtt", "latest_rtt", _digits(pl.col("rtt").cast(pl.Float64) * 1e3)),
    ("srtt", "smoothed_rtt", _digits(pl.col("srtt").cast(pl.Float64) * 1e3)),
    ("min_rtt", "min_rtt", _digits(pl.col("min_rtt").cast(pl.Float64) * 1e3)),
    ("pacing_rate", "pacing_rate", _whole("pacing_rate")),
    ("delivery_rate", "delivery_rate", _whole("delivery_rate")),
]


def _metrics(rows: pl.DataFrame, fields: list[tuple[str, str, pl.Expr]]) -> pl.DataFrame:
    """Returns the values that differ from the flow's previous row; a flow's first row in a slice has all values."""
    said = []
    for column, name, text in fields:
        new = pl.col(column).is_not_null() & pl.col(column).ne_missing(
            pl.col(column).shift(1).over("flow")
        )
        said.append(pl.when(new).then(_joined(f", {json.dumps(name)}: ", text)))
    texts = rows.select("time", "flow", data=pl.concat_str(said, ignore_nulls=True).str.slice(2))
    return _called(texts.filter(pl.col("data") != ""), "recovery:metrics_updated")


def _packets(rows: pl.DataFrame) -> pl.DataFrame:
    header = _joined('"header": {"packet_type": "1RTT", "packet_number": ', pl.col("number"), "}")
    data = _joined(header, ', "raw": {"length": ', pl.col("length"), "}")
    return _called(
        rows.filter(pl.col("length") > 0).select("time", "flow", data=data), "transport:packet_sent"
    )


def _states(rows: pl.DataFrame) -> pl.DataFrame:
    old, new = (_words(rows[word]) for word in ("from", "to"))
    # A measurement knows no state before the first, and no reason.
    before = (
        pl.when(pl.col("from").is_null()).then(pl.lit("")).otherwise(_joined('"old": ', old, ", "))
    )
    reason = _joined(', "trigger": ', _words(rows["reason"])) if "reason" in rows.columns else ""
    data = _joined(before, '"new": ', new, reason)
    return _called(rows.select("time", "flow", data=data), "recovery:congestion_state_updated")


def _parameters(source: QlogRun, flows: list[FlowMetrics]) -> pl.DataFrame:
    """Returns the events recovery:parameters_set of quic-events: the algorithm and its parameters."""
    # One `[[flow]]` may define several flows.
    given = tomllib.loads(source.resolved).get("flow", [])
    each = [one for one in given for _ in range(one["count"])]
    names = (flow["name"] for flow in source.metrics["flows"])
    settings = dict(zip(names, each, strict=True)) if source.resolved else {}
    said = []
    for flow in flows:
        own = settings[flow["name"]] if has(source.runner, "own_controllers") else {}
        params, mss = own.get("params", {}), quantity(str(own.get("mss", "")))
        values = {
            "congestion_control": flow["cc"],
            **({"max_datagram_size": round(mss[0])} if mss else {}),
            **{f"{flow['cc']}.{name}": value for name, value in params.items()},
        }
        said.append(json.dumps(values)[1:-1])
    start = pl.DataFrame({"flow": [flow["name"] for flow in flows], "data": said})
    start = start.select(
        time=pl.lit(0.0), flow=pl.col("flow").cast(source.flows.schema["flow"]), data="data"
    )
    return _called(start, "recovery:parameters_set")


def _called(events: pl.DataFrame, name: str) -> pl.DataFrame:
    return events.with_columns(name=pl.lit(name))


def _lines(events: pl.DataFrame, *, grouped: bool) -> pl.Series:
    """Returns each event as a line of JSON, in order of time: in milliseconds, to the nanosecond."""
    events = events.sort("time", maintain_order=True)
    time = (pl.col("time") * 1e3).round(6)
    group = (', "group_id": ', _words(events["flow"])) if grouped else ()
    line = _joined(
        '{"time": ',
        time,
        ', "name": "',
        pl.col("name"),
        '"',
        *group,
        ', "data": {',
        pl.col("data"),
        "}}",
    )
    return events.select(line).to_series()


def _joined(*parts: str | pl.Expr) -> pl.Expr:
    return pl.concat_str([pl.lit(part) if isinstance(part, str) else part for part in parts])
