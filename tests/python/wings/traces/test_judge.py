"""`fullpipe trace judge`: conditions on traces of our own runs, of broken variants, and of files."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import depth
import fullpipe
import served
from fullpipe.errors import UNEVALUATED
from fullpipe.study.verdicts.judged import Verdict
from fullpipe.wings.traces.behavior.conditions import CONDITIONS, of_algorithm
from fullpipe.wings.traces.behavior.conditions.loss import loss_rate
from fullpipe.wings.traces.behavior.judge import judge
from fullpipe.wings.traces.behavior.model import Model
from fullpipe.wings.traces.behavior.observed import Observed
from fullpipe.wings.traces.behavior.rules import Rules
from fullpipe.wings.traces.behavior.source import of_run, open_trace

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from fullpipe.wings.traces.behavior.judge import Found

JUDGED = sorted({name for each in CONDITIONS for name in each.sections})
DRAWS = 6
JUDGED_DRAWS, QLOG_EACH = depth.of("FULLPIPE_JUDGED", 10, 400), 8

# A path on which the variants below differ: a queue of three BDP, or for CUBIC losses.
DEEP: dict[str, Any] = {"rate": "40mbit", "rtt": "60ms", "buffer": "3bdp"}
SHALLOW: dict[str, Any] = {"rate": "15mbit", "rtt": "60ms", "buffer": "1bdp"}
# Almost all packets of two and a half round trips are lost, so that little is delivered in one of them.
GAP: dict[str, Any] = DEEP | {
    "change": [{"at": "6s", "loss": "98%"}, {"at": "6.15s", "loss": "0%"}]
}
# Algorithm, changed parameters, the condition meant for them, and the path.
BROKEN: list[tuple[str, dict[str, float], str, dict[str, Any]]] = [
    ("cubic", {"beta": 0.5}, "beta", SHALLOW),
    ("cubic", {"beta": 0.85}, "beta", SHALLOW),
    ("cubic", {"c": 2.0}, "cubic-curve", SHALLOW),
    ("bbr3", {"startup_pacing_gain": 2.0}, "startup-gain", DEEP),
    ("bbr3", {"drain_pacing_gain": 0.9}, "drain-gain", DEEP),
    ("bbr3", {"drain_pacing_gain": 0.95, "drain_rounds": 1}, "drained", DEEP),
    ("bbr3", {"cruise_pacing_gain": 1.2}, "cruise-gain", DEEP),
    ("bbr3", {"cwnd_gain": 4.0}, "window-cap", DEEP),
    ("bbr3", {"probe_rtt_interval": 20}, "probe-rtt", DEEP),
    ("bbr3", {"probe_rtt_interval": 3}, "probe-rtt", DEEP),
    ("bbr3", {"probe_rtt_cwnd_gain": 1.0}, "probe-rtt-inflight", DEEP),
    ("bbr3", {"probe_rtt_duration": 1.0}, "probe-rtt-duration", DEEP),
    ("bbr3", {"probe_wait_base": 8.0}, "probe-interval", DEEP),
    ("bbr3", {"probe_wait_base": 0.0, "probe_wait_spread": 0.0}, "probe-interval", DEEP),
    ("bbr3", {"beta": 0.2}, "loss-floor", GAP),
    ("bbr1", {"high_gain": 2.0}, "startup-gain", DEEP),
    ("bbr1", {"min_rtt_window": 5}, "probe-rtt", DEEP),
    ("bbr1", {"min_rtt_window": 60}, "probe-rtt", DEEP),
]


def _judged(
    algorithm: str,
    path: dict[str, Any],
    params: dict[str, float] | None = None,
    *,
    seed: int = 1,
    of: str = "",
) -> dict[str, Found]:
    """Runs an algorithm with changed parameters, and judges it by its declared ones, or as another algorithm."""
    scenario = {
        "duration": "25s",
        "path": path,
        "flow": [{"cc": algorithm, "params": params or {}}],
    }
    trace = of_run(fullpipe.run(scenario, trace="ack", seed=seed))
    return {each.condition.key: each for each in judge(trace, Rules(of or algorithm, {}))}


def _missed(found: dict[str, Found]) -> dict[str, str]:
    return {key: each.difference for key, each in found.items() if each.different}


@pytest.mark.parametrize("algorithm", JUDGED)
def test_our_own_runs_keep_their_rules_on_drawn_paths(algorithm: str) -> None:
    draw = random.Random(algorithm)
    evaluated: set[str] = set()
    for seed in range(DRAWS):
        path = {
            "rate": f"{draw.uniform(4, 60):.1f}mbit",
            "rtt": f"{draw.uniform(10, 120):.0f}ms",
            "buffer": f"{draw.uniform(0.5, 4):.2f}bdp",
        }
        found = _judged(algorithm, path, seed=seed)
        assert not _missed(found), path
        evaluated |= {key for key, each in found.items() if each.occasions}
    # Every rule but that of rare losses has occasions on these paths.
    assert evaluated >= {each.key for each in of_algorithm(algorithm)} - {"loss-floor"}


def _drawn(algorithm: str, seed: int) -> dict[str, Any]:
    """Draws a path, a stack, and for an algorithm with several the slow start."""
    draw = random.Random(f"{algorithm} {seed}")
    rate, rtt = 5 * 20 ** draw.random(), 5 * 40 ** draw.random()  # Mbit/s, ms
    path: dict[str, Any] = {
        "rate": f"{rate:.1f}mbit",
        "rtt": f"{rtt:.1f}ms",
        # Room for three packets at least.
        "buffer": f"{max(0.3 * 27 ** draw.random(), 36 / (rate * rtt)):.2f}bdp",
        "loss": draw.choice(["0%", "0.1%"]),
    }
    params = {}
    if not algorithm.startswith("bbr"):
        params["slow_start"] = draw.choice(["classic", "hystart++", "hystart"])
    stack = draw.choice(["rfc", "linux"])
    # Without a limit: a capture does not show that one makes BBR's samples application-limited.
    flow = {"cc": algorithm, "params": params, "send_buffer": "unlimited"}
    return {
        "stack": stack,
        "duration": f"{min(max(800 / rate, 6), 25):.1f}s",
        "path": path,
        "flow": [flow],
    }


def _without(trace: Observed, *columns: str) -> Observed:
    """Returns a trace without states and some columns, as other programs write it."""
    kept = {key: values for key, values in trace.columns.items() if key not in columns}
    return Observed(trace.name, trace.time, kept, (), trace.segment)


@pytest.mark.parametrize("algorithm", ["newreno", "cubic", "bbr1", "bbr2", "bbr3"])
def test_a_correct_sender_is_never_called_wrong(algorithm: str, tmp_path: Path) -> None:
    for seed in range(JUDGED_DRAWS):
        scenario = _drawn(algorithm, seed)
        run = fullpipe.run(scenario, trace="ack", seed=seed)
        traces = {"run": of_run(run)}
        if seed % QLOG_EACH == 0:
            run.qlog(tmp_path / f"{seed}.qlog")
            traces["qlog"] = open_trace(tmp_path / f"{seed}.qlog").observed
        traces["stateless"] = _without(traces["run"])
        traces["no threshold"] = _without(traces["run"], "ssthresh")
        traces["capture"] = _without(traces["run"], "ssthresh", "cwnd", "pacing_rate")
        traces["no flight"] = _without(traces["run"], "inflight")
        for form, trace in traces.items():
            found = judge(trace, Rules(algorithm, {}, scenario["stack"]))
            missed = _missed({each.condition.key: each for each in found})
            assert not missed, (seed, form, scenario)


@pytest.mark.parametrize("algorithm", ["newreno", "cubic"])
def test_the_end_of_a_recovery_is_that_of_the_states_or_of_the_data(algorithm: str) -> None:
    """Data tell it at most two round trips late, and without them it is not known."""
    ends = 0
    for seed in range(DRAWS):
        trace = of_run(fullpipe.run(_drawn(algorithm, seed), trace="ack", seed=seed))
        stays = trace.stays("recovery")
        for event in _without(trace).episodes:
            if event.recovered == math.inf and not stays[-1].whole:
                continue  # the trace ends within it
            inside = [each for each in stays if each.begin <= event.recovered]
            rtt = float(trace.rtt[trace.rows(event.begin, event.recovered)].max())
            assert inside[-1].end <= event.recovered <= inside[-1].end + 2 * rtt
            ends += 1
    assert ends > 20
    found = judge(_without(trace, "inflight"), Rules(algorithm, {}))
    reasons = {each.reason for each in found if not each.occasions}
    assert "the trace has no inflight, and no states, that tell the end of a recovery" in reasons


@pytest.mark.parametrize(("algorithm", "params", "key", "path"), BROKEN)
def test_a_broken_variant_is_caught_by_its_condition(
    algorithm: str, params: dict[str, float], key: str, path: dict[str, Any]
) -> None:
    sound = _judged(algorithm, path)
    assert sound[key].verdict is Verdict.MET
    assert not _missed(sound)
    assert key in _missed(_judged(algorithm, path, params))


def test_reno_is_told_from_cubic_and_the_difference_names_time_rule_and_section() -> None:
    missed = _missed(_judged("cubic", SHALLOW, of="newreno"))
    assert set(missed) >= {"halving", "reno-growth"}
    assert missed["halving"] == (
        "window after / before losses: 0.697 instead of 0.45 to 0.55 (RFC 5681 §3.1, equation 4)"
    )
    assert set(_missed(_judged("newreno", SHALLOW, of="cubic"))) >= {"beta"}


def test_a_probe_rtt_that_does_not_come_is_named_with_min_rtts_last_sample() -> None:
    late = _judged("bbr1", DEEP, of="bbr3")["probe-rtt"]
    assert late.difference.startswith(
        "ProbeRTT did not come within 5 s of min_rtt's last sample, 0.12 s"
    )
    assert late.difference.endswith("(draft-ietf-ccwg-bbr-06 §5.3.4)")


def test_two_segments_a_round_trip_are_not_renos_growth() -> None:
    class Twice:
        """Reno that adds two segments in a round trip."""

        def __init__(self, config: Any) -> None:  # noqa: ANN401
            self.cwnd, self.smss = float(config.initial_cwnd), config.smss
            self.ssthresh: int | None = None

        def on_ack(self, cx: Any, ack: Any) -> None:  # noqa: ANN401
            if not cx.conn.in_recovery:
                slow_start = self.ssthresh is None or self.cwnd < self.ssthresh
                self.cwnd += ack.newly_acked * (1.0 if slow_start else 2 * self.smss / self.cwnd)

        def on_recovery(self, cx: Any, change: Any) -> None:  # noqa: ANN401
            del cx
            if change.kind in ("enter", "timeout"):
                self.cwnd = max(self.cwnd / 2, 2.0 * self.smss)
                self.ssthresh = int(self.cwnd)

        def decision(self) -> fullpipe.Decision:
            return fullpipe.Decision(int(self.cwnd), self.ssthresh)

    scenario = {"duration": "25s", "path": SHALLOW, "flow": [{"cc": "twice"}]}
    run = fullpipe.run(scenario, trace="ack", controllers={"twice": Twice})
    found = {each.condition.key: each for each in judge(of_run(run), Rules("newreno", {}))}
    assert set(_missed(found)) == {"reno-growth"}


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


class Reno:
    """Reno, whose changes are its subclasses."""

    beta, ends = 0.5, True

    def __init__(self, config: Any) -> None:  # noqa: ANN401
        self.cwnd, self.smss = float(config.initial_cwnd), config.smss
        self.ssthresh: int | None = None

    def on_ack(self, cx: Any, ack: Any) -> None:  # noqa: ANN401
        if not cx.conn.in_recovery:
            slow_start = self.ssthresh is None or self.cwnd < self.ssthresh
            self.cwnd += ack.newly_acked * (1.0 if slow_start else self.smss / self.cwnd)

    def on_recovery(self, cx: Any, change: Any) -> None:  # noqa: ANN401
        del cx
        if change.kind in ("enter", "timeout"):
            self.cwnd = max(self.cwnd * self.beta, 2.0 * self.smss)
            self.ssthresh = int(self.cwnd) if self.ends else None

    def decision(self) -> fullpipe.Decision:
        return fullpipe.Decision(int(self.cwnd), self.ssthresh)


class Endless(Reno):
    """Reno whose slow start never ends."""

    ends = False


class Greedy(Reno):
    """Reno that keeps almost all of its window after a loss."""

    beta = 0.97


class Deaf(Reno):
    """Reno that keeps all of its window, so that its losses do not end."""

    beta = 1.0


# A queue without room, one for four BDP, and random losses.
PATHS: list[dict[str, Any]] = [
    {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"},
    {"rate": "50mbit", "rtt": "20ms", "buffer": "4bdp"},
    {"rate": "10mbit", "rtt": "100ms", "buffer": "0.5bdp", "queue": "fq_codel"},
    {"rate": "20mbit", "rtt": "40ms", "buffer": "2bdp", "loss": "0.3%"},
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("sender", "missed"),
    [(Reno, set()), (Endless, {"slow-start-end"}), (Deaf, {"slow-start-end"})],
)
def test_a_slow_start_that_losses_do_not_end_is_caught(
    sender: type[Reno], missed: set[str], path: dict[str, Any]
) -> None:
    scenario = {"duration": "20s", "path": path, "flow": [{"cc": "own"}]}
    run = fullpipe.run(scenario, trace="ack", controllers={"own": sender})
    found = {each.condition.key: each for each in judge(of_run(run), Rules("newreno", {}))}
    assert found["slow-start-end"].occasions
    assert set(_missed(found)) & {"slow-start-end"} == missed
    if missed:
        assert "slow start has not ended with the loss at" in found["slow-start-end"].difference
        assert found["slow-start-end"].difference.endswith("(RFC 5681 §3.1, RFC 9002 §7.3.1)")


@pytest.mark.parametrize(
    ("sender", "verdict"), [(Reno, "met"), (Greedy, "not met"), (Endless, "not met")]
)
def test_losses_are_bound_by_those_of_the_model(
    sender: type[Reno], verdict: str, tmp_path: Path
) -> None:
    path = {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp"}
    scenario = {"duration": "40s", "path": path, "flow": [{"cc": "own"}]}
    run = fullpipe.run(scenario, trace="ack", controllers={"own": sender})
    run.qlog(tmp_path / "own.qlog")
    words = ("--rate", "10mbit", "--rtt", "40ms", "--buffer", "1bdp", "--json")
    done = _fullpipe(tmp_path / "own.qlog", "--as", "newreno", *words)
    found = {each["condition"]: each for each in json.loads(done.stdout)["conditions"]}["loss-rate"]
    assert (found["verdict"], found["unit"]) == (verdict, "%")


def test_a_bound_that_no_loss_can_miss_is_not_evaluated() -> None:
    """A full pipe is more than all packets of a short trace."""
    short = Path(__file__).parents[2] / "short.qlog"
    words = ("--rate", "20mbit", "--rtt", "40ms", "--buffer", "1bdp", "--json")
    done = _fullpipe(short, "--as", "cubic", *words)
    found = {each["condition"]: each for each in json.loads(done.stdout)["conditions"]}["loss-rate"]
    assert found["verdict"] == "not evaluated"
    assert "and all may be lost: a full pipe of the model is" in found["reason"]


def test_a_model_on_a_fast_path_has_a_trace() -> None:
    short = Path(__file__).parents[2] / "short.qlog"
    done = _fullpipe(short, "--as", "cubic", "--rate", "20gbit", "--rtt", "40ms", "--buffer=1bdp")
    assert done.returncode in (0, 1, 3), done.stderr


@pytest.mark.parametrize("algorithm", ["newreno", "cubic", "bbr3"])
def test_losses_of_other_stacks_with_the_same_rules_are_within_the_bound(algorithm: str) -> None:
    """Other packet sizes, ACKs, pacing and starts, on drawn paths."""
    draw = random.Random(algorithm)
    paced: list[dict[str, Any]] = (
        [] if algorithm == "bbr3" else [{"pacing": "off"}, {"pacing": "on"}]
    )
    for number in range(3):
        rate, rtt = draw.uniform(4, 60) * 1e6, draw.uniform(0.01, 0.12)
        path = {
            "rate": f"{rate:.0f}bit",
            "rtt": f"{rtt * 1e6:.0f}us",
            "buffer": f"{draw.uniform(0.5, 4):.2f}bdp",
            **({"loss": "0.5%"} if number == 2 else {}),
        }
        scenario = {"duration": "15s", "path": path, "flow": [{"cc": algorithm}]}
        model = Model(scenario, {}, rate, rtt, 15.0)
        bound = loss_rate(algorithm, [of_run(model.run(seed)) for seed in range(1, 6)])
        for more in (
            *paced,
            {"mss": "1200B"},
            {"delayed_ack": 1},
            {"initial_window": 32},
            {"tso": "on"},
        ):
            run = fullpipe.run(
                scenario | {"flow": [{"cc": algorithm, **more}]}, trace="ack", seed=77
            )
            [*_, found] = judge(of_run(run), Rules(algorithm, {}), [bound])
            assert found.verdict is Verdict.MET, (path, more, found.difference)


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


def test_the_model_of_a_transfer_runs_as_long_as_the_transfer(tmp_path: Path) -> None:
    scenario = {
        "duration": "12s",
        "path": {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"},
        "flow": [{"cc": "newreno", "bytes": "10MB"}],
    }
    fullpipe.run(scenario, trace="10ms").qlog(tmp_path / "transfer.qlog")
    words = ("--as", "newreno", "--rate", "20mbit", "--rtt", "40ms", "--seeds", 2)
    out = tmp_path / "judged"
    done = _fullpipe(tmp_path / "transfer.qlog", *words, "--out", out)
    assert done.returncode == UNEVALUATED, done.stdout  # one loss, at the end of slow start
    metrics = json.loads((out / "model" / "metrics.json").read_text())
    assert metrics["duration_s"] == pytest.approx(4.4)
    # 10 MB of segments of 1,448 bytes: Reno adds one of them in a round trip.
    growth = json.loads((out / "judge.json").read_text())["conditions"][2]
    assert growth["condition"] == "reno-growth"
    assert growth["measured"] == pytest.approx(1.0, abs=0.05)


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
    scenario = {"duration": "10s", "path": SHALLOW, "flow": [{"cc": "cubic"}]}
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
