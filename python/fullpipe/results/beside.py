"""Results of several directories side by side, as one: what differs between their scenarios tells them apart."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from fullpipe import _core
from fullpipe.results.about import TestTable
from fullpipe.results.load import load
from fullpipe.results.model import RESULTS, RUNNER, Axis, NoResultsError, Point, Results
from fullpipe.results.objects import called
from fullpipe.results.overlay import overlays
from fullpipe.results.scenario import PROFILE, flat
from fullpipe.results.words import short, spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fullpipe.base.metrics import Metrics
    from fullpipe.results.about import TestAbout

    Settings = dict[str, str]

_MOST_KEYS = 3
_READ = 200
"""Number of a directory's points whose scenarios are read for its constant keys."""
_NONE = "–"
_SEED = "seed"
_NOISE = ("start_jitter", "send_jitter")
_TIMES = ("duration", "measure_from")
"""Keys that do not tell a measurement from others: it lasts as long as its program does."""
_DERIVED = re.compile(r"flow\.\d+\.(name|receive_window)|.*_jitter")
"""Keys whose defaults follow from other ones: they count only if nothing else differs."""


def beside(directories: Sequence[Path]) -> Results:
    """Loads the results of a directory, or of several as one.

    With several directories, each point has a further setting for each key that differs between their
    complete scenarios, so that these values are compared. Equal scenarios differ by runner, by
    seed, or by the directory's name.

    Raises:
        NoResultsError: When a directory has no results, or is named twice.
        DamagedError: When a file is damaged.
        OSError: When a file can't be read.
    """
    if len(directories) == 1:
        return load(directories[0])
    places = [each.resolve() for each in directories]
    if twice := next((each for each in places if places.count(each) > 1), None):
        raise NoResultsError(f"{twice}: named twice\n  fix: name each directory once")
    named = [Path(called(each)).resolve() for each in directories]
    parts = [_Part(load(each), name) for each, name in zip(directories, _names(named), strict=True)]
    axes = _swept(parts)
    for part in parts:
        part.fill(axes)
    different = _different(parts, axes)
    for part, settings in zip(parts, different, strict=True):
        part.add(settings)
    keys = list(different[0])
    added = [
        _compared_axis(key, [each[key] for each in different]) for key in keys if key != RUNNER
    ]
    return _joined(parts, different, [*added, *axes.values()])


class _Part:
    """The results of one directory."""

    def __init__(self, results: Results, name: str) -> None:
        self.results, self.name = results, name
        self.points = dict(results.points)
        self.keys = [
            flat(point.scenario) if point.scenario else {}
            for point in islice(self.points.values(), _READ)
        ]
        first = self.keys[0] if self.keys else {}
        self.common: Settings = {
            key: value
            for key, value in first.items()
            if all(each.get(key) == value for each in self.keys)
        }
        self.used = {key for each in self.keys for key in each}
        self.seeds = sorted({seed for point in self.points.values() for seed in point.seeds})
        rows = results.rows
        self.runners: list[str] = (
            rows["runner"].unique(maintain_order=True).to_list() if "runner" in rows.columns else []
        )

    def fill(self, axes: Mapping[str, Axis]) -> None:
        """Adds to each point its value of the keys that another directory sweeps."""
        for number, point in self.points.items():
            missing = [key for key in axes if key not in point.settings]
            if missing and point.scenario:
                keys = flat(point.scenario)
                added = {key: _as_written(keys[key], axes[key]) for key in missing if key in keys}
                self.points[number] = replace(point, settings={**point.settings, **added})

    def add(self, settings: Mapping[str, str]) -> None:
        """Adds settings to each point, and to its label."""
        told = ", ".join(
            value if key == RUNNER else f"{short(key)} {value}"
            for key, value in settings.items()
            if key not in (RESULTS, _SEED)  # runs have their seeds anyway
        )
        for number, point in self.points.items():
            alone = self.results.metrics or point.label == "the scenario"
            rest = "" if alone else point.label
            label = ", ".join(part for part in (told or self.name, rest) if part)
            self.points[number] = replace(
                point,
                label=label,
                settings={**settings, **point.settings},
                runner=settings.get(RUNNER, point.runner),
            )


def _names(places: Sequence[Path]) -> list[str]:
    """Returns the shortest ends of paths that tell all of them apart."""
    for depth in range(1, max(len(each.parts) for each in places) + 1):
        names = ["/".join(each.parts[-depth:]) for each in places]
        if len({*names}) == len(names):
            break
    return names


def _swept(parts: Sequence[_Part]) -> dict[str, Axis]:
    """Returns the axes of all parts, with the values of all; those of the other parts come from their scenarios."""
    axes: dict[str, Axis] = {}
    for part in parts:
        for axis in part.results.axes:
            known = axes.get(axis.key, replace(axis, values=()))
            axes[axis.key] = replace(axis, values=_merged(known.values, axis.values))
    for key, axis in axes.items():
        others = [each[key] for part in parts for each in part.keys if key in each]
        axes[key] = replace(axis, values=_merged(axis.values, others))
    return axes


def _merged(values: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """Returns values and those others that are not equal to one of them, like `1.2MB` and `1200kB`."""
    found = list(values)
    for each in others:
        if not any(_same(each, one) for one in found):
            found.append(each)
    return tuple(found)


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    first, second = _core.quantity(one), _core.quantity(other)
    return first is not None and first == second


def _as_written(value: str, axis: Axis) -> str:
    return next((each for each in axis.values if _same(each, value)), value)


def _different(parts: Sequence[_Part], axes: Mapping[str, Axis]) -> list[Settings]:
    """Returns for each part the settings that tell it from the others."""
    keys = _differing_keys(parts, axes)
    runners = [", ".join(part.runners) for part in parts]
    # A measurement of another program is no run of the same scenario, even if its runner differs.
    measured = any(point.measured for part in parts for point in part.points.values())
    if measured and not keys:
        return [{RESULTS: part.name} for part in parts]
    if not keys and len({*runners}) == len(parts):
        return [{RUNNER: each} for each in runners]
    found: list[Settings] = [{key: part.common.get(key, _NONE) for key in keys} for part in parts]
    if len({*runners}) > 1:
        found = [{**each, "on": runner} for each, runner in zip(found, runners, strict=True)]
    if len(found[0]) <= _MOST_KEYS and len({tuple(each.items()) for each in found}) == len(parts):
        return found
    if _disjoint(parts) and not keys:
        return [{} for _ in parts]
    if not keys and len({tuple(part.seeds) for part in parts}) == len(parts):
        return [{_SEED: spans(part.seeds)} for part in parts]
    return [{RESULTS: part.name} for part in parts]


def _differing_keys(parts: Sequence[_Part], axes: Mapping[str, Axis]) -> list[str]:
    """Returns the keys that are the same throughout each part, and not in all parts."""
    ignored = (
        _SEED,
        *(_TIMES if any(each.measured for part in parts for each in part.points.values()) else ()),
    )
    parts = [part for part in parts if part.used]  # a measurement's scenario may be unknown
    keys = dict.fromkeys(key for part in parts for key in part.common if key not in ignored)
    found = [
        key
        for key in keys
        if key not in axes
        and all(key in part.common or key not in part.used for part in parts)
        and not _equal([part.common.get(key, _NONE) for part in parts])
    ]
    if any(key == PROFILE for key in found):
        found = [key for key in found if key == PROFILE or not key.startswith(("path.", "link."))]
    # Options of queues and parameters of algorithms differ because those do.
    kinds = [key for key in (*found, *axes) if key.endswith((".queue", ".cc"))]
    heads = tuple(
        f"{key}." if key.endswith(".queue") else f"{key.removesuffix('cc')}params." for key in kinds
    )
    found = [key for key in found if not (heads and key.startswith(heads))]
    chosen = [key for key in found if not _DERIVED.fullmatch(key)]
    if axes and not chosen:  # they follow from the swept keys
        return []
    noise = [key for key in found if key in _NOISE]
    return chosen or ([] if len(noise) == len(found) else found)


def _equal(values: Sequence[str]) -> bool:
    return all(_same(values[0], each) for each in values[1:])


def _disjoint(parts: Sequence[_Part]) -> bool:
    """Returns whether the parts have no place in common, so that together they are one sweep."""
    places = [
        place
        for part in parts
        for place in {tuple(sorted(each.settings.items())) for each in part.points.values()}
    ]
    return len({*places}) == len(places)


def _compared_axis(key: str, values: Sequence[str]) -> Axis:
    return Axis(key, tuple(dict.fromkeys(values)), compared=True)


def _joined(parts: Sequence[_Part], different: Sequence[Settings], axes: list[Axis]) -> Results:
    rows, series = [], []
    points: dict[int, Point] = {}
    metrics: dict[int, Metrics] = {}
    transfers: dict[tuple[int, int], Path] = {}
    for part in parts:
        first = max(points, default=-1) + 1
        rows.append(part.results.rows.with_columns(pl.col("point").cast(pl.Int64) + first))
        for number, point in part.points.items():
            points[first + number] = replace(point, number=first + number)
            if number in part.results.metrics:
                metrics[first + number] = part.results.metrics[number]
        series += [
            replace(each, point=points[first + each.point.number]) for each in part.results.series
        ]
        transfers |= part.results.transfers_from(first)
    titles = dict.fromkeys(part.results.title for part in parts)
    abouts = {part.results.about for part in parts}
    scenarios = {
        f"{part.name}/{name}": text
        for part in parts
        for name, text in part.results.scenarios.items()
    }
    return Results(
        parts[0].results.directory,
        "; ".join(titles),
        abouts.pop() if len(abouts) == 1 else "",
        _facts(parts, different),
        pl.concat(rows, how="diagonal_relaxed"),
        axes,
        points,
        series,
        scenarios,
        metrics if len(metrics) == len(points) else {},
        overlay=_overlay(parts, axes, points),
        tested=_tested(parts),
        transfers=transfers,
    )


def _tested(parts: Sequence[_Part]) -> TestAbout | None:
    """Returns results of one canned test as one, with the label of each directory in front of its rows."""
    tests = [(part.points[0].label, part.results.tested) for part in parts if part.results.tested]
    kept = [(label, test) for label, test in tests if test is not None]
    if len(kept) < len(parts) or len({test["test"] for _, test in kept}) > 1:
        return None
    first = kept[0][1]
    tables = {
        each["title"]: TestTable(
            title=each["title"], columns=["results", *each["columns"]], rows=[]
        )
        for _, test in kept
        for each in test["tables"]
    }
    for label, test in kept:
        for each in test["tables"]:
            tables[each["title"]]["rows"] += [[label, *row] for row in each["rows"]]
    return {
        **first,
        "roles": {name: role for _, test in kept for name, role in test["roles"].items()},
        "tables": list(tables.values()),
        "sentences": [f"{label}: {said}" for label, test in kept for said in test["sentences"]],
        "notes": [f"{label}: {said}" for label, test in kept for said in test["notes"]],
    }


def _overlay(
    parts: Sequence[_Part], axes: Sequence[Axis], points: Mapping[int, Point]
) -> list[list[int]]:
    """Returns groups of one point of each part that differ in nothing but the part."""
    kept = [group for part in parts for group in part.results.overlay]
    found = overlays(axes, points)
    if not found and all(len(part.points) == 1 for part in parts):
        found = [list(points)]
    return found or kept


def _facts(parts: Sequence[_Part], different: Sequence[Settings]) -> list[tuple[str, str]]:
    """Returns the facts that all parts share once, and the others for each part."""
    shared = [
        fact
        for fact in parts[0].results.facts
        if fact[0] != "Runs" and all(fact in each.results.facts for each in parts)
    ]
    facts = [*shared]
    for part, settings in zip(parts, different, strict=True):
        told = ", ".join(
            f"{short(key)} {value}"
            for key, value in settings.items()
            if key not in (RESULTS, RUNNER)
        )
        own = [
            f"{name} {text}" if name != "Command" else text
            for name, text in part.results.facts
            if (name, text) not in shared
        ]
        facts.append((part.name, "; ".join(filter(None, (told, *own)))))
    return facts
