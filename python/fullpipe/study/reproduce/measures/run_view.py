"""The interface of a run that measures use. :class:`fullpipe.Run` has it; tests write their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from fullpipe.base.metrics import Metrics


class Setting(Protocol):
    """The path of a run."""

    @property
    def rate_bps(self) -> int:
        """The rate of the bottleneck, in bit/s."""

    @property
    def rtt_s(self) -> float:
        """The path's two-way propagation delay, in seconds."""


class RunView(Protocol):
    """A finished run."""

    @property
    def metrics(self) -> Metrics:
        """Like :attr:`fullpipe.Run.metrics`."""

    @property
    def scenario(self) -> Setting:
        """Like :attr:`fullpipe.Run.scenario`."""

    def trace(self, table: str = "flows") -> pl.DataFrame:
        """Like :meth:`fullpipe.Run.trace`."""


def known(value: float | None, factor: float = 1.0) -> float:
    """Returns `value` times `factor`, or NaN for None."""
    return float("nan") if value is None else value * factor


SHARES: set[str] = set()
"""Names of the measures from 0 to 1, at which their intervals end."""


def share(measure: Callable[[RunView, int], float]) -> Callable[[RunView, int], float]:
    """Marks a measure from 0 to 1."""
    SHARES.add(measure.__name__)
    return measure
