"""Recipes of programs as flows: each is a TOML file of this folder, and has the file's name.

A file has `about`, one line for lists; `language`; `transport`, tcp or quic; the command lines `server` and `client`;
`check`, a command that prints the program's version; `qlog`, the pattern of files to keep; `kernel_cc`, the congestion
control that the server's TCP connections get from the kernel; `[install]`, a command for
each source of the program; `[params.NAME]`, a table for each parameter; and with `[length]` the words for a limit in
bytes, and those for a limit in time, which `{length}` stands for. Sources of small programs that a recipe needs are in
the folder of its name.

These stand for values in the lines: `{far}` and `{port}`, the address and the port at which the server listens;
`{cert}` and `{key}`, files of a certificate for tests; `{bytes}` and `{seconds}`, the length of the transfer;
`{python}`; `{folder}`, the recipe's own folder; `{built}`, the folder for programs that `[install]` builds; and the
names of the parameters.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PREFIX = "program:"
"""The beginning of a `cc` that names a recipe: `program:iperf3`, `program:iperf3:bbr`."""
FOLDER = Path(__file__).parent
_allowed: ContextVar[bool] = ContextVar("programs", default=False)


class NoRecipeError(UserError):
    """There is no such recipe; the text has the fix."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a recipe.

    Attributes:
        about: Its effect, in a sentence.
        default: Its value if a scenario gives none.
        choices: The words that the program is known to take; empty if any word may be right.
    """

    about: str
    default: str = ""
    choices: Sequence[str] = ()


@dataclass(frozen=True)
class Recipe:
    """A program, or a pair of them, whose command lines ship with fullpipe.

    Attributes:
        name: Its name.
        about: Its purpose, in one line.
        language: The language in which it is written.
        transport: `tcp` or `quic`.
        server: The command line of the server, which sends the data.
        client: The command line of the client.
        check: A command that prints the version; its first word is the program that has to be installed.
        install: The commands that install it, by their source.
        qlog: The pattern of files to keep; empty for none.
        kernel_cc: The kernel's congestion control for the server's TCP, as a word of the lines; empty for none.
        params: Its parameters by name.
        length: The words for a limit in `bytes` and in `time`; empty if the client takes bytes only.
    """

    name: str
    about: str
    language: str
    transport: str
    server: str
    client: str
    check: str
    install: Mapping[str, str]
    qlog: str = ""
    kernel_cc: str = ""
    params: Mapping[str, Parameter] = field(default_factory=dict)
    length: Mapping[str, str] = field(default_factory=dict)

    @property
    def places(self) -> dict[str, str]:
        """The values of the words that do not depend on a run."""
        return {
            "python": sys.executable,
            "folder": str(FOLDER / self.name),
            "built": str(built()),
            "cert": str(FOLDER / "cert.pem"),
            "key": str(FOLDER / "key.pem"),
        }

    def installs(self) -> list[tuple[str, str]]:
        """Returns the sources of the program, each with the command that installs it."""
        return [(source, line.format(**self.places)) for source, line in self.install.items()]

    @property
    def fix(self) -> str:
        """The fix for a program that is missing or fails."""
        lines = " or ".join(f"{line} ({source})" for source, line in self.installs())
        return f"install it: {lines}" if lines else "install it"


def built() -> Path:
    """Returns the folder for programs that a recipe's commands build: in the user's cache."""
    cache_folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache_folder / "fullpipe" / "programs"


def is_program(name: str) -> bool:
    """Whether the `cc` of a flow names a recipe."""
    return name.startswith(PREFIX)


@cache
def every() -> tuple[Recipe, ...]:
    """Returns all recipes, by name."""
    return tuple(_read(file) for file in sorted(FOLDER.glob("*.toml")))


def named(name: str) -> Recipe:
    """Returns the recipe with a name.

    Raises:
        NoRecipeError: When no recipe has it; the text has the most similar name.
    """
    for each in every():
        if each.name == name:
            return each
    near = get_close_matches(name, [each.name for each in every()], n=1)
    fix = f"did you mean {near[0]}?" if near else "`fullpipe list programs` has the names"
    raise NoRecipeError(f"{name}: no recipe has this name\n  fix: {fix}")


@contextmanager
def allowed(yes: bool = True) -> Iterator[None]:
    """Lets scenarios run the command lines that they contain, within the block: they have the user's rights."""
    token = _allowed.set(yes)
    try:
        yield
    finally:
        _allowed.reset(token)


def are_allowed() -> bool:
    """Whether scenarios may run the command lines that they contain."""
    return _allowed.get()


def allow() -> None:
    """Lets scenarios run the command lines that they contain, from now on: the option `--programs`."""
    _allowed.set(True)


def _read(file: Path) -> Recipe:
    import tomllib  # slow, and rarely needed

    table = tomllib.loads(file.read_text(encoding="utf-8"))
    params = {name: Parameter(**each) for name, each in table.pop("params", {}).items()}
    return Recipe(file.stem, params=params, **table)
