"""Runs criteria, each as a sweep of its own, and reduces the rows to one value per cell, contender and seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from fullpipe import _core
from fullpipe._core import ScenarioError
from fullpipe.runners.sim import RUNNER
from fullpipe.stats import Quantity, columns_asked, harm, quantity, rates_per_window
from fullpipe.stats.quantity import known_names
from fullpipe.study.evaluation.suite import VARIATION
from fullpipe.study.execute import refuse_points
from fullpipe.study.spec import SweepSpec
from fullpipe.study.sweeps.dataset import Sweep
from fullpipe.study.sweeps.show import warned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fullpipe.runners import Runner
    from fullpipe.study.evaluation.suite import Criterion

    BySeed = Mapping[int, float]

SHARE = Quantity(VARIATION, "variation of the rate", "%", 100.0, -1)
"""Standard deviation of a flow's goodput in seconds, divided by its mean (RFC 5166 §2.4 asks for the oscillation)."""
_HARM_SCALE = 100.0
_SAMPLED = "100ms"


@dataclass(frozen=True)
class Contender:
    """An algorithm or a queue, with its parameters.

    Attributes:
        name: Its name.
        params: Its parameters.
    """

    name: str
    params: Mapping[str, object] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its name, with the parameters."""
        return ", ".join([self.name, *(f"{name} = {value}" for name, value in self.params.items())])


@dataclass(frozen=True)
class Measured:
    """The values of a criterion.

    Attributes:
        values: The judged metric, by cell and contender's label, and by seed, in SI units.
        also: Further metrics of the evidence, alike, by metric.
        expected: The seeds.
        points: The point of the sweep by cell and contender's label.
        directory: The directory of the sweep.
        warnings: The number of runs with a warning, by runner and warning.
        refused: The reason why the runs can't be made; then there are no values.
    """

    values: Mapping[tuple[int, str], BySeed] = field(default_factory=dict)
    also: Mapping[str, Mapping[tuple[int, str], BySeed]] = field(default_factory=dict)
    expected: tuple[int, ...] = ()
    points: Mapping[tuple[int, str], int] = field(default_factory=dict)
    directory: Path | None = None
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
    runs = _runs(criterion, tested, baselines)
    try:
        for cell in range(len(criterion.cells)):
            _spec(criterion, [(cell, tested)], seeds[:1]).plan  # noqa: B018  (checks the points)
        refuse_points(_spec(criterion, runs, seeds[:1]), [runner], lambda _: "off")
    except ScenarioError as error:
        for cell in range(len(criterion.cells)):
            for each in baselines:  # a mistake in the scenario or in an axis
                _spec(criterion, [(cell, each)], seeds[:1]).plan  # noqa: B018
        return Measured(refused=error.problem)
    points = {(cell, each.label): number for number, (cell, each) in enumerate(runs)}
    if criterion.metric == VARIATION:
        values = _variations(criterion, runs, seeds, place, execute)
        return Measured(values, {}, tuple(seeds), points, place)
    execute(_spec(criterion, runs, seeds), place, "off")
    rows = Sweep(place).frame().filter(pl.col("seed").is_in(list(seeds)))  # it may have more
    numbers = pl.DataFrame(
        {
            "point": list(points.values()),
            "cell": [cell for cell, _ in points],
            "contender": [label for _, label in points],
        },
        schema_overrides={"point": rows.schema["point"]},
    )
    rows = rows.join(numbers, on="point")
    metrics = {name: _values(criterion, rows, name) for name in (criterion.metric, *criterion.also)}
    judged = metrics[criterion.metric]
    if criterion.against:
        judged = _against(criterion, judged)
    return Measured(
        judged,
        {name: metrics[name] for name in criterion.also},
        tuple(seeds),
        points,
        place,
        warned(Sweep(place)),
    )


def _variations(
    criterion: Criterion,
    runs: Sequence[tuple[int, Contender]],
    seeds: Sequence[int],
    place: Path,
    execute: Callable[[SweepSpec, Path, str], object],
) -> dict[tuple[int, str], dict[int, float]]:
    """Records every run over time, a sweep for each seed, and returns the variation of the goodput."""
    found: dict[tuple[int, str], dict[int, float]] = {}
    for seed in seeds:
        inside = variation_directory(place, seed)
        execute(_spec(criterion, runs, [seed]), inside, _SAMPLED)
        sweep = Sweep(inside)
        for number, (cell, contender) in enumerate(runs):
            tables = criterion.tables(criterion.cells[cell], contender.name)
            start, end = (_seconds(tables[key]) for key in ("measure_from", "duration"))
            flows = sweep.series(number).filter(
                pl.col("flow").cast(pl.String).str.contains(rf"^{criterion.of}(-\d+)?$")
            )
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


def shown(criterion: Criterion, metric: str | None = None) -> Quantity:
    """Returns the quantity of the judged metric, or of another one of the criterion."""
    name = metric or criterion.metric
    column = known_names().get(name, name)
    known = SHARE if name == VARIATION else quantity(column)
    assert known is not None
    if metric is None and criterion.against == "harm":
        return Quantity("harm", f"harm to the other flow's {known.words}", "%", _HARM_SCALE, -1)
    if metric is None and criterion.against == "more":
        return known._replace(words=f"increase of the other flow's {known.words}")
    return known


def _runs(
    criterion: Criterion, tested: Contender, baselines: Sequence[Contender]
) -> list[tuple[int, Contender]]:
    """Returns cells with contenders: the tested one, the baselines, and the own kind of a cell's neighbor."""
    found = []
    for number, cell in enumerate(criterion.cells):
        own = [Contender(cell[criterion.neighbor])] if criterion.against else []
        every = {each.label: each for each in (tested, *baselines, *own)}
        found += [(number, each) for each in every.values()]
    return found


def _spec(
    criterion: Criterion, runs: Sequence[tuple[int, Contender]], seeds: Sequence[int]
) -> SweepSpec:
    cells = criterion.cells
    (first, contender), *_ = runs
    return SweepSpec(
        criterion.written(cells[first], contender.name),
        criterion.name,
        points=[criterion.settings(cells[cell], each.name, each.params) for cell, each in runs],
        repeat=len(seeds),
        seed=seeds[0],
    )


def _values(
    criterion: Criterion, rows: pl.DataFrame, metric: str
) -> dict[tuple[int, str], dict[int, float]]:
    """Returns one value of a metric by cell and contender, and by seed; runs without a value are left out."""
    there = [name for name in rows.columns if rows[name].null_count() < rows.height]
    own = rows.filter(pl.col("flow").cast(pl.String).str.contains(rf"^{criterion.of}(-\d+)?$"))
    known = known_names().get(metric, metric)
    if known not in there and not any(each.endswith(f".{known}") for each in there):
        return {}
    column = columns_asked([metric], there)[0]  # the flow's, or else that of the only link
    reduced = {
        "mean": pl.col(column).mean(),
        "least": pl.col(column).min(),
        "most": pl.col(column).max(),
    }[criterion.over]
    found: dict[tuple[int, str], dict[int, float]] = {}
    each = own.group_by("cell", "contender", "seed").agg(
        value=pl.when(pl.col(column).null_count() == 0).then(reduced.cast(pl.Float64))
    )
    for cell, contender, seed, value in each.drop_nulls("value").sort(pl.all()).iter_rows():
        found.setdefault((cell, contender), {})[seed] = value
    return found


def _against(
    criterion: Criterion, values: Mapping[tuple[int, str], BySeed]
) -> dict[tuple[int, str], dict[int, float]]:
    """Returns the values compared with those of the same flow next to its own kind, seed by seed.

    The reference of harm is the flow's own kind.
    """
    found: dict[tuple[int, str], dict[int, float]] = {}
    name = known_names().get(criterion.metric, criterion.metric)
    of = quantity(name)
    better = of.better if of else 1
    for (cell, contender), by_seed in values.items():
        own = values.get((cell, criterion.cells[cell][criterion.neighbor]), {})
        found[(cell, contender)] = {
            seed: _compared(criterion.against, value, own[seed], better)
            for seed, value in by_seed.items()
            if seed in own
        }
    return found


def _compared(how: str, value: float, own: float, better: int) -> float:
    return value - own if how == "more" else harm(value, own, better)
