"""`tests/oracle/cells.toml`: scenarios for both simulator and kernel, and the tolerances."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.study.repeated import Setup
from fullpipe.study.verdicts.judged import Tolerance
from fullpipe.study.verdicts.reader import PublishedError, Reader, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.study.verdicts.reader import Json, Table

FILE = Path(__file__).resolve().parents[5] / "tests" / "oracle" / "cells.toml"

_PATH = ("rate", "rtt", "buffer", "queue", "loss")
_CELL = ("name", "flows", *_PATH, "duration", "stacks", "live")
SUFFIX = {"linux-fq": "", "linux": "-nofq"}
"""Suffixes of the names of cells, by stack."""
METRICS = ("goodput", "rtt", "queue", "resent", "share")


@dataclass(frozen=True)
class Cell:
    """A bottleneck and its flows: their algorithms by Linux's names, in order, and the scenario.

    `stack` is the scenario's, on both sides; `live` is whether the cell also belongs to the subset that is run in
    real time.
    """

    name: str
    stack: str
    flows: tuple[str, ...]
    lossy: bool
    live: bool
    setup: Setup

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The distinct algorithms, in order."""
        return tuple(dict.fromkeys(self.flows))

    @property
    def varies(self) -> bool:
        """Whether runs on Linux differ by more than a trifle: by random loss or start times."""
        return self.lossy or len(self.flows) > 1

    @property
    def fingerprint(self) -> str:
        """Hash of the scenario, which identifies results recorded for a different scenario."""
        return sha256(self.setup.text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Cells:
    """Contents of the file."""

    cells: tuple[Cell, ...]
    close: dict[str, Tolerance]
    repeats: int


def load(file: Path = FILE) -> Cells:
    """Reads and checks the cells.

    Raises:
        PublishedError: When the file is invalid or missing.
    """
    reader = Reader(file)
    try:
        raw = read_toml(file)
    except FileNotFoundError as error:
        raise PublishedError(
            f"{file}: no such file\n  fix: run the command in fullpipe's source tree, which has the file"
        ) from error
    reader.only(raw, "", ("duration", "repeats", "stacks", "cells", "flow", "close"))
    usual: Table = {key: raw[key] for key in ("duration", "stacks") if key in raw}
    flows = reader.table(raw.get("flow"), "flow")
    cells = tuple(
        cell
        for number, row in enumerate(reader.tables(raw.get("cells"), "cells"))
        for cell in _cells(reader, {**usual, **row}, f"cells[{number}]", flows)
    )
    close = reader.table(raw.get("close"), "close")
    reader.only(close, "close.", METRICS)
    rules = {}
    for name in METRICS:
        rule = reader.table(close.get(name), f"close.{name}")
        reader.only(rule, f"close.{name}.", ("absolute", "relative", "factor"))
        rules[name] = Tolerance(
            **{key: reader.number(value, f"close.{name}.{key}", 0) for key, value in rule.items()}
        )
    return Cells(cells, rules, reader.whole(raw.get("repeats"), "repeats"))


def only(cells: Sequence[Cell], patterns: Sequence[str]) -> tuple[Cell, ...]:
    """Returns the cells that match one of the patterns; all cells without a pattern.

    Raises:
        PublishedError: When a pattern matches no cell.
    """
    for pattern in patterns:
        if not any(fnmatchcase(cell.name, pattern) for cell in cells):
            names = ", ".join(cell.name for cell in cells)
            raise PublishedError(
                f"--cell {pattern}: no cell matches\n  fix: use * as a wildcard; the cells are {names}"
            )
    return tuple(
        cell
        for cell in cells
        if not patterns or any(fnmatchcase(cell.name, each) for each in patterns)
    )


def fingerprint(cells: Sequence[Cell]) -> str:
    """Returns a hash of cells in their order."""
    text = " ".join(f"{cell.name} {cell.fingerprint}" for cell in cells)
    return sha256(text.encode()).hexdigest()[:16]


def _cells(reader: Reader, row: Table, where: str, known: Table) -> Iterator[Cell]:
    """Yields the cells of a row, one for each stack."""
    reader.only(row, f"{where}.", _CELL)
    name = reader.text(row.get("name"), f"{where}.name")
    flows = tuple(
        reader.one_of(each, f"{where}.flows", known)
        for each in reader.texts(row.get("flows"), f"{where}.flows")
    )
    path = {key: reader.text(row[key], f"{where}.{key}") for key in _PATH if key in row}
    duration = reader.text(row.get("duration"), f"{where}.duration")
    live = row.get("live", False)
    if not isinstance(live, bool):
        reader.refuse(
            f"{where}.live", live, "must be true or false", "write live = true, or omit the key"
        )
    keys = [reader.table(known[flow], f"flow.{flow}") for flow in flows]
    for number, text in enumerate(reader.texts(row.get("stacks"), f"{where}.stacks")):
        stack = reader.one_of(text, f"{where}.stacks", SUFFIX)
        called = f"{name}{SUFFIX[stack]}"
        text = _scenario(called, duration, stack, path, list(zip(flows, keys, strict=True)))
        yield Cell(
            called,
            stack,
            flows,
            "loss" in path,
            live and number == 0,
            Setup(text, called, trace="10ms"),
        )


def _scenario(
    name: str, duration: str, stack: str, path: dict[str, str], flows: list[tuple[str, Table]]
) -> str:
    lines = [
        f"# {name}",
        "# A cell of fullpipe validate, as Linux's own TCP ran it, too.",
        f"duration = {_toml(duration)}",
        f"stack = {_toml(stack)}",
    ]
    if len(flows) > 1:  # flows that start together would stay synchronized
        lines.append(f"start_jitter = {_toml(path['rtt'])}")
    lines += ["", "[path]", *(f"{key} = {_toml(value)}" for key, value in path.items())]
    for number, (flow, keys) in enumerate(flows, 1):
        numbered = f"{flow}-{number}" if len(flows) > 1 else flow
        lines += [
            "",
            "[[flow]]",
            f"name = {_toml(numbered)}",
            *(f"{key} = {_toml(value)}" for key, value in keys.items()),
        ]
    return "\n".join(lines) + "\n"


def _toml(value: Json) -> str:
    """Formats a value as TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
