"""Families of paths and their cells, from the files of the package."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from fullpipe import _core
from fullpipe.algorithms.plugins import built_in
from fullpipe.study.cells import merged, shortened
from fullpipe.study.question import Number, Question

HARM = Number("goodput", of="other", against="harm")
FIRST_SEED = 1
SMALL_SEEDS = 3
SEEDS = 30


def families(*, small: bool = False) -> list[Question]:
    """Returns the families of the package.

    Args:
        small: Keep the first and the last value of each axis only.
    """
    shared: dict[str, Any] = tomllib.loads(_read("common.toml"))
    stack = f'stack = "{shared.pop("stack")}"\n'
    found = []
    for file in sorted(
        files("fullpipe.wings.search.observatory").joinpath("families").iterdir(), key=str
    ):
        about: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        own = about.pop("with", {})
        words = {
            axis: merged(shared.get(axis, {}), own.get(axis, {})) for axis in {**shared, **own}
        }
        axes = about.pop("axes")
        scenario = stack + about.pop("scenario")
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


def _read(name: str) -> str:
    return files("fullpipe.wings.search.observatory").joinpath(name).read_text(encoding="utf-8")
