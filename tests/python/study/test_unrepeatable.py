"""Algorithms whose state lives on from run to run, or that read a clock: no door gives their results as facts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import fullpipe as fullpipe_package
from fullpipe.errors import UnrepeatableError
from fullpipe.runners import sim
from fullpipe.study import pool

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

# One algorithm each, whose window is a number of segments. A search of a second has far fewer than 997 runs, so the
# first one has another window when it runs again.
CLASS = """\
import fullpipe, itertools, time

{before}

class Mine:
    {inside}
    def __init__(self, config{argument}):
        self.smss = config.smss
        self.window = 8
        {begin}

    def on_ack(self, cx, ack):
        {ack}

    def decision(self):
        return fullpipe.Decision(cwnd=self.window * self.smss)
"""
LIVES_ON = {
    "a class attribute": {
        "inside": "count = 0",
        "begin": "Mine.count += 1; self.window = 2 + Mine.count % 997",
    },
    "a module variable": {
        "before": "counts = itertools.count()",
        "begin": "self.window = 2 + next(counts) % 997",
    },
    "a mutable default": {
        "argument": ", seen=[]",
        "begin": "seen.append(1); self.window = 2 + len(seen) % 997",
    },
    # The same in the first run again, unless others ran between.
    "the least RTT of all runs": {
        "before": "least = [1.0]",
        "ack": "least[0] = min(least[0], cx.conn.min_rtt); self.window = 2 + int(1e4 * least[0]) % 37",
    },
}
OF_TIME = {
    "the clock": {"ack": "self.window = 2 + time.perf_counter_ns() // 1000 % 20"},
    "random numbers": {"before": "import random", "ack": "self.window = random.randint(2, 20)"},
}
OUTLIVES = {
    "a class attribute": "Mine.count outlives the run",
    "a module variable": "counts of the module unrepeatable_mine outlives the run",
    "a mutable default": "a default of Mine.__init__ outlives the run",
    "the least RTT of all runs": "the first run has other results when it runs again at the end",
    "the clock": "something outlives the run, or a clock is read",
    "random numbers": "the generator of the module random outlives the run",
}
HONEST = {"ack": "self.window = 2 + int(1e4 * cx.conn.min_rtt) % 37"}
SCENARIO = """\
duration = "500ms"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cc = "unrepeatable_mine:Mine"
"""
CHECKED = 'expect = ["link.bottleneck.utilization > 0.1%"]\n' + SCENARIO
SUITE = '''\
title = "Rates"
holdout = 0
[[part]]
name = "alone"
cells = 8
scenario = """
duration = "500ms"
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
# Windows below the path's: the goodput shows each.
"path.rate" = "6mbit..8mbit"
"path.rtt" = "20ms..30ms"
[[part.metric]]
name = "goodput"
'''


def write(folder: Path, parts: dict[str, str]) -> None:
    usual = {"before": "", "inside": "pass", "argument": "", "begin": "pass", "ack": "pass"}
    (folder / "unrepeatable_mine.py").write_text(CLASS.format(**{**usual, **parts}))
    (folder / "base.toml").write_text(SCENARIO)
    (folder / "checked.toml").write_text(CHECKED)
    (folder / "suite.toml").write_text(SUITE)


SWEEP = ("sweep", "base.toml", "--set", "path.rtt=20ms,5ms,11ms", "--out", "swept")
DOORS = {
    "sweep": SWEEP,
    "compare": (
        *("compare", "cubic", "unrepeatable_mine:Mine", "--rate", "10mbit", "--duration", "1s"),
        *("--rtt", "20ms", "--repeat", "3", "--out", "compared"),
    ),
    "check": ("check", "checked.toml", "--repeat", "3"),
    "attack": (
        *(
            "attack",
            "search",
            "unrepeatable_mine:Mine",
            "--goal",
            "utilization",
            "--budget",
            "500ms",
        ),
        *("--random", "--worst", "1", "--out", "attacked"),
    ),
    "evaluate": (
        *("evaluate", "unrepeatable_mine:Mine", "--criterion", "full-backoff", "--quick"),
        *("--seeds", "3", "--out", "evaluated"),
    ),
    "check, one run": ("check", "checked.toml", "--repeat", "1"),
}


# The runs of most doors have the same path, and so the same least RTT.
TRIED = [
    (kind, door)
    for kind in (*LIVES_ON, *OF_TIME)
    for door in DOORS
    if kind != "the least RTT of all runs" or door == "sweep"
]


@pytest.mark.parametrize(("kind", "door"), TRIED)
def test_runs_that_depend_on_others_or_on_time_are_an_error(
    kind: str, door: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    write(tmp_path, {**LIVES_ON, **OF_TIME}[kind])
    done = fullpipe(*DOORS[door])
    assert done.returncode == 2, done.stdout
    assert "cc = unrepeatable_mine:Mine: " in done.stderr
    assert OUTLIVES[kind] in done.stderr
    assert "fix: keep all state in self" in done.stderr


@pytest.mark.parametrize("trace", ["off", "10ms"])
def test_the_first_run_runs_again_after_the_others(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rehearsal has few calls: state may show later, after runs of another point."""
    write(tmp_path, LIVES_ON["the least RTT of all runs"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "unrepeatable_mine", raising=False)
    for module in (pool, sim):
        monkeypatch.setattr(module, "rehearse", lambda _: None)
    with pytest.raises(UnrepeatableError, match="the first run has other results") as told:
        fullpipe_package.sweep(
            "base.toml", {"path.rtt": ["20ms", "5ms"]}, trace=trace, out=tmp_path / "swept"
        )
    if trace == "off":
        assert "least of the module unrepeatable_mine" not in str(told.value), "it left nothing new"
    assert not list((tmp_path / "swept").rglob("run*.parquet"))


@pytest.mark.parametrize("door", DOORS)
def test_an_honest_class_passes(door: str, fullpipe: Fullpipe, tmp_path: Path) -> None:
    write(tmp_path, HONEST)
    done = fullpipe(*DOORS[door])
    assert done.returncode == (1 if door == "evaluate" else 0), (
        done.stderr
    )  # its window is too simple
    assert "outlives" not in done.stderr
    assert "other results" not in done.stderr


def test_a_sweep_keeps_no_results_that_do_not_repeat(fullpipe: Fullpipe, tmp_path: Path) -> None:
    write(tmp_path, LIVES_ON["a class attribute"])
    assert fullpipe(*SWEEP).returncode == 2
    assert not list((tmp_path / "swept").rglob("run*.parquet"))
    again = fullpipe(*SWEEP)
    assert again.returncode == 2, "the same command does not take them from there"


def test_a_static_variable_of_a_library_is_an_error(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(SCENARIO.replace("unrepeatable_mine:Mine", "cubic"))
    (tmp_path / "counts.c").write_text(
        """
#include "fullpipe.h"
#include <stdlib.h>
static uint64_t count;
static void *create(const struct fullpipe_config *c) {
    uint64_t *window = malloc(sizeof *window);
    *window = (2 + ++count % 20) * c->smss;
    return window;
}
static void destroy(void *it) { free(it); }
static int32_t decision(void *it, struct fullpipe_decision *into) {
    into->cwnd = into->ssthresh = *(uint64_t *)it;
    return 0;
}
static int32_t on_ack(void *it, const struct fullpipe_context *cx, const struct fullpipe_ack *ack) {
    return FULLPIPE_SAME;
}
static const struct fullpipe_plugin table = {
    .version = FULLPIPE_VERSION, .name = FULLPIPE_TEXT("counts"), .purpose = FULLPIPE_TEXT("Counts"),
    .create = create, .destroy = destroy, .decision = decision, .on_ack = on_ack,
};
FULLPIPE_PLUGIN(table)
"""
    )
    header = fullpipe("plugin", "header").stdout.strip()
    made = ["cc", "-shared", "-fPIC", f"-I{header}", "-o", "libcounts.so", "counts.c"]
    subprocess.run(made, cwd=tmp_path, check=True)
    done = fullpipe(*SWEEP, "--set", "flow.0.cc=./libcounts.so")
    assert done.returncode == 2, done.stdout
    assert "cc = counts: the first run has other results" in done.stderr


def scored(fullpipe: Fullpipe, threads: int) -> dict[str, object]:
    words = ("unrepeatable_mine.py:Mine", "--suite", "suite.toml", "--json", "--uncontained")
    done = fullpipe("score", *words, "--cache", f"kept-{threads}", "--threads", str(threads))
    found: dict[str, object] = json.loads(done.stdout)["candidates"][0]
    return found


@pytest.mark.parametrize("kind", LIVES_ON)
def test_a_cell_of_a_score_begins_in_a_fresh_process(
    kind: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    write(tmp_path, LIVES_ON[kind])
    one, two = scored(fullpipe, 1), scored(fullpipe, 2)
    assert one["failed"] is None
    assert one["cells"] == 8
    assert one["score"] == two["score"]


@pytest.mark.parametrize("kind", OF_TIME)
def test_a_candidate_whose_cells_do_not_repeat_has_failed_and_keeps_nothing(
    kind: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    write(tmp_path, OF_TIME[kind])
    for _ in range(2):
        found = scored(fullpipe, 1)
        assert str(found["failed"]).startswith("its results don't repeat"), found
        assert found["cells"] == 0
    [kept] = (tmp_path / "kept-1").glob("*.jsonl")
    lines = [json.loads(line.partition(" ")[2]) for line in kept.read_text().splitlines() if line]
    assert all(values is None for key, _, values in lines if key == found["key"])
