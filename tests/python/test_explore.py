"""`fullpipe explore`: its page in headless Chromium, offline, and its engine against the command's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import fullpipe
from browser import WEB, browser
from fullpipe import explore, origin
from fullpipe._core import Scenario, ScenarioError

ENGINE = Path(str(files("fullpipe.explore"))) / "assets" / "engine.wasm.gz"
INTERVAL = "10ms"
MOST_BYTES = 1_400_000


def run_program(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the command as a user does."""
    command = [sys.executable, "-m", "fullpipe", *args]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(
        command, input=text, capture_output=True, text=True, env=environment, check=False
    )


def _built() -> None:
    if not ENGINE.exists():
        pytest.skip("no engine for pages: `make wasm` builds it")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page without a scenario, as the command writes it."""
    _built()
    file = tmp_path_factory.mktemp("explore") / "explore.html"
    done = run_program("explore", "--out", str(file))
    assert done.stdout.strip() == str(file), done.stderr
    return file


@pytest.fixture(scope="module")
def seen(page: Path) -> dict[str, Any]:
    """Observations on the page in a browser; see web/explore.mjs."""
    command = ["node", str(WEB / "explore.mjs"), browser(), str(page), str(page.parent / "look")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _hash(text: str, interval: str) -> str | None:
    return fullpipe.run(text, trace=interval).trace_hash


def test_the_engine_has_the_hashes_of_the_command(tmp_path: Path) -> None:
    _built()
    expected = {}
    for file in origin.packaged():
        text = file.read_text()
        try:
            Scenario.parse(text, "/no such directory/scenario", [])
        except ScenarioError:
            continue  # it needs a file, which the command puts into the page
        short = re.sub(r"(?m)^duration = .*", 'duration = "3s"', text)
        short = re.sub(r"(?m)^measure_from = .*\n", "", short)
        place = tmp_path / file.name
        try:
            expected[str(place)] = _hash(short, INTERVAL)
        except ScenarioError:
            continue  # its path changes later than that
        place.write_text(short)
    assert len(expected) >= 40
    command = ["node", str(WEB / "hashes.mjs"), str(ENGINE), str(10_000_000), *expected]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


def test_the_page_is_one_small_file(page: Path) -> None:
    assert page.stat().st_size <= MOST_BYTES


def test_it_works_from_a_file_without_network_or_errors(seen: dict[str, Any]) -> None:
    assert seen["errors"] == []
    assert set(seen["requests"]) <= {"file", "blob"}
    assert seen["title"] == "CUBIC against BBRv3"
    assert seen["charts"] == 4


def test_the_page_shows_the_hash_that_its_command_prints(seen: dict[str, Any]) -> None:
    assert seen["first"]["text"] == explore.DEFAULT
    shared = seen["shared"]
    parts = re.fullmatch(
        r"fullpipe (run - --trace \w+) <<'SCENARIO'\n(.*\n)SCENARIO", seen["command"], re.DOTALL
    )
    assert parts
    done = run_program(*parts[1].split(), text=parts[2])
    assert f"trace {shared['hash']}" in done.stdout, done.stderr


def test_a_slider_changes_text_and_run(seen: dict[str, Any]) -> None:
    slid, clicked = seen["slid"], seen["clicked"]
    rate = re.search(r'rate = "([\d.]+)mbit"', slid["text"])
    assert rate and 10 < float(rate[1]) < 20
    assert slid["hash"] == _hash(slid["text"], INTERVAL) != seen["first"]["hash"]
    assert re.search(r'rate = "\d+kbit"|rate = "[\d.]+mbit"', clicked)
    assert clicked != slid["text"]
    # 100 ms on an idle core of a desktop; the bound allows for a busy machine.
    assert sorted(seen["took"])[1] < 1000


def test_the_text_changes_the_sliders_and_names_mistakes(seen: dict[str, Any]) -> None:
    assert seen["typed"] == "5mbit"
    assert "rrt" in seen["problem"]
    assert "rtt" in seen["problem"].partition("fix:")[2]
    assert seen["back"] == [seen["first"]["hash"], ""]


def test_flows_and_parameters_change_by_their_controls(seen: dict[str, Any]) -> None:
    assert 'cc = "newreno"' in seen["algorithm"]
    assert seen["added"] == 3
    assert "params = { beta = 0.5 }" in seen["parameter"]
    assert seen["parameter"].count("[[flow]]") == 2


def test_a_pinned_run_stays_beside_the_next(seen: dict[str, Any]) -> None:
    assert "cubic, pinned" in seen["pinned"]
    assert seen["pinned"].count("cubic") == 2


def test_time_moves_by_slider_step_and_play(seen: dict[str, Any]) -> None:
    at, stepped, back, played = (
        float(seen[name].removesuffix(" s")) for name in ("at", "stepped", "steppedBack", "played")
    )
    assert at == pytest.approx(15, abs=0.1)
    assert stepped == pytest.approx(at + 0.004)
    assert back == pytest.approx(at)
    assert played > back
    assert re.fullmatch(r"[1-9]\d* packets under way, \d+ of them in the queue", seen["underWay"])
    cubic, bbr3 = seen["states"]
    assert re.match(r" cubic: .+ since [\d.]+ s: .+ window [\d.]+ kB", cubic)
    assert "bbr3" in bbr3


def test_a_link_holds_the_scenario(seen: dict[str, Any]) -> None:
    assert seen["linked"] == seen["shared"]


def test_a_long_run_streams_and_stops(seen: dict[str, Any]) -> None:
    assert re.fullmatch(r"running: [\d.]+ of 6000 s", seen["running"])
    took_ms, status, digest = seen["stopped"]
    assert took_ms < 5000
    assert status.startswith("stopped")
    assert digest == "none: the run was stopped"


def test_markup_in_a_scenario_stays_text(seen: dict[str, Any]) -> None:
    assert "<img src=x" in seen["named"]
    assert "<img src=x" in seen["refused"]
    assert seen["injected"] == 0


def test_it_is_readable_in_the_dark_on_a_phone_and_by_ear(seen: dict[str, Any]) -> None:
    assert seen["darkPaper"] == "rgb(22, 24, 27)"
    assert seen["overflow"] <= 0
    assert seen["unnamed"] == 0


def test_without_an_engine_the_command_names_the_one_that_builds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fullpipe.explore.page.ENGINE", "none.gz")
    with pytest.raises(explore.EngineError, match="make wasm"):
        explore.explorer(explore.DEFAULT, "explore")
