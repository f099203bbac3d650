"""`--until`: repetitions are added until a rule holds at every point, or their number reaches a limit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import fullpipe as package
from fullpipe.stats import RuleError, enough

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

# One flow whose goodput varies with random loss: the more loss, the more it varies.
BASE = """\
# One lossy flow
duration = "2s"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
loss = "0.1%"
[[flow]]
cc = "cubic"
"""
POINTS = ("base.toml", "--set", "path.loss=0.01%,3%", "--out", "out", "--trace", "off")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.toml"
    path.write_text(BASE)
    return path


def goodputs(sweep: package.Sweep, point: int, repeat: int) -> list[float]:
    rows = sweep.frame().filter((pl.col("point") == point) & (pl.col("seed") <= repeat))
    return rows["goodput_bps"].to_list()


@pytest.mark.usefixtures("base")
def test_it_repeats_until_the_rule_holds_at_every_point(fullpipe: Fullpipe, tmp_path: Path) -> None:
    rule = "ci(goodput) < 4%"
    done = fullpipe("sweep", *POINTS, "--until", rule)
    assert done.returncode == 0, done.stderr
    sweep = package.Sweep(tmp_path / "out")
    last = len(sweep.seeds)
    assert 10 < last < 1000
    assert sweep.frame().shape[0] == sweep.about["runs"] == 2 * last, "every point has every seed"
    assert all(enough(goodputs(sweep, point, last), rule) for point in (0, 1))
    before = next(
        n for n in (10, 20, 30, 40, 50, 62, 77, 96, 120, 150, 187) if n + max(10, n // 4) >= last
    )
    assert enough(goodputs(sweep, 0, 10), rule)
    assert not enough(goodputs(sweep, 1, before), rule), "the last batch was necessary"
    assert f"{rule} holds with {last} repetitions; points needed 10 to {last}" in done.stdout
    again = fullpipe("sweep", *POINTS, "--until", rule)
    assert f"nothing to run; {2 * last} runs were already finished" in again.stdout
    assert f"points needed 10 to {last}" in again.stdout


@pytest.mark.usefixtures("base")
def test_with_most_it_ends_and_says_which_points_miss_the_rule(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    call = ("sweep", *POINTS, "--until", "ci(goodput) < 1%", "--repeat", "8", "--max-repeat", "13")
    done = fullpipe(*call)
    assert done.returncode == 1
    sweep = package.Sweep(tmp_path / "out")
    assert len(sweep.seeds) == 13
    (miss,) = sweep.misses("ci(goodput) < 1%")
    assert (miss.point, miss.flow) == (1, "cubic")
    assert miss.share is not None
    assert "ci(goodput) < 1% is missed at 1 of 2 points, with 13 repetitions" in done.stdout
    assert f"  point 1 (path.loss=3%): cubic ±{100 * miss.share:.2g} %" in done.stdout
    assert "the other points needed 10" in done.stdout
    quiet = fullpipe(*call, "--json")
    assert quiet.returncode == 1
    assert len(json.loads(quiet.stdout)) == 2
    assert "is missed at 1 of 2 points" in quiet.stderr


def test_it_goes_on_from_what_is_there_and_comes_to_the_same(base: Path, tmp_path: Path) -> None:
    axes = {"path.loss": ["0.01%", "3%"]}
    whole = package.sweep(base, axes, until="ci(goodput) < 4%", out=tmp_path / "whole", trace="off")
    package.sweep(
        base, axes, until="ci(goodput) < 4%", max_repeat=20, out=tmp_path / "out", trace="off"
    )
    assert package.Sweep(tmp_path / "out").seeds == [*range(1, 21)]
    shards = sorted((tmp_path / "out/runs").iterdir())
    shards[-1].unlink()  # as if it had been killed during its second batch
    parts = package.sweep(base, axes, until="ci(goodput) < 4%", out=tmp_path / "out", trace="off")
    assert parts.seeds == whole.seeds
    assert_frame_equal(parts.frame(), whole.frame())
    assert not parts.misses("ci(goodput) < 4%")
    more = package.sweep(base, axes, repeat=len(whole.seeds) + 1, out=tmp_path / "out", trace="off")
    assert len(more.seeds) == len(whole.seeds) + 1


def test_without_out_it_shares_the_directory_of_repeat(fullpipe: Fullpipe, base: Path) -> None:
    kept = [
        fullpipe("sweep", base.name, "--trace", "off", *how).stdout.splitlines()[-1]
        for how in (("--repeat", "10"), ("--until", "ci(goodput) < 50%"))
    ]
    assert kept[0] == kept[1]
    assert kept[0].startswith("kept in results/base-")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--until", "goodput < 2%"], "is not a rule fix: write it like"),
        (["--until", "ci(goodputt) < 2%"], "no metric 'goodputt' fix: did you mean goodput?"),
        (
            ["--until", "ci(goodput) < 2%", "--max-repeat", "9"],
            "less than the 10 that a rule needs fix: use --max-repeat 10",
        ),
        (
            ["--until", "ci(goodput) < 2%", "--repeat", "30", "--max-repeat", "20"],
            "--max-repeat 20 is less than the first batch of 30 fix: use --max-repeat 30",
        ),
        (["--max-repeat", "20"], "--max-repeat needs --until fix: add --until"),
        (
            [
                "--until",
                "ci(goodput) < 2%",
                *("--set", "start_jitter=0s", "--set", "send_jitter=0s", "--set", "path.loss=0%"),
            ],
            "every repetition would be the same run",
        ),
    ],
)
def test_what_can_not_be_met_is_refused_before_the_first_run(
    arguments: list[str], words: str, fullpipe: Fullpipe, base: Path, tmp_path: Path
) -> None:
    done = fullpipe("sweep", base.name, "--out", "out", *arguments)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("ci(utilization) < 2%", "did you mean link.bottleneck.utilization?"),
        ("ci(link.bottlenek.utilization) < 2%", "did you mean link.bottleneck.utilization?"),
        ("ci(completion_s) < 2%", "no run has a value of completion_s"),
    ],
)
def test_a_metric_that_the_runs_do_not_have_ends_it(
    rule: str, words: str, base: Path, tmp_path: Path
) -> None:
    with pytest.raises(RuleError, match=words):
        package.sweep(base, until=rule, out=tmp_path / "out")
    assert package.sweep(
        base, until="ci(link.bottleneck.utilization) < 20%", out=tmp_path / "out"
    ).seeds


def test_a_flow_without_a_value_in_some_run_misses_the_rule(
    fullpipe: Fullpipe, base: Path, tmp_path: Path
) -> None:
    text = (
        BASE.replace("[[flow]]", '[[flow]]\nname = "short"\nbytes = "SIZE"')
        + '[[flow]]\nname = "endless"\ncc = "cubic"\n'
    )
    base.write_text(text.replace("SIZE", "20kB"))
    easy = package.sweep(base, until="ci(completion) < 60%", out=tmp_path / "easy", trace="off")
    assert {*easy.frame().filter(flow="endless")["completion_s"]} == {None}, (
        "without this metric in any run, it can't miss the rule"
    )
    base.write_text(text.replace("SIZE", "1.4MB"))
    done = fullpipe(
        "sweep", base.name, "--until", "ci(completion) < 60%", "--max-repeat", "10", "--out", "out"
    )
    assert done.returncode == 1
    assert "point 0: short no value in some run" in done.stdout
