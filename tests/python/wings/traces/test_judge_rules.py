"""The rules of `fullpipe trace judge`: our own runs keep them, and a broken variant misses the one that it breaks."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pytest

import depth
import fullpipe
from fullpipe.study.verdicts.judged import Verdict
from fullpipe.wings.traces.behavior.conditions import CONDITIONS, of_algorithm
from fullpipe.wings.traces.behavior.judge import judge
from fullpipe.wings.traces.behavior.observed import Observed
from fullpipe.wings.traces.behavior.rules import Rules
from fullpipe.wings.traces.behavior.source import of_run, open_trace
from judged_senders import Deaf, Endless, Reno

if TYPE_CHECKING:
    from pathlib import Path

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
    class Twice(Reno):
        """Reno that adds two segments in a round trip."""

        growth = 2

    scenario = {"duration": "25s", "path": SHALLOW, "flow": [{"cc": "twice"}]}
    run = fullpipe.run(scenario, trace="ack", controllers={"twice": Twice})
    found = {each.condition.key: each for each in judge(of_run(run), Rules("newreno", {}))}
    assert set(_missed(found)) == {"reno-growth"}


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
