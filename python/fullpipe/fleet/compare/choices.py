"""What `--by` can be on a fleet, said where it was something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from fullpipe.fleet import schema, store

if TYPE_CHECKING:
    from pathlib import Path

_NUMBERS = {"status", "local_port", "mss_bytes", "wscale_snd"}
_FREE_TEXT = {"arm", "client", "client_net", "local_address", "unknown", "kept"}
"""Whose values are as many as clients; and what is compared anyway."""
_SOURCE = {
    "requests": "a log of nginx: `fleet ingest --nginx FILES --log-format FORMAT`",
    "connections": "`ss`: `fleet ingest --arm ARM=FILES`, with what `ss -tineom` prints",
}
_VARIABLE = {"country": "$geoip_country_code", "status": "$status", "protocol": "$server_protocol"}
"""What a log's format needs to have for a column."""


def to_choose(directory: Path, by: str) -> str:
    """How to get values of a column, if a fleet can have it at all, and which columns have some here."""
    there = ["rtt", *_known(directory)]
    choose = (
        f"choose one of {', '.join(there)}"
        if len(there) > 1
        else "leave it out: there is rtt alone"
    )
    for table, source in _SOURCE.items():
        if any(column.name == by for column in schema.TABLES[table]):
            needs = f" that has {_VARIABLE[by]}" if by in _VARIABLE else ""
            return f"{choose}; {by} comes from {source}{needs}"
    return choose


def _known(directory: Path) -> list[str]:
    """The columns that tell parts of a fleet apart: with two values or more, in words, or in numbers that are names."""
    found = []
    for table in _SOURCE:
        names = [
            column.name
            for column in schema.TABLES[table]
            if (column.kind in ("text", "bool") or column.name in _NUMBERS)
            and column.name not in _FREE_TEXT
        ]
        counts = (
            store.scan(directory, table)
            .select(pl.col(names).drop_nulls().n_unique())
            .collect(engine="streaming")
        )
        found += [name for name in names if counts[name][0] > 1 and name not in found]
    return found
