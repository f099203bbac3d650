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

from fleet_compared import BBR1, WISH, check, rows, told
from fleet_made import START, lits, write_fleet
from fullpipe.commands import app
from fullpipe.report import Form
from fullpipe.report.model import Number, Table
from fullpipe.report.write import make
from fullpipe.wings.fleet import store
from fullpipe.wings.fleet.compare.analysis import analyze
from fullpipe.wings.fleet.compare.checks import ENOUGH_DATA, checks
from fullpipe.wings.fleet.compare.options import read
from fullpipe.wings.fleet.compare.page import page

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

BBR2 = {"rate": 1.15, "loss": 2.0, "queue": 1.2, "outliers": 0.002}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three arms of six hosts each."""
    arms = {"cubic": {}, "bbr1": BBR1, "bbr2": BBR2}
    return write_fleet(
        tmp_path_factory.mktemp("fleet") / "fleet", arms, hosts=6, rows=1500, parts=2
    )


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
