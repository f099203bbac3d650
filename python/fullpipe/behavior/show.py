"""A judged trace in a terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from fullpipe.behavior.judge import WORDS, bounds, digits, first_difference
from fullpipe.verdicts.judged import Verdict, finite
from fullpipe.verdicts.show import STYLES, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from fullpipe.behavior.envelope import Conformance
    from fullpipe.behavior.judge import Found

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
        envelope: The overlap of throughput and delay; None if the trace is too short.
    """

    title: str
    algorithm: str
    path: str
    found: Sequence[Found]
    model: Sequence[Found]
    metrics: Sequence[tuple[str, str, str]] = ()
    envelope: Conformance | None = None

    @property
    def met(self) -> bool:
        """Whether no condition is unmet."""
        return not any(each.verdict is Verdict.MISSED for each in self.found)

    @property
    def sums(self) -> str:
        """The number of conditions for each verdict."""
        count = dict.fromkeys(WORDS, 0)
        for each in self.found:
            count[each.verdict] += 1
        return ", ".join(f"{count[verdict]} {word}" for verdict, word in WORDS.items())

    @property
    def first(self) -> str:
        """The earliest difference with its time and rule; a sentence without one."""
        if not self.found:
            return f"no conditions are declared for {self.algorithm}"
        found = first_difference(self.found)
        if found is None:
            return "no difference in the conditions that were evaluated"
        return f"first difference, at {found[0]:.2f} s: {found[1].difference}"


def show(judged: Judgment, console: Console) -> None:
    """Prints the table of conditions, and a line for each difference."""
    console.print(Text(f"{judged.title} as {judged.algorithm}", style="bold"), soft_wrap=True)
    console.print(Text(judged.path, style="dim"), soft_wrap=True)
    if judged.metrics:
        _print_metrics(judged, console)
    if judged.found:
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
    if judged.envelope:
        for line in judged.envelope.lines():
            console.print(Text(line), soft_wrap=True)
    console.print(Text(judged.first), soft_wrap=True)
    if judged.found:
        console.print(Text(judged.sums, style="bold"))


def _print_metrics(judged: Judgment, console: Console) -> None:
    for name, of_trace, of_model in judged.metrics:
        console.print(Text(_line(name, of_trace, of_model, "", "")))
    console.print()


def _line(name: str, trace: str, model: str, accepted: str, verdict: str) -> str:
    return f"  {name:<19} {trace:>11} {model:>11}  {accepted:<16} {verdict}"


def _value(found: Found) -> str:
    shown = found.shown
    if shown is None:
        return "–"
    return f"{digits(shown.measured)} {found.condition.unit}".rstrip().replace("segments", "seg")


def _accepted(found: Found) -> str:
    return bounds(found.shown.within) if found.shown else ""


def _times(found: Found) -> str:
    return f", {len(found.different)} of {len(found.occasions)}" if found.different else ""


def markdown(judged: Judgment) -> str:
    """Returns the table as Markdown, with rule, section and reason of each condition."""
    lines = [f"# {judged.title} as {judged.algorithm}", "", f"{judged.path}.", ""]
    if judged.metrics:
        lines += [row(("", "trace", "model")), "|---|--:|--:|", *map(row, judged.metrics), ""]
    if judged.envelope:
        lines += [*judged.envelope.lines(), ""]
    lines += [f"{judged.first[0].upper()}{judged.first[1:]}.", ""]
    if judged.found:
        lines += [f"{judged.sums}.", "", row((*_HEAD, "verdict", "rule", "from", "tolerance")), ""]
        lines[-1] = "|---|--:|--:|---|---|---|---|---|"
        lines += [row(cells) for cells in table(judged)]
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
        "met": judged.met,
        "first_difference": None
        if first is None
        else {
            "time_s": finite(first[0]),
            "condition": first[1].condition.key,
            "text": first[1].difference,
        },
        "conditions": [each.record() for each in judged.found],
        "model": [each.record() for each in judged.model],
        "envelope": judged.envelope.record() if judged.envelope else None,
    }
    return json.dumps(record, indent=1)
