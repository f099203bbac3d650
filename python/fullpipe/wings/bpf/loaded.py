"""The algorithms that are loaded at present."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.wings.bpf import program
from fullpipe.wings.bpf.program import KernelError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Loaded(NamedTuple):
    """A loaded algorithm.

    Attributes:
        name: Its name in the kernel.
        process: The process that holds it; None if it is detached, or another program loaded it.
        until: The process whose end ends the holder, and so unloads it; None if it is not known.
        pinned: The directory of its link, if it is detached.
        default: Whether new sockets of this network namespace use it.
        sockets: The number of sockets that use it, in all network namespaces.
        partial: Whether some namespaces could not be read, so that there may be more sockets.
        parameters: The parameters that were set; None if they are not known.
    """

    name: str
    process: int | None
    until: int | None
    pinned: str | None
    default: bool
    sockets: int
    partial: bool
    parameters: Mapping[str, float | str] | None

    def holder(self) -> str:
        """Returns what keeps it loaded, in words."""
        if self.process is not None:
            return f"until {words(self.until or self.process)} ends"
        return "detached" if self.pinned else "by another program"

    def used(self) -> str:
        """Returns the number of its sockets, in words."""
        return sockets(self.sockets, partial=self.partial)


class Left(NamedTuple):
    """An algorithm that is unloaded, and whose code still runs for sockets.

    Attributes:
        name: Its name in the kernel.
        sockets: The number of sockets that use it until they close, in all network namespaces.
        partial: Whether some namespaces could not be read, so that there may be more sockets.
    """

    name: str
    sockets: int
    partial: bool

    def used(self) -> str:
        """Returns the number of its sockets, in words."""
        return sockets(self.sockets, partial=self.partial)


def sockets(count: int, *, partial: bool) -> str:
    """Returns a number of sockets in words."""
    least = "at least " if partial else ""
    return f"{least}{count} socket{'' if count == 1 else 's'}"


def words(pid: int) -> str:
    """Returns a process in words: its name, and its number."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return f"process {pid}"
    return f"{name} (process {pid})"


def every() -> list[Loaded]:
    """Returns the loaded algorithms, by name.

    Raises:
        KernelError: When the program has not been built.
    """
    return split()[0]


def split() -> tuple[list[Loaded], list[Left]]:
    """Returns the loaded algorithms, and the unloaded ones that sockets still use, by name.

    Raises:
        KernelError: When the program has not been built.
    """
    found, left = [], []
    for each in program.call("list"):
        if not each["loaded"]:
            left.append(Left(each["name"], each["sockets"], each["partial"]))
            continue
        plan = each["plan"]
        found.append(
            Loaded(
                each["name"],
                each["process"],
                _awaited(each["process"]),
                each["pinned"],
                each["default"],
                each["sockets"],
                each["partial"],
                None
                if plan is None
                else program.as_declared(plan["algorithm"], plan["parameters"]),
            )
        )
    return sorted(found), sorted(left)


def _awaited(holder: int | None) -> int | None:
    """Returns the process whose end a holder waits for: that of the pidfd, or of the pipe, at its standard input."""
    if holder is None:
        return None
    try:
        about = Path(f"/proc/{holder}/fdinfo/0").read_text(encoding="ascii")
        found = re.search(r"^Pid:\t(\d+)$", about, re.MULTILINE)
        if found is None:  # a pipe of the command that started it
            status = Path(f"/proc/{holder}/status").read_text(encoding="utf-8", errors="replace")
            found = re.search(r"^PPid:\t(\d+)$", status, re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found and int(found[1]) > 1 else None


def unload(name: str) -> tuple[int, bool]:
    """Unloads an algorithm.

    Args:
        name: Its name in the kernel.

    Returns:
        The number of sockets that still use it, until they close, and whether there may be more.

    Raises:
        KernelError: When it is not loaded, or this process may not unload it.
    """
    done = program.call("unload", name)
    return done["sockets"], done["partial"]


def named(names: list[Loaded], name: str) -> Loaded:
    """Returns the loaded algorithm of a name.

    Raises:
        KernelError: When it is not loaded.
    """
    for each in names:
        if each.name == name:
            return each
    raise KernelError(f"{name} is not loaded\n  fix: fullpipe kernel list shows the loaded ones")
