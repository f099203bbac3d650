"""A judged trace in a terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from fullpipe.study.verdicts.judged import Verdict, finite
from fullpipe.study.verdicts.show import STYLES, row
from fullpipe.wings.traces.behavior.judge import WORDS, bounds, digits, first_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from fullpipe.wings.traces.behavior.judge import Found

_HEAD = ("condition", "trace", "model", "accepted")


@dataclass(frozen=True)
class Judgment:
    """A judged trace.

    Attributes:
        title: The trace, in words.
        algorithm: The algorithm with its parameters.
        path: The path, in words.
        found: The conditions on the trace.
        model: The conditions on the model's run over the path, in the same order.
        metrics: Names and values of the trace and of the model, in words.
        warnings: Parts of the trace that could not be read.
    """

    title: str
    algorithm: str
    path: str
    found: Sequence[Found]
    model: Sequence[Found]
    metrics: Sequence[tuple[str, str, str]] = ()
    warnings: Sequence[str] = ()

    @property
    def missed(self) -> bool:
        """Whether a condition is not met."""
        return any(each.verdict is Verdict.MISSED for each in self.found)

    @property
    def unevaluated(self) -> bool:
        """Whether a condition was not evaluated."""
        return any(each.verdict is Verdict.SKIPPED for each in self.found)

    @property
    def sums(self) -> str:
        """The number of conditions for each verdict."""
        count = dict.fromkeys(WORDS, 0)
        for each in self.found:
            count[each.verdict] += 1
        return ", ".join(f"{count[verdict]} {word}" for verdict, word in WORDS.items())

    @property
    def first(self) -> str:
        """The earliest difference with its time and rule; else the conditions that were not evaluated, if any."""
        if found := first_difference(self.found):
            return f"first difference, at {found[0]:.2f} s: {found[1].difference}"
        reasons: dict[str, list[str]] = {}
        for each in self.found:
            if each.verdict is Verdict.SKIPPED:
                reasons.setdefault(each.reason, []).append(each.condition.key)
        if not reasons:
            return f"no difference: all {len(self.found)} conditions were evaluated and are met"
        why = "; ".join(f"{', '.join(keys)} ({reason})" for reason, keys in reasons.items())
        count = sum(map(len, reasons.values()))
        return f"{count} of {len(self.found)} conditions {'was' if count == 1 else 'were'} not evaluated: {why}"


def show(judged: Judgment, console: Console) -> None:
    """Prints the table of conditions, and a line for each difference."""
    console.print(
        Text(f"{judged.title} as {judged.algorithm}: {judged.sums}", style="bold"), soft_wrap=True
    )
    console.print(Text(judged.path, style="dim"), soft_wrap=True)
    if judged.metrics:
        _print_metrics(judged, console)
    console.print(Text(_line(*_HEAD, "verdict"), style="dim"))
    for each, ours in zip(judged.found, judged.model, strict=True):
        cells = (each.condition.key, _value(each), _value(ours), _accepted(each))
        text = Text(_line(*cells, ""))
        text.append(WORDS[each.verdict], style=STYLES[each.verdict])
        text.append(_times(each))
        console.print(text)
        note = each.difference or each.reason
        for part in textwrap.wrap(note, 74, break_on_hyphens=False):
            console.print(Text(f"      {part}", style="dim"), soft_wrap=True)
    console.print()
    console.print(Text(judged.first), soft_wrap=True)


def _print_metrics(judged: Judgment, console: Console) -> None:
    for name, of_trace, of_model in judged.metrics:
        console.print(Text(_line(name, of_trace, of_model, "", "")))
    console.print()


def _line(name: str, trace: str, model: str, accepted: str, verdict: str) -> str:
    return f"  {name:<19} {trace:>11} {model:>11}  {accepted:<17} {verdict}"


def _value(found: Found) -> str:
    shown = found.shown
    if shown is None:
        return "–"
    return _in_unit(digits(shown.measured), found)


def _accepted(found: Found) -> str:
    return _in_unit(bounds(found.shown.within), found) if found.shown else ""


def _in_unit(text: str, found: Found) -> str:
    return f"{text} {found.condition.unit}".rstrip().replace("segments", "seg")


def _times(found: Found) -> str:
    return f", {len(found.different)} of {len(found.occasions)}" if found.different else ""


def markdown(judged: Judgment) -> str:
    """Returns the table as Markdown, with rule, section and reason of each condition."""
    lines = [f"# {judged.title} as {judged.algorithm}", "", f"{judged.path}.", ""]
    if judged.metrics:
        lines += [row(("", "trace", "model")), "|---|--:|--:|", *map(row, judged.metrics), ""]
    lines += [
        f"{judged.first[0].upper()}{judged.first[1:]}.",
        "",
        f"{judged.sums}.",
        "",
        row((*_HEAD, "verdict", "rule", "from", "tolerance")),
        "|---|--:|--:|---|---|---|---|---|",
        *map(row, table(judged)),
    ]
    return "\n".join(lines) + "\n"


def table(judged: Judgment) -> list[tuple[str, ...]]:
    """Returns the rows of the conditions, with the columns of the Markdown table."""
    rows: list[tuple[str, ...]] = []
    for each, ours in zip(judged.found, judged.model, strict=True):
        note = each.difference or each.reason
        verdict = f"{WORDS[each.verdict]}{_times(each)}" + (f": {note}" if note else "")
        rows.append(
            (
                each.condition.key,
                _value(each),
                _value(ours),
                _accepted(each),
                verdict,
                each.condition.rule,
                each.section,
                each.condition.because,
            )
        )
    return rows


def as_json(judged: Judgment) -> str:
    """Returns the judgment as JSON, in SI units."""
    first = first_difference(judged.found)
    record: dict[str, Any] = {
        "trace": judged.title,
        "as": judged.algorithm,
        "path": judged.path,
        "met": not (judged.missed or judged.unevaluated),
        "evaluated": not judged.unevaluated,
        "first_difference": None
        if first is None
        else {
            "time_s": finite(first[0]),
            "condition": first[1].condition.key,
            "text": first[1].difference,
        },
        "conditions": [each.record() for each in judged.found],
        "model": [each.record() for each in judged.model],
    }
    return json.dumps(record, indent=1)
