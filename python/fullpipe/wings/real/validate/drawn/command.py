"""`fullpipe validate --random`: draws, runs, compares and prints."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from fullpipe._core import ScenarioError
from fullpipe.base.progress import counting
from fullpipe.errors import printing, stoppable
from fullpipe.results import disk
from fullpipe.runners import runner
from fullpipe.study import kept_in
from fullpipe.study.engine import HERE
from fullpipe.study.execute import on_threads, refuse_engine
from fullpipe.wings.real.runners import uml
from fullpipe.wings.real.validate.drawn import acks as windows
from fullpipe.wings.real.validate.drawn.draw import Drawn, draw, draw_for_acks
from fullpipe.wings.real.validate.drawn.judge import Compared, compare
from fullpipe.wings.real.validate.drawn.page import page
from fullpipe.wings.real.validate.drawn.runs import on_kernel, on_simulator
from fullpipe.wings.real.validate.drawn.show import show
from fullpipe.wings.real.validate.drawn.store import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fullpipe.runners import Progress
    from fullpipe.study.engine import Engine
    from fullpipe.wings.real.validate.drawn.acks import AckComparison
    from fullpipe.wings.real.validate.drawn.draw import Impossible
    from fullpipe.wings.real.validate.drawn.store import Store

ENOUGH = 0.95
"""Share of the scenarios that must be within tolerance."""

PAGE = "random.md"
"""The page in the directory of a test."""


@dataclass(frozen=True)
class Outcome:
    """The result of a differential test.

    Attributes:
        seed: The seed of the draws.
        hours: The budget of packets, in hours of two hundred scenarios.
        kernel: Facts about the kernel.
        files: The file of each scenario, by its name.
        compared: The scenarios, by name.
        acks: The scenarios that were compared ACK by ACK.
        impossible: Draws that need more packets.
        failed: Scenarios that did not run, with the error.
    """

    seed: int
    hours: float
    kernel: Mapping[str, str]
    files: Mapping[str, Path]
    compared: Sequence[Compared]
    acks: Sequence[AckComparison]
    impossible: Sequence[Impossible]
    failed: Sequence[tuple[str, str]]

    @property
    def met(self) -> int:
        """Number of scenarios within tolerance."""
        return sum(each.met for each in self.compared)

    @property
    def enough(self) -> bool:
        """Whether enough scenarios are within tolerance, and all ran."""
        return not self.failed and self.met >= ENOUGH * len(self.compared)

    def command(self, name: str) -> str:
        """Returns the command that runs a scenario again."""
        return f"fullpipe run {self.files[name]} --on sim,uml"


def validate_random(
    number: int,
    *,
    seed: int,
    hours: float,
    acks: int | None,
    seeds: int,
    out: Path,
    as_json: bool,
    engine: Engine = HERE,
) -> bool:
    """Draws scenarios, runs them on both sides, prints the differences, and writes them as a page.

    Args:
        number: Number of scenarios to compare.
        seed: Seed of the draws.
        hours: Budget of packets, in hours of two hundred scenarios on two cores.
        acks: Number of further scenarios to compare ACK by ACK; None for a tenth of `number`.
        seeds: Number of the simulator's runs of a scenario that chance decides.
        out: Directory for scenarios, the kernel's results and the page. The same command resumes there.
        as_json: Whether to print only one JSON object.
        engine: The number of scenarios at a time.

    Returns:
        Whether enough of the scenarios are within tolerance.

    Raises:
        RunnerError: When user-mode Linux is not available, or has no tracepoints for `acks`.
        FileExistsError: When `out` has other contents.
        OSError: When a file can't be written.
    """
    outcome = outcome_of(
        number,
        seed=seed,
        hours=hours,
        acks=max(number // 10, 1) if acks is None else acks,
        seeds=seeds,
        out=out,
        engine=engine,
    )
    disk.put(out / PAGE, "\n".join(page(outcome)))
    with printing():
        if as_json:
            print(json.dumps(as_dict(outcome)))
        else:
            show(outcome, out / PAGE)
    return outcome.enough


def outcome_of(
    number: int,
    *,
    seed: int,
    hours: float,
    acks: int,
    seeds: int,
    out: Path,
    engine: Engine = HERE,
) -> Outcome:
    """Draws scenarios, and runs them on both sides; arguments and errors are those of `validate_random`."""
    refuse_engine(engine, [uml.RUNNER], "--random")
    runner("uml")
    if acks:
        uml.refuse_without_tracepoints()
    drawn, impossible = _drawn(number, seed, hours)
    singles = [draw_for_acks(seed, place, hours) for place in range(1, acks + 1)]
    found: list[Compared] = []
    compared_acks: list[AckComparison] = []
    failed: list[tuple[str, str]] = []
    bar = counting()
    total = len(drawn) + len(singles)
    running = bar.add_task("comparing", total=total)
    with (
        opened(out, uml.facts()) as store,
        stoppable(
            lambda: f"after {bar.tasks[0].completed:.0f} of {total} scenarios",
            lambda: kept_in(out),
        ),
        bar,
        closing(on_threads(_jobs(store, drawn, singles, seeds), engine.at_once)) as done,
    ):
        files = {each.name: store.file(each) for each in (*drawn, *singles)}
        for _, each in done:
            if isinstance(each, Compared):
                found.append(each)
            elif isinstance(each, windows.AckComparison):
                compared_acks.append(each)
            else:
                failed.append(each)
            bar.advance(running)
    return Outcome(
        seed,
        hours,
        uml.facts(),
        files,
        sorted(found, key=lambda each: each.drawn.name),
        sorted(compared_acks, key=lambda each: each.drawn.name),
        impossible,
        sorted(failed),
    )


def as_dict(outcome: Outcome) -> dict[str, object]:
    """Returns the outcome as one JSON object, in SI units."""
    return {
        "seed": outcome.seed,
        "hours": outcome.hours,
        "kernel": dict(outcome.kernel),
        "within_tolerance": outcome.met,
        "within_by_means": sum(each.close for each in outcome.compared),
        "scenarios": [
            {
                "name": each.drawn.name,
                "file": str(outcome.files[each.drawn.name]),
                "within_tolerance": each.met,
                "differences": [
                    {**difference._asdict(), "met": difference.met}
                    for difference in each.differences
                ],
            }
            for each in outcome.compared
        ],
        "acks": [
            {
                "name": each.drawn.name,
                "file": str(outcome.files[each.drawn.name]),
                "acks": each.acks,
                "equal": each.equal,
                "near": each.near,
                "first": each.first._asdict() if each.first else None,
            }
            for each in outcome.acks
        ],
        "impossible": [each._asdict() for each in outcome.impossible],
        "failed": [{"name": name, "error": error} for name, error in outcome.failed],
    }


def _drawn(number: int, seed: int, hours: float) -> tuple[list[Drawn], list[Impossible]]:
    """Draws until `number` scenarios are within the budget; returns the others, too."""
    drawn: list[Drawn] = []
    impossible: list[Impossible] = []
    for place in count(1):
        if len(drawn) == number:
            break
        each = draw(seed, place, hours)
        if isinstance(each, Drawn):
            drawn.append(each)
        else:
            impossible.append(each)
    return drawn, impossible


def _jobs(
    store: Store, drawn: Sequence[Drawn], singles: Sequence[Drawn], seeds: int
) -> list[Callable[[Progress], Compared | AckComparison | tuple[str, str]]]:
    return [
        *(partial(_guarded, partial(_compared, store, each, seeds), each) for each in drawn),
        *(partial(_guarded, partial(_compared_acks, store, each), each) for each in singles),
    ]


def _guarded(
    job: Callable[[Progress], Compared | AckComparison], drawn: Drawn, progress: Progress
) -> Compared | AckComparison | tuple[str, str]:
    """Returns the result of a job, or its scenario's name and the error: one failed scenario leaves the others."""
    try:
        return job(progress)
    except ScenarioError as error:
        return drawn.name, str(error)


def _compared(store: Store, drawn: Drawn, seeds: int, progress: Progress) -> Compared:
    kernel = store.linux(drawn)
    if kernel is None:
        kernel = on_kernel(drawn, progress)
        store.add(drawn, kernel)
    return compare(drawn, kernel, on_simulator(drawn, seeds, progress))


def _compared_acks(store: Store, drawn: Drawn, progress: Progress) -> AckComparison:
    kernel = store.acks(drawn)
    if kernel is None:
        kernel = windows.on_kernel(drawn, progress)
        store.add_acks(drawn, kernel)
    return windows.compare(drawn, kernel, progress)
