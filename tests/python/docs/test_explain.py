"""`fullpipe explain`: every name has a text, near names are suggested, and the docs are at hand."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fullpipe import _core
from fullpipe.about import pages
from fullpipe.about.explanations import UnknownNameError, explain, known
from terminals import on_a_terminal

if TYPE_CHECKING:
    from conftest import Fullpipe

ROOT = Path(__file__).parents[3]
VEGAS = '''\
import fullpipe


class Vegas:
    """Keeps a few segments in the queue."""

    params = {"alpha": fullpipe.Param(2.0, least=1.0, most=9.0, unit="segments", purpose="Least data.")}

    def __init__(self, config):
        self.cwnd = config.initial_cwnd

    def on_ack(self, cx, ack):
        pass

    def decision(self):
        return fullpipe.Decision(self.cwnd, None)
'''


def test_every_key_metric_column_and_limit_is_explained() -> None:
    names = {
        *(each["key"] for each in _core.scenario_keys()),
        *(each["name"] for each in _core.metrics()),
        *(each["name"] for each in _core.trace_columns()),
        *(each["name"] for each in _core.limits()),
    }
    assert names <= set(known())
    for name in known():
        assert len(list(explain(name))) > 1, name


def test_the_limits_are_those_of_the_page() -> None:
    page = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    table = page.partition("## Limits of a flow")[2].partition("## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    plain = {name: re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text) for name, text in rows}
    assert plain == {each["name"]: each["condition"] for each in _core.limits()}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("app", "flow.N.app: Application"),
        ("flow.0.cc", "flow.N.cc: Congestion control algorithm."),
        ("goodput", "goodput, metric of a flow: 8 · (bytes delivered in order"),
        ("rtt.p95", "--show rtt.p95"),
        ("pacing_rate", "pacing_rate, column of the trace's flows: in force"),
        ("cwnd", "cwnd, limit of a flow: it holds if inflight + the next segment > window"),
        ("limits", "the window has room, and the pacer permits no packet yet"),
        ("request", "flow.N.app: Application"),
        ("mine.py:Vegas", "alpha  Least data.\n         default 2, from 1 to 9 segments"),
        ("mine:Vegas", "mine:Vegas: Keeps a few segments in the queue."),
    ],
)
def test_a_name_is_explained(fullpipe: Fullpipe, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "mine.py").write_text(VEGAS)
    done = fullpipe("explain", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["path.buffers"], "path.buffers: no name or key\n  fix: did you mean path.buffer"),
        (["cubik"], "did you mean cubic"),
        (["mine.py"], "mine.py: a file, and its class is missing\n  fix: write mine.py:Vegas"),
        (["yours.py:Vegas"], "yours.py:Vegas: no such file"),
        ([], "a name is missing"),
        (["--schema", "cubic"], "--schema: the schema is of all keys"),
        (["--docs", "guide/lin"], "did you mean guide/link?"),
        (
            ["--docs", "fleet"],
            "fleet: several pages\n  fix: did you mean tutorial/fleet or guide/fleet",
        ),
    ],
)
def test_a_wrong_name_is_refused(
    fullpipe: Fullpipe, tmp_path: Path, args: list[str], said: str
) -> None:
    (tmp_path / "mine.py").write_text(VEGAS)
    done = fullpipe("explain", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_the_docs_are_in_the_package(fullpipe: Fullpipe) -> None:
    listed = fullpipe("explain", "--docs").stdout.splitlines()
    names = {line.split()[0] for line in listed}
    files = [
        file.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for file in (ROOT / "docs").rglob("*.md")
    ]
    assert names == {name for name in files if not name.startswith("notebook/")}
    assert "guide/link                 " in next(line for line in listed if "guide/link" in line)
    shown = fullpipe("explain", "--docs", "bbr3").stdout
    assert shown == (ROOT / "docs/reference/models/bbr3.md").read_text(encoding="utf-8")


def test_a_policy_is_explained(fullpipe: Fullpipe) -> None:
    shown = fullpipe("explain", "policy:power")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("policy:power: A trained policy")


def test_a_wheel_has_the_pages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = {each["path"] for each in project["tool"]["maturin"]["include"]}
    place = "python/fullpipe/docs"
    assert {f"{place}/*.md", *(f"{place}/{each}/**/*.md" for each in pages.FOLDERS)} <= patterns


def test_a_long_text_is_paged_on_a_terminal(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", "sed s/^/paged:/")
    long = on_a_terminal(100, *command, "explain", "scenario")
    assert len(long) > 400 and long[0].startswith("paged:scenario: One experiment")
    short = on_a_terminal(100, *command, "explain", "path.buffer")
    assert not any("paged:" in line for line in short)


def test_without_docs_the_error_names_the_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pages, "PLACE", tmp_path)
    with pytest.raises(pages.NoPageError, match="fix: install fullpipe from a wheel"):
        pages.listed()


def test_an_unknown_name_has_a_fix() -> None:
    with pytest.raises(UnknownNameError, match="fix: `fullpipe list` has names"):
        explain("zzzzzzzz")


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("limited by", "limited_by, metric of a flow"),
        ("re-sent", "retransmits, metric"),
        ("bdp", "path.buffer:"),
    ],
)
def test_words_of_tables_and_a_unit_are_explained(
    word: str, found: str, fullpipe: Fullpipe
) -> None:
    assert fullpipe("explain", word).stdout.startswith(found)
