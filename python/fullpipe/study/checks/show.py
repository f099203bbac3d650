"""The results of a check, for the terminal, as JSON, and as JUnit XML for CI."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from rich.text import Text

from fullpipe.base.terminal import printable
from fullpipe.results import disk
from fullpipe.runners import SIMULATOR, option
from fullpipe.runs.view.path import stack_of
from fullpipe.study.verdicts.show import line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from fullpipe.study.checks.judge import JudgedCondition
    from fullpipe.study.checks.run import Checked

_CONDITION, _MEASURED = 42, 24
_NOT_XML = re.compile("[\ufffe\uffff]")


def show(checked: Checked, console: Console) -> None:
    """Prints a line per condition, and below a missed one the commands that run it again, here and in a browser."""
    from fullpipe import wings

    how_often = "1 run" if checked.runs == 1 else f"{checked.runs} repetitions"
    made = f" with {', '.join(checked.set)}" if checked.set else ""
    console.print(
        Text.assemble(
            (_called(checked), "bold"), f"{made}, {how_often}; {stack_of(checked.resolved)}"
        ),
        soft_wrap=True,
    )
    for each in checked.judged:
        condition = each.name
        if len(condition) > _CONDITION:
            console.print(Text(f"  {condition}"), soft_wrap=True)
            condition = ""
        text = f"  {condition:<{_CONDITION}} {each.shown:>{_MEASURED}}  "
        console.print(line(text, each.verdict))
        if not each.met:
            console.print(Text(f"    {reason(each)}:"), soft_wrap=True)
            seed = each.failed_seeds[0]
            console.print(Text(f"    {shlex.join(checked.replay(seed))}"), soft_wrap=True)
            if checked.runner == SIMULATOR and not wings.in_page().outsiders(checked.resolved):
                console.print(Text(f"    {shlex.join(checked.explore(seed))}"), soft_wrap=True)
    steadiness = checked.steadiness
    wrapped(steadiness.text, 2, console, "yellow" if steadiness.drifting else "dim")


def _called(checked: Checked) -> str:
    return (
        f"{checked.file} on {checked.runner}"
        if checked.one_of or option(checked.runner)
        else checked.file
    )


def sums(all_checked: Sequence[Checked], without: int) -> str:
    """Returns a line with the number of conditions met."""
    judged = [each for checked in all_checked for each in checked.judged]
    missed = sum(not each.met for each in judged)
    files = {checked.file for checked in all_checked}
    said = (
        f"{len(judged) - missed} of {len(judged)} conditions met in {_count(len(files), 'scenario')}, "
        f"{_count(sum(checked.runs for checked in all_checked), 'run')}"
    )
    return f"{said}; {_count(without, 'scenario')} without conditions" if without else said


def reason(each: JudgedCondition) -> str:
    """Returns the number of repetitions that miss a condition, and the seed of the worst."""
    missed, runs = each.failed_seeds, each.repetitions
    how_often = f"missed in {len(missed)} of {runs} repetitions" if runs > 1 else "missed"
    seed = missed[0]
    if each.measured is None:
        return f"{how_often}, without a value for seed {seed}"
    return f"{how_often}, worst with seed {seed}"


class Unchecked(NamedTuple):
    """A scenario without verdicts."""

    file: str
    set: Sequence[tuple[str, str]]
    """The changes that options make."""
    error: str
    """The reason."""


def records(all_checked: Sequence[Checked], others: Sequence[Unchecked] = ()) -> str:
    """Returns a JSON list, one object per condition, in SI units, and one per scenario without verdicts."""
    return json.dumps(
        [
            {
                "file": checked.file,
                "runner": checked.runner,
                "set": dict(checked.given.written),
                "condition": each.condition,
                "of": each.of,
                "quantile": each.quantile,
                "bound": each.bound,
                "measured": each.measured,
                "least": each.least,
                "most": each.most,
                "unit": each.unit,
                "repetitions": each.repetitions,
                "verdict": each.verdict.value,
                "steadiness": checked.runs_steady.about([(each.column, each.flow)]).record(),
                "failed_seeds": each.failed_seeds,
                "replay": shlex.join(checked.replay(each.failed_seeds[0]))
                if each.failed_seeds
                else None,
            }
            for checked in all_checked
            for each in checked.judged
        ]
        + [
            {"file": each.file, "set": dict(each.set), "verdict": "error", "error": each.error}
            for each in others
        ]
    )


def write_junit(
    all_checked: Sequence[Checked], path: Path, others: Sequence[Unchecked] = ()
) -> None:
    """Writes JUnit XML, which CI systems read: a suite per scenario, a case per condition, or one with an error.

    Raises:
        OSError: When it can't be written.
    """

    def xml(text: str) -> str:
        return _NOT_XML.sub(lambda found: ascii(found[0])[1:-1], printable(text))

    def add(suite: ET.Element, settings: Sequence[tuple[str, str]]) -> None:
        if settings:
            properties = ET.SubElement(suite, "properties")
            for key, value in settings:
                ET.SubElement(properties, "property", name=xml(key), value=xml(value))

    root = ET.Element("testsuites", name="fullpipe check")
    for checked in all_checked:
        missed = sum(not each.met for each in checked.judged)
        suite = ET.SubElement(
            root,
            "testsuite",
            name=xml(_called(checked)),
            tests=str(len(checked.judged)),
            failures=str(missed),
            errors="0",
            time=f"{checked.wall_s:.3f}",
        )
        add(suite, checked.given.written)
        for each in checked.judged:
            share = f"{checked.wall_s / len(checked.judged):.3f}"
            case = ET.SubElement(
                suite,
                "testcase",
                classname=xml(_called(checked)),
                name=xml(each.name),
                time=share,
            )
            if text := checked.runs_steady.about([(each.column, each.flow)]).text:
                ET.SubElement(case, "system-out").text = xml(text)
            if not each.met:
                failure = ET.SubElement(
                    case, "failure", message=xml(f"measured {each.shown}"), type="missed"
                )
                failure.text = xml(
                    f"{reason(each)}\n{shlex.join(checked.replay(each.failed_seeds[0]))}"
                )
    for other in others:
        name = xml(other.file)
        suite = ET.SubElement(
            root, "testsuite", name=name, tests="1", failures="0", errors="1", time="0.000"
        )
        add(suite, other.set)
        case = ET.SubElement(suite, "testcase", classname=name, name="the runs", time="0.000")
        message = other.error.removeprefix("error: ").partition("\n")[0]
        error = ET.SubElement(case, "error", message=xml(message), type="error")
        error.text = xml(other.error)
    ET.indent(root)
    disk.put(path, ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"
