"""The options of the path: the same for commands and for the functions of `import fullpipe`, declared once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fullpipe.scenario import origin

if TYPE_CHECKING:
    from collections.abc import Mapping


class PathOption(NamedTuple):
    """An option that sets a key of the scenario."""

    name: str
    key: str
    metavar: str
    help: str
    usual: str
    """The value without the option, where there is no scenario."""
    complete: tuple[str, ...] = ()
    """The kinds of names that a shell completes."""


STACK = PathOption(
    "stack",
    "stack",
    "NAME",
    "TCP at both ends: rfc, linux or linux-fq; see docs/reference/models/endpoint.md",
    "linux",
)
PATH_OPTIONS = (
    PathOption("rate", "path.rate", "RATE", "Link capacity", origin.PATH["rate"]),
    PathOption("rtt", "path.rtt", "TIME", "Round-trip time without queueing", origin.PATH["rtt"]),
    PathOption(
        "buffer",
        "path.buffer",
        "SIZE",
        "Buffer, like 8bdp or 100packets",
        "the queue's own limit, or 1bdp",
    ),
    PathOption(
        "queue",
        "path.queue",
        "NAME",
        "Queue, from `fullpipe list queues`",
        "pfifo",
        ("queues",),
    ),
    PathOption(
        "loss",
        "path.loss",
        "LOSS",
        "Random loss, like 1%, or a pattern from `fullpipe list impairments`",
        "none",
    ),
    PathOption(
        "profile",
        "path.profile",
        "NAME",
        "Named path, like lte, from `fullpipe list profiles`",
        "none",
        ("profiles",),
    ),
    STACK,
    PathOption(
        "duration",
        "duration",
        "TIME",
        'Length of each run; a scenario\'s warm-up of more than half of it becomes "auto"',
        origin.TIMES["duration"],
    ),
)
"""The options of path, TCP and time, in the order of `--help`; commands and functions take all, or some."""


def keyed(given: Mapping[str, object]) -> dict[str, object]:
    """Returns the given options by the keys that they set, in the order of :data:`PATH_OPTIONS`."""
    return {each.key: given[each.name] for each in PATH_OPTIONS if given.get(each.name) is not None}
