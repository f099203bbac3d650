"""One panel of a report for slides, through the command."""

from __future__ import annotations

import csv
import struct
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import fullpipe as library
from conftest import SCENARIO
from fullpipe.report.model import Timeline
from fullpipe.report.panels import drawn, time
from fullpipe.report.panels.declared import PANELS
from fullpipe.report.static_time import one_panel
from fullpipe.results import read_parquet
from fullpipe.results.beside import beside
from fullpipe.results.load import load
from fullpipe.runs.view.colors import COLORS

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from conftest import Fullpipe

_WITHOUT = {"active", "requests"}
"""Panels without data of the two flows."""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Two flows, with a trace."""
    return library.run(SCENARIO, trace="10ms packets").save(tmp_path / "kept")


def _rows(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.reader(text))


def _words(file: Path) -> str:
    return " ".join("".join(each.itertext()) for each in ElementTree.parse(file).iter())


@pytest.mark.usefixtures("kept")
def test_each_panel_with_data_is_a_picture_at_16_to_9_with_its_flows(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    for panel in PANELS:
        done = fullpipe("report", "kept", "--panel", panel.key)
        if panel.key in _WITHOUT:
            assert done.returncode == 2
            continue
        assert (done.returncode, done.stdout) == (0, f"kept/report-{panel.key}.svg\n"), done.stderr
        file = tmp_path / done.stdout.strip()
        _, _, width, height = map(
            float, ElementTree.parse(file).getroot().attrib["viewBox"].split()
        )
        assert width / height == pytest.approx(16 / 9, rel=1e-3)
        words = _words(file)
        assert panel.title in words
        assert "all flows" in words or panel.key in {"jain", "queue", "pacing"} or "cubic" in words


@pytest.mark.parametrize("key", ["cwnd", "queue", "states", "rate-rtt", "rtt", "packets"])
def test_legends_of_two_runs_are_within_the_slide(tmp_path: Path, key: str) -> None:
    many = SCENARIO + '[[flow]]\ncc = "cubic"\nname = "an-upload-with-a-rather-long-name"\n'
    for name, text in (("a", many), ("b", many)):
        queue = {"path.queue": "pfifo" if name == "a" else "fq_codel"}
        library.run(text, set=queue, trace="10ms packets").save(tmp_path / name)
    section = time.section(beside([tmp_path / "a", tmp_path / "b"]))
    assert section is not None
    (block,) = section.blocks
    assert isinstance(block, Timeline)
    for chosen in ([block.runs[0]], block.runs):
        runs = drawn.shown(chosen)
        figure = one_panel(runs, drawn.find(key, runs))
        figure.draw_without_rendering()
        axes = figure.axes
        assert len(axes) == (3 if key == "packets" and len(runs) == 1 else 1)
        legends = [*figure.legends, *filter(None, [axis.get_legend() for axis in axes])]
        assert len(legends) == len(axes)
        whole = figure.bbox
        for box in (each.get_window_extent() for each in legends):
            assert whole.x0 <= box.x0
            assert box.x1 <= whole.x1 + 1
            assert whole.y0 - 1 <= box.y0
            assert box.y1 <= whole.y1 + 1
        assert sum(each.get_window_extent().height for each in axes) > 0.4 * whole.height


def test_what_is_drawn_together_differs_in_its_looks(tmp_path: Path) -> None:
    """Links differ in lines, runs in points, and drops have a color of no algorithm."""
    path = 'duration = "4s"\n[path]\nrate = "10mbit"\nrtt = "20ms"\nbuffer = "0.5bdp"\n'
    link = '[[link]]\nname = "uplink"\nrate = "12mbit"\nbuffer = "1bdp"\n'
    flow = '[[flow]]\nname = "{0}"\ncc = "bbr3"\nroute = ["uplink", "bottleneck"]\n'
    for name in ("one", "two"):
        text = path + link + flow.format("a") + flow.format("b")
        queue = {"path.queue": "pfifo" if name == "one" else "fq_codel"}
        library.run(text, set=queue, trace="10ms").save(tmp_path / name)
    section = time.section(beside([tmp_path / "one", tmp_path / "two"]))
    assert section is not None
    (block,) = section.blocks
    assert isinstance(block, Timeline)

    def axis(key: str, *numbers: int) -> Axes:
        runs = drawn.shown([block.runs[number] for number in numbers])
        return one_panel(runs, drawn.find(key, runs)).axes[0]

    found = {str(line.get_label()): line for line in axis("queue", 0).lines}
    looks = {
        (found[name].get_color(), found[name].get_linestyle()) for name in ("uplink", "bottleneck")
    }
    assert len(looks) == 2
    lost = {name: line.get_color() for name, line in found.items() if "lost" in name}
    assert set(lost) == {"a: Declared lost", "b: Declared lost"}
    assert len({*lost.values()}) == 2
    assert found["bottleneck: Drops"].get_color() not in (*COLORS, *lost.values())
    above = {
        name: float(np.asarray(line.get_ydata())[0]) for name, line in found.items() if ":" in name
    }
    assert len({*above.values()}) == len(above), "a row of ticks for each"
    runs = [line for line in axis("rate-rtt", 0, 1).lines if line.get_marker() != "None"]
    assert [line.get_marker() for line in runs] == [".", ".", "x", "x"]


@pytest.mark.usefixtures("kept")
def test_the_form_is_that_of_the_option(fullpipe: Fullpipe, tmp_path: Path) -> None:
    for form, begin in (
        ("png", b"\x89PNG"),
        ("pdf", b"%PDF"),
        ("svg", b"<?xml"),
        ("csv", b"line,"),
    ):
        name = f"mine.{form}"
        done = fullpipe("report", "kept", "--panel", "rtt", "--format", form, "--out", name)
        assert (done.returncode, done.stdout) == (0, f"{name}\n"), done.stderr
        assert (tmp_path / name).read_bytes().startswith(begin)
    width, height = struct.unpack(">II", (tmp_path / "mine.png").read_bytes()[16:24])
    assert (width, height) == (1920, 1080)


def test_numbers_are_those_of_the_trace(fullpipe: Fullpipe, kept: Path) -> None:
    for panel in ("cwnd", "cubic.w_max", "states", "rate-rtt"):
        assert fullpipe("report", "kept", "--panel", panel, "--format", "csv").returncode == 0
    trace = read_parquet(load(kept).series[0].files["flows"]).filter(pl.col("flow") == "cubic")
    head, *rows = _rows(kept / "report-cwnd.csv")
    assert head == ["line", "time, s", "Congestion window and data in flight, kB"]
    assert {row[0] for row in rows} >= {"cubic", "bbr1", "cubic: In flight", "cubic: ssthresh"}
    assert "bbr1: ssthresh" not in {row[0] for row in rows}, "BBR is not bound to it"
    mine = {float(time): float(value) for line, time, value in rows if line == "cubic"}
    expected = zip(trace["time"], trace["cwnd"] / 1e3, strict=True)
    assert mine == pytest.approx(dict(expected))
    head, *rows = _rows(kept / "report-cubic.w_max.csv")
    assert head[2].startswith("cubic.w_max")
    assert {row[0] for row in rows} == {"cubic"}
    head, *rows = _rows(kept / "report-states.csv")
    assert head == ["flow", "word", "since, s", "till, s"]
    assert ["cubic", "slow_start"] in [row[:2] for row in rows]
    head, *rows = _rows(kept / "report-rate-rtt.csv")
    assert head == ["line", "RTT, ms", "Delivery rate over RTT, Mbit/s"]
    assert len(rows) > 20


def test_a_rate_ends_where_its_flow_ends(fullpipe: Fullpipe, tmp_path: Path) -> None:
    library.run(SCENARIO, trace="10ms", set={"flow.0.bytes": "300kB"}).save(tmp_path / "kept")
    done = fullpipe("report", "kept", "--panel", "rate", "--format", "csv", "--out", "rate.csv")
    assert done.returncode == 0, done.stderr
    rates = [float(row[2]) for row in _rows(tmp_path / "rate.csv")[1:] if row[0] == "bbr1"]
    assert min(rates[-3:]) > 5, "no bin at the end is half empty"


def test_of_several_results_the_runs_are_over_each_other(fullpipe: Fullpipe, kept: Path) -> None:
    here = kept.parent
    library.run(SCENARIO, trace="10ms", set={"path.buffer": "4bdp"}).save(here / "deep")
    done = fullpipe("report", "kept", "deep", "--panel", "rtt", "--format", "csv")
    assert (done.returncode, done.stdout) == (0, "report-rtt-kept-deep.csv\n"), done.stderr
    names = {row[0] for row in _rows(here / "report-rtt-kept-deep.csv")[1:]}
    assert {"cubic, buffer 1bdp", "cubic, buffer 4bdp", "bbr1, buffer 4bdp: Minimum RTT"} <= names


def test_a_part_of_a_run_has_a_picture_and_numbers(fullpipe: Fullpipe, kept: Path) -> None:
    for key in ("rtt", "rate", "states", "share"):
        part = ("--panel", key, "--time", "500ms..1s", "--format", "csv")
        done = fullpipe("report", "kept", *part)
        assert (done.returncode, done.stdout) == (0, f"kept/report-{key}.csv\n"), done.stderr
        times = [
            float(row[2 if key == "states" else 1]) for row in _rows(kept / f"report-{key}.csv")[1:]
        ]
        assert 0.5 <= min(times) < 0.6
        assert max(times) <= 1
    runs = drawn.within(_read(kept), 0.5, 1.0)
    axis = one_panel(runs, drawn.find("rtt", runs)).axes[0]
    assert axis.get_xlim() == (0.5, 1.0)
    drawn_ = np.concatenate([np.asarray(line.get_xdata(), dtype=float) for line in axis.lines])
    assert len(drawn_[(drawn_ >= 0.5) & (drawn_ <= 1)]) > 20
    for arguments, problem, fix in (
        (("--panel", "rtt", "--time", "5s..9s"), "nothing in this time", "a part of 0s..2s"),
        (("--panel", "rtt", "--time", "2s..1s"), "2s..1s", "like 3s..5s"),
        (("--panel", "rtt", "--time", "2s"), "not a part of a run", "like 3s..5s"),
        (("--time", "1s..2s"), "--time: ", "add --panel KEY"),
    ):
        done = fullpipe("report", "kept", *arguments)
        assert done.returncode == 2
        assert problem in done.stderr
        assert fix in done.stderr


def test_a_title_has_what_is_drawn_of_several_runs(kept: Path) -> None:
    (run,) = _read(kept)
    panel = drawn.find("cwnd", [run])
    for runs, title in (
        ([run], "Congestion window and data in flight, kB"),
        ([run, run], "Congestion window, kB"),
    ):
        axis = one_panel(runs, panel).axes[0]
        assert axis.get_title(loc="left") == title
        there = any("In flight" in str(line.get_label()) for line in axis.lines)
        assert there == ("in flight" in title)


def test_where_lines_coincide_both_are_seen_and_strips_have_names(kept: Path) -> None:
    runs = _read(kept)
    lines = one_panel(runs, drawn.find("rtt", runs)).axes[0].lines
    first, last = (
        next(each for each in lines if each.get_label() == name) for name in ("cubic", "bbr1")
    )
    assert first.get_linewidth() > 1.5 * last.get_linewidth()
    words = [each.get_text() for each in one_panel(runs, drawn.find("cwnd", runs)).axes[0].texts]
    assert words == ["states of cubic", "states of bbr1"]


def test_each_flow_has_an_axis_of_sequence_numbers_and_points_say_what_they_are(kept: Path) -> None:
    runs = _read(kept)
    axes = one_panel(runs, drawn.find("packets", runs)).axes
    assert [
        next(str(line.get_label()).partition(":")[0] for line in axis.lines) for axis in axes
    ] == ["cubic", "bbr1"]
    labels = [each.label for each in drawn.lines(drawn.find("packet-delays", runs), runs)]
    assert labels[:2] == ["cubic: Waiting in queues", "bbr1: Waiting in queues"]


def test_a_link_without_waiting_acks_is_not_drawn(tmp_path: Path) -> None:
    text = SCENARIO.replace(
        "[[flow]]",
        '[[link]]\nname = "up"\nrate = "{0}"\nbuffer = "100packets"\n[[flow]]\nreverse_route = ["up"]',
        1,
    )
    for name, rate in (("fast", "10mbit"), ("slow", "100kbit")):
        library.run(text.format(rate), trace="10ms").save(tmp_path / name)
    names = {
        name: {each.source.name for each in drawn.lines(drawn.find("queue", runs), runs)}
        for name in ("fast", "slow")
        for runs in [_read(tmp_path / name)]
    }
    assert names == {"fast": {"bottleneck"}, "slow": {"bottleneck", "up"}}


def _read(directory: Path) -> list[drawn.Shown]:
    section = time.section(load(directory))
    assert section is not None
    (block,) = section.blocks
    assert isinstance(block, Timeline)
    return drawn.shown(block.runs)


@pytest.mark.usefixtures("kept")
def test_a_panel_that_there_is_not_is_refused_with_those_that_there_are(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    library.run(SCENARIO).save(tmp_path / "plain")
    there = "rate, cwnd, states, limits, rtt, queue, share, pacing, jain, "
    there += "packets, packet-delays, rate-rtt, inflight-rtt, rate-rate"
    for arguments, problem, fix in (
        (["kept", "--panel", "cwmd"], "--panel cwmd: no such panel; did you mean cwnd?", there),
        (["kept", "--panel", "requests"], "the runs have no data of this panel", there),
        (["plain", "--panel", "rtt"], "plain: no run was recorded over time", "--trace 10ms"),
        (
            ["kept", "--panel", "rtt", "--format", "md"],
            "not for one panel",
            "svg, png, pdf, pgf, csv, tex",
        ),
        (["kept", "--format", "csv"], "not for a whole report", "add --panel KEY"),
        (["kept", "--panel", "rtt", "--show", "goodput"], "--show: ", "leave out --show"),
        (["kept", "--panel", "rtt", "--out", "kept"], "--out kept already exists", "name a new"),
    ):
        done = fullpipe("report", *arguments)
        assert done.returncode == 2
        assert problem in done.stderr
        assert fix in done.stderr
        assert "Traceback" not in done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kept", "plain"]


@pytest.mark.usefixtures("kept")
def test_the_pictures_of_a_report_can_be_vectors(fullpipe: Fullpipe, tmp_path: Path) -> None:
    done = fullpipe("report", "kept", "--format", "svg")
    assert (done.returncode, done.stdout) == (0, "kept/report-svg\n"), done.stderr
    pictures = list((tmp_path / "kept/report-svg").iterdir())
    assert pictures
    assert all("cubic" in _words(each) for each in pictures)
