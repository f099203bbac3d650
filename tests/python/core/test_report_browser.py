"""A report in headless Chromium, offline, as a reader would use it. `make browser` installs what that needs."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import struct
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from PIL import Image

from browser import WEB, browser
from conftest import SCENARIO
from fullpipe.report import write_report
from fullpipe.results import read_parquet
from fullpipe.results.load import load
from sweep_dir import write_sweep

ROOT = Path(__file__).parents[3]
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
    return found | {"out": str(directory / "look"), "sweep": str(sweep)}


def test_it_opens_from_a_file_without_network_or_errors(seen: dict[str, Any]) -> None:
    assert seen["errors"] == []
    assert set(seen["requests"]) == {"file"}
    assert seen["title"] == "Two flows, two seconds"
    assert seen["charts"] > 5


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


def test_a_chart_zooms_and_moves_by_keyboard_and_wheel(seen: dict[str, Any]) -> None:
    low, high = _span(seen["whole"])
    near, right, wheel = (_span(seen[name]) for name in ("plus", "right", "wheel"))
    assert near[1] - near[0] == pytest.approx((high - low) / 2, rel=0.01)
    assert right[1] - right[0] == pytest.approx((high - low) / 2, rel=0.01)
    assert right[0] > near[0]
    assert seen["zero"] == seen["whole"]
    assert low < wheel[0] < wheel[1] < high


def test_a_run_has_its_panels_and_any_other_column_on_demand(seen: dict[str, Any]) -> None:
    usual = ["rate", "cwnd", "states", "limits", "rtt", "queue", "share"]
    assert seen["panels"] == [*usual, "jain", "rate-rtt"]
    assert {"srtt", "cubic.w_max"} <= set(seen["columns"])
    assert seen["added"] == [*usual, "pacing", "jain", "rate-rtt", "rate-rate", "srtt"]


def test_all_charts_show_their_values_at_the_time_under_the_pointer(seen: dict[str, Any]) -> None:
    times = {text.partition(" s")[0] for text in seen["values"] if " s" in text[:12]}
    assert len(times) == 1
    assert 3 < float(times.pop()) < 5, "the middle of eight seconds"
    window = seen["values"][1]
    assert re.search(r"cubic \d", window), window
    assert re.search(r"slow_start|congestion_avoidance|recovery", seen["values"][2])


def test_every_value_has_its_unit(seen: dict[str, Any]) -> None:
    """Ticks count what happened near the pointer, not since the begin of the run."""
    units = {0: "Mbit/s", 1: "kB", 4: "ms", 6: "ms"}
    for number, unit in units.items():
        said = re.sub(r"^\S+ s", "", seen["values"][number])
        assert len(re.findall(r"\d", said)) > 2, said
        found = re.findall(rf"(?<![\w.])[\d,.]+(?! {unit})(?![\w.,])", said)
        assert not found, said
    queue = seen["values"][5]
    assert re.search(r"bottleneck [\d.]+ ms", queue), queue
    for counted in re.findall(r"Drops ([\d.]+ \S+?)(?=cubic|bbr|bottleneck|$)", queue):
        number, unit = counted.split()
        assert (float(number) < 10, unit) == (True, "packets"), queue


def test_a_chart_says_whose_states_are_behind_it(seen: dict[str, Any]) -> None:
    words = " ".join(ElementTree.parse(Path(seen["out"]) / "cwnd.svg").getroot().itertext())
    assert "states of cubic" in words
    saved = ElementTree.parse(Path(seen["out"]) / "states.svg").getroot()
    assert "congestion_avoidance" in " ".join(saved.itertext()), (
        "the colors of states have a legend"
    )


def test_curves_have_ticks_at_swept_values_and_the_legend_of_other_charts(
    seen: dict[str, Any],
) -> None:
    texts = [each.text for each in ElementTree.parse(Path(seen["out"]) / "curve.svg").iter()]
    at = texts.index("4")
    assert texts[at - 1] == "1", texts
    assert seen["legends"] == 0
    assert re.match(r"buffer 4 bdpcubic\S* [\d.]+ Mbit/s \[[\d.]+, [\d.]+\]", seen["curve"]), seen[
        "curve"
    ]


def test_two_fingers_zoom_a_chart(seen: dict[str, Any]) -> None:
    low, high = _span(seen["whole"])
    begin, end = _span(seen["pinched"])
    assert end - begin == pytest.approx((high - low) / 2, rel=0.1)
    assert (begin + end) / 2 == pytest.approx((low + high) / 2, rel=0.1)


def test_a_flow_is_hidden_in_all_charts(seen: dict[str, Any]) -> None:
    before, after, pressed = seen["toggled"]
    assert pressed == "false"
    flow = seen["flow"]
    of_flows = [number for number, text in enumerate(before) if flow in text]
    assert len(of_flows) >= 5
    assert all(flow not in text for text in after)


def test_each_chart_is_saved_as_picture_and_numbers(seen: dict[str, Any]) -> None:
    for name, suggested in seen["saved"].items():
        file = Path(seen["out"]) / name
        content = file.read_bytes()
        assert suggested.endswith(file.suffix)
        match file.suffix:
            case ".png":
                assert content.startswith(b"\x89PNG")
                width, height = struct.unpack(">II", content[16:24])
                assert width * 9 == height * 16
            case ".svg":
                root = ElementTree.fromstring(content)
                assert len(root.findall(".//{http://www.w3.org/2000/svg}path")) >= 2
                assert "cubic" in "".join(root.itertext())
            case _:
                head, *rows = csv.reader(content.decode().splitlines())
                assert len(rows) > 5
                assert len(head) in (3, 4)


@pytest.mark.parametrize("key", ["cwnd", "share", "rate-rtt"])
def test_a_saved_svg_shows_what_the_png_shows(seen: dict[str, Any], key: str) -> None:
    """A browser draws the SVG. An outline that begins with L, or an empty clip, draws nothing at all."""
    png, svg = (_colored(Path(seen["out"]) / f"{key}{end}") for end in (".png", ".svg.png"))
    assert png > 300
    assert svg == pytest.approx(png, rel=0.2)


def _colored(file: Path) -> int:
    """Returns the number of pixels of a chart that are neither paper, grid nor a faint band."""
    with Image.open(file) as picture:
        chart = picture.convert("RGB").resize((1280, 720)).crop((80, 100, 1280, 660))
    red, green, blue = (
        np.frombuffer(each.tobytes(), np.uint8).astype(int) for each in chart.split()
    )
    most, least = (of((red, green, blue), axis=0) for of in (np.max, np.min))
    return int((most - least > 60).sum())


def test_the_saved_window_is_that_of_the_trace(seen: dict[str, Any]) -> None:
    rows = list(csv.reader((Path(seen["out"]) / "cwnd.csv").read_text().splitlines()))
    trace = read_parquet(load(Path(seen["sweep"])).series[0].files["flows"])
    mine = trace.filter(pl.col("flow") == "cubic")
    windows = dict(zip(mine["time"].round(6), mine["cwnd"] / 1e3, strict=True))
    saved = {
        round(float(time), 6): float(value) for line, time, value in rows[1:] if line == "cubic"
    }
    assert len(saved) > 100
    for time, value in saved.items():
        assert value == pytest.approx(windows[time], rel=1e-5)


def test_runs_are_laid_over_each_other_with_their_commands(seen: dict[str, Any]) -> None:
    assert [command.rpartition(" --point ")[2] for command in seen["together"]] == [
        *("0 --seed 1", "2 --seed 1")
    ], "the contenders of one buffer"
    assert seen["runs"] == 4
    first, both, last = (
        [command.rpartition(" --point ")[2] for command in commands]
        for commands in seen["commands"]
    )
    assert (first, both, last) == (["0 --seed 1"], ["0 --seed 1", "3 --seed 1"], ["3 --seed 1"])
    assert "cubic, cc cubic, buffer 1bdp" in seen["overlaid"]
    assert "bbr3, cc bbr3, buffer 4bdp" in seen["overlaid"]


def test_it_is_for_keyboards_dark_rooms_and_small_screens(seen: dict[str, Any]) -> None:
    assert seen["firstStop"] == "To the summary"
    assert seen["unnamed"] == 0
    assert seen["darkPaper"] == "rgb(22, 24, 27)"
    assert seen["overflow"] == 0


def test_the_bundle_is_built_from_its_source(tmp_path: Path) -> None:
    if not (WEB / "node_modules/esbuild").is_dir():
        pytest.skip("no esbuild: `make browser` installs it")
    command = ["npm", "run", "--silent", "build", "--", f"--outfile={tmp_path / 'page.js'}"]
    subprocess.run(command, cwd=WEB, check=True, timeout=300)
    for name in ("page.js", "page.css"):
        ours = (ASSETS / name).read_bytes()
        assert ours == (tmp_path / name).read_bytes(), "`make page` builds it"
    assert sum((ASSETS / name).stat().st_size for name in ("page.js", "page.css")) < 400_000
    assert (ASSETS / "uPlot.LICENSE").read_bytes() == (
        WEB / "node_modules/uplot/LICENSE"
    ).read_bytes()


def test_the_types_of_the_page_are_those_of_its_data() -> None:
    spec = importlib.util.spec_from_file_location("page_format", ROOT / "tools/page_format.py")
    assert spec is not None
    assert spec.loader is not None
    page_format = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page_format)
    if os.environ.get("FULLPIPE_BLESS"):
        page_format.FILE.write_text(page_format.text())
    assert page_format.FILE.read_text() == page_format.text()
