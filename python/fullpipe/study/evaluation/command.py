"""Evaluates an algorithm: runs, verdicts, dossier, and the lines in the terminal."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.algorithms.own import own
from fullpipe.algorithms.resolve import code, described, short_name
from fullpipe.base import terminal
from fullpipe.base.build import build
from fullpipe.base.progress import Counter
from fullpipe.errors import FailedRunsError, UserError, printing, stoppable
from fullpipe.report.markdown import lines
from fullpipe.report.write import Form, make
from fullpipe.results import disk, objects
from fullpipe.results.about import SWEEP
from fullpipe.runners import SIMULATOR, is_simulator
from fullpipe.runners.sim import RUNNER
from fullpipe.study import kept_in
from fullpipe.study.cells import HERE, QUEUE_HERE, Cells, stack_of_cells
from fullpipe.study.engine import HERE as LOCAL
from fullpipe.study.engine import Engine
from fullpipe.study.evaluation import dossier, worst
from fullpipe.study.evaluation.judge import WORDS, judge
from fullpipe.study.evaluation.measure import measured
from fullpipe.study.execute import one_cluster, parts, refuse_engine, telling
from fullpipe.study.question import Contender
from fullpipe.study.spec import SweepSpec, command_line
from fullpipe.study.sweeps.execute import Execution
from fullpipe.study.verdicts.judged import Verdict, finite, write_table
from fullpipe.study.verdicts.show import STYLES, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console

    from fullpipe.runners import Runner
    from fullpipe.study.evaluation.judge import Outcome
    from fullpipe.study.evaluation.suite import Criterion, Suite

SEEDS = 30
FEW_SEEDS = 5
"""The number of seeds of a quick evaluation, and of one with real stacks, whose runs take long."""
PAGE = "dossier.html"
MARKDOWN = "dossier"
_TITLE_WIDTH = 58
_PLAIN = Cells(
    scenario="""
duration = "1s"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "100packets"
queue = "{queue}"
[[flow]]
cc = "{algorithm}"
"""
)
"""A scenario that every algorithm and queue can run, so that an error is one of the name or of a parameter."""
_SUBJECTS = {
    "algorithm": {"queue": "pfifo", "algorithm": HERE},
    "queue": {"queue": QUEUE_HERE, "algorithm": "cubic"},
}


@dataclass(frozen=True)
class Asked:
    """The options of an evaluation.

    Attributes:
        names: The criteria to evaluate; empty for all.
        quick: Evaluate the first and the last value of each axis, with few seeds.
        seeds: The number of seeds; None for the usual one.
        seed: The first seed.
        out: The directory, or the URL of an object store; None for the usual one.
        engine: Where the runs execute.
        as_json: Print only the verdicts, as a JSON list.
        runner: The runner of all runs.
    """

    names: Sequence[str] = ()
    quick: bool = False
    seeds: int | None = None
    seed: int = 1
    out: str | None = None
    engine: Engine = LOCAL
    as_json: bool = False
    runner: Runner = RUNNER

    @property
    def all_seeds(self) -> range:
        """The seeds of each cell."""
        few = self.quick or not is_simulator(self.runner)
        return range(self.seed, self.seed + (self.seeds or (FEW_SEEDS if few else SEEDS)))


def evaluate(tested: Contender, suite: Suite, asked: Asked) -> Sequence[Outcome]:
    """Evaluates an algorithm or a queue, and prints the verdicts on standard output.

    Returns:
        The verdicts.

    Raises:
        UserError: When a name is unknown.
        ScenarioError: When the algorithm, the queue or a parameter is unknown.
        RunnerError: When the runs can't execute there.
        FailedRunsError: When runs failed on a runner other than the simulator.
        FileExistsError: When the directory has runs of another build or algorithm.
        ObjectsError: When the object store can't be read or written.
        OSError: When a file can't be written.
    """
    start = time.perf_counter()
    refuse_engine(asked.engine, [asked.runner])
    chosen = _chosen(suite.short() if asked.quick else suite, asked.names)
    plain = _PLAIN.written(_SUBJECTS[suite.subject], tested.name, tested.params)
    spec = SweepSpec(plain, tested.label)
    spec.plan  # noqa: B018  (refuses parameters)
    runner = asked.runner
    for part in parts(spec, [runner], Engine(threads=1)):
        part.refuse()
    baselines = [Contender(each) for each in suite.baselines]
    seeds = asked.all_seeds
    place = asked.out or usual_directory(tested, suite, quick=asked.quick, on=runner.name)
    counter = Counter()
    with (
        telling(lambda: kept_in(place)),
        stoppable(lambda: counter.at, kept_in(place)),
        counter,
        objects.writable(place) as (directory, push),
    ):
        with one_cluster(asked.engine):
            outcomes = _outcomes(chosen, (tested, baselines), directory, push, counter, asked)
        recorded: dict[str, Path] = {}
        for each in outcomes:
            counter.begin(len(outcomes), len(recorded), "recording the worst cells")
            if run := worst.record(each, tested, directory / "worst", runner.name):
                recorded[each.criterion.name] = run
        about = (suite, tested, baselines, outcomes, list(seeds), runner)
        report = dossier.report(*about, recorded)
        short = replace(report, sections=report.sections[:1])
        disk.make_folder(directory)
        write_table(
            directory,
            "\n".join(lines(short, [])) + "\n",
            _records(outcomes, tested),
            parts=_parts(directory, chosen, recorded.values()),
        )
        make(report, Form.HTML, directory / PAGE)
        counter.begin(1, 0, "drawing")
        drawn = {
            each.criterion.name: recorded[each.criterion.name]
            for each in outcomes
            if each.verdict in (Verdict.MISSED, Verdict.REPORT)
        }
        make(dossier.report(*about, drawn), Form.MD, directory / MARKDOWN)
    with printing():
        if asked.as_json:
            terminal.print_alone(json.dumps(_records(outcomes, tested)))
        else:
            console = terminal.console()
            show(suite, tested, outcomes, len(seeds), console)
            console.print(
                f"{dossier.summed(outcomes)}, in {time.perf_counter() - start:.0f} s", style="bold"
            )
            console.print(
                f"kept in {place}: {PAGE}, {MARKDOWN}/report.md, table.md",
                markup=False,
                soft_wrap=True,
            )
    return outcomes


def usual_directory(tested: Contender, suite: Suite, *, quick: bool, on: str = RUNNER.name) -> Path:
    """Returns the directory of an evaluation without `--out`: the same one for the same algorithm, suite and build."""
    digest = hashlib.sha256(f"{build()} {tested.label} {suite}".encode())
    digest.update(code([tested.name], described([tested.name])))
    name = "-".join(
        [
            suite.name,
            short_name(tested.name),
            *(["quick"] if quick else []),
            *([] if on == SIMULATOR else [on]),
        ]
    )
    return Path("results") / f"{name}-{digest.hexdigest()[:8]}"


def _chosen(suite: Suite, names: Sequence[str]) -> list[Criterion]:
    known = [each.name for each in suite.criteria]
    for name in names:
        if name not in known:
            raise UserError(
                f"--criterion {name}: no such criterion\n  fix: write one of {', '.join(known)}"
            )
    return [each for each in suite.criteria if not names or each.name in names]


def _homes(criteria: Sequence[Criterion]) -> dict[str, str]:
    """Returns the directory of each criterion's runs: criteria that differ in the judged metric only share one."""
    first: dict[str, str] = {}
    return {
        each.name: first.setdefault(
            repr(
                (
                    each.scenario,
                    each.axes,
                    each.words,
                    each.is_recorded,
                    each.own_kind,
                )
            ),
            each.name,
        )
        for each in criteria
    }


def _parts(directory: Path, chosen: Sequence[Criterion], recorded: Iterable[Path]) -> list[str]:
    """Returns the descriptions of the sweeps of the criteria, and of the runs of the worst cells."""
    homes = dict.fromkeys(_homes(chosen).values())
    sweeps = [
        file for home in homes for file in sorted((directory / "criteria" / home).rglob(SWEEP))
    ]
    runs = [place / "metrics.json" for place in recorded]
    return [file.relative_to(directory).as_posix() for file in (*sweeps, *runs)]


def _outcomes(
    chosen: Sequence[Criterion],
    contenders: tuple[Contender, Sequence[Contender]],
    place: Path,
    push: Callable[[], object],
    counter: Counter,
    asked: Asked,
) -> list[Outcome]:
    """Runs all criteria and judges them.

    Raises:
        FailedRunsError: When runs failed: after the last criterion, or at once after several in a row.
    """
    homes = _homes(chosen)
    outcomes: list[Outcome] = []
    failed: dict[str, FailedRunsError] = {}
    for number, each in enumerate(chosen, 1):
        named = _Named(counter, f"{number}/{len(chosen)} {each.name}")
        home = place / "criteria" / homes[each.name]
        try:
            outcomes.append(_outcome(each, contenders, home, push, named, asked))
        except FailedRunsError as error:
            if error.in_a_row:
                raise
            failed[each.name] = error
    if failed:
        first = next(iter(failed.values())).first
        raise FailedRunsError(f"runs of {', '.join(failed)} failed", first)
    return outcomes


def _outcome(
    criterion: Criterion,
    contenders: tuple[Contender, Sequence[Contender]],
    home: Path,
    push: Callable[[], object],
    counter: Counter,
    asked: Asked,
) -> Outcome:
    tested, baselines = contenders
    if criterion.skipped:
        return judge(criterion, tested, None)

    def execute(spec: SweepSpec, directory: Path, trace: str) -> None:
        Execution(
            directory,
            counter,
            command_line(),
            called=f"--out {asked.out}" if asked.out else None,
            trace=trace,
            engine=asked.engine,
            runners=[asked.runner],
            push=push,
        ).run(spec)

    found = measured(criterion, tested, baselines, asked.all_seeds, home, execute, asked.runner)
    return judge(criterion, tested, found)


class _Named(Counter):
    """Shows the runs of a criterion on the bar of the whole evaluation, with the criterion's name."""

    def __init__(self, inner: Counter, name: str) -> None:
        super().__init__(silent=True)
        self._inner, self._name = inner, name

    def begin(self, total: int, done: int, what: str = "running") -> None:
        del what
        self._inner.begin(total, done, self._name)

    def show(self, runs: int, packets: int, left_s: float | None = None) -> None:
        self._inner.show(runs, packets, left_s)

    def note(self, text: str) -> None:
        self._inner.note(text)


def show(
    suite: Suite, tested: Contender, outcomes: Sequence[Outcome], seeds: int, console: Console
) -> None:
    """Prints two lines for each criterion: its verdict, and the number of its worst cell."""
    console.print(Text(f"{tested.label}: {suite.title}", style="bold"), soft_wrap=True)
    stack = stack_of_cells(each.criterion for each in outcomes if not each.criterion.skipped)
    about = f"mean of {seeds} seeds at the worst cell [95 % interval]; stack {stack}"
    console.print(Text(about, style="dim"), soft_wrap=True)
    for each in outcomes:
        criterion, cell = each.criterion, each.worst
        line = Text(f"{criterion.section:<7}{criterion.title:<{_TITLE_WIDTH}} ")
        line.append(WORDS[each.verdict], style=STYLES[each.verdict])
        console.print(line, soft_wrap=True)
        if cell is None:
            wrapped(each.judged.reason, 7, console, "dim")
            continue
        quantity = criterion.judged.quantity
        text = f"{quantity.words} {dossier.value(cell.ours, quantity)}"
        if criterion.bound:
            text += f", required {dossier.limit(each, cell)}"
        text += f"; {cell.label}" if cell.label else ""
        others = ", ".join(
            f"{label} {dossier.value(number._replace(low=float('nan')), quantity)}"
            for label, number in cell.others.items()
            if label != tested.label and number.value == number.value
        )
        wrapped(text + (f"; {others}" if others else ""), 7, console, "dim")
    console.print()
    for text in dossier.steadiness(outcomes):
        wrapped(text, 0, console, "dim")


def _records(outcomes: Sequence[Outcome], tested: Contender) -> list[dict[str, object]]:
    """Returns the verdicts as `--json` prints them."""
    algorithms = own([tested.name])
    found: list[dict[str, object]] = []
    for each in outcomes:
        criterion, cell = each.criterion, each.worst
        found.append(
            {
                "criterion": criterion.name,
                "algorithms": algorithms,
                "section": criterion.section,
                "verdict": WORDS[each.verdict],
                "reason": each.judged.reason,
                "metric": criterion.judged.quantity.words if criterion.numbers else "",
                "unit": criterion.judged.quantity.unit if criterion.numbers else "",
                "worst": dict(cell.words) if cell else {},
                "seed": cell.seed if cell else None,
                "measured": finite(cell.ours.value) if cell else None,
                "interval": [finite(cell.ours.low), finite(cell.ours.high)] if cell else None,
                "bound": finite(cell.bound) if cell else None,
                "steadiness": {name: verdict.verdict for name, verdict in each.steadiness.items()},
                "others": {label: finite(number.value) for label, number in cell.others.items()}
                if cell
                else {},
            }
        )
    return found
