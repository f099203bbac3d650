"""Formats tables as TOML, as far as scenarios need it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.study.verdicts.reader import Json, Table


def scenario_text(comment: str, scenario: Table, flows: Sequence[Table]) -> str:
    """Formats a scenario: comment lines, keys, and a block per table and per flow."""
    top: Table = {key: value for key, value in scenario.items() if not isinstance(value, dict)}
    tables: dict[str, Table] = {
        key: value for key, value in scenario.items() if isinstance(value, dict)
    }
    blocks = ["".join(f"# {line}\n" for line in comment.splitlines()) + _lines(top)]
    blocks += [f"[{key}]\n{_lines(table)}" for key, table in tables.items()]
    blocks += [f"[[flow]]\n{_lines(flow)}" for flow in flows]
    return "\n".join(blocks)


def _lines(table: Table) -> str:
    return "".join(f"{key} = {value_text(value)}\n" for key, value in table.items())


def value_text(value: Json) -> str:
    """Formats a value on one line."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{key} = {value_text(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(value_text(each) for each in value)}]"
    return json.dumps(
        value, ensure_ascii=False
    )  # JSON and TOML share strings, numbers and booleans
