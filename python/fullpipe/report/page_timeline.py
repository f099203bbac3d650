"""Puts runs over time into the data of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fullpipe._core import levels
from fullpipe.report.colors import Look, color_of, looks
from fullpipe.report.panels.declared import PANELS
from fullpipe.report.panels.drawn import fitted
from fullpipe.report.panels.tracks import column
from fullpipe.runs.view.states import colors as state_colors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.report import page_data
    from fullpipe.report.model import Panel, Recorded, Source, Stay, Timeline

MOST_POINTS = 10_000_000
"""Points of all tracks of a page. With more, each track keeps only its coarser levels."""
_LEAST = 2048
_EARLY = 16_384
"""Most points of the levels that the first pictures draw; see `MOST` of web/src/content.ts."""
_REFERENCE = Look(6, 0, 0)


def timeline(block: Timeline, packed: page_data.Packed) -> page_data.Timeline:
    """Packs the runs of a timeline.

    Raises:
        OSError: When a run's tables can't be read.
    """
    most = _most(block)
    words: dict[str, int] = {}
    runs = [
        _run(each, packed, (most, _EARLY if number in block.first else 0), words)
        for number, each in enumerate(block.runs)
    ]
    names = {name for run in runs for each in run["sources"] for name in each["tracks"]}
    palette, on_dark = state_colors(list(words)), state_colors(list(words), dark=True)
    return {
        "panels": [_panel(fitted(each, names)) for each in PANELS],
        "columns": {
            name: {"title": column(name).title, "unit": column(name).unit} for name in sorted(names)
        },
        "words": list(words),
        "wordColors": [palette[word] for word in words],
        "wordColorsOnDark": [on_dark[word] for word in words],
        "runs": runs,
        "first": list(block.first),
    }


def _most(block: Timeline) -> int:
    """Returns the points that each track may have, if all runs are like the first."""
    finest = [
        len(levels(np.ascontiguousarray(track.values))[0])
        for source in block.runs[0].read()
        for track in source.tracks.values()
    ]
    whole = len(block.runs) * sum(finest)
    if whole <= MOST_POINTS:
        return MOST_POINTS
    return max(_LEAST, max(finest) * MOST_POINTS // whole)


def _panel(panel: Panel) -> page_data.Panel:
    return {
        "key": panel.key,
        "title": panel.title,
        "unit": panel.unit,
        "curves": [
            {"of": each.of, "column": each.column, "style": each.style} for each in panel.curves
        ],
        "view": panel.view,
        "stays": panel.stays,
        "behind": panel.behind,
        "ticks": list(panel.ticks),
        "first": panel.first,
    }


def _run(
    run: Recorded, packed: page_data.Packed, most: tuple[int, int], words: dict[str, int]
) -> page_data.Run:
    sources = run.read()
    flows = [each for each in sources if each.kind in ("flow", "workload")]
    own = dict(
        zip(
            [each.name for each in flows],
            looks([each.algorithm or each.name for each in flows]),
            strict=True,
        )
    )
    return {
        "label": run.label,
        "command": run.command,
        "end": run.end_s,
        "measureFrom": run.measure_from_s,
        "changes": [{"time": time, "text": text} for time, text in run.changes],
        "notes": run.notes,
        "near": list(run.near or ()),
        "sources": [
            _source(each, _look(each, sources, own), packed, most, words) for each in sources
        ],
    }


def _look(source: Source, sources: Sequence[Source], own: Mapping[str, Look]) -> Look:
    """Returns the look of a source: that of its flow; links differ in shades and dashes."""
    if source.kind == "link":
        links = [each.name for each in sources if each.kind == "link"]
        number = links.index(source.name)
        return Look(_REFERENCE.color, number, number)
    if source.name in own and source.kind != "run":
        return own[source.name]
    if not source.algorithm:
        return _REFERENCE
    return Look(color_of(source.algorithm), 0, 0)


def _source(
    source: Source,
    look: Look,
    packed: page_data.Packed,
    most: tuple[int, int],
    words: dict[str, int],
) -> page_data.Source:
    return {
        "name": source.name,
        "kind": source.kind,
        "algorithm": source.algorithm,
        "color": look.color,
        "dash": look.dash,
        "tracks": {name: packed.add(track, *most) for name, track in source.tracks.items()},
        "stays": {name: _stays(stays, words) for name, stays in source.stays.items()},
        "spans": {
            "start": [each.start for each in source.spans],
            "end": [each.end for each in source.spans],
            "text": [each.text for each in source.spans],
        },
    }


def _stays(stays: Sequence[Stay], words: dict[str, int]) -> page_data.Stays:
    return {
        "word": [words.setdefault(each.word, len(words)) for each in stays],
        "since": [round(each.since, 6) for each in stays],
        "till": [round(each.till, 6) for each in stays],
    }
