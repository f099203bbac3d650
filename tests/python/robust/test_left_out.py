"""Omissions in pictures and tables of reports: each has a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fullpipe as api
from fullpipe.report import SlideForm, write_panel
from fullpipe.report.build import build
from fullpipe.report.model import Clouds, Heat, Lines, Table, Timeline
from fullpipe.report.panels import drawn
from fullpipe.report.static import pieces
from fullpipe.report.static_time import one_panel
from fullpipe.results.beside import beside
from fullpipe.runs.view.left import left_out
from served import command

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.report.model import Report, Section
    from fullpipe.runs.view.figure import Picture

_LINKS = """duration = "2s"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
[[link]]
name = "second"
rate = "11mbit"
buffer = "50packets"
[[link]]
name = "uplink"
rate = "5mbit"
buffer = "50packets"
[[flow]]
name = "a"
cc = "cubic"
route = ["bottleneck", "second"]
reverse_route = ["uplink"]
[[flow]]
name = "b"
cc = "bbr3"
"""
_ALGORITHMS = ("cubic", "bbr3", "newreno", "copa", "ledbat", "swift", "c4", "vivace")


def _swept(place: Path, *arguments: str) -> Report:
    (place / "one.toml").write_text(_LINKS, encoding="utf-8")
    done = command("sweep", place / "one.toml", *arguments, "--out", place / "swept")
    assert done.returncode == 0, done.stderr
    return build(place / "swept")


def _section(report: Report, title: str) -> Section:
    return next(each for each in report.sections if each.title == title)


def _texts(figure: Picture) -> str:
    return "\n".join(axis.get_title(loc="left") for axis in figure.axes)


def test_words_name_what_is_left_out() -> None:
    assert left_out([], 8) == ""
    assert left_out(["codel", "dualpi2"], 8) == "2 of 8 not shown: codel, dualpi2."
    many = left_out([f"f{number}" for number in range(15)], 20, "no room")
    assert many.startswith("15 of 20 not shown (no room): f0, f1, ")
    assert many.endswith(", f11 and 3 more.")


def test_maps_and_scatters_show_every_contender(tmp_path: Path) -> None:
    report = _swept(
        tmp_path,
        *("--set", f"flow.0.cc={','.join(_ALGORITHMS)}", "--set", "path.rate=5mbit,10mbit"),
        *("--set", "path.rtt=10ms,20ms,40ms,80ms", "--repeat", "3", "--duration", "1s"),
    )
    maps = [each for each in _section(report, "Maps").blocks if isinstance(each, Heat)]
    goodput = [each.title for each in maps if each.row == "goodput_bps"]
    for name in _ALGORITHMS:
        assert f"Goodput, {name}" in goodput
    section = _section(report, "Distributions")
    clouds = [each for each in section.blocks if isinstance(each, Clouds)]
    rates, delays = ("5mbit", "10mbit"), ("10ms", "20ms", "40ms", "80ms")
    assert [each.title for each in clouds] == [f"rate {a}, rtt {b}" for a in rates for b in delays]
    for each in clouds:
        assert {cloud.label for cloud in each.clouds} >= set(_ALGORITHMS)
    assert "up to 3 settings, not of 8" in section.note
    curves = [each for each in _section(report, "Curves").blocks if isinstance(each, Lines)]
    lines = {
        line.label
        for each in curves
        if each.title.startswith("Goodput") or each.row.startswith("Goodput")
        for line in each.lines
    }
    assert lines >= set(_ALGORITHMS)
    assert {"rate 5mbit", "rate 10mbit"} <= {each.title for each in curves}


def test_many_contenders_make_several_charts_of_shares(tmp_path: Path) -> None:
    report = _swept(
        tmp_path, "--set", f"flow.0.cc={','.join(_ALGORITHMS)}", "--repeat", "3", "--duration", "1s"
    )
    blocks = _section(report, "Distributions").blocks
    labels = {
        line.label
        for each in blocks
        if isinstance(each, Lines) and each.row.startswith("Goodput")
        for line in each.lines
    }
    assert labels >= set(_ALGORITHMS)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kept run with a link that ACKs alone cross."""
    out: Path = tmp_path_factory.mktemp("links") / "kept"
    api.run(_LINKS, trace="10ms").save(out)
    return out


def test_a_link_of_acks_is_in_the_tables_and_named_below_pictures(kept: Path) -> None:
    report = build(kept)
    tables = [each for each in _section(report, "Results").blocks if isinstance(each, Table)]
    assert any("queueing delay at uplink" in head for each in tables for head in each.columns)
    said = "1 of 3 not shown (ACKs do not wait there): uplink."
    (timeline,) = (
        each for each in _section(report, "Over time").blocks if isinstance(each, Timeline)
    )
    assert timeline.runs[0].notes["queue"] == said
    drawn_ = [each.alone() for each in pieces(report) if each.section == "Over time"]
    assert said.split(":")[0] in drawn_[0].get_supxlabel().replace("\n", " ")
    assert said in _texts(api.run(_LINKS, trace="10ms").plot())


def test_areas_of_several_runs_have_an_axis_each(kept: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    api.run(_LINKS, trace="10ms", queue="codel", buffer="100packets").save(other)
    results = beside([kept, other])
    from fullpipe.report.panels import time

    section = time.section(results)
    assert section is not None
    (timeline,) = section.blocks
    assert isinstance(timeline, Timeline)
    runs = drawn.shown(timeline.runs)
    figure = one_panel(runs, drawn.find("share", runs))
    assert len(figure.axes) == 2
    assert len({axis.get_title(loc="left") for axis in figure.axes}) == 2
    lines = one_panel(runs, drawn.find("queue", runs)).axes[0].get_lines()
    links = [
        each for each in lines if "queue" in f"{each.get_label()}" and each.get_linewidth() > 0
    ]
    marks = [each.get_marker() for each in links if each.get_marker() not in ("None", "|")]
    assert len(marks) == len(set(marks)) == 4
    legend = one_panel(runs[:1], drawn.find("cwnd", runs)).axes[0].get_legend()
    assert legend is not None
    assert any("(bbr3)" in each.get_text() for each in legend.get_texts())


def test_a_delay_trace_has_no_line_of_the_bdp() -> None:
    traced = api.run(
        ["cubic"], duration="2s", trace="10ms", set={"path.delay_trace": "0s 30ms, 1s 40ms"}
    )
    titles = _texts(traced.plot())
    assert "no BDP, since the delay follows a trace" in titles
    assert "BDP of the path" not in titles


def test_a_panel_of_some_recorded_runs_names_the_others(tmp_path: Path) -> None:
    _swept(tmp_path, "--set", "path.rate=5mbit,10mbit", "--trace", "10ms", "--duration", "1s")
    out = write_panel(tmp_path / "swept", "rate", SlideForm.SVG, tmp_path / "rate.svg")
    assert "1 of 2 not shown: rate 10mbit, seed 1." in out.read_text(encoding="utf-8")
    few = write_panel(tmp_path / "swept", "queue", SlideForm.SVG, tmp_path / "queue.svg")
    assert "Losses that flows declared" not in few.read_text(encoding="utf-8")
