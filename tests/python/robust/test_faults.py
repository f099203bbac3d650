"""Every command that keeps results, on a disk that fails: the same command then has the same results.

A schedule has a fault, and up to two errors before it. A command runs on the disk of `faulty_disk.py` until it ends,
fails or is cut off. Then it runs again on a whole disk, from that state. Hypothesis draws the schedules from a fixed
seed, and shrinks one that fails: fewest faults, earliest operations.

    FULLPIPE_FAULTS=1000 FULLPIPE_FAULTS_SEED=7 pytest -n 0 -rP tests/python/robust/test_faults.py

draws a thousand schedules for each command and kind of fault from another seed, and prints a line about each command.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

import depth
from fault_subjects import SUBJECTS, Sampler, Subject, inputs, sampled, sampling, small
from faulty_disk import KINDS, Fault, FaultyOs, FaultyTime, OffError, Schedule
from fullpipe.commands import app
from fullpipe.results import disk, sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SCHEDULES = depth.of("FULLPIPE_FAULTS", 3, 10)
SEED = int(os.environ.get("FULLPIPE_FAULTS_SEED", "1"))
ERRORS = tuple(kind for kind in KINDS if kind not in ("kill", "power"))
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


@contextlib.contextmanager
def on(system: FaultyOs, clock: FaultyTime) -> Iterator[None]:
    """Lets the block run on a disk, as a new process would."""
    sums._found_whole.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "os", system)
        patch.setattr(disk, "time", clock)
        yield


def called(subject: Subject, root: Path, system: FaultyOs, clock: FaultyTime) -> Ended:
    """Runs a command on a disk."""
    with on(system, clock):
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


def schedules(operations: int, kinds: Sequence[str], jumps: int = 0) -> st.SearchStrategy[Schedule]:
    """Draws faults of a command with a number of operations: one of some kinds, and up to two errors before it."""
    at = st.integers(0, operations - 1)
    errors = st.lists(st.builds(Fault, at, st.sampled_from(ERRORS)), max_size=2)
    last = st.builds(Fault, at, st.sampled_from(kinds))
    back = st.tuples(st.integers(0, jumps), st.floats(0, 1e8))
    return st.builds(
        Schedule,
        st.builds(lambda some, one: (*some, one), errors, last),
        st.integers(0, 2**40),
        st.lists(back, max_size=2).map(tuple) if jumps else st.just(()),
    )


def drawn(test: Callable[[Schedule], None], strategy: st.SearchStrategy[Schedule]) -> None:
    """Tests all drawn schedules."""
    fixed = settings(
        max_examples=SCHEDULES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
    )
    seed(SEED)(fixed(given(strategy)(test)))()


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("kinds", [ERRORS, ("kill",), ("power",)], ids=["error", "kill", "power"])
@pytest.mark.parametrize("name", SUBJECTS)
def test_after_any_faults_the_same_command_has_the_same_results(
    name: str, kinds: Sequence[str], place: Path
) -> None:
    subject = SUBJECTS[name]
    code, expected, operations = undisturbed(subject, place)
    seen: Counter[str] = Counter()
    began = time.monotonic()

    def holds(schedule: Schedule) -> None:
        fresh(place)
        system = FaultyOs(place, schedule)
        first = called(subject, place, system, FaultyTime(schedule))
        for each in (*system.happened, f"first: {first}"):
            note(each)
        if first.code is None:
            system.restore()
        elif first.code == code:
            assert subject.kept(place / "out") == expected
        else:
            assert first.code == 2, first.said
            said = first.said
            said = said.partition("\n")[2] if said[0] == "[" else said  # behind the JSON of check
            assert said.startswith("error: ") and "fix: " in said
        again = called(subject, place, FaultyOs(place, Schedule(())), FaultyTime(Schedule(())))
        note(f"again: {again}")
        assert again.code == code or (subject.once and again.code == 2 and EXISTS in again.said)
        assert subject.kept(place / "out") == expected
        if again.code == code:
            assert not {each.name for each in place.rglob(".*")} - HIDDEN
            assert not (place / "out.unfinished").exists()
        seen.update(["schedules", *(each.partition(" ")[0] for each in system.happened)])

    drawn(holds, schedules(operations, kinds))
    print(f"{name}: {operations} operations, {dict(seen)}, {time.monotonic() - began:.0f} s")


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("kinds", [ERRORS, ("kill",), ("power",)], ids=["error", "kill", "power"])
def test_the_agent_loses_no_sample_that_it_has_written(kinds: Sequence[str], place: Path) -> None:
    seen: Counter[str] = Counter()

    def holds(schedule: Schedule) -> None:
        fresh(place)
        sampler, system = Sampler(), FaultyOs(place, schedule)
        with contextlib.suppress(OSError, OffError), on(system, FaultyTime(schedule)):
            sampling(place, sampler, 8)
        if system.after is not None:
            system.restore()
        whole = sampler.asked - bool(system.happened)
        with on(FaultyOs(place, Schedule(())), FaultyTime(Schedule(()))):
            sampling(place, sampler, 4)
        for each in (*system.happened, f"{whole} samples", sampled(place)):
            note(str(each))
        found = sampled(place)
        assert found == sorted(set(found))
        assert {*range(1, whole + 1), *range(sampler.asked - 3, sampler.asked + 1)} <= {*found}
        assert not list(place.rglob("*.part"))
        seen.update(["schedules", *(each.partition(" ")[0] for each in system.happened)])

    drawn(holds, schedules(45, kinds, jumps=8))
    print(f"fleet sample: {dict(seen)}")
