"""The build: a fingerprint that is the same in a clone and a wheel, and changes with all that decides numbers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fullpipe import _core
from fullpipe.base import build
from test_architecture import LAYERS

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "crates/python/build.rs"
UPPER = {"about", "commands", "report", "__init__", "__main__", "_begin", "_core", "wings.pages"}


def test_every_room_that_may_decide_a_number_is_in_the_build() -> None:
    named = {name.replace("/", ".").removesuffix(".py") for name, _ in build.sources(build.PACKAGE)}
    rooms = {room for line in LAYERS for room in line}
    missing = {
        room for room in rooms if not any(f"{each}.".startswith(f"{room}.") for each in named)
    }
    assert missing <= UPPER
    assert "wings.real.runners.uml" in named
    assert "trained/power.json" in dict(build.sources(build.PACKAGE))  # a policy


def test_rooms_outside_of_the_build_are_there() -> None:
    for name in build.ELSEWHERE:
        assert (build.PACKAGE / name).exists()


def test_the_build_depends_on_contents_and_neither_on_place_nor_on_time(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "other/place"
    for package in (first, second):
        (package / "stats").mkdir(parents=True)
        (package / "report").mkdir()
        (package / "stats/mean.py").write_bytes(b"def mean():\n    return 1\n")
    os.utime(second / "stats/mean.py", (1, 1))
    once = build.of("core", first)
    assert build.of("core", second) == once
    assert build.of("another core", first) != once
    (second / "report/page.py").write_text("a page\n")
    assert build.of("core", second) == once
    (second / "stats/mean.py").write_bytes(b"def mean():\r\n    return 1\r\n")
    assert build.of("core", second) == once
    (second / "stats/mean.py").write_bytes(b"def mean():\n    return 2\n")
    assert build.of("core", second) != once


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """Returns the fingerprint of the sources in a directory, as a build there computes it."""
    program = tmp_path_factory.mktemp("script") / "script"
    subprocess.run(["rustc", "--edition", "2024", "-o", program, SCRIPT], check=True)

    def of(root: Path) -> str:
        place = {**os.environ, "CARGO_MANIFEST_DIR": str(root / "crates/python")}
        told = subprocess.run([program], env=place, capture_output=True, text=True, check=True)
        found = re.search(r"FULLPIPE_SOURCES=(\w{32})$", told.stdout, re.M)
        assert found
        return found[1]

    return of


def test_the_core_tells_the_sources_that_it_was_built_from(
    script: Callable[[Path], str], tmp_path: Path
) -> None:
    once = script(ROOT)
    assert _core.__sources__ == once, "make setup builds the extension anew"
    shutil.copytree(ROOT / "crates", tmp_path / "crates")
    lock = tmp_path / "Cargo.lock"
    shutil.copy(ROOT / "Cargo.lock", lock)
    assert script(tmp_path) == once
    changes = {
        "crates/sim/tests/determinism.rs": True,
        "crates/wings/wasm/src/lib.rs": True,  # not a part of the extension
        "crates/cc/src/algo/cubic/mod.rs": False,
        "crates/scenario/profiles/lte.toml": False,
        "crates/batch/presets/edge-2019.toml": False,
    }
    for name, same in changes.items():
        file = tmp_path / name
        content = file.read_bytes() if file.exists() else b""
        file.write_bytes(content + b"\n")
        assert (script(tmp_path) == once) is same, name
        file.write_bytes(content)
    text = lock.read_text(encoding="utf-8")
    package = re.search(r'name = "rand_xoshiro"\nversion = "([\d.]+)"', text)
    assert package
    lock.write_text(text.replace(package[0], package[0].replace(package[1], "9.9.9")))
    assert script(tmp_path) != once
    lock.write_text(text)
    assert script(tmp_path) == once


def test_the_commit_is_that_of_the_clone_and_tells_of_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "python/fullpipe"
    package.mkdir(parents=True)
    (tmp_path / "crates/python").mkdir(parents=True)
    (tmp_path / "file").write_text("1\n")

    def git(*words: str) -> str:
        told = subprocess.run(
            ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        return told.stdout.strip()

    monkeypatch.setattr(build, "PACKAGE", package)
    build.commit.cache_clear()
    try:
        assert build.commit() == build.UNKNOWN  # neither git nor a written file
        (package / build.WRITTEN).write_text("0123456789ab-dirty\n")
        build.commit.cache_clear()
        assert build.commit() == "0123456789ab-dirty"
        git("init", "-q")
        git("add", "file")
        git("commit", "-qm", "first")
        git("tag", "v1")
        build.commit.cache_clear()
        head = git("rev-parse", "--short=12", "HEAD")
        assert build.commit() == head
        (tmp_path / "file").write_text("2\n")
        build.commit.cache_clear()
        assert build.commit() == f"{head}-dirty"
        assert f"commit {head} with changes" in build.in_words(build.made())
    finally:
        build.commit.cache_clear()
