"""Executes the runs that are missing in the directory of a sweep, on one or several runners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe import memory
from fullpipe.batch import other_runners
from fullpipe.batch.pool import ENGINES, Step, cores, drain, pooled
from fullpipe.batch.spec import refuse_unsuited
from fullpipe.errors import RunnerError, UnrepeatableError
from fullpipe.programs import left
from fullpipe.results import suited_interval
from fullpipe.results.save import PROGRAMS
from fullpipe.run import unjudged
from fullpipe.runners import is_simulator
from fullpipe.runners.sim import RUNNER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fullpipe import _core
    from fullpipe.batch.pool import Shard
    from fullpipe.batch.spec import SweepSpec
    from fullpipe.progress import Counter
    from fullpipe.runners import Runner
    from fullpipe.sweeps.store import SweepStore
    from fullpipe.sweeps.until import Until

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
        engine: One of :data:`fullpipe.batch.pool.ENGINES`.
        threads: The number of runs at a time; None for one per core.
        until: A rule; repetitions are added, batch by batch, until it holds.
        runners: The runners.
        push: Called several times a second, after changes of the directory.
    """

    directory: Path
    counter: Counter
    command: str
    called: str | None = None
    trace: str | None = None
    engine: str = "local"
    threads: int | None = None
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
        from fullpipe.sweeps.series import FEW, record
        from fullpipe.sweeps.store import SweepStore

        if self.engine not in ENGINES:
            raise ValueError(f"no engine {self.engine!r}; the engines are {', '.join(ENGINES)}")
        simulator = any(map(is_simulator, self.runners))
        # Real-time runs begin last, when no other run can disturb them.
        others = [
            [each for each in self.runners if not is_simulator(each) and each.real_time is clock]
            for clock in (False, True)
        ]
        if any(others) and self.engine != "local":
            raise RunnerError(
                f"--engine {self.engine} runs only the simulator\n  fix: omit --engine or --on"
            )
        recorded = self.trace or ("auto" if spec.plan.points <= FEW else "off")
        if simulator:
            self._refuse(spec)
        for some in others:
            other_runners.refuse(spec, some, lambda scenario: _level(recorded, scenario))
        called, names = self.called or str(self.directory), [each.name for each in self.runners]
        store = SweepStore(self.directory, spec, self.command, called, names)
        runs = packets = 0
        with store.alone():
            for text in store.repaired:
                self.counter.note(text)
            if simulator:
                runs, packets = self._simulate(store)
                if recorded != "off":
                    threads = self.threads or cores()
                    record(spec, self.directory, recorded, threads, self.counter.recorded)
            failures = other_runners.Failures(self.counter.note)
            for some in others:
                done, moved = self._run(store, some, recorded, failures) if some else (0, 0)
                runs, packets = runs + done, packets + moved
        failures.refuse()
        return runs, packets

    def _refuse(self, spec: SweepSpec) -> None:
        refuse_unsuited(spec, self.threads or cores())
        if self.trace:
            first = unjudged(next(spec.scenarios()), controllers=spec.controllers)
            memory.refuse_too_large(first, self.trace)

    def _simulate(self, store: SweepStore) -> tuple[int, int]:
        spec, missing = store.spec, store.missing()
        if not missing:
            return 0, 0
        self._begin(spec, spec.plan.runs, sum(end - first for first, end in missing), "running")
        steps = pooled(spec, missing, SHARD_S, engine=self.engine, threads=self.threads)
        try:
            return drain(steps, self._show, lambda shard: self._add(store, shard))
        except UnrepeatableError:
            store.discard()
            raise

    def _run(
        self,
        store: SweepStore,
        runners: Sequence[Runner],
        recorded: str,
        failures: other_runners.Failures,
    ) -> tuple[int, int]:
        """Executes runs on runners other than the simulator, all real-time ones or none of them."""
        spec = store.spec
        missing = {runner.name: store.missing(runner.name) for runner in runners}
        todo = other_runners.schedule(spec, missing, runners)
        if not todo:
            return 0, 0
        names = ", ".join(each.name for each in runners)
        self._begin(spec, spec.plan.runs * len(runners), len(todo), f"on {names}")

        def level(number: int, scenario: _core.Scenario) -> str:
            return _level(recorded, scenario) if number < spec.plan.points else "off"

        steps = other_runners.steps(
            spec, todo, level=level, threads=self.threads, show=self._show, failures=failures
        )
        return drain(steps, self._show, lambda shard: self._add(store, shard))

    def _begin(self, spec: SweepSpec, total: int, missing: int, what: str) -> None:
        about = f"{spec.plan.seeds[1]} repetitions" if self.until else what
        self.counter.begin(total, total - missing, about)

    def _show(self, step: Step) -> None:
        self.counter.show(step.runs, step.packets, step.left_s)
        self.push()

    def _add(self, store: SweepStore, shard: Shard) -> None:
        from fullpipe.sweeps.series import save

        if shard.run and shard.run.has_trace:  # before the row, which marks the run as finished
            save(shard.run, self.directory, shard.first % store.spec.plan.points)
        if shard.run and shard.run.files is not None:
            left.save(shard.run.files, self.directory / PROGRAMS / f"run-{shard.first}")
        store.add(shard)
        if self.until:  # at once, not after the whole batch
            self.until.refuse_unknown(list(shard.rows))


def _level(recorded: str, scenario: _core.Scenario) -> str:
    return suited_interval(scenario) if recorded == "auto" else recorded
