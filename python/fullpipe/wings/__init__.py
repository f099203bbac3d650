"""Wings: parts that the core does not know. Each package here is one, and declares its additions in `WING`.

The core imports this module, and of a wing nothing else: `tests/python/test_architecture.py` holds that. The modules of
a wing's package `commands` are its commands, those of its package `runners` its runners. Everything else is named as
`module:name` below the wing, and imported when it is used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Wing(NamedTuple):
    """The additions of a wing.

    Attributes:
        about: Its purpose, in a line.
        commands: The summaries of its commands, by the heading of `fullpipe --help`.
        names: Functions that return names with their purposes, by the kind that completion and `fullpipe list` know.
        findings: Lists of `fullpipe doctor`, by their name: the title, and the function that returns the findings.
        facts: Functions that return a fact for `fullpipe doctor --report`, by its name.
        pages: The module that opens scenarios in a page: a :class:`Pages`.
    """

    about: str
    commands: Mapping[str, Mapping[str, str]] = {}
    names: Mapping[str, str] = {}
    findings: Mapping[str, tuple[str, str]] = {}
    facts: Mapping[str, str] = {}
    pages: str = ""


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


def named(kind: str) -> list[tuple[str, str]]:
    """Returns the names of a kind, each with its purpose."""
    found = (_of(wing, each.names[kind]) for wing, each in every().items() if kind in each.names)
    return [pair for function in found for pair in function()]


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
