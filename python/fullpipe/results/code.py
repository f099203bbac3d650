"""`code/` in kept results: copies of the user's modules and libraries, for another place without them.

No command loads a copy unasked, since a directory may come from someone else: the user names it with `--plugin`. A
policy has no copy, since its place is a part of its name.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from fullpipe.algorithms.resolve import CLASS, LIBRARY, kind_of, sources
from fullpipe.results import disk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FOLDER = "code"


def keep(names: Iterable[str], directory: Path) -> None:
    """Copies the user's code of algorithms into the directory of new results.

    Raises:
        OSError: When it can't be written.
    """
    for name, source in sources(names):
        if file := _file(name):
            disk.make_folder(directory / FOLDER)
            if not (directory / FOLDER / file).exists():  # two classes of a module
                disk.write(directory / FOLDER / file, source.content)


def load_with(names: Iterable[str], directory: Path) -> str:
    """Returns the options that load the copies of algorithms; empty without a copy."""
    words: list[str] = []
    for name in names:
        module, colon, made = name.partition(":")
        file = directory / FOLDER / (f"{module}.py" if colon else f"{name}.so")
        if file.is_file():
            words += ["--plugin", f"{file}:{made}" if colon else f"{name}={file}"]
    return shlex.join(words)


def _file(name: str) -> str | None:
    """Returns the name of the copy of an algorithm's code; None for one without a copy."""
    kind, module = kind_of(name), name.partition(":")[0]
    if kind is CLASS and "." not in module:
        return f"{module}.py"
    return f"{name}.so" if kind is LIBRARY else None
