"""`fullpipe score`: the suite's data, points by hand, kept cells, budgets, races, and errors with their fixes."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fullpipe as package
from fullpipe.stats.strata import strata
from fullpipe.wings.search.score import process, race
from fullpipe.wings.search.score.points import term
from fullpipe.wings.search.score.suite import Metric, suite

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conftest import Fullpipe

SUITE = '''\
title = "Two kinds"

[[part]]
name = "alone"
cells = 6
scenario = """
duration = "3s"
measure_from = "0s"
[path]
rate = "5mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
name = "tested"
cc = "{cc}"
"""
[part.prior]
"path.rate" = "2mbit..8mbit log"
"path.buffer" = ["1bdp", "4bdp"]
[[part.metric]]
name = "goodput"
[[part.metric]]
name = "rtt.mean"
weight = 3

[[part]]
name = "transfer"
cells = 4
weight = 10
scenario = """
duration = "5s"
measure_from = "0s"
[path]
rate = "5mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
name = "tested"
cc = "{cc}"
bytes = "200kB"
"""
[part.prior]
"path.rtt" = "10ms..80ms"
[[part.metric]]
name = "completion"
'''


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the suite, and a cache and a state of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "mine.toml").write_text(SUITE)
    return tmp_path


BY_CHANCE = (0, 1)
"""The exit codes where a hold-out is drawn: it raises the alarm by chance in 2 % of cases."""


def scored(fullpipe: Fullpipe, *args: str, codes: Sequence[int] = (0,)) -> dict[str, Any]:
    done = fullpipe("score", *args, "--suite", "mine.toml", "--json")
    assert done.returncode in codes, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.usefixtures("place")
def test_a_cache_that_can_t_be_made_has_its_option(
    fullpipe: Fullpipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    words = ("score", "cubic", "--suite", "mine.toml", "--no-holdout")
    done = fullpipe(*words)
    assert done.returncode == 2
    assert "fix: name another directory with --cache" in done.stderr
    assert fullpipe(*words, "--cache", "here").returncode == 0


def test_the_general_suite_has_200_cells_with_their_parts_mixed() -> None:
    general = suite("general")
    cells = general.cells()
    assert len(cells) == 200
    assert len({cell.key for cell in cells}) == 200
    for number, part in enumerate(general.parts):
        early = sum(cell.part == number for cell in cells[:50])
        assert abs(early - part.cells / 4) <= 1
    assert [cell.key for cell in cells] == [cell.key for cell in general.cells()]
    assert not {cell.key for cell in cells} & {cell.key for cell in general.cells(seed=2)}


def test_points_by_hand() -> None:
    goodput = Metric("goodput", "goodput_bps", 1, "tested", 1, "ratio", 1)
    rtt = Metric("rtt.mean", "rtt_s.mean", -1, "tested", 1, "ratio", 1)
    loss = Metric("loss", "loss_fraction", -1, "tested", 1, "difference", 0.02)
    assert term(goodput, 8e6, 4e6, 4) == 1
    assert term(rtt, 0.1, 0.05, 4) == -1
    assert term(loss, 0.01, 0.03, 4) == pytest.approx(1)
    assert term(goodput, 1, 4e6, 4) == -4, "clipped"
    assert term(goodput, None, 4e6, 4) == -4, "without a value"
    assert term(goodput, 4e6, None, 4) == 4
    assert term(goodput, None, None, 4) == 0
    assert term(goodput, 0.0, 4e6, 4) == -4
    assert term(rtt, 0.0, 0.0, 4) == 0


def test_the_mean_over_strata_by_hand() -> None:
    found = strata({0: [1.0, 3.0], 1: [10.0, 10.0, 13.0]}, {0: 1, 1: 3})
    assert found.mean == pytest.approx((2 + 3 * 11) / 4)
    terms = [(1 / 16) * 2 / 2, (9 / 16) * 3 / 3]
    assert found.error == pytest.approx(math.sqrt(sum(terms)))
    assert found.freedom == pytest.approx(sum(terms) ** 2 / (terms[0] ** 2 / 1 + terms[1] ** 2 / 2))
    assert strata({0: [1.0, 3.0], 1: []}, {0: 1, 1: 3}).mean == 2


def test_the_baseline_has_no_points_and_a_score_no_unit(fullpipe: Fullpipe, place: Path) -> None:
    [entry] = scored(fullpipe, "cubic", "--no-holdout")["candidates"]
    assert entry["score"] == 0
    assert entry["interval"] == [0, 0]
    text = (place / "mine.toml").read_text()
    (place / "mine.toml").write_text(text.replace("5mbit", "5000kbit"))
    first = scored(fullpipe, "newreno", "--no-holdout")["candidates"][0]
    assert first["cells"] == 10
    assert set(first["parts"]) == {"alone", "transfer"}
    weighted = (
        6 * first["parts"]["alone"]["score"] + 10 * first["parts"]["transfer"]["score"]
    ) / 16
    assert first["score"] == pytest.approx(weighted)
    low, high = first["interval"]
    assert low < first["score"] < high


def test_the_points_are_those_of_runs_of_the_same_scenario(fullpipe: Fullpipe, place: Path) -> None:
    """A cell's value is that of `fullpipe sweep` with the cell's settings."""
    entry = scored(fullpipe, "vivace", "--no-holdout")["candidates"][0]
    lines = [
        json.loads(line.partition(" ")[2])
        for line in next((place / "cache").rglob("*.jsonl")).read_text().splitlines()
    ]
    mine = suite("mine.toml")
    cell = next(each for each in mine.cells() if each.part == 0)
    [values] = [values for key, of, values in lines if key == entry["key"] and of == cell.key]
    swept = package.sweep(
        mine.parts[0].scenario.replace("{cc}", "vivace"),
        set=dict(cell.settings),
        repeat=2,
        seed=cell.seed,
    )
    row = swept.flows.filter(swept.flows["seed"] == cell.seed)
    assert values["tested goodput_bps"] == row["goodput_bps"][0]
    assert values["tested rtt_s.mean"] == row["rtt_s.mean"][0]


def test_the_same_candidate_under_two_names_has_two_rows_and_runs_once(
    fullpipe: Fullpipe, place: Path
) -> None:
    names = ("one", "two", "three")
    lines = (json.dumps({"candidate": "bbr3", "name": name}) for name in names)
    (place / "same.jsonl").write_text("\n".join(lines))
    found = scored(fullpipe, "--candidates", "same.jsonl", "--no-holdout")
    assert [each["name"] for each in found["candidates"]] == list(names)
    assert len({each["score"] for each in found["candidates"]}) == 1
    assert found["runs"] == 20, "the candidate and the baseline"
    words = ["score", "--candidates", "same.jsonl", "--suite", "mine.toml", "--no-holdout"]
    said = fullpipe(*words).stdout
    assert "3 candidates: 3 remained" in said
    assert all(f"\n  {name}  " in said for name in names[1:])


def test_finished_cells_are_kept_by_content(fullpipe: Fullpipe, place: Path) -> None:
    first = scored(fullpipe, "bbr3", "--no-holdout")
    assert first["runs"] == 20, "the candidate and the baseline"
    again = scored(fullpipe, "bbr3", "--no-holdout")
    assert again["runs"] == 0
    assert again["candidates"] == first["candidates"]
    assert scored(fullpipe, "bbr3", "--set", "beta=0.8", "--no-holdout")["runs"] == 10
    [file] = (place / "cache").rglob("*.jsonl")
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:-1], lines[-1].replace("goodput", "badput"), "torn"]))
    assert scored(fullpipe, "bbr3", "--set", "beta=0.8", "--no-holdout")["runs"] <= 1, (
        "a damaged line"
    )


def test_a_budget_ends_it_and_the_same_command_resumes(fullpipe: Fullpipe, place: Path) -> None:
    # Minutes of processor time, however fast the machine is: the budget ends it.
    text = SUITE.replace("cells = 6", "cells = 400").replace('"3s"', '"120s"')
    text = text.replace("2mbit..8mbit", "20mbit..80mbit")
    (place / "mine.toml").write_text(text)
    first = scored(fullpipe, "bbr3", "--no-holdout", "--budget", "3s")
    assert not first["complete"]
    assert 0 < first["runs"] < 808
    entry = first["candidates"][0]
    assert 0 < entry["cells"] < 404
    second = scored(fullpipe, "bbr3", "--no-holdout", "--budget", "3s")
    assert second["candidates"][0]["cells"] > entry["cells"]


def test_parameters_race_and_those_that_can_not_win_stop(fullpipe: Fullpipe, place: Path) -> None:
    (place / "mine.toml").write_text(SUITE.replace("cells = 6", "cells = 60"))
    sets = [
        {"candidate": "newreno", "name": "reno"},
        {"candidate": "bbr3", "params": {"cwnd_gain": 2.0}},
        {"candidate": "bbr3", "params": {"startup_pacing_gain": 1.0, "up_pacing_gain": 1.0}},
    ]
    (place / "sets.jsonl").write_text("\n".join(map(json.dumps, sets)))
    found = scored(fullpipe, "--candidates", "sets.jsonl", "cubic", "--no-holdout")
    assert len(found["candidates"]) == 4
    ended = [each for each in found["candidates"] if each["stopped"] is None]
    stopped = [each for each in found["candidates"] if each["stopped"]]
    assert ended[0]["cells"] == 64
    assert stopped
    assert all(each["cells"] == each["stopped"] for each in stopped)
    assert found["candidates"][0]["score"] == max(each["score"] for each in ended)


def test_a_race_of_one_stage_stops_nobody() -> None:
    points = np.array([[1.0, 1, 1], [0, 0, 0]])
    assert not race.raced(points, [3])[0] < 3


def test_the_hold_out_is_secret_and_renewed(fullpipe: Fullpipe, place: Path) -> None:
    (place / "mine.toml").write_text(SUITE.replace("title =", "renew = 2\ntitle ="))
    folder = place / "state/fullpipe/score"

    def secret() -> str:
        [file] = folder.glob("*.json")
        assert file.stat().st_mode & 0o777 == 0o600
        found: str = json.loads(file.read_text())["secret"]
        return found

    first = scored(fullpipe, "newreno", codes=BY_CHANCE)["holdout"]
    assert first["use"] == 1
    assert not {"score", "scenarios"} & set(first)
    before = secret()
    assert scored(fullpipe, "bbr3", codes=BY_CHANCE)["holdout"]["use"] == 2
    assert secret() == before
    again = scored(fullpipe, "bbr3", codes=BY_CHANCE)["holdout"]
    assert again["use"] == 1, "two uses were stated"
    renewed = secret()
    assert renewed != before
    shown = scored(fullpipe, "newreno", "--reveal", codes=BY_CHANCE)["holdout"]
    assert len(shown["scenarios"]) == shown["cells"]
    assert {"part", "seed"} < set(shown["scenarios"][0])
    assert secret() != renewed, "printed scenarios are no secret any more"


FITTED = """\
import fullpipe

SEEN = {seen}


class Fitted:
    \"\"\"Sends a BDP on the RTTs that it knows, and four packets elsewhere.\"\"\"

    def __init__(self, config):
        self.mss = config.smss
        self.cwnd = 4 * self.mss

    def on_ack(self, cx, ack):
        near = min(SEEN, key=lambda each: abs(each[0] - (cx.conn.min_rtt or 0)))
        known = abs(near[0] - (cx.conn.min_rtt or 0)) < 1e-3
        self.cwnd = near[1] + 2 * self.mss if known else 4 * self.mss

    def decision(self):
        return fullpipe.Decision(cwnd=self.cwnd, ssthresh=self.cwnd)
"""


def test_a_candidate_that_knows_the_shown_cells_raises_the_alarm(
    fullpipe: Fullpipe, place: Path
) -> None:
    """One that acts alike on all cells does not; `benches/score.py` measures both on many suites."""
    only = SUITE.partition('[[part]]\nname = "transfer"')[0]
    text = only.replace("cells = 6", "cells = 20").replace("weight = 3", "weight = 1")
    text = text.replace("title =", "holdout = 2\ntitle =")
    # Without jitter of its own, a run gets one of a packet's time, which would hide the RTT.
    text = text.replace("[path]", 'send_jitter = "10us"\n[path]', 1)
    text = text.replace('"path.buffer" =', '"path.rtt" = "10ms..200ms"\n"path.buffer" =')
    (place / "mine.toml").write_text(text)
    seen = []
    for cell in suite("mine.toml").cells():
        keys = dict(cell.settings)
        rate = 1e6 * float(keys["path.rate"].removesuffix("mbit"))
        rtt = float(keys["path.rtt"].removesuffix("ms")) / 1e3
        seen.append((rtt + 80 * 8 / rate, int(rate * rtt / 8)))  # the RTT of the handshake
    # Each with another secret, as --reveal ends one.
    honest = (scored(fullpipe, "newreno", "--reveal", codes=BY_CHANCE) for _ in range(3))
    assert not all(each["holdout"]["alarm"] for each in honest)
    for contained in ((), ("--uncontained",)):
        if not contained and process.refused():
            continue
        (place / "fitted.py").write_text(FITTED.format(seen=seen))
        found = scored(fullpipe, "fitted.py:Fitted", *contained, codes=(1,))
        assert found["holdout"]["alarm"]
        assert found["candidates"][0]["score"] > 0


@pytest.mark.parametrize("shape", ["normal", "skewed", "shared"])
def test_the_best_of_equal_candidates_stops_as_rarely_as_stated(shape: str) -> None:
    """500 races of 20 equal candidates over 200 cells: each is a best one, and the first stands for all."""
    random = np.random.default_rng(7)
    ends = race.stages(200)
    mistakes = 0
    for _ in range(500):
        points = random.normal(size=(20, 200))
        if shape == "skewed":
            points = np.exp(1.2 * points)
        if (
            shape == "shared"
        ):  # cells that are hard for all, and candidates that resemble each other
            points = 0.2 * points + random.normal(size=200) * 2
        mistakes += race.raced(points, ends)[0] < 200
    # A share of 5 % has 25 mistakes in the mean; 38 or more in 0.5 % of such tests.
    assert mistakes < 38


def test_a_race_finds_a_clear_winner_early() -> None:
    random = np.random.default_rng(3)
    points = random.normal(size=(50, 200)) + random.normal(size=200) * 2
    points[17] += 1.5
    stop = race.raced(points, race.stages(200))
    assert stop[17] == 200
    assert np.median(np.delete(stop, 17)) <= 48


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no candidate\n  fix: name one"),
        (["bbr"], "bbr: not a candidate\n  fix: did you mean bbr1 or bbr2 or bbr3?"),
        (["gone.py:Mine"], "gone.py: no such file\n  fix: name a Python file"),
        (["other.py"], "other.py: a file, and its class is missing\n  fix: write other.py:One"),
        (["other.py:Two"], "other.py: has no class Two\n  fix: write other.py:One"),
        (["broken.py:Mine"], "broken.py: SyntaxError: invalid syntax, line 2\n  fix: correct it"),
        (["empty.py:Mine"], "empty.py: has no class Mine\n  fix: define Mine"),
        (["other:One"], "other:One: a class to import"),
        (["bbr3", "--set", "beat=0.8"], "bbr3 has no parameter"),
        (["bbr3", "--set", "beta=8"], "beta can't be 8"),
        (["bbr3", "--budget", "soon"], "--budget"),
        (["bbr3", "--alpha", "2"], "not a probability"),
        (["--candidates", "wrong.jsonl"], "wrong.jsonl:2: params: not a table"),
        (["bbr3", "--suite", "gone"], "--suite gone: no such suite or file\n  fix: write general"),
    ],
)
def test_errors_name_the_value_and_the_fix(
    fullpipe: Fullpipe, place: Path, words: list[str], said: str
) -> None:
    (place / "other.py").write_text("class One:\n    pass\n")
    (place / "broken.py").write_text("import os\ndef (\n")
    (place / "empty.py").write_text("while 1: pass\n")
    (place / "wrong.jsonl").write_text(
        '{"candidate": "bbr3"}\n{"candidate": "bbr3", "params": 3}\n'
    )
    suite_given = () if "--suite" in words else ("--suite", "mine.toml")
    done = fullpipe("score", *words, *suite_given)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "goodput"', 'name = "goodputt"', "part[0].metric[0].name"),
        ('name = "goodput"', 'name = "sent"', "has no better side"),
        ("weight = 3", 'weight = 3\ntransform = "difference"', "part[0].metric[1].scale"),
        ('cc = "{cc}"', 'cc = "cubic"', "has no {cc}"),
        ("cells = 6", "cells = 0", "part[0].cells = 0"),
        ("weight = 10", "heft = 10", "part[1].heft: unknown key"),
        ('name = "transfer"', 'name = "alone"', "the name of two parts"),
        ('"path.rate" = "2mbit..8mbit log"', '"path.rat" = "2mbit..8mbit"', "path.rat"),
    ],
)
def test_errors_of_a_suite_name_the_key(
    fullpipe: Fullpipe, place: Path, old: str, new: str, said: str
) -> None:
    (place / "mine.toml").write_text(SUITE.replace(old, new))
    done = fullpipe("score", "cubic", "--suite", "mine.toml")
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "fix:" in done.stderr


def test_the_terminal_has_the_score_the_parts_and_the_answer_of_the_hold_out(
    fullpipe: Fullpipe, place: Path
) -> None:
    done = fullpipe("score", "newreno", "bbr3", "--suite", "mine.toml", "--threads", "1")
    assert done.returncode in BY_CHANCE, done.stderr
    for words in (
        "Two kinds",
        "10 cells",
        "alone",
        "transfer",
        "goodput",
        "no alarm" if done.returncode == 0 else "hold-out: alarm",
        "Use 1 of 100",
    ):
        assert words in done.stdout
    assert "path.rate=" not in done.stdout, "the hold-out is not printed"
    assert list((place / "state/fullpipe/score").iterdir())
