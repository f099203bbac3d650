"""A reproduced study as a part: its cases and claims, and its verdicts."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe.errors import DamagedError
from fullpipe.results.kept import read_json, read_parquet, read_text
from fullpipe.runners import is_simulator
from fullpipe.study.execute import results
from fullpipe.study.repeated import Repeated, Repetition
from fullpipe.study.reproduce import published as tables
from fullpipe.study.reproduce.runner import level, sample
from fullpipe.study.reproduce.save import frame
from fullpipe.study.reproduce.study import StudyOutcome, judged, split
from fullpipe.study.verdicts.judged import records
from fullpipe.study.verify import compare
from fullpipe.study.verify.compare import Difference
from fullpipe.study.verify.parts import Part, first_line, further

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from fullpipe.results.made import StudyAbout
    from fullpipe.runners import Runner
    from fullpipe.study.engine import Engine
    from fullpipe.study.reproduce.groups import Point
    from fullpipe.study.reproduce.published import Published
    from fullpipe.study.reproduce.runner import Sample, Wanted
    from fullpipe.study.verify.parts import Tick

_KEYS = ("case", "seed", "flow")


@dataclass
class Study(Part):
    """The runs of a study.

    Attributes:
        place: The directory, as the user named it.
        directory: The directory.
        about: The options of the study.
        runner: The runner.
        whole: Whether this build made them.
    """

    place: str
    directory: Path
    about: StudyAbout
    runner: Runner
    whole: bool
    traces: int = 0
    notes: list[str] = field(default_factory=list)

    @cached_property
    def published(self) -> Published:
        """The study, with the options that it was run with."""
        read = tables.load(self._file, real=not is_simulator(self.runner))
        settings = [(key, value) for key, value in self.about["settings"]]
        return (
            read.only(self.about["cases"]).with_seeds(self.about["seeds"]).with_settings(settings)
        )

    @cached_property
    def kept(self) -> pl.DataFrame:
        """The kept rows of its runs."""
        return read_parquet(self.directory / "runs.parquet", _KEYS)

    @property
    def _file(self) -> Path:
        """The study in the package, or at its former place, if the kept copy equals it: its file may name others."""
        copy = self.directory / "published.toml"
        text = read_text(copy)
        there = (tables.PACKAGED / Path(self.about["file"]).name, Path(self.about["file"]))
        same = (each for each in there if each.is_file() and read_text(each) == text)
        return next(same, copy)

    @cached_property
    def _split(self) -> tuple[dict[Point, Wanted], dict[Point, str]]:
        return split(self.published, self.runner)

    @cached_property
    def _runs(self) -> list[tuple[Point, int]]:
        return [(point, seed) for point in self._split[0] for seed in range(1, point.seeds + 1)]

    @property
    def groups(self) -> list[list[int]]:
        """The numbers of the runs, by point."""
        found: dict[Point, list[int]] = {}
        for number, (point, _) in enumerate(self._runs):
            found.setdefault(point, []).append(number)
        return list(found.values())

    def again(self, chosen: Sequence[int], engine: Engine, tick: Tick) -> Iterator[Difference]:
        """Runs some of the runs again; if all of them, also judges them."""
        wanted, refused = self._split
        runs = [self._runs[number] for number in chosen]
        jobs = []
        for point, seed in runs:
            of = partial(sample, wanted=wanted[point])
            one = Repeated(point.setup, [seed], level(point.setup, wanted[point]), of)
            jobs.append(Repetition(one, seed, self.runner))
        made: dict[int, Sample] = {}
        with closing(results(jobs, engine, self.runner)) as done:
            for number, each in done:
                made[number] = each
                tick(len(made))
        samples: dict[Point, tuple[Sample, ...]] = {}
        for number, (point, _) in enumerate(runs):
            samples[point] = (*samples.get(point, ()), made[number])
        again = frame(StudyOutcome((), (), samples))
        kept = self.kept
        if len(runs) < len(self._runs):
            kept = kept.join(again.select("case", "seed"), on=("case", "seed"), how="semi")
        found = compare.rows(kept, again, _KEYS, _KEYS[:2], whole=self.whole)
        if not self.whole:
            self.notes += further(self.place, compare.new(kept, again))
        for (case, seed), cell in sorted(found.items()):
            what = f"flow {cell.row['flow']}"
            where = (self.place, f"case {case}, seed {seed}", what)
            yield Difference(*where, cell.column, cell.kept, cell.again)
        if (self.directory / "variants.json").exists():
            self.notes.append(f"{self.place}: its variants are not repeated")
        if found or len(runs) < len(self._runs):
            why = "some of its runs differ" if found else "only a sample of its runs was repeated"
            self.notes.append(f"{self.place}: its verdicts are not compared: {why}")
        else:
            yield from self._verdicts(judged(self.published, samples, refused))

    def _verdicts(self, done: StudyOutcome) -> Iterator[Difference]:
        try:
            kept = read_json(self.directory / "table.json", list[dict[str, Any]])
        except (DamagedError, FileNotFoundError) as error:
            yield Difference(self.place, problem=first_line(error))
            return
        again = json.loads(json.dumps(records(done.judged)))
        cell = compare.metrics({"table.json": kept}, {"table.json": again}, whole=self.whole)
        if cell:
            yield Difference(self.place, "", "", cell.column, cell.kept, cell.again)
