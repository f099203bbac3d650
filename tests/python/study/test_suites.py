"""The suites of criteria in the package: their cells, their page, and known results of queues and of pairs of flows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import fullpipe
from evaluations import evaluation
from fullpipe.study.evaluation.judge import bound_words
from fullpipe.study.evaluation.suite import PACKAGED, Criterion, Suite, suite
from fullpipe.study.spec import SweepSpec
from fullpipe.study.verdicts.judged import Verdict

PAGE = Path(__file__).parents[3] / "docs/reference/criteria.md"
SUITES = {name: suite(name) for name in PACKAGED}
MEASURED = [
    (each, criterion)
    for each in SUITES.values()
    for criterion in each.criteria
    if not criterion.skipped
]
TESTED = {"algorithm": "bbr3", "queue": "fq_codel"}


@pytest.mark.parametrize(
    ("of", "criterion"), MEASURED, ids=[f"{of.name}-{each.name}" for of, each in MEASURED]
)
def test_each_cell_is_a_scenario_whose_seeds_differ_by_its_own_jitter(
    of: Suite, criterion: Criterion
) -> None:
    tested = TESTED[of.subject]
    spec = SweepSpec(
        criterion.written(criterion.cells[0], of.baselines[0]),
        criterion.name,
        points=[criterion.settings(cell, tested) for cell in criterion.cells],
        repeat=3,
        seed=1,
    )
    assert spec.plan.points == len(criterion.cells)
    if of.name != "stack":  # real senders have jitter of their own
        assert spec.plan.added_jitter == []
    assert len(set(spec.scenarios())) == len(criterion.cells)
    assert all(f'"{tested}"' in each for each in spec.scenarios())
    short = next(each for each in of.short().criteria if each.name == criterion.name)
    assert all(len(values) <= 2 for values in short.axes.values())


def test_the_page_lists_the_criteria() -> None:
    """FULLPIPE_BLESS=1 writes the lists."""
    whole = PAGE.read_text(encoding="utf-8")
    for of in SUITES.values():
        begin = f"<!-- criteria of {of.name} -->\n"
        before, _, rest = whole.partition(begin)
        _, end, after = rest.partition("\n<!-- end of criteria -->")
        whole = f"{before}{begin}{_table(of)}\n{end}{after}"
    if os.environ.get("FULLPIPE_BLESS"):
        PAGE.write_text(whole, encoding="utf-8")
    assert whole == PAGE.read_text(encoding="utf-8"), "FULLPIPE_BLESS=1 writes it"


def _table(of: Suite) -> str:
    lines = ["", "| Section | Name | Question | Bound | Reason |", "|---|---|---|---|---|"]
    for each in of.criteria:
        bound = "not evaluated" if each.skipped else bound_words(each) or "none"
        cells = (each.section, f"`{each.name}`", each.question, bound, each.why or each.skipped)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


# Known results. A scheme's parameters are those of its specification.


@pytest.mark.parametrize(
    ("queue", "name", "axes", "verdict"),
    [
        ("fq_codel", "tcp-delay", {"rate": ["20mbit"], "flows": ["5"]}, Verdict.MET),
        ("pie", "tcp-delay", {"rate": ["20mbit"], "flows": ["5"]}, Verdict.MET),
        # Drop-tail in a buffer of 8 BDP can't halve its own delay.
        ("pfifo", "tcp-delay", {"rate": ["20mbit"], "flows": ["5"]}, Verdict.MISSED),
        # RFC 8290 §1: a queue per flow isolates flows from each other.
        ("fq_codel", "unresponsive", {"sent": ["19mbit"]}, Verdict.MET),
        ("pfifo", "call-in-the-mix", {"rate": ["5mbit"]}, Verdict.MISSED),
        ("fq_codel", "call-in-the-mix", {"rate": ["20mbit"]}, Verdict.MET),
        ("fq_codel", "marks", {"flows": ["5"]}, Verdict.MET),
        # RFC 7141 §2.2: neither a drop by chance nor a turn in bytes favors small packets.
        ("fq_codel", "packet-sizes", {"size": ["200B"], "flows": ["1"]}, Verdict.MET),
        ("pie", "packet-sizes", {"size": ["200B"], "flows": ["5"]}, Verdict.MET),
    ],
)
def test_what_is_known_of_queues_comes_out(
    queue: str, name: str, axes: dict[str, list[str]], verdict: Verdict, tmp_path: Path
) -> None:
    [criterion] = [each for each in SUITES["aqm"].criteria if each.name == name]
    found = evaluation(criterion, queue, ["pfifo"], tmp_path, 3, axes)
    assert found.verdict is verdict, found.worst


def test_the_congestion_levels_lose_what_the_rfc_says(tmp_path: Path) -> None:
    """RFC 7928 §8.2: 0.1, 0.5 and 1 % of the packets with drop-tail."""
    [criterion] = [each for each in SUITES["aqm"].criteria if each.name == "congestion-levels"]
    found = evaluation(criterion, "pfifo", ["pfifo"], tmp_path, 3, {})
    [loss] = [each for each in criterion.also if each.metric == "loss"]
    lost = [each.also[loss].value for each in found.cells]
    assert lost == pytest.approx([0.1, 0.5, 1.0], rel=0.4)


@pytest.mark.parametrize(
    ("algorithm", "name", "axes", "verdict"),
    [
        # A flow of CUBIC keeps its share next to Reno, and a background flow yields everything.
        ("newreno", "contentiousness", {"rate": ["8mbit"], "neighbor": ["cubic"]}, Verdict.MET),
        ("ledbat++", "sensitivity", {"rate": ["8mbit"], "neighbor": ["cubic"]}, Verdict.MISSED),
        ("cubic", "itself", {"rate": ["8mbit"]}, Verdict.MET),
    ],
)
def test_what_is_known_of_pairs_comes_out(
    algorithm: str, name: str, axes: dict[str, list[str]], verdict: Verdict, tmp_path: Path
) -> None:
    of = SUITES["prudentia"]
    [criterion] = [each for each in of.criteria if each.name == name]
    found = evaluation(criterion, algorithm, of.baselines, tmp_path, 3, axes)
    assert found.verdict is verdict, found.worst


def test_a_receiver_that_acknowledges_early_takes_the_rate_of_others() -> None:
    """Savage et al., CCR 1999: the sender sees a shorter RTT and no loss."""
    flows = {}
    for lead in ("0s", "1ms"):
        text = f"""
            stack = "rfc"
            duration = "20s"
            measure_from = "5s"
            path = {{ rate = "20mbit", rtt = "40ms", buffer = "4bdp" }}
            flow = [{{ name = "a", cc = "cubic", optimistic_acks = "{lead}" }}, {{ name = "b", cc = "cubic" }}]
        """
        flows[lead] = fullpipe.run(text).flow_metrics
    honest, other = flows["0s"]
    early, starved = flows["1ms"]
    assert other["goodput_bps"] > 0.3 * honest["goodput_bps"]
    assert starved["goodput_bps"] < 0.1 * early["goodput_bps"] < 0.1 * 20e6
    assert early["retransmits"] == 0 < early["drops"]


def test_each_cell_can_be_read_as_it_is_written_with_every_default() -> None:
    """As the run of a worst cell is kept."""
    for of, criterion in MEASURED:
        text = criterion.written(criterion.cells[-1], TESTED[of.subject])
        whole = fullpipe.load(text).to_toml()
        assert fullpipe.load(whole).to_toml() == whole, criterion.name
