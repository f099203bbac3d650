"""The results of a test as tables and sentences: printed, and kept for the report."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.loadtest import rpm
from fullpipe.loadtest.measure import PHASES, WAYS
from fullpipe.stats import mean
from fullpipe.view.table import NONE, Spread, Trimmed, digits, formed, make_table, ms, number_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from fullpipe.loadtest.measure import Numbers
    from fullpipe.loadtest.plan import Plan
    from fullpipe.results.about import TestAbout, TestTable
    from fullpipe.stats import Interval
    from fullpipe.view.table import Cell

_ALIKE = 1.05
"""The ratio of two latencies up to which they are called alike."""
_FULL = 0.9
"""The least utilization of a link that the load fills."""
_LEAST_LOSS = 0.0005
"""The least loss of voice in words: 0.1 % when it is rounded."""
_CONFIDENCE = ("low", "medium", "high")
_WORDS = {"down": "downlink", "up": "uplink"}


class Outcome(NamedTuple):
    """The numbers of all seeds of a test."""

    plan: Plan
    runner: str
    cc: str
    seeds: Sequence[int]
    each: Sequence[Numbers]

    def interval(self, name: str) -> Interval | None:
        """Returns the mean of a number over the seeds with its 95 % interval; None if a seed does not have it."""
        values = [float(value) for one in self.each if isinstance(value := one.get(name), (int, float))]
        return mean(values) if values and len(values) == len(self.each) else None

    def value(self, name: str) -> float | None:
        """Returns the mean of a number over the seeds."""
        found = self.interval(name)
        return None if found is None else found.value

    @property
    def confidence(self) -> str:
        """The least confidence of a seed."""
        return min((str(one["confidence"]) for one in self.each), key=_CONFIDENCE.index)


def tables(outcome: Outcome) -> list[TestTable]:
    """Returns the tables of a test: its load, the latency, the responsiveness, and the quality of calls."""
    made = [_load(outcome), _latency(outcome), _responsiveness(outcome)]
    return [*made, *([_calls(outcome)] if outcome.plan.test.calls else [])]


def _load(outcome: Outcome) -> TestTable:
    ways = [way for way in WAYS if outcome.value(f"{way}.flows")]
    several = any((outcome.value(f"{way}.flows") or 0) > 1 for way in ways)
    rows: list[list[Cell]] = [
        [
            f"{WAYS[way]} ({outcome.cc})",
            outcome.value(f"{way}.flows"),
            _spread(outcome, f"{way}.goodput_bps", 1e-6),
            _spread(outcome, f"{way}.utilization", 100),
            _spread(outcome, f"{way}.queue_mean_s", 1e3),
            _spread(outcome, f"{way}.queue_p95_s", 1e3),
            _spread(outcome, f"{way}.loss_fraction", 100),
            *([_spread(outcome, f"{way}.jain")] if several else []),
        ]
        for way in ways
    ]
    columns = ["load", "flows", "Mbit/s", "link %", "queue ms", "p95", "loss %"]
    return _table("Load", [*columns, *(["Jain"] if several else [])], rows)


def _latency(outcome: Outcome) -> TestTable:
    names = ("p50", "p95", "p99", "max")
    rows: list[list[Cell]] = [
        [
            {"idle": "idle", "load": "under load"}[phase],
            outcome.value(f"{phase}.samples"),
            *(_spread(outcome, f"{phase}.{name}_s", 1e3) for name in names),
        ]
        for phase in PHASES
    ]
    return _table("Latency of a request", ["latency ms", "requests", *names], rows)


def _responsiveness(outcome: Outcome) -> TestTable:
    total = outcome.value("rpm")
    row: list[Cell] = [
        NONE if total is None else rpm.category(total),
        _spread(outcome, "rpm"),
        _spread(outcome, "rpm.foreign"),
        _spread(outcome, "rpm.self"),
        outcome.confidence,
    ]
    columns = ["responsiveness", "RPM", "of requests", "of the load", "confidence"]
    return _table("Responsiveness", columns, [row])


def _calls(outcome: Outcome) -> TestTable:
    rows: list[list[Cell]] = [
        [
            f"{way}, {'idle' if phase == 'idle' else 'under load'}",
            *(
                _spread(outcome, f"voice.{way}.{phase}.{name}", scale)
                for name, scale in (
                    ("delay", 1e3),
                    ("p95", 1e3),
                    ("jitter", 1e3),
                    ("loss", 100),
                    ("mos", 1),
                )
            ),
        ]
        for way in WAYS
        for phase in PHASES
    ]
    return _table("Voice", ["voice", "delay ms", "p95", "jitter ms", "loss %", "MOS"], rows)


def _table(title: str, columns: list[str], rows: list[list[Cell]]) -> TestTable:
    cells = [formed(column) for column in zip(*rows, strict=True)]
    return {
        "title": title,
        "columns": columns,
        "rows": [[str(cell) for cell in row] for row in zip(*cells, strict=True)],
    }


def _spread(outcome: Outcome, name: str, scale: float = 1.0) -> Spread | None:
    found = outcome.interval(name)
    if found is None:
        return None
    ends = (None, None) if math.isnan(found.low) else (found.low * scale, found.high * scale)
    return Spread(found.value * scale, *ends)


def sentences(outcome: Outcome) -> list[str]:
    """Returns the verdict, and that on calls."""
    told = [_verdict(outcome)]
    worst = min(
        (value, way) for way in WAYS if (value := outcome.value(f"voice.{way}.load.mos")) is not None
    ) if outcome.plan.test.calls and _has_calls(outcome) else None
    if worst:
        told.append(_voice(outcome, *worst))
    return told


def _has_calls(outcome: Outcome) -> bool:
    return any(outcome.value(f"voice.{way}.load.mos") is not None for way in WAYS)


def _verdict(outcome: Outcome) -> str:
    idle, load, total = (outcome.value(name) for name in ("idle.p50_s", "load.p50_s", "rpm"))
    if load is None:
        return "No request was answered under load."
    score = "" if total is None else f": {total:,.0f} RPM, {rpm.category(total)} responsiveness"
    taken = f"Under load a request takes {ms(load)} ms at the median"
    if idle is None:
        return f"{taken}{score}; none was answered before the load."
    if load < idle * _ALIKE:
        return f"{taken}, about as long as the {ms(idle)} ms when idle{score}."
    return f"{taken} instead of {ms(idle)} ms, {digits(load / idle)} times as long{score}."


def _voice(outcome: Outcome, score: float, way: str) -> str:
    alone = outcome.value(f"voice.{way}.idle.mos")
    loss = outcome.value(f"voice.{way}.load.loss") or 0.0
    delay = outcome.value(f"voice.{way}.load.delay")
    before = "" if alone is None else f" instead of {alone:.2f}"
    late = "" if delay is None else f": the voice takes {ms(delay)} ms"
    lost = f" and loses {100 * loss:.1f} %" if loss >= _LEAST_LOSS else ""
    return f"Next to the load the call has a MOS of {score:.2f}{before} in the {_WORDS[way]}{late}{lost}."


def notes(outcome: Outcome) -> list[str]:
    """Returns what limits the results, a sentence each."""
    found = [f"{each}." for each in outcome.plan.notes]
    for way, role in WAYS.items():
        used = outcome.value(f"{way}.utilization")
        if outcome.value(f"{way}.flows") and used is not None and used < _FULL:
            found.append(
                f"The {role}s left {100 * (1 - used):.0f} % of the {_WORDS[way]} unused: its queue was not always full."
            )
    plan = outcome.plan
    if plan.test.calls and plan.calls_until_s < plan.scenario.duration_s:
        found.append(f"Voice was recorded until {plan.calls_until_s:.4g} s, two million packets.")
    return found


def method(outcome: Outcome) -> str:
    """Returns the definitions of the numbers, in words."""
    several = (
        f"means of {len(outcome.seeds)} seeds [95 % interval]; "
        if len(outcome.seeds) > 1
        else ""
    )
    return (
        f"{several}RPM by {rpm.DRAFT}: poor below 300, fair below 1000, good below 6000"
    )


def about(outcome: Outcome) -> TestAbout:
    """Returns what a report shows of the test."""
    flows = [name for name, _ in outcome.plan.scenario.flows]
    return {
        "test": outcome.plan.test.name,
        "runner": outcome.runner,
        "seeds": list(outcome.seeds),
        "load": [name for name in flows if outcome.plan.role(name) in WAYS.values()],
        "tables": tables(outcome),
        "sentences": sentences(outcome),
        "notes": notes(outcome),
        "method": method(outcome),
    }


def record(outcome: Outcome) -> str:
    """Returns the numbers as a JSON object, in SI units."""
    names = dict.fromkeys(name for one in outcome.each for name in one if name != "confidence")
    values = {name: outcome.interval(name) for name in names}
    total = outcome.value("rpm")
    return json.dumps(
        {
            "test": outcome.plan.test.name,
            "runner": outcome.runner,
            "seeds": list(outcome.seeds),
            "phases_s": {
                "load": outcome.plan.idle_s,
                "measured": outcome.plan.measured_s,
                "end": outcome.plan.scenario.duration_s,
            },
            "values": {
                name: None
                if found is None
                else {"mean": found.value, "low": _number(found.low), "high": _number(found.high)}
                for name, found in values.items()
            },
            "responsiveness": None if total is None else rpm.category(total),
            "confidence": outcome.confidence,
            "sentences": sentences(outcome),
            "notes": notes(outcome),
        }
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def show(outcome: Outcome, console: Console) -> None:
    """Prints the tables and the sentences."""
    for each in tables(outcome):
        first, *others = each["columns"]
        table = make_table(first)
        table.columns[0].max_width = None
        number_columns(table, *others)
        for row in each["rows"]:
            table.add_row(*row)
        console.print("")
        console.print(Trimmed(table))
    console.print("")
    for told in sentences(outcome):
        console.print(told, markup=False, highlight=False)
    for note in notes(outcome):
        console.print(note, style="yellow", markup=False, highlight=False)
    console.print(method(outcome), style="dim", markup=False, highlight=False)
