"""The lists of `fullpipe list`."""

from __future__ import annotations

import json
from textwrap import fill
from typing import TYPE_CHECKING

from fullpipe import wings
from fullpipe.algorithms import programs as recipes
from fullpipe.algorithms.programs.lines import is_outdated, version_of
from fullpipe.results.words import first_comment
from fullpipe.scenario import canned, origin
from fullpipe.stats.quantity import known_names, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias, TypedDict

    from fullpipe._core import Algorithm, Impairment, Profile, Queue

    Entry: TypeAlias = Algorithm | Queue | Impairment | Profile

    class Listed(TypedDict):
        """A metric, a scenario or a test in a list."""

        name: str
        purpose: str

    class Program(Listed):
        """A recipe in a list."""

        version: str | None
        """None if the program is missing."""
        install: dict[str, str]
        """The commands that install it, by their source."""

    Named: TypeAlias = Entry | Listed | Program


def metrics() -> list[Listed]:
    """Returns the metrics that views can show, by their short names."""
    found: list[Listed] = []
    for name, column in known_names().items():
        known = quantity(column) or quantity(f"link.bottleneck.{column}")
        if known is not None:
            words = known.words.removesuffix(" at bottleneck")
            of = "" if known.column == column else "of each link: "
            unit = f", {known.unit}" if known.unit and not words.endswith(known.unit) else ""
            found.append({"name": name, "purpose": f"{of}{words}{unit}"})
    return found


def scenarios() -> list[Listed]:
    """Returns the scenarios of the package, with the first comment line of each."""
    return [
        {"name": file.stem, "purpose": first_comment(file.read_text(encoding="utf-8"))[0]}
        for file in origin.packaged()
    ]


def tests() -> list[Listed]:
    """Returns the canned tests of `fullpipe test`."""
    return [{"name": each.name, "purpose": each.purpose} for each in canned.every()]


def lessons() -> list[Listed]:
    """Returns the lessons of `fullpipe explore`."""
    return [{"name": name, "purpose": title} for name, title in wings.named("lessons")]


def kinds(of: Iterable[str]) -> list[Listed]:
    """Returns the kinds of names that there are lists of."""
    return [{"name": each, "purpose": _KINDS[each]} for each in of]


_KINDS = {
    "algorithms": "congestion control, for cc of a flow",
    "queues": "queues of a link, for --queue",
    "impairments": "patterns of loss, delay and rate, for keys of a path",
    "profiles": "named paths, for --profile",
    "metrics": "metrics, for --show",
    "scenarios": "scenarios of the package, for run, sweep and check",
    "tests": "tests of `fullpipe test`",
    "lessons": "lessons of `fullpipe explore`",
    "programs": "recipes of programs, for [[program]] and cc = program:NAME",
}


def programs() -> list[Program]:
    """Returns the recipes of programs, each with its version on this machine and the commands that install it."""
    return [
        {
            "name": each.name,
            "purpose": f"{each.about} ({each.language}); {_installed(each)}",
            "version": version_of(each.name) or None,
            "install": dict(each.installs()),
        }
        for each in recipes.every()
    ]


def _installed(recipe: recipes.Recipe) -> str:
    how = "`fullpipe list programs --json` has the commands"
    version = version_of(recipe.name)
    if not version:
        return f"missing: {how}"
    again = f"; install it again: {how}" if is_outdated(recipe.name) else ""
    return f"installed: {version}{again}"


def as_json(entries: Sequence[Named]) -> str:
    """Returns a JSON list with an object per entry: its name, its purpose, and of a program more."""
    kept = ("name", "purpose", "version", "install")
    return json.dumps([{key: each[key] for key in kept if key in each} for each in entries])  # type: ignore[literal-required]


def names(entries: Iterable[Named], width: int | None = None) -> str:
    """Returns a line per entry: its name and its purpose; with a `width`, wrapped to `width` characters."""
    listed = list(entries)
    indent = max(len(entry["name"]) for entry in listed) + 2
    lines = [f"{entry['name']:{indent}}{entry['purpose']}".rstrip() for entry in listed]
    if width is None:
        return "\n".join(lines)
    return "\n".join(
        fill(line, max(width, 2 * indent), subsequent_indent=" " * indent) for line in lines
    )
