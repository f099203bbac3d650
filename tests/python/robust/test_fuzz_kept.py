"""The kept inputs and the seeds of the fuzz targets in Python, without libFuzzer; those in Rust: fuzz/tests/kept.rs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import needs

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[3]
TARGETS = sorted(file for file in (ROOT / "fuzz/python").glob("*.py") if file.stem[0] != "_")


def _imported(target: Path, patched: pytest.MonkeyPatch) -> ModuleType:
    patched.syspath_prepend(target.parent)
    spec = importlib.util.spec_from_file_location(f"fuzz_{target.stem}", target)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs.ATHERIS
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.stem)
def test_every_kept_input_and_every_seed_passes(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run([sys.executable, ROOT / "tools/fuzz_seeds.py", tmp_path], check=True)
    module = _imported(target, monkeypatch)
    kept = sorted((ROOT / "fuzz/corpus" / target.stem).iterdir())
    assert kept
    for file in [*kept, *sorted((tmp_path / target.stem).glob("*"))]:
        print(file)  # the test's output names the input on which a check fails
        module.check(file.read_bytes())
