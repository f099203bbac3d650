"""Builds the documentation's site: `make docs` writes it to target/site. Arguments are the scenarios of the gallery.

1. Copies `docs/` and the project's own pages to a staging directory. A link to a source file becomes a link to a copy.
2. Runs the scenarios, by default every one of `scenarios/`, and adds the gallery: a page with all pictures, and a wall
   of them on the front page.
3. Adds the page of `fullpipe explore`, and shows it where a page has `<!-- explore: SCENARIO -->`. SCENARIO is one of
   `scenarios/`, or a file that the page itself shows; the page's own scenario without it.
4. Orders the navigation as `docs/index.md` and the sections' `index.md` link to the pages, and calls Zensical, which
   fails on a dead link.
5. Makes the site independent of other servers: `file://` is enough, search included.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from urllib.parse import quote

from fullpipe.wings.pages.explore import DEFAULT, EngineError, explorer, runs_in_pages
from fullpipe.wings.pages.gallery import GROUPS, Entry, entries, parts

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "target/docs"
SITE = ROOT / "target/site"
PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
SECTIONS = {
    "tutorial": "Tutorial",
    "guide": "How-to",
    "reference": "Reference",
    "evidence": "Evidence",
    "notebook": "Notebook",
    "project": "Project",
}
# Search runs in a worker, which a browser does not start from a `file://` page without this shim.
_SHIM = "https://unpkg.com/iframe-worker/shim"
# Pictures above the questions of the front page, one of each group of scenarios. On a wide screen
# they form a row.
_STRIP = 4
EXPLORER = "explore.html"
_EXPLORE = re.compile(r"<!-- explore(?:: (\S+))? -->")
_FENCE = re.compile(r"^(```.*?^```)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)#\s]+)([^)]*\))")


def stage() -> None:
    """Copies the pages, and the files that they link to."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGE / "docs")
    (STAGE / "docs/project").mkdir()
    for name in PROJECT:
        shutil.copy(ROOT / name, STAGE / "docs/project" / name)
    for page in sorted((STAGE / "docs").rglob("*.md")):
        relative = page.relative_to(STAGE / "docs")
        source = (
            ROOT / relative.name if relative.parts[0] == "project" else ROOT / "docs" / relative
        )
        parts = _FENCE.split(page.read_text(encoding="utf-8"))
        relinked = partial(_relinked, source=source, page=page)
        linked = [part if part.startswith("```") else _LINK.sub(relinked, part) for part in parts]
        page.write_text("".join(linked), encoding="utf-8")


def _relinked(found: re.Match[str], source: Path, page: Path) -> str:
    """A link of the repository as a link of the site."""
    target = found[2]
    if "://" in target or target.startswith("mailto:"):
        return found[0]
    there = (source.parent / target).resolve()
    inside = there.relative_to(ROOT)
    if inside.parts[:1] == ("docs",):
        new = STAGE / inside
    elif inside.as_posix() in PROJECT:
        new = STAGE / "docs/project" / inside
    elif inside.as_posix() == "README.md":
        new = STAGE / "docs/index.md"
    else:
        new = STAGE / "docs/files" / _file(there, inside)
    return f"{found[1]}{os.path.relpath(new, page.parent)}{found[3]}"


def _file(there: Path, inside: Path) -> str:
    """A copy of a source file as text, or of a directory as the list of its files; as a browser shows it."""
    if there.is_dir():
        listed = subprocess.run(
            ["git", "ls-files", there], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        name, text = f"{inside}/files.txt", listed
    else:
        name, text = f"{inside}.txt", there.read_text(encoding="utf-8")
    copy = STAGE / "docs/files" / name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text, encoding="utf-8")
    return name


def explore() -> bool:
    """The page of `fullpipe explore`, inside the pages that ask for it; False without the simulator for pages."""
    try:
        (STAGE / "docs" / EXPLORER).write_text(explorer(DEFAULT, "explore"), encoding="utf-8")
    except EngineError as error:
        print(f"the site has no explorer: {error}")
        return False
    for page in sorted((STAGE / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        made = _EXPLORE.sub(partial(_inline, text=text, page=page), text)
        if made != text:
            page.write_text(made, encoding="utf-8")
    return True


def _inline(found: re.Match[str], text: str, page: Path) -> str:
    """The explorer with a scenario, as a part of a page."""
    name = found[1]
    own = re.search(
        rf"^```toml file={re.escape(name or '')}\n(.*?)^```", text, re.DOTALL | re.MULTILINE
    )
    scenario = DEFAULT
    if name:
        scenario = own[1] if own else (ROOT / f"scenarios/{name}.toml").read_text(encoding="utf-8")
    # A page of the site is a file of its own, in the same directory as its source.
    link = f"{os.path.relpath(STAGE / 'docs' / EXPLORER, page.parent)}#{quote(scenario, safe='')}"
    return (
        f'<iframe class="explore" src="{link}" loading="lazy" title="The scenario in the simulator"></iframe>\n\n'
        f'<a href="{link}" target="_blank">Open it on a page of its own</a>'
    )


def gallery(live: bool, files: list[Path]) -> None:
    """Each scenario with words, command, picture and numbers; the front page gets its wall."""
    shown = entries(files)
    pictures = STAGE / "docs/gallery"
    pictures.mkdir()
    for entry in shown:
        (pictures / f"{entry.name}.png").write_bytes(entry.picture)
    sections, wall = [], []
    for group in GROUPS:
        there = [entry for entry in shown if entry.group == group]
        sections.append(f"## {group}\n\n" + "\n".join(_article(entry, live) for entry in there))
        wall.append(f"### {group}\n\n" + _wall(there))
    (STAGE / "docs/gallery.md").write_text(
        "# Gallery\n\nEvery file of `scenarios/`: its point, the command that runs it, its picture and its tables.\n\n"
        + "\n".join(sections),
        encoding="utf-8",
    )
    front = STAGE / "docs/index.md"
    firsts = [next(entry for entry in shown if entry.group == group) for group in GROUPS[:_STRIP]]
    front.write_text(
        front.read_text(encoding="utf-8").replace("<!-- pictures -->", _wall(firsts, "wall strip"))
        + "\n## Gallery\n\nEach picture is one scenario file; click it for words, command and numbers.\n\n"
        + "\n".join(wall),
        encoding="utf-8",
    )


def _article(entry: Entry, live: bool) -> str:
    width, height = entry.size
    again = f'<a href="{EXPLORER}#{quote(entry.scenario, safe="")}" target="_blank">Change and run again</a>\n'
    expected = "".join(
        f"- `{condition}`: {value}, {'met' if met else 'missed'}\n"
        for condition, value, met in entry.expected
    )
    return "\n".join(
        [
            f"### {entry.title} {{ #{entry.name} }}\n",
            *(f"- `{name}` {text}" if name else f"\n{text}\n" for name, text in parts(entry.about)),
            "",
            f"```sh\nfullpipe run scenarios/{entry.name}.toml\n```\n",
            again if live and runs_in_pages(entry.scenario) else "",
            f'<img class="shown" src="gallery/{entry.name}.png" width="{width}" height="{height}" loading="lazy"'
            f' alt="{entry.title}: windows, rates, states, round-trip times and queue over time">\n',
            f"```text\n{entry.numbers.strip(chr(10))}\n```\n",
            f"Its conditions, judged with its seed:\n\n{expected}\n" if expected else "",
        ]
    )


def _wall(shown: list[Entry], classes: str = "wall") -> str:
    links = "".join(
        f'<a href="gallery.html#{entry.name}">'
        f'<img src="gallery/{entry.name}.png" loading="lazy" alt="">{entry.title}</a>'
        for entry in shown
    )
    return f'<div class="{classes}">{links}</div>\n'


def navigation() -> list[dict[str, object]]:
    """The pages of each section, in the order in which the front page or the section's own links to them."""
    order = []
    for front in ("", *(f"{section}/" for section in SECTIONS)):
        page = STAGE / "docs" / front / "index.md"
        if page.exists():
            links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text(encoding="utf-8"))
            order += [os.path.normpath(front + link) for link in links]
    tabs: list[dict[str, object]] = [{"Home": "index.md"}, {"Gallery": "gallery.md"}]
    for section, title in SECTIONS.items():
        pages = sorted(
            (
                page.relative_to(STAGE / "docs").as_posix()
                for page in (STAGE / "docs" / section).rglob("*.md")
            ),
            key=lambda page: (
                page.count("/"),
                not page.endswith("index.md"),
                _place(page, order),
                page,
            ),
        )
        flat: list[object] = [{_title(page): page} for page in pages if page.count("/") == 1]
        models = [{_title(page): page} for page in pages if page.count("/") == 2]
        tabs.append({title: [*flat, {"Models": models}] if models else flat})
    return [*tabs[:-1], {"Glossary": "glossary.md"}, tabs[-1]]


def _place(page: str, order: list[str]) -> int:
    return order.index(page) if page in order else len(order)


def _title(page: str) -> str:
    heading = (STAGE / "docs" / page).read_text(encoding="utf-8").split("\n", 1)[0]
    return heading.removeprefix("# ").replace("`", "")


def build() -> None:
    """Calls Zensical, which fails on a warning."""
    settings = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    file = STAGE / "zensical.toml"
    file.write_text(
        settings.replace("[project]\n", f"[project]\nnav = {_toml(navigation())}\n", 1),
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", file]
    )
    if done.returncode:
        sys.exit("the site is not built: see the warnings above")
    shutil.rmtree(SITE, ignore_errors=True)
    (STAGE / "site").rename(SITE)


def _toml(value: object) -> str:
    """A value of texts, lists and tables as inline TOML."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def localize() -> None:
    """Replaces the one script from another server by a copy. Fails if a page loads another script from there."""
    for page in SITE.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        local = os.path.relpath(SITE / "assets/iframe-worker.js", page.parent)
        text = text.replace(_SHIM, local)
        page.write_text(text, encoding="utf-8")
        for url in re.findall(
            r"<(?:script|link|img)[^>]*?(?:src|href)=[\"']?(https?://[^\"'\s>]+)", text
        ):
            if "canonical" not in url:
                sys.exit(f"{page.relative_to(SITE)} would request {url}")


def main(scenarios: list[str]) -> None:
    stage()
    files = [Path(each) for each in scenarios] or sorted((ROOT / "scenarios").glob("*.toml"))
    gallery(explore(), files)
    build()
    localize()
    print(SITE.relative_to(ROOT) / "index.html")


if __name__ == "__main__":
    main(sys.argv[1:])
