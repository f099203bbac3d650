"""One panel of a report for slides, through the command."""

from __future__ import annotations

import csv
import struct
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import polars as pl
import pytest

import fullpipe as library
from conftest import SCENARIO
from fullpipe.report.panels.declared import PANELS
from fullpipe.results import read_parquet
from fullpipe.results.load import load

if TYPE_CHECKING:
    from pathlib import Path

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
    assert {row[0] for row in rows} >= {"cubic", "bbr1", "cubic: In flight", "bbr1: ssthresh"}
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
        (["kept", "--panel", "rtt", "--format", "md"], "not for one panel", "svg, png, pdf, csv"),
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
