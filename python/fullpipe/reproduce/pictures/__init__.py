"""`[[picture]]`: what is drawn of groups of runs, beside the tables.

Another kind is another function in a module of this package, and its name in :data:`DRAWINGS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe.reproduce.groups import points_of
from fullpipe.reproduce.measures import MEASURES, TRACED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fullpipe.reproduce.groups import Group, Point
    from fullpipe.verdicts.reader import Json, Reader, Table

_KEYS = ("case", "file", "title", "draw", "of", "measure", "flow", "series")
DRAWINGS = (
    *("queue_over_time", "queue_cdf", "rates_over_time", "sweep", "over_series"),
    *("sorted", "rtt_histogram", "rate_rtt_state", "slowdown"),
)
"""The kinds of pictures; :func:`fullpipe.reproduce.pictures.draw.draw` makes them."""
_MEASURED = ("sweep", "sorted")
BRIEF = ("sweep", "sorted", "rtt_histogram", "rate_rtt_state")
"""Those that need no run again, or the median one of each point."""


@dataclass(frozen=True)
class Picture:
    """A picture that is drawn with the results, as `pictures/FILE.png`.

    Attributes:
        case: The claim's that it goes with.
        file: Its name.
        title: What it shows.
        draw: One of :data:`DRAWINGS`.
        of: The points of each group that it shows.
        measure: What a sweep or sorted runs show, one of
            :data:`fullpipe.reproduce.measures.MEASURES`; else empty.
        flow: The flow that is measured, from 0.
        series: The source's own series, for a picture over it; else None.
    """

    case: str
    file: str
    title: str
    draw: str
    of: tuple[tuple[Point, ...], ...]
    measure: str
    flow: int
    series: Path | None

    @property
    def points(self) -> list[Point]:
        """All points that it shows."""
        return [point for points in self.of for point in points]


def read_pictures(reader: Reader, raw: Table, groups: Mapping[str, Group]) -> tuple[Picture, ...]:
    """The pictures of a file.

    Raises:
        PublishedError: When one is wrong.
    """
    pictures = []
    for number, keys in enumerate(reader.tables(raw.get("picture", []), "picture")):
        where = f"picture[{number}]"
        reader.only(keys, f"{where}.", _KEYS)
        draw = reader.one_of(keys.get("draw"), f"{where}.draw", DRAWINGS)
        if ("measure" in keys) != (draw in _MEASURED):
            fix = f"give {' and '.join(_MEASURED)} a measure, and other pictures none"
            reader.refuse(f"{where}.measure", keys.get("measure"), f"does not fit to {draw}", fix)
        if ("series" in keys) != (draw == "over_series"):
            fix = "give over_series the source's file, and other pictures none"
            reader.refuse(f"{where}.series", keys.get("series"), f"does not fit to {draw}", fix)
        picture = Picture(
            case=reader.text(keys.get("case"), f"{where}.case"),
            file=reader.text(keys.get("file"), f"{where}.file"),
            title=reader.text(keys.get("title"), f"{where}.title"),
            draw=draw,
            of=tuple(
                points_of(reader, groups, each, f"{where}.of")
                for each in reader.texts(keys.get("of"), f"{where}.of")
            ),
            measure=reader.one_of(keys["measure"], f"{where}.measure", tuple(MEASURES))
            if "measure" in keys
            else "",
            flow=reader.whole(keys.get("flow", 1), f"{where}.flow") - 1,
            series=_series(reader, keys["series"], f"{where}.series") if "series" in keys else None,
        )
        if picture.measure in TRACED and any(
            point.setup.trace == "off" for point in picture.points
        ):
            reader.refuse(
                f"{where}.measure",
                picture.measure,
                "needs a trace",
                'add trace = "10ms" to its groups',
            )
        pictures.append(picture)
    return tuple(pictures)


def _series(reader: Reader, value: Json, where: str) -> Path:
    """A file beside the one that is read."""
    file = reader.file.parent / reader.text(value, where)
    if not file.is_file():
        reader.refuse(
            where, value, "is not there", f"name a CSV file, seen from {reader.file.parent}"
        )
    return file
