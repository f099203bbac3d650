"""The tests' calls of the command."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

import pytest

import served

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", served.IMPORTED)
def test_what_is_imported_beforehand_is_there(name: str) -> None:
    importlib.import_module(name)


def test_a_call_has_its_own_folder_environment_output_and_exit_code(tmp_path: Path) -> None:
    done = served.call(["explain", "nothing"], tmp_path, {**os.environ, "NO_COLOR": "1"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: " in done.stderr
    merged = served.call(
        ["explain", "nothing"], tmp_path, {**os.environ, "NO_COLOR": "1"}, merged=True
    )
    assert (merged.returncode, merged.stdout, merged.stderr) == (2, done.stderr, "")
