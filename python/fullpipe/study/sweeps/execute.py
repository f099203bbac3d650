"""Executes the runs that are missing in the directory of a sweep, on one or several runners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe.algorithms.programs import left
from fullpipe.base import memory
from fullpipe.errors import UnrepeatableError, UserError
from fullpipe.results import suited_interval
from fullpipe.results.save import PROGRAMS
from fullpipe.run import unjudged
from fullpipe.runners.sim import RUNNER
from fullpipe.study.engine import HERE, drain
from fullpipe.study.execute import Failures, parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fullpipe import _core
    from fullpipe.base.progress import Counter
    from fullpipe.runners import Runner
    from fullpipe.study.engine import Engine, Shard, Step
    from fullpipe.study.execute import Part
    from fullpipe.study.spec import SweepSpec
    from fullpipe.study.sweeps.series import First
    from fullpipe.study.sweeps.store import SweepStore
    from fullpipe.study.sweeps.until import Until

SHARD_S = 1.0
"""Approximate seconds of work in a shard, which are lost when the process is killed."""


@dataclass(frozen=True)
class Execution:
    """The execution of a sweep.

    Attributes:
        directory: The directory for its shards.
        counter: Shows the progress.
        command: The command or call, for the directory's `sweep.json`.
        called: The directory's name in errors.
        trace: The trace level of the first seed; None for a suitable interval if there are few points.
        engine: Where the runs execute.
        until: A rule; repetitions are added, batch by batch, until it holds.
        runners: The runners.
        push: Called several times a second, after changes of the directory.
    """

    directory: Path
    counter: Counter
    command: str
    called: str | None = None
    trace: str | None = None
    engine: Engine = HERE
    until: Until | None = None
    runners: Sequence[Runner] = (RUNNER,)
    push: Callable[[], object] = lambda: None

    def run(self, spec: SweepSpec) -> tuple[int, int]:
        """Executes the missing runs; returns their number, and the packets that they moved.

        Raises:
            The errors of :func:`fullpipe.sweep`; ClusterError when the Ray cluster can't execute
            the runs.
        """
        runs = packets = 0
        for step in self.until.steps(spec, self.directory) if self.until else [spec]:
            done, moved = self._batch(step)
            runs, packets = runs + done, packets + moved
        return runs, packets

    def _batch(self, spec: SweepSpec) -> tuple[int, int]:
        """Executes a sweep, or one batch of its repetitions."""
        from fullpipe.study.sweeps.series import (
            FEW,
            First,
            record,
            record_transfers,
            without_transfers,
        )
        from fullpipe.study.sweeps.store import SweepStore

        executed = parts(spec, self.runners, self.engine)
        trace = self.trace or ("auto" if spec.plan.points <= FEW else "off")
        recorded, transfers = without_transfers(trace)
        if transfers:
            _refuse_transfers(spec, executed)
        for part in executed:
            part.refuse(lambda scenario: level_of(recorded, scenario))
            if part.is_simulated and self.trace and recorded != "off":
                first = unjudged(next(spec.scenarios()), controllers=spec.controllers)
                memory.refuse_too_large(first, recorded)
        called, names = self.called or str(self.directory), [each.name for each in self.runners]
        store = SweepStore(self.directory, spec, self.command, called, names, trace)
        runs = packets = 0
        with store.alone():
            for text in store.repaired:
                self.counter.note(text)
            failures = Failures(self.counter.note)
            for part in executed:
                traced = part.is_simulated and recorded != "off"
                once = (
                    First.of(spec, self.directory, store.missing(RUNNER.name)) if traced else None
                )
                try:
                    done, moved = self._run(store, part, recorded, failures, once)
                    runs, packets = runs + done, packets + moved
                    if traced:
                        record(
                            spec, self.directory, recorded, self.engine, self.counter.recorded, once
                        )
                    if part.is_simulated and transfers:
                        record_transfers(spec, self.directory, self.engine, self.counter.recorded)
                except UnrepeatableError:
                    store.discard()
                    raise
            store.seal()
        failures.refuse()
        return runs, packets

    def _run(
        self,
        store: SweepStore,
        part: Part,
        recorded: str,
        failures: Failures,
        once: First | None,
    ) -> tuple[int, int]:
        """Executes the missing runs of a part; `once` takes the row of its run."""
        spec = store.spec
        missing = {runner.name: store.missing(runner.name) for runner in part.runners}
        left = sum(end - first for ranges in missing.values() for first, end in ranges)
        if not left:
            return 0, 0
        self._begin(spec, spec.plan.runs * len(part.runners), left, part.doing)

        def level(number: int, scenario: _core.Scenario) -> str:
            return level_of(recorded, scenario) if number < spec.plan.points else "off"

        clocked = any(each.real_time for each in part.runners)

        def add(shard: Shard) -> None:
            if once:
                once.take(shard)
            self._add(store, shard, clocked)

        steps = part.steps(
            missing,
            SHARD_S,
            level=level,
            show=self._show,
            failures=failures,
            again=once is None,
        )
        return drain(steps, self._show, add)

    def _begin(self, spec: SweepSpec, total: int, missing: int, what: str) -> None:
        about = f"{spec.plan.seeds[1]} repetitions" if self.until else what
        self.counter.begin(total, total - missing, about)

    def _show(self, step: Step) -> None:
        self.counter.show(step.runs, step.packets, step.left_s)
        self.push()

    def _add(self, store: SweepStore, shard: Shard, real_time: bool) -> None:
        from fullpipe.study.sweeps.series import save

        if shard.run and shard.run.has_trace:  # before the row, which marks the run as finished
            save(shard.run, self.directory, shard.first % store.spec.plan.points)
        if shard.run and shard.run.files is not None:
            left.save(shard.run.files, self.directory / PROGRAMS / f"run-{shard.first}")
        store.add(shard, real_time=real_time)
        if self.until:  # at once, not after the whole batch
            self.until.refuse_unknown(list(shard.rows))


def _refuse_transfers(spec: SweepSpec, executed: Sequence[Part]) -> None:
    """Refuses transfers of runs that have none, or of other runners.

    Raises:
        UserError: With the reason and the fix.
    """
    if not all(part.is_simulated for part in executed):
        raise UserError(
            "--trace transfers: only the simulator repeats a run exactly\n  fix: leave out --on, or write --trace 10ms"
        )
    if not unjudged(next(spec.scenarios()), controllers=spec.controllers).workloads:
        raise UserError(
            "--trace transfers: the scenario has no [[workload]], whose transfers these are\n"
            "  fix: add one, or write --trace 10ms"
        )


def level_of(recorded: str, scenario: _core.Scenario) -> str:
    """Returns the trace level of a scenario; `auto` is a suitable interval."""
    return suited_interval(scenario) if recorded == "auto" else recorded
