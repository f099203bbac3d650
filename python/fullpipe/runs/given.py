"""Arguments of :func:`fullpipe.run` and its kin: a scenario in one of several forms, and options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fullpipe import _core
from fullpipe.algorithms import resolve
from fullpipe.base import toml
from fullpipe.base.arguments import cut
from fullpipe.scenario import origin, path_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.algorithms.classes import Controllers

Algorithm: TypeAlias = "str | type"
"""An algorithm's name, that of a class to import (`my.module:Mine`), of a library, a crate or a policy, or a class."""
ScenarioLike: TypeAlias = (
    "str | os.PathLike[str] | Mapping[str, object] | Sequence[Algorithm] | _core.Scenario"
)
"""A scenario as a path, text, packaged name, mapping, list of algorithms, or loaded one."""

_OF_LINUX = {"reno": "newreno", "bbr": "bbr1"}
"""Linux' names of algorithms that have another one here."""
_OF_MAPPING = "<dict>"
_FORMS = "a path, a text, the name of a packaged scenario, a dict, or algorithms as a list"


class Given(NamedTuple):
    """A scenario's text, the name that errors use for it, settings, and algorithms in Python by name."""

    text: str
    file: str
    settings: dict[str, object]
    controllers: dict[str, type]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The settings as `--set` takes them."""
        return [(key, toml.as_set(value)) for key, value in self.settings.items()]


def given(
    scenario: ScenarioLike,
    *,
    cc: Algorithm | None = None,
    options: Mapping[str, object] | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002  (the same word as --set)
    controllers: Controllers | None = None,
) -> Given:
    """Returns a scenario and options in one form.

    Args:
        scenario: The scenario.
        cc: The algorithm of its first flow.
        options: Options by name; those of the path are :data:`fullpipe.scenario.path_options.PATH_OPTIONS`, others are
            keys outside of tables. None stands for one that is not given.
        set: Keys with values; they override `cc` and `options`.
        controllers: Algorithms in Python by name.

    Raises:
        TypeError: When a value can't be one of a scenario.
        OSError: When a file can't be read.
    """
    text, file, classes = _read(scenario)
    for name, each in (controllers or {}).items():
        if not isinstance(each, type):
            raise TypeError(f"controllers: {name} = {each!r}: not a class\n  fix: give one")
    classes |= controllers or {}
    settings: dict[str, object] = {}
    if isinstance(scenario, _core.Scenario):
        settings |= scenario.settings
    known = {each.name for each in path_options.PATH_OPTIONS}
    of_path, others = path_options.keyed(options or {}), dict(options or {})
    settings |= of_path
    settings |= {name: value for name, value in others.items() if name not in known}
    if cc is not None:
        settings["flow.0.cc"] = name_of(cc, classes)
    settings |= set or {}
    settings = dict(pair for key, value in settings.items() for pair in _flat(key, value))
    if file == origin.ALGORITHMS:
        text = origin.retitled(text, settings)
    made = Given(text, file, settings, classes)
    new = {*of_path, *others, *(set or {})}
    if "duration" in new and (shorter := origin.warm_up(text, made.pairs)):
        settings[shorter[0]] = shorter[1]
        return made._replace(settings=settings)
    return made


def _flat(key: str, value: object) -> Iterator[tuple[str, object]]:
    """Yields the keys of a table, like `path.queue.target`: `--set` takes no tables."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}", inner)
    else:
        yield key, value


def name_of(algorithm: Algorithm, classes: dict[str, type]) -> str:
    """Returns the name of an algorithm in scenarios; loads it, and adds a class to `classes` by its own name."""
    if isinstance(algorithm, str):
        return algorithm if algorithm in classes else resolve.name_of(algorithm)
    if not isinstance(algorithm, type):
        raise TypeError(
            f"{algorithm!r}: not an algorithm\n  fix: give a name like 'cubic', or a class"
        )
    classes[algorithm.__name__] = algorithm
    return algorithm.__name__


def declared(algorithm: str) -> _core.Algorithm | None:
    """Returns the declaration of a built-in algorithm by its name, that of a variant, or Linux'; None for another.

    >>> [declared(name)["name"] for name in ("cubic-linux", "program:iperf3:bbr", "mine:BBR3", "c4:x=1")]
    ['cubic', 'bbr1', 'bbr3', 'c4']
    """
    known = _built_in()
    algorithm = resolve.bare(algorithm)
    own = algorithm.split(":")[-1].lower()
    names = (algorithm, own, own.split("-")[0].rstrip("+"), _OF_LINUX.get(own, own))
    return next((known[name] for name in names if name in known), None)


@cache
def _built_in() -> dict[str, _core.Algorithm]:
    return {each["name"]: each for each in _core.algorithms() if each["color"] is not None}


def _read(scenario: ScenarioLike) -> tuple[str, str, dict[str, type]]:
    """Returns text, name and classes of a scenario."""
    classes: dict[str, type] = {}
    if isinstance(scenario, _core.Scenario):
        return scenario.source, scenario.file, dict(scenario.controllers)
    if isinstance(scenario, Mapping):
        return toml.document(scenario), _OF_MAPPING, classes
    if isinstance(scenario, str) and _is_algorithm(scenario):
        scenario = [scenario]
    if not isinstance(scenario, str | os.PathLike | Sequence) or isinstance(scenario, bytes):
        raise TypeError(f"{cut(scenario)}: not a scenario\n  fix: give {_FORMS}")
    if not isinstance(scenario, str | os.PathLike):
        names = [name_of(each, classes) for each in scenario]
        if not names:
            raise ValueError('no algorithm: give a list like ["cubic", "bbr3"]')
        return origin.of_algorithms(names), origin.ALGORITHMS, classes
    named = "\n" not in str(scenario)
    if named and (not str(scenario) or Path(scenario).is_dir()):
        raise IsADirectoryError(
            f"{str(scenario) or repr('')}: not a scenario's file\n  fix: give {_FORMS}"
        )
    return *origin.read(scenario), classes


def _is_algorithm(name: str) -> bool:
    kind = resolve.kind_of(name)
    return kind is not None and (kind.is_path or ":" in name or not Path(name).exists())
