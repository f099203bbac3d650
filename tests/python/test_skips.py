"""With everything installed, a skip is a failure unless skips.txt lists it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ALLOWED

SKIPS = f"""
import pytest

@pytest.mark.skipif(True, reason="Ray is not installed")
def test_marked(): pass

def test_within():
    pytest.skip("user-mode Linux has not been built")

def test_listed():
    pytest.skip({ALLOWED[0]!r} + ": it is so")

def test_that_runs(): pass
"""


@pytest.mark.parametrize(
    ("strict", "said"),
    [("1", "1 failed, 1 passed, 1 skipped, 1 error"), ("", "1 passed, 3 skipped")],
)
def test_a_skip_that_is_not_listed_fails(tmp_path: Path, strict: str, said: str) -> None:
    (tmp_path / "test_it.py").write_text(SKIPS)
    (tmp_path / "test_module.py").write_text(
        "import pytest\npytest.importorskip('no_such_module')\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "FULLPIPE_NO_SKIP": strict,
        "PYTEST_ADDOPTS": "",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
    ]
    one = [*command, "-n", "0", "-c", os.devnull, str(tmp_path / "test_it.py")]
    done = subprocess.run(
        one, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert said in done.stdout, done.stdout
    assert ("2 tests skipped, since Ray" in done.stdout) is (not strict)
    module = [*command, "-n", "0", "-c", os.devnull, str(tmp_path / "test_module.py")]
    done = subprocess.run(
        module, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ("error" in done.stdout.splitlines()[-1]) is bool(strict), done.stdout
