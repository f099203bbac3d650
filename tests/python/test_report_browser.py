"""A report in headless Chromium, offline, as a reader would use it. `make browser` installs what that needs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from browser import WEB, browser
from conftest import SCENARIO
from fullpipe.report import write_report
from sweep_dir import write_sweep

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "python/fullpipe/report/assets"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Observations on the report of a small sweep in a browser; see web/look.mjs."""
    chromium = browser()
    directory = tmp_path_factory.mktemp("report")
    sweep = write_sweep(
        directory / "sweep",
        SCENARIO.replace('"2s"', '"8s"'),
        {"flow.0.cc": ["cubic", "bbr3"], "path.buffer": ["1bdp", "4bdp"]},
        list(range(1, 7)),
        "10ms",
    )
    page = write_report(sweep)
    command = ["node", str(WEB / "look.mjs"), chromium, str(page), str(directory / "look")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_opens_from_a_file_without_network_or_errors(seen: dict[str, Any]) -> None:
    assert seen["errors"] == []
    assert set(seen["requests"]) == {"file"}
    assert seen["title"] == "Two flows, two seconds"
    assert seen["charts"] == seen["chartsAfter"] > 5


def test_a_table_sorts_by_number_with_mouse_and_keyboard(seen: dict[str, Any]) -> None:
    numbers = sorted(map(float, seen["unsorted"]))
    (up, rising), (down, falling) = seen["ascending"], seen["descending"]
    assert (up, down) == ("ascending", "descending")
    assert [float(each) for each in rising] == numbers
    assert [float(each) for each in falling] == numbers[::-1]
    assert list(map(float, seen["unsorted"])) not in (numbers, numbers[::-1])


def _span(said: str) -> tuple[float, float]:
    low, _, high = said.removeprefix("time, s from ").partition(" to ")
    return float(low), float(high)


def test_a_chart_zooms_and_the_others_of_its_run_follow(seen: dict[str, Any]) -> None:
    low, high = _span(seen["whole"])
    chart, other = map(_span, seen["dragged"])  # from a quarter to the middle
    assert (
        chart
        == other
        == pytest.approx((low + (high - low) / 4, low + (high - low) / 2), abs=(high - low) / 20)
    )
    assert seen["reset"] == [seen["whole"]] * 2


def test_a_chart_zooms_and_moves_by_keyboard(seen: dict[str, Any]) -> None:
    low, high = _span(seen["whole"])
    near, right = _span(seen["plus"]), _span(seen["right"])
    assert near[1] - near[0] == pytest.approx((high - low) / 2, rel=0.01)
    assert right[1] - right[0] == pytest.approx((high - low) / 2, rel=0.01)
    assert right[0] > near[0]
    assert seen["zero"] == seen["whole"]


def test_each_run_that_was_recorded_can_be_chosen_with_its_command(seen: dict[str, Any]) -> None:
    assert seen["runs"] == 4
    assert [command.rpartition(" --point ")[2] for command in seen["commands"]] == [
        "0 --seed 1",
        "3 --seed 1",
    ]


def test_it_is_for_keyboards_dark_rooms_and_small_screens(seen: dict[str, Any]) -> None:
    assert seen["firstStop"] == "To the summary"
    assert seen["unnamed"] == 0
    assert seen["darkPaper"] == "rgb(22, 24, 27)"
    assert seen["overflow"] == 0


def test_uplot_is_as_npm_has_it() -> None:
    package = WEB / "node_modules/uplot"
    if not package.is_dir():
        pytest.skip("no uplot: `make browser` installs it")
    for ours, theirs in (
        ("uPlot.iife.min.js", "dist/uPlot.iife.min.js"),
        ("uPlot.min.css", "dist/uPlot.min.css"),
        ("uPlot.LICENSE", "LICENSE"),
    ):
        assert (ASSETS / ours).read_bytes() == (package / theirs).read_bytes(), (
            "make vendor copies it anew"
        )
