"""The path of a scenario in a line of words."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

# A longer list of values, as of a trace, is shown by its first ones and its last.
_MOST_VALUES = 8
_FIRST_VALUES = 3

_KEY = re.compile(r'^(stack|measure_from|duration) = "([^"]+)"$', re.MULTILINE)
_PROFILE = re.compile(r"^# The path is the profile (\S+)\.$", re.MULTILINE)


def path_line(complete: str) -> str:
    """Returns the main properties of the path, the measured time, and the TCP.

    Args:
        complete: The complete scenario, as :meth:`fullpipe._core.Scenario.to_toml` writes it.
    """
    import tomllib

    written = tomllib.loads(complete)
    path, size = written["path"], written["flow"][0].get("bytes")
    if size:
        times = f"{size} each, for {written['duration']} at most"
    else:
        times = f"{written['duration']}, measured from {written['measure_from']} on"
    times += f"; {_stack(written)}"
    if path.get("kind") == "loopback":
        return f"this machine's loopback; {times}"
    queue = path["queue"] if isinstance(path["queue"], str) else path["queue"]["kind"]
    rate = path.get("rate_pattern", path["rate"])
    loss = path.get("loss", "0%")
    lossy = "" if loss == "0%" else f", loss {_brief(loss)}"
    profile = _PROFILE.search(complete)
    name = f"{profile[1]}: " if profile else ""
    return f"{name}{_brief(rate)}, RTT {path['rtt']}{lossy}, {queue} with {path['buffer']}; {times}"


def _brief(value: str) -> str:
    values = value.split(", ")
    if len(values) <= _MOST_VALUES:
        return value
    first, more = ", ".join(values[:_FIRST_VALUES]), len(values) - _FIRST_VALUES - 1
    return f"{first}, … {more:,} more …, {values[-1]}"


def stack_of(complete: str) -> str:
    """Returns the TCP of a complete scenario in words, like `stack linux`."""
    import tomllib

    return _stack(tomllib.loads(complete))


def configuration(scenarios: Iterable[str]) -> list[tuple[str, str]]:
    """Returns the TCP of complete scenarios and the time that is measured, each behind its name.

    Several scenarios may differ: all values of a TCP are named, and of the times the least and the greatest.
    """
    found: dict[str, dict[str, None]] = {"stack": {}, "measure_from": {}, "duration": {}}
    for text in scenarios:
        head = text.partition("\n[")[0]
        # A scenario that was kept before the key was there is of "rfc".
        known = {"stack": "rfc"} | dict(_KEY.findall(head))
        for key, values in found.items():
            if key in known:
                values[known[key]] = None
    stacks, since, until = (list(values) for values in found.values())
    if not since or not until:
        return []
    return [
        ("Stack", ", ".join(stacks)),
        ("Measured", f"from {_span(since)} on, until {_span(until)}"),
    ]


def _span(times: list[str]) -> str:
    by_length = sorted(times, key=lambda each: (_core.quantity(each) or (0.0, ""))[0])
    first, last = by_length[0], by_length[-1]
    return first if first == last else f"{first} to {last}"


def by_stack(judged: Iterable[tuple[str, bool]]) -> str:
    """Returns how many of some cells are met with each TCP, in words; of a single TCP its name alone.

    Args:
        judged: For each cell its TCP, as of :func:`stack_of`, and whether it is met.
    """
    met: dict[str, list[bool]] = defaultdict(list)
    for stack, is_met in judged:
        met[stack].append(is_met)
    if len(met) == 1:
        return next(iter(met))
    return "; ".join(f"{stack}: {sum(each)} of {len(each)} met" for stack, each in met.items())


def _stack(written: dict[str, Any]) -> str:
    # A scenario that was kept before the key was there is of "rfc".
    return f"stack {written.get('stack', 'rfc')}"


def links_of_acks(text: str) -> set[str]:
    """Returns the links of a complete scenario that only ACKs cross, so that their rates limit no flow's directly."""
    import tomllib

    found = tomllib.loads(text)
    flows = [*found.get("flow", []), *found.get("workload", [])]
    forward, reverse = (
        {name for flow in flows for name in flow.get(way, [])} for way in ("route", "reverse_route")
    )
    return reverse - forward
