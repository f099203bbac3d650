"""`fullpipe reproduce` of a study of a fleet: simulates, prints the verdicts, and keeps what they come from."""

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
from fullpipe.verdicts.judged import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def reproduce(
    file: Path, target: Path, *, cases: Sequence[str], called: str | None, as_json: bool
) -> bool:
    """Simulates what a file asks for; gives whether no claim was missed.

    Raises:
        PublishedError: When the file was refused.
        ScenarioError: When its population was refused.
        FileExistsError: When the directory holds something already.
        OSError: When the file can't be read or the directory can't be written.
    """
    start = time.perf_counter()
    asked = published.load(file).only(cases)
    counter = Counter()
    with stoppable(lambda: counter.at), fresh_directory(target, called=called) as aside, counter:
        done = study.run(asked, aside, counter)
        shutil.copyfile(file, aside / "published.toml")
        (aside / "table.md").write_text(show.markdown(asked, done), encoding="utf-8")
        (aside / "table.json").write_text(
            json.dumps(study.records(done), indent=1) + "\n", encoding="utf-8"
        )
        _draw(asked, done, aside)
    if as_json:
        print(json.dumps(study.records(done)))
        return Verdict.MISSED not in done.verdicts
    console = Console(highlight=False)
    show.show(asked, done, console)
    seconds = time.perf_counter() - start
    console.print(
        f"Look at {target}/overview.png; table.md and the fleets beside it ({seconds:.1f} s)",
        markup=False,
        soft_wrap=True,
    )
    return Verdict.MISSED not in done.verdicts


def _draw(asked: published.Study, done: study.Outcome, directory: Path) -> None:
    from fullpipe.reproduce.fleet import pictures

    pictures.overview(asked, done, asked.drawn).savefig(directory / "overview.png")
    if done.assumptions:
        pictures.assumptions(asked, done).savefig(directory / "assumptions.png")
