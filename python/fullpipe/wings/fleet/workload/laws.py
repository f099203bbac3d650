"""Distributions of flow sizes for fitting, in the notation of a scenario's `[[workload]]`.

`crates/workload` (Rust) draws random sizes from them. Sizes are in bytes. The distribution "by
bytes" is that of the size of the flow to which a random byte belongs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]


def size_text(size: int) -> str:
    """Formats a size exactly in the notation of scenarios, such as 18.2kB."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.12g}{unit}"
    return f"{size}B"


class Law(Protocol):
    """A distribution of sizes."""

    @property
    def text(self) -> str:
        """The value of `model` in a `[[workload]]`."""
        ...

    @property
    def largest(self) -> float:
        """Size of the largest possible flow."""
        ...

    def below(self, sizes: Values) -> Values:
        """Returns the share of flows up to each size."""
        ...

    def bytes_below(self, sizes: Values) -> Values:
        """Returns the share of bytes in flows up to each size."""
        ...

    def mean(self) -> float:
        """Returns the mean size."""
        ...


@dataclass(frozen=True)
class BoundedPareto:
    """A Pareto distribution cut off at two bounds, between which its density falls as `x ** -(shape + 1)`."""

    shape: float
    least: int
    most: int

    @property
    def text(self) -> str:
        """The value of `model` in a `[[workload]]`."""
        return f"bounded_pareto shape {self.shape:g} min {size_text(self.least)} max {size_text(self.most)}"

    @property
    def largest(self) -> float:
        """Size of the largest possible flow."""
        return float(self.most)

    def below(self, sizes: Values) -> Values:
        """Returns the share of flows up to each size."""
        inside = np.clip(sizes, self.least, self.most)
        return np.asarray(
            (1 - (self.least / inside) ** self.shape) / (1 - (self.least / self.most) ** self.shape)
        )

    def bytes_below(self, sizes: Values) -> Values:
        """Returns the share of bytes in flows up to each size."""
        inside = np.clip(sizes, self.least, self.most)
        if abs(self.shape - 1) < 1e-9:
            return np.asarray(np.log(inside / self.least) / np.log(self.most / self.least))
        power = 1 - self.shape
        whole = float(self.most) ** power - float(self.least) ** power
        return np.asarray((inside**power - float(self.least) ** power) / whole)

    def mean(self) -> float:
        """Returns the mean size."""
        whole = 1 - (self.least / self.most) ** self.shape
        if abs(self.shape - 1) < 1e-9:
            return float(self.least * np.log(self.most / self.least) / whole)
        power = 1 - self.shape
        spread = float(self.most) ** power - float(self.least) ** power
        return float(self.shape / power * float(self.least) ** self.shape * spread / whole)


@dataclass(frozen=True)
class Part:
    """A component of a lognormal mixture; sigma is that of the natural logarithm."""

    share: float
    median: int
    sigma: float


@dataclass(frozen=True)
class Lognormal:
    """A mixture of lognormal distributions, cut off at `most`."""

    parts: tuple[Part, ...]
    most: int

    @property
    def text(self) -> str:
        """The value of `model` in a `[[workload]]`."""
        several = len(self.parts) > 1
        parts = (
            (f"share {part.share * 100:g}% " if several else "")
            + f"median {size_text(part.median)} sigma {part.sigma:g} max {size_text(self.most)}"
            for part in self.parts
        )
        return "lognormal " + ", ".join(parts)

    @property
    def largest(self) -> float:
        """Size of the largest possible flow."""
        return float(self.most)

    def below(self, sizes: Values) -> Values:
        """Returns the share of flows up to each size."""
        return self._sum(sizes, [part.share for part in self.parts], 0.0)

    def bytes_below(self, sizes: Values) -> Values:
        """Returns the share of bytes in flows up to each size."""
        means = np.array([part.share * self._mean(part) for part in self.parts])
        return self._sum(sizes, list(means / means.sum()), 1.0)

    def mean(self) -> float:
        """Returns the mean size."""
        return float(sum(part.share * self._mean(part) for part in self.parts))

    def _sum(self, sizes: Values, weights: list[float], moment: float) -> Values:
        """Returns the weighted sum of the components' distributions.

        With `moment` 1, each is weighted by size: again lognormal, with a mean logarithm higher by sigma².
        """
        from scipy.special import ndtr

        total = np.zeros_like(sizes)
        inside = np.log(np.clip(sizes, 1, self.most))
        for part, weight in zip(self.parts, weights, strict=True):
            center = np.log(part.median) + moment * part.sigma**2
            cut = ndtr((np.log(self.most) - center) / part.sigma)
            total += weight * np.where(sizes < 1, 0, ndtr((inside - center) / part.sigma)) / cut
        return total

    def _mean(self, part: Part) -> float:
        from scipy.special import ndtr

        cut = np.log(self.most / part.median) / part.sigma
        return float(part.median * np.exp(part.sigma**2 / 2) * ndtr(cut - part.sigma) / ndtr(cut))
