"""Checks the prose of the project, and draws samples of it for a reader.

    python tools/prose.py lint [PATH...]       reports patterns that make a text hard to read
    python tools/prose.py draw --seed N        prints twenty strings of help, keys, errors, docs and comments

Prose is every comment, docstring and string literal of at least three words in the sources, and every paragraph of a
Markdown page outside its code blocks. `tools/prose-exceptions.txt` lists what a pattern finds and is meant.
Spelling is `typos`' business (typos.toml), and line lengths are ruff's and rustfmt's.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
EXCEPTIONS = ROOT / "tools/prose-exceptions.txt"

# A pattern, and what to write instead. Patterns ignore case, and a line break counts as a space.
PATTERNS = {
    r"\bshall\b": "must, will, or the present tense",
    r"\btold\b": "reported, printed, notified, known",
    r"\bso (?:many|often|much)\b(?! (?:more|less|that|as))": "N, every TIME, an amount",
    r"\bby (?:itself|themselves)\b": "automatically, or alone",
    r"\bof which\b": "two sentences, or whose",
    r"\bwhat (?:is|are|was|were|has|have|had|came|comes|becomes|arrives|waits|leaves|it|they)\b(?!\?)": (
        "the noun: data in flight, the result"
    ),
    r"\bwhether it be\b": "whether it is, or or",
    r"\ba head\b": "a column header, the head of the queue",
    r"\b(?:come|comes|came|coming) to\b": "meet, result in, give",
    r"\b(?:hold|holds|held|holding) (?:\w+ )?against\b": "compare with, validate against",
    r"\bsome (?:two|three|five|ten|twenty|hundred|\d+)\b": "about",
    r"\b(?:is|are) (?:none|nothing)\b": "no ..., does not ..., has no effect",
    r"\bin (?:the|its|their) place of\b|\bin its place\b": "instead of, replaces",
    r"\bbeside\b": "next to, compared with, relative to, in addition to",
    r"\bbefall|\bslip of the pen\b|\bby and by\b|\bthereof\b|\bwhereof\b|\btherein\b": "a plain word",
    r"\b(?:mend|mends|mended|mending)\b": "fix",
    r"\b(?:demand|demands|demanded) (?:of|that)\b": "require",
    r"\bout of a (?:capture|file|trace|log)\b": "from",
    r"\blaws?\b(?! of large numbers)": "distribution",
    r"\bnobody\b|\bsomebody\b": "name the actor",
    r"\bseen from\b": "relative to",
    r"\bis said\b|\bwas said\b|\bit is that\b": "name the actor, or leave it out",
    r"\bhas a part in\b|\bhave a part in\b": "depends on, uses random numbers",
    r"\bin mid-run\b": "during the run",
    r"\bwhoever\b|\bwherefrom\b|\bwherewith\b": "name the actor",
    r"\bas it were\b|\bso to say\b": "leave it out",
    r"(?:^|[.:;!?] )Of (?:an?|the|each|every|all|those|what|one|two|several|both|its|their)\b": (
        "begin with the subject"
    ),
    r"(?:^|[.!?] )(?:What|Who|Whose|Which)\b(?![^.]*\?)": "begin with the noun or the verb",
    r"^How\b(?![^.]*\?)(?![ -]to\b)": "begin with the noun: number of, rate at which",
}
_FOUND = re.compile("|".join(f"(?P<p{n}>{p})" for n, p in enumerate(PATTERNS)), re.IGNORECASE)
# These three look at the beginning of a sentence, where case matters.
_CASED = {n for n, p in enumerate(PATTERNS) if p.startswith(("(?:^", "^"))}

SUFFIXES = {
    ".rs",
    ".py",
    ".pyi",
    ".md",
    ".toml",
    ".js",
    ".css",
    ".yml",
    ".yaml",
    ".cff",
    ".sh",
    ".c",
}
NAMES = {"Makefile", "run", "build"}
SKIPPED = re.compile(
    r"^(?:Cargo.lock|uv.lock|docs/notebook/|LICENSE|.*uPlot|tools/prose|tests/captures/|typos.toml|"
    r"web/package|published/.*-(?:cells|table)\.toml|.*\.lock$)"
)


class Prose(NamedTuple):
    """A piece of prose: where it is, its kind, and its lines as they stand in the file."""

    path: str
    line: int  # of the first, from 1
    kind: str  # comment, string, page
    lines: list[str]

    @property
    def text(self) -> str:
        return " ".join(line.strip() for line in self.lines).strip()


def files(paths: list[str]) -> Iterator[str]:
    """The tracked files with prose in them, below `paths` if there are any."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for path in listed:
        name = Path(path)
        if (
            (name.suffix in SUFFIXES or name.name in NAMES)
            and not SKIPPED.match(path)
            and (ROOT / path).exists()
        ):
            yield path


# --- Reading -----------------------------------------------------------------------------------

_RUST = re.compile(
    r"""(?P<comment>//[/!]?[^\n]*)|(?P<block>/\*.*?\*/)|(?P<raw>b?r(?P<hash>\#*)".*?"(?P=hash))"""
    r"""|(?P<string>b?"(?:\\.|[^"\\])*")|(?P<char>'(?:\\.[^']*|[^'\\\n])')""",
    re.DOTALL,
)
_HASH = re.compile(
    r"""(?P<string>\"\"\".*?\"\"\"|'''.*?'''|"(?:\\.|[^"\\\n])*"|'[^'\n]*')|(?P<comment>\#[^\n]*)""",
    re.DOTALL,
)


def read(path: str) -> Iterator[Prose]:
    """The prose of one file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    suffix = Path(path).suffix
    if suffix == ".md":
        yield from _page(path, text)
    elif suffix in {".py", ".pyi"}:
        yield from _merge(path, _python(text))
    elif suffix in {".rs", ".js", ".c", ".css"}:
        yield from _merge(path, _rust(text))
    else:
        yield from _merge(path, _hashed(text, strings=suffix in {".toml", ".cff"}))


def _rust(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Line, column, kind and text of each comment and string."""
    for found in _RUST.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start()) - 1
        if found["comment"]:
            kind = "doc" if found["comment"].startswith(("///", "//!")) else "comment"
            yield line, column, kind, re.sub(r"^//[/!]?", "", found["comment"])
        elif found["block"]:
            yield line, column, "comment", found["block"].strip("/*")
        elif found["string"]:
            yield line, column, "string", re.sub(r"\\\n\s*", " ", found["string"].lstrip("b")[1:-1])
        elif found["raw"]:
            yield line, column, "string", found["raw"].split('"', 1)[1].rsplit('"', 1)[0]


def _python(text: str) -> Iterator[tuple[int, int, str, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line, column = token.start
        if token.type == tokenize.COMMENT:
            yield line, column, "comment", token.string.lstrip("#")
        elif token.type == tokenize.STRING:
            body = re.sub(r"^[a-zA-Z]*", "", token.string)
            quotes = 3 if body[:3] in {'"""', "'''"} else 1
            yield line, column, "doc" if quotes == 3 else "string", body[quotes:-quotes]


def _hashed(text: str, strings: bool) -> Iterator[tuple[int, int, str, str]]:
    for found in _HASH.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start()) - 1
        if found["comment"]:
            yield line, column, "comment", found["comment"].lstrip("#")
        elif strings:
            yield line, column, "string", found["string"].strip("\"'")


def _merge(path: str, tokens: Iterator[tuple[int, int, str, str]]) -> Iterator[Prose]:
    """Comments on successive lines are one text, and adjacent strings too; a blank comment ends one."""
    open_: Prose | None = None
    column_before = 0
    for line, column, kind, text in tokens:
        lines = text.splitlines() or [""]
        follows = (
            open_ is not None
            and open_.kind == kind
            and line == open_.line + len(open_.lines)
            and column == column_before
            and lines[0].strip()
        )
        if open_ is not None and follows:
            open_.lines.extend(lines)
            continue
        if open_ is not None:
            yield from _prose(open_)
        open_, column_before = Prose(path, line, kind, lines), column
    if open_ is not None:
        yield from _prose(open_)


def _prose(piece: Prose) -> Iterator[Prose]:
    """Its paragraphs, if they are prose: three words, one of them in lower case; not code in a doc comment."""
    start, fenced = 0, False
    for end, line in enumerate([*piece.lines, ""]):
        if line.strip().startswith("```"):
            fenced = not fenced
        if line.strip() and not fenced:
            continue
        part = Prose(piece.path, piece.line + start, piece.kind, piece.lines[start:end])
        start = end + 1
        words = re.findall(r"(?<![\w./:])[A-Za-z][a-z'-]*(?![\w/(:])", part.text)
        if (
            not fenced
            and len(words) >= 3
            and any(word.islower() and len(word) > 2 for word in words)
        ):
            yield part


def _page(path: str, text: str) -> Iterator[Prose]:
    lines: list[str] = []
    fenced = False
    first = 1
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        prose = bool(line.strip()) and not fenced and not line.lstrip().startswith(("```", "<!--"))
        begins = line.lstrip().startswith(("|", "#", "- ", "* ")) or bool(
            re.match(r"\s*\d+\. ", line)
        )
        if lines and (not prose or begins):
            yield from _prose(Prose(path, first, "page", lines))
            lines = []
        if prose:
            first = first if lines else number
            lines.append(re.sub(r"^(\s*)(?:[-*]|\d+\.|#+) ", r"\1", line))


# --- Commands ----------------------------------------------------------------------------------


def _plain(text: str) -> str:
    """The text without code, link targets and marks that no reader reads."""
    text = re.sub(r"``.*?``|`[^`]*`", "`code`", text)
    text = re.sub(r"\]\([^)]*\)|<a [^>]*>", "]", text)
    return re.sub(r"\s+", " ", text.replace("**", ""))


def lint(paths: list[str]) -> int:
    allowed = [
        line.split(": ", 1)
        for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines()
        if line and line[0] != "#"
    ]
    used = set()
    problems = 0
    for path in files(paths):
        for piece in read(path):
            text = _plain(piece.text)
            cells = [cell.strip() for cell in text.split("|")] if text.startswith("|") else [text]
            for cell in cells:
                for found in _FOUND.finditer(cell):
                    number = next(n for n in range(len(PATTERNS)) if found[f"p{n}"] is not None)
                    pattern = list(PATTERNS)[number]
                    if number in _CASED and not re.search(pattern, found[0] + cell[found.end() :]):
                        continue
                    around = cell[max(0, found.start() - 30) : found.end() + 30]
                    excused = next(
                        (
                            n
                            for n, (where, what) in enumerate(allowed)
                            if re.fullmatch(where, path) and what in cell
                        ),
                        None,
                    )
                    if excused is not None:
                        used.add(excused)
                        continue
                    problems += 1
                    print(
                        f"{path}:{piece.line}: “{found[0].strip(' .:;')}” in “…{around}…”; better: {PATTERNS[pattern]}"
                    )
    if not paths:
        for number, (where, what) in enumerate(allowed):
            if number not in used:
                problems += 1
                print(f"{EXCEPTIONS.relative_to(ROOT)}: “{where}: {what}” excuses no text")
    print(f"{problems} to rewrite" if problems else "no pattern found", file=sys.stderr)
    return 1 if problems else 0


def draw(seed: int, count: int) -> int:
    """Strings of each kind in turn, so that the many comments don't crowd out the help."""
    kinds: dict[str, list[Prose]] = {"page": [], "doc": [], "comment": [], "string": []}
    for path in files([]):
        if not re.match(r"tests/|crates/(wings/)?[^/]+/tests/", path):
            for piece in read(path):
                if not piece.text.startswith("|---"):
                    kinds[piece.kind].append(piece)
    chance = random.Random(seed)
    for number in range(count):
        piece = chance.choice(list(kinds.values())[number % len(kinds)])
        print(f"{piece.path}:{piece.line} ({piece.kind})\n    {piece.text}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("lint").add_argument("paths", nargs="*")
    drawn = commands.add_parser("draw")
    drawn.add_argument("--seed", type=int, required=True)
    drawn.add_argument("--count", type=int, default=20)
    given = parser.parse_args()
    if given.command == "lint":
        return lint(given.paths)
    return draw(given.seed, given.count)


if __name__ == "__main__":
    sys.exit(main())
