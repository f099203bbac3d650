"""Rates at which verdicts are right: simulated pairs of contenders, judged by `fullpipe.stats`.

`python tests/python/verdict_rates.py` prints the tables of docs/reference/statistics.md.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fullpipe import stats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from fullpipe.stats.compare import Comparison

    Draw = Callable[[np.random.Generator, int, float], NDArray[np.float64]]


def _normal(rng: np.random.Generator, size: int, effect: float) -> NDArray[np.float64]:
    return rng.normal(10 + effect, 1, size)


def _skewed(rng: np.random.Generator, size: int, effect: float) -> NDArray[np.float64]:
    return rng.lognormal(0, 1, size) + effect * math.sqrt((math.e - 1) * math.e)


def _ties(rng: np.random.Generator, size: int, effect: float) -> NDArray[np.float64]:
    # Rounding changes neither the mean nor, by effects of halves, the difference of two means.
    return np.round(rng.normal(10 + effect, 1, size) + rng.uniform(-0.5, 0.5, size))


def _scaled(rng: np.random.Generator, size: int, effect: float) -> NDArray[np.float64]:
    # With an effect the shapes differ: the greater values also vary more.
    return rng.lognormal(0, 1, size) * (1 + effect)


_SKEWED, _SCALED = "skewed (lognormal, σ = 1)", "skewed, scaled"
SHAPES: dict[str, Draw] = {
    "normal": _normal,
    _SKEWED: _skewed,
    "with ties (whole numbers)": _ties,
    _SCALED: _scaled,
}
SEEDS = (3, 6, 10, 30)
EFFECTS = (0.0, 0.5, 1.0, 2.0)
_FAMILY, _DIFFERENT = 10, 3


class Rate(NamedTuple):
    """Shares of simulated comparisons."""

    shape: str
    seeds: int
    effect: float
    significant: float
    covered: float


def single(draws: int, seeds: Iterable[int] = SEEDS) -> Iterator[Rate]:
    """Yields the rates of single comparisons; the effect is in standard deviations."""
    rng = np.random.default_rng(1)
    for shape, draw in SHAPES.items():
        for n in seeds:
            for effect in EFFECTS:
                truth = _truth(shape, effect)
                hits = covered = 0
                for _ in range(draws):
                    found = _paired(draw(rng, n, effect), draw(rng, n, 0.0))
                    hits += found.significant
                    covered += found.difference.low <= truth <= found.difference.high
                yield Rate(shape, n, effect, hits / draws, covered / draws)


class FamilyRate(NamedTuple):
    """Shares over families of ten comparisons, after the correction."""

    shape: str
    seeds: int
    effect: float
    """The difference of three of the ten, in standard deviations; with 0 all ten are equal."""
    any_false: float
    """The share of families with a significant difference of equal contenders."""
    false_share: float
    """The mean share of false ones among the significant."""
    missed: float
    """The mean share of intervals of significant differences that miss the truth."""
    power: float
    """The share of the true differences that are significant."""


def families(
    draws: int,
    seeds: Iterable[int] = SEEDS,
    shapes: Iterable[str] = SHAPES,
    effects: Iterable[float] = EFFECTS,
) -> Iterator[FamilyRate]:
    """Yields the rates of families, after the correction."""
    for shape in shapes:
        rng = np.random.default_rng(2)
        draw = SHAPES[shape]
        for n in seeds:
            for effect in effects:
                truths = [_truth(shape, effect)] * _DIFFERENT + [0.0] * (_FAMILY - _DIFFERENT)
                pairs = [effect] * _DIFFERENT + [0.0] * (_FAMILY - _DIFFERENT)
                wrong, shares, missed, power = 0, [], [], []
                for _ in range(draws):
                    found = stats.corrected(
                        [_paired(draw(rng, n, each), draw(rng, n, 0.0)) for each in pairs]
                    )
                    shown = [
                        (each, truth)
                        for each, truth in zip(found, truths, strict=True)
                        if each.significant
                    ]
                    false = sum(truth == 0 for _, truth in shown)
                    misses = sum(
                        not each.difference.low <= truth <= each.difference.high
                        for each, truth in shown
                    )
                    wrong += false > 0
                    shares.append(false / max(len(shown), 1))
                    missed.append(misses / max(len(shown), 1))
                    power.append((len(shown) - false) / _DIFFERENT)
                yield FamilyRate(
                    *(shape, n, effect, wrong / draws),
                    *(float(np.mean(each)) for each in (shares, missed, power)),
                )


def _truth(shape: str, effect: float) -> float:
    """Returns the difference of the means of two contenders."""
    deviation = math.sqrt((math.e - 1) * math.e)
    return effect * {_SKEWED: deviation, _SCALED: math.exp(0.5)}.get(shape, 1.0)


def _paired(one: NDArray[np.float64], other: NDArray[np.float64]) -> Comparison:
    return stats.paired(dict(enumerate(one.tolist())), dict(enumerate(other.tolist())))


def main(draws: int = 10_000) -> None:
    """Prints the tables."""
    print("| Values | Seeds | False alarms | Coverage, least | Power at 0.5, 1, 2 s |")
    print("|---|--:|--:|--:|--:|")
    rates = list(single(draws))
    for start in range(0, len(rates), len(EFFECTS)):
        row = rates[start : start + len(EFFECTS)]
        cells = (
            f"{row[0].shape} | {row[0].seeds}",
            _percent(row[0].significant, 1),
            _percent(min(each.covered for each in row), 1),
            ", ".join(_percent(each.significant, 0) for each in row[1:]),
        )
        print(f"| {' | '.join(cells)} |")
    print(
        "\n| Values | Seeds | Any false, all equal | False of significant, greatest | Intervals that miss, greatest "
        "| Power at 0.5, 1, 2 s |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    every = list(families(max(draws // _FAMILY, 1)))
    for start in range(0, len(every), len(EFFECTS)):
        some = every[start : start + len(EFFECTS)]
        columns = (
            f"{some[0].shape} | {some[0].seeds}",
            _percent(some[0].any_false, 1),
            _percent(max(each.false_share for each in some), 1),
            _percent(max(each.missed for each in some), 1),
            ", ".join(_percent(each.power, 0) for each in some[1:]),
        )
        print(f"| {' | '.join(columns)} |")


def _percent(share: float, places: int) -> str:
    return f"{share * 100:.{places}f} %"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
