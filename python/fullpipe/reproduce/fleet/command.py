"""`fullpipe reproduce` of a study of a fleet: simulates, prints the verdicts, and saves the results."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING

from rich.console import Console

from fullpipe.errors import stoppable
from fullpipe.progress import Counter
from fullpipe.reproduce.fleet import published, show, study
from fullpipe.results import fresh_directory
from fullpipe.verdicts.judged import Verdict, records, write_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def reproduce(
    file: Path, target: Path, *, cases: Sequence[str], called: str | None, as_json: bool
) -> bool:
    """Simulates the study of a file; returns whether no claim was missed.

    Raises:
        PublishedError: When the file is invalid.
        ScenarioError: When its population is invalid.
        FileExistsError: When the directory exists.
        OSError: When the file can't be read or the directory can't be written.
    """
    start = time.perf_counter()
    asked = published.load(file).only(cases)
    counter = Counter()
    with stoppable(lambda: counter.at), fresh_directory(target, called=called) as aside, counter:
        done = study.run(asked, aside, counter)
        shutil.copyfile(file, aside / "published.toml")
        write_table(aside, show.markdown(asked, done), records(done.claims))
        _draw(asked, done, aside)
    met = not any(each.verdict is Verdict.MISSED for each in done.claims)
    if as_json:
        print(json.dumps(records(done.claims)))
        return met
    console = Console(highlight=False)
    show.show(asked, done, console)
    seconds = time.perf_counter() - start
    console.print(
        f"Overview: {target}/overview.png; also table.md and fleets/ ({seconds:.1f} s)",
        markup=False,
        soft_wrap=True,
    )
    return met


def _draw(asked: published.FleetStudy, done: study.FleetOutcome, directory: Path) -> None:
    from fullpipe.reproduce.fleet import pictures

    pictures.overview(asked, done, asked.drawn).savefig(directory / "overview.png")
    if done.assumptions:
        pictures.assumptions(asked, done).savefig(directory / "assumptions.png")
