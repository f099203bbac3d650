"""touched.py BASE: prints the folders of the Python tests that the commits since BASE can break.

A wing's files break its own tests, those of the wings that import it, those of the documentation, and those that walk
all commands, kinds and runners. A page breaks those of the documentation. Any other file can break all tests. `make
test-python TESTS="$(python3 tools/touched.py main)"` runs them, and the hosted CI does for a pull request.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[1]
WINGS = ROOT / "python/fullpipe/wings"
ALL, DOCS = "tests/python", "tests/python/docs"
PRODUCTS = {
    "tests/python/core/test_architecture.py",
    "tests/python/core/test_kinds.py",
    "tests/python/study/test_engines.py",
    "tests/python/study/test_shared_options.py",
}
"""The tests that walk what the wings declare."""
CRATES = {
    "emulator": ("real",),
    "gym": ("search",),
    "ingest": ("fleet", "traces"),
    "kernel": ("bpf",),
    "quic": ("quic",),
    "testbed": ("real",),
    "wasm": ("pages",),
}
"""The wings of Python that each crate of `crates/wings/` is for."""


def folders(files: Iterable[str]) -> list[str]:
    """Returns the folders and modules of tests that a change of some files can break, sorted."""
    found = set[str]()
    for file in files:
        match file.split("/"):
            case ["docs", *_] | [_] if file.endswith(".md"):
                found.add(DOCS)
            case ["python", "fullpipe", "wings", wing, _, *_] | [
                "tests",
                "python",
                "wings",
                wing,
                *_,
            ]:
                found |= _of_wings([wing])
            case ["crates", "wings", crate, *_] if crate in CRATES:
                found |= _of_wings(CRATES[crate])
            case _:
                return [ALL]
    return sorted(found)


def _of_wings(wings: Iterable[str]) -> set[str]:
    """Returns the tests of wings and of the wings that import these, also by others."""
    found, more = set[str](), set(wings)
    while more:
        found |= more
        pattern = re.compile(rf"fullpipe\.wings\.({'|'.join(more)})\b")
        more = {
            file.relative_to(WINGS).parts[0]
            for file in WINGS.glob("*/**/*.py")
            if pattern.search(file.read_text(encoding="utf-8"))
        } - found
    return {DOCS, *PRODUCTS, *(f"{ALL}/wings/{each}" for each in found)}


def main(base: str) -> None:
    words = ["git", "diff", "--name-only", f"{base}...HEAD"]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    print(*folders(done.stdout.splitlines()))


if __name__ == "__main__":
    main(*sys.argv[1:])
