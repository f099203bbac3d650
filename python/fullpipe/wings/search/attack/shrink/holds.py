"""Tests whether conditions hold in a scenario, with several seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe import _core
from fullpipe.algorithms.resolve import described
from fullpipe.base.frame import table
from fullpipe.base.toml import document
from fullpipe.errors import UserError
from fullpipe.results.sums import in_name
from fullpipe.study.checks.judge import judged
from fullpipe.study.engine import HERE, ClusterError
from fullpipe.study.execute import simulated
from fullpipe.study.spec import SweepSpec, refuse_unsuited
from fullpipe.wings.search.attack.shrink.conditions import expanded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fullpipe.study.checkpoint import Checkpoint
    from fullpipe.study.engine import Engine

_SHARD_S = 60.0


class Holds:
    """Runs scenarios and judges conditions.

    A scenario is run with seeds 1 to `seeds`. If nothing in it is random, the runs start at slightly different times,
    as those of `fullpipe check`: a condition that depends on a coincidence does not hold.

    Attributes:
        runs: The number of runs so far, with those of an interrupted command.
    """

    def __init__(
        self,
        seeds: int,
        attacked: str = "",
        unlike: str | None = None,
        tick: Callable[[int], object] = lambda _runs: None,
        engine: Engine = HERE,
        so_far: Checkpoint | None = None,
    ) -> None:
        self.runs = 0
        self._seeds, self._tick, self._engine = seeds, tick, engine
        self._attacked, self._unlike = attacked, unlike
        self._so_far = so_far

    def __call__(self, tables: Mapping[str, Any], keep: Sequence[str]) -> bool:
        """Returns whether the conditions hold with every seed; a scenario that is refused holds none.

        With `unlike` for the attacked algorithm they must fail with every seed.
        """
        return bool(self._once("holds", tables, keep, lambda: self._holds(tables, keep)))

    def _holds(self, tables: Mapping[str, Any], keep: Sequence[str]) -> bool:
        try:
            if self._missed(tables, keep, stop=True):
                return False
            if self._unlike is None:
                return True
            flows = [dict(each) for each in tables.get("flow", [])]
            own = [each for each in flows if each["cc"] == self._attacked]
            for each in own:
                each["cc"] = self._unlike
                each.pop("params", None)
            if not own:
                return False
            other = {**tables, "flow": flows}
            return len(self._missed(other, keep, stop=False)) == self._seeds
        except ClusterError:
            raise
        except (_core.ScenarioError, UserError):
            return False

    def discard(self) -> None:
        """Deletes the answers that are kept: only another scenario or condition helps."""
        if self._so_far:
            self._so_far.discard()

    def missed(self, tables: Mapping[str, Any], keep: Sequence[str]) -> list[int]:
        """Returns the seeds with which a condition does not hold.

        Raises:
            UserError: When a condition does not fit the scenario.
            ScenarioError: When the scenario is refused.
        """
        found: list[int] = self._once(
            "missed", tables, keep, lambda: self._missed(tables, keep, stop=False)
        )
        return found

    def _once(
        self, what: str, tables: Mapping[str, Any], keep: Sequence[str], ask: Callable[[], object]
    ) -> Any:  # noqa: ANN401  (the answer, as JSON)
        """Returns the answer to a question, which is not asked again by the same command."""
        if self._so_far is None:
            return ask()
        key = (what, in_name(f"{list(keep)}\n{document(tables)}".encode()))
        if (there := self._so_far.get(key)) is None:
            before = self.runs
            there = {"answer": ask(), "runs": self.runs - before}
            self._so_far.add(key, there)
        else:
            self.runs += there["runs"]
            self._tick(self.runs)
        return there["answer"]

    def _missed(self, tables: Mapping[str, Any], keep: Sequence[str], *, stop: bool) -> list[int]:
        classes = described([each.get("cc", "") for each in tables.get("flow", [])])
        texts = expanded(keep, tables, classes)
        text = document({**tables, "expect": texts})
        scenario = _core.Scenario.parse(text, "<scenario>", [], controllers=classes)
        spec = self._spec(text, scenario)
        frames: list[pl.DataFrame] = []
        # The first seed alone: most scenarios that hold nothing fail with it.
        for first, end in ((0, 1), (1, spec.plan.runs)) if stop else ((0, spec.plan.runs),):
            if first >= end:
                continue
            steps = simulated(spec, [(first, end)], _SHARD_S, self._engine, again=not stop)
            frames.extend(table(each.shard.rows) for each in steps if each.shard)
            self.runs += end - first
            self._tick(self.runs)
            rows = pl.concat(frames, how="diagonal_relaxed")
            missed = {
                seed
                for each in judged(scenario, rows)
                if not each.met
                for seed in each.failed_seeds
            }
            if missed and stop:
                break
        if spec.plan.runs == 1 and missed:
            return list(range(1, self._seeds + 1))
        return sorted(missed)

    def _spec(self, text: str, scenario: _core.Scenario) -> SweepSpec:
        spec = SweepSpec(text, "<scenario>", repeat=self._seeds, seed=1, points=[[]])
        try:
            spec.plan  # noqa: B018  (made here, to be refused here)
        except _core.ScenarioError:
            if scenario.is_random:
                raise
            # It sets its jitter to zero: all runs would be the same.
            spec = SweepSpec(text, "<scenario>", repeat=1, seed=1, points=[[]])
        refuse_unsuited(spec, min(self._engine.at_once, spec.plan.runs))
        return spec
