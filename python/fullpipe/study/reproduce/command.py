"""`fullpipe reproduce`: runs a published study, prints the verdicts and saves the results."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe._core import __version__
from fullpipe.base import terminal
from fullpipe.base.build import build
from fullpipe.base.progress import counting
from fullpipe.errors import DamagedError, printing, stoppable
from fullpipe.report import write_report
from fullpipe.results import fresh_directory, objects
from fullpipe.runners import is_simulator
from fullpipe.runners.sim import RUNNER
from fullpipe.stats.steady import summary
from fullpipe.study import checkpoint
from fullpipe.study.engine import HERE
from fullpipe.study.execute import one_cluster, refuse_engine
from fullpipe.study.reproduce import published as tables
from fullpipe.study.reproduce import save, show, show_claims
from fullpipe.study.reproduce.runner import Again, Stored
from fullpipe.study.reproduce.study import count_runs, study
from fullpipe.study.reproduce.study import variants as variants_of
from fullpipe.study.verdicts.judged import Verdict, records
from fullpipe.study.verdicts.reader import PublishedError
from fullpipe.study.verdicts.show import sums, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.results.made import StudyAbout
    from fullpipe.runners import Runner
    from fullpipe.study.engine import Engine
    from fullpipe.study.reproduce.published import Published
    from fullpipe.study.reproduce.study import StudyOutcome

    Rows = Sequence[tuple[str, StudyOutcome]]

_RESULTS = Path("results")


def reproduce(
    name: str,
    *,
    seeds: int | None = None,
    settings: Sequence[tuple[str, str]] = (),
    cases: Sequence[str] = (),
    out: str | None = None,
    as_json: bool = False,
    variants: bool = False,
    runner: Runner = RUNNER,
    engine: Engine = HERE,
) -> bool:
    """Runs a published study, and prints the verdicts on standard output.

    Args:
        name: The study's `name`, or the path of its file.
        seeds: Number of runs of each case; None for the number in the file.
        settings: Keys with values that every scenario has instead of its own.
        cases: `fnmatch` patterns of cases to run; empty for all.
        out: Directory, or URL of an object store, for the results; None for a numbered directory in `results/`.
        as_json: Whether to print only the list of :class:`fullpipe.study.verdicts.judged.Record`.
        variants: Whether to also count the cells that each variant in the file meets.
        runner: The runner. Cases that it does not support are skipped, with the reason.
        engine: Where the runs execute.

    Returns:
        Whether no cell was missed.

    Raises:
        PublishedError: When the file is invalid.
        ScenarioError: When one of its scenarios is invalid.
        RunnerError: When the runs can't execute there.
        FileExistsError: When `out` exists.
        ObjectsError: When the object store can't be read or written.
        OSError: When the file can't be read or `out` can't be written.
    """
    start = time.perf_counter()
    refuse_engine(engine, [runner])
    file = tables.find(name, runner.name)
    called = None if out is None else f"--out {out}"
    if of_a_wing := tables.of_a_wing(file):
        _refuse_for_a_wing(file, seeds, settings, variants, runner)
        about = _about(file, seeds, settings, cases, variants, runner)
        target = out or _free(file.stem.split("-")[0], about)
        with objects.writable(target) as (place, _):
            return of_a_wing(
                file,
                place,
                about=about,
                cases=cases,
                called=called,
                as_json=as_json,
                engine=engine,
            )
    simulated = is_simulator(runner)
    published = tables.load(file, real=not simulated).only(cases).with_seeds(seeds)
    published = published.with_settings(settings)
    others = variants_of(published) if variants else []
    about = _about(file, seeds, settings, cases, variants, runner)
    target = out or _free(published.name if simulated else f"{published.name}-{runner.name}", about)
    with objects.writable(target) as (place, _):
        so_far = checkpoint.Checkpoint(place, about, called or str(place))
        options: StudyAbout = {
            "file": str(file.resolve()),
            "cases": list(cases),
            "seeds": seeds,
            "settings": [list(each) for each in settings],
            "runner": runner.name,
        }
        done, rows = _executed(published, others, runner, engine, so_far, place, called, options)
        with stoppable(
            lambda: "before the report was written", kept=f"all other results are in {target}"
        ):
            write_report(place)
    with printing():
        if as_json:
            terminal.print_alone(json.dumps(records(done.judged)))
        else:
            _show(published, done, rows, place, start)
    return Verdict.MISSED not in done.verdicts


def _executed(
    published: Published,
    others: Sequence[tuple[str, Published]],
    runner: Runner,
    engine: Engine,
    so_far: checkpoint.Checkpoint,
    target: Path,
    called: str | None,
    options: StudyAbout,
) -> tuple[StudyOutcome, Rows]:
    """Runs a study and its variants, and writes the results."""
    runs = sum(count_runs(each, runner) for each in (published, *(each for _, each in others)))
    bar = counting()
    doing = "simulating" if is_simulator(runner) else f"on {runner.name}"
    running = bar.add_task(doing, total=runs)

    def advance() -> None:
        bar.advance(running)

    def where() -> str:
        return f"after {bar.tasks[0].completed:.0f} of {runs} runs"

    with (
        checkpoint.resumable(so_far, where),
        fresh_directory(target, called) as aside,
        bar,
        one_cluster(engine),
    ):
        done = study(published, advance, runner, Stored(so_far, ""), engine)
        rows = [
            (name, study(variant, advance, runner, Stored(so_far, name), engine))
            for name, variant in others
        ]
        save.save(published, done, aside, options)
        drawings = save.drawings(published, done, Again(runner, engine, so_far))
        drawing = bar.add_task("drawing", total=len(drawings))
        for name, draw in drawings.items():
            save.draw(name, draw, so_far.folder("drawn"))
            bar.advance(drawing)
        so_far.move("drawn", aside)
        if rows:
            save.save_variants(rows, aside)
    return done, rows


def _about(
    file: Path,
    seeds: int | None,
    settings: Sequence[tuple[str, str]],
    cases: Sequence[str],
    variants: bool,
    runner: Runner,
) -> dict[str, str]:
    """Returns the settings that determine the runs, by names for messages."""
    content = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    return {
        "the file": f"{file.stem}, {content}",
        "fullpipe": f"{__version__}, {build()}",
        "--on": runner.name,
        "--seeds": str(seeds or "the file's"),
        "--set": ", ".join("=".join(each) for each in settings) or "the file's",
        "--case": ", ".join(cases) or "all",
        "--variants": "yes" if variants else "no",
    }


def _refuse_for_a_wing(
    file: Path,
    seeds: int | None,
    settings: Sequence[tuple[str, str]],
    variants: bool,
    runner: Runner,
) -> None:
    given = {
        "--seeds": seeds is not None,
        "--set": bool(settings),
        "--variants": variants,
        f"--on {runner.name}": not is_simulator(runner),
    }
    if asked := next((option for option, there in given.items() if there), None):
        raise PublishedError(
            f"{asked}: not supported for {file}, a study of a fleet of simulated paths\n  fix: omit the option"
        )


def _show(published: Published, done: StudyOutcome, rows: Rows, target: Path, start: float) -> None:
    console = terminal.console()
    console.print(published.title, style="bold", markup=False)
    if done.outcomes:
        show.show(done.outcomes, console)
    if done.claims:
        show_claims.show(done.claims, console)
    for each in summary(done.steadiness, "points"):
        wrapped(each, 0, console, "dim")
    console.print(Text(sums(done.judged), style="bold"))
    if stacks := show.stacks(done.outcomes):
        console.print(stacks, highlight=False)
    if rows:
        show.show_variants([(name, variant.outcomes) for name, variant in rows], console)
    there = [name for name in ("overview.png", "pictures/") if (target / name).exists()]
    look = f" or {there[0]}" if there else ""
    seconds = time.perf_counter() - start
    console.print(
        f"Report: {objects.called(target)}/report.html{look}; also table.md and more ({seconds:.1f} s)",
        markup=False,
        soft_wrap=True,
    )
    if Verdict.MISSED in done.verdicts and (target / "scenarios").exists():
        console.print(
            'The report runs each case again in a browser: "Change and run again"', markup=False
        )


def _free(name: str, about: Mapping[str, str]) -> Path:
    """Returns the first of `results/NAME-001`, … that is free, or has unfinished runs with settings `about`."""
    number = 1
    while True:
        target = _RESULTS / f"{name}-{number:03}"
        try:
            if not target.exists() and checkpoint.begun(target) in (None, about):
                return target
        except DamagedError:  # its runs may be of this study
            return target
        number += 1
