"""The generated pages of docs/reference say what the program says. FULLPIPE_BLESS=1 writes them."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "tools"))

import reference  # noqa: E402

PAGES = reference.pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_follows(name: str) -> None:
    page = ROOT / "docs/reference" / name
    if os.environ.get("FULLPIPE_BLESS"):
        page.write_text(PAGES[name], encoding="utf-8")
    assert page.read_text(encoding="utf-8") == PAGES[name], (
        f"{name} is out of date: FULLPIPE_BLESS=1 writes it"
    )


def test_the_guide_lists_the_runners() -> None:
    """FULLPIPE_BLESS=1 writes the table. Each runner but the simulator has a page, which tells its limits."""
    page = ROOT / "docs/guide/runners.md"
    begin, end = "<!-- runners -->\n", "<!-- end of runners -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    table = reference.runners_table()
    whole = f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    if os.environ.get("FULLPIPE_BLESS"):
        page.write_text(whole, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == whole, "FULLPIPE_BLESS=1 writes it"
    without = [row.split("`")[1] for row in table.splitlines()[2:] if "](" not in row]
    assert without == ["sim"]


def test_every_public_name_is_in_the_python_page() -> None:
    import fullpipe

    missing = [name for name in fullpipe.__all__ if f"### `{name}`" not in PAGES["python.md"]]
    assert missing == ["__version__"]
