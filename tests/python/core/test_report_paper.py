"""One figure or table of many runs: `report --panel KEY`."""

from __future__ import annotations

import csv
import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.figure import Figure

from conftest import SCENARIO
from fullpipe.report import Form, SlideForm, write_panel, write_report
from fullpipe.report.build import build
from fullpipe.report.charts import draw
from fullpipe.report.figures import keys
from fullpipe.report.model import Line, Lines, Section, Table
from fullpipe.report.panels import steady
from fullpipe.report.panels.drawn import PanelError
from fullpipe.report.static_charts import draw_row, row_size
from fullpipe.report.style import COLUMN, StyleError, styled
from fullpipe.report.tex import tables
from fullpipe.results.load import load
from fullpipe.runs.view.pgf import escaped
from fullpipe.stats import quantity
from fullpipe.stats.steady import Drifting, Steadiness
from made_sweeps import BUFFERS, CCS, QUEUES, RTTS, THREE, goodputs, swept

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe
    from fullpipe.report.model import Cell, Report


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten buffers, three RTTs and four queues."""
    return swept(tmp_path_factory.mktemp("three") / "it", THREE)


@pytest.fixture(scope="module")
def report(three: Path) -> Report:
    """Its report."""
    return build(three)


def test_one_figure_for_a_column_has_its_width_and_no_title(
    fullpipe: Fullpipe, three: Path, tmp_path: Path
) -> None:
    out = tmp_path / "fig1.svg"
    asked = ("--panel", "curves", "--show", "goodput", "--width", "84mm")
    done = fullpipe("report", f"{three}", *asked, "--out", f"{out}")
    assert done.returncode == 0, done.stderr
    text = out.read_text(encoding="utf-8")
    assert float(text.split('width="')[1].split("pt")[0]) == pytest.approx(84 / 25.4 * 72, rel=1e-3)
    assert "queue dualpi2" in text
    assert "Goodput, Mbit/s" in text
    assert "Goodput over buffer" not in text


@pytest.mark.parametrize("form", ["pdf", "png", "pgf", "csv"])
def test_the_suffix_is_the_format(
    fullpipe: Fullpipe, three: Path, tmp_path: Path, form: str
) -> None:
    begins = {
        "pdf": b"%PDF",
        "png": b"\x89PNG",
        "pgf": b"%% Creator: Matplotlib, PGF",
        "csv": b"chart,line",
    }
    for key in ("curves", "maps"):
        out = tmp_path / f"{key}.{form}"
        asked = ("--panel", key, "--show", "goodput", "--out", f"{out}")
        assert fullpipe("report", f"{three}", *asked).returncode == 0
        assert out.read_bytes().startswith(
            begins[form] if key == "curves" or form != "csv" else b"map,"
        )


_LEFT = "1 of 10 not shown (no contender has 3 runs with both values): buffer 4bdp."


@pytest.mark.parametrize("form", ["svg", "pgf", "csv", "tex"])
def test_the_words_on_what_a_figure_leaves_out_stand_by_every_form(
    fullpipe: Fullpipe, tmp_path: Path, form: str
) -> None:
    directory = swept(tmp_path / "s", {"path.buffer": BUFFERS}, without=frozenset({"4bdp"}))
    key, said = (
        ("results", "There are too few seeds for an interval.")
        if form == "tex"
        else ("scatter", _LEFT)
    )
    done = fullpipe("report", f"{directory}", "--panel", key, "--format", form, "--out", "it")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "it").read_text(encoding="utf-8")
    if form == "svg":
        text = " ".join(re.findall(r"<text[^>]*>([^<]*)", text))
    if form != "csv":
        assert said in " ".join(text.split())
    assert (said in done.stderr) == (form in ("csv", "tex"))
    assert done.stdout == "it\n"


def test_the_picture_of_a_sweep_says_what_its_bands_are(three: Path) -> None:
    figure = draw(three, ["goodput"])
    words = [each.get_supxlabel() for each in figure.subfigs]
    assert "Means over the seeds; the shaded band is the 95 % interval." in words


def test_a_figure_tells_drift_of_the_metrics_that_it_shows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delay = quantity("queue_delay_s.mean")
    assert delay is not None
    verdict = Steadiness("drifts", (Drifting("cubic", 0, delay, 0.01, 0.001, 0.02),))
    monkeypatch.setattr(steady, "by_point", lambda _: dict.fromkeys(range(len(BUFFERS)), verdict))
    directory = swept(tmp_path / "s", {"path.buffer": BUFFERS})
    said: dict[str, str] = {}
    for key, show in (
        ("curves", ["goodput"]),
        ("curves", ["queue_delay.p95"]),
        ("scatter", []),
        ("results", []),
    ):
        told: list[str] = []
        out = tmp_path / f"{key}{len(said)}.csv"
        write_panel(directory, key, SlideForm.CSV, out, show=show, tell=told.append)
        said[f"{key} {','.join(show)}"] = " ".join(told)
    drifts = {name for name, words in said.items() if "Not steady" in words}
    assert drifts == {"curves queue_delay.p95", "scatter ", "results "}
    words = [each.get_supxlabel() for each in draw(directory, ["queue_delay.p95"]).subfigs]
    every = " ".join(" ".join(words).split())
    assert "Not steady within the measured window at 10 of 10 settings." in every
    words = [each.get_supxlabel() for each in draw(directory, ["goodput"]).subfigs]
    assert not any("Not steady" in each for each in words)


def test_pgf_needs_no_latex_and_has_texts_that_it_reads(three: Path, tmp_path: Path) -> None:
    out = write_panel(
        three, "curves", SlideForm.PGF, tmp_path / "c.pgf", show=["goodput"], width="84mm"
    )
    text = out.read_text(encoding="utf-8")
    assert r"queue fq\_codel" in text
    assert "fq_codel" not in text.replace(r"fq\_codel", "")
    assert "pgfimage" not in text


def test_curves_are_over_the_number_that_was_asked_for(three: Path, tmp_path: Path) -> None:
    out = write_panel(
        three, "curves", SlideForm.CSV, tmp_path / "c.csv", show=["goodput"], over=["rtt"]
    )
    rows = out.read_text(encoding="utf-8").splitlines()
    assert rows[0].startswith('chart,line,"rtt, ms"')
    charts = {row["chart"] for row in csv.DictReader(rows)}
    assert charts == {f"buffer {buffer}" for buffer in BUFFERS}
    assert len({row["line"] for row in csv.DictReader(rows)}) == len(CCS) * len(QUEUES)


def test_the_lines_are_of_the_number_that_was_asked_for(tmp_path: Path) -> None:
    many = {
        "path.rtt": [f"{each}ms" for each in (10, 20, 30, 40, 50, 60)],
        "path.buffer": ["1bdp", "2bdp"],
    }
    directory = swept(tmp_path / "s", many)
    (usual,) = goodputs(build(directory, ["goodput"]))
    assert usual.x == "rtt, ms"
    asked = goodputs(build(directory, ["goodput"], ["buffer", "rtt"]))
    assert {each.x for each in asked} == {"buffer, bdp"}
    assert {line.label for each in asked for line in each.lines} >= {"rtt 10ms", "rtt 60ms"}


def test_the_lines_that_were_asked_for_are_lines_however_many_they_are(
    three: Path, tmp_path: Path
) -> None:
    out = write_panel(
        three, "curves", SlideForm.CSV, tmp_path / "c.csv", show=["goodput"], over=["rtt", "buffer"]
    )
    rows = [*csv.DictReader(out.read_text(encoding="utf-8").splitlines())]
    assert {row["line"] for row in rows} == {f"buffer {each}" for each in BUFFERS}
    assert {row["chart"] for row in rows} == {
        f"Goodput over rtt, {cc}: queue {queue}, lines from buffer {first}"
        for cc, queue, first in itertools.product(CCS, QUEUES, ("0.25bdp", "8bdp"))
    }


def test_tables_are_latex_with_booktabs(three: Path, tmp_path: Path) -> None:
    out = write_panel(three, "results", SlideForm.TEX, tmp_path / "t.tex", show=["goodput"])
    text = out.read_text(encoding="utf-8")
    assert text.count(r"\begin{longtable}") == 1
    assert (
        r"RTT, ms & Buffer, bdp & Queue & Contender & \shortstack[r]{Goodput, \\ Mbit/s} \\" in text
    )
    assert r"10 & 0.25 & fq\_codel & cubic & " in text
    assert r"\begin{longtable}{rrllr}" in text
    assert r"two columns: write \onecolumn before \input" in " ".join(text.replace("%", "").split())
    assert r"\label{tab:t}" in text
    assert "hole runs" not in text
    short = write_report(
        swept(tmp_path / "s", {"path.buffer": ["1bdp"]}), Form.TEX, tmp_path / "all.tex"
    ).read_text(encoding="utf-8")
    assert r"\begin{tabular}" in short
    assert (
        short.count(r"\begin{table") == short.count(r"\label{tab:all") == short.count(r"\caption{")
    )
    assert "longtable" not in short


def test_a_latex_table_fits_into_the_text_of_a_paper() -> None:
    """Its font is as small as its width asks for; a narrow one fits into a column, and a wide one is scaled."""

    def made(columns: int, letters: int) -> str:
        heads = tuple(f"P95 queueing delay of {number}, ms" for number in range(columns))
        rows: list[tuple[Cell, ...]] = [("1" * letters,) * columns] * 3
        section = Section("Results", [Table("Medians", heads, rows)])
        return tables("runs", [section], name="results/my table")

    narrow, wide, scaled = made(2, 8), made(4, 12), made(8, 24)
    assert r"\begin{table}" in narrow
    assert r"\small" in narrow
    assert r"\shortstack[l]{P95 queueing \\ delay of 0, ms}" in narrow
    assert r"\label{tab:results-my-table}" in narrow
    assert r"\begin{table*}" in wide
    assert "graphicx" not in wide
    assert r"\resizebox{\textwidth}{!}" in scaled
    assert r"\usepackage{booktabs}, \usepackage{graphicx}" in scaled
    assert "Choose fewer metrics with --show." in " ".join(scaled.replace("%", "").split())


def test_titles_of_rows_fit_and_a_logarithmic_axis_has_two_numbers() -> None:
    title = "P95 queueing delay at a bottleneck with a very long name over buffer"
    x = np.array([2.0, 30.0, 800.0])
    charts = [
        Lines(f"rtt {at}0ms, buffer 0.03125bdp", "x", "y", [Line("a", x, x)], log_x=True, row=title)
        for at in range(1, 4)
    ]
    with styled(None, COLUMN):
        columns, high = row_size(charts, 3.3)
        figure = Figure(figsize=(3.3, high), layout="constrained")
        draw_row(figure, charts, 3.3)
        figure.draw_without_rendering()
        words = figure._suptitle  # type: ignore[attr-defined]
        assert " ".join(words.get_text().split()) == title
        assert words.get_window_extent().x1 <= figure.bbox.x1
        below = figure.axes[len(charts) - 1]
        assert below.get_title(loc="left").splitlines() == ["rtt 30ms,", "buffer 0.03125bdp"]
        low, high_ = below.get_xlim()
        shown = [tick for tick in below.get_xticklabels() if tick.get_text()]
        assert sum(low <= tick.get_position()[0] <= high_ for tick in shown) >= 2
        assert columns == 2


def test_all_that_latex_reads_otherwise_is_escaped() -> None:
    assert escaped(r"a_b & 50 % {x} #1 $2 ~^\ − 3 × 4") == (
        r"a\_b \& 50 \% \{x\} \#1 \$2 \textasciitilde{}\textasciicircum{}\textbackslash{} "
        r"\ensuremath{-} 3 \ensuremath{\times} 4"
    )


def test_a_style_file_has_its_way_but_for_the_colors(three: Path, tmp_path: Path) -> None:
    style = tmp_path / "mine.mplstyle"
    style.write_text(
        "font.family: monospace\nlines.linewidth: 3\naxes.grid: False\n", encoding="utf-8"
    )
    made = [
        write_panel(
            three, "curves", SlideForm.SVG, tmp_path / f"{name}.svg", show=["goodput"], style=each
        )
        for name, each in (("plain", None), ("styled", style))
    ]
    plain, styled = (each.read_text(encoding="utf-8") for each in made)
    assert "monospace" in styled
    assert "monospace" not in plain
    assert "stroke-width: 3" in styled
    assert "stroke-width: 3" not in plain
    assert plain.count("#0072b2") == styled.count("#0072b2") > 0
    assert "#dddddd" in plain
    assert "#dddddd" not in styled


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--panel", "curves", "--width", "84"], "--width 84: not a width\n  fix: write a number with a unit"),
        (["--panel", "curves", "--width", "9m"], "--width 9m: not a width"),
        (["--panel", "curves", "--width", "5mm"], "--width 5mm: a figure is between 38mm and 1000mm wide"),
        (["--panel", "curves", "--width", "37.9mm"], "--width 37.9mm: a figure is between 38mm and 1000mm wide"),
        (["--panel", "curves", "--width", "40in"], "--width 40in: a figure is between 38mm and 1000mm wide"),
        (["--width", "84mm"], "--width: of one figure\n  fix: add --panel KEY"),
        (["--panel", "curves", "--over", "bufer"], "--over bufer: not a swept number; did you mean buffer?"),
        (["--over", "queue"], "--over queue: not a swept number"),
        (["--panel", "curves", "--format", "tex"], "--panel curves --format tex: a picture"),
        (["--panel", "results", "--format", "svg"], "--panel results --format svg: a table"),
        (["--panel", "slowdown"], "--panel slowdown: the runs have no arriving flows"),
        (["--panel", "curves", "--time", "1s..2s"], "--time: for panels over time"),
        (["--panel", "cwnd", "--show", "goodput"], "--show: for figures of many runs"),
        (["--panel", "cwnd", "--format", "tex"], "--panel cwnd --format tex: a picture"),
        (["--panel", "results", "--style", "x"], "--style: nothing of format tex is drawn"),
        (["--style", "x"], "--style: nothing of format html is drawn"),
        (["--panel", "curves", "--style", "no.mplstyle"], "--style no.mplstyle: no such file"),
        (["--appendix"], "--appendix: for a whole report as PDF"),
        (["--panel", "maps", "--over", "rtt"], "--over: the axes of curves, and maps has its own"),
        (["--panel", "curves", "--over", "rtt,rtt"], "--over rtt,rtt: named twice"),
        (["--panel", "curves", "--over", "rtt,buffer,rtt"], "--over rtt,buffer,rtt: 3 numbers"),
        (["--over", "rtt,rtt"], "--over rtt,rtt: named twice"),
        (["--panel", "curves", "--width", "84mm", "--format", "csv"], "--width: nothing of format csv is drawn"),
        (["--panel", "cwnd", "--width", "84mm", "--format", "csv"], "--width: nothing of format csv is drawn"),
        (["--panel", "results", "--width", "84mm"], "--width: nothing of format tex is drawn"),
        (["--panel", "curves", "--live"], "--live: for a whole report as a page"),
        (["--live", "--format", "pdf"], "--live: for a whole report as a page"),
        (["--panel", "slowdown", "--show", "goodput"], "--show: slowdown has one metric"),
        (["--panel", "shares"], "--panel shares: no distributions: drawn are those of up to 3 settings, not of 30"),
        (["--panel", "completion"], "--panel completion: the runs have no arriving flows"),
        (["--panel", "scatter", "--show", "goodput"], "--panel scatter: --show has no delay\n  fix: add a delay"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_fix(
    fullpipe: Fullpipe, three: Path, arguments: list[str], says: str
) -> None:
    done = fullpipe("report", f"{three}", *arguments)
    assert done.returncode == 2
    assert f"error: {says}" in done.stderr
    assert "fix: " in done.stderr
    assert not [*three.glob("report*")]


@pytest.mark.parametrize(
    ("axes", "seeds", "key", "says"),
    [
        ({"path.buffer": BUFFERS}, 3, "maps", "a map needs two swept numbers"),
        ({"path.queue": QUEUES}, 3, "curves", "no number was swept"),
        ({"path.buffer": BUFFERS[:2]}, 2, "shares", "no contender has 3 runs"),
        ({"path.buffer": BUFFERS[:2]}, 2, "scatter", "no contender has 3 runs with both values"),
    ],
)
def test_a_figure_that_results_do_not_have_is_refused_with_the_reason(
    tmp_path: Path, axes: dict[str, list[str]], seeds: int, key: str, says: str
) -> None:
    with pytest.raises(PanelError, match=f"--panel {key}: {says}"):
        write_panel(swept(tmp_path / "s", axes, seeds), key, SlideForm.CSV, tmp_path / "c.csv")


def test_numbers_that_vary_in_step_are_one_axis(tmp_path: Path) -> None:
    results = load(swept(tmp_path / "s", {"path.rtt": RTTS, "path.buffer": BUFFERS[:3]}))
    results = replace(results, points={at: results.points[at] for at in (0, 4, 8)})
    with pytest.raises(PanelError, match="--over rtt,buffer: they vary in step, on one axis"):
        keys(results, ["rtt", "buffer"])


def test_kept_checks_have_no_report(fullpipe: Fullpipe, tmp_path: Path) -> None:
    text = SCENARIO.replace("[path]", 'expect = ["flow.*.goodput >= 1bit"]\n[path]', 1)
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    assert fullpipe("check", "c.toml", "--out", "kept").returncode == 0
    for more in ([], ["--panel", "results"]):
        done = fullpipe("report", "kept", *more)
        assert done.returncode == 2
        assert "kept: kept by `fullpipe check`, which has no report" in done.stderr
        assert "--against kept" in done.stderr


def test_a_bad_style_file_is_named_with_its_line(three: Path, tmp_path: Path) -> None:
    style = tmp_path / "bad.mplstyle"
    for text in ("lines.linewidth: thick\n", "lines.linewith: 2\n", "no colon\n"):
        style.write_text(text, encoding="utf-8")
        with pytest.raises(StyleError, match="not a style file of matplotlib"):
            write_panel(
                three, "curves", SlideForm.SVG, tmp_path / "c.svg", show=["goodput"], style=style
            )
