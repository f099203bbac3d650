"""Suites of criteria, from the files of the package or of a user."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fullpipe import _core
from fullpipe.errors import UserError
from fullpipe.stats.quantity import known_names, quantity
from fullpipe.study.cells import HERE, QUEUE_HERE, merged, shortened
from fullpipe.study.question import TESTED, VARIATION, Number, Question
from fullpipe.study.verdicts.reader import Reader, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe.study.cells import Words
    from fullpipe.study.verdicts.reader import Json, Table

PACKAGED = ("rfc9743", "aqm", "prudentia", "stack")
"""The suites of criteria in the package."""
BASELINES = ("newreno", "cubic", "bbr3")
"""The algorithms next to the tested one, if the suite names none."""
DRAFT = "bbr-draft"
"""The test cases of the BBR draft, which are no criteria of this form: :mod:`.conformance` has them."""
_PLACES = {"algorithm": (HERE, f'cc = "{HERE}"'), "queue": (QUEUE_HERE, f'queue = "{QUEUE_HERE}"')}
"""The subjects of a suite, each with its place in a scenario and the line to write."""
_FILE = ("title", "part", "subject", "baselines", "stack", "with", "criterion")
_COMMON = ("name", "section", "title", "question", "why", "skipped")
_RUNS = ("scenario", "axes", "with")
"""The keys of a criterion's runs, which `like` takes from another criterion."""
_MEASURED = (
    *_RUNS,
    "like",
    "metric",
    "of",
    "over",
    "against",
    "neighbor",
    "worse",
    "also",
    "at_most",
    "at_least",
    "times",
)


@dataclass(frozen=True)
class Bound:
    """The accepted values of a metric.

    Attributes:
        most: Whether values up to the bound are accepted; otherwise values from it on.
        value: The bound in the metric's unit, as tables show it. With `than`, the factor.
        than: Algorithms with whose values the values are compared, at the same cell and seed: the most favorable
            limit counts.
    """

    most: bool
    value: float
    than: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Criterion(Question):
    """A question with the accepted values of its first number.

    Attributes:
        part: The part of the suite, the title of its file's criteria in navigation and tables.
        section: The section that asks for it.
        why: The reason for the bound, or for none.
        worse: The side on which the worst cell is, without a bound; empty for that of the metric.
        bound: The accepted values; None without a verdict.
        skipped: The reason why it is not evaluated; empty if it is.
    """

    part: str
    section: str
    why: str = ""
    worse: Literal["", "less", "more"] = ""
    bound: Bound | None = None
    skipped: str = ""

    @property
    def judged(self) -> Number:
        """The number that the bound is for."""
        return self.numbers[0]

    @property
    def also(self) -> Sequence[Number]:
        """The other numbers of the evidence."""
        return self.numbers[1:]

    @property
    def is_recorded(self) -> bool:
        """Whether its runs are recorded over time."""
        return any(each.metric == VARIATION for each in self.numbers)


@dataclass(frozen=True)
class Suite:
    """Criteria of one source.

    Attributes:
        name: Its name, or the name of its file.
        title: The document that asks for the criteria.
        criteria: The criteria, in order.
        subject: The kind of the tested object.
        baselines: The algorithms or queues next to the tested one.
    """

    name: str
    title: str
    criteria: tuple[Criterion, ...]
    subject: Literal["algorithm", "queue"] = "algorithm"
    baselines: tuple[str, ...] = BASELINES

    def short(self) -> Suite:
        """Returns the suite with the first and the last value of each axis only."""
        kept = tuple(replace(each, axes=shortened(each.axes)) for each in self.criteria)
        return replace(self, criteria=kept)

    def with_axes(self, axes: Mapping[str, Sequence[str]], names: Sequence[str] = ()) -> Suite:
        """Returns the suite with other values of axes, in the criteria that have them; of `names` only, if any.

        Raises:
            UserError: When no criterion has an axis, or a scenario has words in braces for the suite's values only.
        """
        made = [
            _with_axes(each, axes) if each.name in names or not names else each
            for each in self.criteria
        ]
        known = {axis for each in self.criteria for axis in each.axes}
        for name in axes:
            if name not in known:
                raise UserError(
                    f"--axis {name}: no criterion of {self.name} has this axis\n"
                    f"  fix: write one of {', '.join(sorted(known))}"
                )
        return replace(self, criteria=tuple(made))


def _with_axes(criterion: Criterion, axes: Mapping[str, Sequence[str]]) -> Criterion:
    made = replace(
        criterion, axes={axis: axes.get(axis, values) for axis, values in criterion.axes.items()}
    )
    for cell in made.cells if set(axes) & set(made.axes) else ():
        try:
            made.text(cell)
        except KeyError:
            axis = next(
                each
                for each in axes
                if cell.get(each) not in made.words.get(each, [cell.get(each)])
            )
            raise UserError(
                f"--axis {axis}={cell[axis]}: {criterion.name} has other words for each value of this axis\n"
                f"  fix: use {', '.join(made.words[axis])}, or copy the suite and add the value to [with.{axis}]"
            ) from None
    return made


def axes_of(texts: Sequence[str]) -> dict[str, list[str]]:
    """Returns the axes that `--axis NAME=A,B` gives.

    Raises:
        UserError: When one has another form.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        listed = [each.strip() for each in values.split(",")]
        if not name.strip() or not all(listed):
            raise UserError(
                f"--axis {text}: not an axis\n  fix: write NAME=A,B, like rate=10mbit,50mbit"
            )
        found[name.strip()] = listed
    return found


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
    if name not in PACKAGED:
        if not Path(name).is_file():
            names = ", ".join((*PACKAGED, DRAFT))
            raise UserError(
                f"--suite {name}: no such suite or file\n  fix: write {names}, or the name of a TOML file"
            )
        return _suite(name, [Path(name)], stack)
    folder = files("fullpipe.study.evaluation").joinpath(name)
    return _suite(name, sorted(Path(str(each)) for each in folder.iterdir()), stack)


def _suite(name: str, places: Sequence[Path], given: str | None) -> Suite:
    found: list[Criterion] = []
    runs: dict[str, Table] = {}
    made: Suite | None = None
    stack = ""
    for place in places:
        reader = Reader(place, given)
        about = read_toml(place)
        reader.only(about, "", _FILE)
        made = made or _head(reader, about, name)
        part = reader.text(about.get("part", "Criteria"), "part")
        stack = reader.stack(about) or stack
        shared = _words(reader, about.get("with", {}), "with")
        for number, table in enumerate(reader.tables(about.get("criterion"), "criterion")):
            where = f"criterion[{number}]."
            if "like" in table:
                table |= _like(reader, table, where, runs)
            each = _criterion(reader, table, where, (part, stack), shared)
            if not each.skipped:
                _check(reader, each, made, where)
                runs[each.name] = {key: table[key] for key in _RUNS if key in table}
            if each.name in {other.name for other in found}:
                reader.refuse("criterion", each.name, "two criteria have this name", "rename one")
            found.append(each)
    assert made is not None
    return replace(made, criteria=tuple(found))


def _head(reader: Reader, about: Table, name: str) -> Suite:
    """Returns a suite without criteria, as its first file describes it."""
    subject = reader.one_of(about.get("subject", "algorithm"), "subject", _PLACES)
    if subject == "queue" and "baselines" not in about:
        reader.refuse("baselines", None, "is missing", 'name queues, like baselines = ["pfifo"]')
    baselines = reader.texts(about.get("baselines", list(BASELINES)), "baselines")
    for each in baselines:
        if each not in known(subject):
            reader.refuse(
                "baselines", each, f"is no {subject}", f"`fullpipe list {subject}s` has the names"
            )
    title = reader.text(about.get("title"), "title")
    return Suite(Path(name).stem, title, (), subject, tuple(baselines))  # type: ignore[arg-type]


def known(subject: str) -> list[str]:
    """Returns the names of the built-in algorithms or queues."""
    rows = _core.queues() if subject == "queue" else _core.algorithms()
    return [str(each["name"]) for each in rows]


def _criterion(
    reader: Reader, table: Table, where: str, of: tuple[str, str], shared: Mapping[str, Words]
) -> Criterion:
    """Takes a criterion of a part, with the suite's `stack`."""
    part, stack = of
    reader.only(table, where, (*_COMMON, *_MEASURED))
    name, section, title, question = (
        reader.text(table.get(key), where + key) for key in ("name", "section", "title", "question")
    )
    if set(name) - set(string.ascii_lowercase + string.digits + "-"):
        reader.refuse(where + "name", name, "has other characters", "write a-z, digits and -")
    if "skipped" in table:
        return Criterion(
            name=name,
            part=part,
            section=section,
            title=title,
            question=question,
            scenario="",
            skipped=reader.text(table["skipped"], where + "skipped"),
        )
    made = Criterion(
        name=name,
        part=part,
        section=section,
        title=title,
        question=question,
        scenario=reader.scenario(table.get("scenario"), where + "scenario", stack),
        axes={
            axis: reader.texts(values, f"{where}axes.{axis}")
            for axis, values in reader.table(table.get("axes", {}), where + "axes").items()
        },
        words=_both(shared, _words(reader, table.get("with", {}), where + "with")),
        why=reader.text(table.get("why"), where + "why"),
        numbers=tuple(_numbers(reader, table, where)),
        neighbor=_optional(reader, table, where, "neighbor", tuple(table.get("axes", ()))),  # type: ignore[arg-type]
        worse=_optional(reader, table, where, "worse", ("less", "more")),  # type: ignore[arg-type]
        bound=_bound(reader, table, where),
    )
    if made.judged.against and not made.neighbor:
        reader.refuse(
            where + "neighbor",
            None,
            "is missing",
            "name the axis with the algorithm of the other flow",
        )
    return made


def _numbers(reader: Reader, table: Table, where: str) -> Iterator[Number]:
    """Yields the judged number, and those of the evidence, of the same flows."""
    judged = Number(
        _metric(reader, table.get("metric"), where + "metric"),
        reader.text(table.get("of", TESTED), where + "of"),
        reader.one_of(table.get("over", "mean"), where + "over", ("mean", "least", "most")),  # type: ignore[arg-type]
        _optional(reader, table, where, "against", ("harm", "more")),  # type: ignore[arg-type]
    )
    yield judged
    also = reader.texts(table["also"], where + "also") if "also" in table else []
    for key in ("also", "against") if judged.metric == VARIATION else ():
        if key in table:
            fix = "omit it, or judge another metric"
            reader.refuse(where + key, table[key], f"can't be combined with {VARIATION}", fix)
    for number, each in enumerate(also):
        metric = _metric(reader, each, f"{where}also[{number}]")
        if metric == VARIATION:
            fix = "write a criterion with this metric"
            reader.refuse(f"{where}also[{number}]", metric, "can only be judged", fix)
        yield replace(judged, metric=metric, against="")


def _like(reader: Reader, table: Table, where: str, runs: Mapping[str, Table]) -> Table:
    """Returns the keys of the runs of the criterion that `like` names."""
    for key in _RUNS:
        if key in table:
            reader.refuse(where + key, None, "is given by like, too", "remove one of both")
    if not runs:
        reader.refuse(where + "like", None, "has no earlier criterion", "write a scenario")
    return runs[reader.one_of(table["like"], where + "like", runs)]


def _check(reader: Reader, made: Criterion, suite: Suite, where: str) -> None:
    """Refuses a scenario without a place for the subject, or with a word that no axis has, and an unknown bound."""
    here, line = _PLACES[suite.subject]
    if here not in made.scenario:
        reader.refuse(
            where + "scenario",
            None,
            f"has no {here}",
            f"write {line} for the tested {suite.subject}",
        )
    own = made.axes.get(made.neighbor, ())
    for each in made.bound.than if made.bound else ():
        if each not in (*suite.baselines, *own):
            side = "at_most" if made.bound and made.bound.most else "at_least"
            fix = f"use one of {', '.join(suite.baselines)}, or add it to baselines"
            reader.refuse(where + side, each, "is no baseline of the suite", fix)
    for cell in made.cells:
        try:
            made.text(cell)
        except (KeyError, IndexError, ValueError) as error:
            problem = f"has a word in braces that no axis has: {error}"
            reader.refuse(where + "scenario", None, problem, "add it to axes or with")


def _bound(reader: Reader, table: Table, where: str) -> Bound | None:
    sides = [key for key in ("at_most", "at_least") if key in table]
    if len(sides) > 1:
        reader.refuse(where + "at_least", None, "is a second bound", "write one of both")
    if not sides:
        if "times" in table:
            reader.refuse(where + "times", None, "has no bound", "write at_most or at_least, too")
        return None
    [side] = sides
    given = table[side]
    if isinstance(given, list):
        than = tuple(reader.texts(given, where + side))
        return Bound(
            side == "at_most", reader.number(table.get("times", 1), where + "times", 0), than
        )
    return Bound(side == "at_most", _number(reader, given, where + side, table))


def _number(reader: Reader, given: Json, key: str, table: Table) -> float:
    """Returns a bound in the unit of tables: a share has its unit, as in `expect`."""
    name = str(table.get("metric"))
    found = quantity(known_names().get(name, name))
    is_share = name == VARIATION or table.get("against") == "harm"
    unit = "%" if is_share else found.unit if found else ""
    share = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", given) if isinstance(given, str) else None
    if share:
        if unit not in ("", "%"):
            reader.refuse(key, given, f"is a share, and {name} is in {unit}", "write a number")
        return float(share[1]) / (1 if unit else 100)
    if not isinstance(given, int | float) or isinstance(given, bool):
        fix = 'write a number, a share like "50%", or algorithms as a list'
        reader.refuse(key, given, "is no bound", fix)
    if unit == "%":
        reader.refuse(key, f"{given}", "is a share without its unit", 'write it like "50%"')
    return float(given)


def _metric(reader: Reader, value: Json | None, key: str) -> str:
    name = reader.text(value, key)
    if name != VARIATION and name not in known_names() and quantity(name) is None:
        reader.refuse(key, name, "is no metric", "`fullpipe list metrics` lists them")
    return name


def _optional(reader: Reader, table: Table, where: str, key: str, words: Sequence[str]) -> str:
    return reader.one_of(table[key], where + key, words) if key in table else ""


def _words(reader: Reader, value: Json, key: str) -> dict[str, Words]:
    return {
        axis: {
            of: {
                word: reader.text(text, f"{key}.{axis}.{of}.{word}")
                for word, text in reader.table(words, f"{key}.{axis}.{of}").items()
            }
            for of, words in reader.table(by_value, f"{key}.{axis}").items()
        }
        for axis, by_value in reader.table(value, key).items()
    }


def _both(one: Mapping[str, Words], other: Mapping[str, Words]) -> dict[str, Words]:
    return {axis: merged(one.get(axis, {}), other.get(axis, {})) for axis in {**one, **other}}
