"""`--until steady`: longer runs, until no number drifts within the measured window."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.stats.sequential import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fullpipe.stats.steady import Steadiness

    Pairs = Sequence[tuple[str, str]]

RULE = "steady"
MOST = 4
"""Number of times that runs are prolonged at most."""


class Length(NamedTuple):
    """The length of runs."""

    duration_s: float
    measure_from_s: float | None
    """End of the warm-up; None where the scenarios differ in it."""
    number: int
    """Number of times that it was prolonged."""
    stops_s: tuple[tuple[int, float], ...] = ()
    """Workloads whose arrivals stop, by number, with the time from there to the end of the run."""

    @property
    def settings(self) -> list[tuple[str, str]]:
        """The settings for this length; none for the scenario's own."""
        if not self.number:
            return []
        return [
            ("duration", f"{self.duration_s:g}s"),
            ("measure_from", f"{self.measure_from_s:g}s"),
            *(
                (f"workload.{number}.stop", f"{self.duration_s - before:.9g}s")
                for number, before in self.stops_s
            ),
        ]

    @property
    def name(self) -> str:
        """The length in a word, for a directory."""
        return f"{self.duration_s:g}s"

    def over(self, settings: Pairs) -> list[tuple[str, str]]:
        """Returns settings with those of this length."""
        mine = self.settings
        return [*(pair for pair in settings if pair[0] not in dict(mine)), *mine]

    def inside(self, place: str) -> str:
        """Returns the place of the results of this length in a directory or a URL."""
        return f"{place.rstrip('/')}/{self.name}"

    def said(self, verdicts: Sequence[Steadiness]) -> str:
        """Returns the outcome in words."""
        begin = "" if self.measure_from_s is None else f"from {self.measure_from_s:g} s "
        window = f"{begin}to {self.duration_s:g} s"
        times = ("not prolonged", "prolonged once", "prolonged twice")
        often = times[self.number] if self.number < len(times) else f"prolonged {self.number} times"
        how = f"{often}, measured {window}"
        if is_drifting(verdicts):
            return f"{how}: still not steady"
        if any(each.verdict == "steady" for each in verdicts):
            return f"{how}: steady"
        return f"{how}: not tested for drift"


def lengths(scenarios: Iterable[str], until: str) -> Iterator[Length]:
    """Yields the lengths to try, one after the other: that of the scenarios, then each twice as long as the last.

    Longer runs are measured in their second half: the length of the last one is their warm-up. Workloads stop as long
    before the end as in the first.

    Args:
        scenarios: Complete scenarios, as TOML.
        until: The rule, "steady".

    Raises:
        RuleError: When there is no such rule, or the scenarios differ in duration or in the stops of workloads.
    """
    if until != RULE:
        raise RuleError(f'{until!r}: not a rule\n  fix: write "{RULE}"')
    texts = list(scenarios)
    durations, begins = (set(each) for each in zip(*map(times_of, texts), strict=True))
    if len(durations) > 1:
        raise RuleError(f"{until}: the points differ in duration\n  fix: give it one value")
    duration = durations.pop()
    stops = {_stops(text, duration) for text in texts}
    if len(stops) > 1:
        raise RuleError(f"{until}: the points differ in workload.N.stop\n  fix: give it one value")
    stopping = stops.pop()
    yield Length(duration, begins.pop() if len(begins) == 1 else None, 0)
    for number in range(1, MOST + 1):
        begin, duration = duration, 2 * duration
        yield Length(duration, begin, number, stopping)


def is_drifting(verdicts: Iterable[Steadiness]) -> bool:
    """Returns whether any number drifts."""
    return any(each.verdict == "drifts" for each in verdicts)


def times_of(scenario: str) -> tuple[float, float]:
    """Returns the duration and the warm-up of a complete scenario, in seconds."""
    import tomllib

    tables = tomllib.loads(scenario)
    duration, begin = (_core.quantity(tables[key]) for key in ("duration", "measure_from"))
    assert duration and begin, "a complete scenario has both"
    return duration[0], begin[0]


def _stops(scenario: str, duration_s: float) -> tuple[tuple[int, float], ...]:
    """Returns the workloads that stop within the run, by number, with the time from there to its end."""
    import tomllib

    found = []
    for number, workload in enumerate(tomllib.loads(scenario).get("workload", [])):
        stop = _core.quantity(workload.get("stop", ""))
        if stop and stop[0] < duration_s:
            found.append((number, duration_s - stop[0]))
    return tuple(found)
