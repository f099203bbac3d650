"""`fullpipe list`."""

import os
from enum import StrEnum
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

from fullpipe import _core
from fullpipe.commands.declare import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.about.catalogue import Named


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
    kind: Annotated[
        Kind | None,
        Argument(metavar="KIND", help="Kind of the names to list (default: the kinds)."),
    ] = None,
    *,
    as_json: Annotated[
        bool,
        Option(
            "--json",
            help="Print a JSON list; programs have the commands that install them.",
        ),
    ] = False,
) -> None:
    """List names: algorithms, profiles, scenarios, ….

    Prints one line per entry: its name, as scenarios and options take it, and its purpose; without
    KIND a line per kind. A
    profile is a named network path, an impairment a pattern of loss, delay or rate. The names of
    metrics are those of --show; scenarios are those of the package, which run, sweep and check take
    by name; tests are those of `fullpipe test`, lessons those
    of `fullpipe explore`. A program is a recipe for [[program]], with its version here.

    Examples:
        fullpipe list algorithms
        fullpipe list profiles
        fullpipe list metrics
        fullpipe list scenarios
        fullpipe list tests
        fullpipe list lessons
        fullpipe list programs --json
    """
    from fullpipe.about.catalogue import as_json as written
    from fullpipe.about.catalogue import kinds, lessons, metrics, names, programs, scenarios, tests

    width = (
        get_terminal_size().columns if os.isatty(1) else None
    )  # one line per entry, for other programs
    listed: dict[Kind | None, Callable[[], Sequence[Named]]] = {
        None: lambda: kinds([each.value for each in Kind]),
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
    entries = listed[kind]()
    print(written(entries) if as_json else names(entries, width))
