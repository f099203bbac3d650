"""Shrinks a scenario: reads it and the conditions, reduces it, and writes the result."""

from __future__ import annotations

import json
import textwrap
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.algorithms.resolve import code, described
from fullpipe.base import terminal
from fullpipe.base.build import build
from fullpipe.base.progress import Counter
from fullpipe.base.toml import value_of
from fullpipe.errors import fail, printing
from fullpipe.results import disk, objects
from fullpipe.results.sums import in_name
from fullpipe.run import parse
from fullpipe.scenario.origin import read
from fullpipe.study.checkpoint import Checkpoint, resumable
from fullpipe.study.engine import HERE
from fullpipe.study.execute import one_cluster
from fullpipe.wings.search.attack.shrink.conditions import expanded, negated
from fullpipe.wings.search.attack.shrink.edits import Subject, text_of
from fullpipe.wings.search.attack.shrink.holds import Holds
from fullpipe.wings.search.attack.shrink.reduce import reduce

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.study.engine import Engine

_WIDTH = 118


@dataclass(frozen=True)
class Asked:
    """The options of a shrinking.

    Attributes:
        keep: The conditions to keep; empty to keep that a condition of the scenario is missed.
        unlike: An algorithm with which the conditions must fail.
        settings: Keys with other values.
        seeds: The number of seeds with which the conditions must hold.
        least_s: The seconds to measure at least; None for the usual ones.
        title: The first line of the result, a comment.
        out: The file for the result, with the finished runs next to it until it is complete; None for standard output.
        as_json: Print one JSON object: the scenario, its conditions, and the numbers of lines and runs.
        engine: Where the runs execute.
    """

    keep: Sequence[str]
    unlike: str | None = None
    settings: Sequence[tuple[str, str]] = ()
    seeds: int = 5
    least_s: float | None = None
    title: str | None = None
    out: Path | None = None
    as_json: bool = False
    engine: Engine = HERE


def shrink(scenario: str, asked: Asked) -> None:
    """Shrinks a scenario, and prints or writes the result.

    Raises:
        ObjectsError: When an object store can't be read, or has nothing there.
        UserError: When a condition does not fit the scenario.
        ScenarioError: When the scenario is refused.
        OSError: When a file can't be read or written.
    """
    folder = objects.local(scenario)
    place = folder / "scenario.toml" if folder.is_dir() else scenario
    text, file = read(place)
    resolved = parse(text, file, set=dict(asked.settings)).to_toml()
    tables = _set(tomllib.loads(text), asked.settings)
    own = tables.pop("expect", [])
    tables.pop("sweep", None)
    tables.pop("seed", None)
    if "measure_from" in tables:  # a time, also where the scenario has a word for it
        tables["measure_from"] = tomllib.loads(resolved)["measure_from"]
    counter = Counter(of="runs")
    attacked = tables["flow"][0]["cc"] if tables.get("flow") else ""
    so_far = _so_far(asked.out, asked, text, resolved) if asked.out else None
    holds = Holds(
        asked.seeds,
        attacked,
        asked.unlike,
        lambda runs: counter.show(runs, 0),
        asked.engine,
        so_far,
    )
    with resumable(so_far, lambda: counter.at), one_cluster(asked.engine):
        keep = tuple(asked.keep) or _missed(tables, own, holds, file)
        subject = Subject(tables, keep)
        classes = described([each.get("cc", "") for each in tables.get("flow", [])])
        keep = tuple(expanded(keep, tables, classes)) if not asked.keep else keep
        before = subject.lines
        with counter:
            counter.begin(0, 0, f"{before} lines")
            _refuse_failing(subject, holds, asked, file)

            def told(now: Subject) -> None:
                counter.begin(holds.runs, holds.runs, f"{now.lines} lines")

            subject = reduce(
                subject, lambda each: holds(each.tables, each.keep), told, asked.least_s
            )
        made = written(subject, asked.title or _title(text), _about(subject, asked))
        if asked.out:
            disk.put(asked.out, made)
    with printing():
        if asked.as_json:
            about = {"keep": list(subject.keep), "lines_before": before, "lines": subject.lines}
            terminal.print_alone(json.dumps({"scenario": made, **about, "runs": holds.runs}))
            return
        if not asked.out:
            print(made, end="")
        console = terminal.console(stderr=True)
        said = f"{before} lines became {subject.lines}, in {holds.runs:,} runs"
        where = f", written to {asked.out}" if asked.out else ""
        console.print(said + where, style="bold", markup=False, soft_wrap=True)


def _so_far(out: Path, asked: Asked, text: str, resolved: str) -> Checkpoint:
    """Returns the answers so far, next to the file of the result."""
    names = [*_core.algorithm_names(resolved), *([asked.unlike] if asked.unlike else [])]
    about = {
        "fullpipe": f"{_core.__version__}, {build()}",
        "the scenario": in_name(f"{text}\n{resolved}".encode()),
        "the source of its algorithms": in_name(code(names, described(names))),
        "--keep": " and ".join(asked.keep) or "its own",
        "--unlike": asked.unlike or "none",
        "--seeds": str(asked.seeds),
        "--least": "the usual" if asked.least_s is None else f"{asked.least_s:g} s",
    }
    return Checkpoint(out, about, f"--out {out}")


def _refuse_failing(subject: Subject, holds: Holds, asked: Asked, file: str) -> None:
    missed = holds.missed(subject.tables, subject.keep)
    if missed:
        holds.discard()
        seeds = ", ".join(map(str, missed))
        fail(
            f"{file}: {' and '.join(subject.keep)} does not hold with seed {seeds} of 1 to {asked.seeds}\n"
            "  fix: write a weaker condition, one for a quantile, as 'median of goodput < 10%', or fewer --seeds"
        )
    if not holds(subject.tables, subject.keep):
        holds.discard()
        fail(
            f"--unlike {asked.unlike}: the conditions hold with it, too\n"
            "  fix: write a stronger condition, or leave --unlike out"
        )


def _missed(tables: dict[str, Any], own: object, holds: Holds, file: str) -> tuple[str, ...]:
    """Returns the opposite of the first condition of the scenario that is missed with every seed."""
    conditions = [str(each) for each in own] if isinstance(own, list) else []
    opposites = map(negated, conditions)
    found = next((each for each in opposites if not holds.missed(tables, [each])), None)
    if found is None:
        holds.discard()
        problem = "no condition is missed with every seed" if conditions else "no conditions"
        fail(f"{file}: {problem}\n  fix: name one to keep, as --keep 'goodput < 10%'")
    return (found,)


def _set(tables: dict[str, Any], settings: Sequence[tuple[str, str]]) -> dict[str, Any]:
    for key, text in settings:
        inside: Any = tables
        *before, last = key.split(".")
        for part in before:
            inside = inside[int(part)] if isinstance(inside, list) else inside.setdefault(part, {})
        inside[last] = value_of(text)
    return tables


def written(subject: Subject, title: str, about: str) -> str:
    """Returns a scenario with its conditions, a title and a comment."""
    classes = described([each.get("cc", "") for each in subject.tables.get("flow", [])])
    expect = expanded(subject.keep, subject.tables, classes)
    lines = [line for part in (title, about) if part for line in textwrap.wrap(part, _WIDTH)]
    comment = "".join(f"# {line}\n" for line in lines)
    tables = dict(subject.tables)
    times = {
        key: tables.pop(key) for key in list(tables) if not isinstance(tables[key], dict | list)
    }
    return comment + text_of({**times, "expect": expect, **tables})


def _title(text: str) -> str:
    first = text.lstrip().partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def _about(subject: Subject, asked: Asked) -> str:
    keep = " and ".join(subject.keep)
    unlike = f", and fails with {asked.unlike}" if asked.unlike else ""
    return f"Shrunk by `fullpipe attack shrink`: {keep} with each of {asked.seeds} seeds{unlike}."
