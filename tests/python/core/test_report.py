"""Reports: their input, contents and completeness. test_report_browser.py tests their look."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import fullpipe
from conftest import SCENARIO
from fullpipe.report import Form, write_report
from fullpipe.report.build import build
from fullpipe.report.colors import COLORS, own_looks
from fullpipe.report.html import page
from fullpipe.report.model import Code, Lines, Number, Table, Text, Timeline
from fullpipe.report.panels.declared import PANELS
from fullpipe.report.panels.tracks import rows_of
from fullpipe.report.static_charts import draw_row
from fullpipe.results.load import load
from fullpipe.results.words import spans
from sweep_dir import write_rows, write_sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Fullpipe
    from fullpipe.report.model import Report, Section

LONE = SCENARIO.replace('[[flow]]\ncc = "bbr1"\n', "").replace("# Two flows", "# A flow")
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two algorithms competing with BBRv1 at two buffers, six seeds, the first of each point traced."""
    axes = {"flow.0.cc": ["cubic", "bbr3"], "path.buffer": ["1bdp", "4bdp"]}
    return write_sweep(
        tmp_path_factory.mktemp("swept") / "it", SCENARIO, axes, [1, 2, 3, 4, 5, 6], "10ms"
    )


def _made_up(
    directory: Path,
    value: Callable[[str, str, int], dict[str, float]],
    **about: Any,  # noqa: ANN401
) -> Path:
    """Writes a sweep of cubic and bbr3 over two buffers with given numbers by algorithm, buffer and seed."""
    seeds, buffers = list(range(1, 9)), ["1bdp", "8bdp"]
    points = [(cc, buffer) for cc in ("cubic", "bbr3") for buffer in buffers]
    rows = [
        {
            "point": number,
            "flow.0.cc": cc,
            "path.buffer": buffer,
            "seed": seed,
            "flow": cc,
            "flow_index": 0,
            "cc": cc,
            **value(cc, buffer, seed),
        }
        for number, (cc, buffer) in enumerate(points)
        for seed in seeds
    ]
    axes = {"flow.0.cc": ["cubic", "bbr3"], "path.buffer": buffers}
    told = {"added_jitter": {"start_jitter": "20ms"}, **about}
    scenario = told.pop("scenario", LONE)
    return write_rows(directory, pl.DataFrame(rows), axes, scenario, seeds, **told)


def _section(report: Report, title: str) -> Section:
    return next(section for section in report.sections if section.title == title)


def _table(report: Report, section: str, title: str = "") -> Table:
    tables = (each for each in _section(report, section).blocks if isinstance(each, Table))
    return next(each for each in tables if title in each.title)


def _told(cc: str, buffer: str, seed: int) -> dict[str, float]:
    """BBRv3 has half of CUBIC's delay at 8 BDP, the same delay at 1 BDP, and 2 % less goodput at both."""
    noise = (seed * 7 % 8) / 8 - 0.4
    delay = {("cubic", "8bdp"): 0.2, ("bbr3", "8bdp"): 0.1}.get((cc, buffer), 0.05)
    same = noise if cc == "cubic" or buffer == "8bdp" else -noise
    return {
        "goodput_bps": (95e6 if cc == "cubic" else 93.1e6) + 1e5 * noise,
        "queue_delay_s.p95": delay + 1e-3 * same,
    }


def test_the_summary_says_what_differs_where_in_which_direction_and_at_what_price(
    tmp_path: Path,
) -> None:
    report = build(_made_up(tmp_path / "s", _told))
    found = {(finding.text, finding.better) for finding in report.findings}
    assert found == {
        ("buffer 1bdp: bbr3 has 2.000 % lower goodput than cubic (95 % CI 1.999 to 2.001 %)", 0),
        (
            "buffer 8bdp: bbr3 has 50.0 % lower p95 queueing delay than cubic (95 % CI 49.9 to 50.1 %), "
            "at 2.000 % less goodput (95 % CI 1.999 to 2.001 %)",
            1,
        ),
    }
    assert "4 comparisons" in report.findings_note


def test_the_table_of_results_has_medians_and_the_curves_have_means_with_intervals(
    tmp_path: Path,
) -> None:
    report = build(_made_up(tmp_path / "s", _told))
    table = _table(report, "Results")
    assert table.columns[:3] == ("buffer", "contender", "Goodput, Mbit/s")
    goodputs = [_told("cubic", "1bdp", seed)["goodput_bps"] / 1e6 for seed in range(1, 9)]
    first = table.rows[0]
    assert first[1] == "cubic"
    assert isinstance(first[2], Number)
    assert first[2].value == pytest.approx(median(goodputs) * 1e6)
    assert first[2].text.startswith(f"{median(goodputs):.2f} [")
    (goodput, delay) = (
        block for block in _section(report, "Curves").blocks if isinstance(block, Lines)
    )
    assert goodput.title == "Goodput over buffer"
    assert (goodput.x, goodput.y) == ("buffer, bdp", "Goodput, Mbit/s")
    assert [line.label for line in goodput.lines] == ["cubic", "bbr3"]
    cubic = goodput.lines[0]
    assert cubic.x.tolist() == [1, 8]
    assert cubic.y[0] == pytest.approx(fmean(goodputs))
    assert cubic.low is not None
    assert cubic.high is not None
    spread = stdev(goodputs) / len(goodputs) ** 0.5
    assert (cubic.high[0] - cubic.y[0]) / spread == pytest.approx(2.365, abs=1e-3)  # t of 8 runs
    assert cubic.y - cubic.low == pytest.approx(cubic.high - cubic.y)
    assert [line.y[1] for line in delay.lines] == pytest.approx(
        [200 - 0.4 + 7 / 16, 100 - 0.4 + 7 / 16], abs=1e-6
    )


def test_every_run_can_be_replayed_as_it_says(swept: Path) -> None:
    table = _table(build(swept), "Scenarios and seeds")
    assert [row[2] for row in table.rows] == ["1–6"] * 4
    code = table.rows[3][3]
    assert isinstance(code, Code)
    assert code.text == f"fullpipe run {swept} --point 3 --seed 1"
    assert table.rows[3][1] == "cc bbr3, buffer 4bdp"
    again = fullpipe.run(SCENARIO, seed=1, set={"flow.0.cc": "bbr3", "path.buffer": "4bdp"})
    kept = load(swept).rows.filter(point=3, seed=1)["goodput_bps"].to_list()
    assert kept == [flow["goodput_bps"] for flow in again.flow_metrics]


def test_jitter_that_was_added_is_told(tmp_path: Path) -> None:
    added = {"start_jitter": ["10ms", "50ms"], "send_jitter": "1ms"}
    report = build(_made_up(tmp_path / "s", _told, added_jitter=added))
    assert (
        "Added for repetitions",
        "start_jitter = 10ms to 50ms, send_jitter = 1ms",
    ) in report.facts


def test_contenders_are_the_algorithms_that_were_set_and_the_flows_beside_them(swept: Path) -> None:
    rows = _table(build(swept), "Results").rows
    assert [row[1] for row in rows] == ["cubic", "bbr1 competing with cubic"] * 2 + [
        "bbr3",
        "bbr1 competing with bbr3",
    ] * 2


def test_a_curve_of_whole_runs_is_of_all_flows_and_its_picture_has_plain_numbers(
    tmp_path: Path,
) -> None:
    directory = write_sweep(
        tmp_path / "s", SCENARIO, {"path.buffer": ["0.5bdp", "1bdp", "4bdp"]}, [1, 2, 3]
    )
    report = build(directory)
    curves = [block for block in _section(report, "Curves").blocks if isinstance(block, Lines)]
    labels = {curve.title: [line.label for line in curve.lines] for curve in curves}
    assert labels["Jain's index over buffer"] == ["all flows"]
    assert labels["Goodput over buffer"] == ["cubic", "bbr1"]
    jain = next(curve for curve in curves if curve.title.startswith("Jain"))
    assert all(high is None or np.nanmax(high) <= 1 for high in (line.high for line in jain.lines))
    write_report(directory, Form.SVG, tmp_path / "pictures")
    drawn = "".join(file.read_text() for file in (tmp_path / "pictures").glob("*.svg"))
    assert "mathdefault" not in drawn
    # In the color of no algorithm, with ticks at the values of the sweep.
    assert [own_looks(jain.lines)[0].color] == [COLORS.index("#000000")]
    figure = Figure()
    draw_row(figure, [jain], 6.3)
    (axis,) = figure.axes
    assert axis.lines[0].get_color() == "#000000"
    figure.draw_without_rendering()
    assert [each.get_text() for each in axis.get_xticklabels()] == ["0.5", "1", "4"]
    assert _data(page(report))["charts"][0]["marks"] == [0.5, 1, 4]


def _data(made: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', made, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_flows_of_one_table_are_one_contender(tmp_path: Path) -> None:
    scenario = SCENARIO.replace('cc = "cubic"', 'cc = "cubic"\ncount = 3')
    directory = write_sweep(tmp_path / "s", scenario, {"flow.1.cc": ["bbr1", "bbr3"]}, [1])
    rows = _table(build(directory), "Results").rows
    assert [row[0] for row in rows] == [
        "3 × cubic competing with bbr1",
        "bbr1",
        "3 × cubic competing with bbr3",
        "bbr3",
    ]
    # Jain's index belongs to the run: a table of its own has it, by what tells runs apart.
    runs = _table(build(directory), "Results", "Whole runs")
    assert runs.columns[0] == "contender"
    assert "Jain's index" in runs.columns
    assert [row[0] for row in runs.rows] == ["bbr1", "bbr3"]
    goodputs = load(directory).rows.filter(point=0, seed=1)["goodput_bps"].to_list()
    value = rows[0][1]
    assert isinstance(value, Number)
    assert value.value == pytest.approx(fmean(goodputs[:3]))


def test_a_run_shows_its_trace_thinned_out(swept: Path) -> None:
    (timeline,) = _section(build(swept), "Over time").blocks
    assert isinstance(timeline, Timeline)
    assert [run.command.rpartition(" --point ")[2] for run in timeline.runs] == [
        f"{at} --seed 1" for at in range(4)
    ]
    run = timeline.runs[0]
    sources = run.read()
    assert [panel.key for panel in PANELS if rows_of(panel, sources) and panel.first] == [
        *("rate", "cwnd", "states", "limits", "rtt", "queue", "share", "jain", "rate-rtt")
    ]
    assert "within 25 % of equal shares" in run.notes["jain"].lower()
    assert run.end_s == pytest.approx(2, abs=0.1)


def test_a_page_needs_nothing_else_and_cannot_be_broken_by_what_is_in_it(tmp_path: Path) -> None:
    evil = LONE.replace("# A flow, two seconds", "# </script><img src=x onerror=alert(1)>")
    page = write_report(_made_up(tmp_path / "s", _told, scenario=evil)).read_text(encoding="utf-8")
    assert not re.search(
        r"""<[^>]*(?:src|href)=["']?[^#"']""",
        re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL),
    )
    assert "<img" not in page
    assert page.count("<script") == page.count("</script>") == 4
    assert "default-src 'none'" in page


def test_markdown_cannot_be_broken_by_what_is_in_it(tmp_path: Path) -> None:
    evil = "</b><script>alert(1)</script> ![x](http://x/) `code` ```"
    scenario = LONE.replace("# A flow, two seconds", f"# {evil}\n# ```\n# <img src=x>")
    made = write_report(_made_up(tmp_path / "s", _told, scenario=scenario), Form.MD)
    text = (made / "report.md").read_text(encoding="utf-8")
    title, about, *_ = [line for line in text.splitlines() if line]
    assert title == (
        r"# &lt;/b&gt;&lt;script&gt;alert(1)&lt;/script&gt; !\[x\](http://x/) \`code\` \`\`\`"
    )
    assert about == r"\`\`\` &lt;img src=x&gt;"
    # The scenario is a block that its own marks do not end.
    begin, end = text.index("````toml\n"), text.rindex("\n````\n")
    assert scenario.rstrip() == text[begin + len("````toml\n") : end]
    assert "<" not in text[:begin] + text[end:]


def test_the_same_results_give_the_same_page(swept: Path, tmp_path: Path) -> None:
    one, other = (write_report(swept, out=tmp_path / name) for name in ("a.html", "b.html"))
    assert one.read_bytes() == other.read_bytes()


def test_a_run_and_its_report(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO, encoding="utf-8")
    assert fullpipe("run", "s.toml", "--out", "kept").returncode == 0
    done = fullpipe("report", "kept")
    assert (done.returncode, done.stdout) == (0, "kept/report.html\n")
    report = build(tmp_path / "kept")
    assert report.title == "Two flows, two seconds"
    assert any(" of the time." in each.text for each in report.findings)
    texts = [
        block.title
        for block in _section(report, "Scenarios and seeds").blocks
        if isinstance(block, Text)
    ]
    assert texts == ["scenario.toml", "resolved.toml"]
    assert fullpipe("report", "kept").returncode == 0  # replaces the report


def test_a_reproduced_study_has_published_beside_ours(fullpipe: Fullpipe, tmp_path: Path) -> None:
    case = "30s_20Mbps_20ms_400pkt_0loss_CUBIC"
    published = str(ROOT / "published/microsoft-wan-2021.toml")
    fullpipe("reproduce", published, "--case", case, "--seeds", "1", "--out", "kept")
    report = build(tmp_path / "kept")
    table = _table(report, "Published and our values")
    records = json.loads((tmp_path / "kept/table.json").read_text(encoding="utf-8"))
    assert [row[1] for row in table.rows] == [record["metric"] for record in records] != []
    for row, record in zip(table.rows, records, strict=True):
        assert isinstance(row[3], Number)
        assert row[3].value == record["ours"]
        assert str(row[5]).endswith(record["verdict"])
    command = _table(report, "Scenarios and seeds").rows[0][3]
    assert isinstance(command, Code)
    assert fullpipe(*command.text.split()[1:]).returncode == 0


@pytest.mark.parametrize("form", [Form.MD, Form.PDF, Form.PNG])
def test_other_forms_have_every_picture(swept: Path, form: Form, tmp_path: Path) -> None:
    report = build(swept)
    made = write_report(swept, form, tmp_path / "made")
    charts = sum(
        isinstance(block, Lines) for section in report.sections for block in section.blocks
    )
    if form is Form.PDF:
        assert made.read_bytes().startswith(b"%PDF")
        return
    ending = "svg" if form is Form.MD else "png"
    pictures = sorted(file.name for file in made.glob(f"*.{ending}"))
    assert len(pictures) >= charts + 4  # plus the four runs over time
    if form is Form.MD:
        text = (made / "report.md").read_text(encoding="utf-8")
        assert re.findall(r"!\[.*?\]\((.*?)\)", text) == pictures
        assert all(finding.text in text for finding in report.findings)


def test_a_sweep_that_has_not_ended_says_so(tmp_path: Path) -> None:
    report = build(_made_up(tmp_path / "s", _told, runs=100))
    assert ("Runs", "32 of 100, the sweep is incomplete: 4 settings, seeds 1–8") in report.facts


def test_what_has_no_results_is_refused_with_a_fix(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/metrics.json").write_text("{}", encoding="utf-8")
    (tmp_path / "broken/scenario.toml").write_text(SCENARIO, encoding="utf-8")
    write_rows(tmp_path / "young", None, {}, LONE, [1])
    for name, says in (
        ("nothing", "error: nothing: no such directory\n  fix: name a directory that"),
        ("file", "error: file: is a file, not a directory\n  fix: name a directory that"),
        (
            "empty",
            "error: empty: no results: there is no sweep.json, compare.json, table.json, runners.json",
        ),
        (
            "broken",
            "error: broken/metrics.json: no entry version; it may be of another version than",
        ),
        ("young", "error: young: no run has finished"),
        (
            ".",
            "error: .: no results, but directories with results\n  fix: name them: broken, young\n",
        ),
    ):
        done = fullpipe("report", name)
        assert done.returncode == 2
        assert done.stderr.startswith(says)
        assert "Traceback" not in done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["broken", "empty", "file", "young"]


def test_a_report_that_can_not_be_written_leaves_no_directory(
    swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fullpipe.report.html.page", full)
    with pytest.raises(OSError, match="No space left"):
        write_report(swept, out=tmp_path / "new" / "deep" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_was_named_is_overwritten(swept: Path, tmp_path: Path) -> None:
    (tmp_path / "there.html").write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="already exists"):
        write_report(swept, out=tmp_path / "there.html")
    assert (tmp_path / "there.html").read_text(encoding="utf-8") == "mine"


def test_spans_are_short() -> None:
    assert spans([5, 1, 2, 3, 9, 10]) == "1–3, 5, 9–10"
    assert spans([4]) == "4"


def test_of_more_than_seven_flows_each_algorithm_is_a_contender(tmp_path: Path) -> None:
    scenario = (
        LONE.replace("[[flow]]", "[[flow]]\ncount = 6", 1) + '[[flow]]\ncc = "newreno"\ncount = 2\n'
    )
    directory = tmp_path / "kept"
    fullpipe.run(scenario).save(directory)
    results = next(
        section for section in build(directory).sections if section.title == "Results"
    ).blocks[0]
    assert isinstance(results, Table)
    assert [row[0] for row in results.rows] == ["6 × cubic", "2 × newreno"]


def test_of_many_runs_sixty_are_shown(tmp_path: Path) -> None:
    axes = {"path.rtt": [f"{rtt}ms" for rtt in range(10, 71)]}
    many = write_sweep(tmp_path / "many", SCENARIO.replace('"2s"', '"300ms"'), axes, [1], "10ms")
    section = _section(build(many), "Over time")
    (timeline,) = section.blocks
    assert isinstance(timeline, Timeline)
    assert len(timeline.runs) == 60
    assert section.note.startswith("1 of 61 not shown: ")
