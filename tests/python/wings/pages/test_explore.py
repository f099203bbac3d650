"""`fullpipe explore`: its page in headless Chromium, offline, and its engine against the command's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fullpipe
import served
from browser import WEB, browser, built_engine, observed
from depth import DEEP
from fullpipe import _core
from fullpipe._core import Scenario, ScenarioError
from fullpipe.results.rows import rows_of
from fullpipe.scenario import origin
from fullpipe.study.checks.judge import judged
from fullpipe.wings.pages import explore
from fullpipe.wings.pages.explore.page import runs_in_pages

if TYPE_CHECKING:
    from fullpipe.study.checks.judge import JudgedCondition

ROOT = Path(__file__).parents[4]
ENGINE = Path(str(files("fullpipe.wings.pages.explore"))) / "assets" / "engine.wasm.gz"
INTERVAL = "10ms"
MOST_BYTES = 1_400_000


def run_program(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the command as a user does."""
    command = [sys.executable, "-m", "fullpipe", *args]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(
        command, input=text, capture_output=True, text=True, env=environment, check=False
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page without a scenario, as the command writes it."""
    built_engine()
    file = tmp_path_factory.mktemp("explore") / "explore.html"
    done = run_program("explore", "--out", str(file))
    assert done.stdout.strip() == str(file), done.stderr
    return file


@pytest.fixture(scope="module")
def seen(page: Path) -> dict[str, Any]:
    """Observations on the page in a browser; see web/explore.mjs."""
    return observed("explore.mjs", page, page.parent / "look")


def _hash(text: str, interval: str) -> str | None:
    return fullpipe.run(text, trace=interval).trace_hash


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str | None]:
    """The scenarios of the package that need no file, each with a duration of 3 s, and their hashes."""
    place = tmp_path_factory.mktemp("short")
    found = {}
    for file in origin.packaged():
        text = file.read_text()
        shorter = re.sub(r"(?m)^duration = .*", 'duration = "3s"', text)
        shorter = re.sub(r"(?m)^measure_from = .*\n", "", shorter)
        try:
            Scenario.parse(text, "/no such directory/scenario", [])
            digest = _hash(shorter, INTERVAL)
        except ScenarioError:
            continue  # it needs a file, which the command puts into the page, or its path changes later than 3 s
        (place / file.name).write_text(shorter)
        found[place / file.name] = digest
    assert len(found) >= 40
    return found


def test_the_engine_has_the_hashes_of_the_command(short: dict[Path, str | None]) -> None:
    built_engine()
    command = ["node", str(WEB / "hashes.mjs"), str(ENGINE), str(10_000_000), *map(str, short)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {str(file): digest for file, digest in short.items()}


def test_the_page_has_the_hashes_of_the_command(page: Path, short: dict[Path, str | None]) -> None:
    # The engine has them all, by the test above; a scenario in six shows that the page adds nothing.
    chosen = list(short)[:: 1 if DEEP else 6]
    command = ["node", str(WEB / "page-hashes.mjs"), browser(), str(page), *map(str, chosen)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert len(seen) == len(chosen)
    for file in chosen:
        interval, digest = seen[str(file)]
        assert digest == _hash(file.read_text(), interval), file.name


def test_the_page_is_one_small_file(page: Path) -> None:
    assert page.stat().st_size <= MOST_BYTES


def test_it_works_from_a_file_without_network_or_errors(seen: dict[str, Any]) -> None:
    assert seen["errors"] == []
    assert set(seen["requests"]) <= {"file", "blob"}
    assert seen["title"] == "CUBIC against BBRv3"
    assert seen["charts"] == 5


def test_the_page_shows_the_hash_that_its_command_prints(seen: dict[str, Any]) -> None:
    assert seen["first"]["text"] == explore.DEFAULT
    shared = seen["shared"]
    parts = re.fullmatch(
        r"fullpipe (run - --trace \w+) <<'SCENARIO'\n(.*\n)SCENARIO", seen["command"], re.DOTALL
    )
    assert parts
    done = run_program(*parts[1].split(), text=parts[2])
    assert f"trace {shared['hash']}" in done.stdout, done.stderr


def test_a_slider_changes_text_and_run(seen: dict[str, Any]) -> None:
    slid, clicked = seen["slid"], seen["clicked"]
    rate = re.search(r'rate = "([\d.]+)mbit"', slid["text"])
    assert rate and 10 < float(rate[1]) < 20
    assert slid["hash"] == _hash(slid["text"], INTERVAL) != seen["first"]["hash"]
    assert re.search(r'rate = "\d+kbit"|rate = "[\d.]+mbit"', clicked)
    assert clicked != slid["text"]
    # 100 ms on an idle core of a desktop; the bound allows for a busy machine.
    assert sorted(seen["took"])[1] < 1000


def test_the_text_changes_the_sliders_and_names_mistakes(seen: dict[str, Any]) -> None:
    assert seen["typed"] == "5mbit"
    assert "rrt" in seen["problem"]
    assert "rtt" in seen["problem"].partition("fix:")[2]
    assert seen["back"] == [seen["first"]["hash"], ""]


def test_flows_and_parameters_change_by_their_controls(seen: dict[str, Any]) -> None:
    assert 'cc = "newreno"' in seen["algorithm"]
    assert seen["added"] == 3
    assert "params = { beta = 0.5 }" in seen["parameter"]
    assert seen["parameter"].count("[[flow]]") == 2


def test_a_pinned_run_stays_beside_the_next(seen: dict[str, Any]) -> None:
    assert "cubic, pinned" in seen["pinned"]
    assert seen["pinned"].count("cubic") == 2


def test_time_moves_by_slider_step_and_play(seen: dict[str, Any]) -> None:
    at, stepped, back, played = (
        float(seen[name].removesuffix(" s")) for name in ("at", "stepped", "steppedBack", "played")
    )
    assert at == pytest.approx(15, abs=0.1)
    assert stepped == pytest.approx(at + 0.004)
    assert back == pytest.approx(at)
    assert played > back
    assert re.fullmatch(r"[1-9]\d* packets under way, \d+ of them in the queue", seen["underWay"])
    cubic, bbr3 = seen["states"]
    assert re.match(r" cubic: .+ since [\d.]+ s \(.+\); window [\d.]+ kB; limited by", cubic)
    assert "bbr3" in bbr3


def test_a_link_holds_the_scenario(seen: dict[str, Any]) -> None:
    assert seen["linked"] == seen["shared"]


def test_a_long_run_streams_and_stops(seen: dict[str, Any]) -> None:
    assert re.fullmatch(r"running: [\d.]+ of 6000 s", seen["running"])
    took_ms, status, digest = seen["stopped"]
    assert took_ms < 5000
    assert status.startswith("stopped")
    assert digest == "none: the run was stopped"


PYTHON = """
import math
import fullpipe

class Mine:
    params = {"beta": fullpipe.Param(0.5, least=0.1, most=0.9)}

    def __init__(self, config):
        self.smss, self.beta = config.smss, config.params["beta"]
        self.cwnd, self.ssthresh = config.initial_cwnd, math.inf
        self.state = "slow_start"

    def enter(self, state, cx, reason):
        if state != self.state:
            cx.transition(self.state, state, reason)
        self.state = state

    def on_ack(self, cx, ack):
        if cx.conn.in_recovery or not cx.conn.cwnd_limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.newly_acked
            if self.cwnd >= self.ssthresh:
                self.enter("avoidance", cx, "window reached ssthresh")
        else:
            self.cwnd += (self.smss * ack.newly_acked) / self.cwnd

    def on_recovery(self, cx, change):
        if change.kind not in ("enter", "timeout"):
            return
        self.ssthresh = max(self.cwnd * self.beta, 2 * self.smss)
        self.cwnd = self.ssthresh if change.kind == "enter" else self.smss
        state = "avoidance" if change.kind == "enter" else "slow_start"
        self.enter(state, cx, change.cause or "timeout")

    def decision(self):
        return fullpipe.Decision(self.cwnd, self.ssthresh if self.ssthresh < math.inf else None)
"""
"""The page's example of an own algorithm, as a Python class."""


def test_an_own_algorithm_has_the_run_of_the_same_class_in_python(seen: dict[str, Any]) -> None:
    defined: dict[str, Any] = {}
    exec(PYTHON, defined)
    own = seen["own"]
    assert 'cc = "Mine"' in own["text"]
    run = fullpipe.run(own["text"], controllers={"Mine": defined["Mine"]}, trace=INTERVAL)
    assert own["hash"] == run.trace_hash == seen["ownAgain"]
    assert re.match(r" Mine: avoidance since [\d.]+ s \(loss\)", own["states"][0])


def test_parameters_reach_the_class_by_their_names(seen: dict[str, Any]) -> None:
    assert seen["params"] == "gain = 2, beta = 0.5"


def test_no_line_of_a_scenario_ends_the_text_of_the_command(seen: dict[str, Any]) -> None:
    done = subprocess.run(
        ["sh", "-c", f"fullpipe() {{ cat; }}\n{seen['shell']}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "\nSCENARIO\necho INJECTED" in done.stdout
    assert done.stderr == ""


def test_the_skip_link_keeps_the_scenario(seen: dict[str, Any]) -> None:
    assert seen["skipped"] == [seen["first"]["text"], ""]


def test_a_page_has_no_algorithm_that_its_simulator_lacks() -> None:
    built_engine()
    text = explore.DEFAULT.replace('"bbr3"', '"mine:Mine"')
    with pytest.raises(explore.EngineError, match="and not mine:Mine"):
        explore.explorer(text, "explore")


def test_a_link_never_contains_or_runs_code(seen: dict[str, Any]) -> None:
    assert "Mine" in seen["ownAddress"]
    assert "class" not in seen["ownAddress"]
    assert "no algorithms in JavaScript" in seen["own"]["command"]


def test_mistakes_of_an_own_algorithm_are_named(seen: dict[str, Any]) -> None:
    assert re.match(r"line 19: Uncaught SyntaxError: ", seen["syntax"][0]), seen["syntax"]
    assert re.match(r"Mine failed at [\d.]+ s in on_recovery: TypeError", seen["raises"][0])
    assert seen["incomplete"][0] == "class Empty has no method on_ack(): add it"
    assert "cwnd = -1: give a number of at least 1" in seen["wrong"][0]
    assert "use cx.random()" in seen["chance"][0]
    assert "fetch is not a function" in seen["reaches"][0]


def test_an_endless_loop_in_an_own_algorithm_is_stopped(seen: dict[str, Any]) -> None:
    said, took_ms = seen["loops"]
    assert said == "a method of the class did not return within a second, and was stopped"
    # A second, and the start of the worker on a busy machine.
    assert took_ms < 5000
    said, _ = seen["makes"]
    assert said == "a method of the class did not return within 4 seconds, and was stopped"


def test_a_class_in_the_page_has_the_arguments_of_one_in_python(tmp_path: Path) -> None:
    built_engine()
    code = """
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
const module = await WebAssembly.compile(gunzipSync(readFileSync(process.argv[1])));
const none = () => 0;
const { exports } = await WebAssembly.instantiate(module, { own: { make: none, call: none, observe: none } });
exports.version();
const bytes = new Uint8Array(exports.memory.buffer, exports.reply_at(), exports.reply_length());
console.log(new TextDecoder().decode(bytes));
"""
    done = subprocess.run(
        ["node", "--input-type=module", "-e", code, str(ENGINE)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    said = json.loads(done.stdout)
    nested = {"lost": {"packet"}, "ack": {"newest"}}
    for name, kind in {
        "conn": _core.Conn,
        "packet": _core.Snapshot,
        "lost": _core.Lost,
        "ack": _core.Ack,
        "recovery": _core.Recovery,
    }.items():
        names = {each for each, _ in said["layouts"][name]} | nested.get(name, set())
        assert names == {each for each in dir(kind) if not each.startswith("_")}
    page = (ROOT / "docs/reference/controller.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(on_\w+)\(", page, re.MULTILINE)) == set(said["methods"])


def _judged(lesson: explore.Lesson, step: explore.Step, **more: str) -> list[JudgedCondition]:
    """Returns the verdicts on a step's conditions."""
    conditions = json.dumps(step["expect"])
    done = fullpipe.run(f"expect = {conditions}\n{lesson['scenario']}", set={**step["set"], **more})
    found = judged(done.scenario, rows_of(done.metrics))
    assert len(found) == len(step["expect"])
    return found


def _steps(lesson: explore.Lesson) -> list[explore.Step]:
    return [{"say": "", "set": {}, "expect": lesson["expect"]}, *lesson["step"]]


@pytest.mark.parametrize("lesson", explore.lessons(), ids=lambda lesson: lesson["name"])
def test_a_lesson_shows_what_it_says(lesson: explore.Lesson) -> None:
    for step in _steps(lesson):
        if "code" not in lesson:
            assert all(each.met for each in _judged(lesson, step))
            continue
        # The reader is to find what Reno lacks.
        assert not all(each.met for each in _judged(lesson, step))
        assert all(each.met for each in _judged(lesson, step, **{"flow.0.cc": "bbr3"}))


def test_the_page_judges_as_check_does(seen: dict[str, Any]) -> None:
    for lesson in explore.lessons():
        assert seen["judged"][lesson["name"]] == [
            f"{'✓ met' if each.met else '✗ missed'} {each.name}: {each.shown}"
            for each in _judged(lesson, _steps(lesson)[0])
        ]


def test_a_class_of_ten_lines_is_graded(seen: dict[str, Any]) -> None:
    before, after = seen["graded"]
    assert len(before) == 3
    assert all(each.startswith("✗ ") for each in before)
    assert after == ["✓ met"] * 3
    assert 'cc = "Mine"' in seen["gradedText"]
    [lesson] = [each for each in explore.lessons() if "code" in each]
    assert len(lesson["code"].strip().splitlines()) <= 15


def test_a_slider_changes_dotted_keys(seen: dict[str, Any]) -> None:
    rate = r'path\.rate = "(\S+)"'
    assert re.findall(rate, seen["dotted"]) != ["20mbit"]
    assert "[path]" not in seen["dotted"]
    assert Scenario.parse(seen["dotted"], "dotted", []).flows[0][0] == "cubic"


def test_a_lesson_changes_the_scenario_in_the_page(seen: dict[str, Any]) -> None:
    begun, changed = seen["lesson"]
    assert begun["title"] == "Bufferbloat"
    assert "call" in begun["rows"][1]
    assert begun["answered"] is False
    before, after = (float(each["rows"][1].split("|")[2]) for each in (begun, changed))
    assert before > 500
    assert after < 90
    assert 'buffer = "1bdp"' in changed["text"]


def test_markup_in_a_scenario_stays_text(seen: dict[str, Any]) -> None:
    assert "<img src=x" in seen["named"]
    assert "<img src=x" in seen["refused"]
    assert seen["injected"] == 0


def test_it_is_readable_in_the_dark_on_a_phone_and_by_ear(seen: dict[str, Any]) -> None:
    assert seen["darkPaper"] == "rgb(22, 24, 27)"
    assert seen["overflow"] <= 0
    assert seen["unnamed"] == 0


def test_without_an_engine_the_command_names_the_one_that_builds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fullpipe.wings.pages.explore.page.ENGINE", "none.gz")
    with pytest.raises(explore.EngineError, match="make wasm"):
        explore.explorer(explore.DEFAULT, "explore")


def _again(page: Path, *option: str) -> dict[str, Any]:
    """Observations on a page whose scenario is opened in the explorer; see web/again.mjs."""
    command = ["node", str(WEB / "again.mjs"), browser(), str(page), *option]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["errors"] == []
    return found


def test_a_report_changes_its_scenario_and_runs_it_again(tmp_path: Path) -> None:
    built_engine()
    kept = tmp_path / "kept"
    options = ("--rate", "10mbit", "--rtt", "20ms", "--duration", "10s", "--out", str(kept))
    assert run_program("run", "cubic", "bbr3", *options).returncode == 0
    done = run_program("report", str(kept))
    assert done.returncode == 0, done.stderr
    seen = _again(kept / "report.html")
    goodput = [
        each["goodput_bps"] for each in json.loads((kept / "metrics.json").read_text())["flows"]
    ]
    shown = [
        f"{name}{float(f'{bps / 1e6:.4g}'):g}"
        for name, bps in zip(("cubic", "bbr3"), goodput, strict=True)
    ]
    for row, expected in zip(seen["rows"], shown, strict=True):
        assert row.startswith(expected), seen["rows"]
    assert seen["changed"] != seen["rows"]


def test_a_sweep_offers_each_point_and_no_algorithm_that_pages_lack(tmp_path: Path) -> None:
    built_engine()
    (tmp_path / "mine.py").write_text(
        "import fullpipe\nclass Mine:\n    def __init__(self, config): self.cwnd = config.initial_cwnd\n"
        "    def on_ack(self, cx, ack): pass\n    def decision(self): return fullpipe.Decision(self.cwnd)\n"
    )
    command = "sweep cubic --rate 10mbit --rtt 20ms --duration 5s --buffer 1bdp,2bdp"
    swept = [*command.split(), "--set", "flow.0.cc=cubic,mine:Mine", "--out", "kept"]
    environment = {**os.environ, "NO_COLOR": "1"}
    done = served.command(*swept, directory=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    assert run_program("report", str(tmp_path / "kept")).returncode == 0
    seen = _again(tmp_path / "kept/report.html")
    assert len(seen["labels"]) == 2
    assert "cubic" in seen["text"]


@pytest.mark.parametrize(
    "line",
    [
        "rate_pattern = 'mahimahi file {}'",
        'rate_pattern = """mahimahi file {}"""',
        'rate_pattern = "mahimahi  file {}"',
    ],
)
def test_a_report_opens_no_file_that_a_kept_scenario_names(line: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("1\n2\n3\n", encoding="utf-8")
    text = f"""
        duration = "1s"
        flow = [{{ cc = "cubic" }}]
        [path]
        {line.format(secret)}
        rtt = "10ms"
        buffer = "1bdp"
    """
    assert not runs_in_pages(text)
    assert runs_in_pages(text.replace(line.format(secret), 'rate = "5mbit"'))
