"""The control of a comparison of programs: each program twice, as if it were two, in the same random order.

The machine is a part of a run in real time. A difference between two programs that is no larger than that between two
arms with the same program says nothing about the programs.

All controls of a comparison are corrected together: of comparisons on a steady machine, at most 5 % have an alarm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fullpipe.results.sweep import load_sweep
from fullpipe.stats.compare import LEAST_PAIRS, corrected, paired

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.stats.compare import Comparison

PART = "control"
"""The directory of its runs."""
ARMS = ("first", "second")
"""The names of the flow in both arms."""
KEYS = ("flow.0.cc", "flow.0.name")
"""The keys that its sweep varies: the program, and the arm."""
METRICS = ("goodput_bps", "queue_delay_s.p95")


class Control(NamedTuple):
    """Both arms of a program.

    Attributes:
        program: Its name, as the `cc` of a flow.
        column: The metric.
        comparison: The second arm compared with the first, by seed, corrected for the number of controls.
    """

    program: str
    column: str
    comparison: Comparison

    @property
    def percent(self) -> tuple[float, float, float]:
        """The difference and its interval, in percent of the first arm."""
        scale = 100 / self.comparison.b if self.comparison.b else float("nan")
        value, low, high = (each * scale for each in self.comparison.difference)
        return value, low, high

    @property
    def is_alarm(self) -> bool:
        """Whether the arms differ significantly, though the program is the same."""
        return self.comparison.significant


def controls(directory: Path) -> list[Control]:
    """Returns the controls of a comparison, by program and metric; none for fewer than three repetitions."""
    if not (directory / PART).exists():
        return []
    frame = load_sweep(directory / PART).rows
    found = []
    for program in frame["cc"].unique(maintain_order=True):
        for column in METRICS:
            arms = []
            for arm in ARMS:
                rows = frame.filter((frame["cc"] == program) & (frame["flow"] == arm))
                known = zip(rows["seed"], rows[column], strict=True)
                arms.append({seed: value for seed, value in known if value is not None})
            first, second = arms
            if len(first.keys() & second.keys()) >= LEAST_PAIRS:
                found.append(Control(program, column, paired(second, first)))
    after = corrected([each.comparison for each in found])
    return [
        each._replace(comparison=comparison) for each, comparison in zip(found, after, strict=True)
    ]
