"""Figures of sweeps over one, two and three numbers: complete, with equal axes, and legible in a column of a paper."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from fullpipe.report.build import build, of_results
from fullpipe.report.colors import of_clouds, own_looks
from fullpipe.report.figures import inches
from fullpipe.report.html import page
from fullpipe.report.model import Cloud, Clouds, Heat, Lines
from fullpipe.report.panels.spread import shares
from fullpipe.report.static import pieces
from fullpipe.report.static_charts import draw_clouds, draw_maps, draw_row, map_size, row_size
from fullpipe.report.static_pages import write_pdf
from fullpipe.report.style import COLUMN, PAPER, styled
from fullpipe.report.svg import frame_of
from fullpipe.report.values import Group, Measures
from fullpipe.results.load import load
from fullpipe.stats import quantity
from made_sweeps import BUFFERS, CCS, QUEUES, RTTS, THREE, TWO, blocks, goodputs, swept

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe
    from fullpipe.report.model import Report


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten buffers, three RTTs and four queues."""
    return swept(tmp_path_factory.mktemp("three") / "it", THREE)


@pytest.fixture(scope="module")
def report(three: Path) -> Report:
    """Its report."""
    return build(three)


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
