"""The documentation is true: its examples run, their outputs are those quoted, links resolve, tables are complete.

README.md and each page of docs/tutorial and docs/guide with a ```console or ```python block are executed, in the order
of the page and in one directory that holds `scenarios/`:

- a ```console block runs each command behind a `$`, and the lines below it are its output;
- a ```python block runs, all in one namespace, and a ```text block right behind it is its output;
- a ```toml or ```python block with `file=NAME` is written to that file.

Outputs have to be equal, except for the run time (`in 0.4 s`). A line `…` stands for any lines. `FULLPIPE_BLESS=1`
writes the printed lines into the page. In a block with `…` it replaces a line by the printed one with the same words.
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
from typing import TYPE_CHECKING

import pytest

import fullpipe
import served
from pages import anchors, blocks, commands, links, settled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pages import Block

ROOT = Path(__file__).parents[3]
_RUN = re.compile(r"^```(?:console|python\b)", re.MULTILINE)
_EXECUTED = [ROOT / "README.md", *ROOT.glob("docs/tutorial/*.md"), *ROOT.glob("docs/guide/*.md")]
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in _EXECUTED
    if _RUN.search(page.read_text(encoding="utf-8"))
)
BLESS = "FULLPIPE_BLESS" in os.environ
# A line that makes the exit code another than 0.
_FAILURE = re.compile(r"^error:| missed$|: \d+ met, [1-9]\d* not met,")


def _markdown() -> list[str]:
    """Every Markdown file of the repository, also those that are not committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(page for page in listed.stdout.splitlines() if (ROOT / page).exists())


@pytest.mark.parametrize("page", PAGES)
def test_examples_do_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as in a program of that folder
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = text.splitlines()
    replaced: list[tuple[int, int, list[str]]] = []
    for output, quoted, at, where in _outputs(page, text):
        try:
            now = settled(output, quoted, bless=BLESS)
        except AssertionError as different:
            raise AssertionError(f"{where}\n{different}") from None
        replaced.append((at, at + len(quoted), now))
    if BLESS:
        for start, end, now in reversed(replaced):
            lines[start:end] = now
        (ROOT / page).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _outputs(page: str, text: str) -> Iterator[tuple[str, list[str], int, str]]:
    """Executes a page: each output, the quoted lines, the line where they begin, and a place to name."""
    namespace: dict[str, object] = {}
    found = list(blocks(text))
    for block, after in zip(found, [*found[1:], None], strict=True):
        where = f"{page}:{block.start + 1}"
        if block.language == "console":
            for command, quoted, at in commands(block):
                may_fail = any(_FAILURE.search(line) for line in quoted)
                yield _call(command, where, may_fail), quoted, at, f"{where}: $ {command}"
        elif block.language == "python":
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile("\n" * block.start + "\n".join(block.lines), page, "exec"), namespace)
            if after is not None and _is_output(after, block):
                yield printed.getvalue(), after.lines, after.start, where
        elif file := re.fullmatch(r"(?:toml|python) file=(\S+)", block.language):
            Path(file[1]).write_text("\n".join(block.lines) + "\n", encoding="utf-8")


def _is_output(after: Block, block: Block) -> bool:
    """Whether a block is the ```text right behind another."""
    return after.language == "text" and after.start == block.start + len(block.lines) + 2


def _call(command: str, where: str, may_fail: bool) -> str:
    """Runs a command of a page; `fullpipe` is the one under test."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    words = shlex.split(command, comments=True)
    if words[0] == "fullpipe" and not re.search(r"[|&;<>$*?~]", command):
        done = served.call(words[1:], Path(), environment, merged=True, timeout=300)
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
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("printed", "quoted", "blessed"),
    [
        ("a 1\nin 2 s", ["a 1", "in 3 s"], ["a 1", "in 3 s"]),
        ("a 2\nin 2 s", ["a 1", "in 3 s"], ["a 2", "in 3 s"]),
        ("x\na 1\nb 2\ny", ["…", "a 1", "b 1", "…"], ["…", "a 1", "b 2", "…"]),
        ("b 1\nx\nb 22", ["b 3", "…", "b   4"], ["b 1", "…", "b 22"]),
    ],
)
def test_a_blessed_block_has_the_printed_numbers(
    printed: str, quoted: list[str], blessed: list[str]
) -> None:
    assert settled(printed, quoted, bless=True) == blessed
    if quoted != blessed:
        with pytest.raises(AssertionError):
            settled(printed, quoted, bless=False)


@pytest.mark.parametrize("quoted", [["…", "c 1", "…"], ["b 1", "…"], ["…", "b 1", "a 1"]])
def test_other_words_or_another_order_are_refused(quoted: list[str]) -> None:
    with pytest.raises(AssertionError, match="edit the page"):
        settled("a 1\nb 1", quoted, bless=True)


@pytest.mark.parametrize("page", _markdown())
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in links(text):
        # The last one is a page that the repository's host makes.
        if "://" in link or link.startswith(("mailto:", "../../actions/")):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), f"{page} links to {link}, which is not there"
        if anchor and target.suffix == ".md":
            known = anchors(target.read_text(encoding="utf-8"))
            assert anchor in known, f"{page} links to {link}; {path or page} has {sorted(known)}"


def test_every_metric_and_every_column_is_explained() -> None:
    text = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    run = fullpipe.run(ROOT / "scenarios/transfer.toml", trace="10ms")
    arriving = fullpipe.run(ROOT / "scenarios/workload.toml", trace="10ms", duration="6s")
    flow, link = run.flow_metrics[0], run.link_metrics[0]
    nested = {*flow["rtt_s"], *flow["limited_by"]}
    for name in {
        *run.metrics,
        *arriving.metrics,
        *flow,
        *arriving.workload_metrics[0],
        *link,
        *nested,
    }:
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
