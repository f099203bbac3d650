"""Options that several commands share: their help texts and their parsers."""

from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path

import typer
from typer.models import OptionInfo

from fullpipe.results.objects import SCHEMES, is_url

ON = (
    "Runners to use, separated by commas: sim is the simulator, `fullpipe doctor` lists the others."
)
ON_ONE = (
    "Runner to use: sim is the simulator, `fullpipe doctor` lists the others. Cases that the runner "
    "does not support are skipped."
)
SETTING = "Override a scenario key, like path.rate=20mbit; repeatable."
MORE_SETTINGS = "Set any other scenario key, like path.loss=1%; repeatable."
PROFILE = "Named path, like lte; `fullpipe list profiles` lists them."
ENGINE = "Where runs execute: local threads, or a Ray cluster (at RAY_ADDRESS, or a new one on this machine)."
THREADS = "Number of runs at a time (default: one per core)."
FIRST_SEED = "Seed of the first run; each further run uses the next number"
AS_JSON = "Print one JSON object, and nothing else."


class Engine(StrEnum):
    """Where the runs of a batch execute."""

    LOCAL = "local"
    RAY = "ray"


def seed_option(text: str) -> OptionInfo:
    """Returns the option --seed with this help."""
    option: OptionInfo = typer.Option(min=0, max=2**63 - 1, metavar="N", help=text)
    return option


def new_directory(text: str) -> Path:
    """Parses the name of a directory."""
    if not text.strip():
        raise typer.BadParameter("name a directory that is new or empty")
    if "://" in text:
        raise typer.BadParameter("name a directory; only sweep and fleet simulate write to a URL")
    return Path(text)


def new_place(text: str) -> str:
    """Parses the name of a directory, or the URL of an object store."""
    if not is_url(text) and "://" in text:
        raise typer.BadParameter(f"write a directory, or a URL with one of {', '.join(SCHEMES)}")
    return text if is_url(text) else str(new_directory(text))


def setting(text: str) -> tuple[str, str]:
    """Parses KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise typer.BadParameter(
            f"{text!r} is not KEY=VALUE, like path.rate=20mbit", param_hint="--set"
        )
    return key.strip(), value.strip()


def seconds(text: str, option: str) -> float:
    """Parses a time like 10s."""
    from fullpipe import _core

    found = _core.quantity(text)
    if found is None or found[1] != "s" or found[0] <= 0:
        raise typer.BadParameter(f"{text!r} is not a time, like 10s or 500ms", param_hint=option)
    return found[0]


def no_such_file(path: Path) -> str:
    """Returns the error for a scenario that does not exist, with the most similar name that does."""
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
        else "name a TOML file; `fullpipe explain scenario` lists its keys"
    )
    return f"{path}: no such file\n  fix: {fix}"
