"""With everything installed, a skip is a failure unless skips.txt lists it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ALLOWED

# Hypothesis takes most of the start.
PYTEST = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:hypothesispytest"]
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


# A test that is skipped until a file is there, one that passes, and one that appears with the file.
LATER = """
from pathlib import Path
import pytest

INSTALLED = Path(__file__).with_name("installed").exists()

@pytest.mark.skipif(not INSTALLED, reason="Ray is not installed")
def test_that_waits(): pass

def test_that_passes(): pass

@pytest.mark.parametrize("number", range(2 if INSTALLED else 1))
def test_of_each(number): pass
"""


def test_the_rest_is_what_did_not_pass(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(LATER)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "FULLPIPE_NO_SKIP": "",
        "PYTEST_ADDOPTS": "",
    }
    command = [*PYTEST, "--rootdir", str(tmp_path)]

    def run(*more: str, workers: int = 0) -> str:
        words = [*command, f"-n{workers}", "-c", os.devnull, "-v", str(file), *more]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    assert "2 passed, 1 skipped" in run()
    (tmp_path / "installed").touch()
    for workers in (2, 0):  # what passes then is no part of the list
        rest = run("--rest", workers=workers)
        assert "2 passed" in rest
        assert "test_that_waits" in rest
        assert "test_of_each[1]" in rest
        assert "test_that_passes" not in rest
    run("--last-failed")
    assert "2 passed" in run("--rest")
    assert "4 passed" in run()


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
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "FULLPIPE_NO_SKIP": strict,
        "PYTEST_ADDOPTS": "",
    }
    command = [*PYTEST, "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
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
