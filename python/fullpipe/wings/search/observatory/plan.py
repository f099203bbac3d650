"""Families of paths and their cells, from the files of the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from fullpipe import _core
from fullpipe.algorithms.plugins import built_in
from fullpipe.study.cells import merged, shortened
from fullpipe.study.question import Number, Question
from fullpipe.study.verdicts.reader import Reader, read_toml

HARM = Number("goodput", of="other", against="harm")
FIRST_SEED = 1
SMALL_SEEDS = 3
SEEDS = 30


def families(*, small: bool = False, stack: str | None = None) -> list[Question]:
    """Returns the families of the package.

    Args:
        small: Keep the first and the last value of each axis only.
        stack: `stack` of their scenarios; None for that of the package.
    """
    folder = Path(str(files("fullpipe.wings.search.observatory")))
    shared: dict[str, Any] = read_toml(folder / "common.toml")
    of_all = Reader(folder / "common.toml", stack).stack(shared)
    del shared["stack"]
    found = []
    for file in sorted((folder / "families").iterdir()):
        about: dict[str, Any] = read_toml(file)
        own = about.pop("with", {})
        words = {
            axis: merged(shared.get(axis, {}), own.get(axis, {})) for axis in {**shared, **own}
        }
        axes = about.pop("axes")
        scenario = Reader(file, stack).scenario(about.pop("scenario"), "scenario", of_all)
        name = file.name.partition("-")[2].removesuffix(".toml")
        neighbor = about.pop("harm", "")
        numbers = tuple(
            HARM if each == HARM.name else Number(each) for each in about.pop("metrics")
        )
        axes = shortened(axes) if small else axes
        found.append(
            Question(
                name=name,
                scenario=scenario,
                axes=axes,
                words=words,
                numbers=numbers,
                neighbor=neighbor,
                **about,
            )
        )
    return found


def algorithms() -> list[str]:
    """Returns the names of all built-in algorithms."""
    own = built_in()
    return [each["name"] for each in _core.algorithms() if each["name"] in own]
