"""Titles, commands and names for results in words."""

from __future__ import annotations

from itertools import takewhile
from shlex import quote
from typing import TYPE_CHECKING

from fullpipe.algorithms.own import options
from fullpipe.runners import SIMULATOR, option

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fullpipe.algorithms.own import Own


ONLY_FLOW = "flow"
"""The name of the flow of each run of `compare` that has one algorithm alone: the same random numbers for each."""

_TITLE, _ABOUT = 400, 4000
"""Most characters of a title, and of the description behind it."""


def titled(text: str, otherwise: str) -> tuple[str, str]:
    """Returns the title and the rest of a scenario's first comment lines; what no page has room for is cut."""
    lines = [line.strip() for line in first_comment(text)]
    return (cut(lines[0], _TITLE), cut(" ".join(lines[1:]), _ABOUT)) if lines else (otherwise, "")


def cut(text: str, most: int) -> str:
    """Returns a text of at most this number of characters, with … for the rest."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def first_comment(text: str) -> list[str]:
    """Returns a scenario's first comment lines: its title, then its description."""
    lines = takewhile(lambda line: line.startswith("#"), text.splitlines())
    return [line.removeprefix("#").removeprefix(" ").rstrip() for line in lines]


def replay(file: Path, seed: int, runner: str = SIMULATOR, algorithms: Iterable[Own] = ()) -> str:
    """Returns the command that runs a scenario with the user's algorithms again; it ends with the seed."""
    words = [str(file), *option(runner), *options(algorithms), "--seed", str(seed)]
    return command_of("run", words)


def command_of(name: str, arguments: Iterable[str]) -> str:
    """Returns a command line."""
    return " ".join(["fullpipe", name, *map(quote, arguments)])


def short(key: str) -> str:
    """Shortens a key: `path.buffer` to `buffer`, `flow.0.cc` to `cc`; `flow.1.cc` stays."""
    return key.removeprefix("path.").removeprefix("flow.0.")


def spans(numbers: Iterable[int]) -> str:
    """Formats whole numbers as ranges: "1–30, 40"."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("–".join(map(str, part)) for part in parts)
