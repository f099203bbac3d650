"""Runs over time."""

from __future__ import annotations

import tomllib
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fullpipe.report.model import Recorded, Section, Source, Timeline, Track
from fullpipe.report.panels.packets import near
from fullpipe.report.panels.tracks import MOST_FLOWS, column, longest_queue, sources
from fullpipe.results import read_parquet
from fullpipe.stats import fairness, jain_over_time, rates_per_window
from fullpipe.stats.fairness import WINDOW_S
from fullpipe.stats.words import digits

if TYPE_CHECKING:
    from fullpipe.results.model import Point, Results, Series
    from fullpipe.stats import Fairness

_MOST_RUNS = 60
_MOST_TOGETHER = 4
_MOST_SPELLS = 3
_NEVER = "At no time within 25 % of equal shares for five seconds."


def section(results: Results) -> Section | None:
    """Returns the recorded runs, at most sixty."""
    if not results.series:
        return None
    shown = results.series[:_MOST_RUNS]
    left = (
        f"Only the first {len(shown)} of {len(results.series)} recorded runs are shown."
        if len(results.series) > len(shown)
        else ""
    )
    alike = len({each.point.label for each in shown}) == 1
    runs = [_recorded(results, each, _label(each, alike)) for each in shown]
    return Section("Over time", [Timeline(runs, _first(results, shown))], left)


def _first(results: Results, shown: list[Series]) -> tuple[int, ...]:
    """Returns the runs to lay over each other at first: those of several runners, or of compared results."""
    together = {number for group in getattr(results, "overlay", [])[:1] for number in group}
    if shown[0].point.runner:
        together = {each.point.number for each in shown if each.point.place == shown[0].point.place}
    chosen: dict[int, int] = {}
    for number, each in enumerate(shown):
        point = each.point.number
        # A measurement has no seed in common with its model: any run of the point will do.
        if point in together and (point not in chosen or each.seed == shown[0].seed):
            chosen[point] = number
    return tuple(sorted(chosen.values())[:_MOST_TOGETHER]) or (0,)


def _label(series: Series, alike: bool) -> str:
    """Returns a run's label; runs that only runner and seed tell apart do without their point's."""
    point = series.point
    name = point.runner if point.runner and alike else point.label
    if point.runner not in ("", name):
        name += f" on {point.runner}"
    return name if point.measured else f"{name}, seed {series.seed}"


def _recorded(results: Results, series: Series, label: str) -> Recorded:
    flows = read_parquet(series.files["flows"], columns=["time", "flow", "delivered"])
    names = flows["flow"].unique().sort().to_list()
    those = pl.col("point") == series.point.number, pl.col("seed") == series.seed
    algorithms = dict(results.rows.filter(*those).select("flow", "cc").iter_rows())
    end_s = float(flows["time"].max() or 0.0)  # type: ignore[arg-type]
    measure_from_s, changes = _of_scenario(series.point, results)
    # as the metric, the index is of flows that react to congestion
    fair = [name for name in names if algorithms.get(name) != "none"]
    jain, note = _jain(flows, fair, end_s) if len(fair) >= 2 else (None, "")
    more = f" (the first {MOST_FLOWS} of {len(names)} flows)" if len(names) > MOST_FLOWS else ""
    command, seeded, _ = series.point.command.rpartition(" --seed ")
    command = f"{command} --seed {series.seed}" if seeded else series.point.command
    return Recorded(
        f"{label}{more}",
        command,
        end_s,
        partial(_sources, series, algorithms, jain),
        measure_from_s,
        changes,
        {**({"jain": note} if note else {}), **_which_queue(series)},
        near(read_parquet(series.files["packets"], columns=["time", "kind", "fate"]))
        if "packets" in series.files
        else None,
    )


def _which_queue(series: Series) -> dict[str, str]:
    """Returns the note of the panel of parts in a queue: with several links, the name of that link."""
    if "queues" not in series.files or "links" not in series.files:
        return {}
    links = read_parquet(series.files["links"], columns=["link", "sojourn"])
    if links["link"].n_unique() < 2:
        return {}
    return {"share": f"At {longest_queue(links)}, which has the longest queue on average."}


def _sources(series: Series, algorithms: dict[str, str], jain: Source | None) -> list[Source]:
    return sources(series, algorithms) + ([jain] if jain else [])


def _of_scenario(point: Point, results: Results) -> tuple[float, tuple[tuple[float, str], ...]]:
    """Returns the start of the measured time, and the changes of the path, if the resolved scenario is known."""
    scenario = resolved(point, results)
    changes = tuple(
        (seconds(each["at"]), ", ".join(f"{key} {value}" for key, value in each.items() if key != "at"))
        for each in scenario.get("path", {}).get("change", [])
    )  # fmt: skip
    return seconds(scenario.get("measure_from", "0s")), changes


def resolved(point: Point, results: Results) -> dict[str, Any]:
    """Returns the resolved scenario of a point; empty if it is unknown."""
    return tomllib.loads(point.scenario or results.scenarios.get("resolved.toml", ""))


def seconds(text: str) -> float:
    """Returns a duration of a resolved scenario in seconds."""
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return float(number) * units[text[len(number) :]]


def _jain(flows: pl.DataFrame, names: list[str], end_s: float) -> tuple[Source, str]:
    """Returns Jain's index of each second in which all flows were active, and the times of equal shares in words."""
    progress = []
    for name in names:
        rows = flows.filter(pl.col("flow") == name)
        progress.append((rows["time"].to_numpy(), rows["delivered"].cast(pl.Float64).to_numpy()))
    start_s = max(float(time[0]) if len(time) else 0.0 for time, _ in progress)
    ends, rates = rates_per_window(progress, start_s, end_s)
    index = Track(ends - WINDOW_S / 2, jain_over_time(rates) * column("jain").factor)
    track = {"jain": index} if np.isfinite(index.values).any() else {}
    return Source("all flows", "run", "", track), in_words(fairness(progress, end_s))


def in_words(found: Fairness) -> str:
    """Returns when the shares were equal, and how unequal they were at last."""
    to_the_end = found.end_s
    spells = [
        f"from {begin:.3g} s to {'the end' if end >= to_the_end else f'{end:.3g} s'}"
        for begin, end in found.spells
    ]
    if len(spells) > _MOST_SPELLS:
        more = len(spells) - _MOST_SPELLS
        spells = [*spells[:_MOST_SPELLS], f"{more} more time{'s' if more > 1 else ''}"]
    when = (
        f"Within 25 % of equal shares for five seconds or longer {_listed(spells)}."
        if spells
        else _NEVER
    )
    if found.spells and found.spells[-1][1] >= to_the_end:
        return when
    least, most = found.last
    if not least > 0:
        return f"{when} In the last five seconds a flow had nothing." if least == 0 else when
    return f"{when} In the last five seconds 1 : {digits(most / least)}."


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
