"""Layers of the Python package, and the imports that they allow."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fullpipe
from fullpipe import _core, commands, runners, wings
from fullpipe.wings.bpf.commands import kernel
from fullpipe.wings.fleet.commands import fleet, workload
from fullpipe.wings.search.commands import attack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(fullpipe.__file__).parent

# The rooms of fullpipe/, and of its study. Each imports only from earlier lines, also for types and inside functions.
# Those of one line do not import each other.
LAYERS = (
    {"_begin"},
    {"_core"},  # Rust
    {"errors"},
    {"base"},
    {"wings"},  # their declarations; `wings.NAME` are the wings themselves
    {"scenario"},
    {"algorithms"},
    {"runners"},
    {"stats"},
    {"runs"},
    {"results"},
    {"report", "study.verdicts"},
    {"run"},
    {"study"},
    {"about", "study.sweeps", "study.checks"},
    {"study.comparison", "study.reproduce", "study.evaluation"},
    {"study.verify"},
    {"commands"},
    {"wings.traces"},
    {"wings.bpf", "wings.fleet"},
    {"wings.real"},
    {"wings.quic", "wings.pages", "wings.search"},
    {
        "__init__",
        "fleet",
        "gym",
        "programs",
        "workload",
    },  # of users' programs: nothing else imports them
    {"__main__"},
)
# Rooms of one command each, which share the engine and the verdicts. They do not import each other, with three
# exceptions: a comparison is two sweeps, an evaluation is a sweep for each criterion, and `verify` repeats all of them.
OF_COMMANDS = {each for line in LAYERS for each in line if each.startswith("study.")} - {
    "study.verdicts"
}
ARROWS = {
    ("study.comparison", "study.sweeps"),
    ("study.evaluation", "study.sweeps"),
    ("study.verify", "study.checks"),
    ("study.verify", "study.reproduce"),
    ("study.verify", "study.sweeps"),
}
# The parts of the executor, `study/execute.py`.
EXECUTION = ("cluster", "other_runners", "pool", "shipped", "threads", "worker")
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}


def test_every_package_has_its_layer() -> None:
    there = {
        path.stem
        for path in ROOT.iterdir()
        if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").is_file())
    }
    there |= {
        f"{each.name}.{path.parent.name}"
        for each in (ROOT / "wings", ROOT / "study")
        for path in each.glob("*/__init__.py")
    }
    assert there | {"_core"} == set(LAYER), (
        "add a new package to LAYERS, on the earliest possible line"
    )


def test_no_import_goes_upward() -> None:
    assert not [where for package, used, where in _uses() if LAYER[used] >= LAYER[package]]


def test_commands_share_batches_and_verdicts_and_no_more() -> None:
    assert not [
        where
        for package, used, where in _uses()
        if {package, used} <= OF_COMMANDS and (package, used) not in ARROWS
    ]


def _uses() -> Iterator[tuple[str, str, str]]:
    """Yields each import of a package by another, with its place."""
    for file in ROOT.rglob("*.py"):
        place = file.relative_to(ROOT)
        package = _package(list(place.with_suffix("").parts))
        for line, used in _imports(file):
            if used != package:
                yield package, used, f"{package} -> {used} ({place}:{line})"


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    """Yields line and package of each import of fullpipe's modules, anywhere in a file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: use an absolute import"
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
            first, *parts = name.split(".")
            if first == "fullpipe":
                package = _package(parts)
                yield node.lineno, package if package in LAYER else "__init__"


def _package(parts: list[str]) -> str:
    """Returns the room of a module: the first part of its name, or of a room of rooms the first two."""
    inner = ".".join(parts[:2])
    return inner if inner in LAYER else "".join(parts[:1])


# Lists of algorithms or runners that are no facts about them: a choice of ours, or data of a study. A fact stands in
# `crates/cc/src/registry.rs`, or on the runner.
CHOSEN = {
    "commands/new.py": "the algorithms of a first scenario",
    "study/evaluation/suite.py": "the baselines of a suite that names none",
    "wings/traces/identify/recipe.py": "the classes of the trained model",
    "wings/fleet/study/published.py": "the arms of a published comparison",
    "wings/real/validate/drawn/draw.py": "the kernel's algorithms that are drawn",
    "wings/fleet/compare/checks.py": "how hosts name BBR's versions",
    "wings/real/runners/uml.py": "the algorithms that the kernel is built with",
    "about/doctor.py": "the kernel's algorithms worth a word",
    "runs/given.py": "Linux' names",
    # Rules of specifications, each with the algorithms that it is about.
    "wings/traces/behavior/conditions/declare.py": "rules",
    "wings/traces/behavior/conditions/growth.py": "rules",
    "wings/traces/behavior/conditions/loss.py": "rules",
    "wings/traces/behavior/conditions/window.py": "rules",
}


def test_no_list_names_algorithms_or_runners() -> None:
    known = {each["name"] for each in _core.algorithms()} - {"none"}
    names = known | set(runners.names()) | {"bbr", "reno"}
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        place = str(file.relative_to(ROOT))
        if "/runners/_" in place:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Dict(keys=items) | ast.List(elts=items) | ast.Set(elts=items):
                    pass
                case ast.Tuple(elts=items):
                    pass
                case _:
                    continue
            listed = [each.value for each in items if isinstance(each, ast.Constant)]
            if len(names & {each for each in listed if isinstance(each, str)}) > 1:
                found[place] = f"{place}:{node.lineno}"
    assert set(found) - set(CHOSEN) == set(), found
    assert set(CHOSEN) - set(found) == set(), "no longer a list: take it out"


@pytest.mark.parametrize("name", wings.every())
def test_a_wing_declares_its_commands_and_what_it_is(name: str) -> None:
    folder, wing = ROOT / "wings" / name, wings.every()[name]
    commands = {each.stem for each in (folder / "commands").glob("[!_]*")}
    assert commands == {name for names in wing.commands.values() for name in names}
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n") and 5 <= text.count("\n") <= 14, (
        "ten lines: purpose, door, tests"
    )
    for test in re.findall(r"`(tests/[\w/.*]+)`", text):
        assert list(ROOT.parent.parent.glob(test)), test


@pytest.mark.parametrize("package", [commands, attack, fleet, kernel, workload])
def test_a_file_of_commands_is_listed(package: ModuleType) -> None:
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    listed = [name for names in package.COMMANDS.values() for name in names]
    parts = {"complete", "declare", "listing", "mistakes", "options", "shared", "shells"}
    assert {name.rstrip("_") for name in modules} - parts == set(listed)
    for name in listed:
        assert importlib.import_module(f"{package.__name__}.{name}").command
