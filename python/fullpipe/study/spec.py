"""The specification of a sweep, from the arguments of a command or a function."""

from __future__ import annotations

import hashlib
import shlex
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.algorithms.plugins import used
from fullpipe.algorithms.resolve import code, described
from fullpipe.base.build import build
from fullpipe.base.memory import available
from fullpipe.errors import refusal
from fullpipe.results.about import SWEEP_FORMAT
from fullpipe.runners import of_kind
from fullpipe.scenario.origin import ALGORITHMS, of_algorithms
from fullpipe.study.shipped import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe._core import _Rows
    from fullpipe.algorithms.classes import Given
    from fullpipe.study.shipped import Move

    Pairs = Sequence[tuple[str, str]]

_CHUNK = 1000
_LOOK_UP_S = 0.1
_ENDLESS_S = 1e9


class Planned(ABC):
    """A dataclass that makes a plan, in this process or in a worker that it is sent to.

    Attributes:
        text: Its text, TOML.
        file: The name of its text in errors; other files are named relative to it.
    """

    text: str
    file: str

    @property
    @abstractmethod
    def settings(self) -> Pairs:
        """Further keys and values, as `--set` takes them."""

    @property
    @abstractmethod
    def classes(self) -> Given:
        """The Python classes that it names as algorithms."""

    @property
    @abstractmethod
    def plugins(self) -> Sequence[_core.Plugin]:
        """The loaded libraries that it may name."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """A fingerprint of everything that the results of a run depend on."""

    @property
    @abstractmethod
    def plan(self) -> _core.SweepPlan | _core.PopulationPlan:
        """The plan."""

    @property
    def sources(self) -> list[Source]:
        """The scenario or the population, for :mod:`fullpipe.study.shipped`."""
        return [Source(self.text, self.file, self.settings)]

    def moved(self, to: Move) -> Any:  # noqa: ANN401  (the dataclass)
        """Returns the same with another name of its text, and without its plan."""
        return replace(self, file=to(self.file))  # type: ignore[type-var]

    def prepare(self) -> None:
        """Makes the plan.

        Raises:
            ScenarioError: When it is refused.
        """
        self.plan  # noqa: B018

    def work(self, first: int, end: int) -> tuple[_Rows, int]:
        """Executes a range of runs, on one thread; returns their rows, and the packets that they moved."""
        running = self.plan.start([(first, end)], 1, _ENDLESS_S)
        while not (shard := running.next(_LOOK_UP_S)):
            if shard is False:
                raise RuntimeError("the threads ended without a result")
        return shard[2], running.packets


@dataclass(frozen=True)
class SweepSpec(Planned):
    """The arguments of :meth:`fullpipe._core.SweepPlan.make`, in a form that can be sent to another process."""

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
    whole: Sequence[str] = ()
    controllers: Mapping[str, type] = field(default_factory=dict)
    jitter: Sequence[tuple[str, str, str]] | None = None
    """The jitter that complete scenarios have already, added when they were made; None without complete scenarios."""

    @cached_property
    def plan(self) -> _core.SweepPlan:
        """The plan, with all points checked.

        Raises:
            ScenarioError: When any point has an error.
        """
        # All fields except text, file and jitter.
        options = {each.name: getattr(self, each.name) for each in fields(self)[2:-1]}
        try:
            return _core.SweepPlan.make(
                self.text, self.file, **{**options, "controllers": self.classes}
            )
        except _core.ScenarioError as error:
            raise self._of_some(error) from None

    def _of_some(self, error: _core.ScenarioError) -> _core.ScenarioError:
        """Returns an error, whose fix names an algorithm that takes the refused parameter if the flow has several."""
        values = [*self.axes, *((key, text.split(",")) for key, text in self.given)]
        for key, value in (*self.fixed, *self.given):
            flow, of_params, name = key.partition(".params.")
            if of_params and key == error.key:
                names = [each for axis, those in values if axis == f"{flow}.cc" for each in those]
                return for_one(error, names, name, value)
        return error

    @cached_property
    def classes(self) -> Given:
        """The Python classes that the sweep names as algorithms.

        Raises:
            ScenarioError: When there is no such class.
        """
        return described(self.algorithms, self.controllers)

    @cached_property
    def algorithms(self) -> list[str]:
        """The names of algorithms in its text and its settings."""
        several = ((self.text, self.settings), *((text, ()) for text in self.whole))
        names = (name for each in several for name in _core.algorithm_names(*each))
        return list(dict.fromkeys(names))

    @property
    def added_jitter(self) -> Sequence[tuple[str, str, str]]:
        """Key, least and largest value of the jitter added so that repetitions differ."""
        return self.plan.added_jitter if self.jitter is None else self.jitter

    @property
    def plugins(self) -> list[_core.Plugin]:
        """The loaded libraries that the sweep names."""
        return used(self.algorithms)

    @property
    def settings(self) -> Pairs:
        """All keys and values besides the text."""
        return [
            *self.fixed,
            *self.given,
            *(pair for point in self.points or () for pair in point),
            *((key, value) for key, values in self.axes for value in values),
        ]

    @cached_property
    def identity(self) -> str:
        """A fingerprint of everything that the results depend on, the program included, 16 hexadecimal digits.

        Specs that differ only in the number of repetitions have the same identity.
        """
        digest = hashlib.sha256(f"{SWEEP_FORMAT} {build()}\n".encode())
        digest.update(code(self.algorithms, self.classes))
        for text in self.scenarios():
            digest.update(f"{text}\n".encode())
        return digest.hexdigest()[:16]

    def scenarios(self) -> Iterator[str]:
        """Yields the complete scenario of each point as TOML, with the first seed and the contents of files."""
        if self.whole:
            yield from self.whole
            return
        for first in range(0, self.plan.points, _CHUNK):
            yield from self.plan.scenarios(first, first + _CHUNK)


def for_one(
    error: _core.ScenarioError, names: Sequence[str], name: str, value: str
) -> _core.ScenarioError:
    """Returns the error of a parameter that not all of several algorithms take, with the spelling for one that does."""
    for each in names if len(names) > 1 else ():
        one = f"{each}:{name}={value}"
        with suppress(_core.ScenarioError):
            SweepSpec(of_algorithms([one]), ALGORITHMS).plan  # noqa: B018  (refused or not)
            fix = f"write {one} for this algorithm alone; {error.fix}"
            place = str(error).partition(f": {error.problem}")[0]
            return refusal(error.problem, fix, file=error.file, key=error.key, place=place)
    return error


def refuse_unsuited(spec: SweepSpec, threads: int) -> None:
    """Checks that the simulator can run a sweep: its algorithms, and within the free memory.

    Raises:
        ScenarioError: When it does not run a flow's kind of algorithm, or too little memory is free for `threads` runs.
    """
    try:
        spec.plan.simulated()
    except _core.ScenarioError as error:
        raise of_kind(error) from None
    refuse_too_large(spec.plan, spec.file, threads)


def refuse_too_large(plan: _core.SweepPlan, file: str, threads: int) -> None:
    """Compares the memory that `threads` runs of a plan may need with the free memory.

    Raises:
        ScenarioError: When too little is free.
    """
    (needed, point), free = plan.memory, available()
    if free is None or needed * threads <= free:
        return
    settings = ", ".join(f"{key}={value}" for key, value in plan.settings(point))
    of = f" of point {point} ({settings})" if settings else ""
    at_once = f"{threads} run at a time, " if threads > 1 else ""
    problem = (
        f"a run{of} may need {needed / 1e9:.1f} GB of memory, {at_once}"
        f"and {free / 1e9:.1f} GB are free"
    )
    fewer = "use fewer threads, or " if threads > 1 else ""
    fix = f"{fewer}lower path.rate, path.rtt, path.buffer or the number of flows"
    raise refusal(problem, fix, file=file)


def command_line() -> str:
    """Returns the command line of this process."""
    return shlex.join(["fullpipe", *sys.argv[1:]])
