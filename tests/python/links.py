"""`fullpipe link` as root and as a user without rights, for tests of what a program behind it may do."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Link = Callable[..., subprocess.CompletedProcess[str]]

LINK = [sys.executable, "-m", "fullpipe", "link"]
FAR = "100.64.0.1"

USER = 4321
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all"]
# The machine's own device may be for root only.
WITH_TUN = """
mount -t tmpfs tmpfs /dev/net && mknod /dev/net/tun c 10 200 && chmod 666 /dev/net/tun && exec "$@"
"""


def run(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    """Calls `fullpipe link`."""
    options = {"timeout": 60, **more}
    return subprocess.run([*LINK, *args], capture_output=True, text=True, **options)  # type: ignore[call-overload,no-any-return]


@cache
def _refused(*who: str) -> str | None:
    done = subprocess.run([*who, *LINK, "--", "true"], capture_output=True, text=True, cwd="/")
    return None if done.returncode == 0 else done.stderr


def needed(*who: str) -> None:
    """Skips a test where namespaces are not allowed, to the user that a command's words `who` make."""
    if said := _refused(*who):
        if not ("does not allow" in said or "/dev/net/tun" in said):
            pytest.fail(said)
        pytest.skip(said)


def tool(name: str) -> str:
    """Returns the name of a program; skips the test if it is not installed."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed: `make apt` installs it")
    return name


@dataclass(frozen=True)
class Linked:
    """`fullpipe link` as one of the machine's users.

    Attributes:
        who: The words that make a command this user's.
        folder: A directory that this user may write, for programs' files.
        python: An interpreter that this user may execute.
    """

    who: list[str]
    folder: Path
    python: str = sys.executable

    @property
    def is_root(self) -> bool:
        """Whether the user is the machine's root."""
        return not self.who and os.geteuid() == 0

    def link(
        self, *args: str, within: tuple[str, ...] = (), **more: object
    ) -> subprocess.CompletedProcess[str]:
        """Calls `fullpipe link` with these arguments, by the command `within` if there is one."""
        options = {"cwd": self.folder, "timeout": 60, "env": self.environment, **more}
        command = [*within, *self.who, *LINK, *args]
        return subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload,no-any-return]

    @property
    def environment(self) -> dict[str, str]:
        """The user's environment variables."""
        return {**os.environ, "HOME": str(self.folder)} if self.who else {**os.environ}


@contextmanager
def linked(who: str) -> Iterator[Linked]:
    """Yields `fullpipe link` as "root" or "user"; skips the test where that is not possible."""
    # Not a directory of pytest's: other users can't reach those.
    with tempfile.TemporaryDirectory(prefix="fullpipe-link-") as made:
        folder = Path(made)
        if os.geteuid() != 0:
            if who == "root":
                pytest.skip("needs root")
            yield Linked([], folder)
            return
        if who == "root":
            yield Linked([], folder)
            return
        os.chown(folder, USER, USER)
        imports = [*AS_USER, sys.executable, "-c", "import fullpipe"]
        # The tests' own interpreter may lie where only root may execute it.
        each = 'for each; do test -x "$each" && echo "$each"; done'
        runs = [*AS_USER, "sh", "-c", each, "sh", sys.executable, "/usr/bin/python3"]
        imported, found = (
            subprocess.run(command, capture_output=True, text=True, cwd="/")
            for command in (imports, runs)
        )
        if imported.returncode != 0 or not found.stdout:
            pytest.skip("a user can't read the tests' Python")
        user = ["unshare", "--mount", "sh", "-c", WITH_TUN, "sh", *AS_USER]
        needed(*user)
        yield Linked(user, folder, found.stdout.split()[0])


def children(pid: int) -> list[int]:
    """Returns the children of a process's first thread."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def captured(file: Path) -> list[tuple[int, bytes]]:
    """Checks all blocks of a pcapng file; returns (nanoseconds since 1970, packet)."""
    blocks, found = file.read_bytes(), []
    while blocks:
        kind, length = struct.unpack_from("<II", blocks)
        assert struct.unpack_from("<I", blocks, length - 4) == (length,)
        if kind == 6:
            interface, high, low, taken, original = struct.unpack_from("<IIIII", blocks, 8)
            assert (interface, taken) == (0, original)
            found.append((high << 32 | low, blocks[28 : 28 + taken]))
        blocks = blocks[length:]
    return found
