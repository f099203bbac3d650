"""`[runs.*]` and `[[claim]]`: parsing, errors, verdicts, and the output of the command."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

from fullpipe.study.checkpoint import Checkpoint
from fullpipe.study.engine import Engine
from fullpipe.study.repeated import Setup
from fullpipe.study.reproduce import published
from fullpipe.study.reproduce.claims import judge
from fullpipe.study.reproduce.groups import Point
from fullpipe.study.reproduce.pictures import DRAWINGS
from fullpipe.study.reproduce.pictures.draw import draw
from fullpipe.study.reproduce.runner import Again, Sample, Stored, sample
from fullpipe.study.reproduce.study import study
from fullpipe.study.verdicts.estimate import paired_ratio
from fullpipe.study.verdicts.judged import Verdict
from fullpipe.study.verdicts.reader import PublishedError
from hand_made import run_of

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe
    from fullpipe.base.metrics import Metrics
    from fullpipe.run import Run
    from fullpipe.study.reproduce.claims import Claim
    from fullpipe.study.verdicts.judged import Judged

GOOD = """\
name = "small"
title = "Two claims"
source = "none"
seeds = 2
[runs.reno]
trace = "10ms"
[runs.reno.scenario]
duration = "2s"
send_jitter = "1ms"
path = { rate = "10mbit", rtt = "20ms", buffer = "1bdp" }
flow = [{ cc = "newreno" }]
[runs.buffers]
like = "reno"
sweep = { "path.buffer" = ["1bdp", "4bdp"] }
[runs.cubic]
like = "buffers"
set = { "flow.0.cc" = "cubic" }
[[claim]]
case = "A1"
metric = "goodput, Mbit/s"
published = 9
measure = "goodput_mbps"
of = ["reno"]
within = [8, 10]
why = "the link has 10"
[[claim]]
case = "A2"
metric = "median queueing delay, RTTmin"
published = "more in larger buffers"
measure = "queue_p50_rttmin"
compare = "rise"
of = ["buffers"]
within = [0, inf]
why = "said so"
[[claim]]
case = "B1"
metric = "CUBIC's goodput over NewReno's"
published = "much the same"
measure = "goodput_mbps"
compare = "ratio"
of = ["cubic", "buffers: 1bdp"]
within = [0.9, 1.1]
why = "a guess"
[[claim]]
case = "B2"
metric = "share of what all got in its first 5 s"
published = "(figure)"
measure = "early_share"
of = ["cubic: 4*"]
report = "no number is published"
why = "a guess"
[[picture]]
case = "B2"
file = "queues"
title = "Queues"
draw = "queue_over_time"
of = ["cubic"]
[[picture]]
case = "B2"
file = "buffers"
title = "Buffers"
draw = "sweep"
of = ["cubic", "buffers"]
measure = "queue_p50_rttmin"
"""


def _load(tmp_path: Path, text: str) -> published.Published:
    file = tmp_path / "small.toml"
    file.write_text(text, encoding="utf-8")
    return published.load(file)


def test_groups_and_claims_are_read(tmp_path: Path) -> None:
    first, rise, ratio, above = _load(tmp_path, GOOD).claims
    assert (first.case, first.published, first.within, first.over, first.compare) == (
        "A1",
        9,
        (8, 10),
        "mean",
        None,
    )
    assert [point.label for point in rise.points] == ["1bdp", "4bdp"]
    assert [len(points) for points in ratio.of] == [2, 1]
    (point,) = above.points
    assert (point.name, point.seeds, point.setup.trace) == ("cubic 4bdp", 2, "10ms")
    assert point.setup.scenario(3).flows == [("cubic", "cubic")]
    assert above.within == (-math.inf, math.inf)


def test_a_group_may_be_a_file_seen_from_the_published_one(tmp_path: Path) -> None:
    (tmp_path / "reno.toml").write_text(
        'duration = "1s"\n[path]\nrate = "10mbit"\nrtt = "20ms"\nbuffer = "9packets"\n[[flow]]\ncc = "newreno"\n'
    )
    start, end = GOOD.index("[runs.reno.scenario]"), GOOD.index("[runs.buffers]")
    text = GOOD[:start] + 'scenario = "reno.toml"\n' + GOOD[end:]
    claim = _load(tmp_path, text).claims[0]
    assert claim.points[0].setup.scenario(1).duration_s == 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "small"\n', "", ["name: is missing"]),
        (
            "[runs.cubic]",
            "[runs.cubik]",
            ['claim[2].of = "cubic": is not a group', "fix: use one of reno, buffers"],
        ),
        (
            'like = "reno"',
            'like = "none"',
            ['runs.buffers.like = "none": is not another group', "fix: use one of reno"],
        ),
        (
            'like = "reno"',
            'like = "buffers"',
            ['runs.buffers.like = "buffers": is not another group'],
        ),
        ('like = "reno"', 'like = "cubic"', ["runs.cubic", "is not another group"]),
        (
            "sweep = {",
            "swep = {",
            ["runs.buffers.swep: unknown key", "fix: use one of like, scenario"],
        ),
        (
            '["1bdp", "4bdp"]',
            "[]",
            ["runs.buffers.sweep.path.buffer = []", "is not a list of values"],
        ),
        ('["1bdp", "4bdp"]', '["1bdp", "1bdp"]', ['runs.buffers.sweep = "1bdp": occurs twice']),
        (
            '"4bdp"]',
            '"4bdp"], "path.rtt" = ["1ms"]',
            ["runs.buffers.sweep: the lists have different lengths (2, 1)"],
        ),
        (
            "[runs.reno.scenario]",
            "[runs.reno.scenarios]",
            ["runs.reno.scenarios: unknown key"],
        ),
        ("seeds = 2\n[runs.reno]", "[runs.reno]\nseeds = 0", ["runs.reno.seeds = 0"]),
        (
            'measure = "goodput_mbps"',
            'measure = "goodput"',
            ['claim[0].measure = "goodput": is unknown', "use one of"],
        ),
        (
            'trace = "10ms"\n',
            "",
            ["claim[3].measure", "needs a trace of cubic", 'add trace = "10ms" to [runs.cubic]'],
        ),
        (
            'of = ["reno"]',
            'of = ["reno", "cubic"]',
            [
                "claim[0].of",
                "has 2 groups",
                "two for ratio, paired_ratio, difference, wins, superiority, mann_whitney",
            ],
        ),
        ('of = ["reno"]', 'of = ["reno: 8bdp"]', ["claim[0].of", "'8bdp' matches no point"]),
        (
            'of = ["buffers"]',
            'of = ["reno"]',
            ["claim[1].of", "has a single point", "fix: name a group with a sweep"],
        ),
        ('compare = "rise"', 'compare = "rises"', ['claim[1].compare = "rises": is unknown']),
        ("within = [8, 10]\n", "", ["claim[0].within: is missing", "fix: write [least, greatest]"]),
        ("within = [8, 10]", "within = [10, 8]", ["claim[0].within = [10, 8]: is not an interval"]),
        ('why = "the link has 10"\n', "", ["claim[0].why: is missing"]),
        (
            'of = ["reno"]\n',
            'of = ["reno"]\nflow = 2\n',
            ["claim[0].flow = 2: reno has no such flow"],
        ),
        (
            'draw = "sweep"',
            'draw = "queue_cdf"',
            ["picture[1].measure", "does not fit queue_cdf"],
        ),
        (
            '"queue_over_time"',
            '"queues"',
            ['picture[0].draw = "queues": is unknown', "queue_over_time, queue_cdf"],
        ),
    ],
)
def test_a_malformed_file_is_refused(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    assert old in GOOD
    with pytest.raises(PublishedError) as caught:
        _load(tmp_path, GOOD.replace(old, new, 1))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'small.toml'}: ")
    assert "\n  fix: " in message
    for word in words:
        assert word in message


def _judged(claim: Claim, *goodputs: list[tuple[float, ...]]) -> list[Judged[Claim]]:
    """Judges a claim by the flows' goodputs of each run of each of its points."""
    wanted = [(claim.measure, claim.flow)]
    samples = {
        point: tuple(sample(run_of(*run), wanted) for run in runs)
        for point, runs in zip(claim.points, goodputs, strict=True)
    }
    return judge(claim, samples)


def test_a_mean_has_its_interval(tmp_path: Path) -> None:
    claim = _load(tmp_path, GOOD).claims[0]
    (judged,) = _judged(claim, [(8,), (9,), (10,)])
    assert (judged.case, judged.verdict, judged.inside) == ("A1", Verdict.MET, True)
    assert judged.ours[:3] == (9, 8, 10)
    # t quantile with 2 degrees of freedom
    assert judged.ours[3:] == pytest.approx(
        (9 - 4.302653 / math.sqrt(3), 9 + 4.302653 / math.sqrt(3))
    )
    (judged,) = _judged(claim, [(10.5,)])
    assert (judged.verdict, judged.reason) == (Verdict.MISSED, "0.5 too high")
    assert math.isnan(judged.ours.low)


def test_the_interval_of_a_share_ends_at_1(tmp_path: Path) -> None:
    share = GOOD.replace('measure = "goodput_mbps"', 'measure = "goodput_share"', 1)
    (judged,) = _judged(_load(tmp_path, share).claims[0], [(9, 1), (19, 1), (1, 0)])
    assert judged.ours.value == pytest.approx((0.9 + 0.95 + 1) / 3)
    assert judged.ours.low == pytest.approx(0.826, abs=0.001)
    assert judged.ours.high == 1


def test_each_point_is_compared_with_the_one_that_is_named(tmp_path: Path) -> None:
    ratio = _load(tmp_path, GOOD).claims[2]
    first, second = _judged(ratio, [(9,), (9,)], [(12,), (15,)], [(9,), (9,)])
    assert [(each.case, each.verdict) for each in (first, second)] == [
        ("B1 1bdp", Verdict.MET),
        ("B1 4bdp", Verdict.MISSED),
    ]
    assert first.ours[0::3] == (1, 1)  # equal runs have an interval of zero width
    assert second.ours.value == 1.5
    assert 12 / 9 <= second.ours.low < 1.5 < second.ours.high <= 15 / 9


def _with(tmp_path: Path, **keys: str) -> Claim:
    """Returns the first claim with other keys."""
    text = GOOD
    for key, value in keys.items():
        text = text.replace('metric = "goodput, Mbit/s"', f'metric = "m"\n{key} = {value}', 1)
        text = text.replace('metric = "m"', 'metric = "goodput, Mbit/s"', 1)
    text = text.replace('of = ["reno"]\n', "", 1) if "of" in keys else text
    return _load(tmp_path, text).claims[0]


def test_seeds_are_compared_one_by_one(tmp_path: Path) -> None:
    claim = _with(tmp_path, compare='"wins"', of='["cubic: 1bdp", "buffers: 1bdp"]')
    (judged,) = _judged(claim, [(2,), (3,), (4,), (5,)], [(1,), (2,), (3,), (6,)])
    assert judged.ours.value == 0.75
    # interval of Clopper and Pearson for 3 of 4
    assert (judged.ours.low, judged.ours.high) == pytest.approx((0.194, 0.994), abs=1e-3)


@pytest.mark.parametrize(
    ("over", "value"),
    [
        ("mean", 5),
        ("median", 4),
        ("spread", 4.5),
        ("variation", 3.605551 / 5),
        ("least", 2),
        ("most", 9),
    ],
)
def test_runs_come_to_one_number(tmp_path: Path, over: str, value: float) -> None:
    (judged,) = _judged(_with(tmp_path, over=f'"{over}"'), [(2,), (4,), (9,)])
    assert judged.ours.value == pytest.approx(value)
    assert (judged.ours.least, judged.ours.most) == (2, 9)


def test_a_sweep_that_falls_once_does_not_rise(tmp_path: Path) -> None:
    claim = _with(tmp_path, compare='"rise"', of='["buffers"]')
    (judged,) = _judged(claim, [(5,), (7,)], [(5.5,)])
    assert judged.ours.value == -0.5


def test_the_command_judges_claims(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(GOOD)
    done = fullpipe("reproduce", "small.toml", "--out", "kept")
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 of 4 judged cells met, 0 missed; 1 reported" in done.stdout
    assert "Report: kept/report.html or pictures/" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    kept = tmp_path / "kept"
    assert {path.name for path in (kept / "pictures").iterdir()} == {
        "queues.png",
        "buffers.png",
        "SHA256SUMS",
    }
    assert {path.name for path in (kept / "scenarios").iterdir()} == {
        *(
            "reno.toml",
            "buffers_1bdp.toml",
            "buffers_4bdp.toml",
            "cubic_1bdp.toml",
            "cubic_4bdp.toml",
            "SHA256SUMS",
        ),
    }
    assert (
        "| B1 1bdp | CUBIC's goodput over NewReno's | much the same |"
        in (kept / "table.md").read_text()
    )
    numbers = pl.read_csv(kept / "numbers.csv").filter(pl.col("measure") == "early_share")
    assert numbers.rows() == [("cubic 4bdp", seed, "early_share", 1, 1.0) for seed in (1, 2)]
    again = fullpipe("run", "kept/scenarios/cubic_4bdp.toml", "--json")
    assert json.loads(again.stdout)["flows"][0]["cc"] == "cubic"


def test_claims_are_records_like_cells(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(GOOD)
    done = fullpipe(
        "reproduce",
        "small.toml",
        "--seeds",
        "1",
        "--json",
        "--case",
        "A*",
        "--case",
        "B2",
        "--out",
        "k",
    )
    records = json.loads(done.stdout)
    assert [record["case"] for record in records] == ["A1", "A2", "B2 4bdp"]
    assert {*records[0]} == {"case", "metric", "published", "ours", "tolerance", "verdict"}
    assert [record["tolerance"] for record in records] == [[8, 10], [0, None], [None, None]]
    assert records[1]["published"] == "more in larger buffers"
    assert records[2]["verdict"] == "report"


def test_a_case_that_is_not_there(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(GOOD)
    done = fullpipe("reproduce", "small.toml", "--case", "B3")
    assert done.returncode == 2
    fix = "use * as a wildcard; the cases are A1, A2, B1, B2"
    assert done.stderr == f"error: --case B3: no case of small.toml matches\n  fix: {fix}\n"


def test_a_row_may_be_a_group(tmp_path: Path) -> None:
    start = GOOD.index("[[claim]]")
    table = '[metrics.rate]\nmeasure = "goodput_mbps"\ntolerance = { relative = 0.1 }\n[[table]]\ntitle = "T"\n'
    table += 'columns = ["case", "rate"]\nrows = [["reno", 9.6]]\n'
    (case,) = _load(tmp_path, GOOD[:start] + table).cases
    assert (case.name, case.ccs, case.point.seeds) == ("reno", ("newreno",), 2)
    for wrong, words in (('"vegas"', "is not a group of runs"), ('"buffers"', "is a sweep")):
        with pytest.raises(PublishedError) as caught:
            _load(tmp_path, GOOD[:start] + table.replace('"reno"', wrong))
        assert words in str(caught.value)


def test_every_kind_of_picture_shows_its_points(tmp_path: Path) -> None:
    """Over time, each point has a panel; in a distribution, a line; in a sweep, each group has a line."""
    kinds = {
        "queue_over_time": (2, 1),
        "rates_over_time": (2, 1),
        "queue_cdf": (1, 2 * 3),
        "sweep": (1, 1),
        "sorted": (1, 2),
        "rtt_histogram": (2, 1),
    }
    # test_published_kernel.py tests figures over a series, test_published_huitema.py states, and
    # test_published_kit.py slowdowns.
    assert {*kinds, "over_series", "rate_rtt_state", "slowdown"} == set(DRAWINGS)
    text = GOOD[: GOOD.index("[[picture]]")]
    for kind in kinds:
        measure = 'measure = "queue_p50_rttmin"\n' if kind in ("sweep", "sorted") else ""
        text += f'[[picture]]\ncase = "B2"\nfile = "{kind}"\ntitle = "T"\ndraw = "{kind}"\nof = ["cubic"]\n{measure}'
    file = _load(tmp_path, text).with_seeds(2)
    samples = study(file).samples
    for picture in file.pictures:
        panels = draw(picture, samples).axes
        count, lines = kinds[picture.draw]
        assert len(panels) == count
        for panel in panels:
            solid = [line for line in panel.lines if line.get_linestyle() == "-"]
            assert (len(panel.containers) or len(solid)) == lines, picture.draw


def test_runs_of_a_figure_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GOOD[: GOOD.index("[[picture]]")]
    text += (
        '[[picture]]\ncase = "B2"\nfile = "f"\ntitle = "T"\ndraw = "queue_cdf"\nof = ["cubic"]\n'
    )
    [picture] = _load(tmp_path, text).with_seeds(2).pictures
    runs = [(point, seed) for seed in (1, 2) for point in picture.points]
    ran: list[int] = []
    run = Setup.run

    def counted(self: Setup, seed: int, *more: Any) -> Run:  # noqa: ANN401
        ran.append(seed)
        if len(ran) == len(runs):
            raise ValueError("the last one fails")
        return run(self, seed, *more)

    monkeypatch.setattr(Setup, "run", counted)
    place, drawn = tmp_path / "out", []
    with pytest.raises(ValueError, match="the last one fails"), Checkpoint(place, {}, "") as kept:
        draw(picture, {}, Again(engine=Engine(threads=1), so_far=kept))
    with Checkpoint(place, {}, "") as kept:
        drawn.append(draw(picture, {}, Again(so_far=kept)))
    assert len(ran) == len(runs) + 1
    drawn.append(draw(picture, {}))
    once, again = (
        [list(line.get_xdata()) for line in each.axes[0].lines]  # type: ignore[arg-type]
        for each in drawn
    )
    assert once == again


def test_runs_of_another_code_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    point = Point("one", "", Setup('[[flow]]\ncc = "coded:Mine"\n', "one.toml"), 1)
    wanted = {point: frozenset({("goodput_mbps", 0)})}
    made = Sample(cast("Metrics", {}), {})
    with Checkpoint(tmp_path / "out", {}, "") as kept:
        for code in ("pass", "0"):
            methods = f"    def on_ack(self): {code}\n    def decision(self): pass\n"
            (tmp_path / "coded.py").write_text(f"class Mine:\n{methods}")
            known = Stored(kept, "").of(wanted)
            assert known.get(0, 1) is None
            known.add(0, 1, made)


def test_a_paired_ratio_does_not_mind_what_all_runs_of_a_seed_have_in_common() -> None:
    seeds = [1.0, 10.0, 100.0, 3.0, 30.0, 7.0]
    found = paired_ratio("mean", [1.1 * each for each in seeds], seeds)
    assert found.value == pytest.approx(1.1)
    assert found.low == pytest.approx(1.1)
    assert found.high == pytest.approx(1.1)
    assert paired_ratio("mean", [3.0], [2.0]).value == 1.5
