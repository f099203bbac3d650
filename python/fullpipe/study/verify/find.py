"""Finds what can be repeated in a directory of kept results, and what can't, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe import wings
from fullpipe._core import ScenarioError
from fullpipe.algorithms.own import FILE as OWN
from fullpipe.algorithms.own import OwnAbout, own
from fullpipe.algorithms.resolve import described
from fullpipe.base.build import build, in_words
from fullpipe.errors import DamagedError, OtherVersionError, RunnerError, UserError
from fullpipe.results import about as abouts
from fullpipe.results import fingerprint
from fullpipe.results.code import load_with
from fullpipe.results.files import RUNNERS
from fullpipe.results.kept import read_json, read_parquet, read_sealed, read_text
from fullpipe.results.made import read_made
from fullpipe.results.model import TABLES, NoResultsError, table_file
from fullpipe.results.objects import called
from fullpipe.results.sums import damaged, is_there
from fullpipe.results.sweep import PARTS, shard_files
from fullpipe.runners import every, is_simulator, of_kept
from fullpipe.study.checks import stored
from fullpipe.study.spec import SweepSpec
from fullpipe.study.sweeps.again import spec_of
from fullpipe.study.sweeps.dataset import Sweep
from fullpipe.study.verify.compare import Difference
from fullpipe.study.verify.labels import labels
from fullpipe.study.verify.parts import Rows, Runs, Single
from fullpipe.study.verify.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fullpipe.algorithms.own import Own
    from fullpipe.base.build import Made
    from fullpipe.runners import Runner
    from fullpipe.study.verify.parts import Part

_ORDER = ("order", "began")
"""Columns of rows that tell when a run was made."""


class Refused(NamedTuple):
    """Runs that are not repeated.

    Attributes:
        place: Their directory, as the user named it.
        reason: The reason.
        fix: What the user can do; empty if nothing can repeat them.
    """

    place: str
    reason: str
    fix: str = ""

    def __str__(self) -> str:
        return f"not repeated: {self.place}: {self.reason}"


@dataclass
class Found:
    """The parts of a directory.

    Attributes:
        parts: The parts that can be repeated.
        refused: The others, with reasons.
        notes: Other programs and other code that made them, in words.
        fingerprints: Those of the sweeps.
        differences: Missing and damaged parts, and sweeps whose kept fingerprint is not that of their rows.
    """

    parts: list[Part] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    fingerprints: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    _single: dict[str, Runs] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of all rows of sweeps; None without sweeps."""
        if len(self.fingerprints) < 2:
            return next(iter(self.fingerprints), None)
        return fingerprint.of_all(self.fingerprints)

    def add(self, directory: Path) -> bool:
        """Adds the results in a directory and below; returns whether there are any.

        Raises:
            OSError: When one can't be read.
        """
        place = called(directory)
        try:
            if self._results(directory, place):
                return True
            there = self._required(directory, place)
        except DamagedError as error:
            self.damaged(error)
            return True
        except FileNotFoundError as error:
            self._missing(place, f"{error.filename or error}")
            return True
        for each in sorted(directory.iterdir()):
            if each.is_dir() and not each.name.startswith("."):
                there = self.add(each) or there
        return there

    def damaged(self, error: DamagedError) -> None:
        """Notes a damaged file, once."""
        if isinstance(error, OtherVersionError):
            place, _, reason = str(error).partition(": ")
            self._refuse(place, UserError(reason))
            return
        place, _, problem = str(error).splitlines()[0].partition(": ")
        found = Difference(called(Path(place)), problem=problem)
        if found not in self.differences:
            self.differences.append(found)

    def _missing(self, place: str, name: str) -> None:
        self.differences.append(Difference(place, problem=f"{name} is missing"))

    def _results(self, directory: Path, place: str) -> bool:
        """Adds results of one kind; returns whether there are any."""
        readers = {
            abouts.SWEEP: self._sweep,
            stored.FILE: self._check,
            "runs.parquet": self._study,
            "metrics.json": self._run,
        }
        for file, read in readers.items():
            if is_there(directory / file):
                read(directory, place)
                return True
        if (reports := wings.reports_on(directory)) is not None:
            self.refused.append(Refused(place, f"{reports.WHAT}: its rows are no runs"))
            return True
        return False

    def _required(self, directory: Path, place: str) -> bool:
        """Compares the parts of a directory with its description; returns whether it has one."""
        names: list[str] = []
        if there := is_there(directory / abouts.COMPARISON):
            names += [f"{part}/{abouts.SWEEP}" for part in PARTS]
        if is_there(directory / RUNNERS):
            runners = read_json(directory / RUNNERS, abouts.RunnersAbout)["runners"]
            names += [f"{name}/metrics.json" for name in runners]
        if about := read_made(directory):
            names += about.get("parts", [])
        for name in names:
            if not (directory / name).is_file():
                self._missing(place, name)
        if is_there(directory / abouts.COMPARISON) and is_there(directory / "picture.png"):
            self.notes[f"{place}: its picture is not compared; it follows from its runs"] = None
        if is_there(directory / "table.json"):
            self.notes[
                f"{place}: its table, its page and its pictures are not compared; they follow from its runs"
            ] = None
        return there or bool(names)

    def _sweep(self, directory: Path, place: str) -> None:
        about = abouts.sweep(directory)
        self._made_by(about)
        self._code(about.get("algorithms", []))
        known = about.get("fingerprint")
        if not shard_files(directory, about["identity"]):
            if known is None:
                self.refused.append(Refused(place, "no run has finished"))
            else:
                self._missing(place, "runs/ with its rows")
            return
        spec = spec_of(directory, about)
        rows = Sweep(directory).frame()
        if known is not None:
            self.fingerprints.append(known)
            sealed: list[str] = []
            if fingerprint.NAME in rows.columns:
                sealed = rows[fingerprint.NAME].drop_nulls().to_list()
            if (really := fingerprint.of_all(sealed)) != known:
                self.differences.append(
                    Difference(
                        place, column="the fingerprint of its rows", kept=known, again=really
                    )
                )
        runs = rows.select("point", "seed", "runner").n_unique()
        if known is None and runs < about["runs"] and set(about["runners"]) - _clocked():
            self.notes[
                f"{place} has {runs:,} of its {about['runs']:,} runs: it was interrupted"
            ] = None
        elif known is not None and runs != about["runs"]:
            problem = f"it has {runs:,} runs, and {about['runs']:,} by its description"
            self.differences.append(Difference(place, problem=problem))
        points = read_parquet(directory / "points.parquet")
        try:
            differences, untold = labels(place, spec, about, points, rows)
        except (ScenarioError, UserError):  # each runner refuses below
            differences, untold = [], []
        self.differences += differences
        self.notes |= dict.fromkeys(untold)
        without = frozenset({*points.columns, *_ORDER} - {"point"})
        for name in about["runners"]:
            kept = rows.filter(runner=name)
            of = self._runner(name, place)
            if of and kept.height and self._can_run(spec, of, place, directory):
                kept = kept[[each.name for each in kept if each.null_count() < kept.height]]
                level = about.get("trace", "off")
                self.parts.append(
                    Rows(
                        _on(place, name, about["runners"]),
                        spec,
                        of,
                        kept,
                        without,
                        directory,
                        level,
                        whole=_is_ours(about),
                        complete=known is not None,
                    )
                )

    def _check(self, directory: Path, place: str) -> None:
        about = read_sealed(directory / stored.FILE, stored.CheckAbout, stored.FORMAT)
        self._made_by(about)
        self.notes[f"{place}: its conditions are not compared; they follow from its runs"] = None
        for each in about["scenarios"]:
            of = self._runner(each["runner"], place)
            kept = read_parquet(directory / each["rows"], ["point", "seed", "flow_index"])
            added = [(key, value, value) for key, value in each.get("jitter", {}).items()]
            text, repeat = each["resolved"], kept["seed"].n_unique()
            spec = SweepSpec(
                text, each["file"], points=[[]], repeat=repeat, whole=[text], jitter=added
            )
            if of and self._can_run(spec, of, place, directory):
                others = [
                    other["runner"] for other in about["scenarios"] if other["file"] == each["file"]
                ]
                where = _on(f"{place}, {each['file']}", each["runner"], others)
                self.parts.append(
                    Rows(where, spec, of, kept, frozenset(_ORDER), whole=_is_ours(about))
                )

    def _study(self, directory: Path, place: str) -> None:
        about = read_made(directory)
        if about is None or "study" not in about:
            reason = "its options are not kept, as by fullpipe before it had `verify`"
            self.refused.append(Refused(place, reason, "reproduce it again"))
            return
        self._made_by(about)
        if of := self._runner(about["study"]["runner"], place):
            study = Study(place, directory, about["study"], of, _is_ours(about))
            try:
                study.published  # noqa: B018  (reads the files that it names)
                study.kept  # noqa: B018
            except DamagedError:
                raise
            except (ScenarioError, UserError) as error:
                self._refuse(place, error)
            else:
                self.parts.append(study)

    def _run(self, directory: Path, place: str) -> None:
        if is_there(directory / "measured.json"):
            self.refused.append(Refused(place, "measured packets instead of a run"))
            return
        metrics = read_json(directory / "metrics.json", dict[str, Any])
        about = read_made(directory)
        self._made_by(about or {"version": str(metrics.get("version"))})
        if is_there(directory / OWN):
            self._code(read_json(directory / OWN, OwnAbout)["algorithms"])
        if is_there(directory / abouts.TEST):
            seeds = len(read_json(directory / abouts.TEST, abouts.TestAbout)["seeds"])
            self.notes[f"{place}: the kept run is repeated, and not the tables of {seeds} runs"] = (
                None
            )
        name, settings = str(metrics.get("runner")), about.get("settings") if about else None
        file = directory / ("resolved.toml" if settings is None else "scenario.toml")
        changes = tuple((key, value) for key, value in settings or ())
        spec = SweepSpec(read_text(file), str(file), fixed=changes, points=[[]])
        of = self._runner(name, place)
        if not of or not self._can_run(spec, of, place, directory):
            return
        if name not in self._single:
            self._single[name] = Runs(place, of)
            self.parts.append(self._single[name])
        level = about.get("trace") if about else None
        files = {table: file for table in TABLES if is_there(file := table_file(directory, table))}
        if level is None and files:
            self.notes[f"{place}: the trace is not compared: its interval is not kept"] = None
        seed = int(metrics["seed"])
        self._single[name].runs.append(
            Single(
                place,
                spec.text,
                spec.file,
                changes,
                seed,
                metrics,
                files,
                level,
                _is_ours(about),
            )
        )

    def _runner(self, name: str, place: str) -> Runner | None:
        if name in _clocked():
            self._on_a_clock(name, place)
            return None
        try:
            found = of_kept(name)
        except RunnerError as error:
            self._refuse(place, error)
            return None
        if found.real_time:
            self._on_a_clock(name, place)
            return None
        return found

    def _on_a_clock(self, name: str, place: str) -> None:
        self.refused.append(Refused(place, f"{name} runs on the clock of a machine"))

    def _can_run(self, spec: SweepSpec, of: Runner, place: str, directory: Path) -> bool:
        try:
            spec.plan  # noqa: B018  (refuses classes that are not here)
            if is_simulator(of):
                spec.plan.simulated()
        except (ScenarioError, UserError) as error:
            copies = load_with(spec.algorithms, directory)
            self._refuse(place, error, f"load the kept copy: {copies}" if copies else "")
            return False
        return True

    def _refuse(self, place: str, error: ScenarioError | UserError, load: str = "") -> None:
        reason, _, fix = str(error).partition("\n  fix: ")
        self.refused.append(Refused(place, reason, load or fix or "repeat it where that is there"))

    def _made_by(self, about: Made) -> None:
        if not _is_ours(about):
            text = f"made by {in_words(about)}; this is {in_words()}"
            self.notes[text] = None

    def _code(self, those: Iterable[Own]) -> None:
        """Notes which code of the user's is another now."""
        kept = {each["name"]: each["sha256"] for each in those}
        now = {each["name"]: each["sha256"] for each in _there(kept)}
        for name in kept:
            if name in now and now[name] != kept[name]:
                self.notes[f"the code of {name} is another than that of the kept runs"] = None


def find(directory: Path, named: str) -> Found:
    """Finds the parts of a directory.

    Raises:
        NoResultsError: When it has no results.
        OSError: When a file can't be read.
    """
    if not directory.is_dir():
        what = "is a file, not a directory" if directory.exists() else "no such directory"
        raise NoResultsError(
            f"{named}: {what}\n  fix: name a directory that run, sweep, compare, check, evaluate or reproduce wrote"
        )
    found = Found()
    for error in damaged(directory):
        found.damaged(error)
    if not found.add(directory):
        raise NoResultsError(
            f"{named}: no results\n  fix: name a directory that run, sweep, compare, check, evaluate or reproduce wrote"
        )
    return found


def _on(place: str, name: str, runners: Sequence[str]) -> str:
    """Returns the place of runs, with their runner if there are several."""
    return f"{place}, on {name}" if len(runners) > 1 else place


def _is_ours(about: Made | None) -> bool:
    """Whether this build made results."""
    return about is not None and about.get("build") == build()


def _clocked() -> set[str]:
    return {each.name for each in every() if each.real_time}


def _there(names: Iterable[str]) -> Iterator[Own]:
    """Yields the record of the user's code of each name; a name that is not here is refused later."""
    for name in names:
        try:
            described([name])  # imports a class
            yield from own([name])
        except (ScenarioError, UserError, OSError):
            continue
