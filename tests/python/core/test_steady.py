"""Numbers that drift within the measured window, from the run to the sentence that compares."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

import steadiness_rates
from fullpipe import Comparison, compare, sweep
from fullpipe import run as simulate
from fullpipe.results.rows import rows_of
from fullpipe.run import parse
from fullpipe.runs import lengths
from fullpipe.stats.quantity import quantity
from fullpipe.stats.steady import Drifting, Steadiness, judged, lines, summary

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

PATH = (
    "--rate",
    "20mbit",
    "--rtt",
    "40ms",
    "--buffer",
    "4bdp",
    "--stack",
    "rfc",
    "--set",
    "measure_from=10s",
)
CHANGES = {
    "[[path.change]]\nat = '3s'\nrate = '10mbit'\n": "the path changes at 3s",
    "[[flow]]\ncc = 'cubic'\nstart = '3s'\n": "flow cubic-2 starts at 3s",
    "[[flow]]\ncc = 'cubic'\nbytes = '4MB'\n": "flow cubic-2 ends at ",
    (
        "[[workload]]\nname = 'web'\ncc = 'cubic'\nload = 0.1\n"
        "model = 'lognormal median 10kB sigma 1 max 1MB'\nstop = '3s'\n"
    ): "workload web stops at 3s",
}


@pytest.mark.parametrize("duration", steadiness_rates.TRANSIENT)
def test_a_transient_is_found(duration: str) -> None:
    found = steadiness_rates.transient(duration, "rfc", 2)
    assert found.single[0] >= 18, "95 of 100 in docs/reference/statistics.md"
    assert found.sets == (2, 2)


def test_a_slow_change_is_found_by_the_runs_that_say_so() -> None:
    """Each of the four sets has a trend in some of its runs; of one the mean trend is weak."""
    assert steadiness_rates.transient("30s", "linux", 4, "auto").sets == (4, 4)


def test_every_drifting_point_is_named() -> None:
    goodput = quantity("goodput_bps")
    assert goodput is not None
    drifting = Drifting("cubic", 0, goodput, 1e7, 2e7, 1e6)
    verdicts = {f"rtt {n}ms": Steadiness("drifts", (drifting,)) for n in range(5)}
    assert lines(verdicts)[-1] == "not steady: 5 of 5 points: those above, and rtt 3ms; rtt 4ms"
    verdicts |= {f"rtt {n}ms": Steadiness("drifts", (drifting,)) for n in range(30)}
    assert lines(verdicts)[-1].endswith("rtt 14ms; and 15 more")


@pytest.mark.parametrize("name", steadiness_rates.algorithms())
def test_the_cycles_of_an_algorithm_are_no_drift(name: str) -> None:
    found = steadiness_rates.rates([name], ["1bdp"], steadiness_rates.STEADY, "linux", 1)
    assert found.single[0] <= 1
    assert found.sets[0] == 0


@pytest.mark.parametrize("addition", CHANGES)
def test_what_changes_on_purpose_is_not_tested(
    addition: str, tmp_path: Path, fullpipe: Fullpipe
) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        "duration = '6s'\nmeasure_from = '1s'\n[path]\nrate = '20mbit'\nrtt = '40ms'\nbuffer = '1bdp'\n"
        f"[[flow]]\ncc = 'cubic'\n{addition}"
    )
    run = simulate(file)
    verdict = run.metrics["steadiness"]
    assert (verdict["verdict"], verdict["drifting"]) == ("changes", [])
    assert CHANGES[addition].rstrip("0123456789") in verdict["changes"]
    shown = fullpipe("run", str(file))
    assert f"not tested for drift: {verdict['changes']}" in " ".join(shown.stdout.split())


def test_a_window_of_few_rtts_is_untested(fullpipe: Fullpipe) -> None:
    given = ("cubic", "--rate", "20mbit", "--rtt", "40ms", "--duration", "400ms")
    assert (
        json.loads(fullpipe("run", *given, "--json").stdout)["steadiness"]["verdict"] == "untested"
    )
    assert "not tested for drift: the window is too short" in fullpipe("run", *given).stdout


def test_a_run_says_it_in_each_form(tmp_path: Path, fullpipe: Fullpipe) -> None:
    kept = tmp_path / "kept"
    shown = fullpipe("run", "cubic", "bbr3", *PATH, "--duration", "30s", "--out", str(kept))
    text = " ".join(shown.stdout.split())
    assert "not steady from the first to the last third of the window: goodput of" in text
    metrics = json.loads((kept / "metrics.json").read_text())
    assert metrics["steadiness"]["verdict"] == "drifts"
    assert {each["metric"] for each in metrics["steadiness"]["drifting"]} == {"goodput_bps"}
    printed = fullpipe("run", "cubic", "bbr3", *PATH, "--duration", "30s", "--json")
    assert json.loads(printed.stdout)["steadiness"] == metrics["steadiness"]
    fullpipe("report", str(kept), "--format", "md", "--out", "r.md")
    assert any("not steady" in file.read_text() for file in (tmp_path / "r.md").glob("*.md"))
    fullpipe("report", str(kept), "--out", "r.html")
    assert "not steady" in (tmp_path / "r.html").read_text()


def test_a_comparison_says_it_in_table_sentence_and_json(
    tmp_path: Path, fullpipe: Fullpipe
) -> None:
    out = tmp_path / "compared"
    given = (
        "compare",
        "cubic",
        "bbr3",
        *PATH,
        "--duration",
        "30s",
        "--repeat",
        "10",
        "--out",
        str(out),
    )
    text = " ".join(fullpipe(*given).stdout.split())
    assert "together: not steady from the first to the last third of the window: goodput of" in text
    assert "alone: not steady" not in text
    rows = json.loads(fullpipe(*given, "--json").stdout)["rows"]
    verdicts = {row["where"]: row["steadiness"]["verdict"] for row in rows}
    assert (verdicts["alone"], verdicts["together"]) == ("steady", "drifts")
    comparison = Comparison(out)
    told = [each for each in comparison.sentences if "not steady" in each]
    assert told
    assert all(each.startswith("together: ") and "goodput" in each for each in told)
    # Only the chosen metrics are judged.
    delays = fullpipe(*given, "--show", "queue_delay.p95").stdout
    assert "not steady" not in delays


def test_a_sweep_names_the_points(tmp_path: Path, fullpipe: Fullpipe) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        "duration = '30s'\nmeasure_from = '10s'\nstack = 'rfc'\n"
        "[path]\nrate = '20mbit'\nrtt = '40ms'\nbuffer = '4bdp'\n"
        "[[flow]]\ncc = 'cubic'\n[[flow]]\ncc = 'bbr3'\n"
    )
    shown = fullpipe(
        "sweep", str(file), "--set", "path.buffer=4bdp,0.5bdp", "--repeat", "10", "--out", "swept"
    )
    text = " ".join(shown.stdout.split())
    assert "buffer 4bdp: not steady" in text
    assert "buffer 0.5bdp: not steady" not in text
    # A figure and a table alone say it, about the metrics that they show.
    said = "Not steady within the measured window at 1 of 2 settings."
    for panel, metric, name in (
        ("curves", "goodput", "goodput.svg"),
        ("curves", "queue_delay.p95", "delay.svg"),
        ("results", "goodput", "goodput.tex"),
    ):
        fullpipe("report", "swept", "--panel", panel, "--show", metric, "--out", name)
        written = " ".join(re.sub(r"<[^>]*>|^%", " ", (tmp_path / name).read_text()).split())
        assert (said in written) == (metric == "goodput"), name


def test_until_steady_prolongs_by_each_command(tmp_path: Path, fullpipe: Fullpipe) -> None:
    given = ("cubic", "bbr3", *PATH, "--duration", "30s", "--until", "steady")
    run = fullpipe("run", *given)
    assert run.returncode == 0
    assert "prolonged once, measured from 30 s to 60 s: steady" in run.stdout
    seeds = ("--repeat", "5", "--out", str(tmp_path / "kept"))
    compared = fullpipe("compare", *given, *seeds)
    assert "prolonged once, measured from 30 s to 60 s: steady" in compared.stdout
    assert sorted(each.name for each in (tmp_path / "kept").iterdir()) == ["30s", "60s"]
    again = fullpipe("compare", *given, *seeds)
    assert "nothing to run" in again.stdout
    swept = fullpipe("sweep", *given, "--repeat", "5", "--out", str(tmp_path / "swept"))
    assert "prolonged once, measured from 30 s to 60 s: steady" in swept.stdout
    alone = fullpipe("run", "cubic", *PATH, "--duration", "30s", "--until", "steady")
    assert "not prolonged, measured from 10 s to 30 s: steady" in alone.stdout


def test_points_with_warm_ups_of_their_own_are_prolonged_together(fullpipe: Fullpipe) -> None:
    given = ("cubic", "--buffer", "1bdp,6bdp", "--rate", "20mbit", "--rtt", "40ms")
    shown = fullpipe("sweep", *given, "--repeat", "5", "--until", "steady", "--out", "kept")
    assert "not prolonged, measured to 60 s: steady" in shown.stdout


def test_until_steady_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = {
        "rate": "20mbit",
        "rtt": "40ms",
        "buffer": "4bdp",
        "stack": "rfc",
        "duration": "30s",
        "set": {"measure_from": "10s"},
    }
    run = simulate(["cubic", "bbr3"], **path, until="steady")  # type: ignore[arg-type]
    assert (run.metrics["measure_from_s"], run.metrics["duration_s"]) == (30, 60)
    made = compare("cubic", "bbr3", **path, until="steady", repeat=5, out=tmp_path / "kept")  # type: ignore[arg-type]
    assert made.directory == tmp_path / "kept/60s"
    swept = sweep(["cubic", "bbr3"], **path, until="steady", repeat=5, out=tmp_path / "swept")  # type: ignore[arg-type]
    assert swept.called == str(tmp_path / "swept/60s")
    monkeypatch.setattr(lengths, "MOST", 0)
    run = simulate(["cubic", "bbr3"], **path, until="steady")  # type: ignore[arg-type]
    assert run.metrics["steadiness"]["verdict"] == "drifts"


@pytest.mark.parametrize("name", ["run", "compare", "sweep"])
def test_numbers_that_still_drift_are_exit_code_1(name: str, tmp_path: Path) -> None:
    code = (
        "import runpy, sys\nfrom fullpipe.runs import lengths\nlengths.MOST = 0\n"
        "sys.argv = ['fullpipe', *sys.argv[1:]]\nrunpy.run_module('fullpipe', run_name='__main__')\n"
    )
    repeat = [] if name == "run" else ["--repeat", "5", "--out", str(tmp_path / "kept")]
    given = [name, "cubic", "bbr3", *PATH, "--duration", "30s", "--until", "steady", *repeat]
    done = subprocess.run(
        [sys.executable, "-c", code, *given], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "not prolonged, measured from 10 s to 30 s: still not steady" in done.stdout
    as_json = subprocess.run(
        [sys.executable, "-c", code, *given, "--json"], capture_output=True, text=True, check=False
    )
    assert as_json.returncode == 1
    assert as_json.stderr.endswith("measured from 10 s to 30 s: still not steady\n")
    json.loads(as_json.stdout)


def test_another_rule_is_refused(fullpipe: Fullpipe) -> None:
    for name in ("run", "compare"):
        refused = fullpipe(name, "cubic", "bbr3", "--until", "ci(goodput) < 2%")
        assert refused.returncode == 2
        assert 'fix: write "steady"' in refused.stderr
    refused = fullpipe("sweep", "cubic", "--duration", "30s,60s", "--until", "steady")
    assert refused.returncode == 2
    assert "the points differ in duration\n" in refused.stderr
    refused = fullpipe("sweep", "cubic", "--until", "steady", "--max-repeat", "20")
    assert refused.returncode == 2
    assert "adds no runs" in refused.stderr


def test_seeds_that_swing_each_in_its_own_way_are_steady() -> None:
    def swinging(seed: int, first: float, last: float) -> pl.DataFrame:
        made = simulate("cubic", rate="20mbit", rtt="40ms", duration="5s", seed=seed).metrics
        drift = {"first": first, "last": last, "tau": 0.9 if last > first else -0.9}
        made["flows"][0]["drift"]["goodput_bps"] = drift  # type: ignore[typeddict-item]
        made["steadiness"]["verdict"] = "drifts"
        return rows_of(made)

    ways = [
        swinging(seed, 15e6, 19e6) if seed % 2 else swinging(seed, 19e6, 15e6) for seed in range(10)
    ]
    assert judged(pl.concat(ways)).verdict == "steady"
    alike = [swinging(seed, 15e6, 19e6 + seed) for seed in range(10)]
    found = judged(pl.concat(alike))
    assert found.verdict == "drifts"
    assert found.drifting[0].text == "goodput of cubic rises from 15.0 to 19.0 Mbit/s"


def test_a_check_says_that_its_numbers_drift(tmp_path: Path, fullpipe: Fullpipe) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        "duration = '30s'\nmeasure_from = '10s'\nstack = 'rfc'\n"
        "expect = ['flow.bbr3.goodput >= 2mbit']\n"
        "[path]\nrate = '20mbit'\nrtt = '40ms'\nbuffer = '4bdp'\n"
        "[[flow]]\ncc = 'cubic'\n[[flow]]\ncc = 'bbr3'\n"
    )
    shown = fullpipe("check", str(file), "--repeat", "5")
    assert shown.returncode == 0, "a drift is no miss"
    assert "not steady from the first to the last third" in " ".join(shown.stdout.split())
    [record] = json.loads(fullpipe("check", str(file), "--repeat", "5", "--json").stdout)
    assert record["steadiness"]["verdict"] == "drifts"
    # Only the numbers of the conditions are judged, if they have a course.
    text = file.read_text()
    for condition, verdict in (
        ("link.bottleneck.queue_delay.p95 <= 1s", "steady"),
        ("jain >= 0.1", "drifts"),
    ):
        file.write_text(text.replace("flow.bbr3.goodput >= 2mbit", condition))
        [record] = json.loads(fullpipe("check", str(file), "--repeat", "5", "--json").stdout)
        assert record["steadiness"]["verdict"] == verdict


def test_a_condition_is_judged_by_the_flow_and_the_link_that_it_names(
    tmp_path: Path, fullpipe: Fullpipe
) -> None:
    file = tmp_path / "s.toml"
    queue = "'flow.lone.queue_delay.p95 <= 1s', 'flow.lone.rtt.p95 <= 1s'"
    other = "'flow.other.queue_delay.p95 <= 1s', 'link.bottleneck.queue_delay.p95 <= 1s'"
    file.write_text(
        f"duration = '30s'\nmeasure_from = '5s'\nstack = 'rfc'\nexpect = [{other}, {queue}]\n"
        "[path]\nrate = '20mbit'\nrtt = '40ms'\nbuffer = '1bdp'\n"
        "[[link]]\nname = 'b'\nrate = '20mbit'\nbuffer = '16bdp'\n"
        "[[flow]]\nname = 'other'\ncc = 'cubic'\n"
        "[[flow]]\nname = 'lone'\ncc = 'cubic'\nroute = ['b']\n"
    )
    records = json.loads(fullpipe("check", str(file), "--repeat", "5", "--json").stdout)
    verdicts = [each["steadiness"]["verdict"] for each in records]
    assert verdicts == ["steady", "steady", "drifts", "drifts"]
    fullpipe("check", str(file), "--repeat", "5", "--junit", "j.xml")
    cases = (tmp_path / "j.xml").read_text().split("<testcase ")[1:]
    assert ["not steady" in each for each in cases] == [False, False, True, True]


def test_a_check_says_what_is_not_tested(tmp_path: Path, fullpipe: Fullpipe) -> None:
    file = tmp_path / "s.toml"
    path = "[path]\nrate = '20mbit'\nrtt = '40ms'\nbuffer = '1bdp'\n"
    text = f"duration = '400ms'\nexpect = ['jain >= 0.1']\n{path}[[flow]]\ncc = 'cubic'\n"
    file.write_text(text)
    assert "not tested for drift: the window is too short" in fullpipe("check", str(file)).stdout


def test_a_study_and_an_evaluation_count_what_drifts(tmp_path: Path, fullpipe: Fullpipe) -> None:
    case = "share_30s_20Mbps_20ms_400pkt_0loss_BBR2_CUBIC"
    given = ("microsoft", "--case", f"{case}*", "--seeds", "5", "--out", "study")
    text = " ".join(fullpipe("reproduce", *given).stdout.split())
    said = "steady within the measured window: 0 of 1 points; 1 drift"
    assert f"{said} {case}: not steady" in text
    assert said in (tmp_path / "study/table.md").read_text()

    asked = ("bbr3", "--criterion", "random-loss", "--quick", "--out", "dossier")
    shown = " ".join(fullpipe("evaluate", *asked).stdout.split())
    count = re.search(r"steady within the measured window: (\d+) of (\d+) cells", shown)
    assert count
    [record] = json.loads(fullpipe("evaluate", *asked, "--json").stdout)
    verdicts = list(record["steadiness"].values())
    assert (verdicts.count("steady"), len(verdicts)) == tuple(map(int, count.groups()))
    assert "steady within the measured window" in (tmp_path / "dossier/dossier.html").read_text()


def test_a_number_without_a_course_is_not_called_steady() -> None:
    drifts = Steadiness("drifts", ())
    assert drifts.of(["completion_s"]).verdict == ""
    assert drifts.of(["jain"]).verdict == "steady"
    assert drifts.of([]) is drifts


def test_a_link_drifts_under_its_own_name() -> None:
    delay = quantity("queue_delay_s.mean")
    assert delay
    drifts = Steadiness("drifts", (Drifting("link b", None, delay, 1.0, 1.0, 2.0),))
    assert drifts.of(["link.b.queue_delay_s.p95"]).verdict == "drifts"
    for column in ("link.a.queue_delay_s.p95", "queue_delay_s.p95", "link.b.utilization"):
        assert drifts.of([column]).verdict == "steady"
    assert summary({"a": drifts.of(["completion_s"])}, "cells") == []


_OVERLOAD = """duration = "20s"
measure_from = "4s"
[path]
rate = "20mbit"
rtt = "20ms"
buffer = "1bdp"
[[link]]
name = "uplink"
rate = "100kbit"
buffer = "20packets"
[[workload]]
name = "web"
model = "bounded_pareto shape 1.5 min 2kB max 200kB"
load = 0.5
cc = "cubic"
reverse_route = ["uplink"]
"""
"""The uplink carries fewer ACKs than the flows need."""


def test_active_flows_that_grow_without_end_are_no_steady_result(
    tmp_path: Path, fullpipe: Fullpipe
) -> None:
    file = tmp_path / "s.toml"
    file.write_text(_OVERLOAD)
    run = simulate(file)
    assert {
        "of": "workload",
        "name": "web",
        "metric": "concurrent",
        "test": "trend",
    } in run.metrics["steadiness"]["drifting"]
    shown = " ".join(fullpipe("run", str(file)).stdout.split())
    assert "number of active flows of web rises from " in shown
    assert re.search(r"\d+ % of the flows of web did not complete \([\d,]+ of [\d,]+\)", shown)
    runs = [rows_of(simulate(file, seed=seed).metrics) for seed in range(3)]
    found = judged(pl.concat(runs, how="diagonal"))
    assert "number of active flows of web rises" in found.text
    for column in ("slowdown.all.flows.mean", "completion_s.p95", "concurrent"):
        assert found.of([column]).verdict == "drifts"


def test_the_test_ends_when_arrivals_stop_late(tmp_path: Path, fullpipe: Fullpipe) -> None:
    file = tmp_path / "s.toml"
    file.write_text(f"{_OVERLOAD}stop = '18s'\n")
    verdict = simulate(file).metrics["steadiness"]
    assert (verdict["verdict"], verdict["tested_until_s"]) == ("drifts", 18)
    file.write_text(f"{_OVERLOAD}stop = '18s'\n".replace("100kbit", "10mbit"))
    verdict = simulate(file).metrics["steadiness"]
    assert (verdict["verdict"], verdict["tested_until_s"]) == ("steady", 18)
    shown = fullpipe("run", str(file))
    assert "tested for drift until 18 s, when arrivals stop" in shown.stdout


def test_longer_runs_stop_arrivals_as_long_before_their_end(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(f"{_OVERLOAD}stop = '18s'\n")
    first, second, *_ = lengths.lengths([parse(file.read_text(), str(file)).to_toml()], "steady")
    assert not first.settings
    assert dict(second.settings) == {
        "duration": "40s",
        "measure_from": "20s",
        "workload.0.stop": "38s",
    }
