"""A comparison with kept results as Markdown, for a comment on a change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fullpipe.runs.view.table import digits
from fullpipe.study.checks.against import relative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.study.checks.against import Against, Change
    from fullpipe.study.checks.run import Checked

_WORDS = {-1: "🔴 worse", 0: "", 1: "🟢 better"}
_MOST_ROWS = 200
_SPECIAL = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_{}[]<>|#"})


def markdown(found: Against, done: Sequence[Checked]) -> str:
    """Returns a heading, a table of the changes that count, the missed conditions, and a fold with all numbers."""
    lines = [f"### {headline(found)}", ""]
    if done and done[0].set:
        lines += [f"Set: {', '.join(map(_plain, done[0].set))}.", ""]
    counting = [*found.worse, *found.better]
    if counting:
        lines += [*_table(counting), ""]
    missed = [
        f"- {_plain(checked.file)}: `{each.name}`, measured {_plain(each.shown)}"
        for checked in done
        for each in checked.judged
        if not each.met
    ]
    if missed:
        lines += ["Missed conditions:", "", *missed, ""]
    for words, names in (
        ("Without results to compare with", found.new),
        ("Only in the earlier results", found.gone),
        ("The scenario itself differs", found.edited),
    ):
        if names:
            lines += [f"{words}: {', '.join(map(_plain, names))}.", ""]
    if found.changes:
        shown = found.changes[:_MOST_ROWS]
        rest = len(found.changes) - len(shown)
        lines += ["<details><summary>All numbers</summary>", "", *_table(shown), ""]
        lines += [f"{rest:,} more are left out.", ""] if rest else []
        lines += ["</details>", ""]
    lines.append(
        "Means over the seeds, and the change with its 95 % interval, paired by seed and corrected for the number of "
        f"comparisons. A change counts if it is significant and larger than {_percent(found.limit)} % "
        "(a share: also one percentage point)."
    )
    return "\n".join(lines) + "\n"


def headline(found: Against) -> str:
    """Returns the numbers of changes in one line."""
    if not found.changes:
        return "fullpipe check: no numbers to compare"
    scenarios = len({each.file for each in found.changes})
    count = f"{len(found.changes):,} numbers in {scenarios} scenario{'s' if scenarios > 1 else ''}"
    return f"fullpipe check: {len(found.worse)} worse, {len(found.better)} better of {count}"


def line(change: Change) -> str:
    """Returns a change in one line of plain text."""
    before, now, difference = _cells(change)
    about = change.compared
    whose = f", {about.flow}" if about.flow else ""
    word = _WORDS[change.verdict].rpartition(" ")[2]
    return f"{change.file}{whose}: {about.quantity.words} {before} → {now}, {difference}  {word}"


def _table(changes: Sequence[Change]) -> list[str]:
    head = [
        "| Scenario | Flow | Metric | Before | Now | Change | |",
        "|---|---|---|--:|--:|--:|---|",
    ]
    rows = [
        f"| {_plain(each.file)} | {_plain(each.compared.flow)} | {each.compared.quantity.words} | "
        f"{' | '.join(_cells(each))} | {_WORDS[each.verdict]} |"
        for each in changes
    ]
    return head + rows


def _cells(change: Change) -> tuple[str, str, str]:
    """Returns the mean before, the mean now, and the change with its interval."""
    about, comparison = change.compared.quantity, change.compared.comparison
    unit = f" {about.unit}" if about.unit else ""
    before, now = (f"{digits(each * about.scale)}{unit}" for each in (comparison.b, comparison.a))
    difference = comparison.difference
    if difference.value == 0:
        return before, now, "0"
    shared = about.unit in ("", "%")
    if shared or not math.isfinite(relative(change.compared)):
        scale, sign = about.scale, " points" if about.unit == "%" else unit
        value, low, high = (each * scale for each in difference)
    else:
        scale, sign = 100 / abs(comparison.b), " %"
        value, low, high = (each * scale for each in difference)
    ends = f" [{_signed(low)}, {_signed(high)}]" if math.isfinite(low) else ""
    return before, now, f"{_signed(value)}{sign}{ends}"


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{digits(abs(value))}"


def _percent(share: float) -> str:
    return f"{share * 100:g}"


def _plain(text: str) -> str:
    """Escapes what Markdown and HTML would obey, in names that a user chose."""
    from fullpipe.base.terminal import printable

    return printable(" ".join(text.split())).translate(_SPECIAL)
