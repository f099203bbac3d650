"""Simulates a study of a fleet, and judges each claim under each assumption."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.study.engine import HERE
from fullpipe.study.verdicts.estimate import Estimate
from fullpipe.study.verdicts.judged import Judged, Verdict, held
from fullpipe.wings.fleet.population.execute import execute
from fullpipe.wings.fleet.population.spec import PopulationSpec, population
from fullpipe.wings.fleet.study.measures import OF_MORE, OF_ONE, arms, first, lower_loss

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from fullpipe.base.progress import Counter
    from fullpipe.study.engine import Engine
    from fullpipe.wings.fleet.study.measures import Arm, Values
    from fullpipe.wings.fleet.study.published import ArmClaim, FleetStudy

_RESAMPLES = 200
_SEED = 1


@dataclass(frozen=True)
class FleetOutcome:
    """Verdicts on all claims.

    Attributes:
        claims: Verdicts under the population of the study.
        fewer: Verdicts under the same population, on only as many paths as the assumptions have.
        assumptions: Verdicts under each alternative assumption, by name.
        arms: The connections that the claims are about.
    """

    claims: tuple[Judged[ArmClaim], ...]
    fewer: tuple[Judged[ArmClaim], ...]
    assumptions: Mapping[str, tuple[Judged[ArmClaim], ...]]
    arms: Mapping[str, Arm]


def specs(study: FleetStudy, paths: int | None = None) -> dict[str, PopulationSpec]:
    """Returns the populations to simulate: the base population under an empty name, others by name.

    Args:
        study: The study to run.
        paths: Number of paths of the base population, instead of the study's; also an upper limit for
            the other populations.

    Raises:
        FileNotFoundError: When there is no such population.
    """
    text, file = population(study.preset)
    whole = paths or study.paths
    scenario, few = tomllib.loads(text)["scenario"], min(whole, study.fewer)

    def with_flows(flows: str) -> str:
        return text.replace(scenario, scenario + flows, 1)

    return {"": PopulationSpec(text, file, study.arms, whole)} | {
        each.name: PopulationSpec(with_flows(each.flows), file, study.arms, few, changes=each.set)
        for each in study.assumptions
    }


def run(
    study: FleetStudy,
    directory: Path,
    counter: Counter,
    paths: int | None = None,
    engine: Engine = HERE,
) -> FleetOutcome:
    """Simulates all populations into folders of a directory, and judges the claims.

    Raises:
        ScenarioError: When a population is invalid.
        OSError: When the directory can't be written.
    """
    judged = {}
    found: dict[str, Arm] = {}
    fewer = min(paths or study.paths, study.fewer)
    for name, spec in specs(study, paths).items():
        folder = directory / (name or study.preset)
        execute(spec, folder, counter, command=f"fullpipe reproduce {study.name}", engine=engine)
        connections = arms(folder, study.least_bytes)
        judged[name] = _all(study, connections)
        found = connections if not name else found
    return FleetOutcome(judged.pop(""), _all(study, first(found, fewer)), judged, found)


def _all(study: FleetStudy, connections: Mapping[str, Arm]) -> tuple[Judged[ArmClaim], ...]:
    return tuple(judge(claim, connections) for claim in study.claims)


def judge(claim: ArmClaim, connections: Mapping[str, Arm]) -> Judged[ArmClaim]:
    """Judges a claim by the connections of its arms."""
    ours = estimate(claim, [connections[arm] for arm in claim.of])
    came_to = held(ours, claim.within, claim.report)
    if claim.report is None and math.isnan(ours.value):
        came_to = (Verdict.SKIPPED, None, "no data to compare")
    return Judged(claim, claim.case, claim.metric, claim.published, ours, claim.within, *came_to)


def estimate(claim: ArmClaim, of: list[Arm]) -> Estimate:
    """Estimates a claim's number with a 95 % bootstrap interval, resampling paths with all of their arms."""
    rng = np.random.default_rng(_SEED)
    paths = len(of[0]["loss"])

    def value(rows: NDArray[np.intp] | None) -> float:
        drawn = of if rows is None else [_Drawn(arm, rows) for arm in of]
        if claim.measure not in OF_ONE:
            return lower_loss(drawn[0], drawn[1])
        numbers = [OF_ONE[claim.measure](arm) for arm in drawn]
        return OF_MORE[claim.compare][1](*numbers) if claim.compare else numbers[0]

    with np.errstate(divide="ignore", invalid="ignore"):
        again = [value(rng.integers(paths, size=paths)) for _ in range(_RESAMPLES)]
        known = [each for each in again if math.isfinite(each)]
        low, high = (
            np.quantile(known, [0.025, 0.975])
            if len(known) > _RESAMPLES // 2
            else (math.nan, math.nan)
        )
        return Estimate(value(None), low=float(low), high=float(high))


class _Drawn(dict[str, "Values"]):
    """Some rows of an arm; columns are computed on demand, since most are never used."""

    def __init__(self, arm: Arm, rows: NDArray[np.intp]) -> None:
        super().__init__()
        self._arm, self._rows = arm, rows

    def __missing__(self, name: str) -> Values:
        values = self[name] = self._arm[name][self._rows]
        return values
