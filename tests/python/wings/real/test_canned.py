"""`fullpipe test`: canned tests, whose numbers theory gives."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fullpipe._core import ScenarioError
from fullpipe.run import Run
from fullpipe.runners import runner
from fullpipe.scenario import canned
from fullpipe.wings.real.loadtest import rpm
from fullpipe.wings.real.loadtest.measure import measure
from fullpipe.wings.real.loadtest.plan import PlanError, plan
from fullpipe.wings.real.loadtest.voice import mos, score
from links import needed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Fullpipe

RTT_S = 0.040
PATH = {"path.rate": "10mbit", "path.rtt": "40ms", "path.buffer": "4bdp", "duration": "24s"}


def measured(name: str, *, cc: str = "cubic", flows: int | None = None, **path: str) -> Any:  # noqa: ANN401
    """Returns the numbers of a test on a path of 10 Mbit/s and 40 ms, with a buffer of 160 ms."""
    given = {
        **PATH,
        **{f"path.{key}" if key != "duration" else key: to for key, to in path.items()},
    }
    planned = plan(canned.named(name), list(given.items()), [], cc=cc, flows=flows)
    simulator = runner("sim")
    return measure(
        planned, Run(planned.scenario, simulator.execute(planned.scenario, planned.trace, None))
    )


@pytest.mark.parametrize("name", ["tcp_nup", "tcp_ndown"])
def test_a_full_drop_tail_queue_lengthens_a_request_by_its_size(name: str) -> None:
    # Many flows hardly ever let the queue run empty: a request waits for nearly all of its 160 ms.
    found = measured(name, cc="newreno", flows=20)
    # Besides the RTT a request of 52 B and a response of 53 B cross the 10 Mbit/s.
    alone = RTT_S + 8 * (52 + 53) / 10e6
    assert found["idle.p50_s"] == pytest.approx(alone, rel=0.005)
    assert found["idle.max_s"] < RTT_S + 0.001
    assert 0.8 * 0.160 < found["load.p50_s"] - alone <= 0.160 + 0.0012
    way = "up" if name == "tcp_nup" else "down"
    assert found["load.p50_s"] - alone == pytest.approx(found[f"{way}.queue_mean_s"], rel=0.1)
    assert found["increase_s"] == pytest.approx(found["load.p50_s"] - found["idle.p50_s"])
    # 1448 of 1500 B are payload.
    assert found[f"{way}.goodput_bps"] == pytest.approx(10e6 * 1448 / 1500, rel=0.01)
    # The other direction has no load: its link carries ACKs, and has no queue.
    other = "down" if way == "up" else "up"
    assert found[f"{other}.flows"] == 0
    assert f"{other}.goodput_bps" not in found
    assert found[f"{other}.queue_p95_s"] < 0.001


def test_flow_queueing_spares_the_requests() -> None:
    # A request is of a flow that has nothing queued: it waits for one packet per direction at most, 1.2 ms.
    found = measured("rrul", queue="fq_codel", buffer="1000packets")
    assert found["load.p50_s"] < RTT_S + 2 * 0.0012 + 0.001
    assert found["load.p50_s"] < measured("rrul")["load.p50_s"] / 3
    # The load's own packets wait longer, which the RPM of the load shows.
    assert found["rpm.self"] < found["rpm.foreign"]


@pytest.mark.parametrize("name", ["rrul", "tcp_nup", "tcp_ndown"])
def test_a_request_waits_in_the_queues_of_both_directions(name: str) -> None:
    # The queues count bytes: in packets, ACKs would take the room of data.
    found = measured(name, cc="newreno", flows=20, queue="bfifo", buffer="200kB")
    waits = found["up.queue_mean_s"], found["down.queue_mean_s"]
    assert found["load.p50_s"] - found["idle.p50_s"] == pytest.approx(sum(waits), rel=0.1)
    assert (min(waits) > 0.05) == (name == "rrul")
    for way in ("up", "down"):
        # Data behind a hole may arrive earlier than it counts.
        assert found.get(f"{way}.goodput_bps", 0.0) <= 1.01 * 10e6 * 1448 / 1500


def test_responsiveness_falls_with_the_buffer() -> None:
    found = [measured("upload", buffer=f"{size}bdp")["rpm"] for size in (1, 2, 4, 8)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 2 * found[-1]
    # Without a wait it would be one round trip of 40 ms.
    assert found[0] < 60 / RTT_S


def test_responsiveness_follows_the_draft() -> None:
    each = rpm.responsiveness(np.full(20, 0.1), np.full(20, 0.2))
    assert each is not None
    assert each.foreign == pytest.approx(600)
    assert each.own == pytest.approx(300)
    assert each.rpm == pytest.approx(450)  # a mean of rates, not of times
    assert rpm.responsiveness(np.array([]), np.full(3, 0.1)) is None
    # The longest twentieth does not count.
    assert rpm.trimmed(np.array([*[0.1] * 19, 100.0])) == pytest.approx(0.1)
    assert rpm.trimmed(np.array([*[0.1] * 9, 100.0])) == pytest.approx(0.1)
    assert math.isnan(rpm.trimmed(np.array([])))
    words = [rpm.category(value) for value in (299.9, 300, 999.9, 1000, 5999, 6000)]
    assert words == ["poor", "fair", "fair", "good", "good", "excellent"]


def test_confidence_follows_the_draft() -> None:
    # 45 s have nine intervals of 5 s, and so six moving averages of four; the last ends with the window.
    spans = rpm.moving(15.0, 60.0)
    assert [span[1] for span in spans] == [35.0, 40.0, 45.0, 50.0, 55.0, 60.0]
    assert {end - begin for begin, end in spans} == {20.0}
    assert rpm.moving(5.0, 20.0) == []
    assert rpm.is_stable([100.0, 102.0, 99.0]) is None
    assert rpm.is_stable([50.0, 100.0, 102.0, 99.0, 100.0]) is True
    assert rpm.is_stable([100.0, 130.0, 100.0, 130.0]) is False
    assert rpm.confidence([True, None]) == "low"
    assert rpm.confidence([True, False]) == "medium"
    assert rpm.confidence([True, True]) == "high"


def test_the_score_of_a_call_is_that_of_the_e_model() -> None:
    # Table B.1 of G.107 has these pairs of R and MOS; 93.2 is R with all defaults.
    for rating, expected in (
        (90, 4.34),
        (80, 4.03),
        (70, 3.60),
        (60, 3.10),
        (50, 2.58),
        (93.2, 4.41),
    ):
        assert score(rating) == pytest.approx(expected, abs=0.0075)
    assert (score(-1), score(101)) == (1.0, 4.5)
    assert mos(0.02, 0.0) == mos(0.1, 0.0) == score(93.2)  # up to 100 ms are no impairment
    assert mos(0.4, 0.0) < mos(0.2, 0.0) < mos(0.1, 0.0)
    # A loss of 4.3 %, the robustness, costs half of the model's 95.
    assert mos(0.02, 0.043) == pytest.approx(score(93.2 - 95 / 2))


def test_a_call_waits_in_the_queue_of_its_direction() -> None:
    found = measured("voip", cc="newreno", flows=20)
    # Half of the RTT, and 212 B at 10 Mbit/s and at the access link's 100 Mbit/s.
    alone = RTT_S / 2 + 212 * 8 * (1 / 10e6 + 1 / 100e6)
    for way in ("up", "down"):
        assert found[f"voice.{way}.idle.delay"] == pytest.approx(alone, rel=0.005)
        assert found[f"voice.{way}.idle.jitter"] < 1e-6
        assert found[f"voice.{way}.idle.loss"] == 0
        assert found[f"voice.{way}.idle.mos"] == pytest.approx(4.41, abs=0.005)
    assert found["voice.down.load.delay"] == pytest.approx(alone, rel=0.01)
    late = found["voice.up.load.delay"] - alone
    assert late == pytest.approx(found["load.p50_s"] - found["idle.p50_s"], rel=0.1)
    assert late == pytest.approx(found["up.queue_mean_s"], rel=0.1)
    assert found["voice.up.load.loss"] > 0.001
    assert found["voice.up.load.mos"] < found["voice.down.load.mos"] - 0.5


OF_FLOWS = [test for test in canned.every() if not test.is_program]


@pytest.mark.parametrize("test", OF_FLOWS, ids=lambda test: test.name)
def test_every_test_runs_and_says_what_it_is(test: canned.Canned, fullpipe: Fullpipe) -> None:
    assert test.purpose.endswith(".")
    assert test.probes
    done = fullpipe("test", test.name, "--rate", "10mbit", "--duration", "8s", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["test"] == test.name
    assert told["values"]["down.flows"]["mean"] == test.down
    assert told["values"]["up.flows"]["mean"] == test.up
    assert told["values"]["load.p50_s"]["mean"] >= told["values"]["idle.p50_s"]["mean"]
    assert (len(told["sentences"]) == 2) == bool(test.calls)
    assert told["phases_s"] == pytest.approx(
        {"load": 8 / 12, "measured": 2.0, "end": 8.0}, abs=1e-3
    )
    explained = fullpipe("explain", test.name).stdout
    assert test.purpose in " ".join(explained.split())
    assert all(name in explained for name in test.flent)


def test_a_name_of_flent_stands_for_one_test() -> None:
    names = [name for test in canned.every() for name in test.flent]
    assert len(names) == len(set(names))


def test_without_a_name_it_lists_them(fullpipe: Fullpipe) -> None:
    listed = fullpipe("test").stdout
    assert listed == fullpipe("list", "tests").stdout
    assert [line.split()[0] for line in listed.splitlines()] == [
        test.name for test in canned.every()
    ]


SHORT = ("--rate", "10mbit", "--rtt", "20ms", "--buffer", "4bdp", "--duration", "12s")


def test_repetitions_give_intervals(fullpipe: Fullpipe) -> None:
    each = [
        json.loads(fullpipe("test", "rrul", *SHORT, "--seed", seed, "--json").stdout)["values"]
        for seed in ("3", "4", "5")
    ]
    told = json.loads(
        fullpipe("test", "rrul", *SHORT, "--seed", "3", "--repeat", "3", "--json").stdout
    )
    assert told["seeds"] == [3, 4, 5]
    for name in ("rpm", "load.p50_s", "down.goodput_bps"):
        found = told["values"][name]
        assert found["mean"] == pytest.approx(sum(one[name]["mean"] for one in each) / 3)
        assert found["low"] < found["mean"] < found["high"]
        assert each[0][name]["low"] is None
    shown = fullpipe("test", "rrul", *SHORT, "--repeat", "3").stdout
    assert "means of 3 seeds [95 % interval]" in " ".join(shown.split())
    assert "[" in next(line for line in shown.splitlines() if line.startswith("under load"))
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_the_load_has_the_algorithm_and_the_number_that_one_asks_for(fullpipe: Fullpipe) -> None:
    shown = fullpipe("test", "tcp_nup", *SHORT, "--cc", "bbr3", "--flows", "2").stdout
    line = next(line for line in shown.splitlines() if line.startswith("upload"))
    assert line.split()[:3] == ["upload", "(bbr3)", "2"]


MINE = """
import fullpipe


class Mine:
    def __init__(self, config):
        self.cwnd = 20 * config.smss

    def on_ack(self, cx, ack):
        pass

    def decision(self):
        return fullpipe.Decision(cwnd=self.cwnd)
"""


@pytest.mark.parametrize("cc", ["mine.py:Mine", "mine:Mine", "policy:power"])
@pytest.mark.parametrize("repeat", ["1", "3"])
def test_the_load_may_have_an_algorithm_of_the_users(
    cc: str, repeat: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    done = fullpipe("test", "download", *SHORT, "--cc", cc, "--repeat", repeat)
    assert done.returncode == 0, done.stderr
    assert "RPM" in done.stdout


def test_a_kept_test_has_its_tables_and_no_probes_among_contenders(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    done = fullpipe("test", "rrul", *SHORT, "--repeat", "3", "--out", "kept")
    assert (done.returncode, done.stderr) == (0, "")
    assert fullpipe("report", "kept", "--format", "md", "--out", "page").returncode == 0
    page = (tmp_path / "page/report.md").read_text(encoding="utf-8")
    about = json.loads((tmp_path / "kept/test.json").read_text(encoding="utf-8"))
    assert set(about["roles"].values()) == {"download", "upload", "probe"}
    assert f"- {about['sentences'][0]}\n" in page
    assert about["sentences"][0] in " ".join(done.stdout.split())
    assert "- Runs: 3, seeds 1 to 3; kept: seed 1\n" in page
    shown = page[page.index("## Test rrul") : page.index("## Results")]
    for table in about["tables"]:
        for row in table["rows"]:
            assert f"| {' | '.join(row)} |" in shown.replace("\\", "")
    results = page[page.index("## Results") : page.index("## Over time")]
    assert "| 4 × download (cubic) |" in results
    assert "| 4 × upload (cubic) |" in results
    assert "probe" not in results
    assert "newreno" not in page[: page.index("## Scenarios and seeds")]
    assert "## Differences" not in page
    # A download is not compared with an upload, which shares another link.
    summary = page[page.index("## Summary") : page.index("## Test rrul")]
    for line in summary.splitlines():
        if "times the goodput of" in line:
            assert ("download" in line) != ("upload" in line)
    # The page as HTML and the replayed run are those of any kept run.
    assert fullpipe("report", "kept", "--out", "page.html").returncode == 0
    replayed = fullpipe("run", "kept/resolved.toml", "--json")
    was = json.loads((tmp_path / "kept/metrics.json").read_text(encoding="utf-8"))
    assert json.loads(replayed.stdout)["flows"] == was["flows"]


def test_two_kept_tests_are_side_by_side(fullpipe: Fullpipe, tmp_path: Path) -> None:
    for queue in ("pfifo", "fq_codel"):
        done = fullpipe("test", "rrul", *SHORT, "--queue", queue, "--out", queue)
        assert done.returncode == 0, done.stderr
    assert (
        fullpipe("report", "pfifo", "fq_codel", "--format", "md", "--out", "page").returncode == 0
    )
    page = (tmp_path / "page/report.md").read_text(encoding="utf-8")
    shown = page[page.index("## Test rrul") : page.index("## Results")]
    for queue in ("pfifo", "fq_codel"):
        about = json.loads((tmp_path / queue / "test.json").read_text(encoding="utf-8"))
        label = f"queue {queue}, link.0.queue {queue}"
        assert f"- {label}: {about['sentences'][0]}\n" in page
        (latency,) = [table for table in about["tables"] if table["title"] == "Latency of requests"]
        assert f"| {label} | {' | '.join(latency['rows'][1])} |" in shown
    assert "probe" not in page[page.index("## Results") : page.index("## Over time")]
    # Another test has other flows: only the runs are side by side.
    assert fullpipe("test", "upload", *SHORT, "--out", "upload").returncode == 0
    assert fullpipe("report", "pfifo", "upload", "--format", "md", "--out", "other").returncode == 0
    assert "## Test" not in (tmp_path / "other/report.md").read_text(encoding="utf-8")


def test_a_damaged_result_is_an_error_with_its_file(fullpipe: Fullpipe, tmp_path: Path) -> None:
    assert fullpipe("test", "upload", *SHORT, "--out", "kept").returncode == 0
    (tmp_path / "kept/test.json").write_text("{}", encoding="utf-8")
    done = fullpipe("report", "kept")
    assert done.returncode == 2
    assert done.stderr.startswith("error: kept/test.json: ")
    assert "\n  fix: " in done.stderr


def test_a_profile_gives_both_directions(fullpipe: Fullpipe) -> None:
    told = json.loads(
        fullpipe("test", "rrul", "--profile", "dsl", "--duration", "24s", "--json").stdout
    )
    values = told["values"]
    assert 20e6 < values["down.goodput_bps"]["mean"] < 50e6
    assert 2e6 < values["up.goodput_bps"]["mean"] < 10e6
    # In Wi-Fi both directions share the medium, of 144.4 Mbit/s.
    wifi = plan(canned.named("rrul"), [("path.profile", "wifi")], [], cc="cubic")
    assert [name for name, _ in wifi.scenario.links] == ["bottleneck"]
    assert "suspend" not in " ".join(wifi.notes)
    # A data center's links are alike in both directions.
    center = plan(canned.named("rrul"), [("path.profile", "datacenter")], [], cc="cubic")
    assert center.scenario.links == [("bottleneck", 10_000_000_000), ("uplink", 10_000_000_000)]
    assert center.scenario.to_toml().count("step_ecn") == 2


def test_options_are_those_of_both_directions() -> None:
    given = [("path.rate", "20mbit"), ("path.queue", "fq_codel"), ("path.buffer", "100packets")]
    made = plan(canned.named("rrul"), given, [("path.queue.target", "7ms")], cc="cubic", up="5mbit")
    assert made.scenario.links == [("bottleneck", 20_000_000), ("uplink", 5_000_000)]
    complete = made.scenario.to_toml()
    assert complete.count('kind = "fq_codel"') == complete.count('target = "7ms"') == 2
    own = plan(canned.named("rrul"), given, [("link.0.queue", "pfifo")], cc="cubic")
    assert own.scenario.to_toml().count('queue = "pfifo"') == 1


def test_what_does_not_fit_uploads_is_said() -> None:
    leo = [("path.profile", "leo")]
    (note,) = plan(canned.named("rrul"), leo, [], cc="cubic").notes
    assert note.startswith(
        "path.reverse_jitter, reverse_loss and suspend act on a flow's data or its ACKs"
    )
    assert plan(canned.named("download"), leo, [], cc="cubic").notes == []


def test_an_unused_link_is_said(fullpipe: Fullpipe) -> None:
    done = fullpipe("test", "download", *SHORT, "--set", "flow.0.receive_window=10kB")
    assert "of the downlink unused: its queue was not always full." in " ".join(done.stdout.split())
    assert "about as long as" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rul",), "error: rul: no such test\n  fix: did you mean rrul?\n"),
        (("rrul_be",), "error: rrul_be: no such test\n  fix: did you mean rrul?\n"),
        (("xyz",), "error: xyz: no such test\n  fix: `fullpipe list tests` has the names\n"),
        (
            ("rrul", "--cc", "cubic,bbr3"),
            "error: --cc cubic,bbr3: the load has one algorithm\n"
            "  fix: name one, and run the test for each\n",
        ),
        (("rrul", "--cc", "cubik"), "error: cubik: not an algorithm\n  fix: did you mean cubic?\n"),
        (
            ("rrul", "--on", "sim,kernel"),
            "error: --on sim,kernel: a test runs on one runner\n"
            "  fix: name one, and run the test for each\n",
        ),
        (
            ("rrul", "--profile", "loopback"),
            "error: the loopback has no link, so that no queue can delay a request\n"
            "  fix: choose another path, like --profile lte\n",
        ),
        (
            ("rrul", "--profile", "lte", "--up", "1mbit"),
            "error: --up can't be used with --profile lte, which has an uplink\n"
            "  fix: use --set link.0.rate=1mbit\n",
        ),
        (
            ("rrul", "--profile", "wifi", "--up", "1mbit"),
            "error: --up 1mbit: both directions share the medium of path.wifi\n"
            "  fix: leave --up out, or choose another path\n",
        ),
        (
            ("rrul", "--", "iperf3", "-c", "100.64.0.1"),
            "error: rrul: the test has its own load\n"
            "  fix: leave COMMAND and --server out, or run fullpipe test program\n",
        ),
        (
            ("program", "--profile", "lte"),
            "error: program: the program is missing\n"
            "  fix: name it behind --, like fullpipe test program --server 'iperf3 -s' -- iperf3 -c 100.64.0.1\n",
        ),
        (
            ("program", "--repeat", "3", "--", "true"),
            "error: --repeat: the load of the test program is COMMAND, which runs once in real time\n"
            "  fix: leave --repeat out\n",
        ),
        (
            ("program", "--server", "iperf3 '-s", "--", "true"),
            "error: --server: No closing quotation\n  fix: close the quotes\n",
        ),
        (
            ("program", "iperf3", "-R"),
            "error: -R: not an option of fullpipe test, but perhaps of iperf3\n"
            "  fix: put -- in front of the program: fullpipe test program -- iperf3 -R\n",
        ),
        (
            ("rrul", "--set", "measure_from=2s"),
            "error: measure_from = 2s: the load is from 5 s to 60 s\n"
            "  fix: give a time in it, or leave measure_from out\n",
        ),
    ],
)
def test_errors_have_a_fix(words: tuple[str, ...], said: str, fullpipe: Fullpipe) -> None:
    done = fullpipe("test", *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_a_usual_warm_up_is_the_one_that_is_measured(fullpipe: Fullpipe) -> None:
    done = fullpipe("test", "rrul", "--set", "measure_from=auto", "--duration", "20s", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["phases_s"]["measured"]
    assert told == pytest.approx(10, rel=0.01)
    kept = fullpipe("test", "rrul", "--set", f"measure_from={told}s", "--duration", "20s", "--json")
    assert json.loads(kept.stdout)["values"] == json.loads(done.stdout)["values"]


def test_errors_of_the_path_name_the_option(fullpipe: Fullpipe) -> None:
    for words, place in (
        (("--rate", "fast"), "--rate fast: "),
        (("--duration", "long"), "--duration long: "),
        (("--profile", "ltee"), "ltee"),
    ):
        done = fullpipe("test", "rrul", *words)
        assert done.returncode == 2
        assert place in done.stderr
        assert "\n  fix: " in done.stderr


def test_a_path_that_is_too_fast_for_a_call_is_refused() -> None:
    with pytest.raises(PlanError, match="too fast to record the packets of calls"):
        plan(canned.named("voip"), [("path.rate", "10gbit")], [], cc="cubic")
    with pytest.raises(ScenarioError):
        plan(canned.named("voip"), [("path.rate", "-1mbit")], [], cc="cubic")
    # On a fast path the voice is recorded until the trace is full.
    fast = plan(canned.named("voip"), [("path.rate", "400mbit")], [], cc="cubic")
    assert fast.measured_s < fast.calls_until_s < fast.scenario.duration_s


@pytest.fixture
def kernel(fullpipe: Fullpipe) -> Fullpipe:
    """The command, where the kernel's runner is allowed."""
    words = ("--rate", "5mbit", "--rtt", "20ms", "--duration", "100ms", "--on", "kernel")
    done = fullpipe("run", "newreno", *words)
    if done.returncode:
        refused = ("does not allow", "/dev/net/tun", "needs Linux")
        assert any(word in done.stderr for word in refused), done.stderr
        pytest.skip(done.stderr)
    return fullpipe


def test_the_kernel_measures_what_the_simulator_does(kernel: Fullpipe) -> None:
    path = ("--rate", "20mbit", "--up", "5mbit", "--rtt", "40ms", "--buffer", "4bdp")
    simulated, real = (
        json.loads(kernel("test", "upload", *path, *words).stdout)["values"]
        for words in (
            ("--duration", "12s", "--json"),
            ("--duration", "12s", "--json", "--on", "kernel"),
        )
    )
    # A busy machine is late by some milliseconds.
    assert 0.040 <= real["idle.p50_s"]["mean"] < 0.060
    assert real["load.p50_s"]["mean"] == pytest.approx(simulated["load.p50_s"]["mean"], rel=0.3)
    assert real["rpm"]["mean"] == pytest.approx(simulated["rpm"]["mean"], rel=0.3)
    assert real["up.goodput_bps"]["mean"] == pytest.approx(4.8e6, rel=0.1)


def test_the_kernel_refuses_calls(kernel: Fullpipe) -> None:
    done = kernel("test", "voip", "--rate", "10mbit", "--on", "kernel")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: voip: --on kernel has no voice, which reacts to no loss\n"
        "  fix: leave --on out, or choose a test without a call, like upload\n"
    )


SERVER = """
import socket
with socket.create_server(("0.0.0.0", 7000)) as server:
    while True:
        client, _ = server.accept()
        try:
            while True:
                client.sendall(bytes(1 << 16))
        except OSError:
            client.close()
"""
CLIENT = """
import socket, sys, time
end = time.monotonic() + float(sys.argv[1])
with socket.create_connection(("100.64.0.1", 7000)) as server:
    while time.monotonic() < end and server.recv(1 << 16):
        pass
sys.exit(int(sys.argv[2]))
"""
BEHIND = ("--rate", "10mbit", "--up", "2mbit", "--rtt", "40ms", "--buffer", "4bdp")


@pytest.fixture
def behind(fullpipe: Fullpipe, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Calls `fullpipe test program` with a download of some seconds that ends with an exit code."""
    needed()
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    server = f"--server={sys.executable} {tmp_path / 'server.py'}"

    def call(seconds: int, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        client = [sys.executable, str(tmp_path / "client.py"), f"{seconds}", f"{code}"]
        return fullpipe("test", "program", *BEHIND, *words, server, "--", *client)

    return call


def test_a_program_is_the_load(
    behind: Callable[..., subprocess.CompletedProcess[str]], fullpipe: Fullpipe, tmp_path: Path
) -> None:
    done = behind(60, "--duration", "12s", "--cc", "reno", "--out", "kept", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    values = made["values"]
    # The end of the test ends the program. A busy machine is late by some milliseconds.
    assert 0.040 <= values["idle.p50_s"]["mean"] < 0.060
    assert values["load.p50_s"]["mean"] > values["idle.p50_s"]["mean"] + 0.04
    assert values["down.goodput_bps"]["mean"] == pytest.approx(9.65e6, rel=0.15)
    assert (values["down.flows"]["mean"], values["up.flows"]["mean"]) == (1, 0)
    assert values["rpm"]["mean"] == pytest.approx(60 / values["load.p50_s"]["mean"], rel=0.25)
    simulated = json.loads(
        fullpipe(
            "test", "download", *BEHIND, "--duration", "12s", "--cc", "newreno", "--json"
        ).stdout
    )["values"]
    assert values["load.p50_s"]["mean"] == pytest.approx(simulated["load.p50_s"]["mean"], rel=0.35)
    assert fullpipe("report", "kept", "--format", "md", "--out", "page").returncode == 0
    page = (tmp_path / "page/report.md").read_text(encoding="utf-8")
    assert f"- {made['sentences'][0]}\n" in page
    assert "## Test program" in page
    assert "| download |" in page


def test_the_exit_code_is_the_programs(
    behind: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = behind(4, "--duration", "6s", code=7)
    assert done.returncode == 7, done.stderr
    assert "Under load a request takes" in done.stdout


def test_a_program_without_a_load_is_an_error(
    behind: Callable[..., subprocess.CompletedProcess[str]], fullpipe: Fullpipe
) -> None:
    early = behind(0, "--duration", "6s")
    assert early.returncode == 2
    assert "the program ended after " in early.stderr
    assert ", within the warm-up of 1 s\n  fix: let it transfer for longer" in early.stderr
    for program, said in (
        (("sleep", "9"), "error: the program sent nothing through the path\n  fix: "),
        (("no-such-program",), "error: no-such-program: No such file or directory\n  fix: "),
    ):
        done = fullpipe("test", "program", *BEHIND, "--duration", "3s", "--", *program)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_a_program_that_is_ended_has_ended_when_its_probes_have(tmp_path: Path) -> None:
    """Else asyncio may complain about the closed loop in which it waited for the program."""
    spec = {"probes": 0, "pause_s": 0.1, "start_s": 0, "end_s": 0.2, "quiet": False}
    stays = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
    for code in ("import time; time.sleep(60)", stays):
        words = ["near", "record.json", json.dumps(spec), sys.executable, "-c", code]
        done = subprocess.run(
            [sys.executable, "-m", "fullpipe.wings.real.loadtest.echo", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads((tmp_path / "record.json").read_text())["code"] == 0
