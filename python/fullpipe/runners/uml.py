"""The real Linux TCP stack in simulated time: user-mode Linux, whose clock only timers advance (`make oracle`)."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.errors import refusal
from fullpipe.runners import Missing, _uml_boot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.runners import Progress, Result

# Algorithms that oracle/config builds in.
_ALGORITHMS = (
    *(
        "reno",
        "cubic",
        "bbr",
        "bic",
        "cdg",
        "dctcp",
        "htcp",
        "hybla",
        "highspeed",
        "illinois",
        "lp",
        "nv",
        "scalable",
    ),
    *("vegas", "veno", "westwood", "yeah"),
)


# Steps of a boot that not every machine allows, by the beginning of their error message, with the fix.
_NEEDED = {
    "unshare": "let root allow user namespaces (fullpipe doctor); in a container: --security-opt seccomp=unconfined",
    "ptrace": "let it trace processes of its own; in a container: --cap-add SYS_PTRACE, or a kernel from 4.8 on",
}


class _Uml:
    name = "uml"
    about = "Linux's own TCP in simulated time (user-mode Linux): exact, no noise, no root needed"
    real_time = False

    def missing(self) -> Missing | None:
        if _uml_boot.kernel() is None:
            return Missing(
                "user-mode Linux has not been built", "run make oracle (about 6 minutes, cached)"
            )
        if absent := [
            tool for tool in _uml_boot.TOOLS if not shutil.which(tool, path=_uml_boot.SEARCHED)
        ]:
            return Missing(
                f"{absent[0]} is not installed", "apt-get install util-linux iproute2", root=True
            )
        return None

    def refuse(self, scenario: _core.Scenario, trace: str) -> None:
        _job(scenario, trace)

    def execute(self, scenario: _core.Scenario, trace: str, progress: Progress | None) -> Result:
        return execute([scenario], trace, progress)[0]


RUNNER = _Uml()


def execute(
    scenarios: Sequence[_core.Scenario], trace: str, progress: Progress | None = None
) -> list[_core.RunResult]:
    """Runs scenarios in one boot, one after the other.

    Raises:
        ScenarioError: When a scenario needs a feature that Linux does not have, or user-mode Linux
            or an agent fails.
    """
    jobs = [_job(scenario, trace) for scenario in scenarios]
    total = sum(scenario.duration_s for scenario in scenarios)

    def tick(elapsed: float) -> None:
        if progress:
            progress(min(elapsed, total), total, 0)

    try:
        with _uml_boot.booted(jobs, tick) as directories:
            return [
                _core.measured(scenario, trace, str(directory), _facts(job))
                for scenario, job, directory in zip(scenarios, jobs, directories, strict=True)
            ]
    except RuntimeError as error:
        problem = str(error)
        fix = next(
            (fix for what, fix in _NEEDED.items() if f"{what}: " in problem),
            "fix the cause that it reports, and run it again",
        )
        raise refusal(f"--on {RUNNER.name}: {problem}", fix, file=scenarios[0].file) from error


def _facts(job: _uml_boot.Job) -> str:
    """Returns the facts about a run that its records do not have, as JSON."""
    topology = json.loads(job.topology)
    departs = "first" if topology["departs_first"] else "last"
    known = {
        "runner": RUNNER.name,
        "first_port": topology["first_port"],
        "departs": departs,
        "paced": topology["paced"],
    }
    return json.dumps({**known, "host": facts(), "warnings": []})


def facts() -> dict[str, str]:
    """Returns the facts about the host for a run's metrics."""
    known = _uml_boot.kernel() or {}
    return {
        "kernel": f"{known.get('release')} (user-mode Linux, {known.get('package')} {known.get('version')})",
        "config": known.get("config", ""),
        "clock": "simulated (time-travel=inf-cpu)",
    }


def _job(scenario: _core.Scenario, trace: str) -> _uml_boot.Job:
    topology = _core.uml_topology(scenario)
    ends = json.loads(topology)
    plan = _core.agent_plan(
        scenario, trace, ends["receiver"], ends["first_port"], RUNNER.name, _ALGORITHMS
    )
    return _uml_boot.Job(topology, plan)
