"""Fills the directory of a sweep: what is missing, on the runners that are asked for."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe import memory
from fullpipe.errors import RunnerError
from fullpipe.results import suited_interval
from fullpipe.run import load
from fullpipe.runners.sim import RUNNER
from fullpipe.sweeps import elsewhere
from fullpipe.sweeps.engines import cores
from fullpipe.sweeps.plan import refuse_too_large

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe import _core
    from fullpipe.progress import Counter
    from fullpipe.runners import Runner
    from fullpipe.sweeps.plan import Recipe
    from fullpipe.sweeps.store import Store
    from fullpipe.sweeps.until import Until

ENGINES = ("local", "ray")
SHARD_S = 1.0
"""What is lost when all is killed: about so much work."""


def fill(
    recipe: Recipe,
    directory: Path,
    counter: Counter,
    *,
    command: str,
    called: str | None = None,
    trace: str | None = None,
    engine: str = "local",
    threads: int | None = None,
    until: Until | None = None,
    runners: Sequence[Runner] = (RUNNER,),
) -> tuple[int, int]:
    """Runs what is missing in a directory; gives how many runs that were, and how many packets they moved.

    With `until` it adds repetitions to the recipe's, batch by batch.

    Raises:
        What :func:`sweep` raises; NoRayError when Ray is asked for and not installed.
    """
    runs = packets = 0
    for step in until.steps(recipe, directory) if until else [recipe]:
        filling = _Filling(
            step, directory, counter, command, called, trace, engine, threads, until, runners
        )
        done, moved = filling.fill()
        runs, packets = runs + done, packets + moved
    return runs, packets


@dataclass(frozen=True)
class _Filling:
    """What :func:`fill` is told, for one batch of repetitions."""

    recipe: Recipe
    directory: Path
    counter: Counter
    command: str
    called: str | None
    trace: str | None
    engine: str
    threads: int | None
    until: Until | None
    runners: Sequence[Runner]

    def fill(self) -> tuple[int, int]:
        from fullpipe.sweeps import elsewhere
        from fullpipe.sweeps.series import FEW, record
        from fullpipe.sweeps.store import Store

        if self.engine not in ENGINES:
            raise ValueError(f"no engine {self.engine!r}; there are {', '.join(ENGINES)}")
        recipe = self.recipe
        simulator = [runner for runner in self.runners if runner.name == "sim"]
        # Those on a machine's clock last, when nothing else goes on.
        others = [
            [
                runner
                for runner in self.runners
                if runner not in simulator and runner.real_time is kind
            ]
            for kind in (False, True)
        ]
        if any(others) and self.engine != "local":
            raise RunnerError(
                f"--engine {self.engine} runs the simulator only\n  fix: leave --engine out, or --on"
            )
        recorded = self.trace or ("auto" if recipe.plan.points <= FEW else "off")
        if simulator:
            refuse_too_large(recipe, self._threads)
            if self.trace:
                memory.refuse_too_large(
                    load(next(recipe.scenarios()), controllers=recipe.controllers), self.trace
                )
        for some in others:
            elsewhere.refuse(recipe, some, lambda scenario: _level(recorded, scenario))
        store = Store(
            self.directory,
            recipe,
            self.command,
            self.called or str(self.directory),
            [each.name for each in self.runners],
        )
        runs = packets = 0
        with store.alone():
            if simulator:
                runs, packets = self._simulate(store)
                if recorded != "off":
                    record(recipe, self.directory, recorded, self._threads, self.counter.recorded)
            for some in others:
                done, moved = self._run(store, some, recorded) if some else (0, 0)
                runs, packets = runs + done, packets + moved
        return runs, packets

    @property
    def _threads(self) -> int:
        return self.threads or cores()

    def _simulate(self, store: Store) -> tuple[int, int]:
        from fullpipe.sweeps.engines import local, on_ray

        recipe, missing = self.recipe, store.missing()
        runs = packets = 0
        if missing:
            self._begin(recipe.plan.runs, sum(end - first for first, end in missing), "running")
            if self.engine == "ray":
                engine = on_ray(recipe, missing, SHARD_S)
            else:
                engine = local(recipe, missing, self._threads, SHARD_S)
            with closing(engine) as steps:
                for step in steps:
                    runs, packets = step.runs, step.packets
                    self.counter.show(runs, packets)
                    if step.shard:
                        store.add(*step.shard)
                        if self.until:  # soon, not behind the whole batch
                            self.until.refuse_unknown(list(step.shard[2]))
        return runs, packets

    def _run(self, store: Store, runners: Sequence[Runner], recorded: str) -> tuple[int, int]:
        """The runs on others than the simulator, all of them on a machine's clock or none."""
        from fullpipe.sweeps.series import keep

        recipe, points = self.recipe, self.recipe.plan.points
        todo = elsewhere.jobs(
            recipe, {runner.name: store.missing(runner.name) for runner in runners}, runners
        )
        if not todo:
            return 0, 0
        self._begin(
            recipe.plan.runs * len(runners),
            len(todo),
            f"on {', '.join(each.name for each in runners)}",
        )

        def level(job: elsewhere.Job, scenario: _core.Scenario) -> str:
            return _level(recorded, scenario) if job.number < points else "off"  # of the first seed

        def tick(left: elsewhere.Left) -> None:
            self.counter.show(left.runs, left.packets, left.seconds)

        if runners[0].real_time:
            finished = elsewhere.one_by_one(recipe, todo, level, tick)
        else:
            finished = elsewhere.side_by_side(recipe, todo, self._threads, level, tick)
        runs = packets = 0
        with closing(finished):
            for each in finished:
                runs, packets = runs + 1, packets + each.run.metrics["packets"]
                if each.run.has_trace:  # before the row, with which the run is done
                    keep(each.run, self.directory, each.job.number % points)
                store.add(
                    each.job.number, each.job.number + 1, each.rows, each.job.runner.name, each.more
                )
                if self.until:
                    self.until.refuse_unknown(list(each.rows))
        return runs, packets

    def _begin(self, total: int, missing: int, what: str) -> None:
        about = f"{self.recipe.plan.seeds[1]} repetitions" if self.until else what
        self.counter.begin(total, total - missing, about)


def _level(recorded: str, scenario: _core.Scenario) -> str:
    return suited_interval(scenario) if recorded == "auto" else recorded
