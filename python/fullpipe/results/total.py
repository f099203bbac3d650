"""Sums over all flows of a capture, whose largest flows alone are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEPT, _FLOWS, _BYTES = "flows kept", "flows", "bytes sent"
_PACKETS, _AGAIN = "packets sent", "packets sent again"


class Total(NamedTuple):
    """Sums over all flows."""

    kept: int
    """Flows whose series and metrics are kept: those with the most bytes."""
    flows: int
    bytes: int
    packets: int
    again: int | None
    """Packets sent again; None if a flow can't tell."""

    def __str__(self) -> str:
        """Returns a sentence without its full stop."""
        again = "" if self.again is None else f", {self.again:,} of them again"
        return (
            f"{self.kept} of {self.flows} flows are kept, those with the most bytes; all {self.flows} sent"
            f" {self.bytes / 1e6:,.4g} MB in {self.packets:,} packets{again}"
        )

    def plus(self, other: Total) -> Total:
        """Returns the sums over the flows of both."""
        again = None if self.again is None or other.again is None else self.again + other.again
        return Total(
            self.kept + other.kept,
            self.flows + other.flows,
            self.bytes + other.bytes,
            self.packets + other.packets,
            again,
        )

    def facts(self) -> dict[str, str]:
        """Returns the facts that metrics keep; none if all flows are kept."""
        if self.kept == self.flows:
            return {}
        facts = dict(zip((_KEPT, _FLOWS, _BYTES, _PACKETS), map(str, self[:4]), strict=True))
        return facts if self.again is None else {**facts, _AGAIN: str(self.again)}


def total_of(facts: Mapping[str, str]) -> Total | None:
    """Returns the sums that the facts of metrics have; None if all flows are kept."""
    if _KEPT not in facts:
        return None
    kept, flows, size, packets = (int(facts[each]) for each in (_KEPT, _FLOWS, _BYTES, _PACKETS))
    return Total(kept, flows, size, packets, int(facts[_AGAIN]) if _AGAIN in facts else None)
