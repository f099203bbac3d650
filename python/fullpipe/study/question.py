"""A question: cells with contenders, the numbers of their runs, and one value for each cell, contender and seed.

`evaluate` asks about one contender next to baselines, and judges the first number; the observatory asks about all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import polars as pl

from fullpipe.stats import Quantity, columns_asked, harm, quantity
from fullpipe.stats.quantity import known_names
from fullpipe.study.cells import Cells
from fullpipe.study.spec import SweepSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    BySeed = Mapping[int, float]
    Runs = Sequence[tuple[int, "Contender"]]
    """The number of a cell with a contender, for each point of a sweep."""

TESTED = "tested"
"""The usual name of the flows that a question is about."""
VARIATION = "rate_variation"
"""The metric that is computed from a run over time: coefficient of variation of the goodput in seconds."""
_SHARE = Quantity(VARIATION, "variation of the rate", "%", 100.0, -1)
"""Standard deviation of a flow's goodput in seconds, divided by its mean (RFC 5166 §2.4 asks for the oscillation)."""


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
class Number:
    """A number of a run.

    Attributes:
        metric: The metric, as `--show` takes it, or :data:`VARIATION`.
        of: The flows or workloads with the metric: their name, without a number.
        over: The value of several flows: their mean, the least or the most.
        against: The reference of a value: `"harm"` and `"more"` compare the flow with the same one next to its own
            kind, as a share or a difference.
    """

    metric: str
    of: str = TESTED
    over: Literal["mean", "least", "most"] = "mean"
    against: Literal["", "harm", "more"] = ""

    @property
    def name(self) -> str:
        """Its name in a table: that of its metric, or `harm`."""
        return self.against if self.against == "harm" else self.metric

    @property
    def quantity(self) -> Quantity:
        """Its words, unit, scale and better side."""
        if self.against == "harm":
            # Ware et al., "Beyond Jain's Fairness Index" (HotNets 2019). Below zero the other flow is better off.
            words = f"harm to the other flow's {self.alone.words}"
            return Quantity("harm", words, "%", 100.0, -1)
        if self.against == "more":
            return self.alone._replace(words=f"increase of the other flow's {self.alone.words}")
        return self.alone

    @property
    def alone(self) -> Quantity:
        """The quantity of its metric, of one run alone."""
        known = _SHARE if self.metric == VARIATION else quantity(self._known)
        assert known is not None
        return known

    @property
    def flows(self) -> pl.Expr:
        """Selects the rows of its flows or workloads."""
        return pl.col("flow").cast(pl.String).str.contains(rf"^{self.of}(-\d+)?$")

    @property
    def _known(self) -> str:
        return known_names().get(self.metric, self.metric)

    def values(self, rows: pl.DataFrame) -> dict[tuple[int, str], dict[int, float]]:
        """Returns its value by cell and contender, and by seed; a run without one is left out.

        Args:
            rows: A row per flow and run, with the columns `cell` and `contender`.
        """
        there = [name for name in rows.columns if rows[name].null_count() < rows.height]
        if self._known not in there and not any(each.endswith(f".{self._known}") for each in there):
            return {}
        column = columns_asked([self.metric], there)[0]  # the flow's, or else that of the only link
        reduced = {
            "mean": pl.col(column).mean(),
            "least": pl.col(column).min(),
            "most": pl.col(column).max(),
        }[self.over]
        found: dict[tuple[int, str], dict[int, float]] = {}
        each = (
            rows.filter(self.flows)
            .group_by("cell", "contender", "seed")
            .agg(value=pl.when(pl.col(column).null_count() == 0).then(reduced.cast(pl.Float64)))
        )
        for cell, contender, seed, value in each.drop_nulls("value").sort(pl.all()).iter_rows():
            found.setdefault((cell, contender), {})[seed] = value
        return found


@dataclass(frozen=True, kw_only=True)
class Question(Cells):
    """Cells with numbers of their runs.

    Attributes:
        name: Its name in options and directories.
        title: Its subject.
        question: The question that its numbers answer.
        numbers: The numbers, the most important one first.
        neighbor: The axis that names the algorithm of the flow that a number is `against`.
    """

    name: str
    title: str
    question: str
    numbers: Sequence[Number] = ()
    neighbor: str = ""

    @property
    def own_kind(self) -> str:
        """The axis of the neighbor, next to whose own kind each cell runs, too; empty if no number is compared."""
        return self.neighbor if any(each.against for each in self.numbers) else ""

    def runs(self, contenders: Sequence[Contender]) -> Runs:
        """Returns each cell with the contenders, and with the own kind of its neighbor if a number needs that."""
        found = []
        for number, cell in enumerate(self.cells):
            own = [Contender(cell[self.own_kind])] if self.own_kind else []
            every = {each.label: each for each in (*contenders, *own)}
            found += [(number, each) for each in every.values()]
        return found

    def spec(self, runs: Runs, seeds: Sequence[int]) -> SweepSpec:
        """Returns the sweep with a point for each of the runs, and seeds that follow each other."""
        (first, contender), *_ = runs
        return SweepSpec(
            self.written(self.cells[first], contender.name),
            self.name,
            points=[self.settings(self.cells[cell], each.name, each.params) for cell, each in runs],
            repeat=len(seeds),
            seed=seeds[0],
        )

    def values(
        self, runs: Runs, rows: pl.DataFrame
    ) -> dict[Number, dict[tuple[int, str], dict[int, float]]]:
        """Returns the value of each number by cell and contender's label, and by seed, in SI units.

        Args:
            runs: The runs of the sweep.
            rows: A row per flow and run of the sweep.
        """
        numbers = pl.DataFrame(
            {
                "point": list(range(len(runs))),
                "cell": [cell for cell, _ in runs],
                "contender": [each.label for _, each in runs],
            },
            schema_overrides={"point": rows.schema["point"]},
        )
        rows = rows.join(numbers, on="point")
        found = {each: each.values(rows) for each in self.numbers}
        return {each: self._against(each, of) if each.against else of for each, of in found.items()}

    def _against(
        self, number: Number, values: Mapping[tuple[int, str], BySeed]
    ) -> dict[tuple[int, str], dict[int, float]]:
        """Returns the values compared with those of the same flow next to its own kind, seed by seed."""
        better = number.alone.better
        found: dict[tuple[int, str], dict[int, float]] = {}
        for (cell, contender), by_seed in values.items():
            own = values.get((cell, self.cells[cell][self.neighbor]), {})
            found[(cell, contender)] = {
                seed: value - own[seed]
                if number.against == "more"
                else harm(value, own[seed], better)
                for seed, value in by_seed.items()
                if seed in own
            }
        return found
