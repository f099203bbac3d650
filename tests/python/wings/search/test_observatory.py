"""The observatory: its cells, its values against runs of their own, and its site in headless Chromium."""

from __future__ import annotations

import json
import math
import shutil
import signal
import subprocess
import sys
import time
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import fullpipe
import served
from browser import WEB, browser, built_engine
from fullpipe._core import Scenario
from fullpipe.results.rows import rows_of
from fullpipe.study.question import Contender, Question
from fullpipe.wings.search.observatory import plan

if TYPE_CHECKING:
    from pathlib import Path

ALGORITHMS = ["cubic", "newreno"]
FAMILIES = ["alone", "with-another", "short"]


def make(out: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs the program as the Makefile does."""
    command = [sys.executable, "-m", "fullpipe.wings.search.observatory", str(out), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small observatory of three families."""
    built_engine()
    out = tmp_path_factory.mktemp("observatory") / "first"
    done = make(out, "--small", "--cc", ",".join(ALGORITHMS), "--family", ",".join(FAMILIES))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(out / "site/index.html"))
    return out


def values(out: Path) -> pl.DataFrame:
    [file] = out.glob("values-*.parquet")
    return pl.read_parquet(file)


def test_json_has_the_values_of_the_file(made: Path) -> None:
    words = ("--small", "--cc", ",".join(ALGORITHMS), "--family", ",".join(FAMILIES), "--json")
    done = make(made, *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == values(made).to_dicts()


def test_it_has_some_600_cells_and_every_algorithm() -> None:
    assert 580 <= sum(len(each.cells) for each in plan.families()) <= 620
    listed = served.command("list", "algorithms")
    assert plan.algorithms() == [line.split()[0] for line in listed.stdout.splitlines()]


@pytest.mark.parametrize("family", plan.families(), ids=lambda each: each.name)
def test_the_text_of_a_cell_is_the_scenario_that_is_run(family: Question) -> None:
    runs = family.runs([Contender(each) for each in ALGORITHMS])
    spec = family.spec(runs, range(1, 4))
    texts = [family.text(family.cells[cell], each.name) for cell, each in runs]
    alone = [Scenario.parse(f"seed = 1\n{text}", family.name, []).to_toml() for text in texts]
    assert list(spec.scenarios()) == alone
    # Seeds differ by the scenario's own jitter: the sweep adds none.
    assert spec.plan.added_jitter == []
    assert len(set(alone)) == len(alone)


def test_small_keeps_the_ends_of_each_axis() -> None:
    for whole, small in zip(plan.families(), plan.families(small=True), strict=True):
        for axis, kept in small.axes.items():
            every = whole.axes[axis]
            assert list(kept) == ([every[0], every[-1]] if len(every) > 1 else list(every))


def test_a_value_is_that_of_a_run_of_its_own(made: Path) -> None:
    families = {each.name: each for each in plan.families(small=True)}
    seen = values(made)
    for name, metric, column in (
        ("alone", "utilization", "link.bottleneck.utilization"),
        ("alone", "queue_delay.p95", "queue_delay_s.p95"),
        ("with-another", "max_min_share", "max_min_share"),
        ("short", "completion", "completion_s"),
    ):
        family = families[name]
        run = fullpipe.run(f"seed = 2\n{family.text(family.cells[1], 'cubic')}")
        [value] = seen.filter(family=name, cell=1, algorithm="cubic", metric=metric, seed=2)[
            "value"
        ]
        assert value == rows_of(run.metrics)[column][0]


def test_harm_is_the_loss_of_the_other_flow_against_its_own_kind(made: Path) -> None:
    family = next(each for each in plan.families(small=True) if each.name == "with-another")
    number = next(at for at, cell in enumerate(family.cells) if cell["neighbor"] == "newreno")
    goodput = {}
    for algorithm in ALGORITHMS:
        run = fullpipe.run(f"seed = 3\n{family.text(family.cells[number], algorithm)}")
        goodput[algorithm] = next(
            flow["goodput_bps"] for flow in run.metrics["flows"] if flow["name"] == "other"
        )
    harm = values(made).filter(family="with-another", cell=number, metric="harm", seed=3)
    by_algorithm = dict(zip(harm["algorithm"], harm["value"], strict=True))
    assert by_algorithm["newreno"] == 0
    assert math.isclose(by_algorithm["cubic"], 1 - goodput["cubic"] / goodput["newreno"])


def test_the_same_command_repeats_no_run(made: Path) -> None:
    shards = {file: file.stat().st_mtime_ns for file in made.glob("sweeps/*/runs/*")}
    before = values(made)
    assert shards
    done = make(made, "--small", "--cc", ",".join(ALGORITHMS), "--family", ",".join(FAMILIES))
    assert done.returncode == 0, done.stderr
    assert {file: file.stat().st_mtime_ns for file in made.glob("sweeps/*/runs/*")} == shards
    assert values(made).equals(before)


@pytest.fixture(scope="module")
def changed(made: Path) -> Path:
    """An observatory that is compared with an earlier one, which had 10 % more at one place and no other change."""
    earlier, later = made.with_name("earlier"), made.with_name("later")
    earlier.mkdir()
    place = (
        (pl.col("family") == "alone")
        & (pl.col("metric") == "utilization")
        & (pl.col("cell") == 2)
        & (pl.col("algorithm") == "cubic")
    )
    more = pl.col("value") * (1.1 + pl.col("seed") / 1e4)
    values(made).with_columns(
        pl.when(place).then(more).otherwise(pl.col("value")).alias("value")
    ).write_parquet(earlier / "values.parquet")
    shutil.copytree(made, later)
    done = make(
        later,
        *("--small", "--cc", ",".join(ALGORITHMS), "--family", ",".join(FAMILIES)),
        *("--against", str(earlier)),
    )
    assert done.returncode == 0, done.stderr
    return later


@pytest.fixture(scope="module")
def seen(changed: Path) -> dict[str, Any]:
    """Observations on the site in a browser; see web/observatory.mjs."""
    index = changed / "site/index.html"
    command = ["node", str(WEB / "observatory.mjs"), browser(), str(index), str(changed / "look")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_site_works_from_a_disk(seen: dict[str, Any], made: Path) -> None:
    assert seen["errors"] == []
    assert set(seen["requests"]) == {"file"}
    assert seen["families"] == ["Alone", "With another algorithm", "Short transfers"]
    assert seen["heads"] == ["rate", "rtt", "buffer", *ALGORITHMS]
    assert (seen["rows"], seen["filtered"]) == (8, 4)
    assert seen["cell"] == "cubic: rate 5mbit, rtt 10ms, buffer 8bdp"
    assert seen["right"] == "newreno: rate 5mbit, rtt 10ms, buffer 8bdp"
    assert seen["points"] == len(ALGORITHMS) * plan.SMALL_SEEDS
    assert seen["caption"] == "Alone: p95 queueing delay, ms"
    mine = values(made).filter(family="alone", cell=1, algorithm="cubic", metric="utilization")
    assert seen["numbers"][:2] == ["utilization", f"{fmean(mine['value']) * 100:.3g} %"]


def test_an_address_opens_the_place_on_a_small_screen(seen: dict[str, Any]) -> None:
    assert seen["address"] == "#alone:0:1:1"
    assert seen["again"] == seen["right"]
    assert seen["overflow"] == 0
    assert seen["unnamed"] == 0


def test_a_cell_opens_its_run_in_the_explorer(seen: dict[str, Any]) -> None:
    family = plan.families(small=True)[0]
    assert seen["text"] == f"seed = 1\n{family.text(family.cells[1], 'cubic')}"
    assert seen["explored"] == f"seed = 1\n{family.text(family.cells[1], 'newreno')}"
    interval = seen["command"].partition("--trace ")[2].split()[0]
    assert seen["hash"] == fullpipe.run(seen["explored"], trace=interval).trace_hash


def test_only_a_real_change_is_colored(seen: dict[str, Any]) -> None:
    assert seen["certain"] == 1
    assert sum(each != "0" for each in seen["changes"]) == 1
    assert seen["changes"][2 * len(ALGORITHMS)].startswith("−")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--cc", "cubik"), "--cc cubik: no such name\n  fix: write some of "),
        (("--family", "nothing"), "--family nothing: no such name\n  fix: write some of alone, "),
        (("--repeat", "0"), "--repeat 0: too small\n  fix: "),
        (("--against", "nowhere"), "--against nowhere: no values-….parquet is there\n  fix: "),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, args: tuple[str, ...], said: str) -> None:
    done = make(tmp_path / "out", "--small", *args)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_damaged_values_are_an_error_and_made_again(made: Path, tmp_path: Path) -> None:
    """An observatory of before checksums is read as it is; damage of it can't be noticed."""
    small = ("--small", "--cc", ",".join(ALGORITHMS), "--family", ",".join(FAMILIES))
    again, before = tmp_path / "again", tmp_path / "before"
    shutil.copytree(made, again)
    [file] = again.glob("values-*.parquet")
    whole = file.read_bytes()
    content = bytearray(whole)
    content[len(content) // 3] ^= 4
    file.write_bytes(content)
    refused = make(tmp_path / "after", *small, "--against", str(again))
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"error: {file}: damaged: its checksum is another\n  fix: ")
    assert not (tmp_path / "after").exists()
    before.mkdir()
    (before / "values.parquet").write_bytes(whole)
    done = make(again, *small, "--against", str(before))
    assert done.returncode == 0, done.stderr
    assert [each.read_bytes() for each in again.glob("values*")] == [whole]


@pytest.mark.parametrize("seen", [".lock", "sweeps/*/runs/*.parquet", "site/cells/*"])
def test_ctrl_c_ends_it_with_a_line(made: Path, tmp_path: Path, seen: str) -> None:
    """It is interrupted before its first run, between runs, and while it writes the site."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "fullpipe.wings.search.observatory", str(out), "--small"]
    if seen.startswith("site"):
        shutil.copytree(made / "sweeps", out / "sweeps")
        command += ["--cc", ",".join(ALGORITHMS), "--family", ",".join(FAMILIES)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not list(out.glob(seen)) and process.poll() is None:
            time.sleep(0.002)
        if seen == ".lock":
            second = make(out, "--small")
            assert second.returncode == 2
            assert f"error: {out}: another process is adding to it; wait" in second.stderr
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)[1]
    assert process.returncode == 130
    assert [each for each in said.splitlines() if each.startswith("interrupted ")]
    assert "Traceback" not in said


def test_another_plan_does_not_take_the_runs_of_this_one(made: Path) -> None:
    done = make(made, "--small", "--cc", "cubic", "--family", "alone")
    assert done.returncode == 2
    assert "a sweep of a different scenario or different points" in done.stderr
