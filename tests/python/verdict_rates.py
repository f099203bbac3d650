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


SHAPES: dict[str, Draw] = {
    "normal": _normal,
    "skewed (lognormal, σ = 1)": _skewed,
    "with ties (whole numbers)": _ties,
    "skewed, scaled": _scaled,
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
                truth = draw(rng, 1_000_000, effect).mean() if shape == "skewed, scaled" else 0.0
                none = math.exp(0.5)
                deviation = (
                    math.sqrt((math.e - 1) * math.e) if shape.startswith("skewed (") else 1.0
                )
                truth = truth - none if shape == "skewed, scaled" else effect * deviation
                hits = covered = 0
                for _ in range(draws):
                    found = _paired(draw(rng, n, effect), draw(rng, n, 0.0))
                    hits += found.significant
                    covered += found.difference.low <= truth <= found.difference.high
                yield Rate(shape, n, effect, hits / draws, covered / draws)


class FamilyRate(NamedTuple):
    """Shares over families of ten comparisons."""

    seeds: int
    different: int
    """The number of comparisons with a difference of one standard deviation."""
    any_false: float
    """The share of families with a significant difference of equal contenders."""
    false_share: float
    """The mean share of false ones among the significant."""
    missed: float
    """The mean share of intervals of significant differences that miss the truth."""
    power: float
    """The share of the true differences that are significant."""


def families(draws: int, seeds: Iterable[int] = SEEDS) -> Iterator[FamilyRate]:
    """Yields the rates of families, after the correction."""
    rng = np.random.default_rng(2)
    for n in seeds:
        for different in (0, _DIFFERENT):
            effects = [1.0] * different + [0.0] * (_FAMILY - different)
            wrong, shares, missed, power = 0, [], [], []
            for _ in range(draws):
                found = stats.corrected(
                    [_paired(_normal(rng, n, effect), _normal(rng, n, 0.0)) for effect in effects]
                )
                shown = [
                    (each, effect)
                    for each, effect in zip(found, effects, strict=True)
                    if each.significant
                ]
                false = sum(effect == 0 for _, effect in shown)
                misses = sum(
                    not each.difference.low <= effect <= each.difference.high
                    for each, effect in shown
                )
                wrong += false > 0
                shares.append(false / max(len(shown), 1))
                missed.append(misses / max(len(shown), 1))
                power.append((len(shown) - false) / max(different, 1))
            yield FamilyRate(
                n,
                different,
                wrong / draws,
                float(np.mean(shares)),
                float(np.mean(missed)),
                float(np.mean(power)),
            )


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
        "\n| Seeds | Different | Any false | False of significant | Intervals that miss | Power |"
    )
    print("|--:|--:|--:|--:|--:|--:|")
    for each in families(draws):
        columns = (
            f"{each.seeds} | {each.different} of {_FAMILY}",
            *(_percent(share, 1) for share in (each.any_false, each.false_share, each.missed)),
            _percent(each.power, 0) if each.different else "",
        )
        print(f"| {' | '.join(columns)} |")


def _percent(share: float, places: int) -> str:
    return f"{share * 100:.{places}f} %"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
