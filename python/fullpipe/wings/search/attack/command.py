"""Attacks an algorithm: search, the chosen scenarios with their runs, and the lines in the terminal."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.algorithms.own import lines as lines_of
from fullpipe.algorithms.own import options, own
from fullpipe.algorithms.resolve import code, short_name
from fullpipe.base import terminal
from fullpipe.base.build import build
from fullpipe.base.progress import Counter
from fullpipe.errors import UserError, printing
from fullpipe.results import disk, fresh_directory, objects
from fullpipe.results.made import write_made
from fullpipe.study.checkpoint import Checkpoint, resumable
from fullpipe.study.engine import HERE
from fullpipe.study.execute import one_cluster
from fullpipe.study.verdicts.judged import finite
from fullpipe.study.verdicts.show import wrapped
from fullpipe.wings.search.attack import worst as chosen
from fullpipe.wings.search.attack.goals import goal as goal_of
from fullpipe.wings.search.attack.optimize import optimizer
from fullpipe.wings.search.attack.search import Found, Plan, search
from fullpipe.wings.search.attack.space import USUAL, read
from fullpipe.wings.search.attack.trial import Target, filled, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from fullpipe.algorithms.own import Own
    from fullpipe.study.engine import Engine
    from fullpipe.wings.search.attack.goals import Goal
    from fullpipe.wings.search.attack.worst import Worst

WORST = "worst"
"""The folder of the chosen scenarios' runs."""


@dataclass(frozen=True)
class Asked:
    """The options of an attack.

    Attributes:
        goal: The goal's name.
        than: An algorithm that is to fare better.
        budget_s: The CPU time of the search, in seconds.
        space: A file with a space; None for that of the package.
        stack: `stack` of its scenarios; None for the space's.
        without: Parts of the space to leave out.
        at_random: Whether to propose scenarios at random.
        count: The number of scenarios to choose.
        seed: The seed of the search.
        out: The new directory, or the URL of an object store; None for the usual one.
        engine: Where the runs execute.
        as_json: Print only the table, as a JSON list.
    """

    goal: str
    than: str | None = None
    budget_s: float = 600.0
    space: Path | None = None
    stack: str | None = None
    without: Sequence[str] = field(default=())
    at_random: bool = False
    count: int = 5
    seed: int = 1
    out: str | None = None
    engine: Engine = HERE
    as_json: bool = False


def attack(algorithm: str, params: Mapping[str, object], asked: Asked) -> None:
    """Searches for the worst scenarios of an algorithm, and prints and keeps them.

    Raises:
        UserError: When an option is wrong.
        MissingExtraError: When the package of the optimizer is not installed.
        ScenarioError: When the algorithm or a parameter is unknown.
        FileExistsError: When the directory exists.
        ObjectsError: When the object store can't be read or written.
        OSError: When a file can't be written.
    """
    plan = _plan(algorithm, params, asked)
    place = asked.out or usual_directory(plan)
    about = {"search": _identity(plan), "build": build()}
    called = f"--out {asked.out}" if asked.out else str(place)
    counter = Counter(of="s of CPU time", notes=not asked.as_json)
    with objects.writable(place) as (directory, _):
        kept = Checkpoint(directory, about, called)
        with (
            resumable(kept, lambda: counter.at),
            fresh_directory(directory, called) as aside,
            counter,
            one_cluster(asked.engine),
        ):
            progress = _Progress(plan, counter)
            found = search(plan, kept, progress.show)
            counter.begin(chosen.LOOKED_AT * asked.count, 0, "verifying")
            worst = chosen.choose(
                plan, found.ranked(), asked.count, lambda done: counter.show(done, 0)
            )
            records = _write(plan, worst, aside, str(place))
            disk.write(aside / "table.md", _markdown(plan, found, worst, records))
            disk.write(aside / "attack.json", json.dumps(_about(plan, found, records), indent=1))
            write_made(aside)
    with printing():
        if asked.as_json:
            terminal.print_alone(json.dumps(records))
        else:
            show(plan, found, worst, records, str(place), terminal.console())


def usual_directory(plan: Plan) -> Path:
    """Returns the directory of an attack without `--out`: the same one for the same search."""
    digest = hashlib.sha256(f"{build()} {_identity(plan)} {plan.budget_s}".encode()).hexdigest()
    name = f"attack-{short_name(plan.tested.cc)}-{plan.goal.name}-{digest[:8]}"
    return Path("results") / name


def _plan(algorithm: str, params: Mapping[str, object], asked: Asked) -> Plan:
    goal, space = goal_of(asked.goal), read(asked.space or USUAL, asked.stack)
    names = [each.name for each in space.parts]
    for name in (*asked.without, *goal.needs):
        if name not in names:
            raise UserError(
                f"{'--without ' + name if name in asked.without else 'the space'}: no part {name}\n"
                f"  fix: write one of {', '.join(names)}"
            )
    plan = Plan(
        Target(algorithm, params, asked.than),
        goal,
        space,
        asked.budget_s,
        asked.seed,
        asked.at_random,
        asked.without,
        asked.engine,
    )
    _refuse_wrong(plan)
    return plan


def _refuse_wrong(plan: Plan) -> None:
    """Refuses an unknown algorithm or parameter, and a missing package, before the search."""
    from fullpipe.study.cells import HERE

    tables = {
        "duration": "10ms",
        "path": {"rate": "10mbit", "rtt": "10ms", "buffer": "1bdp"},
        "flow": [{"cc": HERE}],
    }
    run(filled(tables, plan.tested.cc, plan.tested.params), plan.tested.classes, "off")
    if plan.tested.than:
        run(filled(tables, plan.tested.than), plan.tested.classes, "off")
    if not plan.at_random:
        optimizer()


def _identity(plan: Plan) -> str:
    tested = plan.tested
    digest = hashlib.sha256(code(filter(None, (tested.cc, tested.than)), tested.classes))
    digest.update(
        f"{tested.cc} {sorted(tested.params.items())} {tested.than} {plan.goal.name} {plan.space} {plan.seed} "
        f"{plan.at_random} {sorted(plan.without)}".encode()
    )
    return digest.hexdigest()[:16]


class _Progress:
    """Shows the CPU time and the worst value so far."""

    def __init__(self, plan: Plan, counter: Counter) -> None:
        self._plan, self._counter = plan, counter
        self._said = 0
        counter.begin(round(plan.budget_s), 0, "searching")

    def show(self, found: Found) -> None:
        if len(found.best) > self._said:
            self._said = len(found.best)
            tried = found.best[-1][1]
            assert tried.value.own is not None
            said = f"worst {self._plan.goal.shown(tried.value.own)}"
            if tried.value.other is not None:
                said += f", {self._plan.tested.than} {self._plan.goal.shown(tried.value.other)}"
            self._counter.begin(round(self._plan.budget_s), 0, said)
        done = min(found.cpu_s, self._plan.budget_s)
        self._counter.show(round(done), 0, self._plan.budget_s - done)


def _write(plan: Plan, worst: Sequence[Worst], aside: Path, place: str) -> list[dict[str, object]]:
    """Saves the run of each scenario, and returns the rows of the table."""
    records: list[dict[str, object]] = []
    for number, each in enumerate(worst, 1):
        folder = f"{WORST}/{number}"
        chosen.record(plan, each, aside / folder)
        records.append(
            {
                "scenario": f"{place}/{folder}/scenario.toml",
                "parts": list(each.parts),
                "value": finite(each.median),
                "least": finite(each.own[0]),
                "most": finite(each.own[-1]),
                "than": None if each.other is None else finite(each.other),
                "keep": chosen.conditions(plan, each),
                "algorithms": _own(plan),
            }
        )
    return records


def show(
    plan: Plan,
    found: Found,
    worst: Sequence[Worst],
    records: Sequence[Mapping[str, object]],
    place: str,
    console: Console,
) -> None:
    """Prints the worst scenarios, with the commands that look at them and shrink them."""
    goal, tested = plan.goal, plan.tested
    console.print(Text(f"{tested.cc}: {goal.title}", style="bold"), soft_wrap=True)
    wrapped(
        f"the worst of {found.scenarios:,} scenarios in {found.cpu_s:.0f} s of CPU time; "
        f"median of {chosen.SEEDS} seeds [least – most]; stack {plan.space.stack}",
        0,
        console,
        "dim",
    )
    for number, each in enumerate(worst, 1):
        line = Text(f"{number:>3}  ")
        line.append(_numbers(goal, each), style="bold")
        if each.other is not None:
            line.append(f"; {tested.than} {goal.shown(each.other)}")
        console.print(line, soft_wrap=True)
        wrapped(_words(each), 5, console, "dim")
    if not worst:
        wrapped("no scenario has a value", 0, console, "dim")
        return
    console.print()
    console.print(f"kept in {place}: worst/, table.md", markup=False, soft_wrap=True)
    console.print(f"fullpipe report {place}/{WORST}/1", markup=False, soft_wrap=True)
    if records[0]["keep"]:
        console.print(_shrinking(records[0]), markup=False, soft_wrap=True)


def _numbers(goal: Goal, each: Worst) -> str:
    least, most = goal.shown(each.own[0]), goal.shown(each.own[-1])
    return f"{goal.shown(each.median)} [{least} – {most}]"


def _words(each: Worst) -> str:
    path = each.tables["path"]
    parts = ", ".join(dict.fromkeys(each.parts)) or "nothing besides the path"
    return f"{path['rate']}, {path['rtt']}, buffer {path['buffer']}; {parts}"


def _shrinking(record: Mapping[str, object]) -> str:
    keep: Sequence[str] = record["keep"]  # type: ignore[assignment]
    scenario = str(record["scenario"])
    named = scenario.rpartition("/")[0] if objects.is_url(scenario) else scenario
    words = ["fullpipe", "attack", "shrink", named]
    own_: Sequence[Own] = record["algorithms"]  # type: ignore[assignment]
    return shlex.join(
        [*words, *(word for each in keep for word in ("--keep", each)), *options(own_)]
    )


def _own(plan: Plan) -> list[Own]:
    """Returns the user's algorithms that the attack is about."""
    return own(filter(None, (plan.tested.cc, plan.tested.than)))


def _markdown(
    plan: Plan,
    found: Found,
    worst: Sequence[Worst],
    records: Sequence[Mapping[str, object]],
) -> str:
    lines = [
        f"# {plan.tested.cc}: {plan.goal.title}",
        "",
        f"The worst of {found.scenarios:,} scenarios in {found.cpu_s:.0f} s of CPU time, seed {plan.seed}, "
        f"{'at random' if plan.at_random else 'by evolution'}, stack {plan.space.stack}.",
        *lines_of(_own(plan)),
        "",
        f"| | Median of {chosen.SEEDS} seeds [least – most] | {plan.tested.than or ''} | Scenario |",
        "|--:|--:|--:|---|",
    ]
    for number, each in enumerate(worst, 1):
        other = "" if each.other is None else plan.goal.shown(each.other)
        lines.append(
            f"| [{number}]({WORST}/{number}/scenario.toml) | {_numbers(plan.goal, each)} | {other} | {_words(each)} |"
        )
    shrinking = [_shrinking(each) for each in records if each["keep"]]
    if shrinking:
        lines += ["", "```sh", *shrinking, "```"]
    return "\n".join(lines) + "\n"


def _about(plan: Plan, found: Found, records: Sequence[Mapping[str, object]]) -> dict[str, object]:
    return {
        "algorithm": plan.tested.cc,
        "params": dict(plan.tested.params),
        "than": plan.tested.than,
        "goal": plan.goal.name,
        "seed": plan.seed,
        "random": plan.at_random,
        "budget_s": plan.budget_s,
        "cpu_s": found.cpu_s,
        "scenarios": found.scenarios,
        "best": [[cpu_s, tried.value.own, tried.value.other] for cpu_s, tried in found.best],
        "algorithms": _own(plan),
        "worst": list(records),
    }
