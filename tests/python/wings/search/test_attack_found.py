"""Scenarios that `fullpipe attack` found and shrank: each still shows its fault, in twelve lines besides `stack`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Fullpipe

FOUND = Path(__file__).parents[3] / "attack"
PAGE = Path(__file__).parents[4] / "docs/evidence/attack.md"
_MOST = 12


@pytest.mark.parametrize("file", sorted(FOUND.glob("*.toml")), ids=lambda file: file.stem)
def test_a_found_scenario_is_short_and_still_shows_its_fault(
    file: Path, tmp_path: Path, fullpipe: Fullpipe
) -> None:
    text = file.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert lines[0] == 'stack = "rfc"'
    assert len(lines[1:]) <= _MOST
    assert text.startswith("# ")
    assert "\nexpect = [" in text
    if "planted:" in text:
        for name in ("planted.py", "bad_controllers.py"):
            shutil.copy(Path(__file__).parents[2].joinpath(name), tmp_path)
    done = fullpipe("check", str(file))
    assert done.returncode == 0, done.stdout


def test_a_blind_search_of_seconds_finds_a_planted_fault(
    tmp_path: Path, fullpipe: Fullpipe
) -> None:
    """The other searches of the page take minutes; this fault is among the easiest."""
    for name in ("planted.py", "bad_controllers.py"):
        shutil.copy(Path(__file__).parents[2].joinpath(name), tmp_path)
    attack = ("attack", "planted:OldMinimum", "--than", "planted:Plain", "--goal", "utilization")
    done = fullpipe(*attack, "--budget", "4s", "--worst", "1", "--json")
    assert done.returncode == 0, done.stderr
    [worst] = json.loads(done.stdout)
    assert worst["value"] < 0.2
    assert worst["than"] > 0.7


def test_the_evidence_names_each_found_scenario() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for file in FOUND.glob("*.toml"):
        assert f"tests/attack/{file.name}" in page
