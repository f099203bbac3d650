"""The files that programs leave behind: a directory for each program, which lasts as long as the result of the run."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.algorithms.programs.lines import Lines

OUTPUTS = ("server.out", "server.err", "client.out", "client.err")
"""Outputs of the programs."""
_MOST = 256 << 10
"""Bytes of such an output that are kept: its end."""


class Folders:
    """The directories in which the programs of a run work; they vanish with this object."""

    def __init__(self, programs: Sequence[Lines]) -> None:
        self._all = TemporaryDirectory(prefix="fullpipe-programs-")
        self.path = Path(self._all.name)
        self.programs = programs
        for each in programs:
            self.of(each).mkdir()

    def of(self, program: Lines) -> Path:
        """Returns the directory of a program."""
        return self.path / program.asked.name

    def tidy(self) -> None:
        """Keeps the outputs and the files that match the patterns, and removes the rest."""
        for program in self.programs:
            folder = self.of(program)
            wanted = {folder / name for name in OUTPUTS}
            wanted |= set(folder.rglob(program.qlog)) if program.qlog else set()
            for file in sorted(folder.rglob("*"), reverse=True):
                if file.is_dir() and not file.is_symlink():
                    if not any(file.iterdir()):
                        file.rmdir()
                elif file not in wanted or file.is_symlink():
                    file.unlink()
            for name in OUTPUTS:
                _shorten(folder / name)


def _shorten(file: Path) -> None:
    if not file.exists():
        return
    content = file.read_bytes()
    if not content:
        file.unlink()
    elif len(content) > _MOST:
        file.write_bytes(content[-_MOST:])


def save(folder: Path, to: Path) -> None:
    """Copies the files of a run to a new directory, without empty directories."""
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            place = to / file.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
