"""Errors of algorithms in Python, as the command shows them: the class, the time, the method and a short traceback."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import SCENARIO
from fullpipe.algorithms.classes import METHODS

if TYPE_CHECKING:
    from conftest import Fullpipe

OWN = """\
class Raises:
    def __init__(self, config): pass
    def on_ack(self, cx, ack): {}
    def decision(self):
        import fullpipe
        return fullpipe.Decision(20_000, wake_at={})
"""


def test_the_command_shows_a_traceback_of_the_users_code_alone(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN.format("1 / 0", "None"))
    done = fullpipe("run", "own:Raises", "--duration", "4s")
    assert (done.returncode, done.stdout) == (2, "")  # 1 means that a condition is not met
    lines = done.stderr.splitlines()
    assert re.fullmatch(r"error: controller own:Raises failed at 0\.\d+ s in on_ack", lines[0])
    assert lines[1] == "Traceback (most recent call last):"
    assert "own.py" in lines[2]
    assert len(lines) <= 6
    assert lines[-1].startswith("ZeroDivisionError")


@pytest.mark.parametrize("command", ["run", "sweep"])
@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (
            "class Mine:\n    def __init__(self, path, params): ...\n"
            "    def on_ack(self, cx, ack): ...\n    def decision(self): ...",
            [
                r"error: controller own:Mine failed at 0\.000 s: TypeError: Mine\.__init__\(\) missing .*",
                r"  fix: docs/reference/controller\.md has the methods and their arguments",
            ],
        ),
        (
            "import fullpipe\nclass Mine:\n    def __init__(self, config): ...\n"
            "    def on_ack(self, ack): ...\n    def decision(self): return fullpipe.Decision(20_000)",
            [
                r"error: controller own:Mine failed at 0\.\d+ s: TypeError: Mine\.on_ack\(\) takes 2 .*",
                r"  fix: docs/reference/controller\.md has the methods and their arguments",
            ],
        ),
        (
            "import fullpipe\nclass Mine(fullpipe.Missing): ...",
            [
                r"error: controller own:Mine can't be imported",
                r"Traceback .*",
                r'  File ".*own\.py", line 2, in <module>',
                *[r".*"] * 6,
                r"AttributeError: module 'fullpipe' has no attribute 'Missing'",
            ],
        ),
    ],
    ids=["arguments of init", "arguments of on_ack", "import"],
)
def test_an_error_names_the_class_and_ends_soon(
    fullpipe: Fullpipe, tmp_path: Path, command: str, code: str, lines: list[str]
) -> None:
    (tmp_path / "own.py").write_text(code)
    more = ["--out", "kept"] if command == "sweep" else []
    done = fullpipe(command, "own:Mine", "--duration", "1s", *more)
    assert (done.returncode, done.stdout) == (2, "")
    found = [line for line in done.stderr.splitlines() if not line.startswith("kept")]
    assert len(found) <= len(lines), done.stderr
    assert all(re.fullmatch(*pair) for pair in zip(lines[:3], found, strict=False)), done.stderr
    assert re.fullmatch(lines[-1], found[-1])


def test_a_timer_that_fires_forever_is_an_error_without_a_traceback(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN.format("pass", "0.0"))
    done = fullpipe("run", "own:Raises", "--duration", "4s")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: cc = own:Raises: wake_at = 0: on_timer was called at 0, so the timer would fire forever\n"
        "  fix: let on_timer set a later time, or None\n"
    )


@pytest.mark.parametrize("command", ["run", "compare", "sweep", "evaluate"])
@pytest.mark.parametrize(
    ("method", "fix"),
    [("on_recover", "did you mean on_recovery?"), ("on_loss", "did you mean on_lost?")],
)
def test_a_method_that_nothing_calls_is_refused(
    command: str, method: str, fix: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    own = OWN.format("pass", "None") + f"    def {method}(self, cx, change): pass\n"
    (tmp_path / "own.py").write_text(own)
    others = ["cubic"] if command == "compare" else []
    done = fullpipe(command, "own:Raises", *others)
    assert done.returncode == 2
    assert f"Raises has a method {method}, which nothing calls\n  fix: {fix}" in done.stderr


def test_the_reference_has_the_methods_that_are_called() -> None:
    text = (Path(__file__).parents[3] / "docs/reference/controller.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(on_\w+)\(", text, re.MULTILINE)) == set(METHODS)


@pytest.mark.parametrize(
    "words",
    [
        ["check", "own.toml"],
        ["run", "own:Raises"],
        ["compare", "cubic", "own:Raises", "--repeat", "1"],
        ["evaluate", "own:Raises", "--criterion", "fairness", "--quick", "--out", "out"],
        ["attack", "search", "own:Raises", "--budget", "5s", "--out", "out"],
    ],
)
@pytest.mark.parametrize("end", ["__import__('os')._exit(0)", "raise SystemExit(0)"])
def test_an_algorithm_that_ends_the_process_is_an_error(
    words: list[str], end: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    """A gate would be green otherwise."""
    (tmp_path / "own.py").write_text(OWN.format(end, "None"))
    scenario = SCENARIO.replace('cc = "bbr1"', 'cc = "own:Raises"')
    (tmp_path / "own.toml").write_text(scenario.replace("seed = 7", 'expect = ["jain >= 1%"]'))
    done = fullpipe(*words)
    assert done.returncode == 2, done.stdout
    assert "error: " in done.stderr


@pytest.mark.parametrize("end", ["import os; os._exit(0)", "raise SystemExit(0)"])
def test_a_module_that_ends_the_process_is_an_error(
    end: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(f"{end}\n")
    done = fullpipe("run", "own:Mine")
    assert done.returncode == 2
    assert "error: " in done.stderr
