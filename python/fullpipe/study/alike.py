"""Whether two algorithms decide the same: both in the same runs, and the first row of their traces that differs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe import _core
from fullpipe.algorithms.resolve import bare

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from fullpipe.algorithms.classes import Controllers
    from fullpipe.base.toml import Setting
    from fullpipe.run import Run

    Tables = dict[str, pl.DataFrame]

_PATHS: dict[str, dict[str, Setting]] = {
    "20 Mbit/s, 40 ms, a buffer of 1 BDP": {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"},
    "the same with 1 % of loss": {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp", "loss": "1%"},
    "100 Mbit/s, 10 ms, a buffer of 4 BDP": {"rate": "100mbit", "rtt": "10ms", "buffer": "4bdp"},
    "20 Mbit/s, 40 ms, CoDel that marks": {
        "rate": "20mbit",
        "rtt": "40ms",
        "queue": "codel",
        "flow.0.ecn": "ect0",
    },
}
_STACKS = ("linux", "rfc")
_DURATION = "8s"
_OWN = "own"
"""The name of the compared algorithm in columns of its own."""


class Setup(NamedTuple):
    """A run of both algorithms."""

    words: str
    """Path, stack and other flows, in words."""
    keys: dict[str, Setting]
    """The settings of :func:`fullpipe.run`."""
    beside: tuple[str, ...]
    """The algorithms of the other flows."""


class Difference(NamedTuple):
    """The first row of a trace in which two algorithms differ."""

    setup: Setup
    time_s: float
    table: str
    """The table of the trace."""
    column: str
    """The column, or `a row` where only one has a row of this time."""
    ours: object
    theirs: object


def setups(names: Sequence[str]) -> list[Setup]:
    """Returns the runs that compare algorithms of these names: paths, stacks, alone and together with another one."""
    beside = "newreno" if "cubic" in names else "cubic"
    needs = {each["name"]: each["needs"] for each in _core.algorithms()}
    # With L4S semantics, an algorithm chooses the codepoint itself.
    chooses = any("ECT(1)" in needs.get(name, ()) for name in names)
    return [
        Setup(
            f"{path}, stack {stack}{f', with {other}' if other else ''}",
            {
                **{
                    key: value
                    for key, value in keys.items()
                    if not (chooses and key == "flow.0.ecn")
                },
                "stack": stack,
                "duration": _DURATION,
            },
            (other,) if other else (),
        )
        for (path, keys), stack, other in product(_PATHS.items(), _STACKS, ("", beside))
    ]


def differences(
    name: str, other: str, controllers: Controllers | None = None
) -> Iterator[tuple[Setup, Difference | None]]:
    """Runs two algorithms in the same runs, one after the other.

    The first flow has the same name in both, so that both draw the same random numbers.

    Args:
        name: The first algorithm.
        other: The second one.
        controllers: Classes by the names of algorithms.

    Yields:
        Each run, with the first difference of the traces with a row at each ACK, None if they are equal. Columns that
        only one has are not compared.

    Raises:
        ScenarioError: When a run is refused.
    """
    both = (name, other)
    for setup in setups([bare(each) for each in both]):
        made = []
        for each in both:
            ran = _ran(each, setup, controllers)
            made.append({table: _renamed(ran.trace(table), bare(each)) for table in ran.tables})
        yield setup, _first(setup, *made)


def _ran(algorithm: str, setup: Setup, controllers: Controllers | None) -> Run:
    from fullpipe.run import run

    keys = {key: value for key, value in setup.keys.items() if "." in key}
    options: dict[str, Any] = {key: value for key, value in setup.keys.items() if "." not in key}
    return run(
        [algorithm, *setup.beside],
        trace="ack",
        set={**keys, "flow.0.name": "flow"},
        controllers=controllers,
        **options,
    )


def _renamed(table: pl.DataFrame, algorithm: str) -> pl.DataFrame:
    """Returns a table in which the algorithm's own columns have the same names for all algorithms."""
    start = f"{algorithm}."
    return table.rename(
        lambda name: f"{_OWN}.{name.removeprefix(start)}" if name.startswith(start) else name
    )


def _first(setup: Setup, ours: Tables, theirs: Tables) -> Difference | None:
    """Returns the earliest difference of all tables."""
    found = [
        difference
        for table in ours
        if (difference := _of_table(setup, table, ours[table], theirs[table]))
    ]
    return min(found, key=lambda each: each.time_s, default=None)


def _of_table(
    setup: Setup, table: str, ours: pl.DataFrame, theirs: pl.DataFrame
) -> Difference | None:
    """Returns the first row of a table in which a column of both differs."""
    import polars.selectors as cs

    clock = "time" if "time" in ours.columns else "start"
    columns = [each for each in ours.columns if each in theirs.columns and each != "cc"]
    # Labels of two runs are of two types.
    both = [each.select(columns).with_columns(cs.enum().cast(str)) for each in (ours, theirs)]
    rows = min(each.height for each in both)
    one, two = (each.head(rows) for each in both)
    unequal = {name: one[name].ne_missing(two[name]).arg_true() for name in columns}
    first = {name: places[0] for name, places in unequal.items() if len(places)}
    if first:
        # The first column of the row: the earliest cause stands in front of its consequences.
        column = min(first, key=lambda name: first[name])
        row = first[column]
        time = min(float(each[clock][row]) for each in (one, two))
        return Difference(setup, time, table, column, one[column][row], two[column][row])
    longer = next((each for each in both if each.height > rows), None)
    if longer is None:
        return None
    has = ("a row", "none") if longer is both[0] else ("none", "a row")
    return Difference(setup, float(longer[clock][rows]), table, "a row", *has)
