"""`fullpipe verify`: repeats kept runs, and prints how many are equal."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.base import terminal
from fullpipe.base.build import made
from fullpipe.base.progress import Counter
from fullpipe.errors import UserError, printing, stoppable
from fullpipe.results import objects
from fullpipe.results.kept import computing
from fullpipe.study.execute import one_cluster, refuse_engine
from fullpipe.study.verify.find import find
from fullpipe.study.verify.sample import chosen

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from fullpipe.study.engine import Engine
    from fullpipe.study.verify.compare import Difference
    from fullpipe.study.verify.find import Found, Refused


class NothingRepeatedError(UserError):
    """Kept runs can't be repeated here; the text has the reason."""


class Verified(NamedTuple):
    """The outcome.

    Attributes:
        found: The parts of the directory.
        runs: The number of repeated runs.
        of: The number of kept runs that can be repeated.
        differences: The first difference of each run that has one.
        traces: The number of traces that were compared.
        wall_s: The time that it took.
    """

    found: Found
    runs: int
    of: int
    differences: list[Difference]
    traces: int
    wall_s: float

    @property
    def equal(self) -> int:
        """The number of equal runs."""
        return self.runs - len({each[:2] for each in self.differences if each.run})

    @property
    def left_out(self) -> list[Refused]:
        """The parts that could be repeated elsewhere."""
        return [each for each in self.found.refused if each.fix]


def verify(directory: str, *, sample: int | None, engine: Engine, as_json: bool) -> bool:
    """Repeats the runs in a directory, and prints how many are equal; returns whether all are.

    Args:
        directory: The directory, or the URL of an object store.
        sample: The number of runs to repeat; None for all.
        engine: Where the runs execute.
        as_json: Whether to print JSON alone.

    Raises:
        NoResultsError: When there are no results.
        NothingRepeatedError: When some can't be repeated here, and no other differs.
        ScenarioError: When a scenario is refused.
        RunnerError: When the runs can't execute there.
    """
    place = objects.local(directory)
    with computing(place):
        done = repeated(place, directory, sample, engine)
    with printing():
        if as_json:
            terminal.print_alone(json.dumps(record(done, sample)))
        else:
            show(done, terminal.console())
    if done.differences:
        return False
    if left := done.left_out or (done.found.refused if not done.runs else []):
        fix = (
            f"\n  fix: {left[0].fix}"
            if left[0].fix
            else "\n  fix: none: verify results of simulations"
        )
        raise NothingRepeatedError(f"{left[0].place}: not repeated: {left[0].reason}{fix}")
    return True


def repeated(place: Path, directory: str, sample: int | None, engine: Engine) -> Verified:
    """Repeats runs of a directory at a place; arguments and errors are those of :func:`verify`."""
    start = time.perf_counter()
    found = find(place, directory)
    for each in found.parts:
        refuse_engine(engine, [each.runner], "name a directory of simulations")
    groups = [(number, group) for number, part in enumerate(found.parts) for group in part.groups]
    runs: dict[int, list[int]] = {}
    for (number, _), some in zip(
        groups, chosen([group for _, group in groups], sample), strict=True
    ):
        runs.setdefault(number, []).extend(some)
    of, total = sum(len(group) for _, group in groups), sum(map(len, runs.values()))
    differences = list(found.differences)
    before = 0
    with Counter() as counter, stoppable(lambda: counter.at), one_cluster(engine):
        counter.begin(total, 0, "verifying")
        for number, part in enumerate(found.parts):
            if some := sorted(runs.get(number, [])):
                tick = partial(_show, counter, before)
                differences += part.again(some, engine, tick)
                before += len(some)
    for part in found.parts:
        found.notes |= dict.fromkeys(part.notes)
    traces = sum(part.traces for part in found.parts)
    return Verified(found, total, of, differences, traces, time.perf_counter() - start)


def _show(counter: Counter, before: int, done: int) -> None:
    counter.show(before + done, 0)


def show(done: Verified, console: Console) -> None:
    """Prints the outcome."""
    found = done.found
    for note in found.notes:
        console.print(note, markup=False, soft_wrap=True, style="yellow")
    for refused in found.refused if done.runs else ():  # otherwise in the error
        console.print(str(refused), markup=False, soft_wrap=True, style="yellow")
    if done.differences:
        of = f" of {len(done.differences):,}" if len(done.differences) > 1 else ""
        console.print(
            f"first difference{of}: {done.differences[0]}",
            markup=False,
            soft_wrap=True,
            style="red",
        )
    if done.runs:
        console.print(said(done), style="bold", markup=False, soft_wrap=True)


def said(done: Verified) -> str:
    """Returns the last line."""
    words = [f"{done.equal:,} of {done.runs:,} equal"]
    if done.runs < done.of:
        words[0] += f", a sample of {done.of:,} runs"
    if any(not each.run for each in done.differences):
        words.append("but not all that belongs to them")
    if done.traces:
        words.append(f"{done.traces:,} with {'its trace' if done.traces == 1 else 'their traces'}")
    if done.found.fingerprint:
        words.append(f"fingerprint {done.found.fingerprint}")
    return f"{', '.join(words)}, in {done.wall_s:.1f} s"


def record(done: Verified, sample: int | None) -> dict[str, object]:
    """Returns the outcome for JSON."""
    return {
        "equal": done.equal,
        "runs": done.runs,
        "of": done.of,
        "sample": sample,
        "traces": done.traces,
        "fingerprint": done.found.fingerprint,
        "differences": len(done.differences),
        "difference": done.differences[0].record() if done.differences else None,
        "not_repeated": [each._asdict() for each in done.found.refused],
        "notes": list(done.found.notes),
        "verified_by": made(),
    }
