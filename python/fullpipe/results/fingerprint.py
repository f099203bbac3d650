"""Fingerprints of rows of metrics, and of all rows of a sweep.

The fingerprint of a row has the names and values of its columns: numbers with all their bits, texts, and no empty
value. The version of the program and the machine are not part of it. That of a sweep has those of its rows, in any
order.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

NAME = "fingerprint"
"""The column of rows with it, and the entry of descriptions."""
_DIGITS = 16
_OF_PROGRAM = ("version", "host")
"""Names of columns and metrics that tell of the program and the machine; those of a machine have dots behind it."""


def of_rows(rows: pl.DataFrame) -> pl.Series:
    """Returns the fingerprint of each row, 16 hexadecimal digits.

    Args:
        rows: Rows of the core: whole numbers, numbers and texts.
    """
    names = sorted(name for name in rows.columns if is_of_run(name))
    known = np.column_stack([rows[name].is_not_null().to_numpy() for name in names])
    values = np.column_stack([_bits(rows[name]) for name in names])
    heads = np.array([f"{name} {_kind(rows[name])}" for name in names])
    found = np.empty(rows.height, dtype="U16")
    patterns, which = np.unique(known, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        head = hashlib.sha256("\n".join(heads[pattern]).encode())
        (places,) = np.nonzero(which.reshape(-1) == number)
        for place, row in zip(
            places, np.ascontiguousarray(values[places][:, pattern]), strict=True
        ):
            digest = head.copy()
            digest.update(row.tobytes())
            found[place] = digest.hexdigest()[:_DIGITS]
    return pl.Series(NAME, found.tolist(), dtype=pl.String)


def of_all(fingerprints: Iterable[str]) -> str:
    """Returns the fingerprint of all rows: neither their order nor the files that they are in change it."""
    text = "\n".join(sorted(fingerprints))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def is_of_run(name: str) -> bool:
    """Returns whether a run decides a column: not the program, not the machine, and not the fingerprint itself."""
    return name != NAME and name.partition(".")[0] not in _OF_PROGRAM


def _kind(column: pl.Series) -> str:
    return "text" if column.dtype == pl.String else str(column.dtype)


def _bits(column: pl.Series) -> NDArray[np.uint64]:
    """Returns a column's values as 64 bits each."""
    if column.dtype == pl.String:
        words = column.unique().drop_nulls().to_list()
        sums = [hashlib.sha256(word.encode()).digest()[:8] for word in words]
        numbers = [int.from_bytes(each, "little") for each in sums]
        codes = column.replace_strict(words, numbers, default=0, return_dtype=pl.UInt64)
        return codes.fill_null(0).to_numpy()
    return (
        column.fill_null(0)
        .to_numpy()
        .astype("<f8" if column.dtype == pl.Float64 else "<i8", copy=False)
        .view("<u8")
    )
