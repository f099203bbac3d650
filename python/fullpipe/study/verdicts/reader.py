"""Checked values from a TOML file; a wrong one is refused with file, key, value and fix."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, NoReturn

from fullpipe.errors import UserError
from fullpipe.scenario.origin import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Json = str | int | float | bool | list["Json"] | dict[str, "Json"]
Table = dict[str, Json]


_FIRST_TABLE = re.compile(r"^\s*\[", re.MULTILINE)
_STACK = re.compile(r"^\s*stack\s*=.*\n?", re.MULTILINE)
"""The line with the key, before the first table."""


class PublishedError(UserError):
    """A published table has an error. The text has the file, the key, the value and the fix."""


def read_toml(file: Path) -> Table:
    """Reads a file.

    Raises:
        PublishedError: When it is not TOML.
        OSError: When it can't be read.
    """
    try:
        return tomllib.loads(text_of(file))
    except OSError as error:
        if error.strerror:
            raise
        raise PublishedError(f"{error}") from error
    except RecursionError:
        problem, fix = "values are nested too deeply", "write each value in a table of its own"
    except tomllib.TOMLDecodeError as error:
        problem, fix = f"{error}", "write valid TOML, see https://toml.io"
    raise PublishedError(f"{file}: {problem}\n  fix: {fix}")


class Reader:
    """Takes values from TOML, and refuses wrong ones."""

    def __init__(self, file: Path, stack: str | None = None) -> None:
        """Reads a file.

        Args:
            file: Its name, for errors.
            stack: `stack` of its scenarios, whatever the file says; None for the file's.
        """
        self.file = file
        self.given_stack = stack

    def refuse(self, key: str, value: object, problem: str, fix: str) -> NoReturn:
        """Raises the error; a `value` of None is not shown."""
        shown = "" if value is None else f" = {json.dumps(value, ensure_ascii=False, default=str)}"
        raise PublishedError(f"{self.file}: {key}{shown}: {problem}\n  fix: {fix}")

    def only(self, table: Table, where: str, known: Iterable[str]) -> None:
        """Refuses unknown keys."""
        for key in table:
            if key not in known:
                self.refuse(f"{where}{key}", None, "unknown key", f"use one of {', '.join(known)}")

    def table(self, value: Json | None, key: str) -> Table:
        """Takes a table."""
        if not isinstance(value, dict):
            self.refuse(
                key,
                value,
                "is missing" if value is None else "is not a table",
                f"write a table [{key}]",
            )
        return value

    def tables(self, value: Json | None, key: str) -> list[Table]:
        """Takes a list of tables."""
        if not isinstance(value, list):
            self.refuse(key, value, "is not a list of tables", f"write [[{key}]] before each")
        return [self.table(each, f"{key}[{number}]") for number, each in enumerate(value)]

    def stack(self, table: Table) -> str:
        """Returns `stack` of the file's scenarios: the file's key, or what replaces it; empty without both."""
        own = self.text(table["stack"], "stack") if "stack" in table else ""
        return self.given_stack or own

    def scenario(self, value: Json | None, key: str, stack: str) -> str:
        """Takes the text of a scenario; a `stack` that is not empty is its first line."""
        text = self.text(value, key)
        if self.given_stack:
            table = _FIRST_TABLE.search(text)
            head = text[: table.start()] if table else text
            own = _STACK.search(head)
            if own and "{" in own[0]:
                self.refuse(key, None, "has a stack for each cell", "leave out --stack")
            text = _STACK.sub("", head) + text[len(head) :]
        return f'stack = "{stack}"\n{text}' if stack else text

    def text(self, value: Json | None, key: str) -> str:
        """Takes a text that is not blank."""
        if not isinstance(value, str) or not value.strip():
            problem = "is missing" if value is None else "is not a text"
            self.refuse(key, value, problem, f'write {key.rpartition(".")[2]} = "…"')
        return value

    def one_of(self, value: Json | None, key: str, known: Iterable[str]) -> str:
        """Takes one of the words in `known`."""
        text = self.text(value, key)
        if text not in known:
            self.refuse(key, text, "is unknown", f"use one of {', '.join(known)}")
        return text

    def texts(self, value: Json | None, key: str) -> list[str]:
        """Takes a list of one or more texts."""
        if not isinstance(value, list) or not value:
            problem = "is missing" if value is None else "is not a list of texts"
            self.refuse(key, value, problem, f'write {key.rpartition(".")[2]} = ["…", "…"]')
        return [self.text(each, f"{key}[{number}]") for number, each in enumerate(value)]

    def number(self, value: Json | None, key: str, least: float) -> float:
        """Takes a finite number, `least` or more."""
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not least <= value < float("inf")
        ):
            self.refuse(
                key,
                value,
                "is not a number in the allowed range",
                f"write a number of {least:g} or more, without quotes",
            )
        return float(value)

    def whole(self, value: Json | None, key: str) -> int:
        """Takes a whole number, 1 or more."""
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            self.refuse(
                key, value, "is not a whole number of 1 or more", "write one, without quotes"
            )
        return value


def merged(base: Table, changes: Table) -> Table:
    """Returns `base` with `changes`, table by table."""
    both = dict(base)
    for key, value in changes.items():
        old = both.get(key)
        both[key] = (
            merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return both
