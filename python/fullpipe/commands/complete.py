"""Completion of values in a shell: names from the program's own lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from fullpipe import wings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import click

    from fullpipe._core import Key

_QUOTED = re.compile(r'"([\w.+-]+)"')


def completer(
    kinds: Sequence[str],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Returns click's function for a parameter whose values are names of these kinds, or lists of them with commas."""

    def complete(_ctx: click.Context, _param: click.Parameter, word: str) -> list[CompletionItem]:
        done, comma, last = word.rpartition(",")
        found = [
            CompletionItem(f"{done}{comma}{name}", help=about or None)
            for kind in kinds
            for name, about in KINDS[kind](last)
            if name.startswith(last)
        ]
        return found or ([CompletionItem(word, type="file")] if "files" in kinds else [])

    return complete


def _purposes(entries: Iterable[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    for each in entries:
        yield str(each["name"]), str(each["purpose"])


def _algorithms(_word: str) -> Iterator[tuple[str, str]]:
    from fullpipe import _core

    return _purposes(_core.algorithms())


def _queues(_word: str) -> Iterator[tuple[str, str]]:
    from fullpipe import _core

    return _purposes(_core.queues())


def _profiles(_word: str) -> Iterator[tuple[str, str]]:
    from fullpipe import _core

    return _purposes(_core.profiles())


def _scenarios(_word: str) -> Iterator[tuple[str, str]]:
    from fullpipe.scenario import origin

    return ((file.stem, "") for file in origin.packaged())


def _studies(_word: str) -> Iterator[tuple[str, str]]:
    from pathlib import Path

    for file in sorted((Path(__file__).parents[1] / "published").glob("*.toml")):
        if found := re.search(r'^name = "(.*)"$', file.read_text(encoding="utf-8"), re.MULTILINE):
            yield found[1], ""


def _runners(_word: str) -> Iterator[tuple[str, str]]:
    from fullpipe import runners

    return ((name, "") for name in runners.names())


def _metrics(_word: str) -> Iterator[tuple[str, str]]:
    from fullpipe.stats.quantity import known_names

    return ((name, "") for name in known_names())


def _names(_word: str) -> Iterator[tuple[str, str]]:
    from fullpipe.about.explanations import known

    return ((name, "") for name in known())


def _tests(_word: str) -> Iterator[tuple[str, str]]:
    from fullpipe.scenario import canned

    return ((each.name, each.purpose) for each in canned.every())


def _nothing(_word: str) -> Iterator[tuple[str, str]]:
    return iter(())


def _settings(word: str) -> Iterator[tuple[str, str]]:
    """Yields `KEY=` with the key's meaning, and behind `=` the values that a key can have."""
    from fullpipe import _core

    name, equals, value = word.partition("=")
    numbered = re.search(r"(?<=\.)\d+(?=\.|$)", name)
    number = numbered[0] if numbered else "0"
    for key in _core.scenario_keys():
        if key["kind"].startswith("table") or key["key"].startswith("sweep."):
            continue
        written = key["key"].replace(".N", f".{number}", 1)
        if not equals:
            yield f"{written}=", key["meaning"].partition(". ")[0]
        elif written == name:
            for each in _values(key, value):
                yield f"{name}={each}", ""


def _values(key: Key, value: str) -> Iterator[str]:
    kind = {"cc": "algorithms", "queue": "queues", "profile": "profiles"}
    if of := kind.get(key["key"].rpartition(".")[2]):
        yield from (name for name, _ in KINDS[of](value))
    elif key["kind"].startswith("true or false"):
        yield from ("true", "false")
    elif key["kind"].startswith(('"', "one of")):
        yield from _QUOTED.findall(key["kind"])
    else:
        yield from (each.strip('"') for each in key["examples"] if not each.startswith(("[", "{")))


KINDS: Mapping[str, Callable[[str], Iterable[tuple[str, str]]]] = {
    "algorithms": _algorithms,
    "bpf": lambda _word: wings.named("bpf"),
    "files": _nothing,
    "lessons": lambda _word: wings.named("lessons"),
    "metrics": _metrics,
    "names": _names,
    "profiles": _profiles,
    "queues": _queues,
    "runners": _runners,
    "scenarios": _scenarios,
    "settings": _settings,
    "studies": _studies,
    "tests": _tests,
}
"""Functions that yield names with their purposes, by the kind that a declaration names."""
