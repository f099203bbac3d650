"""`fullpipe list`."""

import os
from enum import StrEnum
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

from fullpipe import _core
from fullpipe.commands.declare import Argument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.catalogue import Named


class Kind(StrEnum):
    """Kinds of names that a scenario can have."""

    ALGORITHMS = "algorithms"
    QUEUES = "queues"
    IMPAIRMENTS = "impairments"
    PROFILES = "profiles"
    METRICS = "metrics"
    SCENARIOS = "scenarios"
    TESTS = "tests"
    LESSONS = "lessons"
    PROGRAMS = "programs"


def command(
    kind: Annotated[Kind, Argument(metavar="KIND", help="Kind of the names to list.")],
) -> None:
    """List names: algorithms, profiles, scenarios, ….

    Prints one line per entry: its name, as scenarios and options take it, and its purpose. A
    profile is a named network path, an impairment a pattern of loss, delay or rate. The names of
    metrics are those of --show; scenarios are those of the package, which run, sweep and check take
    by name; tests are those of `fullpipe test`, lessons those
    of `fullpipe explore`. A program is a recipe for [[program]], with its version here or the
    command that installs it.

    Examples:
        fullpipe list algorithms
        fullpipe list profiles
        fullpipe list metrics
        fullpipe list scenarios
        fullpipe list tests
        fullpipe list lessons
        fullpipe list programs
    """
    from fullpipe.catalogue import lessons, metrics, names, programs, scenarios, tests

    width = (
        get_terminal_size().columns if os.isatty(1) else None
    )  # one line per entry, for other programs
    listed: dict[Kind, Callable[[], Sequence[Named]]] = {
        Kind.ALGORITHMS: _core.algorithms,
        Kind.QUEUES: _core.queues,
        Kind.IMPAIRMENTS: _core.impairments,
        Kind.PROFILES: _core.profiles,
        Kind.METRICS: metrics,
        Kind.SCENARIOS: scenarios,
        Kind.TESTS: tests,
        Kind.LESSONS: lessons,
        Kind.PROGRAMS: programs,
    }
    print(names(listed[kind](), width))
