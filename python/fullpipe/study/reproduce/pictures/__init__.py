"""`[[picture]]`: figures of groups of runs, in addition to the tables.

To add a kind, write a function in a module of this package and add its name to :data:`DRAWINGS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe.study.reproduce.groups import points_of
from fullpipe.study.reproduce.measures import MEASURES, TRACED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fullpipe.study.reproduce.groups import Group, Point
    from fullpipe.study.verdicts.reader import Json, Reader, Table

_KEYS = ("case", "file", "title", "draw", "of", "measure", "flow", "series")
DRAWINGS = (
    *("queue_over_time", "queue_cdf", "rates_over_time", "sweep", "over_series"),
    *("sorted", "rtt_histogram", "rate_rtt_state", "slowdown"),
)
"""The kinds of figures; :func:`fullpipe.study.reproduce.pictures.draw.draw` draws them."""
_MEASURED = ("sweep", "sorted")
BRIEF = ("sweep", "sorted", "rtt_histogram", "rate_rtt_state")
"""The kinds that repeat no run, or only the median run of each point."""


@dataclass(frozen=True)
class Picture:
    """A figure drawn with the results, as `pictures/FILE.png`.

    Attributes:
        case: Case of the claims that the figure illustrates.
        file: Name of the file without suffix.
        title: Title of the figure.
        draw: One of :data:`DRAWINGS`.
        of: The points of each group shown.
        measure: Measure shown by a sweep or sorted runs, one of
            :data:`fullpipe.study.reproduce.measures.MEASURES`; else empty.
        flow: The flow that is measured, from 0.
        series: File with the source's time series, for a figure over it; else None.
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
        """All points shown."""
        return [point for points in self.of for point in points]


def read_pictures(reader: Reader, raw: Table, groups: Mapping[str, Group]) -> tuple[Picture, ...]:
    """Reads the figures of a file.

    Raises:
        PublishedError: When a figure is invalid.
    """
    pictures = []
    for number, keys in enumerate(reader.tables(raw.get("picture", []), "picture")):
        where = f"picture[{number}]"
        reader.only(keys, f"{where}.", _KEYS)
        draw = reader.one_of(keys.get("draw"), f"{where}.draw", DRAWINGS)
        if ("measure" in keys) != (draw in _MEASURED):
            fix = f"give {' and '.join(_MEASURED)} a measure, and other pictures no measure"
            reader.refuse(f"{where}.measure", keys.get("measure"), f"does not fit {draw}", fix)
        if ("series" in keys) != (draw == "over_series"):
            fix = "give over_series the source's file, and other pictures no series"
            reader.refuse(f"{where}.series", keys.get("series"), f"does not fit {draw}", fix)
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
    """Returns a file named relative to the directory of the file that is read."""
    file = reader.file.parent / reader.text(value, where)
    if not file.is_file():
        reader.refuse(
            where, value, "does not exist", f"name a CSV file relative to {reader.file.parent}"
        )
    return file
