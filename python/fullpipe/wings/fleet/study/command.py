"""`fullpipe reproduce` of a study of a fleet: simulates, prints the verdicts, and saves the results."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from fullpipe.base import terminal
from fullpipe.base.progress import Counter
from fullpipe.results import disk, fresh_directory, objects
from fullpipe.study.checkpoint import Checkpoint, resumable
from fullpipe.study.execute import one_cluster
from fullpipe.study.verdicts.judged import Verdict, records, write_table
from fullpipe.wings.fleet.study import published, show, study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fullpipe.study.engine import Engine


FLEETS = "fleets"


def reproduce(
    file: Path,
    target: Path,
    *,
    about: Mapping[str, str],
    cases: Sequence[str],
    called: str | None,
    as_json: bool,
    engine: Engine,
) -> bool:
    """Simulates the study of a file; returns whether no claim was missed.

    Args:
        file: The file.
        target: The directory for the results.
        about: The settings that determine the runs, by names for messages.
        cases: `fnmatch` patterns of cases to judge; empty for all.
        called: The directory's name in errors; None for its path.
        as_json: Whether to print only the records of the claims.
        engine: Where the runs execute.

    Raises:
        PublishedError: When the file is invalid.
        ScenarioError: When its population is invalid.
        FileExistsError: When the directory exists.
        OSError: When the file can't be read or the directory can't be written.
    """
    start = time.perf_counter()
    asked = published.load(file).only(cases)
    counter = Counter(of="paths")
    so_far = Checkpoint(target, about, called or str(target))
    with (
        resumable(so_far, lambda: counter.at),
        fresh_directory(target, called=called) as aside,
        counter,
        one_cluster(engine),
    ):
        done = study.run(asked, so_far.folder(FLEETS), counter, engine=engine)
        so_far.move(FLEETS, aside / FLEETS)
        disk.copy(file, aside / "published.toml")
        write_table(aside, show.markdown(asked, done), records(done.claims))
        _draw(asked, done, aside)
    met = not any(each.verdict is Verdict.MISSED for each in done.claims)
    if as_json:
        print(json.dumps(records(done.claims)))
        return met
    console = terminal.console()
    show.show(asked, done, console)
    seconds = time.perf_counter() - start
    console.print(
        f"Overview: {objects.called(target)}/overview.png; also table.md and fleets/ ({seconds:.1f} s)",
        markup=False,
        soft_wrap=True,
    )
    return met


def _draw(asked: published.FleetStudy, done: study.FleetOutcome, directory: Path) -> None:
    from fullpipe.wings.fleet.study import pictures

    figures = {"overview": pictures.overview(asked, done, asked.drawn)}
    if done.assumptions:
        figures["assumptions"] = pictures.assumptions(asked, done)
    for name, figure in figures.items():
        with disk.NewFile(directory / f"{name}.png") as file:
            figure.savefig(file, format="png")
