"""Valid values of `--by` on a fleet, for the fix of an error about an invalid one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from fullpipe.wings.fleet import schema, store

if TYPE_CHECKING:
    from pathlib import Path

_NUMBERS = {"status", "local_port", "mss_bytes", "wscale_snd"}
_FREE_TEXT = {"arm", "client", "client_net", "local_address", "unknown", "kept"}
"""Columns with about as many values as clients, and `arm`, which is compared anyway."""
_SOURCE = {
    "requests": "an nginx log: `fleet ingest --nginx FILES --log-format FORMAT`",
    "connections": "`ss`: `fleet ingest --arm ARM=FILES`, with output of `ss -tineom`",
}
_VARIABLE = {"country": "$geoip_country_code", "status": "$status", "protocol": "$server_protocol"}
"""The variable that a log format needs for a column."""


def to_choose(directory: Path, by: str) -> str:
    """Returns a fix: the columns with values here, and the way to get the requested column if a fleet can have it."""
    there = ["rtt", *_known(directory)]
    choose = (
        f"choose one of {', '.join(there)}" if len(there) > 1 else "omit it: only rtt is available"
    )
    for table, source in _SOURCE.items():
        if any(column.name == by for column in schema.TABLES[table]):
            needs = f" with {_VARIABLE[by]}" if by in _VARIABLE else ""
            return f"{choose}; {by} comes from {source}{needs}"
    return choose


def _known(directory: Path) -> list[str]:
    """Returns the columns that split a fleet: categorical ones with two values or more."""
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
