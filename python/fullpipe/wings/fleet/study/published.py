"""A published study of a fleet as data: population, claims on its arms, and alternative assumptions.

`published/dropbox-2019.toml` explains the keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fullpipe.study.reproduce.statement import KEYS, Statement, read_statement
from fullpipe.study.verdicts.reader import PublishedError, Reader, read_toml
from fullpipe.wings.fleet.study.measures import OF_MORE, OF_ONE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.study.verdicts.reader import Json, Table

_KEYS = ("name", "title", "source", "fleet", "claim", "silent", "assumption")
_CLAIM = (*KEYS, "measure", "compare", "of")
_BINS = "lower_loss"
MEASURES = (*OF_ONE, _BINS)


@dataclass(frozen=True)
class ArmClaim(Statement):
    """A claim on arms.

    Attributes:
        measure: One of :data:`MEASURES`.
        compare: Comparison of the arms, one of :data:`OF_MORE`; None for a single arm.
        of: Names of the arms.
    """

    measure: str
    compare: str | None
    of: tuple[str, ...]


@dataclass(frozen=True)
class Assumption:
    """An alternative population: overrides of scenario keys, and additional flows."""

    name: str
    about: str
    set: tuple[tuple[str, str], ...]
    flows: str


@dataclass(frozen=True)
class FleetStudy:
    """Contents of a file.

    Attributes:
        silent: Statements that a simulation can't test: (case, metric, reason).
        fewer: Number of paths under each alternative assumption.
    """

    name: str
    title: str
    source: str
    file: Path
    preset: str
    arms: tuple[str, ...]
    paths: int
    fewer: int
    least_bytes: int
    claims: tuple[ArmClaim, ...]
    silent: tuple[tuple[str, str, str], ...]
    assumptions: tuple[Assumption, ...]

    @property
    def drawn(self) -> tuple[str, ...]:
        """The arms shown in figures: CUBIC and BBR's first three versions."""
        return tuple(
            arm for arm in self.arms if arm in ("cubic", "bbr1", "bbr2", "bbr3", "cubic-linux")
        )

    def only(self, patterns: Sequence[str]) -> FleetStudy:
        """Returns the part whose cases match one of the patterns, without assumptions; all without a pattern.

        Raises:
            PublishedError: When a pattern matches no case.
        """
        if not patterns:
            return self
        names = [*(claim.case for claim in self.claims), *(case for case, _, _ in self.silent)]
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                known = ", ".join(dict.fromkeys(names))
                raise PublishedError(
                    f"--case {pattern}: no case of {self.file} matches\n  fix: the cases are {known}"
                )

        def wanted(name: str) -> bool:
            return any(fnmatchcase(name, pattern) for pattern in patterns)

        return replace(
            self,
            claims=tuple(claim for claim in self.claims if wanted(claim.case)),
            silent=tuple(each for each in self.silent if wanted(each[0])),
            assumptions=(),
        )


def load(file: Path) -> FleetStudy:
    """Reads and checks a file.

    Raises:
        PublishedError: When the file is invalid; the text names the file, the key, the value and the
            fix.
        OSError: When the file can't be read.
    """
    reader = Reader(file)
    raw = read_toml(file)
    reader.only(raw, "", _KEYS)
    fleet = reader.table(raw.get("fleet"), "fleet")
    reader.only(fleet, "fleet.", ("preset", "arms", "paths", "fewer", "least_bytes"))
    arms = tuple(reader.texts(fleet.get("arms"), "fleet.arms"))
    read = _Read(reader, arms)
    return FleetStudy(
        name=reader.text(raw.get("name"), "name"),
        title=reader.text(raw.get("title"), "title"),
        source=reader.text(raw.get("source"), "source").strip(),
        file=file,
        preset=reader.text(fleet.get("preset"), "fleet.preset"),
        arms=arms,
        paths=reader.whole(fleet.get("paths"), "fleet.paths"),
        fewer=reader.whole(fleet.get("fewer"), "fleet.fewer"),
        least_bytes=reader.whole(fleet.get("least_bytes"), "fleet.least_bytes"),
        claims=tuple(
            read.claim(each, f"claim[{number}]")
            for number, each in enumerate(reader.tables(raw["claim"], "claim"))
        ),
        silent=tuple(
            read.silent(each, f"silent[{number}]")
            for number, each in enumerate(reader.tables(raw.get("silent", []), "silent"))
        ),
        assumptions=tuple(
            read.assumption(name, each)
            for name, each in reader.table(raw.get("assumption", {}), "assumption").items()
        ),
    )


class _Read:
    def __init__(self, reader: Reader, arms: tuple[str, ...]) -> None:
        self.reader = reader
        self.arms = arms

    def claim(self, keys: Table, where: str) -> ArmClaim:
        read = self.reader
        read.only(keys, f"{where}.", _CLAIM)
        measure = read.one_of(keys.get("measure"), f"{where}.measure", MEASURES)
        compare = (
            read.one_of(keys["compare"], f"{where}.compare", tuple(OF_MORE))
            if "compare" in keys
            else None
        )
        of = tuple(read.texts(keys.get("of"), f"{where}.of"))
        wanted = 2 if measure == _BINS else OF_MORE[compare][0] if compare else 1
        if len(of) != wanted:
            read.refuse(f"{where}.of", keys.get("of"), f"has {len(of)} arms", f"name {wanted}")
        for arm in of:
            read.one_of(arm, f"{where}.of", self.arms)
        return ArmClaim(
            **vars(read_statement(read, keys, where)), measure=measure, compare=compare, of=of
        )

    def silent(self, keys: Table, where: str) -> tuple[str, str, str]:
        self.reader.only(keys, f"{where}.", ("case", "metric", "why"))
        case, metric, why = (
            self.reader.text(keys.get(key), f"{where}.{key}") for key in ("case", "metric", "why")
        )
        return case, metric, why.strip()

    def assumption(self, name: str, value: Json) -> Assumption:
        where = f"assumption.{name}"
        keys = self.reader.table(value, where)
        self.reader.only(keys, f"{where}.", ("about", "set", "flows"))
        changes = self.reader.table(keys.get("set"), f"{where}.set")
        return Assumption(
            name,
            self.reader.text(keys.get("about"), f"{where}.about"),
            tuple(
                (key, self.reader.text(text, f"{where}.set.{key}")) for key, text in changes.items()
            ),
            self.reader.text(keys["flows"], f"{where}.flows") if "flows" in keys else "",
        )
