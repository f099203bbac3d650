"""Relations between two runs that hold for every model: a scenario that is shifted, renamed, rewritten or rescaled.

FULLPIPE_RELATIONS is the number of scenarios that are drawn. A failure has the metrics that differ, and both scenarios.
"""

from __future__ import annotations

import copy
import random
import re
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

import depth
import fullpipe
from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Scenario = dict[str, Any]

QUEUES = [each["name"] for each in _core.queues()]
ALGORITHMS = [each["name"] for each in _core.algorithms()]
RECEIVERS = ["rledbat"]
MARKED = [each["name"] for each in _core.algorithms() if each["marks"]]
# Their controllers run at multiples of a time: a shift is one of all of them.
PERIODIC = {"pie": 15, "dualpi2": 16}
# Flows are hashed to their queues, by their numbers.
HASHED = {"fq_codel", "cake", "sfq"}
# The queue red refuses a quarter of a BDP, which is below its burst.
BUFFERS = {queue: ["0.25bdp", "2bdp"] for queue in QUEUES} | {"red": ["0.5bdp", "2bdp"]}
DRAWN = depth.of("FULLPIPE_RELATIONS", 30, 600)


def text(scenario: Scenario) -> str:
    """Returns a scenario's file."""
    top = [
        f"{key} = {value}" for key, value in scenario.items() if not isinstance(value, (dict, list))
    ]
    tables = [("[path]", scenario["path"])]
    tables += [("[[flow]]", each) for each in scenario["flow"]]
    tables += [("[[workload]]", each) for each in scenario.get("workload", [])]
    for head, table in tables:
        top += [head, *(f"{key} = {value}" for key, value in table.items())]
    return "\n".join(top)


def measured(scenario: Scenario, trace: str = "off") -> dict[str, object]:
    """Returns a run's metrics by name: `flow.a.rtt_s.mean`; without the drift, whose parts divide times to a packet."""
    metrics: dict[str, Any] = {**fullpipe.run(text(scenario), trace=trace).metrics}
    parts = {
        f"{kind}.{each['name']}": each
        for kind in ("flow", "workload", "link")
        for each in metrics.get(f"{kind}s", [])
    }
    flat = {key: value for key, value in _flat(parts, "") if ".drift." not in key}
    flat["jain"] = metrics["jain"]
    return flat


def _flat(value: object, name: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{name}.{number}")
    elif name.rpartition(".")[2] not in ("name", "cc"):
        yield name.removeprefix("."), value


def differing(
    one: dict[str, object], other: dict[str, object], share: float = 1e-9
) -> dict[str, tuple[object, object]]:
    """Returns the metrics that differ by more than a share, by default the rounding of a sum."""
    assert one.keys() == other.keys()
    return {
        key: (value, other[key])
        for key, value in one.items()
        if value != other[key]
        and not (isinstance(value, float) and other[key] == pytest.approx(value, share, share / 10))
    }


def assert_equal(
    one: Scenario,
    other: Scenario,
    rename: Callable[[str], str] = str,
    but: str = "none",
    share: float = 1e-9,
) -> None:
    """Fails with both scenarios if their metrics differ, but for those whose name has a word."""
    first = {rename(key): value for key, value in measured(one).items()}
    found = differing(first, measured(other), share)
    found = {key: values for key, values in found.items() if but not in key}
    assert not found, f"{found}\n\n{text(one)}\n\n{text(other)}"


def alone(cc: str, queue: str, buffer: str, ecn: str | None) -> Scenario:
    """Returns the scenario of one flow of three seconds."""
    flow = {"cc": f'"{cc}"', "start": '"0s"'}
    if cc in RECEIVERS:
        flow |= {"cc": '"cubic"', "receiver": f'"{cc}"'}
    if ecn:
        flow["ecn"] = f'"{ecn}"'
    path = {"rate": '"10mbit"', "rtt": '"40ms"', "buffer": f'"{buffer}"', "queue": f'"{queue}"'}
    return {"duration": '"4s"', "measure_from": '"1s"', "path": path, "flow": [flow]}


def shifted(scenario: Scenario, seconds: float) -> Scenario:
    """Returns the scenario with everything later."""
    later = copy.deepcopy(scenario)
    places = [
        (later, "duration"),
        (later, "measure_from"),
        *((flow, "start") for flow in later["flow"]),
    ]
    for place, key in places:
        found = re.fullmatch(r'"([\d.]+)s"', place[key])
        assert found, place[key]
        place[key] = f'"{float(found[1]) + seconds:g}s"'
    return later


def drawn(seed: int, queues: list[str] = QUEUES) -> Scenario:
    """Draws a scenario: one to three flows that begin one after the other, on paths of their own lengths."""
    rng = random.Random(seed)
    queue = rng.choice(queues)
    path = {
        "rate": f'"{rng.choice([4, 11, 23])}mbit"',
        "rtt": f'"{rng.choice([12, 37, 61])}ms"',
        "buffer": f'"{rng.choice([21, 58, 190])}packets"',
        "queue": f'"{queue}"',
    }
    if rng.random() < 0.3:
        path["loss"] = f'"every {rng.choice([97, 211])}"'
    if rng.random() < 0.2:
        path["jitter"] = '"2ms"'
    flows = []
    for number in range(rng.randint(1, 3)):
        cc = rng.choice([each for each in ALGORITHMS if each not in RECEIVERS])
        flow = {
            "name": f'"flow-{number + 1}"',
            "cc": f'"{cc}"',
            "start": f'"{number * 0.1173 + rng.random() / 50:.5f}s"',
            "rtt": f'"+{number * 7.311:g}ms"',
        }
        if rng.random() < 0.3 and cc not in MARKED:
            flow["ecn"] = '"ect0"'
        if rng.random() < 0.2:
            flow["app_rate"] = '"1733kbit"'
        if rng.random() < 0.2:
            flow["mss"] = '"1200B"'
        if rng.random() < 0.2:
            flow["bytes"] = '"431kB"'
        flows.append(flow)
    return {
        "duration": '"3s"',
        "measure_from": '"0.5s"',
        "seed": rng.randint(1, 99),
        "path": path,
        "flow": flows,
    }


@pytest.fixture(scope="module")
def without_chance() -> list[str]:
    """The algorithms whose runs have nothing to do with the seed."""
    runs = {cc: alone(cc, "pfifo", "2bdp", None) | {"duration": '"12s"'} for cc in ALGORITHMS}
    hashes = {
        cc: {fullpipe.run(text(run), seed=seed, trace="10ms").trace_hash for seed in (1, 2)}
        for cc, run in runs.items()
    }
    return [cc for cc, found in hashes.items() if len(found) == 1]


@pytest.mark.parametrize("queue", QUEUES)
def test_a_shift_in_time_changes_nothing(queue: str) -> None:
    by = 7.2 if queue in PERIODIC else 7.0  # 7.2 s is a multiple of both periods
    assert not by * 1000 % PERIODIC.get(queue, 1)
    for cc, buffer, ecn in product(ALGORITHMS, BUFFERS[queue], (None, "ect0", "ect1")):
        if ecn and cc in MARKED:  # they choose the code point
            continue
        scenario = alone(cc, queue, buffer, ecn)
        assert_equal(scenario, shifted(scenario, by))


@pytest.mark.parametrize("seed", range(DRAWN))
def test_the_order_of_flows_changes_nothing(seed: int) -> None:
    scenario = drawn(seed, [each for each in QUEUES if each not in HASHED])
    scenario["send_jitter"] = '"20us"'  # no two packets arrive at the same time
    other = copy.deepcopy(scenario)
    other["flow"].reverse()
    assert_equal(scenario, other, share=0)


@pytest.mark.parametrize("seed", range(DRAWN))
def test_the_names_of_flows_change_nothing(seed: int, without_chance: list[str]) -> None:
    scenario = drawn(seed)
    other = copy.deepcopy(scenario)
    # A flow's name is part of the seed of its random numbers.
    used = {flow["cc"].strip('"') for flow in other["flow"]}
    if "jitter" in other["path"] or not used <= set(without_chance):
        return
    for flow in other["flow"]:
        flow["name"] = flow["name"].replace("flow", "other")
    assert_equal(scenario, other, lambda key: key.replace("flow.flow", "flow.other"))


@pytest.mark.parametrize("seed", range(DRAWN))
def test_units_and_the_split_of_the_rtt_change_nothing(seed: int) -> None:
    scenario = drawn(seed)
    other = copy.deepcopy(scenario)
    path = other["path"]
    rate, rtt = (int(re.sub(r"\D", "", path[key])) for key in ("rate", "rtt"))
    path |= {"rate": f'"{rate * 1000}kbit"', "rtt": f'"{rtt * 1000 - 5000}us"'}
    for flow in other["flow"]:
        flow["rtt"] = f'"+{float(re.sub(r"[^0-9.]", "", flow["rtt"])) * 1000 + 5000:g}us"'
    # `queue_within_1_rtt` is of the path's RTT.
    assert_equal(scenario, other, but="queue_within")


@pytest.mark.parametrize("seed", range(DRAWN))
def test_a_trace_changes_nothing(seed: int) -> None:
    scenario = drawn(seed)
    if seed % 2:
        web = {
            "name": '"web"',
            "model": '"lognormal median 10kB sigma 2 max 20MB"',
            "load": 0.4,
            "cc": '"cubic"',
        }
        scenario["workload"] = [web]
    first = measured(scenario, trace="off")
    for interval in ("1ms", "10ms", "77ms", "ack"):
        traced = measured(scenario, trace=interval)
        found = {key: (value, traced[key]) for key, value in first.items() if value != traced[key]}
        assert not found, f"trace = {interval}: {found}\n\n{text(scenario)}"


def test_a_count_is_as_many_tables() -> None:
    for cc in ALGORITHMS:
        scenario = alone(cc, "pfifo", "2bdp", None)
        flow = scenario["flow"][0]
        counted = {**scenario, "flow": [{**flow, "name": '"x"', "count": 3}]}
        listed = {**scenario, "flow": [{**flow, "name": f'"x-{number}"'} for number in (1, 2, 3)]}
        assert_equal(counted, listed)


NEUTRAL = {
    "a constant schedule": ("path", {"rate_pattern": '"schedule 0s 10mbit, 2s 10mbit"'}),
    "a constant delay trace": ("path", {"delay_trace": '"0s 20ms"'}),
    "a list of losses after the last packet": ("path", {"loss": '"list 1000000"'}),
    "no loss": ("path", {"loss": '"0%"'}),
    "a policer above the rate": ("path", {"policer": '"1gbit burst 10MB"'}),
    "a shaper that is off": ("path", {"shaper": '"off"'}),
    "GRO of a nanosecond": ("flow", {"gro": '"1ns"'}),
    "jitter of a nanosecond": ("path", {"jitter": '"1ns"'}),
}


@pytest.mark.parametrize("name", NEUTRAL)
@pytest.mark.parametrize("queue", ["pfifo", "fq_codel", "pie"])
def test_an_element_without_effect_has_none(name: str, queue: str) -> None:
    where, keys = NEUTRAL[name]
    nanosecond = "nanosecond" in name
    for cc in ALGORITHMS:
        if nanosecond and cc in RECEIVERS:  # it has exact bounds in the middle of its range
            continue
        scenario = alone(cc, queue, "2bdp", None)
        other = copy.deepcopy(scenario)
        (other["path"] if where == "path" else other["flow"][0]).update(keys)
        assert_equal(scenario, other, share=1e-4 if nanosecond else 1e-9)


def test_threads_change_nothing() -> None:
    for seed in range(3):
        scenario = text(drawn(seed))
        rows = [
            fullpipe.sweep(
                scenario, {"path.rtt": ["20ms", "50ms"]}, repeat=4, threads=threads
            ).frame()
            for threads in (1, 2, 5)
        ]
        assert rows[0].equals(rows[1])
        assert rows[0].equals(rows[2])


def test_twice_the_rate_and_half_of_each_time_is_the_same_run() -> None:
    """Reno has no times of its own but those of timeouts: without one each time is half as long."""
    for buffer in ("34packets", "90packets"):
        runs = []
        for scale in (1, 2, 4):
            scenario = alone("newreno", "pfifo", buffer, None)
            scenario["path"] |= {"rate": f'"{8 * scale}mbit"', "rtt": f'"{200 / scale:g}ms"'}
            scenario |= {
                "stack": '"rfc"',
                "duration": f'"{40 / scale:g}s"',
                "measure_from": f'"{4 / scale:g}s"',
            }
            scenario["flow"][0] |= {"delayed_ack": 1}
            runs.append(measured(scenario))
        for scale, run in zip((2, 4), runs[1:], strict=True):
            for key, value in runs[0].items():
                if isinstance(value, float) and "_s." in key:
                    assert run[key] == pytest.approx(value / scale, rel=1e-3), key
                elif isinstance(value, float) and key.endswith("goodput_bps"):
                    assert run[key] == pytest.approx(value * scale, rel=1e-3), key
                elif isinstance(value, int):
                    assert run[key] == value, key


def test_what_is_acknowledged_stays_so() -> None:
    for cc in ("cubic", "bbr3"):
        scenario = alone(cc, "pfifo", "0.5bdp", None)
        scenario["path"] |= {"loss": '"2%"', "jitter": '"histogram 0ms 60, 2ms 30, 9ms 10, 20ms 0"'}
        scenario["flow"][0] |= {"app_rate": '"3.3mbit"'}  # writes less than a segment
        flows = fullpipe.run(text(scenario), trace="ack").trace("flows")
        acked = flows["acked"].to_list()
        assert acked == sorted(acked)
        assert all(
            acked <= delivered for acked, delivered in flows.select("acked", "delivered").rows()
        )
