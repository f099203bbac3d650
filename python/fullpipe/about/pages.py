"""The documentation's pages, which the package has as Markdown."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path

PLACE = Path(__file__).parents[1] / "docs"
FOLDERS = ("tutorial", "guide", "reference", "evidence")
"""The folders of pages for readers, in their order; the notebook's records are not part of the package."""


_COMMENT = re.compile(r"^<!--.*?-->\n\n?", re.MULTILINE)


class NoPageError(LookupError):
    """There is no page of that name; the text has the fix."""


def _pages() -> dict[str, Path]:
    """Returns the files of the pages by their names: `guide/link`."""
    if not (PLACE / "index.md").is_file():
        raise NoPageError(
            "the documentation is not installed here\n  fix: install fullpipe from a wheel, or use a clone"
        )
    files = [*sorted(PLACE.glob("*.md"))]
    for folder in FOLDERS:
        files += sorted((PLACE / folder).rglob("*.md"))
    return {file.relative_to(PLACE).with_suffix("").as_posix(): file for file in files}


def listed() -> str:
    """Returns the names of the pages with their titles, a line each.

    Raises:
        NoPageError: When the package has no documentation.
    """
    pages = _pages()
    width = max(map(len, pages)) + 2
    return "".join(f"{name:{width}}{_title(file)}\n" for name, file in pages.items())


def page(name: str) -> str:
    """Returns the text of a page: `guide/link`, or `link` if one page ends with it.

    Raises:
        NoPageError: When there is no such page, or several.
    """
    pages = _pages()
    name = name.removeprefix("docs/").removesuffix(".md")
    those = [name] if name in pages else [each for each in pages if each.endswith(f"/{name}")]
    if len(those) != 1:
        near = those or get_close_matches(name, pages, n=1)
        fix = (
            f"did you mean {' or '.join(near)}?" if near else "`fullpipe explain --docs` lists them"
        )
        problem = "several pages" if those else "no page of the documentation"
        raise NoPageError(f"{name}: {problem}\n  fix: {fix}")
    return _COMMENT.sub("", pages[those[0]].read_text(encoding="utf-8"))


def _title(file: Path) -> str:
    found = re.search(r"^# (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""
