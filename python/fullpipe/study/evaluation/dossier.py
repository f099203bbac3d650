"""The report of an evaluation: a page, and Markdown for the appendix of a draft."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from fullpipe.algorithms.own import facts as facts_of
from fullpipe.algorithms.own import own
from fullpipe.algorithms.programs.lines import version_of
from fullpipe.algorithms.resolve import recipe_of
from fullpipe.base.build import in_words
from fullpipe.report.model import Code, Finding, Number, Report, Section, Table, Text, Timeline
from fullpipe.runners import is_simulator
from fullpipe.stats.steady import summary
from fullpipe.stats.words import digits
from fullpipe.study.cells import stack_of_cells
from fullpipe.study.evaluation import worst
from fullpipe.study.evaluation.judge import WORDS, bound_words
from fullpipe.study.verdicts.judged import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fullpipe.report.model import Block, Cell
    from fullpipe.runners import Runner
    from fullpipe.stats import Quantity
    from fullpipe.study.evaluation.judge import CellResult, Outcome
    from fullpipe.study.evaluation.suite import Criterion, Suite
    from fullpipe.study.question import Contender
    from fullpipe.study.verdicts.estimate import Estimate

SIGNS = {Verdict.MET: "✓", Verdict.MISSED: "✗", Verdict.REPORT: "?", Verdict.SKIPPED: "–"}
_DIGITS = 3


def report(
    suite: Suite,
    tested: Contender,
    baselines: Sequence[Contender],
    outcomes: Sequence[Outcome],
    seeds: Sequence[int],
    runner: Runner,
    recorded: Mapping[str, Path],
) -> Report:
    """Returns the report.

    Args:
        suite: The suite.
        tested: The algorithm.
        baselines: The algorithms next to it.
        outcomes: The verdicts.
        seeds: The seeds of each cell.
        runner: The runner of all runs.
        recorded: The directories of the worst cells' runs, by criterion.
    """
    cells = sum(len(each.cells) for each in outcomes)
    facts = [
        ("Version", in_words()),
        *facts_of(own([tested.name])),
        ("Suite", suite.title),
        (
            "Stack",
            stack_of_cells(each.criterion for each in outcomes if not each.criterion.skipped),
        ),
        ("Baselines", ", ".join(each.label for each in baselines)),
        ("Cells", f"{cells}, {len(seeds)} seeds each, from {seeds[0]} on"),
        *_facts([tested, *baselines], outcomes, runner),
        *(("Steadiness", each) for each in steadiness(outcomes)),
    ]
    return Report(
        f"{tested.label}: evaluation",
        f"{summed(outcomes)}. {_repeats(runner)}",
        facts,
        [Finding(_finding(each, tested)) for each in outcomes if each.verdict is Verdict.MISSED],
        "A criterion is met if every cell is within its bound with its whole interval, and not met if the whole "
        "interval of a cell is beyond it. The intervals are Student's over the seeds, of 95 % for all cells of a "
        "criterion together (Bonferroni). Other criteria are to be argued.",
        [
            _verdicts(tested, baselines, outcomes),
            *(
                _section(each, tested, baselines, runner, recorded.get(each.criterion.name))
                for each in outcomes
                if each.worst is not None
            ),
        ],
    )


def _repeats(runner: Runner) -> str:
    """Returns a sentence about another evaluation with the same version, parameters and seeds."""
    if is_simulator(runner):
        return "Simulated; the same version, parameters and seeds give the same numbers."
    if runner.real_time:
        return f"Measured in real time on {runner.name}: the machine is a part of every number."
    return (
        f"Real stacks in simulated time, on {runner.name}: the machine is no part of the numbers."
    )


def _facts(
    contenders: Sequence[Contender], outcomes: Sequence[Outcome], runner: Runner
) -> list[tuple[str, str]]:
    """Returns the runner, the programs' versions, and whether the machine kept time."""
    if is_simulator(runner):
        return []
    recipes = [recipe[0] for each in contenders if (recipe := recipe_of(each.name))]
    found = [("Runner", f"{runner.name}: {runner.about}")]
    found += [(f"Program {name}", version_of(name)) for name in dict.fromkeys(recipes)]
    of = {each.measured.directory: each.measured for each in outcomes if each.measured}
    runs = sum(len(each.points) * len(each.expected) for each in of.values())
    warnings = sum((each.warnings for each in of.values()), Counter())
    found += [
        ("Warning", f"{count} of {runs} runs: {warning}")
        for (_, warning), count in warnings.most_common()
    ]
    if runner.real_time and not warnings:
        found.append(("Warnings", f"none: the machine kept time in all {runs} runs"))
    return found


def steadiness(outcomes: Sequence[Outcome]) -> list[str]:
    """Returns in how many cells the judged number is steady, and those in which it drifts, in words."""
    return summary(
        {
            f"{_headed(each.criterion)}{f', {label}' if label else ''}": verdict
            for each in outcomes
            for label, verdict in each.steadiness.items()
        },
        "cells",
    )


def summed(outcomes: Sequence[Outcome]) -> str:
    """Returns the number of criteria of each verdict in words."""
    count = Counter(each.verdict for each in outcomes)
    said = ", ".join(f"{count[verdict]} {WORDS[verdict]}" for verdict in Verdict if count[verdict])
    noun = "criterion" if len(outcomes) == 1 else "criteria"
    return f"{len(outcomes)} {noun}: {said}"


def value(estimate: Estimate, quantity: Quantity, *, unit: bool = True) -> str:
    """Formats a number with its interval."""
    if math.isnan(estimate.value):
        return "–"
    text = digits(estimate.value, _DIGITS) + (f" {quantity.unit}" if unit and quantity.unit else "")
    if math.isnan(estimate.low):
        return text
    return f"{text} [{digits(estimate.low, _DIGITS)} – {digits(estimate.high, _DIGITS)}]"


# Criteria by algorithm whose result comes from what the model leaves out, as its page says.
_OF_THE_MODEL = {
    "scream": dict.fromkeys(
        ("rtt-step", "route-change"),
        "The model does not reset the base delay on a longer path, as the author's code does (draft-ietf-ccwg-"
        "rfc8298bis-screamv2 §4.5.1): the number is the model's, not the algorithm's.",
    )
}


def _finding(outcome: Outcome, tested: Contender) -> str:
    criterion, cell = outcome.criterion, outcome.worst
    assert cell is not None
    quantity = criterion.judged.quantity
    where = f" at {cell.label}" if cell.label else ""
    return (
        f"{_headed(criterion)}: {quantity.words} {value(cell.ours, quantity)}{where}; "
        f"required: {limit(outcome, cell)}; {outcome.judged.reason}."
        + (f" {of_model}" if (of_model := _of_model(outcome, tested)) else "")
    )


def _of_model(outcome: Outcome, tested: Contender) -> str:
    """Returns why a result is the model's and not the algorithm's; empty if nothing is known."""
    return _OF_THE_MODEL.get(tested.name, {}).get(outcome.criterion.name, "")


def _headed(criterion: Criterion) -> str:
    """Returns the title after its section: a number, or a word of a suite without a document."""
    sign = "§" if criterion.section[:1].isdigit() else ""
    return f"{sign}{criterion.section} {criterion.title}" if sign else criterion.title


def limit(outcome: Outcome, cell: CellResult) -> str:
    """Formats the bound of a cell."""
    bound = outcome.criterion.bound
    if bound is None or math.isnan(cell.bound):
        return bound_words(outcome.criterion) or "–"
    unit = outcome.criterion.judged.quantity.unit
    number = f"{digits(cell.bound, _DIGITS)}{f' {unit}' if unit else ''}"
    return f"{'≤' if bound.most else '≥'} {number}"


def _verdicts(
    tested: Contender, baselines: Sequence[Contender], outcomes: Sequence[Outcome]
) -> Section:
    others = [each.label for each in baselines if each.label != tested.label]
    columns = ("section", "criterion", "verdict", "worst cell", tested.label, "bound", *others)
    tables: list[Block] = []
    for part in dict.fromkeys(each.criterion.part for each in outcomes):
        rows = [_row(each, tested, others) for each in outcomes if each.criterion.part == part]
        tables.append(Table(part, columns, rows, names=(tested.label, *others)))
    return Section(
        "Verdicts",
        tables,
        "Each line has the worst cell of a criterion, and its mean over the seeds.",
    )


def _row(outcome: Outcome, tested: Contender, others: Sequence[str]) -> tuple[Cell, ...]:
    criterion, cell = outcome.criterion, outcome.worst
    said = f"{SIGNS[outcome.verdict]} {WORDS[outcome.verdict]}"
    if outcome.verdict is Verdict.MISSED and _of_model(outcome, tested):
        said += " (by the model)"
    if cell is None:
        empty = ("",) * (2 + len(others))
        return (criterion.section, criterion.title, said, outcome.judged.reason, *empty)
    quantity = criterion.judged.quantity
    return (
        criterion.section,
        criterion.title,
        said,
        f"{quantity.words}; {cell.label}" if cell.label else quantity.words,
        Number(cell.ours.value, value(cell.ours, quantity)),
        limit(outcome, cell),
        *(_plain(cell.others.get(label), quantity) for label in others),
    )


def _section(
    outcome: Outcome,
    tested: Contender,
    baselines: Sequence[Contender],
    runner: Runner,
    recorded: Path | None,
) -> Section:
    criterion, cell = outcome.criterion, outcome.worst
    assert cell is not None
    blocks: list[Block] = [_cells(outcome, tested, baselines)]
    if recorded and (runs := worst.recorded(recorded)):
        blocks.append(Timeline(runs))
    text = criterion.written(cell.words, tested.name, tested.params)
    blocks.append(
        Table(
            "Replay of the worst cell; any of the seeds can follow --seed",
            ("command",),
            [(Code(worst.replay(outcome, tested, runner.name)),)],
        )
    )
    blocks.append(Text(f"Scenario of the worst cell, seed {cell.seed}", text))
    words = bound_words(criterion)
    said = f" Bound: {words}." if words else " No bound."
    reason = f" {outcome.judged.reason}." if criterion.bound and outcome.judged.reason else ""
    return Section(
        f"{_headed(criterion)}: {WORDS[outcome.verdict]}",
        blocks,
        f"{criterion.question}{said} {criterion.why}{reason[:1] + reason[1:2].upper() + reason[2:]}",
        criterion.part,
    )


def _cells(outcome: Outcome, tested: Contender, baselines: Sequence[Contender]) -> Table:
    criterion = outcome.criterion
    quantity = criterion.judged.quantity
    others = [each.label for each in baselines if each.label != tested.label]
    others += [
        label
        for label in dict.fromkeys(label for cell in outcome.cells for label in cell.others)
        if label not in others
    ]
    rows: list[tuple[Cell, ...]] = []
    for cell in outcome.cells:
        found: list[Cell] = [*cell.words.values()]
        found.append(Number(cell.ours.value, value(cell.ours, quantity, unit=False)))
        if criterion.bound:
            found += [limit(outcome, cell), WORDS[cell.verdict]]
        found += [_plain(cell.others.get(label), quantity) for label in others]
        found += [_plain(cell.also.get(each), each.quantity) for each in criterion.also]
        rows.append(tuple(found))
    columns = (
        *criterion.axes,
        tested.label,
        *(("bound", "verdict") if criterion.bound else ()),
        *others,
        *(_titled(each.quantity, tested) for each in criterion.also),
    )
    unit = f", {quantity.unit}" if quantity.unit else ""
    title = quantity.words[0].upper() + quantity.words[1:]
    return Table(f"{title}{unit}, in each cell", columns, rows, names=(tested.label, *others))


def _titled(quantity: Quantity, tested: Contender) -> str:
    return f"{quantity.words} of {tested.label}{f', {quantity.unit}' if quantity.unit else ''}"


def _plain(estimate: Estimate | None, quantity: Quantity) -> Number:
    if estimate is None or math.isnan(estimate.value):
        return Number(None, "–")
    return Number(estimate.value, digits(estimate.value, _DIGITS))
