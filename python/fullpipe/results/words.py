"""What results say of themselves in words, and how their files are read."""

from __future__ import annotations

import json
from itertools import takewhile
from shlex import quote
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def titled(text: str, otherwise: str) -> tuple[str, str]:
    """The title and the rest of a scenario's first comment lines."""
    lines = [line.strip() for line in first_comment(text)]
    return (lines[0], " ".join(lines[1:])) if lines else (otherwise, "")


def first_comment(text: str) -> list[str]:
    """A scenario's first comment lines: its title, then what it shows."""
    lines = takewhile(lambda line: line.startswith("#"), text.splitlines())
    return [line.removeprefix("#").removeprefix(" ").rstrip() for line in lines]


def replay(file: Path, seed: int, runner: str = "sim") -> str:
    """The command that runs a scenario again."""
    on = "" if runner == "sim" else f" --on {runner}"
    return f"fullpipe run {quote(str(file))}{on} --seed {seed}"


def short(key: str) -> str:
    """A key without the table that everybody knows: `buffer`, `cc` of the first flow, `flow.1.cc`."""
    return key.removeprefix("path.").removeprefix("flow.0.")


def spans(numbers: Iterable[int]) -> str:
    """Whole numbers in few words: "1–30, 40"."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("–".join(map(str, part)) for part in parts)


def read_json(file: Path) -> Any:  # noqa: ANN401  (whatever is in it)
    """What is in a file of JSON."""
    return json.loads(file.read_text(encoding="utf-8"))
