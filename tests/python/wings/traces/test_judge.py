"""`fullpipe trace judge`: the command, on kept runs and on qlogs as other programs write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import fullpipe
import served
from fullpipe.errors import UNEVALUATED

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kept run of BBRv1 and its qlog."""
    directory = tmp_path_factory.mktemp("judge")
    run = fullpipe.run(
        ["bbr1"], rate="20mbit", rtt="40ms", buffer="2bdp", duration="25s", trace="ack"
    )
    run.save(directory / "run")
    run.qlog(directory / "bbr1.qlog")
    return directory


def _fullpipe(*words: object) -> subprocess.CompletedProcess[str]:
    return served.command("trace", "judge", *words)


def test_a_qlog_over_a_stated_path_is_judged_and_kept_with_a_page(
    kept: Path, tmp_path: Path
) -> None:
    path = ("--rate", "20mbit", "--rtt", "40ms", "--buffer", "2bdp")
    done = _fullpipe(kept / "bbr1.qlog", "--as", "bbr1", *path, "--seeds", 2, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["met"] and found["first_difference"] is None
    assert {each["verdict"] for each in found["conditions"]} == {"met"}
    assert found["evaluated"] and "envelope" not in found

    out = tmp_path / "judged"
    done = _fullpipe(kept / "run", "--as", "bbr3", "--seeds", 2, "--out", out)
    assert done.returncode == 1, done.stderr
    assert ": ProbeRTT did not come within 5 s" in done.stdout
    assert "stack linux" in done.stdout
    assert "Performance envelope" not in (out / "report.html").read_text()
    assert "ProbeRTT did not come within 5 s" in (out / "judge.md").read_text()
    record = json.loads((out / "judge.json").read_text())
    assert record["first_difference"]["condition"] == "probe-rtt"


def test_the_stack_is_that_of_the_kept_run_and_sets_the_profile_of_the_rules(
    tmp_path: Path,
) -> None:
    """Linux's BBRv3 drains as BBRv1 does, and the draft's does not."""
    path = {"rate": "20mbit", "rtt": "40ms", "buffer": "2bdp"}
    scenario = {"duration": "8s", "path": path, "flow": [{"cc": "bbr1"}]}
    for stack, differences in ("rfc", {"drain-gain", "probe-rtt"}), ("linux", {"probe-rtt"}):
        run = fullpipe.run({"stack": stack, **scenario}, trace="ack")
        run.save(tmp_path / stack)
        out = tmp_path / f"judged-{stack}"
        done = _fullpipe(tmp_path / stack, "--as", "bbr3", "--seeds", 0, "--out", out)
        assert f"stack {stack}" in done.stdout
        assert f'stack = "{stack}"' in (out / "model" / "resolved.toml").read_text()
        missed = {
            each["condition"]
            for each in json.loads((out / "judge.json").read_text())["conditions"]
            if each["verdict"] == "not met"
        }
        assert missed == differences


@pytest.mark.parametrize(
    ("protocol", "given", "stack"),
    [
        ("TCP", (), "linux"),
        ("QUIC", (), "rfc"),
        ("QUIC", ("--stack", "linux-fq"), "linux-fq"),
    ],
)
def test_the_stack_of_a_foreign_trace_is_linux_or_of_quic_that_of_the_specifications(
    kept: Path, tmp_path: Path, protocol: str, given: tuple[str, ...], stack: str
) -> None:
    text = (kept / "bbr1.qlog").read_text()
    assert '"TCP"' in text
    (tmp_path / "a.qlog").write_text(text.replace('"TCP"', f'"{protocol}"'))
    path = ("--rate", "20mbit", "--rtt", "40ms", "--buffer", "2bdp", "--seeds", 0)
    done = _fullpipe(tmp_path / "a.qlog", "--as", "bbr1", *path, *given)
    assert done.returncode == UNEVALUATED, done.stderr
    assert f"; stack {stack}\n" in done.stdout
    own = tmp_path / "path.toml"
    own.write_text(
        'stack = "linux"\nduration = "25s"\n'
        '[path]\nrate = "20mbit"\nrtt = "40ms"\nbuffer = "2bdp"\n[[flow]]\ncc = "cubic"\n'
    )
    done = _fullpipe(tmp_path / "a.qlog", "--as", "bbr1", "--path", own, "--seeds", 0)
    assert "; stack linux\n" in done.stdout
    done = _fullpipe(tmp_path / "a.qlog", "--as", "bbr1", *path, "--stack", "lunix")
    assert done.returncode == 2
    assert "--stack lunix: not one of" in done.stderr and "fix: " in done.stderr


def test_a_trace_without_rtts_is_refused(tmp_path: Path) -> None:
    value = {"x_values": [0, 1], "results": {"TCP download": [8.0, 8.0]}}
    (tmp_path / "a").write_text(json.dumps(value))
    done = _fullpipe(tmp_path / "a", "--as", "cubic", "--rate", "10mbit", "--rtt", "20ms")
    assert done.returncode == 2
    assert done.stderr.startswith("error: TCP download: no RTT"), done.stderr


def test_a_trace_without_a_column_is_not_evaluated_and_says_which(tmp_path: Path) -> None:
    rows = [(0.05 * n, 20_000 + 1448 * n, 40.0) for n in range(200)]
    listing = "\n".join(
        f"{1_700_000_000 + time:.2f}\nESTAB 0 0 10.0.0.1:5201 10.0.0.2:4000\n"
        f"\t cubic rto:204 rtt:{rtt}/1 mss:1448 cwnd:{cwnd // 1448} bytes_acked:{10_000 + 3 * cwnd}"
        for time, cwnd, rtt in rows
    )
    file = tmp_path / "ss.txt"
    file.write_text(listing + "\n")
    done = _fullpipe(
        file, "--as", "cubic", "--rate", "20mbit", "--rtt", "40ms", "--seeds", 0, "--json"
    )
    assert done.returncode == UNEVALUATED, done.stderr
    assert not json.loads(done.stdout)["met"] and not json.loads(done.stdout)["evaluated"]
    reasons = {each["condition"]: each["reason"] for each in json.loads(done.stdout)["conditions"]}
    assert reasons["beta"] == "the trace has no separate loss after slow start"
    done = _fullpipe(
        file, "--as", "bbr3", "--rate", "20mbit", "--rtt", "40ms", "--seeds", 0, "--json"
    )
    reasons = {each["condition"]: each["reason"] for each in json.loads(done.stdout)["conditions"]}
    assert reasons["startup-gain"] == "the trace has no pacing_rate"
    assert reasons["probe-rtt-duration"] == "the trace has no states"


@pytest.mark.parametrize("words", [(), ("--allow-unevaluated",)])
def test_what_was_not_evaluated_is_not_met(tmp_path: Path, words: tuple[str, ...]) -> None:
    scenario = {
        "duration": "4s",
        "path": {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"},
        "flow": [{"cc": "cubic", "app_rate": "1mbit"}],
    }
    fullpipe.run(scenario, trace="ack").qlog(tmp_path / "slow.qlog")
    path = ("--rate", "20mbit", "--rtt", "40ms", "--seeds", 2)
    out = tmp_path / "out"
    done = _fullpipe(tmp_path / "slow.qlog", "--as", "cubic", *path, "--out", out, *words)
    assert done.returncode == (0 if words else UNEVALUATED), done.stderr
    assert "cubic: 2 met, 0 not met, 4 not evaluated" in done.stdout.splitlines()[0]
    said = (
        "4 of 6 conditions were not evaluated: beta (the trace has no separate loss after slow start);"
        " loss-response (the trace has no loss with a window of more than eight segments)"
    )
    assert said in done.stdout and "no difference" not in done.stdout
    assert said in (out / "judge.md").read_text()
    page = (out / "report.html").read_text()
    assert "4 of 6 conditions were not evaluated" in page and "no difference" not in page.lower()


def test_an_algorithm_without_rules_of_its_own_is_judged_by_its_losses(tmp_path: Path) -> None:
    path = {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"}
    scenario = {"duration": "6s", "path": path, "flow": [{"cc": "copa"}]}
    fullpipe.run(scenario, trace="ack").save(tmp_path / "run")
    done = _fullpipe(tmp_path / "run", "--as", "copa")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no difference: all 1 conditions were evaluated and are met" in done.stdout
    done = _fullpipe(tmp_path / "run", "--as", "copa", "--seeds", 1)
    assert done.returncode == UNEVALUATED
    assert (
        "loss-rate (the model has fewer than 2 runs, so its losses have no interval)" in done.stdout
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--as", "bbr"), "error: --as bbr: not an algorithm of fullpipe\n  fix: did you mean bbr"),
        (("--as", "bbr1", "--set", "betta=1"), "error: --set betta=1: bbr1 has no such parameter"),
        (("--as", "bbr1"), "error: --rate and --rtt: a trace does not tell the path"),
        (("--as", "bbr1", "--rate", "20mbit"), "error: --rtt: a trace does not tell the path"),
        (
            ("--as", "bbr1", "--rate", "20mbit", "--rtt", "4ms", "--flow", "x"),
            "--flow x: no flow has this name\n  fix: name one of bbr1",
        ),
    ],
)
def test_an_error_names_its_fix(kept: Path, words: tuple[str, ...], problem: str) -> None:
    done = _fullpipe(kept / "bbr1.qlog", *words)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "fix:" in done.stderr
    assert "Traceback" not in done.stderr


def _rewritten(
    kept: Path, to: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]
) -> Path:
    """Writes the kept qlog with changed events, or without those for which `change` has None."""
    value = json.loads((kept / "bbr1.qlog").read_text())
    for trace in value["traces"]:
        trace["events"] = [each for event in trace["events"] if (each := change(event))]
    to.write_text(json.dumps(value))
    return to


def test_a_program_in_the_scenario_of_the_path_is_the_judged_flow(
    kept: Path, tmp_path: Path
) -> None:
    program = '[[program]]\nname = "p"\nserver = "s {port}"\nclient = "c {far} {port}"\n'
    path = '[path]\nrate = "20mbit"\nrtt = "40ms"\nbuffer = "2bdp"\n'
    file = tmp_path / "path.toml"
    file.write_text(f'duration = "25s"\n{path}{program}')
    words = (kept / "bbr1.qlog", "--as", "bbr1", "--seeds", 2)
    done = _fullpipe(*words, "--path", file, "--json")
    assert done.returncode == 0, done.stderr
    same = _fullpipe(*words, "--rate", "20mbit", "--rtt", "40ms", "--buffer", "2bdp", "--json")
    assert json.loads(done.stdout)["model"] == json.loads(same.stdout)["model"]
    other = program.replace('"p"', '"q"')
    file.write_text(f'duration = "25s"\n{path}{program}{other}')
    done = _fullpipe(*words, "--path", file)
    assert done.returncode == 2
    assert "1 program next to the judged flow" in done.stderr and "fix:" in done.stderr


def test_states_with_the_algorithms_name_before_them_are_the_same(
    kept: Path, tmp_path: Path
) -> None:
    def change(event: dict[str, Any]) -> dict[str, Any]:
        if event["name"] == "recovery:congestion_state_updated":
            for key in {"old", "new"} & event["data"].keys():
                event["data"][key] = "bbr_" + event["data"][key]
        return event

    file = _rewritten(kept, tmp_path / "a.qlog", change)
    words = ("--as", "bbr1", "--rate", "20mbit", "--rtt", "40ms", "--buffer", "2bdp", "--json")
    done = _fullpipe(file, *words, "--seeds", 2)
    assert {each["verdict"] for each in json.loads(done.stdout)["conditions"]} == {"met"}


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "met"), (1.6, "not met")])
def test_the_cap_of_a_window_needs_neither_states_nor_a_pacing_rate(
    kept: Path, tmp_path: Path, factor: float, verdict: str
) -> None:
    def change(event: dict[str, Any]) -> dict[str, Any] | None:
        event["data"].pop("pacing_rate", None)
        if "congestion_window" in event["data"]:
            event["data"]["congestion_window"] *= factor
        return None if event["name"] == "recovery:congestion_state_updated" else event

    file = _rewritten(kept, tmp_path / "a.qlog", change)
    words = ("--as", "bbr1", "--rate", "20mbit", "--rtt", "40ms", "--buffer", "2bdp", "--json")
    done = _fullpipe(file, *words, "--seeds", 0)
    of = {each["condition"]: each["verdict"] for each in json.loads(done.stdout)["conditions"]}
    assert (of["window-cap"], of["startup-gain"]) == (verdict, "not evaluated")


@pytest.mark.parametrize("mss", ["1448B", "1200B"])
def test_the_segment_of_a_run_is_its_mss_in_its_qlog_too(tmp_path: Path, mss: str) -> None:
    """An event packet_sent of a qlog of fullpipe has the packets of a row, and no packet's size."""
    scenario = {
        "duration": "8s",
        "path": {"rate": "10mbit", "rtt": "20ms", "buffer": "1bdp"},
        "flow": [{"cc": "newreno", "mss": mss}],
    }
    run = fullpipe.run(scenario, trace="ack")
    run.qlog(tmp_path / "reno.qlog")
    run.save(tmp_path / "run")
    for trace in (tmp_path / "reno.qlog", tmp_path / "run"):
        done = _fullpipe(
            trace, "--as", "newreno", "--rate", "10mbit", "--rtt", "20ms", "--seeds", 2, "--json"
        )
        assert done.returncode == 0, done.stdout
        growth = json.loads(done.stdout)["conditions"][2]
        assert growth["condition"] == "reno-growth"
        assert growth["measured"] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(("size", "segments"), [(1448, 1.0), (2896, 0.5)])
def test_the_segment_of_a_qlog_is_the_size_of_its_packets(
    tmp_path: Path, size: int, segments: float
) -> None:
    scenario = {
        "duration": "8s",
        "path": {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"},
        "flow": [{"cc": "newreno"}],
    }
    fullpipe.run(scenario, trace="10ms").qlog(tmp_path / "reno.qlog")
    value = json.loads((tmp_path / "reno.qlog").read_text())
    del value["summary"]
    events = value["traces"][0]["events"]
    del events[0]["data"]["max_datagram_size"]
    of = {key: each for key, each in events[0].items() if key not in ("name", "data", "time")}
    sent = [
        {**of, "time": 0.0, "name": "transport:packet_sent", "data": {"raw": {"length": size}}}
        for _ in range(500)
    ]
    value["traces"][0]["events"] = [*events, *sent]
    (tmp_path / "sized.qlog").write_text(json.dumps(value))
    words = ("--as", "newreno", "--rate", "20mbit", "--rtt", "40ms", "--seeds", 0, "--json")
    done = _fullpipe(tmp_path / "sized.qlog", *words)
    growth = json.loads(done.stdout)["conditions"][2]
    assert growth["condition"] == "reno-growth"
    assert growth["measured"] == pytest.approx(segments, abs=0.06)


@pytest.mark.parametrize(("deaf", "verdict"), [(False, "met"), (True, "not met")])
def test_a_window_that_losses_leave_as_it_is_does_not_respond(
    tmp_path: Path, deaf: bool, verdict: str
) -> None:
    scenario = {
        "duration": "10s",
        "path": {"rate": "15mbit", "rtt": "60ms", "buffer": "1bdp"},
        "flow": [{"cc": "cubic"}],
    }
    fullpipe.run(scenario, trace="ack").qlog(tmp_path / "cubic.qlog")
    value = json.loads((tmp_path / "cubic.qlog").read_text())
    for event in value["traces"][0]["events"] if deaf else ():
        if "congestion_window" in event["data"]:
            event["data"]["congestion_window"] = 200_000
    (tmp_path / "a.qlog").write_text(json.dumps(value))
    words = ("--as", "cubic", "--rate", "15mbit", "--rtt", "60ms", "--seeds", 0, "--json")
    done = _fullpipe(tmp_path / "a.qlog", *words)
    found = {each["condition"]: each for each in json.loads(done.stdout)["conditions"]}
    assert found["loss-response"]["verdict"] == verdict
    if deaf:
        assert "has not fallen" in found["loss-response"]["difference"]
        assert found["loss-response"]["difference"].endswith("(RFC 9438 §4.6)")
