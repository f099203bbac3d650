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
    {"report", "run"},
    {"sweeps", "link", "workload", "catalogue", "conformance"},
    {"checks", "comparison", "fleet", "doctor", "flows"},
    {"reproduce", "gallery"},
    {"validate"},
    {"__init__"},  # what `import fullpipe` gives
    {"commands"},
    {"__main__"},
)
FLOOR = {room: number for number, rooms in enumerate(ROOMS) for room in rooms}


def test_every_room_has_its_place() -> None:
    there = {
        path.stem
        for path in ROOT.iterdir()
        if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").is_file())
    }
    assert there | {"_core"} == set(FLOOR), "put a new room into ROOMS, as early as it can be"


def test_no_import_goes_upward() -> None:
    upward = {
        f"{room} -> {used} ({file.relative_to(ROOT)}:{line})"
        for file in ROOT.rglob("*.py")
        for room in [_room(file.relative_to(ROOT).parts)]
        for line, used in _imports(file)
        if used != room and FLOOR[used] >= FLOOR[room]
    }
    assert not upward


def _room(parts: tuple[str, ...]) -> str:
    return parts[0].removesuffix(".py")


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
