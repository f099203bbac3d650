"""The canned tests of `fullpipe test`: each is a TOML file of this folder, and has the file's name.

A file has `purpose`, one line for lists; `about`, a paragraph; `flent`, the names of flent's tests that it stands for;
and the numbers of flows: `down` and `up` bulk transfers in each direction, `probes` that send a small request each
100 ms, and `calls` that send voice in both directions.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

_FOLDER = Path(__file__).parent


class NoTestError(UserError):
    """There is no such test; the text has the fix."""


@dataclass(frozen=True)
class Canned:
    """A canned test.

    Attributes:
        name: Its name.
        purpose: Its purpose, in one line.
        about: A paragraph about its load.
        down: The number of bulk transfers to the client.
        up: The number of bulk transfers from the client.
        probes: The number of connections with small requests.
        calls: The number of voice calls, each with a stream in both directions.
        flent: The names of flent's tests that it stands for.
    """

    name: str
    purpose: str
    about: str
    down: int = 0
    up: int = 0
    probes: int = 0
    calls: int = 0
    flent: Sequence[str] = ()

    @property
    def is_program(self) -> bool:
        """Whether the load is a program of the user."""
        return not self.down and not self.up


def every() -> list[Canned]:
    """Returns all canned tests, by name."""
    return [_read(file) for file in sorted(_FOLDER.glob("*.toml"))]


def named(name: str) -> Canned:
    """Returns the test with a name.

    Raises:
        NoTestError: When no test has it; the text has the most similar name, or that of ours for one of flent.
    """
    tests = every()
    for each in tests:
        if each.name == name:
            return each
    ours = [each.name for each in tests if name in each.flent]
    near = ours or get_close_matches(name, [each.name for each in tests], n=1)
    fix = f"did you mean {near[0]}?" if near else "`fullpipe list tests` has the names"
    raise NoTestError(f"{name}: no such test\n  fix: {fix}")


def _read(file: Path) -> Canned:
    return Canned(file.stem, **tomllib.loads(file.read_text(encoding="utf-8")))
