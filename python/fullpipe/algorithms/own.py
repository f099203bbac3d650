"""The user's own algorithms in a scenario: which file each one was, and how a command finds it again."""

from __future__ import annotations

import hashlib
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from fullpipe.algorithms import policies
from fullpipe.algorithms.classes import is_imported, named
from fullpipe.algorithms.plugins import MANIFEST, given_as, used

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


def own(text: str, settings: Iterable[tuple[str, str]] = ()) -> list[Own]:
    """Returns the user's algorithms that a scenario names, as they are in this process."""
    pairs = list(settings)
    words = [text, *(value for _, value in pairs)]
    found = [_library(each.name, each.file, each.content) for each in used(words)]
    for name in dict.fromkeys(named(text, pairs)):
        module = sys.modules.get(name.partition(":")[0]) if is_imported(name) else None
        if file := getattr(module, "__file__", None):
            content = Path(file).read_bytes()
            version = getattr(module, "__version__", "")
            found.append(_own(name, _shown(Path(file)), content, str(version), given_as(name)))
    for policy in policies.used(words):
        file = policy.name.removeprefix(policies.PREFIX)
        found.append(_own(policy.name, file, policy.text.encode(), "", ""))
    return found


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


def _library(name: str, library: Path, content: bytes) -> Own:
    plugin = given_as(name)
    named_as = plugin.removeprefix(f"{name}=") or str(library)
    return _own(name, named_as, content, _version(Path(named_as) / MANIFEST), plugin)


def _own(name: str, file: str, content: bytes, version: str, plugin: str) -> Own:
    digest = hashlib.sha256(content).hexdigest()
    return {"name": name, "file": file, "sha256": digest, "version": version, "plugin": plugin}


def _version(manifest: Path) -> str:
    """Returns the version of a crate; empty without one of its own."""
    try:
        package = tomllib.loads(manifest.read_text(encoding="utf-8"))["package"]
        return package["version"] if isinstance(package["version"], str) else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _shown(file: Path) -> str:
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)
