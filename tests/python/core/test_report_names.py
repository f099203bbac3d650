"""Names and texts that users choose stay text in reports: pages in a browser, Markdown, SVG.

The language refuses markup in the names of flows, links, workloads and groups; the last test holds that.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

import fullpipe as library
import links
import served
from browser import WEB, browser
from conftest import SCENARIO
from fleet_made import write_fleet
from fullpipe.report import Form, SlideForm, write_panel, write_report
from sweep_dir import write_sweep

if TYPE_CHECKING:
    from conftest import Fullpipe
    from fullpipe._core import Ack, Config, Context

BAD = "</script><img src=x onerror=alert(1)><b class=injected>`|*[x](y)$x_1$"
FILE = "<img src=x onerror=alert(1)>`|*[x](y)$x_1$"
"""The same without a slash, for files and directories."""
ROOT = Path(__file__).parents[3]


class Marked:
    """An algorithm with a constant window, which changes its state once."""

    def __init__(self, config: Config) -> None:
        self.acks = 0

    def on_ack(self, cx: Context, ack: Ack) -> None:
        self.acks += 1
        if self.acks == 20:
            cx.transition(BAD, "other", BAD)

    def decision(self) -> library.Decision:
        return library.Decision(20_000)

    def observe(self) -> list[float]:
        return [self.acks, self.acks >= 20]


def _own_algorithm(here: Path) -> Path:
    """The names, words and units of an algorithm in Python."""
    fields = {
        f"x {BAD}": library.Field(purpose=BAD, unit=BAD),
        "state": library.Field(purpose=BAD, labels=(BAD, "other")),
    }
    made = type("Marked", (Marked,), {"__doc__": BAD, "fields": fields})
    run = library.run(
        SCENARIO, trace="10ms", set={"flow.0.cc": "marked"}, controllers={"marked": made}
    )
    return write_report(run.save(here / "kept"))


def _a_run(here: Path) -> Path:
    """Title, comments, file and directory of a scenario."""
    folder = here / FILE
    folder.mkdir()
    file = folder / f"{FILE}.toml"
    file.write_text(SCENARIO.replace("# Two flows", f"# {BAD} Two flows\n# {BAD}"))
    return write_report(library.run(file, trace="10ms").save(folder / f"kept {FILE}"))


def _side_by_side(here: Path) -> Path:
    """Directories whose names tell the runs apart."""
    run = library.run(SCENARIO, trace="10ms")
    return write_report([run.save(here / FILE), run.save(here / f"B{FILE}")], out=here / "r.html")


def _a_sweep(here: Path) -> Path:
    """Values of an axis: here files."""
    shutil.copy(ROOT / "scenarios/traces/cellular.trace", here / FILE)
    shutil.copy(ROOT / "scenarios/traces/cellular.trace", here / f"B{FILE}")
    axis = {"path.rate_pattern": [f"mahimahi file {here}/{FILE}", f"mahimahi file {here}/B{FILE}"]}
    return write_report(write_sweep(here / "swept", SCENARIO, axis, list(range(1, 7)), "10ms"))


def _published(here: Path) -> Path:
    """The texts of a published table."""
    text = (ROOT / "published/microsoft-wan-2021.toml").read_text()
    for key in ("title", "source", "note", "why"):
        text = re.sub(rf'^({key} = )(?!""")"', rf'\1"{_quoted(BAD)} ', text, flags=re.MULTILINE)
        text = re.sub(rf'^({key} = """)', rf"\1{_quoted(BAD)} ", text, flags=re.MULTILINE)
    file = here / f"{FILE}.toml"
    file.write_text(text)
    case = "30s_20Mbps_20ms_400pkt_0loss_CUBIC"
    _command("reproduce", file, "--case", case, "--seeds", "1", "--out", here / "kept")
    return here / "kept/report.html"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _fleet(here: Path) -> Path:
    """The names of a fleet's arms, and of its hosts, which begin with those."""
    fleet = write_fleet(here / FILE, {FILE: {}, "cubic": {"rate": 1.1}}, rows=200)
    _command("report", fleet)
    return fleet / "report.html"


def _flent(here: Path) -> Path:
    """A foreign file, and the names in it."""
    results = {f"Ping {BAD}": [10.0, None, 30.0], f"TCP {BAD}": [8.0, 8.0, 16.0]}
    units = {f"Ping {BAD}": {"UNITS": "ms"}, f"TCP {BAD}": {"UNITS": "Mbits/s"}}
    value = {"version": 4, "x_values": [0.0, 0.2, 0.4], "results": results}
    value["metadata"] = {"SERIES_META": units, "TITLE": BAD, "NAME": BAD}
    return _imported(here, json.dumps(value))


def _iperf3(here: Path) -> Path:
    """The algorithm and the title of iperf3."""
    stream = {
        "socket": 5,
        "seconds": 1.0,
        "bytes": 1_000_000,
        "bits_per_second": 8e6,
        "omitted": False,
    }
    streams = [{"streams": [{**stream, "start": at, "end": at + 1.0}]} for at in range(3)]
    sums = {"sender": {"bits_per_second": 8e6}, "receiver": {"bits_per_second": 8e6}}
    value = {"title": BAD, "start": {}, "intervals": streams}
    value["end"] = {"streams": [sums], "sender_tcp_congestion": BAD}
    return _imported(here, json.dumps(value))


def _qlog(here: Path) -> Path:
    """Groups, titles and states of a qlog."""
    run = library.run(SCENARIO, trace="10ms").save(here / "run")
    _command("trace", "qlog", run, here / "own.qlog")
    text = (here / "own.qlog").read_text().replace("congestion_avoidance", BAD)
    text = re.sub(r'"(title|description|group_id|name)":"[^":]*"', rf'"\1":"{BAD}"', text)
    return _imported(here, text)


def _imported(here: Path, content: str) -> Path:
    (here / FILE).write_text(content)
    _command("trace", "import", here / FILE, "--out", here / "kept")
    return write_report(here / "kept")


def _link(here: Path) -> Path:
    """The command behind a link."""
    links.needed()
    client = [links.tool("iperf3"), "--client", links.FAR, "--time", "1", "--title", BAD]
    server = ["--server", "iperf3 --server --one-off"]
    done = links.run("--rate=50mbit", *server, "--out", str(here / "kept"), "--", *client)
    assert done.returncode == 0, done.stderr
    return write_report(here / "kept")


def _command(*words: object) -> None:
    done = served.command(*words)
    assert done.returncode in (0, 1), done.stderr


CASES = {
    each.__name__.strip("_"): each
    for each in (
        *(_a_run, _side_by_side, _a_sweep, _own_algorithm, _published),
        *(_fleet, _flent, _iperf3, _qlog, _link),
    )
}


class Pages:
    """A page for each case, made when it is asked for first."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._found: dict[str, Path | str] = {}

    def __getitem__(self, name: str) -> Path | str:
        """Returns the page, or the reason why it can't be made."""
        if name not in self._found:
            try:
                self._found[name] = CASES[name](self._factory.mktemp(name))
            except pytest.skip.Exception as reason:
                self._found[name] = str(reason)
        return self._found[name]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """The pages of the cases."""
    return Pages(tmp_path_factory)


@pytest.fixture(scope="module")
def opened(pages: Pages) -> dict[str, Any]:
    """Observations in a browser; see web/open.mjs."""
    command = ["node", str(WEB / "open.mjs"), browser()]
    there = {name: page for name in CASES if isinstance(page := pages[name], Path)}
    command += map(str, there.values())
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(there, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_a_page_shows_markup_as_text_and_stays_whole(
    name: str, pages: Pages, opened: dict[str, Any]
) -> None:
    if isinstance(reason := pages[name], str):
        pytest.skip(reason)
    seen = opened[name]
    assert seen["errors"] == []
    assert seen["injected"] == 0
    assert seen["whole"], "the footer is an element of the page"
    assert "<img src=x onerror=alert(1)>" in seen["text"]
    if name not in {"published", "fleet"}:
        assert seen["charts"] > 0


@pytest.mark.parametrize("name", [each for each in CASES if each != "fleet"])
def test_markdown_and_pictures_show_markup_as_text(name: str, pages: Pages, tmp_path: Path) -> None:
    if isinstance(page := pages[name], str):
        pytest.skip(page)
    kept = page.parent
    sources = [kept / FILE, kept / f"B{FILE}"] if name == "side_by_side" else [kept]
    made = write_report(sources, Form.MD, tmp_path / "md")
    text = (made / "report.md").read_text(encoding="utf-8")
    outside = re.sub(r"^(`{3,})toml$.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    outside = re.sub(r"(?<![\\`])(`+)(?!`).+?(?<!`)\1(?!`)", "", outside)  # code
    assert re.findall(r"<[a-zA-Z/]", outside) == []
    pictures = list(made.glob("*.svg"))
    if name != "published":
        rtt = "rate" if name in {"iperf3", "link"} else "rtt"
        pictures.append(write_panel(sources, rtt, SlideForm.SVG, tmp_path / "panel.svg"))
    for each in pictures:
        elements = {element.tag.rpartition("}")[2] for element in ElementTree.parse(each).iter()}
        assert not elements & {"script", "img", "image", "b", "foreignObject"}


@pytest.mark.parametrize(
    "setting", ["flow.0.name={}", "flow.0.group={}", "flow.0.cc={}", "link.0.name={}"]
)
def test_names_of_a_scenario_have_no_markup(
    setting: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    done = fullpipe("run", "s.toml", "--set", setting.format("<b>"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
