"""`made.json`: which program made the results in a directory, and what a repetition of them has to know."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NotRequired, TypedDict

from fullpipe.base.build import Made, made
from fullpipe.results import disk
from fullpipe.results.kept import read_json
from fullpipe.results.sums import is_there

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE = "made.json"


class StudyAbout(TypedDict):
    """The options of a reproduced study."""

    file: str
    """The file of the study, next to which are the scenarios that it names."""
    cases: list[str]
    seeds: int | None
    settings: list[list[str]]
    runner: str


class MadeAbout(Made):
    """The contents of `made.json`."""

    trace: NotRequired[str]
    """The trace level of a run; without it the level is unknown."""
    settings: NotRequired[list[list[str]]]
    """Keys and values that changed `scenario.toml`, of a run on another runner than the simulator.

    `resolved.toml` has a `receive_window`, for which a kernel gives up its own.
    """
    study: NotRequired[StudyAbout]
    parts: NotRequired[list[str]]
    """The descriptions of the parts of an evaluation, relative to its directory: each must be there."""


def write_made(
    directory: Path,
    *,
    trace: str | None = None,
    settings: list[list[str]] | None = None,
    study: StudyAbout | None = None,
    parts: Sequence[str] | None = None,
) -> None:
    """Writes `made.json`.

    Raises:
        OSError: When it can't be written.
    """
    also = {"trace": trace, "settings": settings, "study": study, "parts": parts}
    about = {**made(), **{key: value for key, value in also.items() if value is not None}}
    disk.write(directory / FILE, json.dumps(about, indent=1) + "\n")


def read_made(directory: Path) -> MadeAbout | None:
    """Reads `made.json`; None without one, as in results of earlier versions.

    Raises:
        DamagedError: When it is damaged.
        OSError: When it can't be read.
    """
    file = directory / FILE
    return read_json(file, MadeAbout) if is_there(file) else None
