"""Real QUIC, by the program `fullpipe-quic`, which is in a wheel, or which `make quic` installs next to Python."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.algorithms import policies
from fullpipe.errors import refusal
from fullpipe.runners import Missing

if TYPE_CHECKING:
    from fullpipe.runners import Progress

PROGRAM = "fullpipe-quic"


class Quic:
    """A runner with real QUIC, on one of the program's two clocks.

    Attributes:
        name: The name for `--on`.
        about: A description in one line.
        real_time: Whether it uses the machine's clock.
    """

    own_controllers = quic = policies = True

    def __init__(self, name: str, about: str, *, real_time: bool) -> None:
        self.name = name
        self.about = about
        self.real_time = self.loopback = real_time
        self.namespaces = "only over the loopback: " if real_time else None

    def missing(self) -> Missing | None:
        """Returns the reason if the program has not been built."""
        if sys.platform != "linux":
            return Missing("it needs Linux", "run it on Linux")
        if _program() is None:
            return Missing(
                "the program fullpipe-quic has not been built",
                "run make quic, which takes a few minutes",
            )
        return None

    def refuse(self, scenario: _core.Scenario, trace: str) -> None:
        """Lets the program check the scenario."""
        with tempfile.TemporaryDirectory(prefix="fullpipe-quic-") as folder:
            plan = self._plan(scenario, trace, Path(folder))
            done = subprocess.run(
                [program(), "check", plan], capture_output=True, text=True, check=False
            )
            _raise(done.returncode, done.stderr, scenario, self.name)

    def execute(
        self, scenario: _core.Scenario, trace: str, progress: Progress | None
    ) -> _core.RunResult:
        """Lets the program run it; an interrupt ends the program."""
        with tempfile.TemporaryDirectory(prefix="fullpipe-quic-") as folder:
            out = Path(folder) / "out"
            errors = Path(folder) / "errors"
            command = [program(), "run", str(self._plan(scenario, trace, Path(folder))), str(out)]
            with (
                errors.open("wb") as stderr,
                subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=stderr, text=True
                ) as running,
            ):
                try:
                    for line in running.stdout or ():
                        match line.split():
                            case ["progress", now, end, events] if progress:
                                progress(float(now), float(end), int(events))
                except BaseException:
                    running.kill()
                    raise
            _raise(running.returncode, errors.read_text(), scenario, self.name)
            return _core.handed_over(out, repeatable=not self.real_time)

    def _plan(self, scenario: _core.Scenario, trace: str, folder: Path) -> Path:
        text = scenario.to_toml()
        plan: dict[str, Any] = {
            "scenario": text,
            "file": scenario.file,
            "on": self.name,
            "trace": trace,
            "policies": [
                (policy.name, str(policy.file.resolve()))
                for policy in policies.used(_core.algorithm_names(text))
            ],
        }
        path = folder / "plan.json"
        path.write_text(json.dumps(plan))
        return path


def _program() -> str | None:
    beside = Path(sys.executable).parent
    own = Path(_core.__file__).parent / "_bin"  # of a wheel
    found = (shutil.which(PROGRAM, path=str(folder)) for folder in (beside, own))
    return next(filter(None, found), None) or shutil.which(PROGRAM)


def program() -> str:
    """Returns the program's path; `missing()` has found it before."""
    found = _program()
    if found is None:
        raise RuntimeError("a runner's missing() is called before it runs")
    return found


def _raise(code: int, errors: str, scenario: _core.Scenario, name: str) -> None:
    """Raises the error that the program's exit code and its last line, JSON, describe."""
    words = errors.strip()
    if code == 0:
        return
    if code == -signal.SIGKILL and not words:
        problem = f"{PROGRAM} was killed, which may mean that memory ran out"
        raise refusal(problem, "use a longer trace interval, or fewer flows", place=f"--on {name}")
    parts = _parts(words)
    if "outdated" in parts:
        raise _outdated(name, parts["outdated"])
    problem = parts.get("problem") or words
    problem = problem or f"{PROGRAM} ended with exit code {code} and without a message"
    if "key" in parts:
        # This package wrote the scenario, so its keys are right.
        if problem in ("unknown key", "missing"):
            raise _outdated(name, f"its key {parts['key']} differs from this package's")
        raise refusal(
            problem, parts["fix"], file=scenario.file, key=parts["key"], value=parts["value"]
        )
    if code == 2 and not parts:
        raise _outdated(name, words)  # an up-to-date program writes errors as JSON
    fix = "run it again, or with --on sim to see whether the scenario is the cause"
    raise refusal(problem, parts.get("fix", fix), place=f"--on {name}")


def _parts(words: str) -> dict[str, str]:
    """Returns the program's error message by part; empty if it ended without one."""
    try:
        parts = json.loads(words.splitlines()[-1])
    except (IndexError, ValueError):
        return {}
    return parts if isinstance(parts, dict) else {}


def _outdated(name: str, why: str) -> _core.ScenarioError:
    return refusal(
        f"{PROGRAM} has a different version: {why}", "run make quic again", place=f"--on {name}"
    )
