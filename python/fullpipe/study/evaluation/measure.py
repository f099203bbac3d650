"""Runs criteria, each as a sweep of its own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from fullpipe import _core
from fullpipe._core import ScenarioError
from fullpipe.runners.sim import RUNNER
from fullpipe.stats import rates_per_window
from fullpipe.stats.steady import by_point
from fullpipe.study.execute import refuse_points
from fullpipe.study.sweeps.dataset import Sweep
from fullpipe.study.sweeps.show import warned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fullpipe.runners import Runner
    from fullpipe.stats.steady import Steadiness
    from fullpipe.study.evaluation.suite import Criterion
    from fullpipe.study.question import BySeed, Contender, Number, Runs
    from fullpipe.study.spec import SweepSpec

_SAMPLED = "100ms"


@dataclass(frozen=True)
class Measured:
    """The values of a criterion.

    Attributes:
        values: The judged number, by cell and contender's label, and by seed, in SI units.
        also: The other numbers of the evidence, alike.
        expected: The seeds.
        points: The point of the sweep by cell and contender's label.
        directory: The directory of the sweep.
        steadiness: Whether the tested contender's judged number is steady within the window, by cell.
        warnings: The number of runs with a warning, by runner and warning.
        refused: The reason why the runs can't be made; then there are no values.
    """

    values: Mapping[tuple[int, str], BySeed] = field(default_factory=dict)
    also: Mapping[Number, Mapping[tuple[int, str], BySeed]] = field(default_factory=dict)
    expected: tuple[int, ...] = ()
    points: Mapping[tuple[int, str], int] = field(default_factory=dict)
    directory: Path | None = None
    steadiness: Mapping[int, Steadiness] = field(default_factory=dict)
    warnings: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: str = ""


def measured(
    criterion: Criterion,
    tested: Contender,
    baselines: Sequence[Contender],
    seeds: Sequence[int],
    place: Path,
    execute: Callable[[SweepSpec, Path, str], object],
    runner: Runner = RUNNER,
) -> Measured:
    """Executes the missing runs of a criterion.

    Args:
        criterion: The criterion.
        tested: The algorithm.
        baselines: The algorithms next to it in tables.
        seeds: The seeds, one after the other.
        place: The directory of the criterion's sweep.
        execute: Executes a sweep in a directory, with a trace level, on the runner.
        runner: The runner.

    Raises:
        FileExistsError: When the directory has runs of another build or of other points.
        ScenarioError: When the criterion's scenario is refused with a baseline.
        OSError: When the directory can't be written.
    """
    runs = criterion.runs([tested, *baselines])
    try:
        for cell in range(len(criterion.cells)):
            criterion.spec([(cell, tested)], seeds[:1]).plan  # noqa: B018  (checks the points)
        refuse_points(criterion.spec(runs, seeds[:1]), [runner], lambda _: "off")
    except ScenarioError as error:
        for cell in range(len(criterion.cells)):
            for each in baselines:  # a mistake in the scenario or in an axis
                criterion.spec([(cell, each)], seeds[:1]).plan  # noqa: B018
        return Measured(refused=error.problem)
    points = {(cell, each.label): number for number, (cell, each) in enumerate(runs)}
    if criterion.is_recorded:
        values = _variations(criterion, runs, seeds, place, execute)
        return Measured(values, {}, tuple(seeds), points, place)
    execute(criterion.spec(runs, seeds), place, "off")
    rows = Sweep(place).frame().filter(pl.col("seed").is_in(list(seeds)))  # it may have more
    numbers = criterion.values(runs, rows)
    judged = numbers.pop(criterion.judged)
    steady = _steadiness(criterion.judged, tested, points, rows)
    return Measured(judged, numbers, tuple(seeds), points, place, steady, warned(Sweep(place)))


def _steadiness(
    number: Number,
    tested: Contender,
    points: Mapping[tuple[int, str], int],
    rows: pl.DataFrame,
) -> dict[int, Steadiness]:
    """Returns the verdict on a number of the tested contender by cell, if its course is tested."""
    own = {point: cell for (cell, label), point in points.items() if label == tested.label}
    rows = rows.filter(pl.col("point").is_in(list(own)))
    flows = {
        int(str(point)): some["flow_index"].unique().to_list()
        for (point,), some in rows.filter(number.flows).group_by("point")
    }
    found = {
        own[point]: verdict.about(
            [(number.alone.column, flow) for flow in flows.get(point, [None])]
        )
        for point, verdict in by_point(rows).items()
    }
    return {cell: verdict for cell, verdict in found.items() if verdict.verdict}


def _variations(
    criterion: Criterion,
    runs: Runs,
    seeds: Sequence[int],
    place: Path,
    execute: Callable[[SweepSpec, Path, str], object],
) -> dict[tuple[int, str], dict[int, float]]:
    """Records every run over time, a sweep for each seed, and returns the variation of the goodput."""
    found: dict[tuple[int, str], dict[int, float]] = {}
    for seed in seeds:
        inside = variation_directory(place, seed)
        execute(criterion.spec(runs, [seed]), inside, _SAMPLED)
        sweep = Sweep(inside)
        for number, (cell, contender) in enumerate(runs):
            tables = criterion.tables(criterion.cells[cell], contender.name)
            start, end = (_seconds(tables[key]) for key in ("measure_from", "duration"))
            flows = sweep.series(number).filter(criterion.judged.flows)
            progress = [
                (each["time"].to_numpy(), each["delivered"].cast(pl.Float64).to_numpy())
                for each in flows.partition_by("flow")
            ]
            _, rates = rates_per_window(progress, start, end)
            means = rates.mean(axis=1)
            if (means > 0).all():
                found.setdefault((cell, contender.label), {})[seed] = float(
                    (rates.std(axis=1) / means).mean()
                )
    return found


def variation_directory(place: Path, seed: int) -> Path:
    """Returns the directory of the runs of one seed, if runs are recorded over time."""
    return place / f"seed-{seed}"


def _seconds(text: str) -> float:
    known = _core.quantity(text)
    assert known is not None
    return known[0]
