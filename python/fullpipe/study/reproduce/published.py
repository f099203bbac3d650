"""Published results as data in `published/*.toml`: tables and claims, with runs and tolerances.

A new study needs only a new file. `published/microsoft-wan-2021.toml` explains the keys of tables,
`published/kit-bbrv3-2025.toml` those of claims.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import wings
from fullpipe.runners import SIMULATOR
from fullpipe.study.reproduce.claims import Claim, read_claims
from fullpipe.study.reproduce.groups import read_groups
from fullpipe.study.reproduce.pictures import read_pictures
from fullpipe.study.reproduce.real import measured, simulated
from fullpipe.study.reproduce.tables import read_tables
from fullpipe.study.verdicts.reader import PublishedError, Reader, read_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.study.reproduce.groups import Point
    from fullpipe.study.reproduce.pictures import Picture
    from fullpipe.study.reproduce.tables import Case

DIRECTORY = Path("published")
PACKAGED = Path(__file__).parents[2] / DIRECTORY
"""The tables in the package."""

_KEYS = (
    *(
        "name",
        "title",
        "source",
        "seeds",
        "decoding",
        "scenario",
        "algorithms",
        "metrics",
        "exception",
        "variant",
    ),
    *("table", "runs", "claim", "picture", "real"),
)


@dataclass(frozen=True)
class Published:
    """Contents of a file. `variants` are alternative settings of the tables' rows, by name."""

    name: str
    title: str
    source: str
    file: Path
    cases: tuple[Case, ...] = ()
    variants: tuple[tuple[str, tuple[Case, ...]], ...] = ()
    claims: tuple[Claim, ...] = ()
    pictures: tuple[Picture, ...] = ()

    def only(self, patterns: Sequence[str]) -> Published:
        """Returns the part whose cases match one of the `fnmatch` patterns; all without a pattern.

        Raises:
            PublishedError: When a pattern matches no case.
        """
        if not patterns:
            return self
        names = dict.fromkeys(
            each for many in (self.cases, self.claims) for each in map(_case, many)
        )
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                near = get_close_matches(pattern, names, n=1)
                fix = (
                    f"did you mean {near[0]}?"
                    if near
                    else f"use * as a wildcard; the cases are {', '.join(names)}"
                )
                raise PublishedError(
                    f"--case {pattern}: no case of {self.file} matches\n  fix: {fix}"
                )

        def wanted(name: str) -> bool:
            return any(fnmatchcase(name, pattern) for pattern in patterns)

        return replace(
            self,
            cases=tuple(case for case in self.cases if wanted(case.name)),
            variants=tuple(
                (name, tuple(case for case in cases if wanted(case.name)))
                for name, cases in self.variants
            ),
            claims=tuple(claim for claim in self.claims if wanted(claim.case)),
            pictures=tuple(picture for picture in self.pictures if wanted(picture.case)),
        )

    def with_seeds(self, seeds: int | None) -> Published:
        """Returns a copy with the given number of runs of everything; None keeps the file's numbers."""
        return self if seeds is None else self._changed(lambda point: replace(point, seeds=seeds))

    def with_settings(self, settings: Sequence[tuple[str, str]]) -> Published:
        """Returns a copy whose scenarios have other values of keys, which its title names."""

        def changed(point: Point) -> Point:
            every = {**dict(point.setup.settings), **dict(settings)}
            return replace(point, setup=replace(point.setup, settings=tuple(every.items())))

        if not settings:
            return self
        words = ", ".join(f"{key}={value}" for key, value in settings)
        return replace(self._changed(changed), title=f"{self.title}, with {words}")

    def _changed(self, change: Callable[[Point], Point]) -> Published:
        """Returns a copy with other points."""

        def cases(of: tuple[Case, ...]) -> tuple[Case, ...]:
            return tuple(replace(case, point=change(case.point)) for case in of)

        def points(of: tuple[tuple[Point, ...], ...]) -> tuple[tuple[Point, ...], ...]:
            return tuple(tuple(map(change, each)) for each in of)

        return replace(
            self,
            cases=cases(self.cases),
            variants=tuple((name, cases(of)) for name, of in self.variants),
            claims=tuple(replace(claim, of=points(claim.of)) for claim in self.claims),
            pictures=tuple(replace(picture, of=points(picture.of)) for picture in self.pictures),
        )


def _case(each: Case | Claim) -> str:
    return each.case if isinstance(each, Claim) else each.name


def find(name: str, runner: str = SIMULATOR) -> Path:
    """Finds the file of a study by name; `name` may also be a path.

    On a runner, NAME refers to the study NAME-RUNNER if there is one. The search covers `published/`
    in the working directory, then the package.

    Raises:
        PublishedError: When there is no such study.
    """
    if name.endswith(".toml"):
        return Path(name)
    places = dict.fromkeys((DIRECTORY, PACKAGED))
    found = {
        _name_of(file): file for place in reversed(places) for file in sorted(place.glob("*.toml"))
    }
    for each in (f"{name}-{runner}", name):
        if each in found:
            return found[each]
    raise PublishedError(
        f"no published table is called {name!r}: the tables are {', '.join(sorted(found))}"
        "\n  fix: name one of them, or a TOML file like them"
    )


def of_a_wing(file: Path) -> wings.Study | None:
    """Returns the function of a wing that runs the study of a file; None for a study of runs, or if unreadable."""
    try:
        return wings.study_of(read_toml(file))
    except (OSError, PublishedError):
        return None


def load(file: Path, *, real: bool = False) -> Published:
    """Reads and checks a file of published results; with `real`, in its form for real stacks.

    Raises:
        PublishedError: When the file is invalid; the text names the file, the key, the value and the
            fix.
        OSError: When the file can't be read.
    """
    reader = Reader(file)
    raw = read_toml(file)
    reader.only(raw, "", _KEYS)
    raw = measured(reader, raw) if real else simulated(raw)
    if not {"table", "claim"} & set(raw):
        reader.refuse(
            "table", None, "is missing, and so is claim", "write [[table]] with rows, or [[claim]]"
        )
    seeds = reader.whole(raw.get("seeds", 10), "seeds")
    groups = read_groups(reader, raw, seeds)
    cases, variants = read_tables(reader, raw, groups, seeds) if "table" in raw else ((), ())
    about = {**groups, **{case.name: (case.point,) for case in cases}}
    return Published(
        name=reader.text(raw.get("name"), "name"),
        title=reader.text(raw.get("title"), "title"),
        source=reader.text(raw.get("source"), "source").strip(),
        file=file,
        cases=cases,
        variants=variants,
        claims=read_claims(reader, raw, about),
        pictures=read_pictures(reader, raw, about),
    )


def _name_of(file: Path) -> str:
    """Returns the `name` in a file; if it can't be read the file's name, so that loading reports the error."""
    try:
        name = read_toml(file).get("name")
    except (OSError, PublishedError):
        name = None
    return name if isinstance(name, str) else file.stem
