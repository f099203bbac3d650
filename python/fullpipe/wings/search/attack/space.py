"""Spaces of scenarios: variables with bounds, parts that a scenario may have, and the scenarios that they make."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.errors import UserError
from fullpipe.study.cells import HERE, stack_of
from fullpipe.study.verdicts.reader import Reader, read_toml
from fullpipe.wings.search.attack import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe.study.verdicts.reader import Table

USUAL = Path(__file__).parent / "space.toml"
"""The space of the package."""
_BRACES = re.compile(r"\{(\w+)(?:\+(\w+))?\}")
_OWN = "own"
_TIME = "at"


@dataclass(frozen=True)
class Variable:
    """A variable of a scenario's text.

    Attributes:
        name: Its word in braces.
        why: The reason for its bounds.
        low: The least value, in the unit's base.
        high: The largest value.
        unit: `s`, `bit/s`, or the suffix of its text.
        log: Whether values of equal ratio are equally far apart.
        choices: The words of a variable without an order; empty for a number.
        comb: The largest first number, count and step of a list of packets; empty for another variable.
    """

    name: str
    why: str
    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    log: bool = False
    choices: tuple[str, ...] = ()
    comb: tuple[int, ...] = ()

    @property
    def numbers(self) -> int:
        """The number of its coordinates from 0 to 1."""
        return 0 if self.choices else len(self.comb) or 1

    def text(self, at: Sequence[float], choice: int, before_s: float = math.inf) -> str:
        """Returns its text at coordinates from 0 to 1, or for the number of a choice.

        A variable `at` is the time of a disturbance, at most `before_s`.
        """
        if self.choices:
            return self.choices[choice]
        if self.comb:
            first, count, step = (
                round(most ** min(max(each, 0.0), 1.0))
                for each, most in zip(at, self.comb, strict=True)
            )
            return ", ".join(str(first + number * step) for number in range(count))
        share = min(max(at[0], 0.0), 1.0)
        high = min(self.high, before_s) if self.name == _TIME else self.high
        value = (
            self.low * (high / self.low) ** share
            if self.log
            else self.low + (high - self.low) * share
        )
        return words.quantity(words.rounded(value), self.unit)


@dataclass(frozen=True)
class Part:
    """Something that a scenario may have.

    Attributes:
        name: Its name.
        purpose: Its effect, in a sentence.
        adds: The TOML that it adds, with variables in braces.
        variables: Its variables.
        most: The largest number of times that a scenario has it.
        passes: Whether it is a disturbance that ends.
    """

    name: str
    purpose: str
    adds: str
    variables: tuple[Variable, ...]
    most: int = 1
    passes: bool = False


@dataclass(frozen=True)
class Space:
    """A space of scenarios.

    Attributes:
        title: Its subject.
        base: The scenario without parts.
        variables: The variables of `base`.
        parts: The parts.
    """

    title: str
    base: str
    variables: tuple[Variable, ...]
    parts: tuple[Part, ...]

    @property
    def stack(self) -> str:
        """The TCP of its scenarios, like `rfc`."""
        return stack_of([self.face(()).middle])

    def part(self, name: str) -> Part:
        """Returns a part by its name."""
        return next(each for each in self.parts if each.name == name)

    def face(self, parts: Sequence[str]) -> Face:
        """Returns the scenarios with these parts, each as often as it is named."""
        return Face(self, tuple(parts))


@dataclass(frozen=True)
class Face:
    """The scenarios of a space that have the same parts: they differ in the values of variables alone."""

    space: Space
    parts: tuple[str, ...]

    @cached_property
    def variables(self) -> list[tuple[int, Variable]]:
        """Its variables, each with the number of its part; 0 is the base."""
        found = [(0, each) for each in self.space.variables]
        for number, name in enumerate(self.parts, 1):
            found += [(number, each) for each in self.space.part(name).variables]
        return found

    @cached_property
    def numbers(self) -> int:
        """The number of coordinates from 0 to 1."""
        return sum(each.numbers for _, each in self.variables)

    @cached_property
    def choices(self) -> list[int]:
        """The number of choices of each variable with choices."""
        return [len(each.choices) for _, each in self.variables if each.choices]

    @property
    def middle(self) -> dict[str, Any]:
        """The scenario at the middle of all bounds."""
        return self.tables(Point((0.5,) * self.numbers, (0,) * len(self.choices)))

    def without(self, number: int, point: Point) -> tuple[Face, Point]:
        """Returns the face without one of its parts, and the point in it with the same other values."""
        coordinates, choices = iter(point.numbers), iter(point.choices)
        numbers: list[float] = []
        chosen: list[int] = []
        for at, each in self.variables:
            own = [next(coordinates) for _ in range(each.numbers)]
            word = [next(choices)] if each.choices else []
            if at != number + 1:
                numbers += own
                chosen += word
        parts = (*self.parts[:number], *self.parts[number + 1 :])
        return Face(self.space, parts), Point(tuple(numbers), tuple(chosen))

    def tables(self, point: Point, before_s: float = math.inf) -> dict[str, Any]:
        """Returns the scenario at a point, with :data:`fullpipe.study.cells.HERE` as the attacked algorithm.

        Args:
            point: The point.
            before_s: The latest time of a disturbance.
        """
        by_part: dict[int, dict[str, str]] = {}
        coordinates, choices = iter(point.numbers), iter(point.choices)
        for number, each in self.variables:
            own = [next(coordinates) for _ in range(each.numbers)]
            choice = next(choices) if each.choices else 0
            by_part.setdefault(number, {})[each.name] = each.text(own, choice, before_s)
        tables = _filled(self.space.base, by_part.get(0, {}))
        for number, name in enumerate(self.parts, 1):
            _add(tables, _filled(self.space.part(name).adds, by_part.get(number, {})))
        own_keys = tables.pop(_OWN, {})
        for flow in tables.get("flow", []):
            if flow.get("cc") == HERE:
                flow.update(own_keys)
        _named(tables)
        return tables


@dataclass(frozen=True)
class Point:
    """A place in a face: coordinates from 0 to 1, and the numbers of choices."""

    numbers: tuple[float, ...] = ()
    choices: tuple[int, ...] = field(default=())


def _filled(text: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Reads TOML with a text for each word in braces; `{a+b}` is the sum of two quantities."""

    def word(found: re.Match[str]) -> str:
        if found[2] is None:
            return texts.get(found[1], found[0])
        (one, unit), (other, _) = (words.base(texts[name]) for name in found.groups())
        return words.quantity(one + other, unit)

    return tomllib.loads(_BRACES.sub(word, text))


def _add(tables: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Adds tables: the elements of lists follow those that are there, other keys replace them."""
    for key, value in more.items():
        old = tables.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            _add(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            old.extend(value)
        else:
            tables[key] = value


def _named(tables: dict[str, Any]) -> None:
    """Numbers equal names of flows, and orders changes by time; merges changes of the same time."""
    seen: dict[str, int] = {}
    for flow in tables.get("flow", []):
        if flow.get("count") == 1:
            del flow["count"]
        name = flow["name"]
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            flow["name"] = f"{name}{seen[name]}"
    path = tables["path"]
    if "change" in path:
        by_time: dict[str, dict[str, Any]] = {}
        for each in path["change"]:
            by_time.setdefault(each["at"], {}).update(each)
        path["change"] = sorted(by_time.values(), key=lambda each: words.base(each["at"])[0])


def read(file: Path = USUAL, stack: str | None = None) -> Space:
    """Reads a space.

    Args:
        file: Its file.
        stack: `stack` of its scenarios; None for the space's.

    Raises:
        PublishedError: When the file has an error.
        OSError: When it can't be read.
    """
    reader, table = Reader(file, stack), read_toml(file)
    reader.only(table, "", ("title", "stack", "scenario", "vars", "part"))
    parts = []
    for number, each in enumerate(reader.tables(table.get("part", []), "part")):
        where = f"part[{number}]."
        reader.only(each, where, ("name", "purpose", "adds", "vars", "most", "passes"))
        name, purpose, adds = (
            reader.text(each.get(key), where + key) for key in ("name", "purpose", "adds")
        )
        most = reader.whole(each.get("most", 1), f"{where}most")
        variables = _variables(reader, reader.table(each.get("vars", {}), f"{where}vars"), where)
        _refuse_unknown(reader, f"{where}adds", adds, variables)
        parts.append(Part(name, purpose, adds, variables, most, each.get("passes") is True))
    names = [each.name for each in parts]
    for name in names:
        if names.count(name) > 1:
            reader.refuse("part", name, "two parts have this name", "rename one")
    base = reader.scenario(table.get("scenario"), "scenario", reader.stack(table))
    variables = _variables(reader, reader.table(table.get("vars", {}), "vars"), "")
    _refuse_unknown(reader, "scenario", base, variables)
    made = Space(reader.text(table.get("title"), "title"), base, variables, tuple(parts))
    _refuse_wrong(reader, made)
    return made


def _variables(reader: Reader, table: Table, where: str) -> tuple[Variable, ...]:
    found = []
    for name, value in table.items():
        key = f"{where}vars.{name}"
        each = reader.table(value, key)
        reader.only(
            each, f"{key}.", ("low", "high", "scale", "why", "words", "first", "count", "step")
        )
        why = reader.text(each.get("why"), f"{key}.why")
        if "words" in each:
            choices = tuple(reader.texts(each["words"], f"{key}.words"))
            if len(choices) < 2:
                reader.refuse(f"{key}.words", None, "has one word", "write two or more")
            found.append(Variable(name, why, choices=choices))
        elif "first" in each:
            comb = tuple(
                reader.whole(each.get(part), f"{key}.{part}") for part in ("first", "count", "step")
            )
            found.append(Variable(name, why, comb=comb))
        else:
            low, unit = _bound(reader, each, f"{key}.low")
            high, other = _bound(reader, each, f"{key}.high")
            log = each.get("scale") == "log"
            if unit != other or low >= high or (log and low <= 0):
                reader.refuse(
                    f"{key}.low",
                    each.get("low"),
                    "is no bound below high",
                    "write a smaller value of the same unit, above zero with scale = log",
                )
            found.append(Variable(name, why, low, high, unit, log))
    return tuple(found)


def _bound(reader: Reader, table: Table, key: str) -> tuple[float, str]:
    text = reader.text(table.get(key.rpartition(".")[2]), key)
    try:
        return words.base(text)
    except ValueError:
        reader.refuse(key, text, "is no quantity", 'write one, like "20ms", "2mbit" or "1.5bdp"')


def _refuse_unknown(reader: Reader, key: str, text: str, variables: Sequence[Variable]) -> None:
    known = {each.name for each in variables} | {"cc"}
    for name in (each for pair in _BRACES.findall(text) for each in pair if each):
        if name not in known:
            reader.refuse(key, f"{{{name}}}", "is no variable", f"declare it in vars.{name}")


def _refuse_wrong(reader: Reader, space: Space) -> None:
    """Refuses a space whose scenario, or a part of it, is wrong at the middle of all bounds."""
    for names in ((), *((each.name,) for each in space.parts)):
        face = space.face(names)
        where = f"part {names[0]}" if names else "scenario"
        try:
            tables = face.middle
            for flow in tables.get("flow", []):
                if flow.get("cc") == HERE:
                    flow["cc"] = "cubic"
            from fullpipe.base.toml import document

            _core.Scenario.parse(document(tables), where, [])
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            reader.refuse(where, None, f"is no scenario: {error}", "write keys of a scenario")
        except _core.ScenarioError as error:
            raise UserError(f"{reader.file}: {error}") from None


def listed(space: Space) -> Iterator[tuple[str, str, str, str]]:
    """Yields part, variable, bounds in words, and reason, for each variable."""
    for part, variables in (("", space.variables), *((p.name, p.variables) for p in space.parts)):
        for each in variables:
            if each.choices:
                bounds = ", ".join(each.choices)
            elif each.comb:
                first, count, step = each.comb
                bounds = f"up to {count} packets, the first up to {first}, up to {step} apart"
            else:
                low, high = (words.quantity(of, each.unit) for of in (each.low, each.high))
                bounds = f"{low} to {high}"
            yield part, each.name, bounds, each.why
