"""Wings: parts that the core does not know. Each package here is one, and declares its additions in `WING`.

The core imports this module, and of a wing nothing else: `tests/python/core/test_architecture.py` holds that.
The modules of a wing's package `commands` are its commands, those of its package `runners` its runners. Everything else
is named as `module:name` below the wing, and imported when it is used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Columns = tuple[
        NDArray[np.uint64],
        NDArray[np.uint64],
        NDArray[np.uint32],
        NDArray[np.uint64],
        NDArray[np.uint64],
    ]


class Wing(NamedTuple):
    """The additions of a wing.

    Attributes:
        about: Its purpose, in a line.
        commands: The summaries of its commands, by the heading of `fullpipe --help`.
        names: Functions that return names with their purposes, by the kind that completion and `fullpipe list` know.
        findings: Lists of `fullpipe doctor`, by their name: the title, and the function that returns the findings.
        facts: Functions that return a fact for `fullpipe doctor --report`, by its name.
        pages: The module that opens scenarios in a page: a :class:`Pages`.
        flows: The function that reads a file of flows for `[[workload]] source`, as columns for the simulator.
        reports: The module that reports on directories of the wing: a :class:`Reports`.
        studies: Functions that run a published study of another kind, by the table that its file has: a :class:`Study`.
        kinds: The kinds of algorithms, each a :class:`fullpipe.algorithms.resolve.Kind`.
    """

    about: str
    commands: Mapping[str, Mapping[str, str]] = {}
    names: Mapping[str, str] = {}
    findings: Mapping[str, tuple[str, str]] = {}
    facts: Mapping[str, str] = {}
    pages: str = ""
    flows: str = ""
    reports: str = ""
    studies: Mapping[str, str] = {}
    kinds: str = ""


class Pages(Protocol):
    """Opens scenarios in a page."""

    DEFAULT: str
    """The scenario of a page for which none is named."""
    POLICY: str
    """The content security policy of the page, and of pages that open it: it inherits theirs."""

    def again(self, scenarios: Sequence[tuple[str, str]]) -> str:
        """Returns the controls that open one of the scenarios, each a label and a text."""

    def explorer(self, text: str, file: str, lesson: str | None = None) -> str:
        """Returns a page that runs a scenario and lets a reader change it."""

    def inside(self) -> str | None:
        """Returns the elements with which another page opens a scenario; None if that is not built."""

    def outsiders(self, text: str) -> set[str]:
        """Returns the algorithms of a scenario that a page lacks."""

    def runs_in_pages(self, text: str) -> bool:
        """Returns whether a scenario needs neither files nor algorithms outside of the simulator."""


class Reports(Protocol):
    """Reports on directories that have no runs."""

    WHAT: str
    """Noun for such a directory, in an error."""
    FIX: str
    """The fix for one that is named next to others."""

    def is_mine(self, directory: Path) -> bool:
        """Returns whether a directory is one of them."""

    def build(self, directory: Path) -> Any:  # noqa: ANN401  (a module above this one has the type)
        """Builds the report of a directory: a :class:`fullpipe.report.model.Report`."""


class Study(Protocol):
    """Runs a published study, and prints the verdicts."""

    def __call__(
        self,
        file: Path,
        target: Path,
        *,
        about: Mapping[str, str],
        cases: Sequence[str],
        called: str | None,
        as_json: bool,
        engine: Any,  # noqa: ANN401  (a layer above)
    ) -> bool:
        """Runs the study of a file; returns whether no claim was missed.

        Args:
            file: The file.
            target: The directory for the results.
            about: The settings that determine the runs, by names for messages.
            cases: `fnmatch` patterns of cases to judge; empty for all.
            called: The directory's name in errors; None for its path.
            as_json: Whether to print only the records of the claims.
            engine: Where the runs execute, a :class:`fullpipe.study.engine.Engine`.
        """


@cache
def every() -> Mapping[str, Wing]:
    """Returns the wings by name."""
    import pkgutil

    names = sorted(each.name for each in pkgutil.iter_modules(__path__) if each.ispkg)
    return {name: cast("Wing", import_module(f"{__name__}.{name}").WING) for name in names}


def packages(name: str) -> Iterator[str]:
    """Yields the package of this name, like `runners`, of each wing that has one."""
    for wing in every():
        package = f"{__name__}.{wing}.{name}"
        if find_spec(package) is not None:
            yield package


def in_page() -> Pages:
    """Returns the module that opens scenarios in a page."""
    wing, declared = next((wing, each) for wing, each in every().items() if each.pages)
    return cast("Pages", import_module(f"{__name__}.{wing}.{declared.pages}"))


def flows(path: Path) -> Columns:
    """Reads a file of flows, and leaves out flows without bytes.

    Returns:
        Start of each flow after the first one's, ns, shape (flows,); bytes, shape (flows,); index of each flow's first
        chunk, shape (flows + 1,), or empty without chunks; the chunks' offsets after their flow's start, ns, and their
        bytes, shape (chunks,).

    Raises:
        ValueError: When it is not a file of flows; the text has the fix.
    """
    wing, declared = next((wing, each) for wing, each in every().items() if each.flows)
    return cast("Columns", _of(wing, declared.flows)(path))


def reports_on(directory: Path) -> Reports | None:
    """Returns the module that reports on a directory; None if the directory is of no wing."""
    modules = (
        cast("Reports", import_module(f"{__name__}.{wing}.{each.reports}"))
        for wing, each in every().items()
        if each.reports
    )
    return next((module for module in modules if module.is_mine(directory)), None)


def study_of(tables: Collection[str]) -> Study | None:
    """Returns the function that runs a published study whose file has these tables; None for a study of runs."""
    return next(
        (
            cast("Study", _of(wing, place))
            for wing, each in every().items()
            for table, place in each.studies.items()
            if table in tables
        ),
        None,
    )


def named(kind: str) -> list[tuple[str, str]]:
    """Returns the names of a kind, each with its purpose."""
    found = (_of(wing, each.names[kind]) for wing, each in every().items() if kind in each.names)
    return [pair for function in found for pair in function()]


def kinds() -> Iterator[Any]:
    """Yields each kind of algorithm."""
    for wing, each in every().items():
        if each.kinds:
            yield from _of(wing, each.kinds)


def findings() -> Iterator[tuple[str, str, list[Any]]]:
    """Yields each list of findings, with its name and its title."""
    for wing, each in every().items():
        yield from (
            (name, title, _of(wing, place)()) for name, (title, place) in each.findings.items()
        )


def facts() -> Iterator[tuple[str, str]]:
    """Yields name and value of each fact for a bug report."""
    for wing, each in every().items():
        yield from ((name, _of(wing, place)()) for name, place in each.facts.items())


def _of(wing: str, place: str) -> Any:  # noqa: ANN401  (a function of any type)
    module, _, name = place.partition(":")
    return getattr(import_module(f"{__name__}.{wing}.{module}"), name)
