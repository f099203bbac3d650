"""`fullpipe fleet simulate`: runs paths, shows progress, and prints a line per arm."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import polars as pl

from fullpipe.base import terminal
from fullpipe.base.progress import Counter
from fullpipe.errors import stoppable
from fullpipe.results import objects
from fullpipe.runs.view.path import stack_of
from fullpipe.study import kept_in
from fullpipe.study.execute import telling
from fullpipe.study.spec import command_line
from fullpipe.wings.fleet import store as tables
from fullpipe.wings.fleet.population.execute import execute

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from fullpipe.study.engine import Engine
    from fullpipe.wings.fleet.population.spec import PopulationSpec


def simulate(spec: PopulationSpec, out: str, *, engine: Engine, as_json: bool) -> None:
    """Runs the missing paths, and prints a summary of all paths.

    Raises:
        ScenarioError: When the population is invalid.
        OSError: When the directory can't be written.
    """
    start = time.perf_counter()
    counter = Counter(of="paths")
    with (
        telling(lambda: kept_in(out)),
        stoppable(lambda: counter.at, kept_in(out)),
        counter,
        objects.writable(out) as (directory, push),
    ):
        done, packets = execute(
            spec,
            directory,
            counter,
            command=command_line(),
            called=f"--out {out}",
            engine=engine,
            push=push,
        )
    if as_json:
        print(json.dumps({"arms": summary(directory).sort("arm").to_dicts()}))
        return
    seconds = time.perf_counter() - start
    console = terminal.console()
    stack = stack_of(spec.plan.scenario(0, 0))
    console.print(f"{spec.plan.title}: {spec.paths:,} paths; {stack}\n", markup=False)
    console.print(_table(summary(directory), spec.arms))
    console.print(
        f"{done * len(spec.arms):,} downloads, {packets:,} packets in {seconds:.1f} s",
        markup=False,
    )
    console.print(
        f"saved in {out}; to compare the arms: fullpipe fleet compare {out}",
        markup=False,
        soft_wrap=True,
    )
    console.print(
        f"to inspect one path: fullpipe fleet path {out} 0 --arm {spec.arms[0]}",
        markup=False,
        soft_wrap=True,
    )


def summary(directory: Path) -> pl.DataFrame:
    """Returns a row of summary statistics for each arm."""
    requests = tables.scan(directory, "requests").select("arm", "pair", "throughput_bps", "status")
    both = tables.scan(directory, "connections").join(requests, on=("arm", "pair"))
    mbps = pl.col("throughput_bps") / 1e6
    return (
        both.group_by("arm")
        .agg(
            mbps_p25=mbps.quantile(0.25),
            mbps_p50=mbps.median(),
            mbps_p75=mbps.quantile(0.75),
            retransmitted=pl.col("bytes_retrans").sum() / pl.col("bytes_sent").sum(),
            inflight=pl.col("unacked_packets_mean").median(),
            rtt_ms=1e3 * pl.col("rtt_s_mean").median(),
            window_limited=pl.col("rwnd_limited").mean(),
            unfinished=(pl.col("status") != 200).sum(),
        )
        .collect(engine="streaming")
    )


def _table(rows: pl.DataFrame, arms: object) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("\narm")
    for title in (
        "Mbit/s\np25",
        "\np50",
        "\np75",
        "retrans-\nmitted",
        "in flight\npackets",
        "RTT\nms",
        "window-\nlimited",
        "\naborted",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    of = {row["arm"]: row for row in rows.iter_rows(named=True)}
    for arm in arms if isinstance(arms, list | tuple) else of:
        row = of[arm]
        table.add_row(
            arm,
            *(f"{row[name]:.1f}" for name in ("mbps_p25", "mbps_p50", "mbps_p75")),
            f"{row['retransmitted']:.2%}",
            f"{row['inflight']:.1f}",
            f"{row['rtt_ms']:.1f}",
            f"{row['window_limited']:.1%}",
            f"{row['unfinished']:,}",
        )
    return table
