"""Loads what `run --out` saved: a run, or one on each of several runners."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from fullpipe.algorithms import own
from fullpipe.base.build import in_words
from fullpipe.base.metrics import Metrics
from fullpipe.results.about import TEST, Measured, RunnersAbout, TestAbout
from fullpipe.results.files import RUNNERS
from fullpipe.results.kept import read_json, read_measured, read_text
from fullpipe.results.made import read_made
from fullpipe.results.model import (
    RUNNER,
    TABLES,
    NoResultsError,
    Point,
    Results,
    Series,
    table_file,
)
from fullpipe.results.objects import called
from fullpipe.results.rows import rows_of
from fullpipe.results.sums import is_there
from fullpipe.results.total import total_of
from fullpipe.results.words import replay, titled

if TYPE_CHECKING:
    from pathlib import Path


def load_run(directory: Path) -> Results:
    """Loads what `run` saves, or `link` or `trace import`: one point."""
    file, measured = directory / "metrics.json", directory / "measured.json"
    metrics = read_measured(file) if is_there(measured) else read_json(file, Metrics)
    text = read_text(directory / "scenario.toml")
    resolved = directory / "resolved.toml"
    title, about = titled(text, called(directory))
    rows = rows_of(metrics)
    if rows.is_empty():
        raise NoResultsError(
            f"{directory}: no flow: nothing was sent over the path\n"
            "  fix: run a program that sends by TCP or UDP to an address behind the link"
        )
    seed = metrics["seed"]
    complete = read_text(resolved) if is_there(resolved) else ""
    file_of = directory / own.FILE
    algorithms = read_json(file_of, own.OwnAbout)["algorithms"] if is_there(file_of) else []
    command = (
        read_json(measured, Measured)["command"]
        if is_there(measured)
        else replay(resolved, seed, metrics["runner"], algorithms)
    )
    point = Point(0, title, {}, (seed,), command, scenario=complete, measured=is_there(measured))
    files = {table: file for table in TABLES if is_there(file := table_file(directory, table))}
    test = read_json(file, TestAbout) if is_there(file := directory / TEST) else None
    return Results(
        directory,
        title,
        about,
        [
            ("Version", in_words(read_made(directory) or {"version": metrics["version"]})),
            ("Runs", "1, measured") if point.measured else _runs(seed, test),
            *own.facts(algorithms),
            *_ran_on(metrics),
        ],
        rows,
        points={0: point},
        series=[Series(point, seed, files)] if "flows" in files else [],
        transfers={(0, seed): files["transfers"]} if "transfers" in files else {},
        metrics={0: metrics},
        scenarios={
            "scenario.toml": text,
            **({"resolved.toml": complete} if complete else {}),
        },
        tested=test,
    )


def load_runs(directory: Path) -> Results:
    """Loads what `run` saves of several runners: one scenario, and a point for each runner."""
    runners = read_json(directory / RUNNERS, RunnersAbout)["runners"]
    parts = [load_run(directory / runner) for runner in runners]
    title, about = titled(parts[0].scenarios["scenario.toml"], called(directory))
    points = {
        number: replace(
            part.points[0], number=number, label=title, settings={RUNNER: runner}, runner=runner
        )
        for number, (runner, part) in enumerate(zip(runners, parts, strict=True))
    }
    runs = f"{len(parts)}, one on each runner, seed {parts[0].points[0].seeds[0]}"
    facts = [parts[0].facts[0], ("Runs", runs), ("Run on", ", ".join(runners))]
    facts += [
        (name if name.startswith(own.CODE) else f"{name}, {runner}", text)
        for runner, part in zip(runners, parts, strict=True)
        for name, text in part.facts[2:]
        if name != "Run on"
    ]
    facts = list(dict.fromkeys(facts))
    return Results(
        directory,
        title,
        about,
        facts,
        pl.concat(
            [part.rows.with_columns(point=pl.lit(number)) for number, part in enumerate(parts)],
            how="diagonal_relaxed",
        ),
        points=points,
        series=[
            replace(each, point=points[number])
            for number, part in enumerate(parts)
            for each in part.series
        ],
        metrics={number: part.metrics[0] for number, part in enumerate(parts)},
        scenarios=parts[0].scenarios,
        transfers={
            at: file
            for number, part in enumerate(parts)
            for at, file in part.transfers_from(number).items()
        },
        overlay=[list(points)],
    )


def _runs(seed: int, test: TestAbout | None) -> tuple[str, str]:
    """Returns the number of runs, of a test perhaps several, and the kept one."""
    first, *others = test["seeds"] if test else (seed,)
    if not test or not others:
        return "Runs", f"1, seed {first}"
    return "Runs", f"{len(test['seeds'])}, seeds {first} to {others[-1]}; kept: seed {first}"


def _ran_on(metrics: Metrics) -> list[tuple[str, str]]:
    """Returns the runner, its machine and its warnings; empty for a simulation."""
    if metrics["runner"] == "sim":
        return []
    machine: list[str] = []
    programs: dict[str, list[str]] = {}
    total = total_of(metrics["host"])
    for name, value in metrics["host"].items():
        if total and name in total.facts():
            continue
        program, comma, what = name.rpartition(", ")
        if comma and program.startswith("program "):
            programs.setdefault(f"P{program[1:]}", []).append(f"{what} {value}")
        else:
            machine.append(f"{name} {value}")
    facts = [("Run on", metrics["runner"]), ("Machine", ", ".join(machine))]
    facts += [("Flows", str(total))] if total else []
    facts += [(program, "; ".join(lines)) for program, lines in programs.items()]
    return [
        *(fact for fact in facts if fact[1]),
        *(("Warning", warning) for warning in metrics["warnings"]),
    ]
