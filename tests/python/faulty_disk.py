"""A file system and a clock that fail on a schedule, in place of `os` and `time` of `fullpipe.results.disk`.

Calls are carried out in a real directory, and also on a model of what would be there after a loss of power. POSIX
promises nothing about a file's contents before fsync of the file, and nothing about a name before fsync of its
directory: such contents are lost, cut, zeros or kept, and such names are as before or as after, each by one bit of the
schedule. A rename is one change, also between two directories. The model does not have a device that loses what fsync
has confirmed.
"""

# ruff: noqa: PTH102, PTH104  (each call of `os` has its place here)

from __future__ import annotations

import errno
import os
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

KINDS = ("EIO", "ENOSPC", "full", "torn", "short", "kill", "power")
"""An error of one operation; no room for one, or from then on; a write that fails after its first half, or is only its
first half; the end of the process after an operation; a loss of power after it."""
MAKES = {"open", "write", "mkdir", "link"}
"""Operations that need room."""


class OffError(BaseException):
    """The process has ended, or the machine is without power: nothing more happens."""


class Fault(NamedTuple):
    """A fault of one operation, counted from 0."""

    at: int
    kind: str


class Schedule(NamedTuple):
    """The faults of one run of a command.

    Attributes:
        faults: Faults, at most one per operation.
        bits: What remains after a loss of power: a digit for each unconfirmed change, 0 for none of it.
        jumps: Seconds by which the clock goes back, by the number of the time that it is read.
    """

    faults: tuple[Fault, ...]
    bits: int = 0
    jumps: tuple[tuple[int, float], ...] = ()


@dataclass(eq=False)
class Node:
    """A file or a directory, with what fsync has confirmed of it.

    Attributes:
        data: The contents of a file; None for a directory.
        kept: Its confirmed contents.
        names: The confirmed names of a directory.
    """

    data: bytes | None
    kept: bytes = b""
    names: dict[str, Node] = field(default_factory=dict)


class Change(NamedTuple):
    """Names that change together, each of a directory: a node, or None if the name is deleted."""

    names: tuple[tuple[Node, str, Node | None], ...]


class FaultyOs:
    """In place of `os`; calls outside of the directory `root`, and those that change nothing, go to `os`."""

    def __init__(self, root: Path, schedule: Schedule) -> None:
        self.root, self._schedule = root, schedule
        self._faults = {fault.at: fault.kind for fault in schedule.faults}
        self._bits = schedule.bits
        self.operations: list[str] = []
        self.happened: list[str] = []
        self.after: dict[str, bytes | None] | None = None
        """Files of the directory after the process has ended; None while it has not."""
        self._full = False
        self._names = 0
        self._lock = threading.RLock()
        self._nodes: dict[str, Node] = {}
        self._open: dict[int, str] = {}
        self._pending: list[Change] = []
        self._top = self._adopted(root)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (anything of os)
        return getattr(os, name)

    def urandom(self, size: int) -> bytes:
        """Returns bytes that are the same in each run."""
        self._names += 1
        return self._names.to_bytes(size, "big")

    def open(self, path: Any, flags: int, mode: int = 0o777) -> int:  # noqa: ANN401
        """Opens, and may make or empty a file."""
        name = str(path)
        if not self._ours(name) or not flags & (os.O_CREAT | os.O_TRUNC):
            self._refuse_off()
            handle = os.open(path, flags, mode)
            if self._ours(name):
                self._open[handle] = name
            return handle
        with self._lock:
            self._operation("open", name)
            handle = os.open(path, flags, mode)
            self._open[handle] = name
            if name not in self._nodes:
                self._nodes[name] = Node(b"")
                self._change((name, self._nodes[name]))
            elif flags & os.O_TRUNC:
                self._nodes[name].data = b""
            self._done()
        return handle

    def write(self, handle: int, data: Any) -> int:  # noqa: ANN401
        """Writes, all or a part."""
        with self._lock:
            name = self._open[handle]
            kind = self._operation("write", name)
            if kind in ("torn", "short"):
                data = memoryview(data)[: max(len(data) // 2, 1 if kind == "short" else 0)]
            size = os.write(handle, data)
            node = self._nodes[name]
            assert node.data is not None
            node.data += bytes(data)
            self._done()
            if kind == "torn":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return size

    def fsync(self, handle: int) -> None:
        """Confirms contents, or names."""
        with self._lock:
            name = self._open[handle]
            self._operation("fsync", name)
            node = self._nodes.get(name) or self._known(name)
            if node.data is not None:
                node.kept = node.data
            else:
                self._confirm(node)
            self._done()

    def close(self, handle: int) -> None:
        """Closes."""
        self._open.pop(handle, None)
        os.close(handle)

    def rename(self, old: Any, new: Any) -> None:  # noqa: ANN401
        """Renames; an existing file is replaced."""
        with self._lock:
            self._operation("rename", f"{new}")
            os.rename(old, new)
            moved = self._nodes.pop(str(old))
            for name in [each for each in self._nodes if each.startswith(f"{old}/")]:
                self._nodes[f"{new}{name.removeprefix(str(old))}"] = self._nodes.pop(name)
            self._nodes[str(new)] = moved
            self._change((str(old), None), (str(new), moved))
            self._done()

    replace = rename

    def link(self, old: Any, new: Any) -> None:  # noqa: ANN401
        """Makes a second name."""
        with self._lock:
            self._operation("link", str(new))
            os.link(old, new)
            self._nodes[str(new)] = self._nodes.get(str(old)) or self._known(str(old))
            self._change((str(new), self._nodes[str(new)]))
            self._done()

    def mkdir(self, path: Any, mode: int = 0o777) -> None:  # noqa: ANN401
        """Makes a directory."""
        with self._lock:
            self._operation("mkdir", str(path))
            os.mkdir(path, mode)
            self._nodes[str(path)] = Node(None)
            self._change((str(path), self._nodes[str(path)]))
            self._done()

    def unlink(self, path: Any) -> None:  # noqa: ANN401
        """Deletes a file."""
        self._removal("unlink", path, os.unlink)

    def rmdir(self, path: Any) -> None:  # noqa: ANN401
        """Deletes an empty directory."""
        self._removal("rmdir", path, os.rmdir)

    def restore(self) -> None:
        """Lets the directory have the files that remained when the process ended."""
        assert self.after is not None
        for each in self.root.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        for name, content in sorted(self.after.items()):
            path = self.root / name
            if content is None:
                path.mkdir()
            else:
                path.write_bytes(content)
                os.utime(path, (0, 0))

    def _ours(self, name: str) -> bool:
        return name == str(self.root) or name.startswith(f"{self.root}/")

    def _refuse_off(self) -> None:
        if self.after is not None:
            raise OffError

    def _operation(self, what: str, name: str) -> str | None:
        """Counts an operation; raises the error that is due. Returns the kind of another fault."""
        self._refuse_off()
        self.operations.append(f"{what} {Path(name).relative_to(self.root)}")
        kind = self._faults.get(len(self.operations) - 1)
        if kind == "full":
            self._full = True
        if kind in ("torn", "short") and what != "write":
            kind = "ENOSPC" if kind == "torn" and what in MAKES else None
        if kind == "ENOSPC" and what not in MAKES:
            kind = "EIO"
        if kind:
            self.happened.append(f"{kind} at {len(self.operations) - 1}: {self.operations[-1]}")
        number = errno.EIO if kind == "EIO" else errno.ENOSPC
        if kind in ("EIO", "ENOSPC") or (self._full and what in MAKES):
            raise OSError(
                number, os.strerror(number), *([] if what in ("write", "fsync") else [name])
            )
        return kind

    def _done(self) -> None:
        """Ends the process if that is due after this operation."""
        kind = self._faults.get(len(self.operations) - 1)
        if kind == "kill":
            self.after = {
                str(each.relative_to(self.root)): None if each.is_dir() else each.read_bytes()
                for each in self.root.rglob("*")
            }
        elif kind == "power":
            self.after = self._without_power()
        if self.after is not None:
            raise OffError

    def _removal(self, what: str, path: Any, call: Any) -> None:  # noqa: ANN401
        with self._lock:
            if not os.path.lexists(path):
                call(path)  # raises
            self._operation(what, str(path))
            call(path)
            self._nodes.pop(str(path), None)
            self._change((str(path), None))
            self._done()

    def _change(self, *names: tuple[str, Node | None]) -> None:
        at = ((self._known(str(Path(name).parent)), Path(name).name, to) for name, to in names)
        self._pending.append(Change(tuple(at)))

    def _known(self, name: str) -> Node:
        """Returns the node of a path; one that was made by other means exists from now on."""
        if name not in self._nodes:
            path = Path(name)
            self._nodes[name] = Node(None if path.is_dir() else path.read_bytes())
            self._change((name, self._nodes[name]))
        return self._nodes[name]

    def _adopted(self, path: Path) -> Node:
        """Returns the node of what exists before the command, which is durable."""
        data = None if path.is_dir() else path.read_bytes()
        node = self._nodes[str(path)] = Node(data, data or b"")
        if data is None:
            node.names = {each.name: self._adopted(each) for each in path.iterdir()}
        return node

    def _confirm(self, directory: Node) -> None:
        left = []
        for change in self._pending:
            if any(of is directory for of, _, _ in change.names):
                self._apply(change)
            else:
                left.append(change)
        self._pending = left

    @staticmethod
    def _apply(change: Change) -> None:
        for directory, name, node in change.names:
            if node is None:
                directory.names.pop(name, None)
            else:
                directory.names[name] = node

    def _without_power(self) -> dict[str, bytes | None]:
        for change in self._pending:
            if self._drawn(2):
                self._apply(change)
        found: dict[str, bytes | None] = {}
        self._collect(self._top, "", found)
        return found

    def _collect(self, directory: Node, place: str, found: dict[str, bytes | None]) -> None:
        for name, node in sorted(directory.names.items()):
            if node.data is None:
                found[place + name] = None
                self._collect(node, f"{place}{name}/", found)
            elif node.data == node.kept:
                found[place + name] = node.data
            else:
                # What was confirmed and is still there stays: only what was added is in doubt.
                sure = node.kept if node.data.startswith(node.kept) else b""
                added = node.data[len(sure) :]
                maybe = (b"", added, added[: len(added) // 2], bytes(len(added)))
                found[place + name] = sure + maybe[self._drawn(4)]

    def _drawn(self, of: int) -> int:
        self._bits, digit = divmod(self._bits, of)
        return digit


class FaultyTime:
    """In place of `time`: a clock with steps of a second, which goes back on a schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._jumps = dict(schedule.jumps)
        self._now, self._steady, self._reads = 1_700_000_000.0, 0.0, 0

    def time(self) -> float:
        """Returns the time of the clock."""
        self._now += 1.0 - self._jumps.get(self._reads, 0.0)
        self._reads += 1
        return self._now

    def monotonic(self) -> float:
        """Returns a time that does not go back."""
        self._steady += 0.7
        return self._steady
