"""Each promise of the pages has a test: `tests/promises.toml` names the sentences and the tests.

`docs/evidence/promises.md` is made of it; FULLPIPE_BLESS=1 writes that page.
"""

from __future__ import annotations

import ast
import os
import re
import tomllib
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
LIST = ROOT / "tests/promises.toml"
PAGE = ROOT / "docs/evidence/promises.md"
PAGES = sorted(
    str(file.relative_to(ROOT))
    for each in ("README.md", "SECURITY.md", "docs/index.md", "docs/[grt]*/*.md")
    for file in ROOT.glob(each)
)
# Words of promises. A sentence with one of them is a promise, or listed as none.
WORDS = re.compile(
    r"(?i:\b(?:never|always|guarantee[sd]?|promise[sd]?|to the bit|bit for bit|atomic|atomically|identical"
    r"|deterministic|resumes?|continues?|not at all|overwrites?|overwritten|however"
    r"|whatever|exit codes?|checksums?|refuses?"
    r"|refused|damaged|trustworthy|(?:loses|keeps|have|has) at most|a test (?:runs|compares|checks|fails)"
    r"|the same command (?:continues|resumes|with)|same (?:seed|values|rows|result|fingerprint)"
    r"|before (?:anything|the first run|any run|it begins)|and nothing else|works offline|flushed|escape[sd]?"
    r"|nothing (?:else|behind|remains|is (?:ever )?(?:left|kept|written|overwritten|installed))"
    r"|(?:leaves?|changes?|installs?|writes?) nothing|does not change"
    r"|(?:without|no|not) (?:a |any |even )*(?:network|privilege|root|process))\b)|\bAt most\b",
)
HELP = (
    "add the sentence to a [[promise]] of tests/promises.toml with the test that holds it (write it if it is missing), "
    "or, if the sentence promises nothing, to a [[no_promise]]"
)


class Promise(NamedTuple):
    """A promise, its quotations as (page, words), and its tests."""

    part: str
    text: str
    said: list[tuple[str, str]]
    tests: list[str]


def _plain(text: str) -> str:
    """Markdown as its reader sees it, on one line."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\\([|<>*_\[\]])", r"\1", text).replace("**", "")
    return " ".join(text.split())


def _quoted(said: str) -> tuple[str, str]:
    page, _, words = said.partition(": ")
    return page, _plain(words)


@cache
def _listed() -> tuple[list[Promise], list[tuple[str, str]]]:
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))
    promises = [
        Promise(each["part"], each["text"], [*map(_quoted, each["said"])], each["tests"])
        for each in entries["promise"]
    ]
    none = [_quoted(said) for each in entries["no_promise"] for said in each["said"]]
    return promises, none


PROMISES, NO_PROMISES = _listed()
SAID = [said for each in PROMISES for said in each.said]


@cache
def _text(page: str) -> str:
    """A page without its blocks of code."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.sub(r"^ *(```).*?^ *\1$", "", text, flags=re.MULTILINE | re.DOTALL)


def _without_tested_rows(page: str) -> str:
    """A page without the rows of tables that name their own test, in the last cell."""
    return re.sub(r"^\|.*\| `test_\w+\.py::test_\w+` \|\n", "", _text(page), flags=re.MULTILINE)


@cache
def _words(page: str) -> str:
    return _plain(_text(page))


def _sentences(text: str) -> Iterator[str]:
    """The sentences of paragraphs, list items and table cells, without headings."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\||\d+\. ))|(?<=\|)\n", text):
        cells = re.split(r"(?<!\\)\|", block) if block.lstrip().startswith("|") else [block]
        for cell in cells:
            if not cell.lstrip().startswith("#"):
                for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`*\[(\"])", _plain(cell)):
                    yield sentence.removeprefix("- ")


def _is_listed(page: str, sentence: str, quotations: list[tuple[str, str]]) -> bool:
    return any(
        each == page and (words in sentence or sentence in words) for each, words in quotations
    )


@pytest.mark.parametrize("page", PAGES)
def test_a_sentence_that_promises_is_listed(page: str) -> None:
    unlisted = [
        sentence
        for sentence in _sentences(_without_tested_rows(page))
        if len(sentence.split()) > 2
        and WORDS.search(sentence)
        and not _is_listed(page, sentence, SAID + NO_PROMISES)
    ]
    assert not unlisted, f"{page}: {HELP}: {unlisted}"


def test_each_sentence_of_the_table_of_promises_is_listed() -> None:
    section = (
        _without_tested_rows("SECURITY.md").partition("## Promises\n")[2].partition("\n## ")[0]
    )
    rows = [line for line in section.splitlines() if line.startswith("|")]
    assert len(rows) > 3
    unlisted = [
        sentence
        for row in rows
        for sentence in _sentences(row)
        if len(sentence.split()) > 3 and not _is_listed("SECURITY.md", sentence, SAID + NO_PROMISES)
    ]
    assert not unlisted, f"SECURITY.md: {HELP}: {unlisted}"


def test_each_quotation_is_on_its_page() -> None:
    gone = [f"{page}: {words}" for page, words in SAID + NO_PROMISES if words not in _words(page)]
    assert not gone, (
        f"tests/promises.toml quotes what the page does not say; quote its words of today: {gone}"
    )


def test_no_promise_lists_only_what_would_be_taken_for_one() -> None:
    unused = [
        f"{page}: {words}"
        for page, words in NO_PROMISES
        if not any(
            words in sentence and (page == "SECURITY.md" or WORDS.search(sentence))
            for sentence in _sentences(_text(page))
        )
    ]
    assert not unused, f"remove it from [[no_promise]] of tests/promises.toml: {unused}"


def test_each_promise_has_tests_and_each_test_exists() -> None:
    assert [each.text for each in PROMISES if not each.said or not each.tests] == []
    wrong = {test: why for each in PROMISES for test in each.tests if (why := _missing(test))}
    assert not wrong, (
        f"tests/promises.toml: CI does not run these; name what holds the promise now: {wrong}"
    )


def _missing(test: str) -> str | None:
    """The reason why CI does not run a test; None if it does."""
    if test.startswith("make "):
        run = "".join(
            (ROOT / ".ci" / each).read_text(encoding="utf-8") for each in ("run", "release")
        )
        return (
            None
            if re.search(rf"\bmake [a-z -]*\b{test[5:]}\b", run)
            else "neither .ci/run nor .ci/release makes it"
        )
    file, _, name = test.partition("::")
    if not (ROOT / file).is_file():
        return "no such file"
    return (_no_python if file.endswith(".py") else _no_rust)(ROOT / file, name)


def _no_python(file: Path, name: str) -> str | None:
    if not (file.name.startswith("test_") and name.startswith("test_")):
        return "pytest does not collect it"
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            marks = " ".join(map(ast.unparse, node.decorator_list))
            return "it is skipped" if re.search(r"mark\.(skip\b|xfail)", marks) else None
    return "no such function"


def _no_rust(file: Path, name: str) -> str | None:
    before = re.search(
        rf"((?:^ *(?:#\[.*\]|///?.*)\n)*)^ *fn {name}\b", file.read_text("utf-8"), re.MULTILINE
    )
    if not before:
        return "no such function"
    if "#[test]" not in before[1] or "#[ignore" in before[1]:
        return "it is no test, or ignored"
    return None if _is_compiled(file) else "no module names its file"


def _is_compiled(file: Path) -> bool:
    """Whether a file is the root of a crate, or a module of a compiled file."""
    if file.name in ("lib.rs", "main.rs") or (
        file.parent.name == "tests" and not (file.parent / "main.rs").exists()
    ):
        return True
    stem, folder = (
        (file.parent.name, file.parent.parent)
        if file.name == "mod.rs"
        else (file.stem, file.parent)
    )
    above = [folder / "lib.rs", folder / "main.rs", folder / "mod.rs", folder.with_suffix(".rs")]
    return any(
        each.exists()
        and re.search(rf"\bmod {stem};", each.read_text("utf-8"))
        and _is_compiled(each)
        for each in above
    )


def _page() -> str:
    """The list as a page."""
    lines = [
        "# Promises and their tests",
        "",
        "The promises of the pages and of the help, where they are made, and the tests that hold them. `.ci/run` runs",
        "each of these tests for every change, and `.ci/release` some targets of `make` for a release. The page is",
        "generated from `tests/promises.toml`; if a sentence that promises something",
        "is missing there, `tests/python/docs/test_promises.py` fails.",
        "",
    ]
    for part, entries in groupby(PROMISES, lambda each: each.part):
        lines += [f"## {part}", "", "| Promise | Said in | Tests |", "|---|---|---|"]
        for each in entries:
            pages = dict.fromkeys(page for page, _ in each.said)
            tests = "; ".join(map(_shown, each.tests))
            lines.append(f"| {each.text} | {', '.join(map(_linked, pages))} | {tests} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _linked(file: str) -> str:
    return f"[{file.removeprefix('docs/')}]({os.path.relpath(ROOT / file, PAGE.parent)})"


def _shown(test: str) -> str:
    file, _, name = test.partition("::")
    if not name:
        return f"`{test}`"
    return f"[{Path(file).name}]({os.path.relpath(ROOT / file, PAGE.parent)}) `{name}`"


def test_the_page_follows() -> None:
    parts = [part for part, _ in groupby(each.part for each in PROMISES)]
    assert len(parts) == len(set(parts)), "keep the promises of a part together"
    if os.environ.get("FULLPIPE_BLESS"):
        PAGE.write_text(_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == _page(), "out of date: FULLPIPE_BLESS=1 writes it"
