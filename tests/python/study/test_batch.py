"""Execution of jobs: their order, and their results."""

from __future__ import annotations

import gc
import hashlib
import json
import threading
import weakref
from typing import TYPE_CHECKING

import pytest

from fullpipe.algorithms import programs
from fullpipe.runners import is_simulator, runner
from fullpipe.runners.sim import Simulator
from fullpipe.study.checkpoint import Checkpoint, begun
from fullpipe.study.records import records
from fullpipe.study.threads import blocks, on_threads

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.runners import Progress


def test_each_repetition_of_all_comes_before_the_next_of_any() -> None:
    assert list(blocks(2, [1, 2])) == [(1, 0), (1, 1), (2, 0), (2, 1)]
    shuffled = list(blocks(9, [1, 2], lambda repetition: f"sweep {repetition}"))
    first, second = ([item for one, item in shuffled if one == repetition] for repetition in (1, 2))
    assert sorted(first) == sorted(second) == list(range(9))
    assert first != second
    assert shuffled == list(blocks(9, [1, 2], lambda repetition: f"sweep {repetition}"))
    assert shuffled[9:] == list(blocks(9, [2], lambda repetition: f"sweep {repetition}")), (
        "the order does not depend on the repetitions that are already done"
    )


def test_what_is_done_is_handed_over_before_a_failure() -> None:
    both = threading.Barrier(2)

    def fine(_: Progress) -> str:
        both.wait(10)
        return "fine"

    def broken(_: Progress) -> str:
        both.wait(10)
        raise ValueError("broken")

    found = []
    with pytest.raises(ValueError, match="broken"):
        for each in on_threads([broken, fine], 2):
            found.append(each)  # noqa: PERF402  (until it raises)
    assert found in ([(1, "fine")], []), "fine had finished, or not"


def test_a_result_that_was_handed_over_is_forgotten() -> None:
    class Result:
        pass

    turn = threading.Semaphore(0)

    def job(_: Progress) -> Result:
        turn.acquire(timeout=10)
        return Result()

    jobs = on_threads([job] * 3, 1)
    there = []
    for _ in range(2):
        turn.release()
        there.append(weakref.ref(next(jobs)[1]))
    gc.collect()
    assert there[0]() is None
    turn.release()
    jobs.close()


def test_closing_ends_jobs_that_go_on() -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(progress: Progress) -> None:
        begun.set()
        try:
            while True:
                progress(0.0, 1.0, 0)
        finally:
            ended.set()

    jobs = on_threads([lambda _: None, endless], 2)
    next(jobs)
    assert begun.wait(10)
    jobs.close()
    assert ended.is_set()


def test_a_checkpoint_has_what_was_stored_and_vanishes_in_the_end(tmp_path: Path) -> None:
    target, about = tmp_path / "out", {"--seeds": "2"}
    with pytest.raises(KeyboardInterrupt), Checkpoint(target, about, "out") as first:
        first.add(("a", 1), {"value": 7})
        raise KeyboardInterrupt
    assert begun(target) == about
    with pytest.raises(FileExistsError, match="--seeds was 2, not 3"):
        Checkpoint(target, {"--seeds": "3"}, "out").__enter__()
    with Checkpoint(target, about, "out") as again:
        assert again.get(("a", 1)) == {"value": 7}
        assert again.get(("a", 2)) is None
    assert not any(tmp_path.iterdir())


def test_a_damaged_record_and_those_of_other_work_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    with records(file, "work") as first:
        for each in ({"value": 1.5}, ["damaged", None], "last"):
            first.add(each)
    lines = file.read_text().splitlines()
    torn = lines[2][:-3]
    file.write_text("\n".join([lines[0], lines[1].replace("damaged", "changed"), torn]))
    with records(file, "work") as again:
        assert (again.there, again.damaged) == ([{"value": 1.5}], 2)
        again.add("last")
    with records(file, "work") as last:
        assert last.there == [{"value": 1.5}, "last"]
    assert file.read_text().splitlines()[-2:] == [torn, lines[2]]
    with records(file, "other work") as other:
        assert (other.there, other.damaged) == ([], 4)


def test_the_lines_of_earlier_versions_are_read(tmp_path: Path) -> None:
    def line(about: str, record: object) -> str:
        text = json.dumps(record)
        digest = hashlib.sha256(f"{about}{text}".encode()).hexdigest()[:16]
        return f"{digest} {text}\n"

    kept = tmp_path / "out.unfinished"
    kept.mkdir()
    about = {"--seeds": "2"}
    (kept / "runs.jsonl").write_text(line(f"{json.dumps(about)}\n", {"key": ["a", 1], "value": 7}))
    with pytest.raises(KeyboardInterrupt), Checkpoint(tmp_path / "out", about, "out") as there:
        assert there.get(("a", 1)) == {"value": 7}
        there.add(("a", 2), {"value": 8})
        raise KeyboardInterrupt
    written = line(f"{json.dumps(about)}\n", {"key": ["a", 2], "value": 8})
    assert (kept / "runs.jsonl").read_text().endswith(written)
    (tmp_path / "plain.jsonl").write_text(line("", ["bbr3", "cell", None]))
    with records(tmp_path / "plain.jsonl") as plain:
        assert plain.there == [["bbr3", "cell", None]]


def test_only_the_simulator_itself_is_taken_for_it() -> None:
    assert is_simulator(runner("sim"))
    assert not is_simulator(type("Mine", (Simulator,), {"name": "mine"})())


def test_jobs_on_threads_may_run_what_the_caller_has_allowed() -> None:
    jobs = [lambda _: programs.are_allowed()] * 3
    with programs.allowed():
        assert sorted(on_threads(jobs, 2)) == [(0, True), (1, True), (2, True)]
    assert sorted(on_threads(jobs, 2)) == [(0, False), (1, False), (2, False)]
