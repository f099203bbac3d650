"""Every command that keeps results, on a disk that fails: the same command then has the same results.

A schedule has up to three faults. A command runs on the disk of `faulty_disk.py` until it ends, fails or is cut off.
Then it runs again on a whole disk, from what was left. Hypothesis draws the schedules from a fixed seed, and shrinks
one that fails: fewest faults, earliest operations.

    FULLPIPE_FAULTS=1000 FULLPIPE_FAULTS_SEED=7 pytest -n 0 -rP tests/python/test_faults.py

draws a thousand schedules for each command from another seed, and prints a line about each command.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from fault_subjects import SUBJECTS, Subject, inputs, small
from faulty_disk import KINDS, Fault, FaultyOs, FaultyTime, OffError, Schedule
from fullpipe.commands import app
from fullpipe.results import disk, sums

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEDULES = int(os.environ.get("FULLPIPE_FAULTS", "25"))
SEED = int(os.environ.get("FULLPIPE_FAULTS_SEED", "1"))
MOST = 3
EXISTS = "exists already"
HIDDEN = {".lock", ".progress"}
"""Hidden names that a directory may have."""


class Ended(NamedTuple):
    """The end of a command: its exit code, None if it was cut off, and its output."""

    code: int | None
    said: str


@pytest.fixture(scope="module")
def _small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        yield


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory in memory, where there is one: real synchronization would only take time."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder).resolve() / "root"


def called(subject: Subject, root: Path, system: FaultyOs, clock: FaultyTime) -> Ended:
    """Runs a command on a disk, as a new process would."""
    sums._found_whole.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "os", system)
        patch.setattr(disk, "time", clock)
        try:
            done = CliRunner().invoke(app, subject.arguments(root))
        except OffError:
            return Ended(None, "")
    if system.after is not None:  # whatever the command made of it
        return Ended(None, "")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.output)


def fresh(root: Path) -> None:
    """Makes a new directory with inputs."""
    shutil.rmtree(root, ignore_errors=True)
    inputs(root)


def undisturbed(subject: Subject, root: Path) -> tuple[int, object, int]:
    """Returns exit code, results and number of operations on a whole disk."""
    fresh(root)
    system = FaultyOs(root, Schedule(()))
    done = called(subject, root, system, FaultyTime(Schedule(())))
    assert done.code in (0, 1), done.said
    return done.code, subject.kept(root / "out"), len(system.operations)


def schedules(operations: int) -> st.SearchStrategy[Schedule]:
    """Draws faults of a command with a number of operations."""
    fault = st.builds(Fault, st.integers(0, operations + 3), st.sampled_from(KINDS))
    faults = st.lists(fault, min_size=1, max_size=MOST, unique_by=lambda each: each.at)
    return st.builds(Schedule, faults.map(tuple), st.integers(0, 2**40))


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("name", SUBJECTS)
def test_after_any_faults_the_same_command_has_the_same_results(name: str, place: Path) -> None:
    subject = SUBJECTS[name]
    code, expected, operations = undisturbed(subject, place)
    seen: Counter[str] = Counter()
    began = time.monotonic()

    @seed(SEED)
    @settings(
        max_examples=SCHEDULES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
    )
    @given(schedules(operations))
    def holds(schedule: Schedule) -> None:
        fresh(place)
        system = FaultyOs(place, schedule)
        first = called(subject, place, system, FaultyTime(schedule))
        for each in system.happened:
            note(each)
            seen[each.partition(" ")[0]] += 1
        note(f"first: {first}")
        seen["schedules"] += 1
        seen["ended early"] += first.code is None
        if first.code is None:
            system.restore()
        elif first.code == code:
            assert subject.kept(place / "out") == expected
        else:
            assert first.code == 2, first.said
            assert first.said.startswith("error: ") and "fix: " in first.said
        again = called(subject, place, FaultyOs(place, Schedule(())), FaultyTime(Schedule(())))
        note(f"again: {again}")
        assert again.code == code or (subject.once and again.code == 2 and EXISTS in again.said)
        assert subject.kept(place / "out") == expected
        left = {each.name for each in place.rglob(".*")} - HIDDEN
        assert not left
        seen["resumed"] += again.code == code
        if again.code == code:
            assert not (place / "out.unfinished").exists()

    holds()
    print(f"{name}: {operations} operations, {dict(seen)}, {time.monotonic() - began:.0f} s")
