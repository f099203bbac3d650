"""What several commands ask for in the same words, and how what they are given is read."""

from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path

import typer

ON = "What it runs on: sim, the simulator, or others that `fullpipe doctor` names; several side by side."
ON_ONE = "What it runs on, as for `run`; what that can't do is skipped."


class Engine(StrEnum):
    """Where the runs of a batch go on."""

    LOCAL = "local"
    RAY = "ray"


def new_directory(text: str) -> Path:
    """Reads the name of a directory."""
    if not text.strip():
        raise typer.BadParameter("name a directory that is new or empty")
    return Path(text)


def setting(text: str) -> tuple[str, str]:
    """Reads KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise typer.BadParameter(
            f"{text!r} is not KEY=VALUE, like path.rate=20mbit", param_hint="--set"
        )
    return key.strip(), value.strip()


def seconds(text: str, option: str) -> float:
    """Reads a time, like 10s."""
    from fullpipe import _core

    found = _core.quantity(text)
    if found is None or found[1] != "s" or found[0] <= 0:
        raise typer.BadParameter(f"{text!r} is no time, like 10s or 500ms", param_hint=option)
    return found[0]


def no_such_file(path: Path) -> str:
    """What is said of a scenario that is not there, with the nearest that is."""
    there = [
        str(file)
        for directory in (path.parent, Path("scenarios"))
        for file in sorted(directory.glob("*.toml"))
    ]
    near = get_close_matches(str(path), there, n=1) or [
        file for file in there if Path(file).stem == path.stem
    ]
    fix = (
        f"did you mean {near[0]}?"
        if near
        else "name a TOML file; `fullpipe explain scenario` says what is in one"
    )
    return f"{path}: no such file\n  fix: {fix}"
