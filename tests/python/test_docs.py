"""The documentation is true: its examples run and print what it says, its links lead somewhere, its tables are whole.

In each of `PAGES`, in the order of the page and in one directory with `scenarios/` in it:

- a ```console block is run, command by command, and prints what follows each `$`;
- a ```python block is run, all in one namespace, and prints the ```text block right behind it, if there is one;
- a ```toml or ```python block with `file=NAME` is written to that file.

Words have to be the same and numbers within a quarter; a line `…` stands for any lines. `FULLPIPE_BLESS=1` writes what
is printed now into blocks without a `…`.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import fullpipe
import served

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/tutorial/first-run.md",
    "docs/guide/sweeps.md",
    "docs/guide/ci-gate.md",
    "docs/tutorial/python-algorithm.md",
    "docs/guide/runners.md",
]
MODELS = sorted(
    f"docs/reference/models/{file.name}" for file in (ROOT / "docs/reference/models").glob("*.md")
)
LINKED = [
    *PAGES,
    *MODELS,
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/reference/internals.md",
    "docs/reference/metrics.md",
    "docs/notebook/performance.md",
    "docs/reference/qlog.md",
    "docs/guide/reports.md",
    "docs/reference/statistics.md",
    "docs/guide/workloads.md",
    "docs/guide/fleet.md",
    "docs/notebook/conformance.md",
    "docs/notebook/dropbox.md",
    "docs/notebook/kernel.md",
    "docs/notebook/kit.md",
    "docs/notebook/l4s-tests.md",
    "docs/notebook/microsoft.md",
    "examples/custom-controller/README.md",
    "examples/python-controller/README.md",
]
BLESS = "FULLPIPE_BLESS" in os.environ

# What differs from run to run or from machine to machine.
_VARYING = [
    (re.compile(r"in [0-9.]+ s\b"), "in 0 s"),
    (re.compile(r"trace [0-9a-f]{16}"), "trace 0"),
]
# A line that makes the exit code another than 0.
_FAILURE = re.compile(r"^error:| missed$")
_TOKEN = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?(?:e-?[0-9]+)?|[^\s0-9]+")


class Block(NamedTuple):
    """A fenced block: what stands behind its opening fence, its lines, and where the first of them is (from 0)."""

    language: str
    lines: list[str]
    start: int


def _blocks(text: str) -> Iterator[Block]:
    language, start = "", -1
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if start < 0:
            language, start = line.removeprefix("```").strip(), number + 1
        else:
            yield Block(language, lines[start:number], start)
            start = -1


@pytest.mark.parametrize("page", PAGES)
def test_examples_do_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as in a program of that folder
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(_blocks(text))
    blessed: list[tuple[int, int, list[str]]] = []
    namespace: dict[str, object] = {}
    for number, block in enumerate(blocks):
        where = f"{page}:{block.start + 1}"
        if block.language == "console":
            for command, expected, at in _commands(block):
                actual = _call(
                    command, where, may_fail=any(_FAILURE.search(line) for line in expected)
                )
                _compare(actual, expected, f"{where}: $ {command}", at, blessed)
        elif block.language == "python":
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile("\n" * block.start + "\n".join(block.lines), page, "exec"), namespace)
            after = blocks[number + 1] if number + 1 < len(blocks) else None
            if (
                after
                and after.language == "text"
                and after.start == block.start + len(block.lines) + 2
            ):
                _compare(printed.getvalue(), after.lines, where, after.start, blessed)
        elif file := re.fullmatch(r"(?:toml|python) file=(\S+)", block.language):
            Path(file[1]).write_text("\n".join(block.lines) + "\n", encoding="utf-8")
    if BLESS:
        lines = text.splitlines()
        for start, end, printed_now in reversed(blessed):
            lines[start:end] = printed_now
        (ROOT / page).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _commands(block: Block) -> Iterator[tuple[str, list[str], int]]:
    """Each command, what it shall print, and the line of the page where that begins."""
    starts = [number for number, line in enumerate(block.lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        yield (
            block.lines[start].removeprefix("$ "),
            block.lines[start + 1 : end],
            block.start + start + 1,
        )


def _call(command: str, where: str, may_fail: bool) -> str:
    """Runs a command of a page; `fullpipe` is the one under test."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    words = shlex.split(command, comments=True)
    if words[0] == "fullpipe" and not re.search(r"[|&;<>$*?~]", command):
        done = served.call(words[1:], Path(), environment, merged=True, timeout=120)
    else:
        done = _shell(command, environment)
    assert may_fail or done.returncode == 0, f"{where}: $ {command}\n{done.stdout}"
    return done.stdout


def _shell(command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    shell = f'fullpipe() {{ "{sys.executable}" -m fullpipe "$@"; }}\n{command}'
    return subprocess.run(
        ["bash", "-c", shell],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


def _compare(
    actual: str, expected: list[str], where: str, at: int, blessed: list[tuple[int, int, list[str]]]
) -> None:
    printed = [line.rstrip() for line in actual.rstrip("\n").splitlines()]
    if BLESS and "…" not in [line.strip() for line in expected]:
        blessed.append((at, at + len(expected), printed))
        return
    known = [line for line in printed if line]
    skipping = False
    for line in filter(None, (line.strip() for line in expected)):
        if line == "…":
            skipping = True
            continue
        while skipping and known and not _alike(known[0], line):
            known.pop(0)
        assert known and _alike(known[0], line), f"{where}\nthe page: {line}\nprinted:\n{actual}"
        known.pop(0)
        skipping = False
    assert skipping or not known, f"{where}\nnot on the page: {known}"


def _alike(actual: str, expected: str) -> bool:
    for pattern, constant in _VARYING:
        actual, expected = pattern.sub(constant, actual), pattern.sub(constant, expected)
    ours, theirs = _TOKEN.findall(actual), _TOKEN.findall(expected)
    return len(ours) == len(theirs) and all(map(_same, ours, theirs))


def _same(actual: str, expected: str) -> bool:
    if not (actual[0].isdigit() and expected[0].isdigit()):
        return actual == expected
    ours, theirs = (float(number.replace(",", "")) for number in (actual, expected))
    return abs(ours - theirs) <= max(0.25 * abs(theirs), 0.05)


@pytest.mark.parametrize("page", LINKED)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_every_metric_and_every_column_is_explained() -> None:
    text = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    run = fullpipe.run(ROOT / "scenarios/transfer.toml", trace="10ms")
    arriving = fullpipe.run(ROOT / "scenarios/workload.toml", trace="10ms", duration="6s")
    flow, link = run.flows[0], run.links[0]
    nested = {*flow["rtt_s"], *flow["limited_by"]}
    for name in {*run.metrics, *arriving.metrics, *flow, *arriving.workloads[0], *link, *nested}:
        assert f"`{name}`" in text, f"docs/reference/metrics.md does not explain {name}"
    for table in arriving.tables:
        for column, unit in arriving.units(table).items():
            if "." not in column:
                assert f"| `{column}` | {unit} |" in text, (
                    f"docs/reference/metrics.md: {column} of {table}, unit {unit!r}"
                )


def test_every_scenario_file_runs() -> None:
    for file in sorted((ROOT / "scenarios").glob("*.toml")):
        run = fullpipe.run(file)
        assert run.scenario.title, f"{file.name} has no title in its first line"
        assert run.metrics["packets"] > 0
