"""What is to be run, from what a command or a program asks for."""

from __future__ import annotations

import hashlib
import shlex
import sys
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.controllers import given, named, sources
from fullpipe.errors import refusal
from fullpipe.memory import available

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe.controllers import Given

    Pairs = Sequence[tuple[str, str]]

FORMAT = 1
"""Of the data set; another number when its files mean something else."""
_CHUNK = 1000


@cache
def build() -> str:
    """A fingerprint of the program that runs: its version and its compiled core, 16 hexadecimal digits."""
    digest = hashlib.sha256(_core.__version__.encode())
    digest.update(Path(_core.__file__).read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class SweepSpec:
    """What :meth:`fullpipe._core.SweepPlan.make` makes a plan of: it can be sent to another process."""

    text: str
    file: str
    fixed: Pairs = ()
    axes: Sequence[tuple[str, Sequence[str]]] = ()
    given: Pairs = ()
    together: Sequence[str] = ()
    sample: int | None = None
    repeat: int | None = None
    seed: int | None = None
    points: Sequence[Pairs] | None = None
    controllers: Mapping[str, type] = field(default_factory=dict)

    @cached_property
    def plan(self) -> _core.SweepPlan:
        """The plan, each of its points checked.

        Raises:
            ScenarioError: When something is wrong, in any point.
        """
        # all but text and file
        options = {each.name: getattr(self, each.name) for each in fields(self)[2:]}
        return _core.SweepPlan.make(
            self.text, self.file, **{**options, "controllers": self.classes}
        )

    @cached_property
    def classes(self) -> Given:
        """The algorithms in Python that it names.

        Raises:
            ScenarioError: When there is no such class.
        """
        settings = [
            *self.fixed,
            *self.given,
            *(pair for point in self.points or () for pair in point),
        ]
        settings += [(key, value) for key, values in self.axes for value in values]
        return given(named(self.text, settings), self.controllers)

    @cached_property
    def identity(self) -> str:
        """A fingerprint of all that decides what comes out of a run, the program among it, 16 hexadecimal digits.

        Specs that differ in nothing but a larger number of repetitions have the same.
        """
        digest = hashlib.sha256(f"{FORMAT} {build()}\n".encode())
        digest.update(sources(self.classes))
        for text in self.scenarios():
            digest.update(f"{text}\n".encode())
        return digest.hexdigest()[:16]

    def scenarios(self) -> Iterator[str]:
        """The scenario of each point, with the first seed: all that is in it, and what it takes from files, as TOML."""
        for first in range(0, self.plan.points, _CHUNK):
            yield from self.plan.scenarios(first, first + _CHUNK)


def refuse_too_large(spec: SweepSpec, threads: int) -> None:
    """Compares what so many runs side by side may need with what is free.

    Raises:
        ScenarioError: When it is too much.
    """
    (needed, point), free = spec.plan.memory, available()
    if free is None or needed * threads <= free:
        return
    settings = ", ".join(f"{key}={value}" for key, value in spec.plan.settings(point))
    problem = (
        f"a run of point {point} ({settings}) may need {needed / 1e9:.1f} GB of memory, "
        f"there are {threads} at a time, and {free / 1e9:.1f} GB are free"
    )
    fix = "use fewer threads, or lower path.rate, path.rtt, path.buffer or the number of flows"
    raise refusal(problem, fix, file=spec.file)


def command_line() -> str:
    """What was typed."""
    return shlex.join(["fullpipe", *sys.argv[1:]])
