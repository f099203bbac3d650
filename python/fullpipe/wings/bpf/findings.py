"""Requirements of `fullpipe kernel`, for `fullpipe doctor`."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from fullpipe.about.doctor import Finding
from fullpipe.wings.bpf.machine import needs
from fullpipe.wings.bpf.program import KernelError, objects

if TYPE_CHECKING:
    from fullpipe.about.doctor import State


def findings() -> list[Finding]:
    """Checks the requirements of `fullpipe kernel`."""
    states: dict[bool | None, State] = {True: "ok", False: "missing", None: "unknown"}
    found = [
        Finding(each.what, states[each.met], each.found, each.fix, each.root) for each in needs()
    ]
    if platform.system() != "Linux":
        return found
    try:
        there = ", ".join(objects())
    except KernelError as error:
        problem, _, fix = str(error).partition("\n  fix: ")
        return [*found, Finding("BPF objects", "missing", problem, fix)]
    return [*found, Finding("BPF objects", "ok", there)]
