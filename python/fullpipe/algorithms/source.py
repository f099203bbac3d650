"""The code behind an algorithm's name: results depend on it."""

from __future__ import annotations

from typing import NamedTuple


class Source(NamedTuple):
    """The code of a user's algorithm, as this process has it.

    Attributes:
        file: Its file, or the directory of its crate, as the user named it.
        content: The contents of its file: of the module, the built library, or the policy.
        version: The version that a crate or a module gives itself; empty without one.
        plugin: The argument of `--plugin` with which another command knows the name; empty if the name is enough.
    """

    file: str
    content: bytes
    version: str = ""
    plugin: str = ""
