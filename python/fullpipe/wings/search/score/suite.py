"""Suites: scenarios with priors, metrics and weights, from the files of the package or of a user."""

from __future__ import annotations

import hashlib
import random
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from fullpipe import _core
from fullpipe.base.toml import as_set
from fullpipe.errors import UserError
from fullpipe.stats.quantity import known_names, quantity
from fullpipe.study.cells import HERE, stack_of
from fullpipe.study.spec import refuse_too_large
from fullpipe.study.verdicts.reader import Reader, read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.study.verdicts.reader import Json, Table


class Key(NamedTuple):
    """A key of a suite.

    Attributes:
        name: Its name.
        of: Its table: `suite`, `part` or `metric`.
        default: The default in words; empty for a required key.
        meaning: Its meaning.
    """

    name: str
    of: str
    default: str
    meaning: str


KEYS = (
    Key("title", "suite", "", "subject of the suite"),
    Key("stack", "suite", '"linux"', "`stack` of the scenarios"),
    Key("baseline", "suite", '"cubic"', "algorithm whose values on the same cells are the unit"),
    Key(
        "control",
        "suite",
        '"bbr3"',
        "algorithm whose points tell how much there is to gain in a cell, for a sharper alarm; for other parameters of "
        "a built-in algorithm, its defaults do",
    ),
    Key(
        "seed",
        "suite",
        "1",
        "seed with which the shown cells are drawn, and first seed of their runs",
    ),
    Key("clip", "suite", "4", "greatest points of a metric in a cell, and the least with a minus"),
    Key("holdout", "suite", "0.3", "cells of the hold-out as a share of the shown ones"),
    Key("renew", "suite", "100", "uses of the hold-out after which its secret is renewed"),
    Key("part", "suite", "", "tables `[[part]]`, one for each kind of scenario"),
    Key("name", "part", "", "name in the output"),
    Key("cells", "part", "", "number of scenarios that are drawn and shown"),
    Key("weight", "part", "`cells`", "weight of the part's mean in the score"),
    Key(
        "scenario",
        "part",
        "",
        f"text of a [scenario](scenario.md), with `{HERE}` for the algorithm of the candidate",
    ),
    Key(
        "prior",
        "part",
        "none",
        "table of the scenario's keys, each with a value, a list, or a range to draw from, like "
        '`"4mbit..50mbit log"`, as `fullpipe sweep --sample` takes them',
    ),
    Key("metric", "part", "", "tables `[[part.metric]]`, one for each term of the points"),
    Key("name", "metric", "", "[metric](metrics.md), as `--show` takes it; its better side counts"),
    Key("of", "metric", '"tested"', "flow with the metric"),
    Key("weight", "metric", "1", "weight of the metric in the points of a cell"),
    Key(
        "transform",
        "metric",
        '"ratio"',
        '"ratio": the binary logarithm of the value over the baseline\'s, so that 1 is twice as good; "difference": '
        "the difference, divided by `scale`",
    ),
    Key("scale", "metric", "", 'difference that is worth a point; required with "difference"'),
)
"""The keys of a suite; the reader and the reference follow from them."""

PACKAGED = ("general",)
"""The suites of the package."""


@dataclass(frozen=True)
class Metric:
    """A term of the points of a cell; :data:`KEYS` has the meanings."""

    name: str
    column: str
    better: int
    of: str
    weight: float
    transform: Literal["ratio", "difference"]
    scale: float


@dataclass(frozen=True)
class Part:
    """A kind of scenario; :data:`KEYS` has the meanings."""

    name: str
    cells: int
    weight: float
    scenario: str
    prior: Mapping[str, str]
    metrics: Sequence[Metric]


@dataclass(frozen=True)
class Cell:
    """A drawn scenario.

    Attributes:
        part: The number of its part.
        settings: The drawn keys with their values.
        seed: The seed of its run.
        key: A fingerprint of everything but the candidate, 16 hexadecimal digits.
    """

    part: int
    settings: Sequence[tuple[str, str]]
    seed: int
    key: str


@dataclass(frozen=True)
class Suite:
    """A suite; :data:`KEYS` has the meanings."""

    name: str
    title: str
    baseline: str
    control: str
    seed: int
    clip: float
    holdout: float
    renew: int
    parts: Sequence[Part]
    identity: str

    @property
    def stack(self) -> str:
        """The TCP of its scenarios, like `rfc`."""
        return stack_of({**tomllib.loads(each.scenario), **each.prior} for each in self.parts)

    def cells(self, seed: int | None = None, share: float = 1.0) -> list[Cell]:
        """Draws cells, in an order whose beginning has each part by its share.

        Args:
            seed: The seed of the drawing; None for that of the shown cells.
            share: The number of cells, relative to the shown ones.

        Raises:
            ScenarioError: When the scenario or the prior of a part has an error.
        """
        seed = self.seed if seed is None else seed
        found: list[tuple[float, Cell]] = []
        for number, part in enumerate(self.parts):
            count = max(round(part.cells * share), 2)
            own = number_of(f"{seed} {part.name}")
            drawn = _drawn(self.name, part, count, own)
            found += [
                ((place + 0.5) / count, _cell(number, part, settings, own + place))
                for place, settings in enumerate(drawn)
            ]
        shuffled = random.Random(f"{seed} {self.identity}")
        # Within each part the drawing is random already; ties between parts are broken at random.
        return [cell for _, _, cell in sorted((at, shuffled.random(), cell) for at, cell in found)]


def number_of(words: str) -> int:
    """Returns a seed that follows from words."""
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:7])


def suite(name: str, stack: str | None = None) -> Suite:
    """Returns a suite of the package, or that of a file.

    Args:
        name: Its name, or that of its file.
        stack: `stack` of its scenarios; None for the suite's.

    Raises:
        PublishedError: When the file has an error.
        UserError: When there is no such suite or file.
        OSError: When it can't be read.
    """
    if name in PACKAGED:
        place = Path(str(files("fullpipe.wings.search.score").joinpath(f"suites/{name}.toml")))
    elif not Path(name).is_file():
        known = ", ".join(PACKAGED)
        raise UserError(
            f"--suite {name}: no such suite or file\n  fix: write {known}, or the name of a TOML file"
        )
    else:
        place = Path(name)
    reader, table = Reader(place, stack), read_toml(place)
    reader.only(table, "", _names("suite"))
    parts = [
        _part(reader, each, f"part[{number}].", reader.stack(table))
        for number, each in enumerate(reader.tables(table.get("part"), "part"))
    ]
    if not parts:
        reader.refuse("part", None, "is missing", "write [[part]] with a scenario")
    made = Suite(
        name=place.stem,
        title=reader.text(table.get("title"), "title"),
        baseline=reader.text(table.get("baseline", "cubic"), "baseline"),
        control=reader.text(table.get("control", "bbr3"), "control"),
        seed=reader.whole(table.get("seed", 1), "seed"),
        clip=reader.number(table.get("clip", 4), "clip", 0.1),
        holdout=reader.number(table.get("holdout", 0.3), "holdout", 0),
        renew=reader.whole(table.get("renew", 100), "renew"),
        parts=parts,
        identity=_identity(place, "" if reader.stack(table) == table.get("stack") else stack),
    )
    _check(reader, made)
    return made


def _identity(place: Path, stack: str | None) -> str:
    """Returns the fingerprint of a file, and of the `stack` that replaces its own."""
    return hashlib.sha256(place.read_bytes() + (stack or "").encode()).hexdigest()[:16]


def _names(of: str) -> list[str]:
    return [key.name for key in KEYS if key.of == of]


def _part(reader: Reader, table: Table, where: str, stack: str) -> Part:
    reader.only(table, where, _names("part"))
    cells = reader.whole(table.get("cells"), where + "cells")
    scenario = reader.scenario(table.get("scenario"), where + "scenario", stack)
    if HERE not in scenario:
        fix = f'write cc = "{HERE}" for the flow of the candidate'
        reader.refuse(where + "scenario", None, f"has no {HERE}", fix)
    metrics = [
        _metric(reader, each, f"{where}metric[{number}].")
        for number, each in enumerate(reader.tables(table.get("metric"), where + "metric"))
    ]
    if not metrics:
        reader.refuse(where + "metric", None, "is missing", "write [[part.metric]] with a name")
    prior = reader.table(table.get("prior", {}), where + "prior")
    if reader.given_stack and "stack" in prior:
        reader.refuse(where + "prior.stack", None, "is a stack for each cell", "leave out --stack")
    return Part(
        name=reader.text(table.get("name"), where + "name"),
        cells=cells,
        weight=reader.number(table.get("weight", cells), where + "weight", 0),
        scenario=scenario,
        prior={key: _of_prior(value) for key, value in prior.items()},
        metrics=metrics,
    )


def _of_prior(value: Json) -> str:
    if isinstance(value, list):
        return ",".join(as_set(each) for each in value)
    return as_set(value)


def _metric(reader: Reader, table: Table, where: str) -> Metric:
    reader.only(table, where, _names("metric"))
    name = reader.text(table.get("name"), where + "name")
    column = known_names().get(name, name)
    found = quantity(column)
    if found is None:
        reader.refuse(
            where + "name", name, "is no metric", "`fullpipe list metrics` lists those of a flow"
        )
    if not found.better:
        fix = "name a metric with a better side, like goodput"
        reader.refuse(where + "name", name, "has no better side", fix)
    transform = reader.one_of(
        table.get("transform", "ratio"), where + "transform", ("ratio", "difference")
    )
    scale = 1.0
    if transform == "difference":
        scale = reader.number(table.get("scale"), where + "scale", 1e-12)
    return Metric(
        name=name,
        column=column,
        better=found.better,
        of=reader.text(table.get("of", "tested"), where + "of"),
        weight=reader.number(table.get("weight", 1), where + "weight", 0),
        transform=transform,  # type: ignore[arg-type]
        scale=scale,
    )


def _check(reader: Reader, made: Suite) -> None:
    for number, part in enumerate(made.parts):
        if [each.name for each in made.parts].count(part.name) > 1:
            reader.refuse(
                f"part[{number}].name", part.name, "is the name of two parts", "rename one"
            )
        if part.weight == 0 or sum(each.weight for each in part.metrics) == 0:
            reader.refuse(f"part[{number}].weight", 0, "counts nothing", "write a weight above 0")


def with_algorithm(part: Part, algorithm: str) -> str:
    """Returns the scenario of a part with an algorithm."""
    return part.scenario.replace(HERE, algorithm)


def _drawn(name: str, part: Part, count: int, seed: int) -> list[list[tuple[str, str]]]:
    plan = _core.SweepPlan.make(
        with_algorithm(part, "newreno"),
        f"part {part.name} of {name}",
        fixed=[],
        axes=[],
        given=list(part.prior.items()),
        together=[],
        sample=count if _varies(part) else None,
        repeat=1,
        seed=seed,
        points=None,
    )
    refuse_too_large(plan, f"part {part.name} of {name}", threads=1)
    return [plan.settings(place % plan.points) for place in range(count)]


def _varies(part: Part) -> bool:
    return any(".." in value or "," in value for value in part.prior.values())


def _cell(number: int, part: Part, settings: Sequence[tuple[str, str]], seed: int) -> Cell:
    words = f"{part.scenario}\n{sorted(settings)}\n{seed}"
    return Cell(number, settings, seed, hashlib.sha256(words.encode()).hexdigest()[:16])
