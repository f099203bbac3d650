"""`fullpipe fleet compare`: counts, decides, prints and saves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fullpipe.base import terminal
from fullpipe.errors import printing, stoppable
from fullpipe.results import disk, fresh_directory
from fullpipe.wings.fleet.compare.analysis import Analysis
from fullpipe.wings.fleet.compare.count import count
from fullpipe.wings.fleet.compare.estimate import Estimates
from fullpipe.wings.fleet.compare.plan import TABLES, draw_up

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.report import Form
    from fullpipe.wings.fleet.compare.options import CompareOptions


def compare(options: CompareOptions, *, out: Path | None, form: Form, as_json: bool) -> None:
    """Compares the arms, prints the result, and writes a report to the new directory `out`, if given.

    Raises:
        ScenarioError: When fewer than two arms have data, or an option names something that does not
            exist.
        FileExistsError: When `out` exists.
        OSError: When something can't be read or written.
    """
    with stoppable(lambda: "while estimating"):
        _compare(options, form, out, as_json)


def _compare(options: CompareOptions, form: Form, out: Path | None, as_json: bool) -> None:
    if out is None:
        _tell(_analyzed(options), as_json, None)
        return
    with fresh_directory(out, f"--out {out}") as aside:
        from fullpipe.report.write import make, name_of
        from fullpipe.wings.fleet.compare.page import page

        analysis = _analyzed(options)
        disk.write(aside / "compare.json", json.dumps(analysis.record(), indent=1, allow_nan=False))
        make(page(analysis), form, aside / name_of(form))
    _tell(analysis, as_json, out / name_of(form))


def _analyzed(options: CompareOptions) -> Analysis:
    from fullpipe.base.progress import counting

    done = 0
    with stoppable(lambda: f"after {done:,} rows"):
        plan = draw_up(options)
        with counting() as bar:
            task = bar.add_task("counting rows", total=sum(plan.total(table) for table in TABLES))

            def advance(rows: int) -> None:
                nonlocal done
                done += rows
                bar.advance(task, rows)

            return Analysis(Estimates(count(plan, advance)))


def _tell(analysis: Analysis, as_json: bool, kept: Path | None) -> None:

    from fullpipe.wings.fleet.compare.show import show

    with printing():
        if as_json:
            print(json.dumps(analysis.record(), allow_nan=False))
            return
        show(analysis, terminal.console())
        if kept:
            print(f"saved: {kept}")
