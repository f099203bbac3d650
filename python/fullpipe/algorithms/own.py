"""The user's own algorithms in a scenario: which file each one was, and how a command finds it again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypedDict

from fullpipe.algorithms.resolve import sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Own(TypedDict):
    """A user's algorithm: a class, a library or a policy."""

    name: str
    """Its name in scenarios."""
    file: str
    """Its file, or the directory of its crate, as the user named it."""
    sha256: str
    """The hash of its code: of the module, the built library, or the policy."""
    version: str
    """The version that a crate or a module gives itself; empty without one."""
    plugin: str
    """The argument of `--plugin` with which a command knows the name; empty if the name is enough."""


class OwnAbout(TypedDict):
    """The contents of `algorithms.json` in the directory of a run."""

    algorithms: list[Own]


FILE = "algorithms.json"
CODE = "Code of "
"""The beginning of a fact's name."""


def own(names: Iterable[str]) -> list[Own]:
    """Returns the user's algorithms among names in scenarios, as they are in this process."""
    return [
        {
            "name": name,
            "file": of.file,
            "sha256": hashlib.sha256(of.content).hexdigest(),
            "version": of.version,
            "plugin": of.plugin,
        }
        for name, of in sources(names)
    ]


def options(those: Iterable[Own]) -> list[str]:
    """Returns the arguments with which a command knows them again."""
    return [word for each in those if each["plugin"] for word in ("--plugin", each["plugin"])]


def facts(those: Iterable[Own]) -> list[tuple[str, str]]:
    """Returns what a report says about them."""
    return [
        (
            CODE + each["name"],
            ", ".join(
                [
                    each["file"],
                    *([f"version {each['version']}"] if each["version"] else []),
                    f"SHA-256 {each['sha256']}",
                ]
            ),
        )
        for each in those
    ]


def lines(those: Sequence[Own]) -> list[str]:
    """Returns the facts as lines of Markdown, with an empty one before them."""
    return ["", *(f"- {name}: {said}" for name, said in facts(those))] if those else []
