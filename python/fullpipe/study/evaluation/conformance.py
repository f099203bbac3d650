"""`fullpipe evaluate --suite bbr-draft`: the test cases of the BBR draft for an algorithm, condition by condition."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from difflib import get_close_matches
from shlex import quote
from typing import TYPE_CHECKING, TypedDict

import numpy as np  # noqa: F401  (the core needs it: a signal that met its import in a thread would be a panic)
from rich.padding import Padding
from rich.text import Text

from fullpipe import _core
from fullpipe.algorithms.resolve import NONE, code, described, kind_of
from fullpipe.base import terminal
from fullpipe.base.build import build
from fullpipe.base.progress import counting
from fullpipe.errors import printing
from fullpipe.results import disk, kept, suited_interval
from fullpipe.results.objects import called
from fullpipe.results.sums import in_name, is_whole_directory
from fullpipe.run import load, run
from fullpipe.runners import refuse_kind
from fullpipe.study.checkpoint import new_results
from fullpipe.study.verdicts.estimate import Estimate
from fullpipe.study.verdicts.judged import Judged, Verdict, finite, write_table
from fullpipe.study.verdicts.show import line, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from fullpipe._core import Condition, ConformanceCase, Scene


class RefusedError(ValueError):
    """The algorithm or parameter is unknown; the text names it and has the fix."""


class ConditionRecord(TypedDict):
    """A condition as `--json` prints it, in its unit.

    `tolerance` has the least and the greatest allowed value, None without such a bound;
    `measured` has the value, None if it could not be measured.
    """

    case: str
    condition: str
    unit: str
    measured: float | None
    tolerance: tuple[float | None, float | None]
    verdict: str
    because: str


def conformance(
    algorithm: str,
    *,
    params: Mapping[str, str] | None = None,
    seed: int = 1,
    out: Path | None = None,
    as_json: bool = False,
) -> Sequence[ConformanceCase]:
    """Runs the draft's test cases and prints their verdicts on standard output.

    Args:
        algorithm: The algorithm's name.
        params: Its parameters.
        seed: The seed of everything random.
        out: The directory for scenarios, traces and pictures; None to not keep them.
        as_json: Print only the list of :class:`ConditionRecord`.

    Returns:
        The cases with their verdicts.

    Raises:
        RefusedError: When there is no such algorithm or parameter, or no case applies to the algorithm.
        FileExistsError: When `out` holds something already.
        OSError: When `out` can't be written.
    """
    start = time.perf_counter()
    params = dict(params or {})
    _check_name(algorithm)
    sections = _core.conformance_cases()
    cases: list[ConformanceCase] = []
    saved = 0
    with (
        new_results(
            out,
            _about(algorithm, params, seed),
            lambda: f"after {len(cases)} of {len(sections)} cases, {saved} of them saved",
        ) as (aside, so_far),
        counting() as bar,
    ):
        # Without drawings, all cases take about a second.
        simulating = bar.track(sections, description="simulating")
        cases.extend(_run(section, algorithm, params, seed) for section in simulating)
        if all(case["verdict"] == "skipped" for case in cases):
            raise RefusedError(_no_bbr(algorithm))
        if aside and so_far:
            scenes = [scene for case in cases for scene in case["scenes"]]
            for scene in bar.track(scenes, description="drawing"):
                _save_run(scene, so_far.folder("runs"))
                saved += 1
            so_far.move("runs", aside)
            _save_table(algorithm, params, cases, aside)
    with printing():
        if as_json:
            terminal.print_alone(json.dumps(records(cases)))
        else:
            console = terminal.console()
            show(algorithm, params, cases, console)
            if any(case["verdict"] == "missed" for case in cases):
                _tell_pages(cases, out, console)
            console.print(f"{sums(cases)}, in {time.perf_counter() - start:.1f} s", style="bold")
            if out:
                console.print(
                    f"kept in {called(out)}: table.md, and a directory for each run",
                    markup=False,
                    soft_wrap=True,
                )
    return cases


def _tell_pages(cases: Sequence[ConformanceCase], out: Path | None, console: Console) -> None:
    """Prints the commands that open the runs of missed cases in a browser."""
    if out is None:
        console.print("--out DIR keeps the runs, for `fullpipe explore`", markup=False)
        return
    from fullpipe import wings

    missed = [
        out / scene["name"] / "resolved.toml"
        for case in cases
        for scene in case["scenes"]
        if any(each.verdict is Verdict.MISSED for each in judged(scene))
    ]
    shown = [file for file in missed if not wings.in_page().outsiders(kept.read_text(file))]
    if shown:
        console.print("the runs of missed cases, in a browser:")
    for file in shown:
        console.print(f"  fullpipe explore {quote(str(file))}", markup=False, soft_wrap=True)


def _no_bbr(algorithm: str) -> str:
    versions = [
        name for each in _core.algorithms() if (name := str(each["name"])).startswith("bbr")
    ]
    return (
        f"{algorithm} is no version of BBR: it has none of the states and fields that the cases judge\n"
        f"  fix: use one of {', '.join(versions)}, or a controller with BBR's states"
    )


def _about(algorithm: str, params: Mapping[str, str], seed: int) -> dict[str, str]:
    return {
        "fullpipe": f"{_core.__version__}, {build()}",
        "the algorithm": algorithm,
        "--set": ", ".join(f"{name}={value}" for name, value in sorted(params.items())),
        "--seed": str(seed),
        "its source": in_name(code([algorithm], described([algorithm]))),
    }


def _check_name(algorithm: str) -> None:
    refuse_kind(algorithm, "evaluate --suite bbr-draft")
    known = [each["name"] for each in _core.algorithms()]
    if kind_of(algorithm) in (None, NONE):
        near = get_close_matches(algorithm, known, n=1)
        fix = f"did you mean {near[0]!r}? there are" if near else "use one of"
        raise RefusedError(f"no algorithm is called {algorithm!r}\n  fix: {fix} {', '.join(known)}")


def _run(section: str, algorithm: str, params: Mapping[str, str], seed: int) -> ConformanceCase:
    try:
        return _core.conformance_case(
            section, algorithm, list(params.items()), seed, described([algorithm])
        )
    except _core.ScenarioError as error:
        name = error.key.removeprefix("flow.0.params.")
        setting = f"--set {name}={params[name]}" if name in params else error.key
        raise RefusedError(f"{setting}: {error.problem}\n  fix: {error.fix}") from error


def records(cases: Sequence[ConformanceCase]) -> list[ConditionRecord]:
    """Returns the conditions as `--json` prints them."""
    return [
        ConditionRecord(
            case=each.case,
            condition=each.metric,
            unit=each.subject["unit"],
            measured=finite(each.ours.value),
            tolerance=(finite(each.within[0]), finite(each.within[1])),
            verdict=each.verdict.value,
            because=each.subject["because"],
        )
        for case in cases
        for scene in case["scenes"]
        for each in judged(scene)
    ]


def judged(scene: Scene) -> list[Judged[Condition]]:
    """Returns the conditions of a run with the core's verdicts."""
    return [
        Judged(
            each,
            scene["name"],
            each["condition"],
            each["demanded"],
            Estimate(math.nan if each["measured"] is None else each["measured"]),
            (
                -math.inf if each["least"] is None else each["least"],
                math.inf if each["most"] is None else each["most"],
            ),
            Verdict(each["verdict"]),
            reason=each["why"],
        )
        for each in scene["conditions"]
    ]


def sums(cases: Sequence[ConformanceCase]) -> str:
    """Returns a line with the number of cases for each verdict."""
    count = Counter(case["verdict"] for case in cases)
    return f"{count['met']} of {len(cases)} cases met, {count['missed']} missed, {count['skipped']} skipped"


def show(
    algorithm: str, params: Mapping[str, str], cases: Sequence[ConformanceCase], console: Console
) -> None:
    """Prints a line for each case and for each of its conditions."""
    console.print(
        Text(f"{_title(algorithm, params)}: draft-ietf-ccwg-bbr-06, Appendix A", style="bold")
    )
    console.print(Text(_line("", "measured", "required", "verdict"), style="dim"))
    for case in cases:
        console.print(Text(f"{case['case']:5}{case['title']}", style="bold"), soft_wrap=True)
        for scene in case["scenes"]:
            if len(case["scenes"]) > 1:
                console.print(Text(f"  {scene['name'].partition('-')[2]}:", style="dim"))
            _show_scene(scene, console)
    console.print()


def _show_scene(scene: Scene, console: Console) -> None:
    """Prints a line for each condition that is judged or reported, below the reason if it could not be measured."""
    told = ""
    for each in judged(scene):
        if each.reason and each.reason != told:
            text = f"  {each.verdict.value}: {each.reason}"
            console.print(Text(text, style="dim"), soft_wrap=True)
            told = each.reason
        if each.verdict is Verdict.SKIPPED:
            continue
        text = _line(each.metric, _measured(each.subject), each.subject["demanded"])
        console.print(line(text, each.verdict))
        if not each.met and not each.reason:
            because = Text(each.subject["because"], style="dim")
            console.print(Padding(because, (0, 0, 0, 6), expand=False))


def _title(algorithm: str, params: Mapping[str, str]) -> str:
    return ", ".join([algorithm, *(f"{name} = {value}" for name, value in params.items())])


def _line(condition: str, measured: str, demanded: str, verdict: str = "") -> str:
    head = f"  {condition:<40} "
    # A long condition takes the blanks before the value, so that the line fits 80 columns.
    value = measured.rjust(55 - len(head))
    return f"{head}{value} {demanded.rjust(69 - len(head) - len(value) - 1)}  {verdict}"


def _measured(condition: Condition) -> str:
    unit = "" if condition["measured"] is None else condition["unit"]
    return f"{condition['shown']} {unit}".rstrip()


def markdown(algorithm: str, params: Mapping[str, str], cases: Sequence[ConformanceCase]) -> str:
    """Returns the table as Markdown, with the reason for each condition."""
    lines = [
        f"# {_title(algorithm, params)}: draft-ietf-ccwg-bbr-06, Appendix A",
        "",
        f"{sums(cases)}.",
        "",
    ]
    for case in cases:
        lines += [f"## {case['case']} {case['title']}: {case['verdict']}", ""]
        if case["note"]:
            lines += [case["note"], ""]
        for scene in case["scenes"]:
            lines += [
                f"`{scene['name']}`",
                "",
                "| condition | measured | required | verdict | from |",
                "|---|--:|--:|---|---|",
            ]
            for each in judged(scene):
                verdict = each.verdict.value + (f": {each.reason}" if each.reason else "")
                cells = (each.metric, _measured(each.subject), each.subject["demanded"])
                lines.append(row((*cells, verdict, each.subject["because"])))
            lines.append("")
    return "\n".join(lines)


def _save_table(
    algorithm: str, params: Mapping[str, str], cases: Sequence[ConformanceCase], directory: Path
) -> None:
    write_table(directory, markdown(algorithm, params, cases), records(cases))


def _save_run(scene: Scene, directory: Path) -> None:
    """Runs a scene and writes it in the format of `fullpipe run --out`, unless it is there already."""
    place = directory / scene["name"]
    if not is_whole_directory(place):
        disk.remove_folder(place)
        scenario = load(scene["scenario"])
        run(scenario, trace=suited_interval(scenario)).save(place)
