"""Real QUIC, by the program `fullpipe-quic`, which `make quic` builds and puts beside Python."""

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
from fullpipe.errors import refusal
from fullpipe.runners import Missing

if TYPE_CHECKING:
    from fullpipe.runners import Progress

PROGRAM = "fullpipe-quic"


class Quic:
    """One of the program's two clocks.

    Attributes:
        name: What `--on` calls it.
        about: What it is, in one line.
        real_time: Whether it is the machine's clock.
    """

    def __init__(self, name: str, about: str, *, real_time: bool) -> None:
        self.name = name
        self.about = about
        self.real_time = real_time

    def missing(self) -> Missing | None:
        """The program may not have been built, or be of another version."""
        if _program() is None:
            return Missing(
                "the program fullpipe-quic has not been built",
                "run make quic, which takes some minutes",
            )
        return None

    def refuse(self, scenario: _core.Scenario, trace: str) -> None:
        """Asks the program."""
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
        plan: dict[str, Any] = {
            "scenario": scenario.to_toml(),
            "file": scenario.file,
            "on": self.name,
            "trace": trace,
        }
        path = folder / "plan.json"
        path.write_text(json.dumps(plan))
        return path


def _program() -> str | None:
    beside = Path(sys.executable).parent
    return shutil.which(PROGRAM, path=str(beside)) or shutil.which(PROGRAM)


def program() -> str:
    """Where it is; a runner that misses it has said so before."""
    found = _program()
    if found is None:
        raise RuntimeError("the registry asks a runner what is missing before it runs")
    return found


def _raise(code: int, errors: str, scenario: _core.Scenario, name: str) -> None:
    """What the program's exit code and its last line, JSON, mean."""
    words = errors.strip()
    if code == 0:
        return
    if code == -signal.SIGKILL and not words:
        problem = f"{PROGRAM} was killed, as happens when memory runs out"
        raise refusal(problem, "trace less often, or run it with fewer flows", place=f"--on {name}")
    parts = _parts(words)
    if "outdated" in parts:
        raise _outdated(name, parts["outdated"])
    problem = parts.get("problem") or words
    problem = problem or f"{PROGRAM} ended with exit code {code} and without a word"
    if "key" in parts:
        # The package wrote the scenario, with the keys that there are.
        if problem in ("unknown key", "missing"):
            raise _outdated(name, f"it does not know {parts['key']} as this package does")
        raise refusal(
            problem, parts["fix"], file=scenario.file, key=parts["key"], value=parts["value"]
        )
    if code == 2 and not parts:
        raise _outdated(name, words)  # this version refuses in JSON
    fix = "run it again, or with --on sim to see whether it is the scenario"
    raise refusal(problem, parts.get("fix", fix), place=f"--on {name}")


def _parts(words: str) -> dict[str, str]:
    """What the program says went wrong; nothing where it did not come to say it."""
    try:
        parts = json.loads(words.splitlines()[-1])
    except (IndexError, ValueError):
        return {}
    return parts if isinstance(parts, dict) else {}


def _outdated(name: str, why: str) -> _core.ScenarioError:
    return refusal(
        f"{PROGRAM} is of another version: {why}", "run make quic again", place=f"--on {name}"
    )
