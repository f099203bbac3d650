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
    from collections.abc import Sequence

    from fullpipe.study.verdicts.reader import Json, Table

FILE = Path(__file__).resolve().parents[5] / "tests" / "oracle" / "cells.toml"

_PATH = ("rate", "rtt", "buffer", "queue", "loss")
_CELL = ("name", "flows", *_PATH, "duration", "live")
METRICS = ("goodput", "rtt", "queue", "resent", "share")


@dataclass(frozen=True)
class Cell:
    """A bottleneck and its flows: their algorithms by Linux's names, in order, and the scenario.

    `live` is whether the cell also belongs to the subset that is run in real time.
    """

    name: str
    flows: tuple[str, ...]
    lossy: bool
    live: bool
    setup: Setup

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The distinct algorithms, in order."""
        return tuple(dict.fromkeys(self.flows))

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
    reader.only(raw, "", ("duration", "repeats", "cells", "flow", "close"))
    duration = reader.text(raw.get("duration"), "duration")
    flows = reader.table(raw.get("flow"), "flow")
    cells = tuple(
        _cell(reader, row, f"cells[{number}]", duration, flows)
        for number, row in enumerate(reader.tables(raw.get("cells"), "cells"))
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


def _cell(reader: Reader, row: Table, where: str, duration: str, known: Table) -> Cell:
    reader.only(row, f"{where}.", _CELL)
    name = reader.text(row.get("name"), f"{where}.name")
    flows = tuple(
        reader.one_of(each, f"{where}.flows", known)
        for each in reader.texts(row.get("flows"), f"{where}.flows")
    )
    path = {key: reader.text(row[key], f"{where}.{key}") for key in _PATH if key in row}
    live = row.get("live", False)
    if not isinstance(live, bool):
        reader.refuse(
            f"{where}.live", live, "must be true or false", "write live = true, or omit the key"
        )
    lines = [
        f"# {name}",
        "# A cell of fullpipe validate, as Linux's own TCP ran it, too.",
        f"duration = {_toml(reader.text(row.get('duration', duration), f'{where}.duration'))}",
    ]
    if len(flows) > 1:  # flows that start together would stay synchronized
        lines.append(f"start_jitter = {_toml(path['rtt'])}")
    lines += ["", "[path]", *(f"{key} = {_toml(value)}" for key, value in path.items())]
    for number, flow in enumerate(flows, 1):
        keys = reader.table(known[flow], f"flow.{flow}")
        numbered = f"{flow}-{number}" if len(flows) > 1 else flow
        lines += [
            "",
            "[[flow]]",
            f"name = {_toml(numbered)}",
            *(f"{key} = {_toml(value)}" for key, value in keys.items()),
        ]
    return Cell(
        name, flows, "loss" in path, live, Setup("\n".join(lines) + "\n", name, trace="10ms")
    )


def _toml(value: Json) -> str:
    """Formats a value as TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
