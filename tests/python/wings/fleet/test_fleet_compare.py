"""`fullpipe fleet compare` on arms with known differences."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from fleet_made import START, write_fleet
from fullpipe.commands import app
from fullpipe.report import Form
from fullpipe.report.model import Number, Table
from fullpipe.report.write import make
from fullpipe.results.sums import write_json
from fullpipe.wings.fleet import store
from fullpipe.wings.fleet.compare.analysis import analyze
from fullpipe.wings.fleet.compare.checks import ENOUGH_DATA, checks
from fullpipe.wings.fleet.compare.options import read
from fullpipe.wings.fleet.compare.page import page

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

BBR1 = {"rate": 1.3, "loss": 8.0, "queue": 2.5, "outliers": 0.0}
BBR2 = {"rate": 1.15, "loss": 2.0, "queue": 1.2, "outliers": 0.002}
WISH: dict[str, Any] = {
    "min_bytes": "1MB",
    "by": "rtt",
    "against": None,
    "unit": "auto",
    "effect": "5%",
    "ratio": None,
}
Rows = dict[tuple[str, str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three arms of six hosts each."""
    arms = {"cubic": {}, "bbr1": BBR1, "bbr2": BBR2}
    return write_fleet(
        tmp_path_factory.mktemp("fleet") / "fleet", arms, hosts=6, rows=1500, parts=2
    )


def told(directory: Path, **args: str) -> dict[str, Any]:
    """Returns the JSON output of a comparison."""
    record = analyze(read(directory, **(WISH | args))).record()
    found: dict[str, Any] = json.loads(json.dumps(record, allow_nan=False))
    return found


def rows(found: dict[str, Any]) -> Rows:
    return {(each["metric"], each["a"], each["b"]): each for each in found["decision"]}


def check(found: dict[str, Any], name: str) -> dict[str, Any]:
    (it,) = (each for each in found["checks"] if each["check"] == name)
    return dict(it)


def test_effects_are_found_with_intervals_that_have_the_truth_in_them(fleet: Path) -> None:
    found = told(fleet)
    assert found["arms"] == ["cubic", "bbr1", "bbr2"]
    assert found["clusters"]["unit"] == "host"
    by = rows(found)
    for metric, a, b, truth, verdict in (
        ("loss", "bbr1", "cubic", 8.0, "worse"),
        ("loss.mean", "bbr2", "cubic", 2.0, "worse"),
        ("retrans", "bbr2", "cubic", 2.0, "worse"),
        ("throughput.p75", "bbr1", "cubic", 1.3, "better"),
        ("busy_rate.p25", "bbr2", "cubic", 1.15, "better"),
        ("cpu", "bbr1", "cubic", 1.0, "same"),
    ):
        it = by[metric, a, b]
        assert it["effect"]["kind"] == "ratio"
        assert it["effect"]["low"] < truth * 1.01, metric
        assert it["effect"]["high"] > truth * 0.99, metric
        assert it["verdict"] == verdict, metric
    # Loss is the same at every RTT, so standardizing changes nothing.
    loss = by["loss", "bbr1", "cubic"]
    assert loss["effect_standardized"]["value"] == pytest.approx(loss["effect"]["value"], rel=0.03)
    assert by["rtt", "bbr1", "cubic"]["verdict"] == "worse"
    assert by["inflight", "bbr1", "cubic"]["verdict"] == "higher"
    assert [each["check"] for each in found["checks"] if each["fine"] is False] in (
        [],
        ["enough data"],
    )


def test_counters_give_the_recorded_ratio_and_the_census_the_recorded_counts(fleet: Path) -> None:
    found = told(fleet, min_bytes="0")
    counters = (
        store.scan(fleet, "counters")
        .group_by("arm")
        .agg(pl.col("retrans_segs", "out_segs").sum())
        .collect()
    )
    for arm, retrans, out in counters.iter_rows():
        own = [
            each
            for each in found["decision"]
            if each["metric"] == "retrans" and arm in (each["a"], each["b"])
        ]
        values = {each["value_a" if each["a"] == arm else "value_b"]["value"] for each in own}
        assert values == {retrans / out}
    connections = (
        store.scan(fleet, "connections")
        .group_by("arm")
        .agg(pl.len(), pl.col("ecn", "ecnseen").sum())
    )
    want = {arm: (rows, ecn, seen) for arm, rows, ecn, seen in connections.collect().iter_rows()}
    assert {
        each["arm"]: (each["ecn_of"], each["ecn"], each["ecnseen"]) for each in found["ecn"]
    } == want
    share = found["ecn"][0]["ecn_share"]
    assert share[1] < 0.0368 < share[2]


def test_the_table_is_for_a_terminal_and_ends_in_words(fullpipe: Fullpipe, fleet: Path) -> None:
    done = fullpipe("fleet", "compare", str(fleet))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines if not line.startswith(("/", "connections of")))
    assert sum(line.startswith(("bbr1 vs. cubic", "bbr2 vs. cubic")) for line in lines) == 2
    assert any(
        line.startswith("loss over all bytes, %") and line.rstrip().endswith("worse")
        for line in lines
    )
    assert any(line.startswith("fine sample ratio: ") for line in lines)
    assert "Benjamini–Hochberg" in done.stdout
    decisions = done.stdout.partition("\nDecision: ")[2]
    assert decisions.count("Decision: ") == 1
    last = " ".join(decisions.split())
    assert "weigh them: bbr1 is better: " in last
    assert "worse: " in last
    other = fullpipe("fleet", "compare", str(fleet), "--against", "bbr1").stdout
    assert "bbr2 vs. bbr1" in other
    assert "bbr2 vs. cubic" not in other


def test_a_report_has_every_figure_and_opens_in_all_forms(
    fullpipe: Fullpipe, fleet: Path, tmp_path: Path
) -> None:
    done = fullpipe("fleet", "compare", str(fleet), "--by", "country", "--out", "seen")
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "seen" / "report.html").read_text()
    for title in (
        "RetransSegs",
        "Loss of a connection",
        "Share of connections with a higher loss",
        "Loss over all bytes by minimum RTT",
        "P25 throughput (nginx)",
        "P90 throughput (nginx)",
        "Packets in flight",
        "RTT and packets in flight, bbr2: rank correlation",
        "Minimum RTT and bandwidth, bbr1",
        "Effects by country",
        "Connections that negotiate ECN",
        "CPU busy",
    ):
        assert title in page, title
    kept = json.loads((tmp_path / "seen" / "compare.json").read_text())
    assert kept["decision"] == told(fleet, by="country")["decision"]
    assert fullpipe("fleet", "compare", str(fleet), "--out", "seen").returncode == 2


@pytest.mark.parametrize("table", ["connections", "requests", "counters"])
def test_what_one_arm_alone_has_is_not_compared(
    fullpipe: Fullpipe, tmp_path: Path, table: str
) -> None:
    write_fleet(tmp_path / "f", {"cubic": {}, "bbr1": BBR1}, hosts=3, rows=200)
    for file in (tmp_path / "f" / table / "arm=bbr1").rglob("*.parquet"):
        file.unlink()
    done = fullpipe("fleet", "compare", "f", "--min-bytes", "0B", "--out", "seen")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads((tmp_path / "seen" / "compare.json").read_text())
    metrics = {row["metric"] for row in found["decision"]}
    of_table = {"connections": "loss", "requests": "throughput.p50", "counters": "cpu"}
    assert metrics & set(of_table.values()) == set(of_table.values()) - {of_table[table]}
    said = check(found, "sample ratio")
    if table == "connections":
        assert (said["fine"], "no connections in bbr1" in said["text"]) == (False, True)
    else:
        assert said["fine"] is True


def test_outliers_are_counted_and_left_out_of_the_mean(fleet: Path) -> None:
    it = rows(told(fleet))["outliers", "bbr2", "bbr1"]
    big = (
        store.scan(fleet, "connections")
        .filter(arm="bbr2")
        .filter(pl.col("transferred_bytes") >= 1_000_000)
    )
    share = big.select((pl.col("loss") > 0.6).mean()).collect().item()
    assert it["value_a"]["value"] == pytest.approx(share)
    assert it["value_b"]["value"] == 0
    assert it["effect"]["kind"] == "difference"
    assert share > 0


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


def test_numbers_in_texts_are_plain(tmp_path: Path) -> None:
    """No powers of ten, no range with equal ends, no plural of one, no two signs."""
    write_fleet(
        tmp_path / "f", {"cubic": {"rtt": 20.0}, "bbr1": {"rtt": 20.0, "rows": 0.5}}, rows=90
    )
    analysis = analyze(read(tmp_path / "f", **WISH))
    assert "e+" not in "".join(analysis.plan.rtt.labels)
    assert (
        "chi-squared p < 0.0001, with clusters p = "
        in check(analysis.record(), "sample ratio")["text"]
    )
    some = next(
        each
        for each in analysis.compared
        if each.verdict == "undecided" and each.data > 1 and each.change.relative
    )
    for chosen, words in (
        ([some], r"1 of the others is undecided and would need [\d.,]+ times the data"),
        ([some, some], r"2 of the others are undecided and would need [\d.,]+ times the data"),
    ):
        it = next(each for each in checks(analysis.estimates, chosen) if each.name == ENOUGH_DATA)
        assert re.search(words + "$", it.text), it.text


def test_a_sample_ratio_mismatch_is_told(tmp_path: Path) -> None:
    write_fleet(
        tmp_path / "f", {"cubic": {}, "bbr1": {"rows": 0.8}}, hosts=6, rows=1000, counters=False
    )
    found = check(told(tmp_path / "f"), "sample ratio")
    assert found["fine"] is False
    assert "cubic 55.6% (50.0%), bbr1 44.4% (50.0%)" in found["text"]
    assert check(told(tmp_path / "f", ratio="cubic=5,bbr1=4"), "sample ratio")["fine"] is True


def test_one_host_that_makes_the_result_is_named(tmp_path: Path) -> None:
    arms = {"cubic": {}, "bbr1": {"odd": 0.05}}
    write_fleet(
        tmp_path / "f", arms, hosts=6, rows=600, host_sd=0.01, counters=False, requests=False
    )
    found = told(tmp_path / "f", unit="net")
    it = rows(found)["busy_rate.p25", "bbr1", "cubic"]
    assert it["verdict"] == "worse"
    assert it["without_host"] == "bbr1-0"
    assert "without bbr1-0" in check(found, "one host")["text"]
    # Resampling by hosts recognizes the difference as chance.
    assert rows(told(tmp_path / "f"))["busy_rate.p25", "bbr1", "cubic"]["verdict"] == "undecided"


def test_a_broken_host_that_widens_intervals_is_named(tmp_path: Path) -> None:
    arms = {"cubic": {}, "bbr1": {"odd": 0.05}}
    same: dict[str, Any] = {
        "hosts": 12,
        "rows": 300,
        "host_sd": 0.05,
        "counters": False,
        "requests": False,
    }
    write_fleet(tmp_path / "f", arms, **same)
    found = told(tmp_path / "f")
    assert rows(found)["busy_rate.p25", "bbr1", "cubic"]["verdict"] == "undecided"
    said = check(found, "one host")["text"]
    assert re.search(
        r"bbr1-0 differs from the other hosts of bbr1: without it the interval of .* \d[\d.]* times as narrow",
        said,
    ), said
    write_fleet(tmp_path / "g", {"cubic": {}, "bbr1": {}}, **same)
    assert "differs from the other hosts" not in check(told(tmp_path / "g"), "one host")["text"]


def test_a_stratum_that_few_hosts_have_does_not_count_as_lossless(tmp_path: Path) -> None:
    """Resamples may lack the stratum. A value that all connections share has no spread in any resample."""
    for arm, lost in (("cubic", 10_000), ("bbr1", 20_000)):
        for host in range(4):
            near = pl.Series(np.linspace(0.01, 0.05, 200))
            frame = pl.DataFrame(
                {
                    "bytes_sent": [1_000_000] * 200,
                    "bytes_retrans": [lost] * 200,
                    "minrtt_s": near * 20 if host == 0 else near,
                }
            ).with_columns(**lits({"arm": arm, "host": f"{arm}-{host}"}))
            store.write(tmp_path / "f", "connections", frame, f"{host}")
    it = rows(told(tmp_path / "f", min_bytes="0"))["loss", "bbr1", "cubic"]
    assert it["effect_standardized"] == pytest.approx(
        {"kind": "ratio", "value": 2, "low": 2, "high": 2}
    )


def test_a_host_with_nearly_all_of_an_arm_gives_no_interval_and_no_crash(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    for arm in ("cubic", "bbr1"):
        for host, number in enumerate((3000, 1)):
            frame = pl.DataFrame(
                {"bytes_acked": [2_000_000] * number, "busy_s": rng.lognormal(0, 1, number)}
            )
            own = lits({"arm": arm, "host": f"{arm}-{host}"})
            store.write(tmp_path / "f", "connections", frame.with_columns(**own), f"{host}")
    done = fullpipe("fleet", "compare", "f")
    assert done.returncode == 0, done.stderr
    assert "000,000" not in done.stdout.split("clusters")[0].split("verdict")[1]
    assert rows(told(tmp_path / "f"))["busy_rate.p50", "bbr1", "cubic"]["verdict"] == "undecided"


def test_too_few_data_are_called_that(tmp_path: Path) -> None:
    write_fleet(
        tmp_path / "f", {"cubic": {}, "bbr1": {"rate": 1.02}}, hosts=3, rows=30, counters=False
    )
    found = told(tmp_path / "f")
    it = rows(found)["throughput.p50", "bbr1", "cubic"]
    assert it["verdict"] == "undecided"
    assert it["data_needed"] > 2
    assert check(found, "enough data")["fine"] is False
    assert check(found, "clusters")["fine"] is False


def test_one_host_an_arm_is_no_experiment(tmp_path: Path) -> None:
    write_fleet(
        tmp_path / "f", {"cubic": {}, "bbr1": {"rate": 1.5}}, hosts=1, rows=3000, counters=True
    )
    found = told(tmp_path / "f")
    assert found["clusters"] == {"unit": "net", "why": "an arm has only one host"}
    assert check(found, "clusters")["fine"] is False
    by = rows(found)
    assert by["busy_rate.p50", "bbr1", "cubic"]["verdict"] == "better"
    # A metric that only hosts have has no interval with this unit.
    assert by["retrans", "bbr1", "cubic"]["verdict"] == "unknown"
    assert by["retrans", "bbr1", "cubic"]["effect"]["low"] is None


def test_paths_that_every_arm_has_tried_are_compared_pairwise(tmp_path: Path) -> None:
    """Differences between paths, up to a factor of hundreds, don't add noise."""
    rng = np.random.default_rng(1)
    rate = np.exp(rng.normal(17, 2, 400))
    for arm, factor in (("cubic", 1.0), ("bbr1", 1.05)):
        frame = pl.DataFrame(
            {
                "pair": np.arange(400),
                "bytes_acked": 3_000_000,
                "busy_s": 24e6 / (rate * factor * np.exp(rng.normal(0, 0.01, 400))),
                "last_seen": START,
            }
        ).with_columns(arm=pl.lit(arm), host=pl.lit("sim"))
        store.write(tmp_path / "f", "connections", frame, "all")
    found = told(tmp_path / "f", effect="1%")
    assert found["clusters"]["unit"] == "pair"
    it = rows(found)["busy_rate.p50", "bbr1", "cubic"]["effect"]
    assert it["low"] > 1
    assert it["high"] < 1.12
    assert check(found, "one host")["fine"] is None
    alone = rows(told(tmp_path / "f", unit="connection"))["busy_rate.p50", "bbr1", "cubic"]
    assert alone["verdict"] == "undecided"


def test_bands_of_distance_and_rate_and_a_windows_limit_are_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for number, arm in enumerate(("cubic", "bbr1")):
        n = 20_000
        far = rng.random(n) < 0.15
        rtt = np.where(far, rng.normal(0.138, 0.004, n), np.exp(rng.normal(np.log(0.02), 0.8, n)))
        tier = rng.choice([20e6, 100e6], size=n, p=[0.5, 0.5]) * np.exp(rng.normal(0, 0.04, n))
        rate = np.minimum(tier, 262_144 * 8 / rtt)
        frame = pl.DataFrame(
            {
                "minrtt_s": rtt,
                "rtt_s": rtt,
                "delivery_rate_bps": rate,
                "bytes_acked": 10**7,
                "last_seen": START,
            }
        ).with_columns(arm=pl.lit(arm), host=pl.Series((np.arange(n) % 6 + 6 * number).astype(str)))
        store.write(tmp_path / "f", "connections", frame, "all")
    report = page(analyze(read(tmp_path / "f", **WISH)))
    (section,) = (each for each in report.sections if each.title == "Distances and access rates")
    (table,) = (each for each in section.blocks if isinstance(each, Table))
    found: dict[str, list[float]] = {"distance": [], "rate": []}
    for kind, where, *_ in table.rows:
        found[str(kind)].append(float(str(where).split()[0]))
    assert found["distance"][-1] == pytest.approx(138, rel=0.03)
    assert any(each == pytest.approx(20, rel=0.06) for each in found["rate"])
    assert "as expected if a window of 0.26 MB is the limit" in section.note


def test_the_pacing_histogram_of_the_seed_has_its_two_modes(fleet: Path, tmp_path: Path) -> None:
    """D17: 63,336,246 packets; 34.5 % took 2 to 4 µs, 18.9 % 1 to 2 ms."""
    counts = [
        237486,
        8712205,
        21855350,
        4378933,
        372762,
        178145,
        279016,
        603899,
        1115705,
        2303138,
        2702993,
    ]
    counts += [11999127, 5432353, 1823173, 778955, 385202, 146435, 31369]
    low = [0, 1, *(2**power for power in range(1, 17))]
    frame = pl.DataFrame(
        {
            "name": "us",
            "low": low,
            "high": [1, 2, *(2**power for power in range(2, 18))],
            "count": counts,
        }
    )
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "counters").symlink_to(fleet / "counters")
    store.write(
        tmp_path / "f",
        "histograms",
        frame.with_columns(arm=pl.lit("cubic"), host=pl.lit("a"), time=START),
        "h",
    )
    report = page(analyze(read(tmp_path / "f", **WISH)))
    (table,) = (each for each in report.sections[-1].blocks if isinstance(each, Table))
    cells = [
        [each.text if isinstance(each, Number) else each for each in row] for row in table.rows
    ]
    assert cells == [["us", "cubic", "[2, 4)", "34.5%"], ["us", "cubic", "[1,024, 2,048)", "18.9%"]]


@pytest.mark.parametrize("missing", ["requests", "connections", "counters"])
@pytest.mark.parametrize("least", ["0B", "1MB", "29MB"])
def test_an_arm_may_lack_a_table(
    fullpipe: Fullpipe, tmp_path: Path, missing: str, least: str
) -> None:
    write_fleet(tmp_path / "f", {"cubic": {}, "bbr1": BBR1}, hosts=3, rows=60)
    shutil.rmtree(tmp_path / "f" / missing / "arm=bbr1")
    done = fullpipe("fleet", "compare", "f", "--min-bytes", least, "--json")
    assert done.returncode == 0, done.stderr
    of = {"requests": "throughput.p50", "connections": "loss", "counters": "cpu"}
    decided = {each["metric"] for each in json.loads(done.stdout)["decision"]}
    assert of[missing] not in decided
    assert {*of.values()} - {of[missing]} <= decided


def test_a_column_s_values_have_their_own_rows_and_no_others(tmp_path: Path) -> None:
    """Unknown values are in no row, and a table may have values that another table lacks."""

    def effects(by: str) -> dict[tuple[Any, Any], tuple[Any, ...]]:
        section = next(
            each
            for each in page(analyze(read(directory, **(WISH | {"by": by})))).sections
            if by in each.title
        )
        (table,) = (each for each in section.blocks if isinstance(each, Table))
        texts = [
            tuple(cell.text if isinstance(cell, Number) else cell for cell in row)
            for row in table.rows
        ]
        # The level of an interval depends on the number of strata that are compared.
        return {(row[0], row[1]): (*row[3:5], str(row[5]).partition(" (")[0]) for row in texts}

    def change(table: str, how: pl.Expr) -> None:
        for file in (directory / table).rglob("*.parquet"):
            pl.read_parquet(file).with_columns(how).write_parquet(file.with_name("made.parquet"))
            file.unlink()

    directory = write_fleet(
        tmp_path / "f", {"cubic": {}, "bbr1": {"rate": 1.5}}, hosts=6, rows=200, counters=False
    )
    whole = effects("country")
    change("requests", pl.when(pl.col("country") != "US").then("country").alias("country"))
    known = {key: value for key, value in whole.items() if key[0] != "US"}
    assert len(known) == 2
    assert effects("country") == known
    # Now US occurs in connections, but not in requests.
    change(
        "connections", pl.when(pl.col("connection") % 2 == 0).then(pl.lit("US")).alias("country")
    )
    both = effects("country")
    assert {key[0] for key in both} == {"JP", "TW", "US"}
    assert {key: both[key] for key in known} == known
    assert ("US", "p50 throughput (nginx), Mbit/s") not in both


def test_old_kernels_counters_alone_and_requests_alone_are_enough(tmp_path: Path) -> None:
    for arm, lost in (("cubic", 10), ("bbr1", 40)):
        for host in range(4):
            own = {"arm": arm, "host": f"{arm}-{host}"}
            old = pl.DataFrame(
                {"data_segs_out": [1000, 2000], "retrans_total_packets": [lost, lost * 2 + host]}
            )
            store.write(
                tmp_path / "old",
                "connections",
                old.with_columns(mss_bytes=1448, **lits(own)),
                f"{host}",
            )
            asked = pl.DataFrame(
                {"bytes_sent": [2_000_000] * 20, "request_time_s": [lost / 10.0 + host / 50] * 20}
            )
            store.write(
                tmp_path / "asked",
                "requests",
                asked.with_columns(time=START, **lits(own)),
                f"{host}",
            )
            counted = pl.DataFrame({"out_segs": [10_000], "retrans_segs": [lost], "time": [START]})
            store.write(tmp_path / "read", "counters", counted.with_columns(**lits(own)), f"{host}")
    loss = rows(told(tmp_path / "old", min_bytes="0"))
    assert loss["loss", "bbr1", "cubic"]["effect"]["value"] == pytest.approx(
        (120 + 1.5) / (30 + 1.5)
    )
    throughput = rows(told(tmp_path / "asked"))
    assert set(throughput) == {
        (f"throughput.p{each}", "bbr1", "cubic") for each in (25, 50, 75, 90)
    }
    assert throughput["throughput.p50", "bbr1", "cubic"]["verdict"] == "worse"
    assert rows(told(tmp_path / "read"))["retrans", "bbr1", "cubic"]["effect"][
        "value"
    ] == pytest.approx(4)
    for name in ("old", "asked", "read"):
        report = page(analyze(read(tmp_path / name, **(WISH | {"min_bytes": "0"}))))
        assert [each.title for each in report.sections][:2] == ["Decision", "Checks"]
    made = make(report, Form.MD, tmp_path / "report-md")
    assert "| bbr1 against cubic" not in (made / "report.md").read_text()
    assert (
        "| RetransSegs, % | 0.100 | 0.400 | 4.0 × (4.0 to 4.0) |"
        in (made / "report.md").read_text()
    )


def lits(own: dict[str, str]) -> dict[str, pl.Expr]:
    return {name: pl.lit(value) for name, value in own.items()}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("nowhere",), "nowhere: no such directory"),
        (("FLEET", "--min-bytes", "1TB"), "--min-bytes = 1TB: not a size"),
        (
            ("FLEET", "--min-bytes", "900GB"),
            "none of the 54,000 connections and requests is that large",
        ),
        (("FLEET", "--against", "reno"), "--against = reno: no such arm"),
        (
            ("FLEET", "--by", "town"),
            "--by = town: no such column\n  fix: choose one of rtt, host, country, ecn",
        ),
        (
            ("FLEET", "--by", "cgroup"),
            "--by = cgroup: the column has no values here\n  fix: choose one of rtt, host, country",
        ),
        (("FLEET", "--by", "protocol"), "FORMAT` with $server_protocol\n"),
        (("FLEET", "--by", "rtt_s"), "--by = rtt_s: the column has many values, none with 30 rows"),
        (("FLEET", "--cluster", "pair"), "--cluster = pair: this is unknown for the connections"),
        (("FLEET", "--cluster", "city"), "choose one of auto, pair"),
        (("FLEET", "--effect", "0"), "write it like 5% or 0.05"),
        (("FLEET", "--ratio", "cubic=1"), "each arm needs a part greater than zero"),
        (("FLEET", "--ratio", "cubic:1"), "write it like cubic=1,bbr=1"),
        (("one",), "there is only one arm, cubic, so nothing to compare"),
        (("empty",), "the directory has no rows"),
        (
            ("cut",),
            "part.parquet: not a Parquet file (parquet: ",
        ),
    ],
)
def test_wrong_use_is_told_with_what_to_do(
    fullpipe: Fullpipe, fleet: Path, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    write_fleet(tmp_path / "one", {"cubic": {}}, hosts=1, rows=10)
    (tmp_path / "empty").mkdir()
    file = tmp_path / "cut" / "counters" / "arm=a" / "day=2019-12-01" / "part.parquet"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"PAR1 and no more")
    done = fullpipe("fleet", "compare", *(str(fleet) if each == "FLEET" else each for each in args))
    assert done.returncode == 2
    assert said in done.stderr
    assert "fix: " in done.stderr
    assert done.stdout == ""


def test_report_of_a_fleet_is_that_of_compare(fullpipe: Fullpipe, tmp_path: Path) -> None:
    write_fleet(tmp_path / "f", {"cubic": {}, "bbr1": BBR1}, hosts=4, rows=500)
    assert fullpipe("fleet", "compare", "f", "--out", "compared").returncode == 0
    done = fullpipe("report", "f")
    assert (done.returncode, done.stdout) == (0, "f/report.html\n")
    assert (tmp_path / "f" / "report.html").read_text() == (
        tmp_path / "compared" / "report.html"
    ).read_text()
    (tmp_path / "empty" / "connections").mkdir(parents=True)
    for args, said in (
        (("empty",), "empty: the directory has no rows\n  fix: name a directory that"),
        (
            ("f", "compared"),
            "f: a fleet directory, which has no runs to put side by side\n  fix: make its report alone",
        ),
        (
            ("compared",),
            "compared: a comparison of a fleet's arms, which has its report already\n  fix: make a new",
        ),
    ):
        refused = CliRunner().invoke(app, ["report", *(f"{tmp_path / each}" for each in args)])
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert said in refused.stderr


ARMS = ("--arm", "cubic=cubic/{host}.ss", "--arm", "bbr=bbr/{host}.ss")
INGEST = ("fleet", "ingest", *ARMS, "-o", "f")
SIMULATE = ("fleet", "simulate", "--cc", "cubic,bbr3", "--paths", "5", "--out", "f")


@pytest.fixture
def hosts(tmp_path: Path) -> None:
    """Writes samples of two arms of two hosts."""
    for arm in ("cubic", "bbr"):
        (tmp_path / arm).mkdir()
        for host in ("x", "y"):
            sockets = "".join(
                f"ESTAB 0 0 10.0.0.1:443 192.0.2.{at}:{at + 1}\n\t cubic rtt:20/1 mss:1000 cwnd:10 "
                f"bytes_sent:9{at}00000 bytes_acked:8{at}00000 busy:{at + 50}ms\n"
                for at in range(10, 40)
            )
            (tmp_path / arm / f"{host}.ss").write_text(f"@1576576800\n{sockets}")


@pytest.mark.parametrize("make", [INGEST, SIMULATE])
@pytest.mark.parametrize("damage", ["removed", "renamed", "changed", "moved"])
@pytest.mark.usefixtures("hosts")
def test_a_missing_or_changed_file_of_a_table_is_an_error(
    fullpipe: Fullpipe, tmp_path: Path, make: tuple[str, ...], damage: str
) -> None:
    """The command that made the directory makes the file again."""
    directory, compare = tmp_path / "f", ("fleet", "compare", "f", "--min-bytes", "0", "--json")
    assert fullpipe(*make).returncode == 0
    whole = fullpipe(*compare)
    assert check(json.loads(whole.stdout), "files")["fine"] is True
    for table in sorted(each.name for each in directory.iterdir() if list(each.glob("arm=*"))):
        file = min((directory / table).rglob("[!.]*.parquet"))
        match damage:
            case "removed":
                file.unlink()
            case "renamed":
                file.rename(file.with_name("other.parquet"))
            case "changed":
                content = bytearray(file.read_bytes())
                content[len(content) // 2] ^= 1
                file.write_bytes(content)
            case "moved":
                shutil.move(directory / table, tmp_path / "elsewhere" / table)
        refused = fullpipe(*compare)
        assert (refused.returncode, refused.stdout) == (2, ""), table
        assert refused.stderr.startswith(f"error: {file.relative_to(tmp_path)}: ")
        assert "fix: run the command that made it again" in refused.stderr
        assert fullpipe(*make).returncode == 0
        assert fullpipe(*compare).stdout == whole.stdout


@pytest.mark.usefixtures("hosts")
def test_what_is_not_there_yet_keeps_the_decision_open(fullpipe: Fullpipe, tmp_path: Path) -> None:
    # A larger population, as if a process had been killed after the first shard.
    assert fullpipe(*SIMULATE[:-2], "--out", "g").returncode == 0
    about = json.loads((tmp_path / "g" / "simulate.json").read_text())
    del about["checksum"]
    write_json(tmp_path / "g" / "simulate.json", {**about, "paths": 60})
    found = json.loads(fullpipe("fleet", "compare", "g", "--min-bytes", "0", "--json").stdout)
    files = check(found, "files")
    assert files["fine"] is False
    assert files["text"].startswith("5 of 60 paths are there: run fullpipe fleet simulate")

    # The first arm was read, and the second was interrupted.
    out = tmp_path / "h"
    ingest = (*INGEST[:-2], "-o", "h")
    assert fullpipe(*ingest).returncode == 0
    about = json.loads((out / "ingest.json").read_text())
    del about["checksum"]
    about["complete"] = about["sources"][3]["complete"] = False
    write_json(out / "ingest.json", about)
    found = json.loads(fullpipe("fleet", "compare", "h", "--min-bytes", "0", "--json").stdout)
    files = check(found, "files")
    assert files["fine"] is False
    assert "not all rows of bbr/y, ss are there" in files["text"]
    decision = " ".join(fullpipe("fleet", "compare", "h", "--min-bytes", "0").stdout.split())
    assert "files warn" in decision.partition("Decision: not yet: the checks ")[2]


@pytest.mark.usefixtures("hosts")
def test_a_directory_without_a_list_of_files_is_read_and_that_is_said(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    """Files that the list lacks are of a killed process, and not counted."""
    assert fullpipe(*INGEST).returncode == 0
    file = next((tmp_path / "f" / "connections" / "arm=bbr").rglob("*.parquet"))
    twice = file.with_name(f"0{file.name}")
    shutil.copy(file, twice)
    compare = ("fleet", "compare", "f", "--min-bytes", "0", "--json")
    found = json.loads(fullpipe(*compare).stdout)
    assert found["rows"]["connections"] == {"cubic": 60, "bbr": 60}
    for change in ({"format": 1}, {}):  # another version's format, and this one's without lists
        about = json.loads((tmp_path / "f" / "ingest.json").read_text())
        del about["checksum"]
        for source in about["sources"]:
            source.pop("written", None)
            source.pop("complete", None)
        write_json(tmp_path / "f" / "ingest.json", {**about, "format": 2, **change})
        found = json.loads(fullpipe(*compare).stdout)
        assert found["rows"]["connections"] == {"cubic": 60, "bbr": 90}
        files = check(found, "files")
        assert files["fine"] is None
        assert "no list of the tables' files is there" in files["text"]


def _simulated(fullpipe: Fullpipe, directory: str, *args: str) -> dict[str, Any]:
    arms = ("--cc", "cubic,bbr3", "--paths", "60", *args)
    made = fullpipe("fleet", "simulate", *arms, "--out", directory)
    assert made.returncode == 0, made.stderr
    found: dict[str, Any] = json.loads(fullpipe("fleet", "compare", directory, "--json").stdout)
    return found


def test_few_paths_decide_nothing(fullpipe: Fullpipe) -> None:
    found = _simulated(fullpipe, "few")
    undecided = sum(row["verdict"] == "undecided" for row in found["decision"])
    assert undecided > len(found["decision"]) / 2
    done = fullpipe("fleet", "compare", "few").stdout
    last = " ".join(done.partition("\nDecision: ")[2].split())
    assert last.startswith(
        f"not yet: {undecided} of {len(found['decision'])} metrics are undecided"
    )
    assert "use bbr3" not in last


def test_an_interval_and_its_verdict_agree(fullpipe: Fullpipe) -> None:
    for row in _simulated(fullpipe, "agree")["decision"]:
        effect = row["effect"]
        if effect["low"] is None or row["p_corrected"] is None or effect["low"] == effect["high"]:
            continue
        nothing = 1.0 if effect["kind"] == "ratio" else 0.0
        excludes = not effect["low"] <= nothing <= effect["high"]
        assert excludes == (row["p_corrected"] <= 0.05), row["metric"]


def test_the_ends_of_an_interval_have_the_notation_of_its_effect(fullpipe: Fullpipe) -> None:
    _simulated(fullpipe, "ends")
    table = fullpipe("fleet", "compare", "ends").stdout.partition("fine clusters")[0]
    intervals = re.findall(r"(\S+(?: [%×])?) \((\S+(?: ×)?) to (\S+(?: ×)?)\)", table)
    assert len(intervals) > 10
    for effect, low, high in intervals:
        assert {"÷" in low, "÷" in high} == {"÷" in effect}, (effect, low, high)
        assert "×" not in low + high, (effect, low, high)


def test_a_failed_check_leaves_the_decision_open(fullpipe: Fullpipe, tmp_path: Path) -> None:
    write_fleet(tmp_path / "f", {"cubic": {}, "bbr1": {**BBR1, "rows": 0.8}})
    done = fullpipe("fleet", "compare", "f").stdout
    last = " ".join(done.partition("\nDecision: ")[2].split())
    assert last.startswith("not yet: the checks clusters, sample ratio warn and "), last
    assert "So far bbr1 is better: p25 throughput (nginx) +2" in last
