"""The path of a scenario in a line of words."""

from __future__ import annotations

import re
from typing import Any

# A longer list of values, as of a trace, is shown by its first ones and its last.
_MOST_VALUES = 8
_FIRST_VALUES = 3

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
