"""`fullpipe evaluate` with criteria: the suite's data, verdicts worked by hand, known results, and bad algorithms."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fullpipe
from evaluations import evaluation
from fullpipe.study.evaluation.command import usual_directory
from fullpipe.study.evaluation.judge import Outcome, judge
from fullpipe.study.evaluation.measure import Measured
from fullpipe.study.evaluation.suite import Bound, Criterion, suite
from fullpipe.study.question import Contender, Number
from fullpipe.study.verdicts.judged import Verdict
from fullpipe.study.verdicts.reader import PublishedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conftest import Fullpipe

RFC9743 = {each.name: each for each in suite("rfc9743").criteria}
MEASURED = [each for each in RFC9743.values() if not each.skipped]

SMALL = '''\
title = "Two rules"

[[criterion]]
name = "use"
section = "1"
title = "Use of the link"
question = "Does a flow use the link?"
metric = "utilization"
at_least = "80%"
why = "Our choice."
also = ["queue_delay.p95"]
scenario = """
duration = "4s"
measure_from = "1s"
start_jitter = "20ms"
send_jitter = "1ms"

[path]
rate = "{rate}"
rtt = "20ms"
buffer = "1bdp"

[[flow]]
name = "tested"
cc = "{cc}"
"""
axes = { rate = ["5mbit", "10mbit"] }

[[criterion]]
name = "later"
section = "2"
title = "Something else"
question = "Is there more?"
skipped = "not today"
'''


def evaluated(
    name: str,
    cc: str,
    place: Path,
    seeds: int = 5,
    against: Sequence[str] | None = None,
    *,
    axes: Mapping[str, Sequence[str]],
) -> Outcome:
    """Judges an algorithm by a criterion of RFC 9743 at some of its cells."""
    return evaluation(RFC9743[name], cc, against or ("newreno", "cubic"), place, seeds, axes)


def test_the_suite_has_some_forty_criteria_in_the_sections_of_the_rfc() -> None:
    assert 25 <= len(MEASURED) <= 45
    sections = {each.section for each in RFC9743.values()}
    assert {
        "5.1.1",
        "5.1.2",
        "5.1.3",
        "5.1.4",
        "5.1.5",
        "5.2",
        "5.2.1",
        "5.2.2",
        "5.2.3",
    } <= sections
    assert {"6.1", "6.2", "6.4", "7.1", "7.1.1", "7.3", "7.4", "7.5", "7.6", "7.7"} <= sections
    assert {"7.8.1", "7.10", "7.11", "5.3.1", "5.3.2"} <= sections
    skipped = [each for each in RFC9743.values() if each.skipped]
    assert all(len(each.skipped) > 20 for each in skipped)


# Verdicts


def of_values(bound: Bound | None, values: Sequence[Sequence[float]], worse: str = "") -> Outcome:
    """Judges made values of a criterion: for each cell those of the tested algorithm."""
    criterion = Criterion(
        name="made",
        part="",
        section="1",
        title="Made",
        question="",
        scenario='cc = "{cc}"',
        axes={"cell": [f"{number}" for number in range(len(values))]},
        numbers=[Number("loss")],
        why="made",
        bound=bound,
        worse=worse,  # type: ignore[arg-type]
    )
    by_cell = {
        (number, "mine"): {seed: value for seed, value in enumerate(each, 1) if value == value}
        for number, each in enumerate(values)
    }
    both = {
        **by_cell,
        **{(number, "cubic"): dict.fromkeys(range(1, 4), 0.02) for number, _ in by_cell},
    }
    return judge(criterion, Contender("mine"), Measured(both, {}, (1, 2, 3)))


def test_a_criterion_is_met_if_all_intervals_are_within_the_bound() -> None:
    found = of_values(Bound(most=True, value=5), [[0.01, 0.011, 0.012], [0.03, 0.031, 0.032]])
    assert found.verdict is Verdict.MET
    assert found.worst
    assert found.worst.label == "cell 1"
    assert math.isclose(found.worst.ours.value, 3.1)  # percent
    # Student's t for two degrees of freedom is 4.303; the standard error is 0.1 / sqrt(3).
    assert math.isclose(found.worst.ours.high, 3.1 + 4.3027 * 0.1 / math.sqrt(3), rel_tol=1e-4)


def test_it_is_not_met_if_one_interval_is_beyond_it() -> None:
    found = of_values(Bound(most=True, value=5), [[0.01, 0.011, 0.012], [0.08, 0.081, 0.082]])
    assert found.verdict is Verdict.MISSED
    assert "1 of 2 cells" in found.judged.reason


def test_it_is_to_be_argued_if_an_interval_includes_the_bound_or_there_is_none() -> None:
    unsure = of_values(Bound(most=True, value=5), [[0.01, 0.05, 0.12]])
    assert unsure.verdict is Verdict.REPORT
    assert "includes the bound" in unsure.judged.reason
    none = of_values(None, [[0.01] * 3, [0.02] * 3])
    assert none.verdict is Verdict.REPORT
    assert none.worst
    assert none.worst.label == "cell 1"  # more loss is worse
    assert (least := of_values(None, [[0.01] * 3, [0.02] * 3], "less").worst)
    assert least.label == "cell 0"


def test_a_bound_of_another_algorithm_is_its_value_at_the_same_cell_and_seed() -> None:
    limit = Bound(most=True, value=2, than=("cubic",))  # twice 2 %
    assert of_values(limit, [[0.03, 0.031, 0.032]]).verdict is Verdict.MET
    found = of_values(limit, [[0.05, 0.051, 0.052]])
    assert found.verdict is Verdict.MISSED
    assert found.worst
    assert math.isclose(found.worst.bound, 4)


def test_runs_without_a_value_count_against_the_algorithm() -> None:
    few = of_values(Bound(most=True, value=5), [[0.01, 0.011, math.nan]])
    assert few.verdict is Verdict.REPORT
    most = of_values(Bound(most=True, value=5), [[0.01, math.nan, math.nan]])
    assert most.verdict is Verdict.MISSED
    assert most.judged.failed == (2, 3)


# Known results


def test_several_bbr1_flows_lose_many_packets_below_one_and_a_half_bdp(tmp_path: Path) -> None:
    """RFC 9743 §5.1.3 names it; Reno, CUBIC and BBRv3 do not."""
    axes = {"flows": ["6"], "rate": ["80mbit"], "buffer": ["0.2bdp", "0.5bdp"]}
    found = evaluated(
        "self-inflicted-loss", "bbr1", tmp_path, against=["newreno", "cubic", "bbr3"], axes=axes
    )
    assert found.verdict is Verdict.MISSED
    assert found.worst
    assert found.worst.ours.low > 10
    assert all(each.value < 5 for each in found.worst.others.values())


def test_bbr1_harms_cubic_in_a_shallow_buffer(tmp_path: Path) -> None:
    axes = {"neighbor": ["cubic"], "rate": ["80mbit"], "buffer": ["0.5bdp"]}
    found = evaluated("harm-to-standards", "bbr1", tmp_path, axes=axes)
    assert found.verdict is Verdict.MISSED
    assert found.worst
    assert found.worst.ours.low > 70
    assert found.worst.others["cubic"].value == 0  # next to its own kind


def test_bbr1_keeps_its_rate_under_random_loss_and_reno_and_cubic_do_not(tmp_path: Path) -> None:
    found = evaluated("random-loss", "bbr1", tmp_path, axes={"loss": ["1%"], "rtt": ["80ms"]})
    assert found.worst
    assert found.worst.ours.low > 90
    assert all(each.high < 20 for each in found.worst.others.values())


def test_a_late_comer_of_ledbat_starves_the_first_flow_and_one_of_ledbatpp_does_not(
    tmp_path: Path,
) -> None:
    """RFC 6817 §2 and its discussion of late comers; LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus) ends it."""
    axes = {"rate": ["5mbit"], "buffer": ["400ms"]}
    assert evaluated("late-comer", "ledbat", tmp_path / "a", axes=axes).verdict is Verdict.MISSED
    assert evaluated("late-comer", "ledbat++", tmp_path / "b", axes=axes).verdict is Verdict.MET


def test_bbr3_gets_less_than_its_share_next_to_cubic_in_deep_buffers(tmp_path: Path) -> None:
    axes = {"neighbor": ["cubic"], "buffer": ["2bdp", "16bdp"]}
    found = evaluated("starved-by-others", "bbr3", tmp_path, seeds=20, axes=axes)
    shallow, deep = found.cells
    assert deep is found.worst
    assert deep.ours.high < 0.85
    assert deep.ours.high < shallow.ours.low


def test_reno_meets_what_reno_defines(tmp_path: Path) -> None:
    for name, axes in {
        "full-backoff": {"rate": ["20mbit"], "rtt": ["100ms"]},
        "self-inflicted-loss": {"flows": ["6"], "rate": ["20mbit"], "buffer": ["0.5bdp"]},
        "fairness": {"flows": ["4"], "buffer": ["2bdp"]},
        "after-idle": {"rate": ["20mbit"], "meanwhile": ["pause"], "buffer": ["0.5bdp"]},
    }.items():
        found = evaluated(name, "newreno", tmp_path / name, axes=axes)
        assert found.verdict is Verdict.MET, name


# Algorithms made to be bad, each with the criterion that is meant for it


@pytest.mark.parametrize(
    ("bad", "name", "axes"),
    [
        ("NeverBacksOff", "full-backoff", {"rate": ["5mbit"], "rtt": ["100ms"]}),
        (
            "HalvesOnEachAck",
            "tail-drop",
            {"rate": ["20mbit"], "rtt": ["100ms"], "buffer": ["1bdp"]},
        ),
        (
            "IgnoresIdle",
            "after-idle",
            {"rate": ["80mbit"], "meanwhile": ["pause"], "buffer": ["0.1bdp"]},
        ),
        ("StarvesOnJitter", "jitter", {"jitter": ["10ms"], "rtt": ["10ms"]}),
        ("Oscillates", "steadiness", {"rtt": ["20ms"], "buffer": ["2bdp"]}),
    ],
)
def test_a_bad_algorithm_is_caught_by_the_criterion_that_is_meant_for_it(
    bad: str, name: str, axes: dict[str, list[str]], tmp_path: Path
) -> None:
    caught = evaluated(name, f"bad_controllers:{bad}", tmp_path / "bad", seeds=3, axes=axes)
    assert caught.verdict is Verdict.MISSED
    plain = evaluated(name, "bad_controllers:Plain", tmp_path / "plain", seeds=3, axes=axes)
    assert plain.verdict is Verdict.MET


# The command


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    return file


def test_a_file_of_criteria_makes_a_dossier(
    fullpipe: Fullpipe, small: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = ("evaluate", "cubic", "--suite", str(small), "--seeds", "3", "--out", str(out))
    done = fullpipe(*command)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Use of the link" in done.stdout
    assert "2 criteria: 1 met, 1 not evaluated" in done.stdout
    page = (out / "dossier.html").read_text(encoding="utf-8")
    assert "§1 Use of the link: met" in page
    text = (out / "dossier/report.md").read_text(encoding="utf-8")
    assert "| 1 | Use of the link | ✓ met | utilization; rate " in text
    assert "| 2 | Something else | – not evaluated | not today |" in text
    assert [file.suffix for file in (out / "dossier").iterdir()] == [
        ".md"
    ]  # a met criterion has no picture
    # The command in it repeats the run of the worst cell.
    replay = next(line for line in text.splitlines() if "fullpipe run" in line).strip("| `")
    again = fullpipe(*replay.split()[1:])
    assert again.returncode == 0, again.stderr
    shards = {file: file.stat().st_mtime_ns for file in out.glob("criteria/*/runs/*")}
    assert shards
    assert fullpipe(*command).returncode == 0
    assert {file: file.stat().st_mtime_ns for file in out.glob("criteria/*/runs/*")} == shards


def test_another_suite_or_another_class_has_another_usual_directory(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = suite(str(small))
    small.write_text(SMALL.replace("1bdp", "2bdp"), encoding="utf-8")
    other = suite(str(small))
    cubic = Contender("cubic")
    assert usual_directory(cubic, one, quick=False) == usual_directory(cubic, one, quick=False)
    assert usual_directory(cubic, one, quick=False) != usual_directory(cubic, other, quick=False)
    lower = Contender("cubic", {"beta": 0.5})
    assert usual_directory(cubic, one, quick=False) != usual_directory(lower, one, quick=False)
    before = usual_directory(Contender("bad_controllers:Plain"), one, quick=False)
    monkeypatch.setattr("fullpipe.study.evaluation.command.code", lambda *_: b"edited")
    assert usual_directory(Contender("bad_controllers:Plain"), one, quick=False) != before


def test_the_usual_directory_of_a_policy_has_no_folder_of_its_own(small: Path) -> None:
    policy = Path(fullpipe.__file__).parent / "trained" / "power.json"
    found = usual_directory(Contender(f"policy:{policy}"), suite(str(small)), quick=False)
    assert len(found.parts) == 2
    assert "-power-" in found.name


def test_a_criterion_that_is_not_met_is_exit_code_1(
    fullpipe: Fullpipe, small: Path, tmp_path: Path
) -> None:
    small.write_text(SMALL.replace('at_least = "80%"', 'at_most = "10%"'), encoding="utf-8")
    done = fullpipe(
        "evaluate",
        "cubic",
        "--suite",
        str(small),
        "--quick",
        "--json",
        "--out",
        str(tmp_path / "out"),
    )
    assert done.returncode == 1
    first, second = json.loads(done.stdout)
    assert (first["criterion"], first["verdict"], second["verdict"]) == (
        "use",
        "not met",
        "not evaluated",
    )
    assert first["measured"] > 10 == first["bound"]
    assert set(first["others"]) >= {"newreno", "bbr3"}
    drawn = sorted((tmp_path / "out/dossier").iterdir())
    assert [file.suffix for file in drawn] == [".svg", ".md"]


def test_parameters_apply_to_the_tested_algorithm_only(
    fullpipe: Fullpipe, small: Path, tmp_path: Path
) -> None:
    done = fullpipe(
        "evaluate", "cubic", "--suite", str(small), "--seeds", "3", "--set", "beta=0.3", "--json",
        "--out", str(tmp_path / "out"),
    )  # fmt: skip
    [first, _] = json.loads(done.stdout)
    assert set(first["others"]) == {"newreno", "cubic", "bbr3"}  # cubic itself is a baseline now
    assert first["measured"] != first["others"]["cubic"]


def test_a_criterion_like_another_has_its_runs(small: Path) -> None:
    more = 'metric = "loss"\nwhy = "Our choice."\nlike = "use"'
    small.write_text(SMALL.replace('skipped = "not today"', more), encoding="utf-8")
    use, later = suite(str(small)).criteria
    assert (later.scenario, later.axes, later.judged.metric) == (use.scenario, use.axes, "loss")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('metric = "utilization"', 'metric = "usage"', "criterion[0].metric"),
        ('metric = "utilization"', 'metric = "rate_variation"', "criterion[0].also"),
        ('also = ["queue_delay.p95"]', 'also = ["rate_variation"]', "criterion[0].also[0]"),
        ('at_least = "80%"', 'at_least = "much"', "criterion[0].at_least"),
        ('at_least = "80%"', 'at_least = "80%"\nat_most = "90%"', "is a second bound"),
        (
            'at_least = "80%"',
            "at_least = 0.5",
            'a share without its unit\n  fix: write it like "50%"',
        ),
        ('at_least = "80%"', "at_least = 80", "a share without its unit"),
        (
            'metric = "utilization"\nat_least = "80%"',
            'metric = "queue_delay.p95"\nat_most = "50%"',
            "is a share, and queue_delay.p95 is in ms",
        ),
        ("{rate}", "{speed}", "no axis has"),
        ("{cc}", "cubic", "has no {cc}"),
        ('why = "Our choice."', "", "criterion[0].why"),
        ('name = "later"', 'name = "use"', "two criteria have this name"),
        ('section = "2"', 'chapter = "2"', "unknown key"),
        ('at_least = "80%"', 'at_least = ["vivace"]', "is no baseline of the suite"),
        ('title = "Two rules"', 'title = "T"\nbaselines = ["veno"]', "is no algorithm"),
        ('title = "Two rules"', 'title = "T"\nsubject = "queue"', "baselines: is missing"),
        (
            'title = "Two rules"',
            'title = "T"\nsubject = "queue"\nbaselines = ["pfifo"]',
            "has no {aqm}",
        ),
        ('name = "use"', 'name = "use"\nlike = "later"', "is given by like, too"),
        ('skipped = "not today"', 'like = "late"', "criterion[1].like"),
    ],
)
def test_a_wrong_file_is_refused_with_its_key(old: str, new: str, said: str, small: Path) -> None:
    assert old in SMALL
    small.write_text(SMALL.replace(old, new), encoding="utf-8")
    with pytest.raises(PublishedError) as refused:
        suite(str(small))
    assert said in str(refused.value)
    assert "fix: " in str(refused.value)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nothing"], "not an algorithm"),
        (["cubic", "--suite", "aqm"], "cubic: not a queue"),
        (["fq_code", "--suite", "aqm"], "did you mean fq_codel?"),
        (["fq_codel", "--suite", "aqm", "--set", "targets=1ms"], "did you mean target?"),
        (["cubic", "--set", "betta=0.9"], 'did you mean "beta"?'),
        (["cubic", "--criterion", "beauty"], "--criterion beauty: no such criterion"),
        (["cubic", "--suite", "none.toml"], "none.toml"),
        (["bbr3", "--suite", "bbr-draft", "--quick"], "--quick: not for --suite bbr-draft"),
    ],
)
def test_a_wrong_option_is_refused_with_a_fix(
    args: list[str], said: str, fullpipe: Fullpipe
) -> None:
    done = fullpipe("evaluate", *args)
    assert done.returncode == 2
    assert said in done.stderr
    assert "fix: " in done.stderr


def test_an_algorithm_that_a_path_refuses_is_not_evaluated_there(tmp_path: Path) -> None:
    found = evaluated("tunnel", "dctcp", tmp_path, axes={"queue": ["codel"]})
    assert found.verdict is Verdict.SKIPPED
    assert found.judged.reason


def test_a_criterion_without_a_value_is_exit_code_3(fullpipe: Fullpipe, tmp_path: Path) -> None:
    words = ("evaluate", "dctcp", "--criterion", "bleached-ecn", "--quick", "--out", "ev")
    done = fullpipe(*words)
    assert done.returncode == 3, done.stderr
    assert "1 criterion: 1 not evaluated" in done.stdout
    assert fullpipe(*words, "--allow-unevaluated").returncode == 0
    # No scenario can show it, whatever the algorithm is.
    done = fullpipe("evaluate", "dctcp", "--criterion", "multipath", "--quick", "--out", "other")
    assert done.returncode == 0, done.stderr
    # The states of another algorithm.
    out = fullpipe("evaluate", "cubic", "--suite", "bbr-draft")
    assert out.returncode == 2


def test_a_miss_of_the_model_is_not_the_algorithm_s(fullpipe: Fullpipe, tmp_path: Path) -> None:
    done = fullpipe("evaluate", "scream", "--criterion", "rtt-step", "--quick", "--out", "kept")
    assert done.returncode == 1, done.stderr
    text = (tmp_path / "kept/dossier/report.md").read_text(encoding="utf-8")
    assert "not met (by the model)" in text
    assert "the number is the model's, not the algorithm's" in text
    done = fullpipe("report", "kept")
    assert done.returncode == 2
    assert (
        "kept: an evaluation, whose page is there already\n  fix: open kept/dossier.html"
        in done.stderr
    )
