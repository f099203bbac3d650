"""User-defined runners for tests: a module in the test's directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# A user's runner: the simulator with a different name, facts about a machine and a warning.
FAKE = """\
import json
import os
import time
import fullpipe
from fullpipe.errors import refusal
from fullpipe.runners import Missing, runner

class Result:
    def __init__(self, inner, about):
        self._inner, self._about = inner, about
        self.trace_hash, self.tables = None if inner.trace_hash is None else "0" * 16, inner.tables
        self.table, self.units = inner.table, inner.units
    def metrics_json(self):
        return json.dumps({**json.loads(self._inner.metrics_json()), **self._about})

class Fake:
    name, about, real_time = "fake", "the simulator in disguise", False
    def missing(self):
        return None
    def refuse(self, scenario, trace):
        runner("sim").refuse(scenario, trace)
    def execute(self, scenario, trace, progress):
        about = {"runner": self.name, "host": {"kernel": "9.9"}, "warnings": ["the CPU was busy"]}
        return Result(runner("sim").execute(scenario, trace, progress), about)

class Other(Fake):
    name, about = "other", "the simulator with another seed"
    def execute(self, scenario, trace, progress):
        about = {"runner": self.name, "seed": scenario.seed, "host": {"kernel": "9.9", "cpu": "abacus"}}
        again = fullpipe.load(scenario.to_toml(), seed=scenario.seed + 1000)
        return Result(runner("sim").execute(again, trace, progress), about)

class Timed(Fake):
    # On a clock: each run takes its time, and no other goes on meanwhile.
    name, real_time = "timed", True
    pause_s = float(os.environ.get("PAUSE_S", "0.01"))
    def execute(self, scenario, trace, progress):
        try:  # an interrupt right after mkdir is one in the run
            os.mkdir("busy")  # fails when there are two
            for step in range(10):
                time.sleep(self.pause_s / 10)
                if progress is not None:
                    progress(scenario.duration_s * step / 10, scenario.duration_s, 0)
            return super().execute(scenario, trace, progress)
        finally:
            os.rmdir("busy")

class Doubtful(Fake):
    name = "doubtful"
    def execute(self, scenario, trace, progress):
        busy = f"the CPUs were busy for {90 + scenario.seed} % of the time"
        about = {"runner": self.name, "host": {"kernel": "9.9"}, "warnings": [busy]}
        return Result(runner("sim").execute(scenario, trace, progress), about)

def fails(scenario):
    algorithm = os.environ.get("FAIL_ONLY")
    if algorithm and algorithm not in [cc for _, cc in scenario.flows]:
        return False
    return scenario.seed in json.loads(os.environ.get("FAIL", "[]"))

class Failing(Timed):
    # Fails with the seeds that FAIL names, and only with the algorithm that FAIL_ONLY names; other runs have results.
    name = "failing"
    def execute(self, scenario, trace, progress):
        if fails(scenario):
            raise refusal(f"quinn ended with exit code {scenario.seed}", "run it alone", file=scenario.file)
        return super().execute(scenario, trace, progress)

class FailingAside(Failing):
    name, real_time = "failing-aside", False
    def execute(self, scenario, trace, progress):
        if fails(scenario):
            return super().execute(scenario, trace, progress)
        return Fake.execute(self, scenario, trace, progress)

class Choosy(Fake):
    name = "choosy"
    def refuse(self, scenario, trace):
        for number, (_, cc) in enumerate(scenario.flows):
            if cc == "bbr3":
                key = f"flow.{number}.cc"
                raise refusal("the kernel has no bbr3", "run it on sim", file=scenario.file, key=key, value=cc)

class Absent(Fake):
    name = "absent"
    def missing(self):
        return Missing("it has not been built", "run make absent")

class Nameless(Fake):
    name = "../up"

class Half:
    name = "half"
"""


def write_own_runners(directory: Path) -> None:
    """Writes `own_runners.py`, for `--on own_runners:Fake`."""
    (directory / "own_runners.py").write_text(FAKE, encoding="utf-8")
