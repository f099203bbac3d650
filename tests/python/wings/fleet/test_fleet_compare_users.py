"""Arms whose users differ: no difference of the users counts as one of the arm, and one of the arm is found."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from fleet_compared import WISH, check, rows, told
from fleet_made import write_fleet
from fullpipe.wings.fleet.compare.analysis import analyze
from fullpipe.wings.fleet.compare.options import read

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe


def test_arms_with_other_users_are_told_and_standardizing_undoes_it(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    write_fleet(
        tmp_path / "f", {"cubic": {}, "bbr1": {"rtt": 1.5}}, hosts=6, rows=2500, requests=False
    )
    found = told(tmp_path / "f")
    it = rows(found)["rtt", "bbr1", "cubic"]
    assert it["effect"]["value"] > 1.3
    # Within a decile the RTTs still differ a little.
    assert it["effect_standardized"]["value"] == pytest.approx(1, abs=0.1)
    mix = check(found, "RTT mix")
    assert mix["fine"] is False
    assert "median RTT" in mix["text"]
    assert "with the same mix of RTTs" in fullpipe("fleet", "compare", "f").stdout


# Users from 5 to 300 ms away, with rates that fall with the distance, as those of a real service.
USERS = {"rtt": 2.0, "far": 0.0, "steep": 0.5, "spread": 0.9, "uneven": 0.2}


def users(directory: Path, seed: int, tables: str = "all", **other: float) -> dict[str, Any]:
    """Compares b with a on users like those above; `other` are b's differences."""
    arms = {"a": USERS, "b": USERS | other}
    more = {"requests": tables != "connections", "counters": tables == "all"}
    write_fleet(directory, arms, hosts=24, rows=400, seed=seed, hours=1, host_sd=0.02, **more)
    if tables == "requests":
        shutil.rmtree(directory / "connections")
    analysis = analyze(read(directory, **(WISH | {"against": "a"})))
    return analysis.record() | {"advice": analysis.advice("b")}


def decided(found: dict[str, Any]) -> set[str]:
    """Returns the metrics that the decision calls better or worse; a draw in twenty does so by chance."""
    return {
        each["metric"]
        for each in found["decision"]
        if each["verdict_of_decision"] in ("better", "worse")
    }


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("away", [1.15, 1.2, 1.4])
def test_users_farther_away_make_no_arm_worse(tmp_path: Path, away: float, seed: int) -> None:
    found = users(tmp_path / "f", seed, away=away)
    raw = {each["metric"] for each in found["decision"] if each["verdict"] == "worse"}
    assert {"rtt", "busy_rate.p90"} <= raw
    mix = check(found, "RTT mix")
    assert mix["fine"] is False
    assert "the verdict is another for" in mix["text"]
    assert found["advice"].startswith("not yet: the check RTT mix warns")
    assert "not judged, since the users differ: RetransSegs" in found["advice"]
    assert decided(found) == set()


@pytest.mark.parametrize("seed", range(1, 6))
def test_an_arm_that_lost_its_far_users_is_not_better(tmp_path: Path, seed: int) -> None:
    found = users(tmp_path / "f", seed, far_missing=0.4)
    assert any(each["verdict"] == "better" for each in found["decision"])
    assert "better" not in found["advice"]
    assert decided(found) == set()


@pytest.mark.parametrize("other", [{"away": 1.2}, {"far_missing": 0.4}], ids=str)
def test_a_log_with_rtts_alone_is_standardized(tmp_path: Path, other: dict[str, float]) -> None:
    found = users(tmp_path / "f", 1, "requests", **other)
    assert any(each["verdict"] in ("better", "worse") for each in found["decision"])
    assert all(each["effect_standardized"] for each in found["decision"])
    mix = check(found, "RTT mix")
    assert mix["fine"] is False
    assert "requests would need a different smoothed RTT" in mix["text"]
    assert found["advice"].startswith("not yet: ")
    assert decided(found) == set()


@pytest.mark.parametrize(
    ("missing", "seed"),
    [*((0.0, seed) for seed in range(12)), *((0.05, seed) for seed in range(4))],
)
def test_the_same_users_raise_no_alarm(tmp_path: Path, missing: float, seed: int) -> None:
    """Also if users of all distances are missing. By chance, one of several hundred draws raises one."""
    found = users(tmp_path / "f", seed, "connections", missing=missing, far_missing=missing)
    assert check(found, "RTT mix")["fine"] is True
    assert decided(found) == set()


def test_a_difference_at_some_distances_is_told(fullpipe: Fullpipe, tmp_path: Path) -> None:
    """A gain of the few users beyond 100 ms, which the whole does not show."""
    own = {**USERS, "spread": 0.9, "uneven": 0.0}
    arms = {"a": own, "b": own | {"far_rate": 1.15}}
    more = {"requests": False, "counters": False}
    write_fleet(tmp_path / "f", arms, hosts=24, rows=2500, host_sd=0.002, **more)
    done = fullpipe("fleet", "compare", "f", "--against", "a", "--json")
    found = json.loads(done.stdout)
    assert rows(found)["busy_rate.p50", "b", "a"]["verdict"] != "better"
    rates = [each for each in found["by_minimum_rtt"] if each["metric"] == "busy_rate.p50"]
    assert len(rates) == 11
    better = [each["minimum_rtt"] for each in rates if each["verdict"] == "better"]
    assert len(better) >= 1
    assert all(float(each.partition("–")[2].split()[0].replace(",", "")) > 100 for each in better)
    said = " ".join(fullpipe("fleet", "compare", "f", "--against", "a").stdout.split())
    assert f"Minimum RTT {better[-1]}: b vs. a, p50 rate while busy +" in said


@pytest.mark.parametrize("away", [1.0, 1.2])
def test_a_real_difference_is_found_also_among_other_users(tmp_path: Path, away: float) -> None:
    found = users(tmp_path / "f", 1, loss=1.3, away=away)
    by = rows(found)
    for metric in ("loss", "loss.mean"):
        it = by[metric, "b", "a"]
        assert it["verdict_of_decision"] == "worse"
        assert it["effect_standardized"]["low"] < 1.3 < it["effect_standardized"]["high"]
    assert "b is worse: " in found["advice"]
    assert "loss over all bytes +3" in found["advice"]
    assert found["advice"].startswith("not yet" if away > 1 else "keep a: ")


def test_a_queue_of_the_arm_itself_is_no_difference_of_its_users(tmp_path: Path) -> None:
    """A smoothed RTT contains it, so requests that are standardized by it decide nothing."""
    found = users(tmp_path / "f", 1, queue=5.0)
    assert check(found, "RTT mix")["fine"] is True
    by = rows(found)
    assert by["throughput.p50", "b", "a"]["effect_standardized"] is None
    assert "throughput.p50" not in decided(found)
    assert {"rtt", "rtt.p90"} <= decided(found)
    found = users(tmp_path / "g", 1, queue=5.0, away=1.2)
    it = rows(found)["throughput.p50", "b", "a"]
    assert it["effect_standardized"]["value"] > 1.1
    assert decided(found) == {"rtt", "rtt.p90"}
