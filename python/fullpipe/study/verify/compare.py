"""Compares kept numbers with those of a repetition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from fullpipe.results.fingerprint import is_of_run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_MISSING = "no such row"


class Difference(NamedTuple):
    """A number that is another one when its run is repeated.

    Attributes:
        place: The directory, as the user named it.
        run: The run in words: its point and its seed.
        what: The flow, the row of a trace, or nothing.
        column: The name of the number.
        kept: The kept value.
        again: That of the repetition.
        problem: A missing or damaged part, in words; empty for a number.
    """

    place: str
    run: str = ""
    what: str = ""
    column: str = ""
    kept: object = None
    again: object = None
    problem: str = ""

    def __str__(self) -> str:
        where = ", ".join(each for each in (self.place, self.run, self.what) if each)
        if self.problem:
            return f"{where}: {self.problem}"
        return f"{where}: {self.column} is {_shown(self.kept)}, and {_shown(self.again)} when it runs again"

    def record(self) -> dict[str, object]:
        """Returns it for JSON."""
        return self._asdict()


class Cell(NamedTuple):
    """A value of a frame that differs: the row with its keys, the column, and both values; or a problem in words."""

    row: dict[str, Any]
    column: str = ""
    kept: object = None
    again: object = None
    problem: str = ""


def rows(
    kept: pl.DataFrame,
    again: pl.DataFrame,
    keys: Sequence[str],
    of_run: Sequence[str],
    *,
    whole: bool,
) -> dict[tuple[Any, ...], Cell]:
    """Compares the columns of rows; returns the first difference of each run that has one.

    Args:
        kept: The kept rows.
        again: The rows of the repetition.
        keys: The columns that tell rows apart.
        of_run: Those of them that tell runs apart.
        whole: Whether to compare columns that the kept rows lack, too; :func:`new` names those of another build.
    """
    found: dict[tuple[Any, ...], Cell] = {}
    for some, other, one in ((kept, again, True), (again, kept, False)):
        for row in some.select(keys).join(other, on=keys, how="anti").iter_rows(named=True):
            there = ("a row", _MISSING) if one else (_MISSING, "a row")
            found.setdefault(tuple(row[each] for each in of_run), Cell(row, "the row", *there))
    kept = kept.join(again.select(keys), on=keys, how="semi").sort(keys)
    again = again.join(kept.select(keys), on=keys, how="semi").sort(keys)
    for name in [*kept.columns, *(new(kept, again) if whole else ())]:
        if name in keys or not is_of_run(name):
            continue
        was, now = _column(kept, name), _column(again, name)
        ours, theirs = _alike(was, now)
        for place in ours.ne_missing(theirs).arg_true():
            row = kept.select(keys).row(place, named=True)
            cell = Cell(row, name, was[place], now[place])
            found.setdefault(tuple(row[each] for each in of_run), cell)
    return found


def new(kept: pl.DataFrame, again: pl.DataFrame) -> list[str]:
    """Returns the columns with values that only the rows of the repetition have."""
    return [
        each.name
        for each in again
        if each.name not in kept.columns
        and is_of_run(each.name)
        and each.null_count() < again.height
    ]


def tables(kept: pl.DataFrame, again: pl.DataFrame) -> Cell | None:
    """Returns the first difference of two tables of a trace; None if they are equal."""
    if kept.columns != again.columns:
        return Cell({}, "the columns", ", ".join(kept.columns), ", ".join(again.columns))
    if kept.height != again.height:
        return Cell({}, "the number of rows", kept.height, again.height)
    for name in kept.columns:
        ours, theirs = _alike(kept[name], again[name])
        for place in ours.ne_missing(theirs).arg_true():
            return Cell({"row": place}, name, ours[place], theirs[place])
    return None


def metrics(
    kept: Mapping[str, Any],
    again: Mapping[str, Any],
    without: Collection[str] = (),
    *,
    whole: bool,
) -> Cell | None:
    """Returns the first difference of the metrics of a run; None if they are equal.

    Args:
        kept: The kept metrics.
        again: Those of the repetition.
        without: Entries to leave out.
        whole: Whether to compare entries that the kept ones lack, too; :func:`new_entries` names those of another
            build.
    """
    for path, ours, theirs in _unequal("", kept, again):
        top = path.partition(".")[0]
        if top in without or not is_of_run(top) or (ours is _NOTHING and not whole):
            continue
        was, now = (None if each is _NOTHING else each for each in (ours, theirs))
        return Cell({}, path, was, now)
    return None


def new_entries(
    kept: Mapping[str, Any], again: Mapping[str, Any], without: Collection[str] = ()
) -> list[str]:
    """Returns the names of the entries that only the repetition has, without the numbers of flows and links."""
    found = {
        ".".join(word for word in path.split(".") if not word.isdigit()): None
        for path, ours, _ in _unequal("", kept, again)
        if ours is _NOTHING and (top := path.partition(".")[0]) not in without and is_of_run(top)
    }
    return list(found)


_NOTHING = object()
"""The value of an entry that is not there."""


def _unequal(path: str, kept: Any, again: Any) -> Iterator[tuple[str, object, object]]:  # noqa: ANN401
    if isinstance(kept, Mapping) and isinstance(again, Mapping):
        for key in dict.fromkeys([*kept, *again]):
            inside = f"{path}.{key}" if path else key
            yield from _unequal(inside, kept.get(key, _NOTHING), again.get(key, _NOTHING))
    elif isinstance(kept, list) and isinstance(again, list) and len(kept) == len(again):
        for number, (one, other) in enumerate(zip(kept, again, strict=True)):
            yield from _unequal(f"{path}.{number}", one, other)
    elif kept != again:
        yield path, kept, again


def _column(frame: pl.DataFrame, name: str) -> pl.Series:
    if name in frame.columns:
        return frame[name]
    return pl.Series(name, [None] * frame.height, dtype=pl.Null)


def _alike(one: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Returns two columns with one type: names of flows are an Enum of their own in each trace."""
    if one.dtype == other.dtype:
        return one, other
    dtype = pl.Float64 if one.dtype.is_numeric() and other.dtype.is_numeric() else pl.String
    return one.cast(dtype), other.cast(dtype)


def _shown(value: object) -> str:
    return "empty" if value is None else str(value)
