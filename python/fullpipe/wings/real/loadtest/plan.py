"""The scenario of a canned test on a path: its links in both directions, its flows and its phases."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.algorithms.resolve import described_in
from fullpipe.base.toml import document
from fullpipe.errors import UserError
from fullpipe.runs.lengths import times_of
from fullpipe.scenario.origin import PATH, TIMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.scenario.canned import Canned

UPLINK = "uplink"
"""The link from the client to the server; the bottleneck is the one to the client. Profiles have the same names."""
BOTTLENECK = "bottleneck"
INTERVAL, INTERVAL_S = "100ms", 0.1
"""The interval of the trace, and the pause of a probe between a response and its next request."""
_IDLE_S, _IDLE_SHARE = 5.0, 1 / 12
_MEASURED_S, _MEASURED_SHARE = 15.0, 1 / 4
_JITTER_S = 0.1
_BOTH = ("rate", "buffer", "queue", "loss", "rate_pattern")
"""Keys of the bottleneck that a path without an uplink of its own has in both directions."""
_VOICE = {"cc": "none", "app_rate": "64kbit", "mss": "160B"}
"""G.711: 64 kbit/s in packets of 20 ms."""
_MOST_PACKETS = 1_900_000
"""Rows of the trace's packets; the simulator records at most two million."""
_PACKET_BITS = 1500 * 8
_OF_DATA = {
    "jitter": "off",
    "reverse_jitter": "off",
    "reverse_loss": "0%",
    "duplicate": "0%",
    "reverse_duplicate": "0%",
    "delay_trace": "off",
    "reverse_delay_trace": "off",
    "suspend": "off",
}
"""Keys of the path that concern a flow's data or its ACKs, whichever direction they take, with their values of no
effect."""


class PlanError(UserError):
    """The test does not fit the path or the times; the text has the fix."""


@dataclass(frozen=True)
class Plan:
    """A test on a path.

    Attributes:
        test: The test.
        text: The scenario.
        settings: Keys that override those of the text.
        scenario: The checked scenario, with the first seed.
        idle_s: End of the idle phase, at which the load begins.
        measured_s: End of the load's warm-up; from then on everything counts.
        trace: The level of the trace.
        calls_until_s: Time until which the packets of calls are recorded.
        notes: What the path does not model for this test, a sentence each.
    """

    test: Canned
    text: str
    settings: Sequence[tuple[str, str]]
    scenario: _core.Scenario
    idle_s: float
    measured_s: float
    trace: str
    calls_until_s: float
    notes: Sequence[str]

    def role(self, flow: str) -> str:
        """Returns the role of a flow: `download`, `upload`, `probe` or `voice`."""
        return flow.partition("-")[0]

    def link(self, way: str) -> str:
        """Returns the link of a direction, `down` or `up`."""
        names = [name for name, _ in self.scenario.links]
        return UPLINK if way == "up" and UPLINK in names else BOTTLENECK


def plan(
    test: Canned,
    path: Sequence[tuple[str, str]],
    settings: Sequence[tuple[str, str]],
    *,
    cc: str,
    flows: int | None = None,
    up: str | None = None,
    seed: int | None = None,
) -> Plan:
    """Makes the scenario of a test.

    Args:
        test: The test.
        path: The options of the path, by their keys.
        settings: Keys with values that override these.
        cc: The algorithm of the load.
        flows: The number of load flows in each direction that has any; None for the test's.
        up: The rate of the uplink; None for the same in both directions, or that of the profile.
        seed: The first seed; None for the scenario's.

    Raises:
        PlanError: When the path has no links, or the times leave nothing to measure.
        ScenarioError: When a value is refused.
    """
    given = dict([*path, *settings])
    profile = given.get("path.profile")
    values = _of_profile(profile)
    if values.get("path.kind") or given.get("path.kind"):
        raise PlanError(
            "the loopback has no link, so that no queue can delay a request\n"
            "  fix: choose another path, like --profile lte"
        )
    if up is not None and f"link.{UPLINK}.rate" in values:
        raise PlanError(
            f"--up can't be used with --profile {profile}, which has an uplink\n  fix: use --set link.0.rate={up}"
        )
    idle, measured = _phases(given.get("duration", TIMES["duration"]))
    times = {
        "duration": TIMES["duration"],
        "measure_from": _ms(measured),
        "start_jitter": _ms(min(_JITTER_S, idle / 2)),
    }
    shared = _shared(values, given)
    mirrored = not shared and f"link.{UPLINK}.rate" not in values
    text = f"# {test.name}: {test.purpose.removesuffix('.')}\n" + document(
        {
            **times,
            "path": {"profile": profile} if profile else PATH,
            "link": [{"name": UPLINK, **_both(profile, values)}] if mirrored else [],
            "flow": _flows(test, cc, flows, _ms(idle), shared=shared),
        }
    )
    if shared and up is not None:
        raise PlanError(
            f"--up {up}: both directions share the medium of path.wifi\n  fix: leave --up out, or choose another path"
        )
    if mirrored:
        also = {f"link.0.{key[5:]}": value for key, value in given.items() if _is_both(key)}
        if up is not None:
            also.pop("link.0.rate_pattern", None)
            also["link.0.rate"] = up
        given = {**given, **also, **dict(settings)}
    fixed = [(key, value) for key, value in given.items() if key != "path.profile"]
    classes = described_in(text, fixed)
    scenario = _core.Scenario.parse(text, test.name, fixed, seed, controllers=classes)
    if "measure_from" in given:
        _, measured = times_of(scenario.to_toml())
    if not idle < measured < scenario.duration_s:
        raise PlanError(
            f"measure_from = {given.get('measure_from')}: the load is from {idle:g} s to {scenario.duration_s:g} s\n"
            f"  fix: give a time in it, or leave measure_from out"
        )
    until = _recorded(scenario, idle) if test.calls else scenario.duration_s
    if until <= measured:
        raise PlanError(
            f"the path is too fast to record the packets of calls: those of {until:.3g} s are two million\n"
            f"  fix: use a slower path, like --rate 100mbit, or a shorter --duration"
        )
    packets = f" packets 0s..{_ms(until)}" if test.calls else ""
    return Plan(
        test,
        text,
        fixed,
        scenario,
        idle,
        measured,
        f"{INTERVAL}{packets}",
        until,
        _notes(test, scenario.to_toml(), shared=shared),
    )


def _of_profile(name: str | None) -> Mapping[str, str]:
    """Returns the values of a profile by key; empty for an unknown one, which the core refuses."""
    for each in _core.profiles():
        if each["name"] == name:
            return {value["key"]: value["value"] for value in each["values"]}
    return {}


def _phases(duration: str) -> tuple[float, float]:
    """Returns the end of the idle phase and that of the load's warm-up, in seconds."""
    total = _seconds(duration) or 0.0  # one that is no time is refused by the core
    return min(_IDLE_S, total * _IDLE_SHARE), min(_MEASURED_S, total * _MEASURED_SHARE)


def _shared(values: Mapping[str, str], given: Mapping[str, str]) -> bool:
    """Returns whether both directions share one medium, as in Wi-Fi."""
    wifi = given.get("path.wifi", values.get("path.wifi", "off"))
    return wifi.strip('"') != "off" and f"link.{UPLINK}.rate" not in values


def _both(profile: str | None, values: Mapping[str, str]) -> Mapping[str, object]:
    """Returns the usual values of an uplink that is like the downlink."""
    if profile is None:
        return {key: PATH[key] for key in ("rate", "buffer")}
    return {
        key: tomllib.loads(f"of = {values[f'path.{key}']}")["of"]
        for key in _BOTH
        if f"path.{key}" in values
    }


def _is_both(key: str) -> bool:
    """Returns whether a setting of the downlink is one of a mirrored uplink, too."""
    return key.startswith("path.queue.") or key.removeprefix("path.") in _BOTH


def _flows(
    test: Canned, cc: str, flows: int | None, start: str, *, shared: bool
) -> list[Mapping[str, object]]:
    """Returns the `[[flow]]` tables: the load, the probes, and the calls."""
    if shared:
        down, up = {"reverse_route": [BOTTLENECK]}, {"reverse_route": [BOTTLENECK]}
    else:
        down, up = {"reverse_route": [UPLINK]}, {"route": [UPLINK], "reverse_route": [BOTTLENECK]}
    made: list[Mapping[str, object]] = []
    for name, count, way in (("download", test.down, down), ("upload", test.up, up)):
        if count:
            load = {"name": name, "cc": cc, "count": flows or count, "start": start}
            made.append({**load, **way})
    probe = {"name": "probe", "cc": "newreno", "app": f"request 1B think {INTERVAL}"}
    made.append({**probe, "count": test.probes, **down})
    for number in range(test.calls):
        last = f"-{number + 1}" if test.calls > 1 else ""
        made.append({"name": f"voice-down{last}", **_VOICE})
        route = {} if shared else {"route": [UPLINK]}
        made.append({"name": f"voice-up{last}", **_VOICE, **route})
    return made


def _recorded(scenario: _core.Scenario, idle_s: float) -> float:
    """Returns the time until which the trace has room for all packets, in seconds."""
    bits_per_s = sum(bps for _, bps in scenario.links)
    most = idle_s + _MOST_PACKETS * _PACKET_BITS / bits_per_s
    return min(scenario.duration_s, most)


def _notes(test: Canned, complete: str, *, shared: bool) -> list[str]:
    """Returns a sentence about keys that act on a flow's data or ACKs, if data goes up: they mean the downlink."""
    path = tomllib.loads(complete)["path"]
    wrong = [
        key
        for key, none in _OF_DATA.items()
        if path.get(key, none) != none and not (shared and key == "suspend")
    ]
    if not wrong or not (test.up or test.calls):
        return []
    keys = " and ".join(filter(None, [", ".join(wrong[:-1]), wrong[-1]]))
    verb, fits = ("acts", "does") if len(wrong) == 1 else ("act", "do")
    return [
        f"path.{keys} {verb} on a flow's data or its ACKs, not on a direction, and {fits} not fit the uploads"
    ]


def _seconds(text: str) -> float | None:
    found = _core.quantity(text)
    return found[0] if found and found[1] == "s" else None


def _ms(seconds: float) -> str:
    whole = round(seconds * 1e3)
    return f"{whole}ms" if whole % 1000 else f"{whole // 1000}s"
