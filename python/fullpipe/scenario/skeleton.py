"""A scenario to begin with: its keys, and as comments those that are used most."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.scenario import origin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WIDTH = 110
_HINTS = {
    "": ("seed", "expect"),
    "path": ("queue", "rate_pattern", "loss", "jitter", "reverse_loss"),
    "flow.N": ("start", "rtt", "bytes", "app_rate", "app", "count"),
}
"""The keys that comments name, by table."""


def skeleton(algorithms: Sequence[str], settings: Sequence[tuple[str, str]]) -> str:
    """Returns the text of a scenario with a flow of each algorithm.

    Args:
        algorithms: The algorithms.
        settings: Keys with values, as `--set` has them; `path.profile` replaces the usual path.
    """
    given = dict(settings)
    top = {**origin.TIMES, **{key: value for key, value in given.items() if "." not in key}}
    path = {key[5:]: value for key, value in given.items() if key.startswith("path.")}
    if "profile" not in path:
        path = _with_size(
            {**origin.PATH, **path}, [(key, value) for key, value in settings if key[:5] == "path."]
        )
    if shorter := origin.warm_up(origin.of_algorithms(algorithms), settings):
        top[shorter[0]] = shorter[1]
    tables = [_table("", top), _table("path", path)]
    for number, name in enumerate(algorithms):
        start = f"flow.{number}."
        own = {
            key.removeprefix(start): value for key, value in given.items() if key.startswith(start)
        }
        tables.append(_table("flow.N", {"cc": name, **own}, hints=number == 0))
    title = origin.titled(algorithms)
    about = f"# {title}\n# `fullpipe explain scenario` lists all keys, `fullpipe explain KEY` explains one.\n"
    return about + "\n".join(tables)


def _with_size(path: dict[str, str], settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Returns the path with the size of its buffer, or without the buffer if the queue has its own limit."""
    if path["buffer"] != origin.PATH["buffer"]:
        return path
    scenario = origin.of_algorithms(["cubic"])
    complete = _core.Scenario.parse(scenario, origin.ALGORITHMS, settings).to_toml()
    size = tomllib.loads(complete)["path"]["buffer"]
    if size.endswith("bdp"):
        return {**path, "buffer": size}
    return {key: value for key, value in path.items() if key != "buffer"}


def _table(table: str, keys: Mapping[str, str], *, hints: bool = True) -> str:
    head = {"": "", "path": "[path]\n", "flow.N": "[[flow]]\n"}[table]
    known = {each["key"]: each for each in _core.scenario_keys()}
    lines = [f"{key} = {_toml(value)}" for key, value in keys.items()]
    for name in _HINTS[table] if hints else ():
        key = known[f"{table}.{name}" if table else name]
        if name not in keys and key["examples"]:
            shown = f"# {name} = {key['examples'][0]}"
            line = f"{shown:38} # {_first(key['meaning'])}"
            lines += [line] if len(line) <= _WIDTH else [f"# {_first(key['meaning'])}:", shown]
    return head + "\n".join(lines) + "\n"


def _first(meaning: str) -> str:
    """Returns the first sentence, or its beginning up to a colon, in one short line."""
    sentence = re.split(r"(?<=[a-z)`])[.:](?= |$)", meaning)[0]
    return sentence[0].lower() + sentence[1:] if not sentence[:2].isupper() else sentence


def _toml(value: str) -> str:
    is_number = re.fullmatch(r"\d+", value) is not None
    return value if is_number or value.startswith(("[", "{", '"')) else f'"{value}"'
