"""Types of the arguments of functions of the API."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Integral
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_SHOWN = 40
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(
        ("seed", "repeat", "max_repeat", "sample", "threads", "bytes"),
        ((Integral,), "a whole number"),
    ),
    **dict.fromkeys(("set", "controllers"), ((Mapping,), 'a dict, like {"name": value}')),
    "trace": ((str,), '"off", "ack" or an interval like "10ms"'),
    "on": ((str, Sequence), 'the name of a runner, like "sim"'),
    "engine": ((str,), '"local" or "ray"'),
    "until": ((str,), 'a rule, like "ci(goodput) < 2%"'),
    "out": ((str, os.PathLike), "a directory"),
    "command": ((str, Sequence), "a program with its arguments, as a text or a list"),
    "server": ((str, Sequence), "a program with its arguments, as a text, or a list of them"),
    **dict.fromkeys(("server_cc", "up"), ((str,), "a text")),
}
"""Types of arguments, which the functions of the API share, and what to give instead of others."""


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Makes a function of the API refuse arguments of another type with their name, value and a fix.

    Raises:
        TypeError: When an argument has another type.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def checks(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            types, words = _KINDS.get(name, ((object,), ""))
            wanted = isinstance(value, types) and not (
                Integral in types and isinstance(value, bool)
            )
            if not wanted and value is not signature.parameters[name].default:
                raise TypeError(f"{name} = {cut(value)}: not of its type\n  fix: give {words}")
        return function(*args, **kwargs)

    return checks


def cut(value: object) -> str:
    """Returns a value as Python writes it, short enough for a line."""
    text = repr(value)
    return text if len(text) < _SHOWN else f"{text[:_SHOWN]}…"
