"""Figures of sweeps over one, two and three numbers: complete, with equal axes, and legible in a column of a paper."""

from __future__ import annotations

import csv
import itertools
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import fullpipe as api
from conftest import SCENARIO
from fullpipe.report import Form, SlideForm, write_panel, write_report
from fullpipe.report.build import build, of_results
from fullpipe.report.charts import draw
from fullpipe.report.colors import of_clouds, own_looks
from fullpipe.report.figures import inches, keys
from fullpipe.report.html import page
from fullpipe.report.model import Cloud, Clouds, Heat, Line, Lines, Section, Table
from fullpipe.report.panels import completions, steady
from fullpipe.report.panels.drawn import PanelError
from fullpipe.report.panels.spread import shares
from fullpipe.report.static import pieces
from fullpipe.report.static_charts import draw_clouds, draw_maps, draw_row, map_size, row_size
from fullpipe.report.static_pages import write_pdf
from fullpipe.report.style import COLUMN, PAPER, StyleError, styled
from fullpipe.report.svg import frame_of
from fullpipe.report.tex import tables
from fullpipe.report.values import Group, Measures
from fullpipe.results import write_shard
from fullpipe.results.load import load
from fullpipe.results.sweep import series_name
from fullpipe.runs.view.pgf import escaped
from fullpipe.stats import quantity
from fullpipe.stats.steady import Drifting, Steadiness
from sweep_dir import write_rows

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe
    from fullpipe.report.model import Cell, Report

BUFFERS = [f"{each}bdp" for each in (0.25, 0.5, 0.75, 1, 1.5, 2, 4, 6, 8, 16)]
RTTS = ["10ms", "50ms", "100ms"]
QUEUES = ["pfifo", "codel", "fq_codel", "dualpi2"]
CCS = ("cubic", "bbr1")
TWO = {"path.rtt": RTTS, "path.buffer": BUFFERS}
THREE = {**TWO, "path.queue": QUEUES}


def swept(
    directory: Path,
    axes: dict[str, list[str]],
    seeds: int = 5,
    without: frozenset[str] = frozenset(),
) -> Path:
    """Writes a sweep of two competing flows with made-up numbers, whose delay spans three decades.

    A single seed has a delay with the buffers `without`.
    """
    rows = []
    for point, values in enumerate(itertools.product(*axes.values())):
        at = dict(zip(axes, values, strict=True))
        buffer = float(at.get("path.buffer", "1bdp").removesuffix("bdp"))
        rtt = float(at.get("path.rtt", "10ms").removesuffix("ms"))
        queue = QUEUES.index(at.get("path.queue", "pfifo"))
        for seed, (index, cc) in itertools.product(range(1, seeds + 1), enumerate(CCS)):
            noise = (seed * 7 % 5) / 50
            rows.append(
                {
                    "point": point,
                    **at,
                    "seed": seed,
                    "flow": cc,
                    "flow_index": index,
                    "cc": cc,
                    "goodput_bps": 1e6 * (20 + 10 * index + queue + math.log2(buffer) + noise),
                    "queue_delay_s.p95": None
                    if seed > 1 and at.get("path.buffer") in without
                    else 1e-3 * buffer * rtt * (1 + noise) / (1 + queue),
                    "jain": 0.9,
                }
            )
    return write_rows(directory, pl.DataFrame(rows), axes, SCENARIO, list(range(1, seeds + 1)))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten buffers, three RTTs and four queues."""
    return swept(tmp_path_factory.mktemp("three") / "it", THREE)


@pytest.fixture(scope="module")
def report(three: Path) -> Report:
    """Its report."""
    return build(three)


def blocks(report: Report, section: str) -> list[object]:
    """Returns the blocks of a section."""
    return [*next(each for each in report.sections if each.title == section).blocks]


def goodputs(report: Report) -> list[Lines]:
    """Returns the curves of goodput."""
    found = [each for each in blocks(report, "Curves") if isinstance(each, Lines)]
    return [each for each in found if "Goodput" in (each.row or each.title)]


def test_three_numbers_and_words_make_a_chart_each_with_every_contender_and_rtt(
    report: Report,
) -> None:
    charts = goodputs(report)
    assert [each.title for each in charts] == [f"queue {each}" for each in QUEUES]
    assert {each.row for each in charts} == {"Goodput over buffer"}
    for chart in charts:
        assert [each.label for each in chart.lines] == [
            f"{cc}, rtt {rtt}" for rtt in RTTS for cc in CCS
        ]
        assert all(each.x.tolist() == list(chart.marks) for each in chart.lines)
        assert len(chart.marks) == len(BUFFERS)
        assert chart.log_x
        assert not chart.log_y
        assert all(each.low is not None for each in chart.lines)
    assert charts[1].lines[0].y[3] == pytest.approx(
        21 + np.mean([(s * 7 % 5) / 50 for s in range(1, 6)])
    )


def test_a_line_is_told_by_its_color_and_without_it(report: Report) -> None:
    lines = goodputs(report)[0].lines
    looks = own_looks(lines)
    assert [
        len({look.color for look, line in zip(looks, lines, strict=True) if cc in line.label})
        for cc in CCS
    ] == [1, 1]
    assert len({look.color for look in looks}) == 2
    # Contenders differ in their points, RTTs in dashes.
    assert len({(line.mark, look.dash) for look, line in zip(looks, lines, strict=True)}) == 6
    assert {line.mark for line in lines if "cubic" in line.label} == {0}
    assert len({look.dash for look in looks}) == 3


def test_a_contender_looks_alike_in_all_charts_of_a_figure(tmp_path: Path) -> None:
    """Also where another one has no value: the lines of a chart do not count from there."""
    axes = {"path.queue": QUEUES, "path.buffer": BUFFERS, "path.rtt": RTTS}
    results = load(swept(tmp_path / "s", axes))
    rows = results.rows.filter(~((pl.col("path.queue") == "codel") & (pl.col("flow") == "cubic")))
    rows = rows.with_columns(cc=pl.lit("cubic"))  # of one color
    made = of_results(replace(results, rows=rows), ["goodput", "queue_delay.p95"])
    for section in ("Curves", "Distributions"):
        looks: dict[str, set[object]] = {}
        for chart in blocks(made, section):
            if isinstance(chart, Lines):
                for line, look in zip(chart.lines, own_looks(chart.lines), strict=True):
                    looks.setdefault(line.label, set()).add((look, line.mark))
            elif isinstance(chart, Clouds):
                for label, numbered in of_clouds([chart]).items():
                    looks.setdefault(label, set()).add(numbered)
        assert looks
        assert all(len(each) == 1 for each in looks.values()), looks
    curves = [each for each in blocks(made, "Curves") if isinstance(each, Lines)]
    assert len({len(each.lines) for each in curves}) == 2


def test_axes_are_logarithmic_where_values_span_decades(report: Report) -> None:
    delays = [
        each for each in blocks(report, "Curves") if isinstance(each, Lines) and "delay" in each.row
    ]
    assert all(each.log_y for each in delays)
    maps = [each for each in blocks(report, "Maps") if isinstance(each, Heat)]
    by_row = {each.row: each for each in maps}
    assert by_row["queue_delay_s.p95"].log
    assert not by_row["goodput_bps"].log
    known = by_row["queue_delay_s.p95"]
    assert known.share(known.least) == 0
    assert known.share(known.most) == 1
    assert known.share(math.sqrt(known.least * known.most)) == pytest.approx(0.5)
    assert known.share(0) == 0


def test_two_numbers_make_one_chart_and_many_values_of_the_second_a_chart_each(
    tmp_path: Path,
) -> None:
    (chart,) = goodputs(build(swept(tmp_path / "two", TWO)))
    assert chart.title == "Goodput over buffer"
    assert len(chart.lines) == 6
    many = {"path.rtt": [f"{each}ms" for each in range(10, 90, 10)], "path.buffer": BUFFERS}
    charts = goodputs(build(swept(tmp_path / "many", many)))
    assert [each.title for each in charts] == [f"rtt {each}" for each in many["path.rtt"]]
    assert all(len(each.lines) == 2 for each in charts)


def test_maps_have_few_columns_units_in_their_names_and_numbers_that_do_not_touch(
    report: Report,
) -> None:
    maps = [each for each in blocks(report, "Maps") if isinstance(each, Heat)]
    goodput = [each for each in maps if each.row == "goodput_bps"]
    assert len(goodput) == len(QUEUES) * len(CCS)
    assert (goodput[0].row_key, goodput[0].column_key) == ("buffer, bdp", "rtt, ms")
    assert goodput[0].rows[:2] == ("0.25", "0.5")
    ten = [
        Heat("ten", "ms", "a", "b", tuple("0123456789"), tuple("0123456789"),
             np.linspace(100, 999, 100).reshape(10, 10), 100, 999, "x")
    ]  # fmt: skip
    figure = Figure(figsize=(3.31, map_size(ten, 3.31)[1]), layout="constrained")
    draw_maps(figure, ten, 3.31)
    figure.draw_without_rendering()
    texts = sorted(
        figure.axes[0].texts, key=lambda each: (each.get_position()[1], each.get_position()[0])
    )
    assert len(texts) == 100
    boxes = [each.get_window_extent() for each in texts]
    for one, other in itertools.pairwise(boxes):
        assert one.x1 < other.x0 or one.y0 != other.y0
    assert all(float(each.get_fontsize()) >= 4.5 for each in texts)


@pytest.mark.parametrize("wide", [84 / 25.4, 160 / 25.4])
def test_titles_of_maps_end_within_the_picture(report: Report, wide: float) -> None:
    maps = [each for each in blocks(report, "Maps") if isinstance(each, Heat)][:8]
    with styled(None, COLUMN if wide < 4 else PAPER):
        figure = Figure(figsize=(wide, map_size(maps, wide)[1]), layout="constrained")
        draw_maps(figure, maps, wide)
        figure.draw_without_rendering()
        boxes = [
            each.get_window_extent()
            for axis in figure.axes
            for each in [axis._left_title]  # type: ignore[attr-defined]
        ]
    assert len(boxes) == 8
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert all(axis.get_window_extent().height > 60 for axis in figure.axes)


def test_the_ends_of_widths_are_those_of_the_error() -> None:
    assert inches("38mm") == pytest.approx(38 / 25.4)
    assert inches("1000mm") == pytest.approx(1000 / 25.4)
    assert inches("252pt") == pytest.approx(252 / 72.27)


def test_a_figure_higher_than_a_page_says_so(
    fullpipe: Fullpipe, three: Path, tmp_path: Path
) -> None:
    for key, said in (("scatter", "mm high, more than a page has"), ("curves", "")):
        asked = ("--panel", key, "--width", "84mm", "--out", f"{tmp_path / key}.svg")
        show = ("--show", "goodput") if key == "curves" else ()
        done = fullpipe("report", f"{three}", *asked, *show)
        assert done.returncode == 0
        assert said in done.stderr if said else not done.stderr


def test_scatter_plots_have_every_setting_and_contender(report: Report) -> None:
    plots = [each for each in blocks(report, "Distributions") if isinstance(each, Clouds)]
    assert len(plots) == len(BUFFERS) * len(RTTS)
    for plot in plots:
        assert len(plot.clouds) == len(QUEUES) * len(CCS)
        assert plot.row == "Throughput over p95 queueing delay"
        assert plot.log_x
        assert all(each.ellipse for each in plot.clouds)
    made = page(report)
    assert made.count('<svg class="clouds"') == 30
    assert "not shown" not in made[made.index('<svg class="clouds"') :]


def test_settings_without_room_for_a_scatter_plot_are_named(tmp_path: Path) -> None:
    axes = {"path.rtt": [f"{each}ms" for each in range(1, 32)], "path.buffer": ["1bdp", "2bdp"]}
    made = page(build(swept(tmp_path / "s", axes, seeds=3)))
    assert made.count('<svg class="clouds"') == 60
    assert "2 of 62 not shown: rtt 31ms, buffer 1bdp, rtt 31ms, buffer 2bdp." in made


def test_equal_values_do_not_fill_an_axis_with_their_last_digits() -> None:
    cloud = Cloud("cubic", [50.0, 50.0001, 50.0], [19.02, 19.0201, 19.0207], None, "cubic")
    frame = frame_of([Clouds("t", "x", "y", [cloud])])
    assert frame.y_high - frame.y_low >= 0.01 * 19
    assert frame.x_high - frame.x_low >= 0.01 * 50


def test_a_scatter_plot_is_over_the_delay_that_was_asked_for(tmp_path: Path) -> None:
    directory = swept(tmp_path / "s", {"path.buffer": ["1bdp"]})
    (plot,) = [
        each
        for each in blocks(build(directory, ["queue_delay.p95", "goodput"]), "Distributions")
        if isinstance(each, Clouds)
    ]
    assert (plot.x, plot.y) == ("P95 queueing delay, ms", "Goodput, Mbit/s")


def test_curves_are_legible_in_a_column(report: Report) -> None:
    charts = goodputs(report)
    figure = Figure(figsize=(3.31, 3.6), layout="constrained")
    draw_row(figure, charts, 3.31)
    figure.draw_without_rendering()
    limits = {(axis.get_xlim(), axis.get_ylim()) for axis in figure.axes}
    assert len(limits) == 1
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 6
    assert legend.get_window_extent().x1 <= figure.bbox.x1 + 1
    for axis in figure.axes:
        shown = [each for each in axis.get_xticklabels() if each.get_text() and each.get_visible()]
        boxes = sorted((each.get_window_extent() for each in shown), key=lambda box: box.x0)
        assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))


def test_a_pdf_is_short_and_says_what_its_appendix_has(tmp_path: Path) -> None:
    axes = {"path.rtt": RTTS[:2], "path.buffer": [*BUFFERS, "32bdp", "64bdp"]}
    report = build(swept(tmp_path / "s", axes, seeds=2), ["goodput"])
    write_pdf(report, tmp_path / "short.pdf")
    write_pdf(report, tmp_path / "long.pdf", appendix=True)
    short, long = (
        len(re.findall(rb"/Type /Page\b", (tmp_path / name).read_bytes()))
        for name in ("short.pdf", "long.pdf")
    )
    assert short <= 5
    assert long >= short + 2


@pytest.mark.parametrize("wide", [84 / 25.4, 160 / 25.4])
def test_titles_and_numbers_of_scatter_plots_do_not_touch(report: Report, wide: float) -> None:
    plots = [each for each in blocks(report, "Distributions") if isinstance(each, Clouds)]
    with styled(None, COLUMN if wide < 4 else PAPER):
        columns, high = row_size(plots, wide)
        figure = Figure(figsize=(wide, high), layout="constrained")
        draw_clouds(figure, plots, wide)
        figure.draw_without_rendering()
        axes = figure.axes[: len(plots)]
        titles = [axis.title if axis.title.get_text() else axis._left_title for axis in axes]  # type: ignore[attr-defined]
        rows = [titles[at : at + columns] for at in range(0, len(titles), columns)]
        numbers = [
            [each for each in axis.get_xticklabels() if each.get_text() and each.get_visible()]
            for axis in axes[-columns:]
        ]
        for some in (*rows, *numbers):
            assert len(some) > 1
            boxes = sorted((each.get_window_extent() for each in some), key=lambda box: box.x0)
            assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))
            assert boxes[-1].x1 <= figure.bbox.x1


def test_every_chart_row_and_map_is_a_figure(report: Report) -> None:
    drawn = {piece.name for piece in pieces(report)}
    assert {"Goodput over buffer", "map goodput_bps", "Throughput over p95 queueing delay"} <= drawn


# One figure or table of many runs: `report --panel KEY`


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


# Completion times

REPEATED = {"send_jitter": "1200us"}
"""Jitter that a sweep adds."""
ARRIVALS = f"""{SCENARIO.partition("[[flow]]")[0]}
[[workload]]
name = "web"
model = "lognormal median 10kB sigma 2 max 2MB"
load = 0.5
cc = "cubic"
"""


def test_transfers_of_every_run_make_distributions_by_size(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "w.toml").write_text(ARRIVALS, encoding="utf-8")
    sweep = ("sweep", "w.toml", "--set", "workload.0.cc=cubic,bbr1", "--repeat", "3")
    done = fullpipe(*sweep, "--trace", "transfers", "--out", "s")
    assert done.returncode == 0, done.stderr
    results = load(tmp_path / "s")
    assert sorted(results.transfers) == [(point, seed) for point in (0, 1) for seed in (7, 8, 9)]
    assert not results.series
    # They are those of the run itself.
    alone = api.run(ARRIVALS, seed=8, trace="10ms", set=dict(REPEATED))
    kept = pl.read_parquet(results.transfers[0, 8])
    assert kept["completion"].to_list() == alone.trace("transfers")["completion"].to_list()
    charts = [
        each
        for each in blocks(build(tmp_path / "s"), "Completion times")
        if isinstance(each, Lines)
    ]
    assert all(each.stepped for each in charts)
    assert {line.label for each in charts for line in each.lines} == {"cubic", "bbr1"}
    frames = [pl.read_parquet(results.transfers[0, seed]) for seed in (7, 8, 9)]
    small = pl.concat(frames).filter(pl.col("bytes") < 10_000)
    line = charts[0].lines[0]
    assert line.y[-1] == pytest.approx(small["completion"].is_not_null().mean())
    assert line.x[-1] == pytest.approx(1e3 * float(str(small["completion"].max())))
    again = fullpipe(*sweep, "--trace", "transfers", "--out", "s")
    assert "nothing to run" in again.stdout


def arrived(directory: Path, buffer: str, sizes: list[int]) -> Path:
    """Writes a sweep of a point and two seeds, with transfers of these sizes that take 10 ms each."""
    text = ARRIVALS.replace('"1bdp"', f'"{buffer}"')
    rows = pl.DataFrame(
        [
            {"point": 0, "seed": seed, "flow": "web", "flow_index": 0, "cc": "cubic", "goodput_bps": 1e6}
            for seed in (1, 2)
        ]
    )  # fmt: skip
    write_rows(directory, rows, {}, text, [1, 2])
    (directory / "series").mkdir()
    for seed in (1, 2):
        transfers = pl.DataFrame(
            {"workload": "web", "bytes": sizes, "completion": 0.01 * seed},
            schema_overrides={"bytes": pl.UInt64},
        )
        write_shard(transfers, directory / "series", series_name(f"0-{seed}", "transfers"))
    return directory


def test_a_size_that_is_a_power_of_ten_is_the_first_of_its_decade(tmp_path: Path) -> None:
    sizes = [0, 1, 9, *(10**power + less for power in range(1, 13) for less in (-1, 0))]
    charts = blocks(build(arrived(tmp_path / "s", "1bdp", sizes)), "Completion times")
    titles = [each.title.rpartition(", n = ") for each in charts if isinstance(each, Lines)]
    # Lines of few transfers have their number.
    assert [int(count) for _, _, count in titles] == [20, *[4] * 8, 2]
    assert [title for title, _, _ in titles] == [
        "below 10 kB",
        "10 to 100 kB",
        "100 kB to 1 MB",
        *("1 to 10 MB", "10 to 100 MB", "100 MB to 1 GB"),
        *("1 to 10 GB", "10 to 100 GB", "100 GB to 1 TB", "1 to 10 TB"),
    ]
    (mega,) = blocks(build(arrived(tmp_path / "mega", "1bdp", [10**6])), "Completion times")
    assert isinstance(mega, Lines)
    assert mega.title == "Completion times, 1 to 10 MB, n = 2"
    (many,) = blocks(build(arrived(tmp_path / "many", "1bdp", [10**6] * 15)), "Completion times")
    assert isinstance(many, Lines)
    assert many.title == "Completion times, 1 to 10 MB"


def test_workloads_have_the_order_of_the_scenario(tmp_path: Path) -> None:
    directory = arrived(tmp_path / "s", "1bdp", [5000])
    for file in (directory / "series").iterdir():
        file.unlink()
    names = ["x1", "x2", "x3"]
    rows = [
        {
            "point": 0,
            "seed": 1,
            "flow": name,
            "flow_index": index,
            "cc": "cubic",
            "goodput_bps": 1e6,
        }
        for index, name in enumerate(names)
    ]
    results = replace(load(directory), rows=pl.DataFrame(rows))
    transfers = pl.DataFrame({"workload": ["x3", "x1", "x2"], "bytes": 5000, "completion": 0.01})
    file = tmp_path / "transfers.parquet"
    transfers.write_parquet(file)
    found = completions.section(replace(results, transfers={(0, 1): file}))
    assert found
    (chart,) = found.blocks
    assert isinstance(chart, Lines)
    assert [line.label for line in chart.lines] == names


def test_distributions_of_many_contenders_have_equal_axes_and_one_legend() -> None:
    names = [f"flow-{number}" for number in range(9)]
    groups = [
        Group(
            name,
            "",
            {},
            number,
            0,
            {"goodput_bps": dict(enumerate([1e6, 2e6, (number + 3) * 1e6]))},
        )
        for number, name in enumerate(names)
    ]
    goodput = quantity("goodput_bps")
    assert goodput
    part = shares(groups, Measures([goodput], True))
    charts = [each for each in part.blocks if isinstance(each, Lines)]
    assert [each.row for each in charts] == ["Goodput, Mbit/s"] * 2
    assert [each.title for each in charts] == [", ".join(names[:7]), ", ".join(names[7:])]
    figure = Figure()
    draw_row(figure, charts, 6.3)
    first, second = figure.axes
    assert first.get_xlim() == second.get_xlim()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == names
    (alone,) = shares(groups[:3], Measures([goodput], True)).blocks
    assert isinstance(alone, Lines)
    assert (alone.title, alone.row) == ("Goodput, Mbit/s", "")


def test_transfers_of_several_results_are_beside_each_other(tmp_path: Path) -> None:
    places = [arrived(tmp_path / name, name, [5000, 5001]) for name in ("1bdp", "4bdp")]
    (chart,) = blocks(build(places), "Completion times")
    assert isinstance(chart, Lines)
    assert [line.label for line in chart.lines] == ["1bdp", "4bdp"]
    out = write_panel(places, "completion", SlideForm.CSV, tmp_path / "c.csv")
    assert "4bdp" in out.read_text(encoding="utf-8")


def test_transfers_are_refused_where_there_are_none(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO, encoding="utf-8")
    done = fullpipe("sweep", "one.toml", "--trace", "transfers", "--out", "s")
    assert done.returncode == 2
    assert "--trace transfers: the scenario has no [[workload]]" in done.stderr
