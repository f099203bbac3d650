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


def test_every_public_name_is_in_the_python_page() -> None:
    import fullpipe

    missing = [name for name in fullpipe.__all__ if f"### `{name}`" not in PAGES["python.md"]]
    assert missing == ["__version__"]
