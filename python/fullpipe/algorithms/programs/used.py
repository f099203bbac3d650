"""Programs that used another congestion control in one run than in another."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from fullpipe.algorithms.resolve import recipe_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def names(scenarios: Iterable[str]) -> set[str]:
    """Returns the names of the flows of scenarios, in TOML, that are programs."""
    found = set()
    for text in scenarios:
        tables = tomllib.loads(text)
        found |= {str(each.get("name", each.get("use"))) for each in tables.get("program", [])}
        for each in tables.get("flow", []):
            if recipe := recipe_of(str(each.get("cc", ""))):
                found.add(str(each.get("name", recipe[0])))
    return found


def differences(used: Iterable[tuple[str, str, str]]) -> list[str]:
    """Returns a sentence for each program whose congestion control is not everywhere the same.

    Args:
        used: Each run, in words, with the name of a program's flow and its congestion control.
    """
    by_name: dict[str, dict[str, list[str]]] = {}
    for where, name, cc in used:
        places = by_name.setdefault(name, {}).setdefault(cc.rpartition(":")[2], [])
        places += [where] if where not in places else []
    told = {
        name: [f"{cc} ({', '.join(places)})" for cc, places in by_cc.items()]
        for name, by_cc in by_name.items()
        if len(by_cc) > 1
    }
    return [
        f"{name} used {' and '.join(each)}: a program's TCP has the machine's default unless it asks for another"
        for name, each in told.items()
    ]
