"""Recipes of programs as flows: each is a TOML file of this folder, or one of a user's, and has the file's name.

A file has `about`, one line for lists; `language`; `transport`, tcp or quic; the command lines `server` and `client`;
`check`, a command that prints the program's version; `qlog`, the pattern of files to keep; `kernel_cc`, the congestion
control that the server's TCP connections get from the kernel; `[install]`, a command for each source of the program;
`sources`, the files from which `[install]` builds it, whose hash `check` prints; `[params.NAME]`, a table for each
parameter; and with `[length]` the words for a limit in bytes, and those for a limit
in time, which `{length}` stands for. Only `server` and `client` are required. Sources of small programs that a recipe
of the package needs are in the folder of its name.

These stand for values in the lines: `{far}` and `{port}`, the address and the port at which the server listens;
`{cert}` and `{key}`, files of a certificate for tests; `{bytes}` and `{seconds}`, the length of the transfer;
`{python}`; `{folder}`, the folder of the recipe's sources, or of a user's recipe; `{built}`, the folder for programs
that `[install]` builds; and the names of the parameters.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fullpipe.errors import UserError
from fullpipe.scenario.origin import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FOLDER = Path(__file__).parent
_loaded: dict[str, Recipe] = {}
"""The recipes of `--recipe`, by name."""
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
        sources: The files of the folder from which it is built; empty if it is not built from them.
        qlog: The pattern of files to keep; empty for none.
        kernel_cc: The kernel's congestion control for the server's TCP, as a word of the lines; empty for none.
        params: Its parameters by name.
        length: The words for a limit in `bytes` and in `time`; empty if the client takes bytes only.
        folder: The folder that `{folder}` stands for.
    """

    name: str
    server: str
    client: str
    about: str = "a program of your own"
    language: str = ""
    transport: str = ""
    check: str = ""
    install: Mapping[str, str] = field(default_factory=dict)
    sources: str = ""
    qlog: str = ""
    kernel_cc: str = ""
    params: Mapping[str, Parameter] = field(default_factory=dict)
    length: Mapping[str, str] = field(default_factory=dict)
    folder: Path = FOLDER

    @property
    def places(self) -> dict[str, str]:
        """The values of the words that do not depend on a run."""
        return {
            "python": sys.executable,
            "folder": str(self.folder),
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

    def source(self) -> str:
        """Returns the hash of its sources (FNV-1a, 64 bits), which a program that is built from them prints, too."""
        value = 0xCBF29CE484222325
        for name in self.sources.split():
            for byte in (self.folder / name).read_bytes():
                value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
        return f"{value:016x}"


def built() -> Path:
    """Returns the folder for programs that a recipe's commands build: in the user's cache."""
    cache_folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache_folder / "fullpipe" / "programs"


def every() -> tuple[Recipe, ...]:
    """Returns all recipes, by name: those of the package, and the loaded ones."""
    return (*_packaged(), *_loaded.values())


@cache
def _packaged() -> tuple[Recipe, ...]:
    return tuple(_read(file, FOLDER / file.stem) for file in sorted(FOLDER.glob("*.toml")))


def load(file: Path) -> None:
    """Loads a recipe of the user's, for `program:NAME` in this process; NAME is the file's name without `.toml`.

    Raises:
        UserError: When it can't be read, or has an error.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", file.stem) or file.suffix != ".toml":
        fix = "name it like mystack.toml, with letters, digits, dots, - and _"
        raise UserError(f"{file}: not the name of a recipe\n  fix: {fix}")
    if file.stem in {each.name for each in _packaged()}:
        raise UserError(
            f"{file}: fullpipe has a recipe {file.stem}\n  fix: give the file another name"
        )
    try:
        _loaded[file.stem] = _read(file, file.resolve().parent)
    except OSError as error:
        fix = "name the TOML file of a recipe"
        raise UserError(f"{file}: {error.strerror or error}\n  fix: {fix}") from error


def named(name: str) -> Recipe:
    """Returns the recipe with a name.

    Raises:
        NoRecipeError: When no recipe has it; the text has the most similar name.
    """
    for each in every():
        if each.name == name:
            return each
    near = get_close_matches(name, [each.name for each in every()], n=1)
    fix = (
        f"did you mean {near[0]}?"
        if near
        else "`fullpipe list programs` has the names, and --recipe FILE loads one of your own"
    )
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


def _read(file: Path, folder: Path) -> Recipe:
    import tomllib  # slow, and rarely needed

    def refuse(key: str, problem: str, fix: str) -> NoReturn:
        raise UserError(f"{file}: {key}: {problem}\n  fix: {fix}")

    try:
        table: dict[str, Any] = tomllib.loads(text_of(file))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{file}: not TOML: {error}\n  fix: correct it") from error
    for key, value in table.items():
        kind = _KEYS.get(key)
        if kind is None:
            refuse(key, "no key of a recipe", f"use one of {', '.join(_KEYS)}")
        if not isinstance(value, kind):
            words = "a table" if kind is dict else "text"
            refuse(key, f"not {words}", f"write {words}")
        texts = value.values() if isinstance(value, dict) and key != "params" else ()
        if not all(isinstance(each, str) for each in texts):
            refuse(key, "has another value than text", "write text in quotation marks")
    for key in ("server", "client"):
        if not table.get(key):
            refuse(key, "is missing", f'write the command line: {key} = "…"')
    params: dict[str, Parameter] = {}
    for name, each in table.pop("params", {}).items():
        try:
            params[name] = Parameter(**each)
        except TypeError:
            refuse(f"params.{name}", "not a parameter", "write about, default and choices")
    return Recipe(file.stem, params=params, folder=folder, **table)


_KEYS: dict[str, type[object]] = {
    **dict.fromkeys(
        (
            "about",
            "language",
            "transport",
            "server",
            "client",
            "check",
            "sources",
            "qlog",
            "kernel_cc",
        ),
        str,
    ),
    **dict.fromkeys(("install", "params", "length"), dict),
}
