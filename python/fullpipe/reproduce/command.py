"""`fullpipe reproduce`: runs a published table, prints the verdicts and keeps what they come from."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from fullpipe.errors import printing, stoppable
from fullpipe.reproduce import published as tables
from fullpipe.reproduce import show
from fullpipe.reproduce.study import Outcome, Verdict, count_runs, records, study, traced
from fullpipe.results import fresh_directory, write_parquet

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from fullpipe.reproduce.published import Published

_RESULTS = Path("results")


def reproduce(
    name: str, *, seeds: int | None = None, out: Path | None = None, as_json: bool = False, variants: bool = False
) -> bool:
    """Runs a published table and prints what came of it, on standard output.

    Args:
        name: The table's name, or the path of its file.
        seeds: Runs of each case; None for as many as the file says.
        out: Where to keep the results; None for a numbered directory in `results/`.
        as_json: Print only the list of :class:`fullpipe.reproduce.study.Record`.
        variants: Count the cells that each variant of the file meets, too.

    Returns:
        Whether no cell was missed.

    Raises:
        PublishedError: When the file was refused.
        ScenarioError: When a scenario that it gives was refused.
        FileExistsError: When `out` holds something already.
        OSError: When the file can't be read or `out` can't be written.
    """
    start = time.perf_counter()
    published = tables.load(tables.find(name))
    seeds = published.seeds if seeds is None else seeds
    target = out or _free(published.name)
    others = published.variants if variants else ()
    runs = count_runs(published.cases, seeds) * (1 + len(others))
    bar = _bar()
    running = bar.add_task("simulating", total=runs)

    def advance() -> None:
        bar.advance(running)

    def where() -> str:
        return f"after {bar.tasks[0].completed:.0f} of {runs} runs"

    with stoppable(where), fresh_directory(target, called=None if out is None else f"--out {out}") as aside, bar:
        outcomes = study(published, published.cases, seeds, advance)
        rows = [(each, study(published, cases, seeds, advance)) for each, cases in others]
        _keep_table(published, outcomes, seeds, aside)
        ran = [outcome for outcome in outcomes if not outcome.skipped]
        drawing = bar.add_task("drawing", total=len(ran) + 1)
        _keep_overview(published, outcomes, seeds, aside)
        bar.advance(drawing)
        (aside / "cases").mkdir()
        for outcome in ran:
            traced(published, outcome.case).plot(aside / "cases" / f"{outcome.case.name}.png")
            bar.advance(drawing)
        if rows:
            _keep_variants(rows, aside)
    with printing():
        if as_json:
            print(json.dumps(records(outcomes)))
        else:
            console = Console(highlight=False)
            show.show(published, outcomes, seeds, console)
            if rows:
                show.show_variants(rows, console)
            seconds = time.perf_counter() - start
            console.print(
                f"Look at {target}/overview.png; table.md and cases/ are beside it ({seconds:.1f} s)",
                markup=False,
                soft_wrap=True,
            )
    return not any(judged.verdict is Verdict.MISSED for outcome in outcomes for judged in outcome.cells)


def _free(name: str) -> Path:
    """`results/NAME-001`, or the next number that is free."""
    number = 1
    while (_RESULTS / f"{name}-{number:03}").exists():
        number += 1
    return _RESULTS / f"{name}-{number:03}"


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def _keep_table(published: Published, outcomes: Sequence[Outcome], seeds: int, directory: Path) -> None:
    shutil.copyfile(published.file, directory / "published.toml")
    (directory / "table.md").write_text(show.markdown(published, outcomes, seeds), encoding="utf-8")
    (directory / "table.json").write_text(json.dumps(records(outcomes), indent=1) + "\n", encoding="utf-8")
    (directory / "scenarios").mkdir()
    for outcome in outcomes:
        path = directory / "scenarios" / f"{outcome.case.name}.toml"
        path.write_text(outcome.case.scenario, encoding="utf-8")
    runs = frame(outcomes)
    write_parquet(runs, directory / "runs.parquet")
    runs.write_csv(directory / "runs.csv")


def _keep_overview(published: Published, outcomes: Sequence[Outcome], seeds: int, directory: Path) -> None:
    from fullpipe.reproduce.picture import overview

    overview(published, outcomes, seeds).savefig(directory / "overview.png")


def _keep_variants(rows: Sequence[tuple[str, Sequence[Outcome]]], directory: Path) -> None:
    cells = [{"variant": name, **record} for name, outcomes in rows for record in records(outcomes)]
    (directory / "variants.json").write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")


def frame(outcomes: Sequence[Outcome]) -> pl.DataFrame:
    """Every flow of every run as a row: rates in bit/s, delays in s, counts in data packets.

    `link_lost` counts what queues dropped and chance took, of all flows of the run.
    """
    import polars as pl

    return pl.DataFrame(
        [
            {
                "case": outcome.case.name,
                "seed": run["seed"],
                "flow": number,
                "cc": flow["cc"],
                "goodput_bps": flow["goodput_bps"],
                "rtt_mean_s": flow["rtt_s"]["mean"],
                "completion_s": flow["completion_s"],
                "sent": flow["sent"],
                "retransmits": flow["retransmits"],
                "link_lost": sum(link["drops"] + link["losses"] for link in run["links"]),
                "jain": run["jain"],
            }
            for outcome in outcomes
            for run in outcome.runs
            for number, flow in enumerate(run["flows"], 1)
        ],
        schema_overrides={"completion_s": pl.Float64, "rtt_mean_s": pl.Float64, "jain": pl.Float64},
        infer_schema_length=None,
    )
