"""The documentation's site, built and then read in headless Chromium from `file://`. `make docs` installs Zensical."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import depth
import fullpipe
from browser import built_engine, observed, once
from fullpipe.wings.pages.gallery import _group, uses

ROOT = Path(__file__).parents[3]
SITE = ROOT / "target/site"


@pytest.fixture(scope="module")
def shown() -> list[Path]:
    """The first scenario of each group of the gallery, for a release all of them."""
    groups: dict[str, list[Path]] = {}
    for file in sorted((ROOT / "scenarios").glob("*.toml")):
        groups.setdefault(_group(uses(fullpipe.load(file))), []).append(file)
    most = depth.of("FULLPIPE_GALLERY", 1, 1000)
    return [file for group in groups.values() for file in group[:most]]


@pytest.fixture(scope="module")
def site(shown: list[Path]) -> Path:
    """The built site. The build fails on a warning, such as a dead link."""
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("Zensical is not installed: `make docs` installs it")

    def build() -> None:
        command: list[str | Path] = [sys.executable, ROOT / "tools/site.py", *shown]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    once("site", build)
    return SITE


@pytest.fixture(scope="module")
def seen(site: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Observations on the site in a browser; see web/site.mjs."""
    return observed("site.mjs", site / "index.html", tmp_path_factory.mktemp("look"))


def test_every_page_is_in_the_navigation(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    pages = {page.relative_to(site).as_posix() for page in site.rglob("*.html")} - {
        "404.html",
        "explore.html",  # tests/python/wings/pages/test_explore.py
    }
    linked = set(re.findall(r'href="([^"#]+\.html)"', front))
    reached = linked | {
        (Path(page).parent / link).as_posix()
        for page in linked
        if (site / page).exists()
        for link in re.findall(r'href="([^"#:]+\.html)"', (site / page).read_text(encoding="utf-8"))
    }
    missing = {
        page
        for page in pages
        if not any((site / link).resolve() == site / page for link in reached)
    }
    assert not missing


def test_every_scenario_is_in_the_gallery(site: Path, shown: list[Path]) -> None:
    gallery = (site / "gallery.html").read_text(encoding="utf-8")
    front = (site / "index.html").read_text(encoding="utf-8")
    for scenario in shown:
        assert f'id="{scenario.stem}"' in gallery
        assert f"fullpipe run scenarios/{scenario.name}" in re.sub(r"<[^>]+>", "", gallery)
        assert f'href="gallery.html#{scenario.stem}"' in front
        assert (site / f"gallery/{scenario.stem}.png").stat().st_size > 5000


def test_the_tutorial_has_the_simulator_with_its_scenarios(site: Path, shown: list[Path]) -> None:
    built_engine()
    for name, scenario in (
        ("tutorial/first-run.html", (ROOT / "scenarios/cubic-deep-buffer.toml").read_text()),
        ("tutorial/your-path.html", "# A download next to a video call"),
        ("tutorial/compare.html", "# CUBIC against BBRv3"),
    ):
        page = (site / name).read_text(encoding="utf-8")
        (frame,) = re.findall(r'<iframe[^>]* src="?\.\./explore\.html#([^"\s>]+)', page)
        assert unquote(frame).startswith(scenario), name
    gallery = (site / "gallery.html").read_text(encoding="utf-8")
    assert len(re.findall(r'href="?explore\.html#', gallery)) > len(shown) / 2


def test_no_page_makes_a_request_or_an_error(seen: dict[str, Any]) -> None:
    assert seen["requests"] == []
    assert seen["errors"] == []


def test_pages_fit_wide_and_narrow_screens(seen: dict[str, Any]) -> None:
    assert {where: pixels for where, pixels in seen["overflow"].items() if pixels > 0} == {}


def test_search_works_without_a_server(seen: dict[str, Any]) -> None:
    assert any("reference/models/" in link for link in seen["search"]), seen["search"]
