"""Data of a report's page: lines are packed without loss, and coarser when there are too many points."""

from __future__ import annotations

import base64
import json
import math
import re
import subprocess
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fullpipe
from browser import WEB, browser
from conftest import SCENARIO
from fullpipe.report import page_timeline, write_report
from fullpipe.report.model import Recorded, Source, Timeline, Track
from fullpipe.report.page_data import VERSION, Packed
from sweep_dir import write_sweep

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.report.page_data import Chunk


def _unpacked(packed: Packed, level: list[Chunk]) -> tuple[list[float], list[float]]:
    """Decodes a level as the page's script does."""
    text = "".join(packed.parts)
    times: list[float] = []
    values: list[float] = []
    for chunk in level:
        raw = zlib.decompress(
            base64.b64decode(text[chunk["at"] : chunk["at"] + chunk["size"]]), -15
        )
        planes = np.frombuffer(raw, np.uint8).reshape(2, 4, chunk["count"]).transpose(0, 2, 1)
        numbers = np.ascontiguousarray(planes)
        times += (chunk["first"] + numbers[0].view("<u4").cumsum() * chunk["tick"]).tolist()
        values += numbers[1].view("<f4").ravel().tolist()
    return times, values


@given(
    st.lists(st.integers(1, 10_000_000), min_size=1, max_size=300),
    st.integers(0, 2**32 - 1),
)
def test_a_line_is_unpacked_as_it_was(steps: list[int], seed: int) -> None:
    time = np.cumsum(steps) * 1e-6
    values = np.random.default_rng(seed).normal(size=len(steps)) * 1e6
    values[:: max(len(steps) // 3, 2)] = np.nan
    packed = Packed()
    points = packed.add(Track(time, values), 10**7)
    known = np.isfinite(values)
    if not known.any():
        assert points["levels"] == []
        return
    times, found = _unpacked(packed, points["levels"][0])
    assert times == pytest.approx(time[known].tolist(), abs=2e-9)
    assert found == values[known].astype(np.float32).tolist()


def test_a_long_line_has_chunks_and_levels_with_its_peak() -> None:
    time = np.linspace(0, 199.999, 200_000)
    values = np.fromiter(map(math.sin, time), np.float64)
    values[123_456] = 9.0
    packed = Packed()
    points = packed.add(Track(time, values), 10**7)
    sizes = [sum(chunk["count"] for chunk in level) for level in points["levels"]]
    assert sizes[0] == 200_000
    assert len(points["levels"][0]) == 4
    assert sizes[-1] <= 2048
    for level in points["levels"]:
        times, found = _unpacked(packed, level)
        assert max(found) == 9.0
        assert times[found.index(9.0)] == pytest.approx(123.456, abs=1e-6)


def test_points_that_the_first_charts_do_not_need_follow_the_script(tmp_path: Path) -> None:
    axes = {"path.buffer": ["1bdp", "4bdp"]}
    page = write_report(write_sweep(tmp_path / "s", SCENARIO, axes, [1], "10ms")).read_text("utf-8")
    assert page.index('id="points"') < page.index("<script>") < page.index('id="late"')
    (timeline,) = json.loads(_element(page, "data"))["timelines"]
    for number, run in enumerate(timeline["runs"]):
        chunks = [
            chunk
            for source in run["sources"]
            for track in source["tracks"].values()
            for level in track["levels"]
            for chunk in level
        ]
        assert {chunk["late"] for chunk in chunks} == {number not in timeline["first"]}


def test_with_more_points_each_line_keeps_its_coarser_levels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noise = np.random.default_rng(1).normal(size=100_000)
    source = Source("a", "flow", "cubic", {"rtt": Track(np.arange(100_000.0), noise)})
    run = Recorded("one", "fullpipe run", 1e5, lambda: [source])

    def points(runs: int) -> int:
        made = page_timeline.timeline(Timeline([run] * runs), Packed())
        finest = [each["sources"][0]["tracks"]["rtt"]["levels"][0] for each in made["runs"]]
        return sum(chunk["count"] for level in finest for chunk in level)

    assert points(3) == 300_000
    monkeypatch.setattr(page_timeline, "MOST_POINTS", 250_000)
    assert 50_000 < points(3) <= 250_000
    monkeypatch.setattr(page_timeline, "MOST_POINTS", 40_000)
    assert 10_000 < points(3) <= 40_000


def test_a_page_has_each_value_of_the_trace(tmp_path: Path) -> None:
    run = fullpipe.run(SCENARIO, trace="ack")
    page = write_report(run.save(tmp_path / "r")).read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(_element(page, "data"))
    packed = Packed()
    packed.parts = [_element(page, "points")]
    flow = run.flow_metrics[0]["name"]
    source = next(
        each for each in data["timelines"][0]["runs"][0]["sources"] if each["name"] == flow
    )
    rows = run.trace().filter(flow=flow)
    for name, factor in (("cwnd", 1e-3), ("rtt", 1e3), ("cubic.w_max", 1)):
        times, values = _unpacked(packed, source["tracks"][name]["levels"][0])
        known = rows.drop_nulls(name)
        drawn = np.interp(known["time"], times, values)
        # a line through the kept points is the line through all
        assert drawn == pytest.approx((known[name] * factor).to_numpy(), rel=1e-6)


def test_the_script_refuses_another_version(tmp_path: Path) -> None:
    chromium = browser()
    page = write_report(fullpipe.run(SCENARIO, trace="10ms").save(tmp_path / "r"))
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace(f'"version":{VERSION}', '"version":999'), encoding="utf-8")
    command = ["node", str(WEB / "open.mjs"), chromium, str(page)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    (error,) = json.loads(done.stdout)[0]["errors"]
    assert f"this script reads version {VERSION} of fullpipe-report" in error


def _element(page: str, name: str) -> str:
    found = re.search(rf'<script type="[a-z/]+" id="{name}">([^<]*)</script>', page)
    assert found is not None
    return found[1]
