"""The initial file system of a guest, for tools/kernel_guest.py and tools/kernel_qemu.py."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def copy(program: Path, root: Path, to: str) -> None:
    """Copies a program into a file system, with the libraries that it is linked to."""
    shutil.copy(program, root / to)
    # ldd fails for a program without libraries.
    needs = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    for library in re.findall(r"(/\S+) \(0x", needs):
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])


def packed(root: Path, busybox: Path | str) -> bytes:
    """Returns a folder as the compressed archive that Linux unpacks into memory."""
    listed = "\n".join(sorted(str(each.relative_to(root)) for each in root.rglob("*")))
    done = subprocess.run(
        [busybox, "cpio", "-o", "-H", "newc"],
        cwd=root,
        input=listed.encode(),
        capture_output=True,
        check=True,
    )
    return gzip.compress(done.stdout, 1)
