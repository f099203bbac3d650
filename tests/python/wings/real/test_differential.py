"""The differential test: drawn scenarios on the simulator and on Linux's own TCP."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import needs
from depth import DEEP
from fullpipe.errors import RunnerError
from fullpipe.runners.sim import RUNNER as SIMULATOR
from fullpipe.wings.real.runners import _uml_boot, uml
from fullpipe.wings.real.validate.drawn import acks as windows
from fullpipe.wings.real.validate.drawn import command, factors, words
from fullpipe.wings.real.validate.drawn.acks import aligned
from fullpipe.wings.real.validate.drawn.draw import (
    LEAST_SEEDS,
    PACKETS,
    QUEUES,
    ROUND_TRIPS,
    Drawn,
    DrawnFlow,
    Impossible,
    draw,
    draw_for_acks,
)
from fullpipe.wings.real.validate.drawn.judge import Compared, Difference, compare
from fullpipe.wings.real.validate.drawn.runs import KeptFlow, on_simulator
from fullpipe.wings.real.validate.drawn.store import opened

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

BULK = DrawnFlow("cubic", 0.0, 0.0, 0, 0.0)
ONE = Drawn("001", 10_000_000, 0.02, 1.0, "pfifo", 0.0, False, (BULK,), 5.0)


def flow(
    goodput: float = 9e6, rtt: float = 0.03, resent: int = 30, completion: float | None = None
) -> KeptFlow:
    return {
        "goodput_bps": goodput,
        "rtt_mean_s": rtt,
        "rtt_p95_s": rtt,
        "retransmits": resent,
        "completion_s": completion,
        "response_s": None,
    }


def nothing(*_: object) -> None:
    """A progress function."""


def test_a_draw_depends_only_on_the_seed_and_its_number() -> None:
    assert draw(1, 17, 1.0) == draw(1, 17, 1.0)
    assert draw(1, 17, 1.0) != draw(2, 17, 1.0) != draw(2, 18, 1.0)
    assert draw_for_acks(1, 3, 1.0) == draw_for_acks(1, 3, 1.0)


def test_every_draw_is_within_the_prior_and_both_runners_take_it() -> None:
    possible = [each for number in range(1, 121) if isinstance(each := draw(4, number, 1.0), Drawn)]
    assert len(possible) > 90
    for each in possible:
        scenario = each.setup.scenario(1)
        uml.RUNNER.refuse(scenario, "off")
        SIMULATOR.refuse(scenario, "off")
        assert 1e6 <= scenario.rate_bps <= 500e6
        assert 2e-3 <= scenario.rtt_s <= 0.3
        assert 1 <= len(each.flows) <= 6
        assert 0 <= each.loss <= 0.05
        assert each.packets(each.duration_s) * each.seeds <= PACKETS
        assert each.duration_s >= ROUND_TRIPS * each.rtt_s + each.flows[-1].start_s
        assert each.seeds >= LEAST_SEEDS if scenario.is_random else each.seeds == 1
    assert {each.queue for each in possible} == {"pfifo", *QUEUES}
    assert {found.app for each in possible for found in each.flows} == {
        "bulk",
        "transfer",
        "requests",
    }


def test_a_draw_beyond_the_budget_is_named_and_a_larger_budget_takes_it() -> None:
    numbers = range(1, 61)
    beyond = [each for number in numbers if isinstance(each := draw(4, number, 1.0), Impossible)]
    assert beyond
    assert "packets for 30 round trips" in beyond[0].reason
    taken = [isinstance(draw(4, number, 1000.0), Drawn) for number in numbers]
    assert all(taken)


def test_a_scenario_for_windows_has_one_flow_and_no_chance() -> None:
    for number in range(1, 9):
        found = draw_for_acks(4, number, 1.0)
        assert (len(found.flows), found.is_random, found.seeds) == (1, False, 1)


def test_a_difference_within_its_tolerance_is_met_and_a_larger_one_is_not() -> None:
    assert compare(ONE, [[flow()]], [[flow(goodput=9.4e6, resent=49)]]).met
    missed = compare(ONE, [[flow()]], [[flow(goodput=9.5e6, rtt=0.034)]])
    assert [each.metric for each in missed.differences if not each.met] == ["goodput", "mean RTT"]
    assert missed.worst.metric == "mean RTT"
    assert missed.worst.excess == pytest.approx(0.004 / (0.08 * 0.03))


def test_chance_excuses_what_it_explains_and_says_so() -> None:
    lossy = replace(ONE, loss=0.01, seeds=4)
    linux = [[flow(goodput)] for goodput in (6e6, 8e6, 10e6, 12e6)]
    near = compare(lossy, linux, [[flow(goodput)] for goodput in (7e6, 9e6, 11e6, 13e6)])
    assert (near.met, near.close) == (True, False)
    far = compare(lossy, linux, [[flow(goodput)] for goodput in (14e6, 15e6, 16e6, 17e6)])
    assert not far.met


def test_shares_count_what_each_flow_delivered() -> None:
    transfer = DrawnFlow("reno", 1.0, 0.0, 1_000_000, 0.0)
    two = replace(ONE, flows=(BULK, transfer))
    # 5 s at 6 Mbit/s and 2 s at 8 Mbit/s; on the other side the transfer takes twice as long.
    kernel = [[flow(6e6), flow(8e6, completion=2.0)]]
    differences = {
        (each.metric, each.of): each
        for each in compare(two, kernel, [[flow(6e6), flow(4e6, completion=4.0)]]).differences
    }
    assert differences["share", "cubic-1"].linux == pytest.approx(30 / 46)
    assert differences["share", "cubic-1"].met
    assert differences["completion time", "reno-2"].relative == pytest.approx(1.0)
    assert differences["retransmissions", "reno"].met


def test_an_answer_on_one_side_only_is_a_miss() -> None:
    asks = replace(ONE, flows=(BULK._replace(size=10_000, think_s=1.0),))
    answered = flow()
    answered["response_s"] = 0.1
    assert compare(asks, [[answered]], [[answered]]).met
    assert compare(asks, [[answered]], [[flow()]]).worst.metric == "answer time"


def test_the_tree_finds_the_factor_that_the_misses_share() -> None:
    compared = [
        Compared(
            replace(ONE, loss=loss, rate=rate, name=str(rate)),
            (Difference("goodput", "", 1.0, 1.0, 2.0 if loss > 0.005 else 0.0, 0.0),),
        )
        for loss in (0.0, 0.001, 0.01)
        for rate in range(1_000_000, 201_000_000, 10_000_000)
    ]
    assert factors.table(compared)[0].name == "loss ≥ 0.5 %"
    found = factors.tree(compared)
    assert (found.factor, [part.missed for part in found.parts]) == ("loss ≥ 0.5 %", [20, 0])
    assert list(words.split(found)) == [
        "all: 20 of 60 missed",
        "  loss ≥ 0.5 %: 20 of 20 missed",
        "  not loss ≥ 0.5 %: 0 of 40 missed",
    ]


def test_acks_are_aligned_by_what_they_acknowledge() -> None:
    # Three ACKs of byte 20: two are duplicates. Ours has one duplicate, and no ACK of byte 30.
    theirs = np.array([10.0, 20, 20, 20, 30, 40])
    ours = np.array([0.0, 10, 20, 20, 40])
    assert aligned(theirs, ours).tolist() == [1, 2, 3, 3, 3, 4]


def test_a_rows_text_is_read_as_the_kernel_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "probe"
    row = (
        "  <idle>-0  [000] ..s1.  {}: tcp_probe: family=AF_INET src=10.0.0.1:41 dest=10.9.9.9:5001 mark=0x0 data_len=0 "
        "snd_nxt={:#x} snd_una={:#x} snd_cwnd=10 ssthresh=2147483647 snd_wnd=65535 srtt=40 rcv_wnd=64 sock_cookie=1\n"
    )
    start = 2**32 - 1448
    file.write_text(
        "# tracer: nop\n"
        + row.format("12.000001", start + 1448 - 1, start)
        + row.format("12.100000", 14480, 0)
    )
    probe = uml._probe(file)
    assert probe.time_s.tolist() == [12.000001, 12.1]
    assert probe.una.tolist() == [0, 1448]
    assert probe.next.tolist() == [1447, 1448 + 14480]
    assert probe.cwnd.tolist() == [10, 10]


@pytest.fixture
def mirrored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The simulator in the kernel's place; the names of the scenarios that it has run there."""
    ran: list[str] = []

    def on_kernel(drawn: Drawn, progress: object) -> object:
        ran.append(drawn.name)
        return on_simulator(drawn, drawn.seeds, nothing)

    monkeypatch.setattr(command, "runner", nothing)
    monkeypatch.setattr(uml, "facts", lambda: {"kernel": "mirror"})
    monkeypatch.setattr(command, "on_kernel", on_kernel)
    return ran


def test_two_equal_sides_agree_and_the_same_command_runs_nothing_again(
    mirrored: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "random"

    def run(number: int) -> dict[str, object]:
        assert command.validate_random(
            number, seed=3, hours=0.02, acks=0, seeds=3, out=out, as_json=True
        )
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return found

    first = run(3)
    assert first["within_tolerance"] == len(mirrored) == 3
    assert run(3) == first
    assert len(mirrored) == 3
    run(4)
    assert len(mirrored) == 4
    page = (out / command.PAGE).read_text()
    assert "4 of 4 scenarios within tolerance" in page
    assert "mirror" in page
    assert (out / "scenarios" / f"{mirrored[0]}.toml").exists()


def test_an_unfinished_line_of_a_killed_process_is_run_again(tmp_path: Path) -> None:
    place = tmp_path / "random"
    with opened(place, {"kernel": "a"}) as store:
        store.add(ONE, [[flow()]])
    with (place / "linux.jsonl").open("a") as file:
        file.write('{"scenario": "002", "finger')
    with opened(place, {"kernel": "a"}) as again:
        assert again.linux(ONE) == [[flow()]]
        again.add(replace(ONE, name="002"), [[flow()]])
    with opened(place, {"kernel": "a"}) as last:
        assert last.linux(replace(ONE, name="002"))
        with pytest.raises(BlockingIOError, match="another process is adding to it"):
            opened(place, {"kernel": "a"}).__enter__()
    with pytest.raises(FileExistsError, match="results of another kernel"):
        opened(place, {"kernel": "b"}).__enter__()


def test_a_miss_is_listed_with_its_command_and_the_exit_code_says_so(
    mirrored: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slower(drawn: Drawn, seeds: int, progress: object) -> object:
        made = on_simulator(drawn, seeds, nothing)
        return [[{**each, "goodput_bps": each["goodput_bps"] / 2} for each in run] for run in made]

    monkeypatch.setattr(command, "on_simulator", slower)
    out = tmp_path / "random"
    assert not command.validate_random(
        2, seed=3, hours=0.02, acks=0, seeds=3, out=out, as_json=False
    )
    said = capsys.readouterr().out
    assert f"fullpipe run {out}/scenarios/{mirrored[0]}.toml --on sim,uml" in said
    assert "0 of 2 scenarios within tolerance, 0%" in said
    assert "goodput" in said


@pytest.mark.parametrize(
    ("words_", "said"),
    [
        (
            ("--random", "2"),
            "--random needs a directory to keep its results\n  fix: name one: --out",
        ),
        (("--seed", "2"), "--seed needs --random\n  fix: add --random N"),
        (("--acks", "2"), "--acks needs --random\n  fix: add --random N"),
        (
            ("--random", "2", "--out", "x", "--cell", "bbr*"),
            "--cell is for the cells\n  fix: omit it",
        ),
        (
            ("--random", "2", "--out", "x", "--on", "kernel"),
            "--random compares sim with uml\n  fix: omit",
        ),
    ],
)
def test_what_does_not_go_together_is_said_with_its_fix(
    fullpipe: Fullpipe, words_: tuple[str, ...], said: str
) -> None:
    done = fullpipe("validate", *words_)
    assert done.returncode == 2
    assert said in done.stderr


def test_without_user_mode_linux_nothing_is_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_uml_boot, "kernel", lambda: None)
    with pytest.raises(RunnerError, match=r"has not been built\n  fix: run make oracle"):
        command.outcome_of(2, seed=1, hours=1.0, acks=0, seeds=3, out=tmp_path / "random")
    assert not list(tmp_path.iterdir())


def test_percentages_without_a_value_have_a_dash() -> None:
    assert words._percent(math.nan, "goodput") == "–"


def test_a_kernel_without_tracepoints_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "runner", nothing)
    monkeypatch.setattr(_uml_boot, "cache", lambda: tmp_path)
    with pytest.raises(RunnerError, match=r"no tracepoints.*\n  fix: build it again: make oracle"):
        command.outcome_of(2, seed=1, hours=1.0, acks=1, seeds=3, out=tmp_path / "random")
    assert not list(tmp_path.iterdir())


@needs.UML
def test_drawn_scenarios_run_on_both_and_each_miss_has_its_command(tmp_path: Path) -> None:
    # A run takes about three seconds of both cores, however short it is: four of them, and 40 in depth.
    count, seed, hours = (5, 7, 0.05) if DEEP else (2, 3, 0.02)
    outcome = command.outcome_of(
        count, seed=seed, hours=hours, acks=0, seeds=count, out=tmp_path / "random"
    )
    assert not outcome.failed
    assert len(outcome.compared) == count
    for each in outcome.compared:
        if not each.met:
            print(f"{words.missed(each)}: {outcome.command(each.drawn.name)}")
        assert (tmp_path / "random" / "scenarios" / f"{each.drawn.name}.toml").exists()
        # Far from any tolerance: a path that the two sides do not share.
        goodput = next(found for found in each.differences if found.metric == "goodput")
        assert 0.5 < goodput.ours / goodput.linux < 2, outcome.command(each.drawn.name)


@pytest.mark.skipif(
    uml.RUNNER.missing() is not None or not _uml_boot.has("CONFIG_ENABLE_DEFAULT_TRACERS"),
    reason="user-mode Linux has not been built with tracepoints: make oracle",
)
def test_windows_are_those_of_the_kernel_ack_by_ack() -> None:
    # Loss episodes in a short queue, and congestion avoidance after them. On this path the phase of the kernel's tick,
    # which depends on its build, makes no difference; at 4.51 Mbit/s and 4.23 ms a window rises an ACK later in four
    # of five phases.
    reno = BULK._replace(cc="reno")
    drawn = replace(ONE, rate=3_500_000, rtt_s=0.0044, bdps=3.0, flows=(reno,), duration_s=0.2)
    kernel = windows.on_kernel(drawn, nothing)
    assert kernel["ssthresh"][-1] == 4
    found = windows.compare(drawn, kernel, nothing)
    assert found.acks > 50
    assert found.equal == 1, words.first(found)
