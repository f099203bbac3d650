"""`fullpipe check`."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.base import terminal
from fullpipe.base.progress import Counter
from fullpipe.errors import fail, in_words, printing
from fullpipe.results import disk, objects
from fullpipe.study.checkpoint import new_results
from fullpipe.study.checks import markdown as words
from fullpipe.study.checks import stored
from fullpipe.study.checks.against import LIMIT, against
from fullpipe.study.checks.run import Checked, Given, about_of, check, find, prepare
from fullpipe.study.checks.show import Unchecked, records, show, sums, write_junit
from fullpipe.study.engine import HERE
from fullpipe.study.execute import one_cluster, refuse_engine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from fullpipe.runners import Runner
    from fullpipe.study.checks.against import Against
    from fullpipe.study.engine import Engine


class Report:
    """The files and records of a check, also if an error ends it."""

    def __init__(
        self,
        paths: Sequence[Path],
        written: Sequence[tuple[str, str]],
        junit: Path | None,
        as_json: bool,
    ) -> None:
        self._paths = paths
        self._written = written
        self._junit = junit
        self._as_json = as_json
        self.done: list[Checked] = []

    @contextmanager
    def told(self) -> Iterator[None]:
        """Writes the verdicts so far and the error, if one leaves the block: a broken class has a record, too."""
        try:
            yield
        except Exception as error:
            if self._junit or self._as_json:
                self._tell(error)
            raise

    def _tell(self, error: Exception) -> None:
        with suppress(OSError):
            there = {each.file for each in self.done}
            left = [str(file) for file in find(self._paths) if str(file) not in there]
            about = str(getattr(error, "file", ""))
            ended = about if about in left else (left or [""])[0]
            said = {ended: in_words(error)}
            others = [
                Unchecked(
                    file, self._written, said.get(file, f"not run: the check ended at {ended}")
                )
                for file in left
            ]
            if self._junit:
                write_junit(self.done, self._junit, others)
            if self._as_json:
                with printing():
                    terminal.print_alone(records(self.done, others))


def check_all(
    paths: Sequence[Path],
    *,
    repeat: int,
    seed: int | None,
    junit: Path | None,
    runners: Sequence[Runner],
    as_json: bool,
    out: str | None = None,
    kept: str | None = None,
    markdown: str | None = None,
    limit: float = LIMIT,
    engine: Engine = HERE,
    given: Given = Given(),  # noqa: B008  (immutable)
    report: Report | None = None,
) -> bool:
    """Runs the scenarios that have conditions and prints the verdicts.

    Args:
        paths: Scenarios, or directories of them.
        repeat: The number of runs of each.
        seed: The seed of the first run.
        junit: File for JUnit XML.
        runners: The runners.
        as_json: Whether to print JSON alone.
        out: New directory, or URL of an object store, for the results. Finished runs are kept next to it until it is
            complete.
        kept: Directory or URL of earlier results to compare with; with it or `out`, scenarios without conditions run,
            too.
        markdown: File for the comparison as Markdown, `-` for standard output.
        limit: The least relative change that counts.
        engine: Where the runs execute.
        given: What options change in every scenario.
        report: Takes the verdicts as they are made.

    Returns:
        Whether all conditions are met, and nothing got significantly worse.

    Raises:
        ObjectsError: When an object store can't be read or written.
        NoCheckError: When `kept` has no results of a check.
        ScenarioError: When a scenario or a condition is refused, before the first run.
        OSError: When a file can't be read, or `junit` can't be written.
    """
    start = time.perf_counter()
    refuse_engine(engine, runners)
    files = find(paths)
    # Before polars reads a table: it has threads then, and the import of a user's code divides the process.
    subjects = prepare(files, repeat, seed, given, every=bool(out or kept))
    before = stored.read(objects.local(kept), kept) if kept else None
    if not subjects:
        named = ", ".join(str(path) for path in paths)
        fail(
            f"no conditions in {named}\n"
            '  fix: add a line like expect = ["flow.*.goodput >= 5mbit"] at the top of a scenario'
        )
    # Only Markdown is on standard output if it is asked for there.
    console = terminal.console(stderr=markdown == "-")
    done: list[Checked] = report.done if report else []
    counter = Counter()
    about = about_of(subjects, repeat, runners) if out else {}
    with (
        new_results(out, about, lambda: counter.at) as (aside, so_far),
        counter,
        one_cluster(engine),
    ):
        for checked in check(subjects, runners, given, counter, engine, so_far):
            done.append(checked)
            if not as_json:
                with printing():
                    show(checked, console)
        if aside:
            stored.write(done, aside)
    if junit:
        write_junit(done, junit)
    found = against(done, before, limit) if before is not None else None
    if found and markdown:
        _write(words.markdown(found, done), markdown)
    with printing():
        if as_json:
            terminal.print_alone(records(done))
        else:
            wall_s = time.perf_counter() - start
            console.print(
                f"\n{sums(done, len(files) - len(subjects))}, in {wall_s:.1f} s",
                style="bold",
                soft_wrap=True,
            )
            if found:
                _tell(found, kept, console)
            if out:
                console.print(f"kept in {out}", markup=False, soft_wrap=True)
    return all(checked.met for checked in done) and not (found and found.worse)


def _write(text: str, where: str) -> None:
    if where == "-":
        with printing():
            terminal.print_alone(text.removesuffix("\n"))
    else:
        disk.put(Path(where), text)


def _tell(found: Against, kept: str | None, console: Console) -> None:
    """Prints the changes that count, and the scenarios without a partner."""
    console.print(f"{words.headline(found)}, against {kept}", style="bold", soft_wrap=True)
    for change in (*found.worse, *found.better):
        style = "red" if change.verdict < 0 else "green"
        console.print(f"  {words.line(change)}", style=style, markup=False, soft_wrap=True)
    for said, names in (
        ("without results to compare with", found.new),
        ("only in the earlier results", found.gone),
        ("the scenario itself differs", found.edited),
    ):
        if names:
            console.print(f"  {said}: {', '.join(names)}", markup=False, soft_wrap=True)
