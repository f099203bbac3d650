"""Dropbox's study, compared with a population of simulated paths."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

from fullpipe.base.progress import Counter
from fullpipe.commands import app
from fullpipe.study.verdicts.judged import Verdict
from fullpipe.study.verdicts.reader import PublishedError
from fullpipe.wings.fleet.population.execute import execute
from fullpipe.wings.fleet.study import measures, published, show, study

if TYPE_CHECKING:
    from click.testing import Result

FILE = Path(__file__).parents[4] / "published" / "dropbox-2019.toml"


@pytest.fixture(scope="module")
def asked() -> published.FleetStudy:
    return published.load(FILE)


@pytest.fixture(scope="module")
def small(asked: published.FleetStudy) -> published.FleetStudy:
    some = [each for each in asked.assumptions if each.name in ("no-windows", "shared")]
    return replace(asked, paths=40, fewer=10, assumptions=tuple(some))


def outcome(of: published.FleetStudy, directory: Path) -> study.FleetOutcome:
    directory.mkdir()
    with Counter(silent=True) as counter:
        return study.run(of, directory, counter)


@pytest.fixture(scope="module")
def done(
    small: published.FleetStudy, tmp_path_factory: pytest.TempPathFactory
) -> study.FleetOutcome:
    return outcome(small, tmp_path_factory.mktemp("dropbox") / "first")


def arm(**columns: list[float]) -> dict[str, np.ndarray]:
    return {name: np.array(values, dtype=float) for name, values in columns.items()}


def test_all_cases_are_judged_or_silent_with_a_reason(asked: published.FleetStudy) -> None:
    cases = {claim.case for claim in asked.claims} | {case for case, _, _ in asked.silent}
    assert cases == {f"D{number}" for number in range(1, 20)}
    assert all(claim.why for claim in asked.claims) and all(why for _, _, why in asked.silent)


def test_measures_by_hand() -> None:
    one = arm(again=[1, 0], sent=[10, 30], loss=[0.1, 0.7], window_limited=[0.5, 0])
    assert measures.retransmitted(one) == 100 * 1 / 40
    assert measures.mean_loss(one) == pytest.approx(40)
    assert measures.lossy(one) == 50
    assert measures.window_limited(one) == 25
    assert measures.closeness(3, 2, 5) == 0.5
    tens = [arm(again=[lost] * 10, sent=[100] * 10, min_rtt=list(range(10))) for lost in (1, 2)]
    tens[1]["again"][0] = 0
    assert measures.lower_loss(tens[0], tens[1]) == 90


def test_a_window_over_an_rtt_has_an_envelope_of_slope_minus_one() -> None:
    rtt = np.geomspace(31, 300, 4000)
    found = measures.envelope({"min_rtt": rtt, "bandwidth": 512 / rtt})
    assert found == pytest.approx(-1, abs=0.02)
    assert math.isnan(measures.envelope({"min_rtt": rtt[:40], "bandwidth": 512 / rtt[:40]})), (
        "too few"
    )


def test_ranks_of_what_rises_together_are_one() -> None:
    rising = {"rtt": np.array([1.0, 2, 30]), "inflight": np.array([1.0, 20, 21])}
    assert measures.rank_correlation(rising) == pytest.approx(1)
    assert measures.rank_correlation(rising | {"rtt": -rising["rtt"]}) == pytest.approx(-1)


def test_each_claim_has_a_number_with_its_interval(
    small: published.FleetStudy, done: study.FleetOutcome
) -> None:
    assert len(done.claims) == len(small.claims) == len(done.fewer)
    assert {len(arm["loss"]) for arm in done.arms.values()} == {40}
    for judged in done.claims:
        if judged.subject.measure != "envelope":  # needs more paths than this test has
            assert judged.ours.low <= judged.ours.value <= judged.ours.high, judged.subject.metric
    text = show.markdown(small, done)
    assert all(claim.metric in text for claim in small.claims)


def test_where_no_window_limits_there_is_nothing_to_compare(done: study.FleetOutcome) -> None:
    limited = [
        each for each in done.assumptions["no-windows"] if each.subject.measure == "window_limited"
    ]
    assert [each.verdict for each in limited] == [Verdict.SKIPPED] * 2
    assert not any(each.sure for each in limited), "it flips no verdict"


def test_a_rival_takes_its_share(
    small: published.FleetStudy, tmp_path: Path, done: study.FleetOutcome
) -> None:
    specs = study.specs(small)
    assert 'name = "rival"' in specs["shared"].text and "rival" not in specs[""].text
    with Counter(silent=True) as counter:
        execute(specs["shared"], tmp_path / "shared", counter, command="test")
    shared = measures.arms(tmp_path / "shared", small.least_bytes)["cubic-linux"]["throughput"]
    alone = measures.first(done.arms, 10)["cubic-linux"]["throughput"]
    assert np.median(shared) < 0.75 * np.median(alone)


def test_the_same_again_is_the_same(
    small: published.FleetStudy, done: study.FleetOutcome, tmp_path: Path
) -> None:
    again = outcome(replace(small, assumptions=()), tmp_path / "again")
    assert [repr(each) for each in again.claims] == [repr(each) for each in done.claims]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('measure = "mean_loss"', 'measure = "loss"'), "is unknown"),
        (('of = ["bbr1", "bbr2"]', 'of = ["bbr1"]'), "has 1 arms\n  fix: name 2"),
        (('of = ["bbr2"]', 'of = ["bbr9"]'), "is unknown\n  fix: use one of cubic-linux, bbr1"),
        (("within = [2, inf]", "within = [2]"), "is not a pair of numbers"),
        (("fewer = 4_000\n", ""), "fleet.fewer = null"),
        (('about = "no path has a policer"\n', ""), "assumption.no-policers.about: is missing"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    text = FILE.read_text(encoding="utf-8")
    assert change[0] in text
    (tmp_path / "wrong.toml").write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(PublishedError) as error:
        published.load(tmp_path / "wrong.toml")
    assert said in str(error.value) or said.replace(" = null", "") in str(error.value)


def test_the_command_says_what_a_fleet_has_not(tmp_path: Path) -> None:
    for wrong, said in (
        (["--seeds", "3"], "a study of a fleet"),
        (["--on", "kernel"], "--on kernel"),
        (["--case", "D99"], "the cases are D1"),
    ):
        ran = CliRunner().invoke(
            app, ["reproduce", str(FILE), *wrong, "--out", str(tmp_path / "out")]
        )
        assert ran.exit_code == 2 and said in ran.output, ran.output


def test_a_study_resumes_with_the_paths_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FILE.read_text().replace("paths = 20_000", "paths = 40").replace("4_000", "10")
    (tmp_path / "small.toml").write_text(text[: text.index("# Alternative assumptions")])
    monkeypatch.chdir(tmp_path)

    def reproduce() -> Result:
        return CliRunner().invoke(app, ["reproduce", "small.toml", "--out", "out", "--json"])

    whole = reproduce()
    assert whole.exit_code in (0, 1)
    shutil.rmtree("out")
    judge = study._all

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "_all", stopped)
    ended = reproduce()
    assert ended.exit_code == 130
    assert (
        "finished runs are kept in out.unfinished; the same command resumes there" in ended.stderr
    )
    assert not Path("out").exists()
    monkeypatch.setattr(study, "_all", judge)
    # No path is simulated again.
    monkeypatch.setattr("fullpipe.wings.fleet.population.execute.simulated", stopped)
    again = reproduce()
    assert (again.exit_code, again.stdout) == (whole.exit_code, whole.stdout)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out", "small.toml"]
    assert (tmp_path / "out/fleets/edge-2019/connections").is_dir()
