"""Algorithms in shared libraries, which the user of the command names: Rust, C, or another language.

A library runs its code with the rights of this process as soon as it is loaded. So it is loaded only if the user names
it: as an argument, with `--cc` or `--plugin`, or in Python. The core refuses a scenario that names one.

`crate.py` makes crates, and builds them with cargo.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.algorithms.guard import admit

if TYPE_CHECKING:
    from collections.abc import Iterable

ENDINGS = (".so", ".dylib", ".dll")
MANIFEST = "Cargo.toml"
KEPT = ("SHA256SUMS", "metrics.json", "resolved.toml", "sweep.json", "table.json")
"""Files of results that this program has kept; one of them is in each such directory."""
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._+-]*)=(.+)")
_GIVEN: dict[str, str] = {}


def is_library(name: str) -> bool:
    """Whether the name of an algorithm is that of a library, or of a directory with a crate.

    A name without a separator, like `cubic`, is never a directory's: write `./cubic`. Kept results are no crate,
    whatever else their directory has: their sender does not choose what this machine builds and runs.
    """
    if name.endswith(ENDINGS):
        return True
    if "\n" in name or not (name == "." or "/" in name or "\\" in name):
        return False
    try:
        there = Path(name)
        return (there / MANIFEST).is_file() and not any((there / each).exists() for each in KEPT)
    except (OSError, ValueError):  # too long for a path, or with a character that no path has
        return False


def load_plugin(library: str | Path, name: str | None = None) -> str:
    """Loads an algorithm from a shared library, and returns the name by which scenarios call it from now on.

        >>> mine = fullpipe.load_plugin("./my-crate")  # doctest: +SKIP
        >>> fullpipe.compare("cubic", mine, rate="20mbit", rtt="40ms")  # doctest: +SKIP

    The code of the library runs with the rights of this process. A library that was built again replaces the earlier
    one.

    Args:
        library: A shared library, or the directory of a crate, which cargo builds first.
        name: Another name than that which the library gives its algorithm.

    Returns:
        The name of the algorithm.

    Raises:
        ScenarioError: When the library can't be loaded, or its name belongs to another algorithm.
        UserError: When the crate can't be built.
    """
    made = loaded(Path(library), name).name
    give(made, f"{name}={library}" if name else str(library))
    return made


def give(name: str, text: str) -> None:
    """Notes the argument of `--plugin` with which another command knows the name of an algorithm."""
    _GIVEN[name] = text


def given_as(name: str) -> str:
    """Returns the argument of `--plugin` for an algorithm of this process; empty if its name is enough."""
    return _GIVEN.get(name, "")


def loaded(library: Path, name: str | None = None) -> _core.Plugin:
    """Like :func:`load_plugin`, but returns the library."""
    if library.is_dir():
        from fullpipe.algorithms.plugins.crate import build

        library = build(library)
    admit()
    return _core.load_plugin(library, name)


def built_in() -> set[str]:
    """Returns the names of fullpipe's own algorithms: those of libraries and policies are in this process only."""
    plugins, policies = (
        {each.name for each in those} for those in (_core.plugins(), _core.policies())
    )
    return {each["name"] for each in _core.algorithms()} - plugins - policies


def of_option(text: str) -> str:
    """Loads what `--plugin` names, `LIBRARY` or `NAME=LIBRARY`, and returns the algorithm's name."""
    named = None if is_library(text) and Path(text).exists() else _NAMED.fullmatch(text)
    return load_plugin(named[2], named[1]) if named else load_plugin(text)


def used(words: Iterable[str]) -> list[_core.Plugin]:
    """Returns the loaded libraries whose names are in texts, sorted by name: results depend on them."""
    known = sorted(_core.plugins(), key=lambda each: each.name)
    texts = list(words) if known else []
    return [
        each
        for each in known
        if any(re.search(rf"(?<![\w.+-]){re.escape(each.name)}(?![\w.+-])", text) for text in texts)
    ]
