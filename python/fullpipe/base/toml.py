"""Writes TOML: values as `--set` takes them, and scenarios that are mappings."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Setting: TypeAlias = "str | int | float | bool | Mapping[str, object] | Sequence[object]"
"""A value of a scenario's key: a quantity in words like "20mbit", a number, or a table or list of such values."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def as_set(value: object) -> str:
    """Formats a value as `--set` takes it: a text has no quotes.

    Raises:
        TypeError: When TOML has no such value.
    """
    return value if isinstance(value, str) else inline(value)


def value_of(text: str) -> object:
    """Returns the value of a text as `--set` takes it: a number, true or false, or else the text."""
    try:
        found: object = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return found if isinstance(found, bool | int | float) else text


def inline(value: object) -> str:
    """Formats a value of one line.

    Raises:
        TypeError: When TOML has no such value.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _string(value)
        case Mapping():
            return (
                "{ "
                + ", ".join(f"{_key(name)} = {inline(of)}" for name, of in value.items())
                + " }"
            )
        case Sequence() if not isinstance(value, bytes):
            return f"[{', '.join(map(inline, value))}]"
        case _ if hasattr(value, "item"):  # a number of numpy or polars
            return inline(value.item())
    raise TypeError(f'{value!r}: not a value of a scenario, like "20mbit", 3 or True')


def document(tables: Mapping[str, object]) -> str:
    """Formats a scenario, `{"duration": "10s", "path": {"rate": "20mbit"}, "flow": [{"cc": "cubic"}]}`.

    Raises:
        TypeError: When TOML has no such value.
    """
    lines, blocks = [], []
    for name, value in tables.items():
        if isinstance(value, Mapping):
            blocks.append(_table(f"[{_key(name)}]", value))
        elif _is_tables(value):
            blocks += [_table(f"[[{_key(name)}]]", each) for each in value]  # type: ignore[attr-defined]
        else:
            lines.append(f"{_key(name)} = {inline(value)}")
    return "\n\n".join(["\n".join(lines), *blocks] if lines else blocks) + "\n"


def _is_tables(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and bool(value)
        and all(isinstance(each, Mapping) for each in value)
    )


def _table(head: str, keys: Mapping[str, object]) -> str:
    return "\n".join([head, *(f"{_key(name)} = {inline(value)}" for name, value in keys.items())])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    # JSON's escapes are TOML's, but for the one character that JSON leaves alone.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
