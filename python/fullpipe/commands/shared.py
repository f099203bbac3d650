"""Options with one meaning in every command that runs experiments, and the reasons of commands that lack one.

`docs/reference/commands.md` has the table that is made of these declarations.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import click

from fullpipe.commands.declare import Command
from fullpipe.scenario.path_options import PATH_OPTIONS

PATH = "path"
"""The title of the options of the path."""
_PATH = tuple(f"--{each.name}" for each in PATH_OPTIONS if each.key.startswith("path."))
STORE = "s3://"
"""The title of an `--out` that may be a URL."""


class Shared(NamedTuple):
    """An option that commands share, or a group of them.

    Attributes:
        title: Its title in the table.
        meaning: Its purpose.
        names: Its names; a command takes it if it has all of them.
        value: A part of the name of its value, without which it means something else.
    """

    title: str
    meaning: str
    names: tuple[str, ...]
    value: str = ""

    def is_of(self, command: click.Command) -> bool:
        """Returns whether a command takes it; an argument counts by its name."""
        params = [
            (*param.opts, f"--{param.name}")
            for param in command.params
            if self.value in (param.metavar or "")
        ]
        return all(any(name in names for names in params) for name in self.names)


def _one(name: str, meaning: str) -> Shared:
    return Shared(name, meaning, (name,))


SHARED = (
    Shared(
        PATH,
        f"{', '.join(f'`{each}`' for each in _PATH)}: the path",
        _PATH,
    ),
    _one("--stack", "TCP at both ends of every flow: of the specifications, or Linux's"),
    _one("--duration", "Length of a run"),
    Shared("--set", "`--set KEY=VALUE`: any other key of the scenario", ("--set",), "KEY"),
    _one("--cc", "Algorithm of the first flow, or of the flows that the command is about"),
    _one("--plugin", "An algorithm from a library, a crate or a Python file"),
    _one("--recipe", "A recipe of your own for programs"),
    _one("--programs", "Permission for the command lines of a scenario's `[[program]]` tables"),
    _one("--on", "The runner, or several"),
    Shared(
        "--repeat",
        "Number of runs, each with another seed; `--seeds` is the same option",
        ("--repeat", "--seeds"),
    ),
    _one("--seed", "Seed of the first run; each further run uses the next number"),
    _one("--out", "Directory, or file, of the results"),
    Shared(
        STORE, "`--out s3://BUCKET/PREFIX`: the results are in an object store", ("--out",), "URL"
    ),
    _one("--json", "JSON alone on standard output"),
    _one("--threads", "Number of runs at a time"),
    _one("--engine", "Local threads, or a Ray cluster"),
)
"""The options, in the order of the table."""


def shares(
    *lacking: tuple[str, Iterable[str]],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Puts a command into the table of the shared options.

    Args:
        lacking: Each reason for which the command lacks options, with their titles.
    """
    holes = {title: reason for reason, titles in lacking for title in titles}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        command.holes = holes  # type: ignore[attr-defined]
        return command

    return decorate


def sharing(
    commands: Iterable[tuple[str, click.Command]],
) -> Iterator[tuple[str, Command, Mapping[str, str]]]:
    """Yields the commands of the table by name, each with its reasons by the title of the option that it lacks."""
    for name, command in commands:
        if isinstance(command, Command) and command.holes is not None:
            yield name, command, command.holes
