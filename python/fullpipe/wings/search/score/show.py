"""The result of a scoring in the terminal, and as JSON."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.study.verdicts.judged import finite
from fullpipe.wings.search.score import holdout
from fullpipe.wings.search.score.points import name_of, scored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from fullpipe.stats.strata import Strata
    from fullpipe.wings.search.score.command import Hidden, Result, Scored

_MOST = 10
"""Most candidates in the terminal."""


def show(result: Result, console: Console, *, revealed: bool) -> None:
    """Prints the best candidate with its parts, the others of a race, and the hold-out's answer."""
    suite, best = result.suite, result.all[0]
    console.print(Text(f"{suite.title}", style="bold"), soft_wrap=True)
    console.print(
        Text(
            f"points per cell: 1 is twice as good as {suite.baseline} in all metrics of the cell; [95 % interval]; "
            f"stack {suite.stack}",
            style="dim",
        ),
        soft_wrap=True,
    )
    if best.score is None:
        for each in result.all:
            console.print(f"{each.candidate.name}: {_reason(each)}", markup=False, soft_wrap=True)
        return
    console.print()
    console.print(
        Text(
            f"{best.candidate.name}  {_interval(best.score)}  {len(best.points)} cells",
            style="bold",
        ),
        soft_wrap=True,
    )
    by_metric = _metrics(result, best)
    for name, part in _parts(result, best).items():
        metrics = ", ".join(f"{metric} {value:+.2f}" for metric, value in by_metric[name].items())
        line = Text(f"  {name:<12} {_interval(part)}")
        line.append(f"  {metrics}", style="dim")
        console.print(line, soft_wrap=True)
    if len(result.all) > 1:
        _show_race(result, console)
    if result.hidden:
        console.print()
        console.print(
            Text(_of_holdout(result, result.hidden), style="bold" if result.hidden.alarm else "")
        )
        if revealed:
            _reveal(result, result.hidden, console)
    console.print()
    end = "; the time ended before all cells had run" if result.over else ""
    console.print(
        f"{result.runs:,} runs in {result.seconds:.0f} s{end}", style="dim", soft_wrap=True
    )


def _show_race(result: Result, console: Console) -> None:
    console.print()
    stopped = sum(each.stopped is not None for each in result.all)
    failed = sum(bool(each.failed) for each in result.all)
    missed = sum(each.missed for each in result.all)
    ended = len(result.all) - stopped - failed - missed
    also = f", {missed} did not run" if missed else ""
    console.print(
        f"{len(result.all)} candidates: {ended} remained, {stopped} stopped early, {failed} failed{also}. The best one "
        f"stops by mistake with a probability of at most {result.alpha:.0%}."
    )
    for each in result.all[1:_MOST]:
        if each.score is None:
            line = _reason(each)
        else:
            early = f", stopped after {each.stopped}" if each.stopped else ""
            line = f"{_interval(each.score)}  {len(each.points)} cells{early}"
        console.print(f"  {each.candidate.name}  {line}", markup=False, soft_wrap=True)
    if len(result.all) > _MOST:
        console.print(f"  and {len(result.all) - _MOST} more; --json has all", style="dim")


def _reason(each: Scored) -> str:
    """Returns why a candidate has no score, on one line."""
    if each.missed:
        return "did not run: the time was over before"
    return f"failed: {' '.join(each.failed.split())}"


def _of_holdout(result: Result, hidden: Hidden) -> str:
    renew = result.suite.renew
    if hidden.alarm:
        verdict = "alarm: the score on the hold-out falls behind, so the candidate is fitted to the shown cells"
    else:
        verdict = "no alarm: the score on the hold-out does not fall behind"
    return (
        f"hold-out: {verdict} (by chance in {holdout.ALARM:.0%} of cases). Use {hidden.uses} of {renew} of this "
        "secret."
    )


def _reveal(result: Result, hidden: Hidden, console: Console) -> None:
    console.print(
        f"  score {_interval(hidden.score)}  {len(hidden.cells)} cells, which a new secret replaces from now on:",
        markup=False,
        soft_wrap=True,
    )
    for cell in hidden.cells:
        settings = ", ".join(f"{key}={value}" for key, value in cell.settings)
        name = result.suite.parts[cell.part].name
        console.print(f"  {name}: {settings}, seed={cell.seed}", markup=False, soft_wrap=True)


def _interval(it: Strata) -> str:
    found = it.interval()
    if found.low != found.low:
        return f"{found.value:+.3f}"
    return f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _parts(result: Result, each: Scored) -> Mapping[str, Strata]:
    return {
        part.name: scored(
            result.suite, [cell for cell in result.cells if cell.part == number], each.points
        )
        for number, part in enumerate(result.suite.parts)
    }


def _metrics(result: Result, each: Scored) -> dict[str, dict[str, float]]:
    """Returns the mean points of each metric in each part."""
    found: dict[str, dict[str, float]] = {}
    for number, part in enumerate(result.suite.parts):
        rows = [
            each.terms[cell.key]
            for cell in result.cells
            if cell.part == number and cell.key in each.terms
        ]
        names = [
            metric.name if metric.of == "tested" else f"{metric.name} of {metric.of}"
            for metric in part.metrics
        ]
        found[part.name] = dict(zip(names, map(fmean, zip(*rows, strict=True)), strict=False))
    return found


def document(result: Result, *, revealed: bool) -> dict[str, object]:
    """Returns the result as `--json` prints it."""
    suite, hidden = result.suite, result.hidden
    found: dict[str, object] = {
        "suite": suite.name,
        "identity": suite.identity,
        "stack": suite.stack,
        "baseline": suite.baseline,
        "metrics": {part.name: [name_of(each) for each in part.metrics] for part in suite.parts},
        "cells": len(result.cells),
        "alpha": result.alpha,
        "complete": not result.over,
        "runs": result.runs,
        "seconds": round(result.seconds, 3),
        "candidates": [_candidate(result, each) for each in result.all],
        "holdout": None,
    }
    if hidden:
        about: dict[str, object] = {
            "alarm": hidden.alarm,
            "false_alarms": holdout.ALARM,
            "cells": len(hidden.cells),
            "use": hidden.uses,
            "renewed_after": suite.renew,
        }
        if revealed:
            about |= _numbers(hidden.score)
            about["scenarios"] = [
                {"part": suite.parts[cell.part].name, "seed": cell.seed, **dict(cell.settings)}
                for cell in hidden.cells
            ]
        found["holdout"] = about
    return found


def _candidate(result: Result, each: Scored) -> dict[str, object]:
    found: dict[str, object] = {
        "name": each.candidate.name,
        "candidate": each.candidate.algorithm or each.candidate.file,
        "params": dict(each.candidate.params),
        "key": each.candidate.key,
        "cells": len(each.points),
        "stopped": each.stopped,
        "failed": each.failed or None,
        "missed": each.missed,
    }
    if each.score:
        found |= _numbers(each.score)
        by_metric = _metrics(result, each)
        found["parts"] = {
            name: {**_numbers(part), "metrics": by_metric[name]}
            for name, part in _parts(result, each).items()
        }
    return found


def _numbers(it: Strata) -> dict[str, object]:
    interval = it.interval()
    return {
        "score": finite(interval.value),
        "interval": [finite(interval.low), finite(interval.high)],
    }
