"""The results of a test as tables and sentences: printed, and kept for the report."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.runs.view.table import (
    NONE,
    Spread,
    Trimmed,
    digits,
    formed,
    make_table,
    ms,
    narrow,
    number_columns,
)
from fullpipe.stats import mean
from fullpipe.wings.real.loadtest import rpm
from fullpipe.wings.real.loadtest.measure import PHASES, WAYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from fullpipe.results.about import TestAbout, TestTable
    from fullpipe.runs.view.table import Cell
    from fullpipe.stats import Interval
    from fullpipe.wings.real.loadtest.measure import Numbers
    from fullpipe.wings.real.loadtest.plan import Plan

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
        values = [
            float(value) for one in self.each if isinstance(value := one.get(name), (int, float))
        ]
        return mean(values) if values and len(values) == len(self.each) else None

    def value(self, name: str, scale: float = 1.0) -> float | None:
        """Returns the mean of a number over the seeds."""
        found = self.interval(name)
        return None if found is None else found.value * scale

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
            f"{WAYS[way]} ({outcome.cc})" if outcome.cc else WAYS[way],
            outcome.value(f"{way}.flows"),
            _spread(outcome, f"{way}.goodput_bps", 1e-6),
            outcome.value(f"{way}.utilization", 100),
            outcome.value(f"{way}.queue_mean_s", 1e3),
            outcome.value(f"{way}.queue_p95_s", 1e3),
            outcome.value(f"{way}.loss_fraction", 100),
            *([outcome.value(f"{way}.jain")] if several else []),
        ]
        for way in ways
    ]
    columns = [
        *("load", "flows", "goodput\nMbit/s", "link\nused %", "queue ms\nmean", "\np95"),
        "loss\n%",
    ]
    return _table("Load", [*columns, *(["Jain"] if several else [])], rows)


def _latency(outcome: Outcome) -> TestTable:
    rows: list[list[Cell]] = [
        [
            {"idle": "idle", "load": "under load"}[phase],
            f"{outcome.value(f'{phase}.samples') or 0:,.0f}",
            *(_spread(outcome, f"{phase}.{name}_s", 1e3) for name in ("p50", "p95")),
            *(outcome.value(f"{phase}.{name}_s", 1e3) for name in ("p99", "max")),
        ]
        for phase in PHASES
    ]
    return _table(
        "Latency of requests",
        ["phase", "requests", "latency ms\np50", "\np95", "\np99", "\nmax"],
        rows,
    )


def _responsiveness(outcome: Outcome) -> TestTable:
    total = outcome.value("rpm")
    row: list[Cell] = [
        NONE if total is None else rpm.category(total),
        _spread(outcome, "rpm"),
        outcome.value("rpm.foreign"),
        outcome.value("rpm.self"),
        outcome.confidence,
    ]
    columns = ["rating", "RPM", "RPM of\nrequests", "RPM of\nthe load", "confidence"]
    return _table("Responsiveness", columns, [row])


def _calls(outcome: Outcome) -> TestTable:
    rows: list[list[Cell]] = [
        [
            f"{way}, {'idle' if phase == 'idle' else 'under load'}",
            *(
                outcome.value(f"voice.{way}.{phase}.{name}", scale)
                for name, scale in (("delay", 1e3), ("p95", 1e3), ("jitter", 1e3), ("loss", 100))
            ),
            _spread(outcome, f"voice.{way}.{phase}.mos"),
        ]
        for way in WAYS
        for phase in PHASES
    ]
    columns = ["voice", "delay ms\nmean", "\np95", "jitter\nms", "loss\n%", "MOS"]
    return _table("Voice", columns, rows)


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
    if math.isnan(found.low):
        return Spread(found.value * scale)
    ends = max(found.low, 0.0) * scale, found.high * scale
    return Spread(found.value * scale, *ends)


def sentences(outcome: Outcome) -> list[str]:
    """Returns the verdict, and that on calls."""
    told = [_verdict(outcome)]
    scores = [(value, way) for way in WAYS if (value := outcome.value(f"voice.{way}.load.mos"))]
    return [*told, *([_voice(outcome, *min(scores))] if scores else [])]


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
        f"means of {len(outcome.seeds)} seeds [95 % interval]; " if len(outcome.seeds) > 1 else ""
    )
    return f"{several}RPM by {rpm.DRAFT}: poor below 300, fair below 1000, good below 6000"


def about(outcome: Outcome) -> TestAbout:
    """Returns what a report shows of the test."""
    return {
        "test": outcome.plan.test.name,
        "runner": outcome.runner,
        "seeds": list(outcome.seeds),
        "roles": {name: outcome.plan.role(name) for name, _ in outcome.plan.scenario.flows},
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
        number_columns(table, *others)
        for row in each["rows"]:
            table.add_row(*row)
        narrow(table, console)
        table.columns[0].max_width = None
        console.print("")
        console.print(Trimmed(table))
    console.print("")
    for told in sentences(outcome):
        console.print(told, markup=False, highlight=False)
    for note in notes(outcome):
        console.print(note, style="yellow", markup=False, highlight=False)
    console.print(method(outcome), style="dim", markup=False, highlight=False)
