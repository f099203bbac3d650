"""The declaration of a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fullpipe.wings.traces.behavior.observed import Observed
    from fullpipe.wings.traces.behavior.rules import Rules

BBR2 = ("bbr2",)
BBR3 = ("bbr3", "bbr3-picoquic-2024-09", "bbr3-picoquic-2024-10")


class Occasion(NamedTuple):
    """One time at which a trace shows whether a rule is kept.

    Attributes:
        time: The time in seconds.
        measured: The measured value.
        within: The least and the greatest accepted value.
        text: The difference in words, if the value is not within; by default made of the condition's `what`.
    """

    time: float
    measured: float
    within: tuple[float, float]
    text: str = ""

    @property
    def kept(self) -> bool:
        """Whether the value is accepted."""
        return self.within[0] <= self.measured <= self.within[1]


@dataclass(frozen=True)
class Condition:
    """A rule, and its measurement on a trace.

    Attributes:
        key: Its name in tables and JSON.
        what: The measured quantity.
        unit: Its unit; may be empty.
        rule: The rule in words.
        sections: The algorithms that have the rule, and its place in their specification.
        needs: The columns of a trace that the measurement takes; "states" are changes of state, "loss" any count of
            losses, and a name with "|" one of several columns.
        occasions: The occasions that it judges, in words, as in "the trace has no …".
        because: The reason for the tolerance.
        measure: Yields the occasions of a trace.
        case: The case of `fullpipe evaluate --suite bbr-draft` that tests the rule in a scenario of its own.
    """

    key: str
    what: str
    unit: str
    rule: str
    sections: Mapping[str, str]
    needs: tuple[str, ...]
    occasions: str
    because: str
    measure: Callable[[Observed, Rules], Iterator[Occasion]]
    case: str = ""

    def lacking(self, trace: Observed) -> list[str]:
        """Returns the needed columns that a trace has not."""
        return [
            need.replace("|", " or ").replace("loss", "count of losses")
            for need in self.needs
            if not any(trace.has(name) for name in need.split("|"))
        ]


def of_versions(section: str, *versions: tuple[str, ...]) -> dict[str, str]:
    """Returns the same section for several algorithms."""
    return {name: section for names in versions for name in names}
