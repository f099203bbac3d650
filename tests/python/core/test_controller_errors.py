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


COMMANDS = [
    ["check", "own.toml"],
    ["run", "own:Raises"],
    ["sweep", "own:Raises", "--repeat", "2", "--out", "out"],
    ["compare", "cubic", "own:Raises", "--repeat", "1"],
    ["evaluate", "own:Raises", "--criterion", "fairness", "--quick", "--out", "out"],
    ["attack", "search", "own:Raises", "--budget", "5s", "--out", "out"],
    ["plugin", "check", "own:Raises"],
]


@pytest.mark.parametrize("words", COMMANDS[:-1], ids=lambda words: words[0])
@pytest.mark.parametrize("end", ["__import__('os')._exit(0)", "raise SystemExit(0)"])
def test_an_algorithm_that_ends_the_process_is_an_error(
    words: list[str], end: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    """A gate would be green otherwise."""
    _write(tmp_path, OWN.format(end, "None"))
    done = fullpipe(*words)
    assert done.returncode == 2, done.stdout
    assert "error: " in done.stderr


def _write(folder: Path, own: str) -> None:
    (folder / "own.py").write_text(own)
    scenario = SCENARIO.replace('cc = "bbr1"', 'cc = "own:Raises"')
    (folder / "own.toml").write_text(scenario.replace("seed = 7", 'expect = ["jain >= 1%"]'))


ENDS = [
    "raise __import__('click').exceptions.Exit(0)",
    "raise __import__('click').Abort",
    "raise __import__('click').UsageError('mine')",
    "raise EOFError",
    "input()",
    "raise KeyboardInterrupt",
    "raise GeneratorExit",
    "raise SystemExit(0)",
    "open('weights.txt')",
    "raise BrokenPipeError",
    "raise FileExistsError",
    "raise __import__('fullpipe').ScenarioError('mine')",
]
"""Exceptions that have a meaning of their own for a command."""


def _is_of_the_user(said: str, method: str) -> None:
    lines = said.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("error: controller "))
    assert method in lines[first]
    assert lines[first + 1].startswith("Traceback"), said
    assert "own.py" in lines[first + 2], said


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("words", [COMMANDS[0], COMMANDS[1]], ids=lambda words: words[0])
def test_no_exception_of_a_class_is_an_end_of_the_command(
    words: list[str], end: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    _write(tmp_path, OWN.format(end, "None"))
    done = fullpipe(*words)
    assert done.returncode == 2, done.stdout + done.stderr
    _is_of_the_user(done.stderr, "own:Raises failed at")


@pytest.mark.parametrize("end", [ENDS[0], ENDS[3]])
@pytest.mark.parametrize("words", COMMANDS[2:], ids=lambda words: words[0])
def test_no_command_takes_an_exception_of_a_class_for_its_own_end(
    words: list[str], end: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    _write(tmp_path, OWN.format(end, "None"))
    done = fullpipe(*words)
    if words[0] == "plugin":  # it judges the class
        assert done.returncode == 1
        assert "in line 3" in done.stdout
        return
    assert done.returncode == 2, done.stdout + done.stderr
    _is_of_the_user(done.stderr, "own:Raises failed at")


@pytest.mark.parametrize(
    ("place", "method"),
    [
        (
            "    def observe(self): raise EOFError\n    fields = {'a': fullpipe.Field()}",
            "in observe",
        ),
        ("    def __getattr__(self, name): raise EOFError", "in __getattr__"),
        ("    def on_sent(self, cx, packet): raise EOFError", "in on_sent"),
    ],
)
def test_the_exception_of_each_method_is_of_the_class(
    place: str, method: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(
        "import fullpipe\n" + OWN.format("pass", "None") + f"{place}\n"
    )
    done = fullpipe("run", "own:Raises", "--duration", "1s", "--trace", "10ms", "--out", "kept")
    assert done.returncode == 2, done.stdout + done.stderr
    _is_of_the_user(done.stderr, method)


@pytest.mark.parametrize("end", ["import os; os._exit(0)", *ENDS])
def test_a_module_that_ends_the_process_is_an_error(
    end: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(f"{end}\n")
    done = fullpipe("run", "own:Mine")
    assert done.returncode == 2
    assert "error: " in done.stderr
    assert "_exit" in end or "own:Mine can't be imported\nTraceback" in done.stderr
