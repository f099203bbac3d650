"""Runs over time."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fullpipe.report.model import Recorded, Section, Source, Timeline, Track
from fullpipe.report.panels.packets import near
from fullpipe.report.panels.tracks import (
    MOST_FLOWS,
    MOST_SPANS,
    column,
    links_left,
    longest_queue,
    sources,
)
from fullpipe.report.why_words import MOST_NAMES, listed
from fullpipe.results import read_parquet
from fullpipe.results.scenario import Tables
from fullpipe.results.sweep import PARTS
from fullpipe.results.words import ONLY_FLOW
from fullpipe.runs.view.left import left_out
from fullpipe.runs.view.path import links_of_acks
from fullpipe.runs.view.plot_links import dropped_acks
from fullpipe.stats import fairness, jain_over_time, rates_per_window
from fullpipe.stats.fairness import WINDOW_S
from fullpipe.stats.words import digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.results.model import Point, Results, Series
    from fullpipe.stats import Fairness

_MOST_RUNS = 60
_MOST_TOGETHER = 4
_MOST_SPELLS = 3


def section(results: Results) -> Section | None:
    """Returns the recorded runs, at most sixty."""
    if not results.series:
        return None
    shown = results.series[:_MOST_RUNS]
    rest = [_label(each, alike=False) for each in results.series[_MOST_RUNS:]]
    left = left_out(rest, len(results.series))
    alike = len({each.point.label for each in shown}) == 1
    runs = [_recorded(results, each, _label(each, alike=alike)) for each in shown]
    timeline = Timeline(runs, _first(results, shown), _together(shown))
    return Section("Over time", [timeline], left)


def _together(shown: list[Series]) -> tuple[int, ...]:
    """Returns the runs of all together of a comparison, with the first seed; none of other results."""
    those = [
        (number, each)
        for number, each in enumerate(shown)
        if each.point.settings.get("case") == PARTS[1]
    ]
    return tuple(number for number, each in those if each.seed == those[0][1].seed)


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


def _label(series: Series, *, alike: bool) -> str:
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
    measure_from_s, changes = measured_from(series.point, results), _changes(series.point, results)
    notes = _which_queue(series) | _left(series, [str(name) for name in names])
    if acks := _dropped_acks(results.rows.filter(*those)):
        notes["queue"] = " ".join(filter(None, (notes.get("queue", ""), acks)))
    fair = _of_one_kind(names, algorithms, series, results)
    jain, note = _jain(flows, fair, end_s) if len(fair) >= 2 else (None, "")
    if jain and len(fair) < len(names):
        jain = replace(jain, name=listed(fair) if len(fair) <= MOST_NAMES else "bulk flows")
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
        {**({"jain": note} if note else {}), **notes},
        near(read_parquet(series.files["packets"], columns=["time", "kind", "fate"]))
        if "packets" in series.files
        else None,
    )


def _dropped_acks(rows: pl.DataFrame) -> str:
    """Returns a sentence on the ACKs that the links of a run dropped; empty without any."""
    head, end = "link.", ".ack_drops"
    columns = [each for each in rows.columns if each.startswith(head) and each.endswith(end)]
    return dropped_acks(
        {each.removeprefix(head).removesuffix(end): rows[each].max() or 0 for each in columns}  # type: ignore[misc]
    )


def _of_one_kind(
    names: Sequence[str], algorithms: Mapping[str, str], series: Series, results: Results
) -> list[str]:
    """Returns the flows whose shares can be equal: those that react to congestion, and of several kinds the bulk ones.

    A flow that waits for requests has no share to be compared with that of a download.
    """
    those = results.rows.filter(pl.col("point") == series.point.number)
    kinds = Tables().of(series.point)
    kind_of = {
        name: kinds[index].kind
        for name, index in those.select("flow", "flow_index").iter_rows()
        if index < len(kinds)
    }
    fair = [name for name in names if algorithms.get(name) != "none"]
    several = len({kind_of.get(name, "") for name in fair}) > 1
    return [name for name in fair if not several or kind_of.get(name) == "bulk"]


def _which_queue(series: Series) -> dict[str, str]:
    """Returns the note of the panel of parts in a queue: with several links, the name of that link."""
    if "queues" not in series.files or "links" not in series.files:
        return {}
    links = read_parquet(series.files["links"], columns=["link", "sojourn"])
    if links["link"].n_unique() < 2:
        return {}
    return {"share": f"At {longest_queue(links)}, which has the longest queue on average."}


def _left(series: Series, names: Sequence[str]) -> dict[str, str]:
    """Returns the notes of the panels that leave out flows, links or answers, by the panel's key."""
    found = {}
    if flows := left_out(names[MOST_FLOWS:], len(names)):
        found = dict.fromkeys(("rate", "rtt", "cwnd", "states", "limits"), flows)
    if "links" in series.files:
        links = read_parquet(series.files["links"], columns=["link", "sojourn", "drops"])
        point = series.point
        acks = links_of_acks(point.scenario) if point.scenario and not point.measured else set()
        left = links_left(links, acks)
        told = [
            left_out([name for name in left if left[name] == why], links["link"].n_unique(), why)
            for why in dict.fromkeys(left.values())
        ]
        if told:
            found["queue"] = " ".join(told)
    if "responses" in series.files:
        counts = read_parquet(series.files["responses"], columns=["flow"])["flow"].value_counts()
        long = counts.filter(pl.col("count") > MOST_SPANS)
        told = [
            f"{name}: the first {MOST_SPANS:,} of {count:,} requests."
            for name, count in long.iter_rows()
        ]
        if told:
            found["requests"] = " ".join(told)
    return found


def _sources(series: Series, algorithms: dict[str, str], jain: Source | None) -> list[Source]:
    found = sources(series, algorithms) + ([jain] if jain else [])
    if set(algorithms) == {ONLY_FLOW}:  # a flow alone is called after its algorithm
        found = [
            replace(each, name=algorithms[ONLY_FLOW]) if each.name == ONLY_FLOW else each
            for each in found
        ]
    return found


def measured_from(point: Point, results: Results) -> float:
    """Returns the start of the measured time in seconds; 0 if the resolved scenario is unknown."""
    return seconds(resolved(point, results).get("measure_from", "0s"))


def _changes(point: Point, results: Results) -> tuple[tuple[float, str], ...]:
    """Returns times and descriptions of the path's changes, if the resolved scenario is known."""
    return tuple(
        (seconds(each["at"]), ", ".join(f"{key} {value}" for key, value in each.items() if key != "at"))
        for each in resolved(point, results).get("path", {}).get("change", [])
    )  # fmt: skip


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
    return Source("all flows", "run", "", track), in_words(fairness(progress, end_s), names)


def in_words(found: Fairness, names: Sequence[str]) -> str:
    """Returns when the shares of some flows were equal, and which flow had more at last."""
    who = listed(names) if len(names) <= MOST_NAMES else f"The {len(names)} flows"
    spells = [
        f"from {begin:.3g} s to the end"
        if end >= found.end_s
        else f"from {begin:.3g} to {end:.3g} s"
        for begin, end in found.spells
    ]
    if len(spells) > _MOST_SPELLS:
        more = len(spells) - _MOST_SPELLS
        spells = [*spells[:_MOST_SPELLS], f"{more} more time{'s' if more > 1 else ''}"]
    when = (
        f"{who} were within 25 % of equal shares for five seconds or longer {listed(spells)}"
        if spells
        else f"{who} were at no time of the run within 25 % of equal shares for five seconds"
    )
    if found.spells and found.spells[-1][1] >= found.end_s:
        return f"{when}."
    least, most = found.last
    slow, fast = (names[number] for number in found.which)
    if not least >= 0:
        return f"{when}."
    if not least:
        return f"{when}; in the last five seconds {slow} had nothing."
    return (
        f"{when}; in the last five seconds {fast} had {digits(most / least)} times {slow}'s rate."
    )
