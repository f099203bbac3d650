"""Plans a comparison from a fleet directory's contents: arms, clusters, strata and time steps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe.errors import refusal
from fullpipe.stats.words import digits
from fullpipe.wings.fleet import store
from fullpipe.wings.fleet.commits import arms_given
from fullpipe.wings.fleet.compare.choices import to_choose

if TYPE_CHECKING:
    from fullpipe.wings.fleet.compare.options import CompareOptions

TABLES = ("connections", "requests", "counters")
COLUMN = {"pair": "pair", "host": "host", "net": "client_net", "client": "client"}
"""The column that identifies the clusters of each unit."""
_STRATA = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_MOST_VALUES = 12
LEAST_ROWS = 30
"""Minimum number of rows for which a stratum is analyzed."""
_MOST_TIMES = 60
_MINUTE = 60_000_000
_STEPS = [_MINUTE // 60 * each for each in (1, 2, 5, 10, 30)] + [
    _MINUTE * each for each in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080)
]


@dataclass(frozen=True)
class Strata:
    """A partition of a table: `code` gives each row its stratum, 0 to len(labels) - 1, or null."""

    name: str
    labels: tuple[str, ...]
    code: pl.Expr
    middles: tuple[float, ...] = ()
    """Middles of the strata of RTTs, in s."""


WHOLE = Strata("rtt", ("all",), pl.lit(0))
"""A single stratum, used if RTTs are unknown."""


@dataclass(frozen=True)
class Plan:
    """Everything that counting needs."""

    options: CompareOptions
    arms: tuple[str, ...]
    hosts: tuple[str, ...]
    unit: str
    why: str
    """Reason for the choice of clusters."""
    nested: bool
    """Whether each host has one arm."""
    rtt: Strata
    """Strata of connections by minimum RTT."""
    asked: Strata
    """Strata of requests by smoothed RTT, which nginx logs as $tcpinfo_rtt."""
    by: Strata | None
    """Further strata, if `--by` requests them."""
    start: datetime | None
    step_us: int
    """Length of a time step."""
    times: int
    """Number of time steps."""
    rows: dict[str, pl.DataFrame] = field(hash=False)
    """Number of rows, and of those kept, by arm and host, for each table."""
    cc: pl.DataFrame = field(hash=False)
    """Number of connections kept, by arm and congestion control, largest first."""

    def total(self, table: str, column: str = "rows") -> int:
        """Returns the number of rows of a table, or of rows kept (`column="kept"`)."""
        return int(self.rows[table][column].sum())


def big_enough(table: str, min_bytes: int) -> pl.Expr:
    """Returns an expression that is true for the rows to keep."""
    if table == "connections":
        return (pl.col("transferred_bytes") >= min_bytes).fill_null(min_bytes == 0)
    if table == "requests":
        return (pl.coalesce("bytes_sent", "body_bytes_sent") >= min_bytes).fill_null(min_bytes == 0)
    return pl.col("arm").is_not_null()


def draw_up(options: CompareOptions) -> Plan:
    """Plans the comparison, with one pass through the directory.

    Raises:
        ScenarioError: When fewer than two arms have data, or an option names something that does not
            exist.
        OSError: When the directory can't be read.
    """
    if not options.directory.is_dir():
        raise refusal(
            "no such directory",
            "name one that `fleet ingest` or `fleet simulate` made",
            file=f"{options.directory}",
        )
    rows, cc, facts = _looked_through(options)
    arms = _arms(options, rows)
    some = (
        pl.concat([frame.select("arm", "host") for frame in rows.values()])
        .filter(pl.col("arm").is_in(arms))
        .unique()
    )
    nested = len(some) == some["host"].n_unique()
    unit, why = _unit(options, rows, facts, nested)
    start, step, times = _times(rows)
    return Plan(
        options,
        arms,
        tuple(some["host"].unique().sort().to_list()),
        unit,
        why,
        nested,
        _by_rtt(facts, "min_rtt_s"),
        _by_rtt(facts, "tcpinfo_rtt_s"),
        _by_column(options, arms) if options.by != "rtt" else None,
        start,
        step,
        times,
        rows,
        cc,
    )


def _looked_through(
    options: CompareOptions,
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame, dict[str, Any]]:
    """Returns rows by arm and host for each table, connections by arm and cc, and overall facts."""
    queries = []
    for table in TABLES:
        keep = big_enough(table, options.min_bytes)
        time = pl.col("last_seen" if table == "connections" else "time")
        queries.append(
            store.scan(options.directory, table)
            .group_by("arm", "host")
            .agg(
                pl.len().alias("rows"),
                keep.sum().alias("kept"),
                time.filter(keep).min().alias("start"),
                time.filter(keep).max().alias("end"),
            )
            .sort("arm", "host")
        )
    connections = store.scan(options.directory, "connections")
    big = connections.filter(big_enough("connections", options.min_bytes))
    queries.append(
        big.group_by("arm", "cc")
        .len("rows")
        .sort("rows", "arm", "cc", descending=[True, False, False])
    )
    queries.append(
        big.select(
            *_edges("min_rtt_s"),
            pl.col("pair").is_not_null().all().alias("pair"),
            pl.col("client_net").is_not_null().any().alias("net"),
            pl.col("client").is_not_null().any().alias("client"),
            pl.len().alias("rows"),
        )
    )
    requests = store.scan(options.directory, "requests")
    queries.append(
        requests.filter(big_enough("requests", options.min_bytes)).select(*_edges("tcpinfo_rtt_s"))
    )
    *tables, cc, facts, asked = pl.collect_all(queries, engine="streaming")
    known = facts.row(0, named=True) | asked.row(0, named=True)
    return dict(zip(TABLES, tables, strict=True)), cc, known


def _edges(rtt: str) -> list[pl.Expr]:
    """Returns the ends of the strata of a column of RTTs."""
    column = pl.col(rtt)
    return [
        *(column.quantile(share).alias(f"{rtt} {share}") for share in _STRATA),
        column.min().alias(f"{rtt} least"),
        column.max().alias(f"{rtt} most"),
    ]


def _times(rows: dict[str, pl.DataFrame]) -> tuple[datetime | None, int, int]:
    """Returns the time of the first row, the length of a time step, and the number of steps."""
    ends = [end for frame in rows.values() for end in (frame["start"].min(), frame["end"].max())]
    known = [each for each in ends if isinstance(each, datetime)]
    start = min(known, default=None)
    length = (max(known) - start).total_seconds() * 1e6 if start else 0.0
    step = next(
        (each for each in _STEPS if length / each < _MOST_TIMES), int(length / _MOST_TIMES) + 1
    )
    return start, step, int(length // step) + 1


def _arms(options: CompareOptions, rows: dict[str, pl.DataFrame]) -> tuple[str, ...]:
    """Returns all arms with data, the baseline first."""
    found = pl.concat([frame.select("arm", "rows", "kept") for frame in rows.values()])
    where = f"{options.directory}"
    if not len(found):
        raise refusal(
            "the directory has no rows",
            "name a directory that `fleet ingest` or `fleet simulate` made",
            file=where,
        )
    kept = (
        found.filter(pl.col("arm") != store.NO_ARM)
        .group_by("arm")
        .agg(pl.col("kept").sum())
        .filter(pl.col("kept") > 0)["arm"]
        .sort()
        .to_list()
    )
    users = pl.concat([rows["connections"], rows["requests"]])
    if not kept or (len(users) and not users["kept"].sum()):
        most = f"none of the {users['rows'].sum():,} connections and requests is that large"
        raise refusal(
            most,
            "lower the minimum, like --min-bytes 0",
            key="--min-bytes",
            value=f"{options.min_bytes}",
            file=where,
        )
    if len(kept) < 2:
        others = sorted(set(found["arm"]) - set(kept))
        empty = sorted(arms_given(options.directory) - set(found["arm"]))
        lost = (
            f"; {', '.join(others)} transferred nothing of at least {options.min_bytes:,} bytes"
            if others
            else ""
        )
        if empty and not others:
            raise refusal(
                f"there is only one arm with data, {kept[0]}: the files of {', '.join(empty)} have no connection",
                "name other files for it: fleet ingest --arm NAME=FILES",
                file=where,
            )
        fix = (
            "lower --min-bytes"
            if others
            else "ingest another arm into the directory: --arm NAME=FILES"
        )
        raise refusal(
            f"there is only one arm, {kept[0]}, so nothing to compare{lost}", fix, file=where
        )
    for name in [*([options.against] if options.against else []), *(options.ratio or {})]:
        if name not in kept:
            option = "--against" if name == options.against else "--ratio"
            raise refusal("no such arm", f"the arms are {', '.join(kept)}", key=option, value=name)
    if options.ratio and (set(options.ratio) != set(kept) or min(options.ratio.values()) <= 0):
        raise refusal(
            "each arm needs a part greater than zero",
            f"write it like {','.join(f'{arm}=1' for arm in kept)}",
            key="--ratio",
        )
    # The default baseline is CUBIC, with or without a suffix in its name.
    first = options.against or min(
        kept, key=lambda arm: (arm != "cubic", not arm.startswith("cubic"), arm)
    )
    return (first, *(each for each in kept if each != first))


def _unit(
    options: CompareOptions, rows: dict[str, pl.DataFrame], facts: dict[str, object], nested: bool
) -> tuple[str, str]:
    """Returns the unit of independent observation, and the reason for the choice."""
    table = "connections" if len(rows["connections"]) else "requests"
    least = (
        rows[table].filter(pl.col("kept") > 0).group_by("arm").len()["len"].min()
        if len(rows[table])
        else 0
    )
    if options.unit != "auto":
        if options.unit in ("pair", "net", "client") and facts["rows"] and not facts[options.unit]:
            fix = "choose another, like --cluster host, or omit it"
            raise refusal(
                "this is unknown for the connections", fix, key="--cluster", value=options.unit
            )
        return options.unit, "chosen by --cluster"
    if facts["pair"] and facts["rows"]:
        return "pair", "each path was run with every arm"
    if nested and isinstance(least, int) and least >= 2:
        return "host", "each host has one arm, so arms were assigned by host"
    why = "an arm has only one host" if nested else "hosts have connections of several arms"
    for unit in ("net", "client"):
        if facts[unit] or not facts["rows"]:
            return unit, why
    return "connection", f"{why}, and clients are unknown"


def _by_rtt(facts: dict[str, object], rtt: str) -> Strata:
    """Returns deciles of all rows by a column of RTTs, the last decile split in two."""
    least, most = facts[f"{rtt} least"], facts[f"{rtt} most"]
    if not isinstance(least, float) or not isinstance(most, float):
        return WHOLE
    inner = sorted({float(facts[f"{rtt} {share}"]) for share in _STRATA} - {least, most})  # type: ignore[arg-type]
    edges = [least, *inner, most]
    labels = tuple(f"{_ms(low)}–{_ms(high)} ms" for low, high in itertools.pairwise(edges))
    middles = tuple(
        (max(low, 1e-9) * max(high, 1e-9)) ** 0.5 for low, high in itertools.pairwise(edges)
    )
    code = (
        pl.sum_horizontal([(pl.col(rtt) > edge).cast(pl.Int32) for edge in inner])
        if inner
        else pl.lit(0)
    )
    known = pl.when(pl.col(rtt).is_not_null()).then(code).otherwise(len(labels))
    return Strata("rtt", (*labels, "unknown"), known, middles)


def _ms(seconds: float) -> str:
    return digits(seconds * 1e3, 3)


def _by_column(options: CompareOptions, arms: tuple[str, ...]) -> Strata:
    """Returns strata of the most frequent values of a column; rows with null are in none."""
    there = []
    for table in ("requests", "connections"):
        rows = store.scan(options.directory, table)
        if options.by in rows.collect_schema():
            kept = rows.filter(big_enough(table, options.min_bytes), pl.col("arm").is_in(arms))
            there.append(
                kept.select(pl.col(options.by).cast(pl.String).alias("value")).drop_nulls()
            )
    if not there:
        raise refusal(
            "no such column", to_choose(options.directory, options.by), key="--by", value=options.by
        )
    found = (
        pl.concat(there)
        .group_by("value")
        .len("rows")
        .sort("rows", "value", descending=[True, False])
        .head(_MOST_VALUES + 1)
        .collect(engine="streaming")
    )
    if not len(found):
        raise refusal(
            "the column has no values here",
            to_choose(options.directory, options.by),
            key="--by",
            value=options.by,
        )
    if len(found) > _MOST_VALUES and found["rows"][0] < LEAST_ROWS:
        many = f"the column has many values, none with {LEAST_ROWS} rows or more"
        raise refusal(many, to_choose(options.directory, ""), key="--by", value=options.by)
    values = found["value"].to_list()[:_MOST_VALUES]
    others = len(found) > _MOST_VALUES
    text = pl.col(options.by).cast(pl.String)
    number = text.replace_strict(
        values, range(len(values)), default=len(values) if others else None
    )
    code = pl.when(text.is_not_null()).then(number)
    return Strata(options.by, (*values, *(("all others",) if others else ())), code.cast(pl.Int32))
