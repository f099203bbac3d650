"""tools/touched.py names the tests of a change."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_SPEC = importlib.util.spec_from_file_location("touched", ROOT / "tools/touched.py")
assert _SPEC
assert _SPEC.loader
touched = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(touched)
WING = "tests/python/wings/"


@pytest.mark.parametrize(
    ("files", "wings"),
    [
        (["python/fullpipe/wings/search/score/race.py"], {"search"}),
        (["tests/python/wings/pages/test_explore.py", "docs/index.md"], {"pages"}),
        (["crates/wings/kernel/src/lib.rs"], {"bpf", "real"}),
        (["python/fullpipe/wings/traces/foreign/ss.py"], {"traces", "bpf", "fleet", "real"}),
    ],
)
def test_a_wing_breaks_itself_and_the_wings_that_import_it(
    files: list[str], wings: set[str]
) -> None:
    found = touched.folders(files)
    assert {each.removeprefix(WING) for each in found if each.startswith(WING)} == wings
    assert "tests/python/docs" in found
    assert set(found) >= touched.PRODUCTS


def test_a_page_breaks_the_documentation_and_the_core_everything() -> None:
    assert touched.folders(["README.md", "docs/guide/link.md"]) == ["tests/python/docs"]
    for file in (
        "crates/cc/src/lib.rs",
        "python/fullpipe/wings/__init__.py",
        "uv.lock",
        "Makefile",
    ):
        assert touched.folders(["README.md", file]) == ["tests/python"]


def test_what_it_names_is_there() -> None:
    assert all((ROOT / each).exists() for each in (touched.ALL, touched.DOCS, *touched.PRODUCTS))
    assert {file.name for file in (ROOT / "crates/wings").iterdir()} == set(touched.CRATES)
    declared = {wing for wings in touched.CRATES.values() for wing in wings}
    assert declared <= {file.name for file in touched.WINGS.iterdir() if file.is_dir()}
