"""Measures scenarios for a goal."""

from __future__ import annotations

import copy
import json
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe import _core
from fullpipe.algorithms.rehearsal import rehearse
from fullpipe.algorithms.resolve import described, kind_of
from fullpipe.base.memory import refuse_too_large
from fullpipe.base.toml import document
from fullpipe.results.sums import in_name
from fullpipe.run import Run
from fullpipe.stats import harm
from fullpipe.study.cells import HERE
from fullpipe.study.engine import HERE as LOCAL
from fullpipe.study.engine import RAY
from fullpipe.study.execute import Source, results
from fullpipe.wings.search.attack.goals import CALM_S, Measurement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.runners import Progress
    from fullpipe.study.engine import Engine
    from fullpipe.wings.search.attack.goals import Goal

Tables = dict[str, Any]
_NAME = "<attack>"
"""The name of a scenario in errors."""


@dataclass(frozen=True)
class Target:
    """An attacked algorithm.

    Attributes:
        cc: Its name, or that of a class.
        params: Its parameters.
        than: The algorithm that fares better, which the search compares it with; None for none.
    """

    cc: str
    params: Mapping[str, object] = field(default_factory=dict)
    than: str | None = None

    @cached_property
    def classes(self) -> Any:  # noqa: ANN401  (what the core takes)
        """The classes in Python that it names."""
        return described([each for each in (self.cc, self.than) if each])

    @property
    def is_own(self) -> bool:
        """Whether it names code of the user: a class, or a library."""
        kinds = map(kind_of, filter(None, (self.cc, self.than)))
        return any(kind is not None and kind.is_code for kind in kinds)


@dataclass(frozen=True)
class Value:
    """The value of a scenario for a goal.

    Attributes:
        own: The value of the attacked algorithm; None if the scenario says nothing.
        other: That of the algorithm that it is compared with; None without one.
        score: The smaller, the worse.
        metrics: A hash of all metrics of the attacked algorithm's run: two runs may differ and have the same value.
    """

    own: float | None
    other: float | None = None
    score: float = float("inf")
    metrics: str = ""


def suited(goal: Goal, tables: Tables) -> Tables:
    """Changes a scenario so that it fits a goal, and returns it: disturbances end, and there are enough flows."""
    own = [each for each in tables["flow"] if each["cc"] == HERE]
    there = sum(int(each.get("count", 1)) for each in own)
    if there < goal.flows:
        own[0]["count"] = goal.flows - there + int(own[0].get("count", 1))
    if goal.passing:
        tables["measure_from"] = f"{CALM_S:g}s"
        _calm(tables)
    return tables


def _calm(tables: Tables) -> None:
    """Undoes all changes of the path at :data:`CALM_S`."""
    path = tables["path"]
    changed = {key for each in path.get("change", []) for key in each if key != "at"}
    if changed:
        usual = {"loss": "0%", "jitter": "off"}
        undone = {key: path.get(key, usual.get(key)) for key in sorted(changed)}
        path["change"].append({"at": f"{CALM_S:g}s", **undone})


def filled(tables: Tables, cc: str, params: Mapping[str, object] | None = None) -> Tables:
    """Returns a scenario with an algorithm as the attacked one."""
    made = copy.deepcopy(tables)
    for flow in made["flow"]:
        if flow["cc"] == HERE:
            flow["cc"] = cc
            if params:
                flow["params"] = dict(params)
    return made


def of_own_kind(tables: Tables) -> Tables:
    """Returns a scenario in which the attacked flows have the algorithm of the first neighbor."""
    kind = next(each["cc"] for each in tables["flow"] if each["cc"] not in (HERE, "none"))
    return filled(tables, kind)


def run(
    tables: Tables,
    classes: Any,  # noqa: ANN401
    trace: str,
    progress: Progress | None = None,
    file: str = _NAME,
) -> Run:
    """Runs a scenario; its files are named relative to `file`.

    Raises:
        ScenarioError: When it is refused.
    """
    scenario = _core.Scenario.parse(document(tables), file, [], controllers=classes)
    refuse_too_large(scenario, trace)
    rehearse(scenario.controllers)
    return Run(scenario, _core.run(scenario, trace, progress), trace)


def measured(
    tested: Target,
    goal: Goal,
    tables: Tables,
    progress: Progress | None = None,
    file: str = _NAME,
) -> Value:
    """Returns the value of a scenario; one that is refused has none.

    Args:
        tested: The algorithm.
        goal: The goal.
        tables: The scenario, with :data:`fullpipe.study.cells.HERE` as the algorithm.
        progress: Ends the run by an exception.
        file: The name of the scenario in errors, relative to which it names files.
    """

    def ran(of: Tables) -> Run:
        return run(of, tested.classes, goal.trace, progress, file)

    def value(made: Run) -> float | None:
        return goal.value(Measurement(made, tables))

    try:
        attacked = ran(filled(tables, tested.cc, tested.params))
        own = value(attacked)
        if own is None:
            return Value(None)
        metrics = in_name(json.dumps(attacked.metrics).encode())
        other = None
        if goal.compares:
            own, other = _harm(own, value(ran(of_own_kind(tables)))), None
            if own is None:
                return Value(None)
        if tested.than:
            other = value(ran(filled(tables, tested.than)))
            if other is not None and goal.compares:
                other = _harm(other, value(ran(of_own_kind(tables))))
            if other is None:
                return Value(None)
            return Value(own, other, goal.score(own) - goal.score(other), metrics)
    except _core.ScenarioError:
        return Value(None)
    return Value(own, other, goal.score(own), metrics)


def _harm(value: float, own_kind: float | None) -> float | None:
    return None if own_kind is None else harm(value, own_kind)


class Measured(NamedTuple):
    """The values of scenarios.

    Attributes:
        values: The values.
        elsewhere_s: The CPU time of their runs outside of this process, in seconds.
    """

    values: list[Value]
    elsewhere_s: float


@dataclass(frozen=True)
class _Trial:
    """A scenario to measure, as a job."""

    tested: Target
    goal: Goal
    tables: Tables
    file: str = _NAME

    @property
    def source(self) -> Source:
        """The scenario with the attacked algorithm; a setting names the other one."""
        tested = self.tested
        other = (("flow.0.cc", tested.than),) if tested.than else ()
        return Source(document(filled(self.tables, tested.cc, tested.params)), self.file, other)

    def moved(self, file: str) -> _Trial:
        """Returns the same under another name, without imported classes."""
        return replace(self, file=file, tested=replace(self.tested))

    def __call__(self, progress: Progress | None) -> tuple[Value, float]:
        """Returns the value, and the CPU time of this thread."""
        begun = time.thread_time()
        value = measured(self.tested, self.goal, self.tables, progress, self.file)
        return value, time.thread_time() - begun


def measure(
    tested: Target, goal: Goal, scenarios: Sequence[Tables], engine: Engine = LOCAL
) -> Measured:
    """Returns the values of scenarios.

    Raises:
        ClusterError: When the Ray cluster can't execute the runs.
    """
    jobs = [_Trial(tested, goal, each) for each in scenarios]
    found: list[Value] = [Value(None)] * len(jobs)
    cpu_s = 0.0
    with closing(results(jobs, engine)) as done:
        for number, (value, took_s) in done:
            found[number] = value
            cpu_s += took_s
    return Measured(found, cpu_s if engine.name == RAY else 0.0)
