"""Columns of the core as a polars frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float32] | NDArray[np.uint64] | NDArray[np.uint32]
    Labels = tuple[NDArray[np.uint8] | NDArray[np.uint32], list[str]]


def frame(
    columns: Mapping[str, Numbers | Labels],
    units: Mapping[str, str],
    names: Mapping[str, Sequence[str]],
) -> pl.DataFrame:
    """Makes a frame of a table of :meth:`fullpipe._core.RunResult.table`.

    Args:
        columns: The table. Numbers are not copied.
        units: The unit of each column; nanoseconds become seconds.
        names: The names behind a column of indices, which becomes an Enum.
    """
    return pl.DataFrame(
        [_series(name, column, units[name], names.get(name)) for name, column in columns.items()]
    )


def _series(
    name: str, column: Numbers | Labels, unit: str, names: Sequence[str] | None
) -> pl.Series:
    if isinstance(column, tuple):
        codes, labels = column
        none = np.iinfo(codes.dtype).max
        return _enum(name, pl.Series(codes).replace(none, None), labels)
    if unit == "ns":
        return pl.Series(name, column / 1e9)  # a float holds 100 days to the nanosecond
    if names is not None:
        indices = pl.Series(column).replace(np.iinfo(np.uint32).max, None)
        return _enum(name, indices, names)
    series = pl.Series(name, column)
    if column.dtype == np.uint64 and (none := np.iinfo(np.uint64).max) in column:
        return series.replace(none, None)  # the window of a flow without one
    if column.dtype == np.float32 and np.isnan(column).any():
        return series.fill_nan(None)
    return series


def _enum(name: str, codes: pl.Series, labels: Sequence[str]) -> pl.Series:
    return pl.Series(name, labels, dtype=pl.Enum(labels)).gather(codes)


def table(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Makes a frame of the core's rows: counts, measures with NaN for none, or (codes, words)."""
    return pl.DataFrame([series(name, column) for name, column in columns.items()])


def series(name: str, column: Any) -> pl.Series:  # noqa: ANN401  (one of the arrays of _core._Rows)
    """A column of :func:`table`."""
    if isinstance(column, tuple):
        codes, words = column
        return pl.Series(name, words, dtype=pl.String).gather(pl.Series(codes))
    series = pl.Series(name, column)
    return series.fill_nan(None) if series.dtype == pl.Float64 else series.cast(pl.Int64)


def flattened(metrics: Sequence[Mapping[str, object]], names: Mapping[str, str]) -> pl.DataFrame:
    """Makes a frame of nested metrics: a row for each, and columns with dots in their names, like `rtt_s.p95`.

    Args:
        metrics: The metrics, each of the same kind. Members of a list are named by their `from_bytes`.
        names: Other names for columns.
    """
    rows = [{names.get(name, name): value for name, value in _leaves("", each)} for each in metrics]
    if not rows:
        return pl.DataFrame(schema=dict.fromkeys(names.values(), pl.String))
    columns = dict.fromkeys(name for row in rows for name in row)
    made = pl.DataFrame(
        {name: pl.Series([row.get(name) for row in rows], strict=False) for name in columns}
    )
    return made.with_columns(pl.selectors.by_dtype(pl.Null).cast(pl.Float64))


def _leaves(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(
                f"{name}.{each['from_bytes']}",
                {key: inner for key, inner in each.items() if key != "from_bytes"},
            )
    else:
        yield name, value
