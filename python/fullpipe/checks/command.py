"""`fullpipe check`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fullpipe import terminal
from fullpipe.checks.run import Checked, check, find, prepare
from fullpipe.checks.show import records, show, sums, write_junit
from fullpipe.errors import fail, printing, stoppable
from fullpipe.progress import Counter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.runners import Runner


def check_all(
    paths: Sequence[Path],
    *,
    repeat: int,
    seed: int | None,
    junit: Path | None,
    runners: Sequence[Runner],
    as_json: bool,
) -> bool:
    """Runs the scenarios that have conditions and prints the verdicts; returns whether all conditions are met.

    Raises:
        ScenarioError: When a scenario or a condition is refused, before the first run.
        OSError: When a file can't be read, or `junit` can't be written.
    """
    start = time.perf_counter()
    files = find(paths)
    subjects = prepare(files, repeat, seed)
    if not subjects:
        named = ", ".join(str(path) for path in paths)
        fail(
            f"no conditions in {named}\n"
            '  fix: add a line like expect = ["flow.*.goodput >= 5mbit"] at the top of a scenario'
        )
    console = terminal.console()
    done: list[Checked] = []
    counter = Counter()
    with stoppable(lambda: counter.at, "nothing kept"), counter:
        for checked in check(subjects, runners, counter):
            done.append(checked)
            if not as_json:
                with printing():
                    show(checked, console)
    if junit:
        write_junit(done, junit)
    with printing():
        if as_json:
            print(records(done))
        else:
            wall_s = time.perf_counter() - start
            console.print(
                f"\n{sums(done, len(files) - len(subjects))}, in {wall_s:.1f} s",
                style="bold",
                soft_wrap=True,
            )
    return all(checked.met for checked in done)
