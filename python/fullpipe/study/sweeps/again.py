"""A kept sweep as a specification: its complete scenarios, which need none of the files that they were made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.results.kept import read_parquet
from fullpipe.study.spec import SweepSpec

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.results.about import SweepAbout


def spec_of(directory: Path, about: SweepAbout) -> SweepSpec:
    """Returns the sweep in a directory, with its points, its seeds and the contents of its files.

    Raises:
        DamagedError: When a file is damaged.
        OSError: When it can't be read.
    """
    points = read_parquet(directory / "points.parquet", ["point", "scenario"])
    keys = [axis["key"] for axis in about["axes"] if axis["key"] in points.columns]
    settings = [
        [(key, value) for key, value in zip(keys, row, strict=True) if value is not None]
        for row in (points.select(keys).rows() if keys else [()] * points.height)
    ]
    ends = (
        (key, of if isinstance(of, list) else [of]) for key, of in about["added_jitter"].items()
    )
    return SweepSpec(
        about["scenario"],
        about["file"],
        points=settings,
        repeat=len(about["seeds"]),
        whole=points["scenario"].to_list(),
        jitter=[(key, each[0], each[-1]) for key, each in ends],
    )
