"""The functions of `import fullpipe`: their options, forms of scenarios, results, examples and displays."""

from __future__ import annotations

import copy
import doctest
import inspect
import json
import multiprocessing
import pickle
import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import polars as pl
import pytest
from matplotlib.image import imread
from rich.text import Text

import fullpipe
from conftest import SCENARIO
from fullpipe.base import toml
from fullpipe.commands import options
from fullpipe.errors import UserError
from fullpipe.report.panels.drawn import PanelError
from fullpipe.runs.view.html import Page
from fullpipe.scenario.path_options import PATH_OPTIONS
from fullpipe.wings.real.links.path import OptionError
from links import needed, tool

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = [each.name for each in PATH_OPTIONS]
EVIL = "<script>alert(1)</script>"


class Still:
    """A window that never changes."""

    def __init__(self, config: object) -> None:
        self.cwnd = 60_000

    def on_ack(self, context: object, ack: object) -> None:
        """Does nothing."""

    def decision(self) -> fullpipe.Decision:
        return fullpipe.Decision(self.cwnd)


# --- Options -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", [fullpipe.run, fullpipe.load, fullpipe.sweep, fullpipe.compare]
)
def test_a_function_has_every_option_of_the_path(function: Callable[..., object]) -> None:
    names = list(inspect.signature(function).parameters)
    assert [name for name in names if name in NAMES] == NAMES


def test_a_link_has_every_option_of_the_path_but_stack_and_duration() -> None:
    names = inspect.signature(fullpipe.link).parameters
    assert {*NAMES} - {*names} == {"stack", "duration"}


def test_options_are_those_of_the_command() -> None:
    options = {"rate": "20mbit", "rtt": "40ms", "buffer": "2bdp", "queue": "codel", "loss": "1%"}
    run = fullpipe.run(["cubic", "bbr3"], duration="6s", cc="newreno", **options)  # type: ignore[arg-type]
    args = [part for name, value in options.items() for part in (f"--{name}", value)]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "fullpipe",
            "run",
            "cubic",
            "bbr3",
            "--cc",
            "newreno",
            "--duration",
            "6s",
            *args,
            "--json",
        ],
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["flows"] == run.metrics["flows"]
    assert run.metrics["measure_from_s"] == 3, "a short run has a shorter warm-up"


def test_what_is_set_overrides_options_and_algorithms() -> None:
    run = fullpipe.load(SCENARIO, rate="5mbit", cc="newreno", set={"path.rate": "8mbit"}, seed=4)
    assert (run.rate_bps, run.flows[0], run.seed) == (8_000_000, ("newreno", "newreno"), 4)


# --- Forms of a scenario -----------------------------------------------------------------------

TABLES = {
    "duration": "2s",
    "seed": 7,
    "start_jitter": "20ms",
    "path": {"rate": "10mbit", "rtt": "20ms", "buffer": "1bdp"},
    "flow": [{"cc": "cubic"}, {"cc": "bbr1"}],
}


def test_a_mapping_is_the_same_scenario_as_its_text() -> None:
    texts = [fullpipe.load(each).to_toml().partition("\n")[2] for each in (TABLES, SCENARIO)]
    assert texts[0].split() == texts[1].partition("seconds")[2].split() or texts[0] in texts[1]
    assert fullpipe.run(TABLES).metrics["flows"] == fullpipe.run(SCENARIO).metrics["flows"]


def test_a_mapping_may_have_tables_in_values_and_odd_characters() -> None:
    text = toml.document(
        {"a": 'x"\\\n\x7f', "b": True, "path": {"queue": {"kind": "codel", "x y": [1, 0.5]}}}
    )
    assert tomllib.loads(text) == {
        "a": 'x"\\\n\x7f',
        "b": True,
        "path": {"queue": {"kind": "codel", "x y": [1, 0.5]}},
    }
    queue = {"kind": "codel", "target": "10ms"}
    assert 'target = "10ms"' in fullpipe.load("cubic", queue=queue).to_toml()
    with pytest.raises(TypeError, match="not a value of a scenario"):
        fullpipe.load("cubic", queue=object())  # type: ignore[arg-type]


def test_a_mistake_in_a_mapping_names_the_key_and_the_fix() -> None:
    with pytest.raises(fullpipe.ScenarioError, match=r"<dict>:\d+: .*\n  fix: "):
        fullpipe.run({**TABLES, "path": {"rate": "10mbit", "rtt": "20"}})


def test_names_of_scenarios_and_algorithms_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fullpipe.load("cubic-vs-bbr1").flows == [("cubic", "cubic"), ("bbr1", "bbr1")]
    assert fullpipe.load("cubic").flows == [("cubic", "cubic")]
    Path("cubic").write_text(SCENARIO)
    assert len(fullpipe.load("cubic").flows) == 2, "a file goes before an algorithm of its name"
    with pytest.raises(ValueError, match="no algorithm"):
        fullpipe.load([])


def test_a_class_is_an_algorithm_everywhere(tmp_path: Path) -> None:
    alone = fullpipe.run([Still], duration="2s", rate="10mbit")
    assert alone.flows["cc"].to_list() == ["Still"]
    again = fullpipe.run(alone.scenario, seed=3)
    assert again.flows["cc"].to_list() == ["Still"]
    assert fullpipe.run(SCENARIO, cc=Still).flows["cc"].to_list() == ["Still", "bbr1"]
    sweep = fullpipe.sweep(
        [Still, "cubic"], rtt=["10ms", "20ms"], duration="2s", out=tmp_path / "s"
    )
    assert sweep.flows["cc"].unique().sort().to_list() == ["Still", "cubic"]
    found = fullpipe.compare(Still, "cubic", duration="2s", repeat=2, out=tmp_path / "c")
    assert found.algorithms == ["Still", "cubic"]


# --- Results -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def traced() -> fullpipe.Run:
    return fullpipe.run(SCENARIO, trace="10ms")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> fullpipe.Sweep:
    out = tmp_path_factory.mktemp("results") / "sweep"
    return fullpipe.sweep(SCENARIO, buffer=["1bdp", "4bdp"], queue="pfifo,codel", repeat=2, out=out)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> fullpipe.Comparison:
    out = tmp_path_factory.mktemp("results") / "compare"
    return fullpipe.compare("cubic", "bbr3", rate="10mbit", duration="6s", repeat=10, out=out)


def test_frames_of_a_run_have_the_names_of_a_sweep(traced: fullpipe.Run) -> None:
    flows, links = traced.flows, traced.links
    assert flows["flow"].to_list() == ["cubic", "bbr1"]
    assert flows["rtt_s.mean"].to_list() == [each["rtt_s"]["mean"] for each in traced.flow_metrics]
    assert flows["completion_s"].dtype == pl.Float64
    assert (
        links.row(0, named=True)["queue_delay_s.p95"]
        == traced.link_metrics[0]["queue_delay_s"]["p95"]
    )
    assert traced.workloads.columns == ["workload"]
    web = fullpipe.run("workload", duration="6s").workloads
    assert web["completed"][0] > 0
    assert "slowdown.all.flows.mean" in web.columns


def test_a_sweep_over_options_has_its_points_links_and_traces(swept: fullpipe.Sweep) -> None:
    assert swept.axes == {"path.queue": ["pfifo", "codel"], "path.buffer": ["1bdp", "4bdp"]}
    assert swept.flows.height == 16
    assert not [name for name in swept.flows.columns if name.startswith("link.")]
    assert swept.links["link"].to_list() == ["bottleneck"] * 8
    wide = swept.frame().filter(flow_index=0)
    assert (
        swept.links["queue_delay_s.p95"].to_list()
        == wide["link.bottleneck.queue_delay_s.p95"].to_list()
    )
    assert swept.trace("links", point=1).equals(swept.series(1, "links"))


def test_a_comparison_has_both_parts_and_sentences(compared: fullpipe.Comparison) -> None:
    assert compared.flows.group_by("case").len().sort("case")["len"].to_list() == [20, 20]
    assert compared.links.height == 30
    assert any("bbr3 has" in sentence for sentence in compared.sentences)
    assert compared.trace(algorithm="bbr3")["flow"].unique().to_list() == ["flow"]
    assert sorted(compared.trace()["flow"].unique().cast(str).to_list()) == ["bbr3", "cubic"]
    with pytest.raises(ValueError, match="there are cubic, bbr3"):
        compared.trace(algorithm="bbr1")


def test_panels_are_below_each_other_and_runs_over_each_other(
    traced: fullpipe.Run, tmp_path: Path
) -> None:
    figure = traced.plot(tmp_path / "a.svg", panels=["cwnd", "srtt"])
    assert [axes.get_title(loc="left").partition(",")[0] for axes in figure.axes] == [
        "Congestion window and data in flight",
        "Smoothed RTT",
    ]
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    other = fullpipe.run(traced.scenario, queue="codel", trace="10ms")
    other.save(tmp_path / "codel")
    both = fullpipe.plot_runs({"before": traced, "after": tmp_path / "codel"}, panels=["rtt"])
    (axes,) = both.axes
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["cubic, before", "bbr1, before", "cubic, after", "bbr1, after"]
    assert len(fullpipe.plot_runs({"a": traced, "b": other}).axes) == 4


def test_pictures_that_can_not_be_drawn_say_why(traced: fullpipe.Run) -> None:
    with pytest.raises(
        PanelError, match=r"^panels cwn: no such panel; did you mean cwnd\?\n  fix: "
    ):
        traced.plot(panels=["cwn"])
    with pytest.raises(ValueError, match=r'b: no trace was recorded; run with trace="10ms"'):
        fullpipe.plot_runs({"a": traced, "b": fullpipe.run(SCENARIO)})
    with pytest.raises(ValueError, match="no run to draw"):
        fullpipe.plot_runs({})


def test_reports_are_written_where_one_says(
    traced: fullpipe.Run, swept: fullpipe.Sweep, compared: fullpipe.Comparison, tmp_path: Path
) -> None:
    page = traced.report(tmp_path / "run.html").read_text()
    assert "Two flows, two seconds" in page
    assert "fullpipe run resolved.toml --seed 7" in page
    # Not within coded data, where any four letters may be.
    temporary = re.compile(rf"(?<![\w+/]){re.escape(tempfile.gettempdir())}\b")
    assert not temporary.search(page.replace(str(tmp_path), ""))
    assert traced.report(tmp_path / "run.html").exists(), "a report may be made again"
    assert (traced.report(tmp_path / "md", form="md") / "report.md").exists()
    with pytest.raises(FileExistsError):
        traced.report(tmp_path / "md", form="md")
    with pytest.raises(ValueError, match=r"give a suffix \(\.html or \.pdf\)"):
        traced.report(tmp_path / "report.doc")
    assert swept.report() == swept.directory / "report.html"
    assert compared.report(tmp_path / "c.pdf").read_bytes().startswith(b"%PDF")
    assert fullpipe.Sweep(swept.save(tmp_path / "copy")).frame().equals(swept.frame())


def test_a_report_of_a_file_has_the_command_that_makes_the_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO)
    page = fullpipe.run(file, rtt="30ms", seed=5).report(tmp_path / "r.html").read_text()
    assert f"fullpipe run {file} --set path.rtt=30ms --seed 5" in page


# --- Displays ----------------------------------------------------------------------------------


def test_each_result_shows_tables_and_a_picture(
    traced: fullpipe.Run, swept: fullpipe.Sweep, compared: fullpipe.Comparison
) -> None:
    for shown, words in (
        (traced, ["goodput", "cubic", "limited"]),
        (swept, ["path<br>queue", "codel", "bbr1"]),
        (compared, ["together", "bbr3 has", "means of 10 seeds"]),
        (traced.scenario, ["[[flow]]", "cc = &quot;bbr1&quot;"]),
    ):
        html, png = shown._repr_html_(), shown._repr_png_()
        assert all(word in html for word in words), html[:2000]
        assert "data:image/png;base64," in html
        assert png is not None
        assert imread(BytesIO(png)).shape[0] > 200


def test_a_run_without_a_trace_shows_tables_alone() -> None:
    run = fullpipe.run(SCENARIO)
    assert run._repr_png_() is None
    assert "<table>" in run._repr_html_()
    assert "<img" not in run._repr_html_()


def test_names_in_a_display_are_escaped(tmp_path: Path) -> None:
    text = f"# {EVIL}\n" + SCENARIO.replace("# Two flows, two seconds\n", "")
    shown = [
        fullpipe.run(text),
        fullpipe.load(text),
        fullpipe.sweep(text, rtt=["10ms", "20ms"], out=tmp_path / EVIL[:8].replace("/", "")),
    ]
    for html in (each._repr_html_() for each in shown):  # type: ignore[attr-defined]
        assert "<script" not in html
    page = Page()
    page.print("\x1b[31m<b>", Text("\u202e"))
    assert (
        page.html() == r'<div class="fullpipe"><div>\x1b[31m&lt;b&gt;</div><div>\u202e</div></div>'
    )


def test_a_figure_shows_itself_without_a_magic_command(traced: fullpipe.Run) -> None:
    assert traced.plot()._repr_png_().startswith(b"\x89PNG")
    assert fullpipe.plot_runs({"a": traced})._repr_png_().startswith(b"\x89PNG")


# --- The package -------------------------------------------------------------------------------


def test_import_is_quick_and_modules_do_not_hide_functions() -> None:
    code = """
import sys
import fullpipe
slow = {"polars", "matplotlib", "numpy", "rich", "scipy", "IPython"} & set(sys.modules)
assert not slow, slow
import fullpipe.wings.real.links, fullpipe.wings.real.links.run
import fullpipe.run, fullpipe.study.sweeps.api, fullpipe.study.comparison.api
import fullpipe.wings.real.commands.link, fullpipe.commands.sweep, fullpipe.commands.run
for name in fullpipe.__all__:
    assert callable(getattr(fullpipe, name)) or name == "__version__", name
from fullpipe import link, run
assert link is fullpipe.link and link.__module__ == "fullpipe.wings.real.links.api"
assert sorted(set(fullpipe.__all__) - set(dir(fullpipe))) == []
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_has_a_docstring_with_its_errors_and_an_example() -> None:
    for name in fullpipe.__all__:
        of = getattr(fullpipe, name)
        text = inspect.getdoc(of) or ""
        assert text or name == "__version__", name
        if inspect.isfunction(of):
            assert [part for part in ("Returns:", "Raises:", ">>> ") if part not in text] == [], (
                name
            )
        members = vars(of).items() if inspect.isclass(of) else ()
        undocumented = [
            f"{name}.{key}"
            for key, member in members
            if not key.startswith("_")
            and (inspect.isfunction(member) or isinstance(member, property))
            and not inspect.getdoc(member)
        ]
        assert not undocumented


@pytest.mark.parametrize(
    "module", ["fullpipe", "run", "report.plots", "study.sweeps.api", "study.comparison.api"]
)
def test_examples_of_docstrings_are_true(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    of = fullpipe if module == "fullpipe" else import_module(f"fullpipe.{module}")
    result = doctest.testmod(of, extraglobs={"fullpipe": fullpipe})
    assert result.failed == 0
    assert result.attempted > 0


def test_commands_and_functions_share_the_table_of_options() -> None:
    assert vars(options)["PATH_OPTIONS"] is PATH_OPTIONS


# --- A program behind a path -------------------------------------------------------------------


def test_a_program_behind_a_path_gives_frames_a_table_and_a_picture(tmp_path: Path) -> None:
    needed()
    tool("iperf3")
    seconds: list[dict[str, Any]] = []
    done = fullpipe.link(
        "iperf3 -c 100.64.0.1 -t 2",
        rate="20mbit",
        rtt="20ms",
        server="iperf3 -s",
        each_second=seconds.append,
    )
    assert done.exit_code == 0
    assert done.links["link"].to_list() == ["bottleneck", "up"]
    assert done.directions.filter(direction="up")["rate_bps"][0] > 5e6
    assert done.flows["goodput_bps"].max() > 5e6  # type: ignore[operator]
    assert done.trace("links")["time"].max() > 1  # type: ignore[operator]
    assert seconds[0]["up"]["rate_bps"] > 0
    assert "<table>" in done._repr_html_()
    assert "data:image/png" in done._repr_html_()
    assert "iperf3" in done.report(tmp_path / "l.html").read_text()
    assert (done.save(tmp_path / "kept") / "near.pcapng").exists()
    place = done.directory
    del done
    assert not place.exists(), "without out=, results disappear with the object"


def test_an_exit_code_of_130_is_no_interrupt() -> None:
    needed()
    assert fullpipe.link(["sh", "-c", "exit 130"], rtt="20ms").exit_code == 130


def test_a_link_refuses_what_the_command_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="up can't be used with"):
        fullpipe.link("true", profile="lte", up="1mbit")
    monkeypatch.setenv("FULLPIPE_FAR", "100.64.0.1")
    with pytest.raises(UserError, match="links can't be nested"):
        fullpipe.link("true")


PATH = (
    'duration = "2s"\nmeasure_from = "0s"\n[path]\nrate = "10mbit"\nrtt = "20ms"\nbuffer = "1bdp"\n'
)
FLOW = f"{PATH}[[flow]]\ncc = "


@pytest.mark.parametrize(
    "text",
    [
        FLOW + '"dctcp"\necn = "off"\n',
        FLOW + '"prague"\necn_feedback = "classic"\n',
        PATH + '\necn = "strip"\n[[flow]]\ncc = "dctcp"\n',
        FLOW + '"none"\napp_rate = "100gbit"\n',
        FLOW + '"none"\napp_rate = "1mbit"\napp_schedule = "1s 100gbit"\n',
        FLOW + '"cubicc"\n',
        FLOW + '"cubic"\nparams = { beta = 7 }\n',
        FLOW + '"cubic"\nparams = { betta = 0.7 }\n',
        FLOW + '"cubic"\nreceiver = "cubic"\n',
        FLOW + '"rledbat"\nreceive_window = "auto"\n',
        FLOW + '"rledbat"\nreceiver = "rledbat"\n',
        FLOW + '"rledbat"\ntransport = "datagram"\n',
        PATH + '[[workload]]\nname = "w"\ncc = "cubicc"\nsizes = "10kB"\nload = 0.5\n',
        PATH + '[[workload]]\nname = "w"\ncc = "dctcp"\necn = "off"\nsizes = "10kB"\nload = 0.5\n',
    ],
)
def test_what_a_run_refuses_is_refused_when_it_is_loaded(text: str) -> None:
    with pytest.raises(fullpipe.ScenarioError) as refused:
        fullpipe.run(text)
    with pytest.raises(fullpipe.ScenarioError) as loaded:
        fullpipe.load(text)
    assert str(loaded.value) == str(refused.value) and loaded.value.fix


def test_what_another_runner_has_is_loaded_for_it() -> None:
    assert fullpipe.load(f'{PATH}[[program]]\nuse = "iperf3"\n').flows
    with pytest.raises(fullpipe.ScenarioError, match="no algorithm of this name"):
        fullpipe.load(FLOW + '"reno"\n')
    with pytest.raises(UserError):
        fullpipe.load(FLOW + '"cubic"\n', on="nowhere")


def _in_a_pool(scenario: fullpipe.Scenario) -> fullpipe.Run:
    return fullpipe.run(scenario, trace="10ms")


def test_a_pool_of_processes_takes_scenarios_and_returns_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "delays.txt").write_text("0s, 10ms\n1s, 20ms\n")
    file = tmp_path / "it.toml"
    file.write_text(PATH + 'delay_trace = "file delays.txt"\n[[flow]]\ncc = "cubic"\ncount = 2\n')
    monkeypatch.chdir(tmp_path)
    scenario = fullpipe.load("it.toml", seed=7, set={"path.rate": "5mbit"})
    here = _in_a_pool(scenario)
    monkeypatch.chdir("/")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        [there] = pool.map(_in_a_pool, [scenario])
    assert there.trace_hash == here.trace_hash and there.metrics == here.metrics
    for table in ("flows", "links"):
        assert there.trace(table).equals(here.trace(table))
    for each in (there, pickle.loads(pickle.dumps(here)), copy.deepcopy(here), copy.copy(here)):
        assert each.flows.equals(here.flows) and each.trace().equals(here.trace())
        each.save(tmp_path / f"kept-{id(each)}")
    other = copy.deepcopy(scenario)
    assert other.to_toml() == scenario.to_toml() and other.seed == 7


def test_a_class_in_a_pickled_scenario_is_the_one_that_can_be_imported() -> None:
    text = FLOW.replace("[[flow]]\ncc = ", '[[flow]]\ncc = "still"\n')
    scenario = fullpipe.load(text, controllers={"still": Still})
    assert fullpipe.run(pickle.loads(pickle.dumps(scenario))).flows["cc"].to_list() == ["still"]
