"""Kinds of algorithms: what a name stands for, and what follows from that. Nothing else tells names apart.

Each kind is a row of `KINDS`, or of a wing (`Wing.kinds`), and a new kind is a new row. Commands, runners and reports
ask the row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core, wings
from fullpipe.algorithms import classes, plugins, policies
from fullpipe.algorithms.guard import admit
from fullpipe.errors import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fullpipe.algorithms.classes import Controllers, Given
    from fullpipe.algorithms.source import Source

_PROGRAM = "program:"
_POLICY = "policy:"
_FILE = re.compile(r"\.py(:[^:/]*)?$")
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._+-]*)=(.+)")


def _last(name: str) -> str:
    return name.rpartition(":")[2]


def _nothing(_: str) -> None:
    return None


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of algorithm.

    Attributes:
        name: Its name.
        written: How a user writes the name of one.
        holds: Whether a text is the name of one.
        only: The sentence with which it is refused where it can't run; empty if each runner decides alone.
        needs: The trait of the runners that run it; empty if each runner decides alone.
        instead: What a user can do besides choosing another runner.
        holes: Commands that do not take it although the simulator runs it: the reason, and the fix. `{}` stands for
            the name, `{module}` and `{made}` for a class and its module.
        is_path: Whether its name is that of a file or a directory.
        is_code: Whether it is code of the user's.
        load: Loads what a user names, and returns the name by which scenarios know it from then on.
        use: Makes a name that a scenario has known to this process; returns the class, if it is one.
        short: Returns the name for directories.
        source: Returns the user's code behind a name in scenarios; None without any.
    """

    name: str
    written: str
    holds: Callable[[str], bool]
    only: str = ""
    needs: str = ""
    instead: str = ""
    holes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    is_path: bool = False
    is_code: bool = False
    load: Callable[[str], str] = str
    use: Callable[[str], object] = _nothing
    short: Callable[[str], str] = _last
    source: Callable[[str], Source | None] = _nothing


class Resolved(NamedTuple):
    """An algorithm that a user named.

    Attributes:
        name: The name by which scenarios know it.
        kind: The kind of the name that the user wrote.
    """

    name: str
    kind: Kind


def _imported(name: str) -> str:
    admit()
    return name


def _of_scenario(name: str) -> None:
    file, _, made = name.rpartition(":")
    fix = f'write "{Path(file).stem}:{made}", and load the file yourself if you trust it: --plugin {name}'
    raise refusal("a scenario names a class by its module", fix, place=f'cc = "{name}"')


def _policy(name: str) -> _core.Policy:
    return policies.load(name.removeprefix(_POLICY), name)


IN_PAGE = {
    "explore": (
        "the page has fullpipe's own algorithms",
        "name others, or write the algorithm in JavaScript in the page: docs/guide/explore.md",
    )
}
"""The hole of each kind that the simulator in a page lacks."""
_OWN = {
    **IN_PAGE,
    "fleet simulate": (
        "fleet simulate runs fullpipe's own algorithms",
        "draw paths with a sweep: fullpipe sweep cubic mine:Mine --rate '5mbit..50mbit log' --sample 100",
    ),
}
_IN_PYTHON = "a class in Python runs within the simulator"
_IN_LIBRARY = "a shared library runs within the simulator"

PROGRAM = Kind(
    "program",
    "program:NAME, program:NAME:CC",
    lambda text: text.startswith(_PROGRAM),
    "a program runs on this machine, with its own transport",
    "programs",
    "name an algorithm of a [[flow]]",
    IN_PAGE,
    short=lambda name: name.removeprefix(_PROGRAM).replace(":", "-"),
)
POLICY = Kind(
    "trained policy",
    "policy:FILE, policy:NAME",
    lambda text: text.startswith(_POLICY),
    "a trained policy runs where fullpipe's own algorithms do",
    "policies",
    holes=_OWN,
    load=lambda name: _policy(name).name,
    use=_policy,
    short=lambda name: Path(name.removeprefix(_POLICY)).stem,
    source=lambda name: policies.source(name, name.removeprefix(_POLICY)),
)
FILE = Kind(
    "class in a file",
    "mine.py:Mine",
    lambda text: _FILE.search(text) is not None,
    _IN_PYTHON,
    "own_code",
    holes=_OWN,
    is_path=True,
    is_code=True,
    load=classes.load_file,
    use=_of_scenario,
)
LIBRARY = Kind(
    "library",
    "libmine.so",
    lambda text: text.endswith(plugins.ENDINGS) or plugins.is_loaded(text),
    _IN_LIBRARY,
    "own_code",
    holes=_OWN,
    is_path=True,
    is_code=True,
    load=lambda text: text if plugins.is_loaded(text) else plugins.load_plugin(text),
    source=plugins.source,
)
CRATE = Kind(
    "crate",
    "./mine",
    plugins.is_crate,
    _IN_LIBRARY,
    "own_code",
    holes={
        **_OWN,
        "score": (
            "the directory of a crate, whose build would not be contained",
            "build it, and name the library: fullpipe plugin build {}",
        ),
    },
    is_path=True,
    is_code=True,
    load=plugins.load_plugin,
)
CLASS = Kind(
    "class",
    "my.module:Mine",
    lambda text: classes.IMPORTED.fullmatch(text) is not None,
    _IN_PYTHON,
    "own_code",
    holes={
        **_OWN,
        "score": (
            "a class to import, which may come from any file",
            "name its file, like {module}.py:{made}",
        ),
    },
    is_code=True,
    load=_imported,
    use=classes.imported,
    source=classes.source,
)
NONE = Kind(
    "unresponsive traffic",
    "none",
    lambda text: text == "none",
    holes=dict.fromkeys(
        ("score", "plugin check"),
        ("unresponsive traffic has no algorithm", "name one of `fullpipe list algorithms`"),
    ),
)
BUILT_IN = Kind("algorithm of fullpipe", "cubic", lambda text: text in plugins.built_in())

KINDS = (PROGRAM, POLICY, FILE, LIBRARY, CRATE, CLASS, NONE, BUILT_IN)
"""The kinds of the core, in the order in which a name is tried: an earlier one holds it first."""


@cache
def kinds() -> tuple[Kind, ...]:
    """Returns all kinds: those of the wings, whose names are narrower, come first."""
    return (*wings.kinds(), *KINDS)


def kind_of(text: str) -> Kind | None:
    """Returns the kind of a name, as a user or a scenario writes it; None if no kind holds it.

    Parameters behind the name, `bbr3:profile=draft`, do not change its kind.
    """
    if "\n" in text:  # the text of a scenario
        return None
    name = bare(text)
    return next((kind for kind in kinds() if kind.holds(name)), None)


def resolve(text: str) -> Resolved | None:
    """Loads the algorithm that a user names, and returns its name in scenarios; None if it is no algorithm.

    A class in a file becomes one to import, `my/mine.py:Mine` is `mine:Mine`: the file's directory is added to Python's
    path. A library or a crate is loaded, and a policy is read.

    Raises:
        ScenarioError: When there is no such file, the name lacks the class, or the library can't be loaded.
        UserError: When the crate can't be built.
    """
    kind = kind_of(text)
    if not kind:
        return None
    name, params = _core.with_params(text)
    loaded = kind.load(name)
    return Resolved(f"{loaded}:{params}" if params else loaded, kind)


def name_of(text: str) -> str:
    """Like :func:`resolve`, but returns the name, and one that is of no algorithm as it is."""
    found = resolve(text)
    return found.name if found else text


def of_option(text: str) -> str:
    """Loads what `--plugin` names, `[NAME=]LIBRARY` or a class in a file, and returns the algorithm's name."""
    kind = kind_of(text)
    if kind is FILE:
        return kind.load(text)
    there = kind in (LIBRARY, CRATE) and Path(text).exists()
    named = None if there else _NAMED.fullmatch(text)
    return plugins.load_plugin(named[2], named[1]) if named else plugins.load_plugin(text)


def described(names: Iterable[str], controllers: Controllers | None = None) -> Given:
    """Describes the classes that `names` name, and those in `controllers`, for the core; reads the policies.

    Raises:
        ScenarioError: When there is no such module, class or policy, or the class is not an algorithm.
    """
    found: dict[str, type] = dict(controllers or {})
    for name in map(bare, names):
        kind = None if name in found else kind_of(name)
        made = kind.use(name) if kind else None
        if isinstance(made, type):
            found[name] = made
    return [classes.described(name, made) for name, made in found.items()]


def described_in(
    text: str, settings: Sequence[tuple[str, str]] = (), controllers: Controllers | None = None
) -> Given:
    """Like :func:`described`, of the names in a scenario's text and in settings as `--set` takes them."""
    return described(_core.algorithm_names(text, settings), controllers)


def sources(names: Iterable[str]) -> list[tuple[str, Source]]:
    """Returns the user's code behind names in scenarios: libraries, classes, and then policies, which are data."""
    every = kinds()
    of = [(name, kind) for name in dict.fromkeys(map(bare, names)) if (kind := kind_of(name))]
    of.sort(key=lambda each: (not each[1].is_code, every.index(each[1])))
    return [(name, source) for name, kind in of if (source := kind.source(name))]


def code(names: Iterable[str], given: Given) -> bytes:
    """Returns all code that results depend on: of the classes, the libraries and the policies."""
    others = [source for name, source in sources(sorted(names)) if kind_of(name) is not CLASS]
    return classes.sources(given) + b"".join(each.content for each in others)


def short_name(name: str) -> str:
    """Returns a name of an algorithm for directories: of a class without its module, of a policy without its path.

    >>> [short_name(name) for name in ("cubic", "mine:Vegas", "policy:trained/power.json", "bbr3:profile=draft")]
    ['cubic', 'Vegas', 'power', 'bbr3-draft']
    """
    kind = kind_of(name)
    alone = bare(name)
    short = kind.short(alone) if kind else _last(alone)
    return "-".join([short, *(_part(*each) for each in params_of(name).items())])


def _part(key: str, value: str) -> str:
    """Returns a parameter in the name of a flow: a word alone, otherwise with its key."""
    from fullpipe.base.toml import value_of  # late: the command's start needs no TOML

    return value if isinstance(value_of(value), str) else f"{key}-{value}"


def params_of(name: str) -> dict[str, str]:
    """Returns the parameters behind the name of an algorithm, as `--set` takes them.

    >>> params_of("cubic:beta=0.5:slow_start=classic")
    {'beta': '0.5', 'slow_start': 'classic'}
    """
    _, params = _core.with_params(name)
    parts = (each.partition("=") for each in params.split(":") if each)
    return {key: value for key, _, value in parts}


def bare(name: str) -> str:
    """Returns the name of an algorithm without the parameters behind it."""
    return _core.with_params(name)[0]


def hole(kind: Kind, text: str, command: str) -> tuple[str, str] | None:
    """Returns the reason why a command does not take a kind, and the fix for a name; None if it does."""
    if command not in kind.holes:
        return None
    problem, fix = kind.holes[command]
    module, _, made = bare(text).partition(":")
    return problem, fix.format(text, module=module.rpartition(".")[2], made=made)


def recipe_of(name: str) -> tuple[str, str] | None:
    """Returns the recipe of a program and its congestion control, empty for the usual one; None for another kind.

    >>> [recipe_of(name) for name in ("program:iperf3:bbr", "cubic")]
    [('iperf3', 'bbr'), None]
    """
    if not PROGRAM.holds(name):
        return None
    recipe, _, choice = name.removeprefix(_PROGRAM).partition(":")
    return recipe, choice


def versions(name: str) -> list[str]:
    """Returns the algorithms that are versions of a name without a number, or with one that there is not."""
    stem = re.escape(re.sub(r"\d$", "", name))
    known = (str(each["name"]) for each in _core.algorithms())
    return [each for each in known if re.fullmatch(rf"{stem}\d", each)]


def similar(name: str) -> str:
    """Returns the fix for an unknown algorithm: the versions of that name, or the most similar name."""
    near = versions(name) or [
        *filter(None, [_core.nearest(name, [str(each["name"]) for each in _core.algorithms()])])
    ]
    return (
        f"did you mean {' or '.join(near)}?" if near else "`fullpipe list algorithms` has the names"
    )
