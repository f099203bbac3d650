"""Algorithms in shared libraries, which the user of the command names: Rust, C, or another language.

A library runs its code with the rights of this process as soon as it is loaded. So it is loaded only if the user names
it: as an argument, with `--cc` or `--plugin`, or in Python. The core refuses a scenario that names one.

`crate.py` makes crates, and builds them with cargo.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.algorithms.guard import admit
from fullpipe.algorithms.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

ENDINGS = (".so", ".dylib", ".dll")
MANIFEST = "Cargo.toml"
KEPT = ("SHA256SUMS", "metrics.json", "resolved.toml", "sweep.json", "table.json")
"""Files of results that this program has kept; one of them is in each such directory."""
_GIVEN: dict[str, str] = {}


def is_loaded(name: str) -> bool:
    """Whether it is the name of a loaded library's algorithm."""
    return any(each.name == name for each in _core.plugins())


def is_crate(name: str) -> bool:
    """Whether it is the name of a directory with a crate.

    A name without a separator, like `cubic`, is never a directory's: write `./cubic`. Kept results are no crate,
    whatever else their directory has: their sender does not choose what this machine builds and runs.
    """
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
    file = Path(library)
    if file.is_dir():
        from fullpipe.algorithms.plugins.crate import build

        file = build(file)
    admit()
    made = _core.load_plugin(file, name).name
    give(made, f"{name}={library}" if name else str(library))
    return made


def give(name: str, text: str) -> None:
    """Notes the argument of `--plugin` with which another command knows the name of an algorithm."""
    _GIVEN[name] = text


def given_as(name: str) -> str:
    """Returns the argument of `--plugin` for an algorithm of this process; empty if its name is enough."""
    return _GIVEN.get(name, "")


@cache
def built_in() -> frozenset[str]:
    """Returns the names of fullpipe's own algorithms: those of libraries and policies are in this process only."""
    others = {each.name for those in (_core.plugins(), _core.policies()) for each in those}
    return frozenset(each["name"] for each in _core.algorithms()) - others


def used(names: Iterable[str]) -> list[_core.Plugin]:
    """Returns the loaded libraries among names, sorted by name."""
    of = {*names}
    return sorted((each for each in _core.plugins() if each.name in of), key=lambda it: it.name)


def source(name: str) -> Source | None:
    """Returns the library of an algorithm; None if it is not loaded."""
    for each in used([name]):
        plugin = given_as(name)
        file = plugin.removeprefix(f"{name}=") or str(each.file)
        return Source(file, each.content, _version(Path(file) / MANIFEST), plugin)
    return None


def _version(manifest: Path) -> str:
    """Returns the version of a crate; empty without one of its own."""
    import tomllib  # slow, and rarely needed

    try:
        package = tomllib.loads(manifest.read_text(encoding="utf-8"))["package"]
        return package["version"] if isinstance(package["version"], str) else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""
