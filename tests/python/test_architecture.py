"""Which part of the Python package may use which."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fullpipe
from fullpipe import commands
from fullpipe.commands import fleet, workload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(fullpipe.__file__).parent

# The rooms: what lies directly in fullpipe/, a module or a package. A room uses rooms of earlier lines only, also in
# imports for types alone and in those inside functions. Rooms of one line do not know each other.
ROOMS = (
    {"_core"},  # Rust
    {"errors", "frame", "metrics", "progress"},
    {"controllers", "memory"},
    {"runners"},
    {"run_data", "hostfit"},
    {"view"},
    {"results", "stats"},
    {"report", "run", "verdicts"},
    {"batch", "link", "workload", "catalogue", "conformance"},
    {"sweeps", "checks", "fleet", "validate", "doctor", "flows"},
    {"comparison", "reproduce", "gallery"},
    {"__init__"},  # what `import fullpipe` gives
    {"commands"},
    {"__main__"},
)
# Rooms of one command each. They share the rooms below them, batch and verdicts among them, and do
# not use each other. Two exceptions: a study of a fleet simulates one, a comparison is two sweeps.
OF_COMMANDS = {"sweeps", "checks", "fleet", "validate", "comparison", "reproduce"}
ARROWS = {("reproduce", "fleet"), ("comparison", "sweeps")}
FLOOR = {room: number for number, rooms in enumerate(ROOMS) for room in rooms}


def test_every_room_has_its_place() -> None:
    there = {
        path.stem
        for path in ROOT.iterdir()
        if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").is_file())
    }
    assert there | {"_core"} == set(FLOOR), "put a new room into ROOMS, as early as it can be"


def test_no_import_goes_upward() -> None:
    assert not [where for room, used, where in _uses() if FLOOR[used] >= FLOOR[room]]


def test_commands_share_batches_and_verdicts_and_no_more() -> None:
    assert not [
        where
        for room, used, where in _uses()
        if {room, used} <= OF_COMMANDS and (room, used) not in ARROWS
    ]


def _uses() -> Iterator[tuple[str, str, str]]:
    """Each import of a room by another, and where it stands."""
    for file in ROOT.rglob("*.py"):
        place = file.relative_to(ROOT)
        room = place.parts[0].removesuffix(".py")
        for line, used in _imports(file):
            if used != room:
                yield room, used, f"{room} -> {used} ({place}:{line})"


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and room of each import of the package's own modules, wherever it stands in the file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports name the package"
            names = (
                [f"fullpipe.{alias.name}" for alias in node.names]
                if node.module == "fullpipe"
                else [node.module or ""]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, _, inner = name.partition(".")
            if package == "fullpipe":
                room = inner.partition(".")[0]
                yield node.lineno, room if room in FLOOR else "__init__"


@pytest.mark.parametrize("package", [commands, fleet, workload])
def test_a_file_of_commands_is_listed(package: ModuleType) -> None:
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules - {"listing", "options"} == set(package.COMMANDS)
    for name in package.COMMANDS:
        assert importlib.import_module(f"{package.__name__}.{name}").command
