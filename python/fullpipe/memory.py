"""Refuses a run that would need more memory than the machine has, before it starts."""

from __future__ import annotations

import os
from pathlib import Path

from fullpipe import _core
from fullpipe.errors import refusal


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


def available() -> int | None:
    """Returns the bytes of memory available without swapping; None where the system does not report them."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None
