"""Refuses a run that would need more memory than the machine has, before it starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.errors import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_LIMIT = 1 << 60
"""Version 1 of control groups has a number of this size for no limit."""


def refuse_too_large(scenario: _core.Scenario, trace: str) -> None:
    """Compares the memory that a run may need with the free memory.

    Raises:
        ScenarioError: When too little is free, or `trace` is not a trace level.
    """
    needed, free = _core.memory_needed(scenario, trace), available()
    if free is None or needed <= free:
        return
    problem = f"the run may need {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free"
    if _core.memory_needed(scenario, "off") <= free:
        fix = "use a longer trace interval, like 100ms, or a shorter duration"
        raise refusal(problem, fix, file=scenario.file, key="trace", value=trace)
    raise refusal(
        problem,
        "lower path.rate, path.rtt, path.buffer or the number of flows",
        file=scenario.file,
        key="path",
    )


def available(root: Path = Path("/")) -> int | None:
    """Returns the bytes of memory that this process can still use; None where the system does not report them.

    That is the least of three: the memory that is free without swapping, the room that the limits of its control groups
    leave, as in a container, and the room that its own limits leave (`ulimit -v`).

    Args:
        root: The directory with the system's `proc` and `sys`.
    """
    found = [*_free(root), *_groups(root), *_own(root)]
    return max(min(found), 0) if found else None


def _free(root: Path) -> Iterator[int]:
    try:
        for line in (root / "proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024
                return
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return


def _own(root: Path) -> Iterator[int]:
    """Yields the room that the process's own limits leave: of addresses and of data."""
    try:
        import resource

        sizes = (root / "proc/self/statm").read_text(encoding="ascii").split()
    except (ImportError, OSError):
        return
    page = os.sysconf("SC_PAGE_SIZE")
    for limit, size in ((resource.RLIMIT_AS, sizes[0]), (resource.RLIMIT_DATA, sizes[5])):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield most - int(size) * page


# The files of a control group, of version 2 and 1: its limit, its use, and the line of `memory.stat` with the part of
# the use that the kernel gives back when it needs memory.
_FILES = {
    "cgroup2": ("memory.max", "memory.current", "inactive_file"),
    "cgroup": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def _groups(root: Path) -> Iterator[int]:
    """Yields the room that the limits of the process's control groups leave, and those of the groups around them."""
    for kind, folder, top in _folders(root):
        limit, use, cache = _FILES[kind]
        for place in (folder, *folder.parents):
            room = _room(place, limit, use, cache)
            if room is not None:
                yield room
            if place == top:
                break


def _folders(root: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yields the version, the folder and the highest visible folder of each control group with memory."""
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        mounts = (root / "proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    paths = {}
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if not controllers or "memory" in controllers.split(","):
            paths["cgroup" if controllers else "cgroup2"] = path
    for line in mounts:
        about, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", 2)
        if kind not in paths or (
            kind == "cgroup" and "memory" not in options.split(" ")[-1].split(",")
        ):
            continue
        inside, point = about.split(" ")[3:5]
        top = root / point.lstrip("/")
        # Inside a container the path may be that on the host, above which nothing is visible.
        path = paths[kind].removeprefix(inside) if paths[kind].startswith(inside) else ""
        yield kind, top / path.lstrip("/"), top


def _room(place: Path, limit: str, use: str, cache: str) -> int | None:
    try:
        most = (place / limit).read_text(encoding="ascii").strip()
        if most == "max" or int(most) >= _NO_LIMIT:
            return None
        used = int((place / use).read_text(encoding="ascii"))
        lines = (place / "memory.stat").read_text(encoding="ascii").splitlines()
        given_back = next((int(line.split()[1]) for line in lines if line.split()[0] == cache), 0)
    except (OSError, ValueError):
        return None
    return int(most) - used + given_back
