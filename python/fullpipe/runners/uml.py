"""The real Linux TCP stack in simulated time: user-mode Linux, whose clock only timers advance (`make oracle`)."""

from __future__ import annotations

import json
import re
import shutil
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.errors import RunnerError, refusal
from fullpipe.runners import Missing, _uml_boot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

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


# A row of tcp_probe as the kernel prints it: time, SND.UNA, SND.NXT, window and threshold.
_PROBE = re.compile(
    r" (\d+\.\d+): tcp_probe: .* snd_nxt=(0x[0-9a-f]+) snd_una=(0x[0-9a-f]+) snd_cwnd=(\d+) ssthresh=(\d+)"
)


class Probe(NamedTuple):
    """The state of a flow's sender when it receives each segment, before it processes the segment.

    Arrays of one length: the time in s of the kernel's clock, SND.UNA and SND.NXT in bytes from the first one, the
    window and the slow-start threshold in segments.
    """

    time_s: NDArray[np.float64]
    una: NDArray[np.float64]
    next: NDArray[np.float64]
    cwnd: NDArray[np.float64]
    ssthresh: NDArray[np.float64]


class _Uml:
    name = "uml"
    about = "Linux's own TCP in simulated time (user-mode Linux): exact, no noise, no root needed"
    real_time = False

    def missing(self) -> Missing | None:
        if sys.platform != "linux":
            return Missing("it needs Linux", "run it on Linux")
        try:
            built = _uml_boot.kernel() is not None
        except PermissionError as error:
            return Missing(
                f"this user may not read {error.filename}",
                "give the user that directory, or set XDG_CACHE_HOME to another one",
            )
        if not built:
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
    with _booted(scenarios, jobs, progress) as directories:
        return [
            _core.measured(scenario, trace, str(directory), _facts(job))
            for scenario, job, directory in zip(scenarios, jobs, directories, strict=True)
        ]


def probed(
    scenario: _core.Scenario, progress: Progress | None = None
) -> tuple[_core.RunResult, Probe]:
    """Runs a scenario, and records the state of its first flow's sender at each segment that it receives.

    Raises:
        ScenarioError: As `execute`.
        RunnerError: When the kernel was built without tracepoints.
    """
    refuse_without_tracepoints()
    job = replace(_job(scenario, "off"), probe=True)
    with _booted([scenario], [job], progress) as (directory,):
        made = _core.measured(scenario, "off", str(directory), _facts(job))
        return made, _probe(directory / _uml_boot.PROBE)


def refuse_without_tracepoints() -> None:
    """Checks that the kernel can record each ACK.

    Raises:
        RunnerError: When it was built without tracepoints.
    """
    if not _uml_boot.has_tracepoints():
        raise RunnerError(
            f"--on {RUNNER.name}: this kernel has no tracepoints, which show the window after each ACK\n"
            "  fix: build it again: make oracle"
        )


def _probe(file: Path) -> Probe:
    import numpy as np

    rows = [[*map(_number, row)] for row in _PROBE.findall(file.read_text(encoding="ascii"))]
    columns = np.array(rows, dtype=np.float64).reshape(-1, len(Probe._fields)).T
    time_s, following, una, cwnd, ssthresh = columns
    # Sequence numbers are modulo 2^32.
    first, wrap = (una[0] if len(una) else 0.0), 2.0**32
    return Probe(time_s, (una - first) % wrap, (following - first) % wrap, cwnd, ssthresh)


def _number(text: str) -> float:
    return float(int(text, 16)) if text.startswith("0x") else float(text)


@contextmanager
def _booted(
    scenarios: Sequence[_core.Scenario], jobs: Sequence[_uml_boot.Job], progress: Progress | None
) -> Iterator[list[Path]]:
    """Runs the jobs in one boot, and yields the directories of their records."""
    total = sum(scenario.duration_s for scenario in scenarios)

    def tick(elapsed: float) -> None:
        if progress:
            progress(min(elapsed, total), total, 0)

    try:
        with _uml_boot.booted(jobs, tick) as directories:
            yield directories
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
        "delay_on_acks": True,
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
