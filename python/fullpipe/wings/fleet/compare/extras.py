"""Further sections of a fleet's report: ECN, CPU, and histograms of bpftrace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.report.model import Line, Lines, Number, Section, Table
from fullpipe.stats.clusters import alone
from fullpipe.wings.fleet import store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Block, Cell
    from fullpipe.wings.fleet.compare.analysis import Analysis
    from fullpipe.wings.fleet.compare.estimate import Estimates

_MOST_HISTOGRAMS = 8
_MODE = 0.02


def census(estimates: Estimates) -> list[dict[str, object]]:
    """Counts by arm the connections that negotiated ECN, and those that also received a codepoint."""
    strata, draws = estimates.counted.strata, estimates.draws.get("connections")
    found: list[dict[str, object]] = []
    if draws is None:
        return found
    for arm, name in enumerate(estimates.plan.arms):
        row: dict[str, object] = {"arm": name}
        for key in ("ecn", "ecnseen"):
            sums = strata["rtt", key][arm].sum(axis=1)
            drawn = draws[:, arm] @ sums
            with np.errstate(invalid="ignore"):
                spread = alone(drawn[:, 0] / drawn[:, 1], estimates.clusters["connections"], arm)
            row[f"{key}_of"] = int(sums[:, 1].sum())
            row[key] = int(sums[:, 0].sum())
            row[f"{key}_share"] = [
                each if math.isfinite(each) else None for each in (spread.value, *spread.interval())
            ]
        if row["ecn_of"]:
            found.append(row)
    return found


def ecn(analysis: Analysis) -> Section | None:
    """Returns the census as a table."""
    rows: list[tuple[Cell, ...]] = []
    for each in census(analysis.estimates):
        shares = [each["ecn_share"], each["ecnseen_share"]]
        texts = []
        for share in shares:
            assert isinstance(share, list)
            value, low, high = share
            interval = "" if low is None else f" [{low:.2%}, {high:.2%}]"
            texts.append(Number(value, "–" if value is None else f"{value:.2%}{interval}"))
        counts = [Number(float(str(each[key])), f"{each[key]:,}") for key in ("ecn_of", "ecn")]
        rows.append((f"{each['arm']}", *counts, texts[0], texts[1]))
    if not rows:
        return None
    columns = (
        "arm",
        "connections",
        "ECN negotiated",
        "share [95 %]",
        "share of these that received a codepoint [95 %]",
    )
    return Section("ECN", [Table("Connections that negotiate ECN", columns, rows)])


def cpu(blocks: Sequence[Block]) -> Section | None:
    """Returns the section with CPU load over time."""
    return Section("CPU", list(blocks)) if blocks else None


def histograms(analysis: Analysis) -> Section | None:
    """Returns the histograms of bpftrace, summed over an arm's hosts, with their modes."""
    rows = (
        store.scan(analysis.plan.options.directory, "histograms")
        .group_by("name", "arm", "low", "high")
        .agg(pl.col("count").sum())
        .sort("name", "arm", "low")
        .collect()
    )
    if not len(rows):
        return None
    blocks: list[Block] = []
    modes: list[tuple[Cell, ...]] = []
    for (name,), there in list(
        rows.partition_by("name", as_dict=True, maintain_order=True).items()
    )[:_MOST_HISTOGRAMS]:
        lines = []
        for (arm,), own in there.partition_by("arm", as_dict=True, maintain_order=True).items():
            low, count = own["low"].to_numpy(), own["count"].to_numpy().astype(np.float64)
            high = own["high"].fill_null(2 * own["low"].max()).to_numpy()  # type: ignore[operator]
            share = count / count.sum() if count.sum() else count
            # A bucket is drawn from its low end to the next one's. The axis is logarithmic: a low
            # end of 0 is drawn at 0.5.
            x = np.append(np.maximum(low, 0.5), max(high[-1], 1.0))
            lines.append(Line(f"{arm}", x, np.append(share, share[-1]) * 100))
            modes += [
                (
                    f"{name}",
                    f"{arm}",
                    Number(low[at], f"[{low[at]:,.0f}, {high[at]:,.0f})"),
                    Number(share[at], f"{share[at]:.1%}"),
                )
                for at in _modes(share)
            ]
        blocks.append(
            Lines(f"Histogram {name}", f"{name}", "share of values, %", lines, log_x=True)
        )
    if modes:
        blocks.append(Table("Modes", ("histogram", "arm", "bucket", "share"), modes))
    return Section("Histograms", blocks, "From bpftrace, summed over the hosts of each arm.")


def _modes(share: np.ndarray) -> list[int]:
    """Returns the local maxima that hold at least a share of _MODE."""
    padded = np.concatenate([[0.0], share, [0.0]])
    return [
        at
        for at in range(len(share))
        if share[at] >= _MODE and padded[at + 1] > padded[at] and padded[at + 1] > padded[at + 2]
    ]
