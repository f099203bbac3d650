"""The origin of this program: version, commit, and build, a fingerprint of all that decides numbers."""

from __future__ import annotations

import hashlib
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[1]
ELSEWHERE = {
    "about": "names and explanations",
    "commands": "options, and calls of the rooms",
    "docs": "pages",
    "published": "studies, whose files are kept with their results",
    "report": "pages and pictures of kept numbers",
    "rust": "sources, which the extension has",
    "scenarios": "texts, which results depend on by their content",
    "wings/pages": "pages",
}
"""Rooms that decide no number of a kept result; all others are part of the build."""
_SHOWING = {"commands", "view", "__pycache__"}
"""Folders within a room that decide no number."""
_KINDS = (".py", ".toml", ".json")
WRITTEN = "_commit"
"""The file in the package with the commit, which `make wheel` writes for the wheel and the sdist."""
UNKNOWN = "unknown"
DIRTY = "-dirty"
_DIGITS = 12


class Made(TypedDict):
    """The part of each kept description that says which program made the results."""

    version: str
    commit: NotRequired[str]
    """Twelve digits, with `-dirty` behind them if files differed from it; or `unknown`."""
    build: NotRequired[str]


@cache
def build() -> str:
    """Returns the fingerprint of all that decides numbers, 16 hexadecimal digits.

    It has the sources of the compiled core with the crates that they use, and the modules and data of Python, and
    neither compiler, profile, path nor time. So it is the same in a clone and in its wheel.
    """
    return of(f"{_core.__version__} {_core.__sources__}", PACKAGE)


def of(core: str, package: Path) -> str:
    """Returns the build of a compiled core, and of a directory of the package."""
    digest = hashlib.sha256(f"{core}\n".encode())
    for name, file in sorted(sources(package)):
        content = file.read_bytes().replace(b"\r", b"")
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def sources(package: Path) -> Iterator[tuple[str, Path]]:
    """Yields the files of Python that are part of the build, by their name in the package."""
    for place in package.iterdir():
        if place.is_symlink() or place.name in ELSEWHERE:
            continue
        for file in place.rglob("*") if place.is_dir() else [place]:
            name = file.relative_to(package)
            if (
                file.suffix in _KINDS
                and not _SHOWING.intersection(name.parts)
                and "/".join(name.parts[:2]) not in ELSEWHERE
            ):
                yield name.as_posix(), file


@cache
def commit() -> str:
    """Returns the commit of this program; `-dirty` behind it tells of changed files, `unknown` that nothing tells it.

    In a clone git tells it; otherwise the file that the build wrote, or pip's record of a repository.
    """
    root = PACKAGE.parents[1]
    if (root / ".git").exists() and (root / "crates/python").is_dir():
        return _of_git(root)
    written = PACKAGE / WRITTEN
    if written.is_file():
        return written.read_text(encoding="utf-8").strip() or UNKNOWN
    return _of_pip()


def _of_git(root: Path) -> str:
    words = ["describe", "--always", "--dirty", "--exclude=*", f"--abbrev={_DIGITS}"]
    try:
        told = subprocess.run(
            ["git", "-C", root, *words], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):  # no git, or a clone of another user
        return UNKNOWN
    return told.stdout.strip() or UNKNOWN


def _of_pip() -> str:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        record = distribution("fullpipe").read_text("direct_url.json") or "{}"
        known = json.loads(record).get("vcs_info", {}).get("commit_id", "")
    except (PackageNotFoundError, ValueError, AttributeError):
        return UNKNOWN
    return str(known)[:_DIGITS] or UNKNOWN


def made() -> Made:
    """Returns version, commit and build."""
    return {"version": _core.__version__, "commit": commit(), "build": build()}


def in_words(of: Made | None = None) -> str:
    """Returns version, commit and build in words: of a kept result, or of this program."""
    of = of or made()
    words = [f"fullpipe {of['version']}"]
    if "commit" in of:
        number, dirty, _ = of["commit"].partition(DIRTY)
        words.append(f"commit {number}{' with changes' if dirty else ''}")
    if "build" in of:
        words.append(f"build {of['build']}")
    return ", ".join(words)
