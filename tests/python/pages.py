"""The pages of the documentation: their blocks, their links, and the outputs that they quote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# A line of this alone stands for any lines.
_ANY = "…"
# Run times differ from run to run.
_TIME = re.compile(r"\bin [0-9.]+ s\b")
_NUMBER = re.compile(r"[0-9][0-9.,]*(?:e[-+]?[0-9]+)?")
_RULE = re.compile(r"─+")

_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`+[^`]+`+")
_LINK = re.compile(r'\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)|^\[[^\]]+\]:\s+(\S+)', re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$", re.MULTILINE)
_ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')


class Block(NamedTuple):
    """A fenced block: the words of its opening fence, its lines, and the number of the first line (from 0)."""

    language: str
    lines: list[str]
    start: int


def blocks(text: str) -> Iterator[Block]:
    """Yields the fenced blocks of a page."""
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


def commands(block: Block) -> Iterator[tuple[str, list[str], int]]:
    """Yields each command, the output that the page quotes, and the line of the page where that begins."""
    starts = [number for number, line in enumerate(block.lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        yield (
            block.lines[start].removeprefix("$ "),
            block.lines[start + 1 : end],
            block.start + start + 1,
        )


# --- Outputs -----------------------------------------------------------------------------------


def settled(output: str, quoted: list[str], *, bless: bool) -> list[str]:
    """Returns the lines that the page should quote.

    Without `bless` these are the quoted ones. With it, they are the printed lines; in a block with `…`, each line that
    is no longer printed becomes the printed one with the same words.

    Raises:
        AssertionError: If the page quotes something that was not printed, or that has no successor.
    """
    printed = [line.rstrip() for line in output.rstrip("\n").splitlines()]
    if any(line.strip() == _ANY for line in quoted):
        return _settled_parts(printed, quoted, bless=bless)
    ours, theirs = [_timeless(line) for line in printed], [_timeless(line) for line in quoted]
    while theirs and not theirs[-1]:
        theirs.pop()  # blank lines in front of the next command
    if ours == theirs:
        return quoted
    assert bless, "\n".join(["the page quotes:", *quoted, "printed:", *printed])
    kept = {_timeless(line): line for line in quoted}
    return [kept.get(line, new) for line, new in zip(ours, printed, strict=True)] + quoted[
        len(theirs) :
    ]


def _settled_parts(printed: list[str], quoted: list[str], *, bless: bool) -> list[str]:
    """The same where `…` divides the quoted lines: each part has to be printed in one piece, in this order."""
    printed = [line for line in printed if line]
    parts: list[list[str]] = [[]]
    for line in quoted:
        if line.strip() == _ANY:
            parts.append([])
        elif line.strip():
            parts[-1].append(line)
    result: list[str] = []
    at = 0
    for number, part in enumerate(parts):
        places = range(at, len(printed) - len(part) + 1)
        if number == 0:
            places = places[:1]
        elif number == len(parts) - 1 and part:
            places = places[-1:]
        place = _place(printed, part, places, _timeless)
        if place is None and bless:
            place = _place(printed, part, places, _words)
        assert place is not None, _unprinted(printed, part, bless=bless)
        found = printed[place : place + len(part)]
        result += [
            old if _timeless(old) == _timeless(new) else new
            for old, new in zip(part, found, strict=True)
        ]
        at = place + len(part)
    settled_lines = iter(result)
    return [line if line.strip() in {"", _ANY} else next(settled_lines) for line in quoted]


def _place(printed: list[str], part: list[str], places: range, form: object) -> int | None:
    """The first of `places` where all lines of `part` stand, compared in a form."""
    assert callable(form)
    wanted = [form(line) for line in part]
    for place in places:
        if [form(line) for line in printed[place : place + len(part)]] == wanted:
            return place
    return None


def _unprinted(printed: list[str], part: list[str], *, bless: bool) -> str:
    known = {_words(line) if bless else _timeless(line) for line in printed}
    missing = [
        line for line in part if (_words(line) if bless else _timeless(line)) not in known
    ] or part
    problem = (
        "no printed line has the words of these, or not in this order: edit the page"
        if bless
        else "the page quotes, and this was not printed in this order:"
    )
    return "\n".join([problem, *missing, "printed:", *printed])


def _timeless(line: str) -> str:
    """A line without the run time, which differs from run to run."""
    return _TIME.sub("in 0 s", line.rstrip())


def _words(line: str) -> str:
    """A line without numbers, and without the widths of columns."""
    return " ".join(_RULE.sub("─", _NUMBER.sub("0", line)).split())


# --- Links -------------------------------------------------------------------------------------


def links(text: str) -> list[str]:
    """Returns the targets of a page's links and images, outside of code."""
    paragraphs = _FENCED.sub("", text).split("\n\n")
    return [
        found[1] or found[2]
        for paragraph in paragraphs
        for found in _LINK.finditer(_CODE.sub("", paragraph))
    ]


def anchors(text: str) -> set[str]:
    """Returns the anchors of a page: its headings as GitHub names them, and its own."""
    found = set(_ANCHOR.findall(text))
    for heading in _HEADING.findall(_FENCED.sub("", text)):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        number = 0
        while (name := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(name)
    return found
