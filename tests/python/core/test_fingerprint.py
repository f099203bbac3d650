"""Fingerprints of rows: every value counts, and neither their order nor empty columns do."""

from __future__ import annotations

import polars as pl

from fullpipe.results.fingerprint import of_all, of_rows

ROWS = pl.DataFrame(
    {
        "seed": [1, 2, 3],
        "flow": ["a", "b", "a"],
        "goodput_bps": [1.5, 2.5, None],
        "drops": [0, None, 7],
    }
)


def test_each_value_counts() -> None:
    once = of_rows(ROWS).to_list()
    assert len(set(once)) == 3
    for name, value in (("seed", 9), ("flow", "c"), ("goodput_bps", 1.5000000000000002)):
        changed = ROWS.with_columns(
            pl.when(pl.col("seed") == 1).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
        )
        found = of_rows(changed).to_list()
        assert found[0] != once[0], name
        assert found[1:] == once[1:]


def test_zero_is_neither_empty_nor_below_zero() -> None:
    rows = pl.DataFrame({"seed": [1, 1, 1], "x": [0.0, None, -0.0]})
    assert of_rows(rows).n_unique() == 3


def test_names_of_columns_count() -> None:
    assert of_rows(ROWS).to_list() != of_rows(ROWS.rename({"drops": "marks"})).to_list()


def test_order_version_machine_and_empty_columns_do_not_count() -> None:
    once = of_rows(ROWS)
    other = ROWS.select(reversed(ROWS.columns)).with_columns(
        more=pl.lit(None, dtype=pl.Float64),
        version=pl.lit("0.2.0"),
        **{"host.kernel": pl.lit("6.12")},
    )
    assert of_rows(other.reverse()).reverse().to_list() == once.to_list()
    assert of_all(once.reverse()) == of_all(once)
    assert of_all(once.head(2)) != of_all(once)


def test_it_is_the_same_on_every_machine() -> None:
    assert of_all(of_rows(ROWS)) == "f23902863626b71d"
