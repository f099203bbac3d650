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
from fullpipe.algorithms.programs.left import Folders
from fullpipe.algorithms.programs.lines import lines
from fullpipe.errors import RunnerError, refusal
from fullpipe.runners import Missing
from fullpipe.wings.real.runners import _uml_boot
from fullpipe.wings.real.runners._programs import WithPrograms

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


class Uml:
    """Runs scenarios in user-mode Linux, behind its own queueing disciplines or fullpipe's emulator."""

    real_time = False
    samples = programs = True

    def __init__(self, name: str, about: str, *, emulates: bool) -> None:
        """Creates the runner.

        Args:
            name: Its name.
            about: Its stack and clock, in a line.
            emulates: Whether all paths are the emulator's; otherwise those that Linux' disciplines can't represent.
        """
        self.name = name
        self.about = about
        self._emulates = emulates

    def missing(self) -> Missing | None:
        """Returns the reason why it does not work on this machine; None if it works."""
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
        if not _uml_boot.has("CONFIG_TUN"):
            return Missing(
                "user-mode Linux is of an earlier version",
                "run make oracle (about 6 minutes, cached)",
            )
        if absent := [
            tool for tool in _uml_boot.TOOLS if not shutil.which(tool, path=_uml_boot.SEARCHED)
        ]:
            return Missing(
                f"{absent[0]} is not installed", "apt-get install util-linux iproute2", root=True
            )
        return None

    def refuse(self, scenario: _core.Scenario, trace: str) -> None:
        """Refuses features that Linux does not have, and programs that are not there or not allowed."""
        self._job(scenario, trace)

    def execute(self, scenario: _core.Scenario, trace: str, progress: Progress | None) -> Result:
        """Runs the scenario in a boot of its own."""
        job = self._job(scenario, trace)
        with _booted([scenario], [job], progress, self.name) as (directory,):
            if isinstance(job, _uml_boot.Job):
                return _core.measured(scenario, trace, str(directory), _facts(job))
            return self._simulated(scenario, trace, directory)

    def _job(self, scenario: _core.Scenario, trace: str) -> _uml_boot.Job | _uml_boot.Inside:
        if not self._emulates and not scenario.programs:
            try:
                return _job(scenario, trace)
            except _core.ScenarioError:
                pass  # The emulator may support it. If not, its error names the key.
        _core.check_simulated(scenario, self.name, _ALGORITHMS)
        programs = [
            _uml_boot.Program(each.asked.index, each.asked.name, each.server, each.client, each.cc)
            for each in lines(scenario, *_core.kernel_place())
        ]
        return _uml_boot.Inside(scenario.source, scenario.file, scenario.settings, trace, programs)

    def _simulated(self, scenario: _core.Scenario, trace: str, directory: Path) -> Result:
        trouble = directory / _uml_boot.TROUBLE
        if trouble.exists():
            failure = json.loads(trouble.read_text(encoding="utf-8"))
            raise refusal(
                f"--on {self.name}: {failure['problem']}", failure["fix"], file=scenario.file
            )
        made = _core.simulated(scenario, trace, self.name, _ALGORITHMS, directory)
        programs = lines(scenario, *_core.kernel_place())
        folders = Folders(programs) if programs else None
        if folders is not None:
            shutil.copytree(directory / _uml_boot.PROGRAMS, folders.path, dirs_exist_ok=True)
            folders.tidy()
        return _OfEmulator(made, folders)


class _OfEmulator(WithPrograms):
    """The result of a run behind the emulator."""

    def __init__(self, result: Result, folders: Folders | None) -> None:
        super().__init__(result, folders)

    @property
    def trace_hash(self) -> str | None:
        """The fingerprint of the trace: a run can be repeated exactly."""
        return self._result.trace_hash

    def metrics_json(self) -> str:
        """The metrics; the facts of the host are those of user-mode Linux."""
        metrics = json.loads(super().metrics_json())
        seen = {key: text for key, text in metrics["host"].items() if key not in _OF_THE_HOST}
        metrics["host"] = facts() | {"path": "fullpipe's emulator, on TUN"} | seen
        return json.dumps(metrics)


# Facts that the emulator reads from the machine: this one has a simulated clock and no load.
_OF_THE_HOST = ("kernel", "cpu", "cpu busy", "clock source")


RUNNER = Uml(
    "uml",
    "Linux's own TCP, and any programs, in simulated time (user-mode Linux): exact, no noise, no root needed",
    emulates=False,
)


def execute(
    scenarios: Sequence[_core.Scenario], trace: str, progress: Progress | None = None
) -> list[_core.RunResult]:
    """Runs scenarios in one boot, one after the other.

    Raises:
        ScenarioError: When a scenario needs a feature that Linux does not have, or user-mode Linux
            or an agent fails.
    """
    jobs = [_job(scenario, trace) for scenario in scenarios]
    with _booted(scenarios, jobs, progress, RUNNER.name) as directories:
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
    with _booted([scenario], [job], progress, RUNNER.name) as (directory,):
        made = _core.measured(scenario, "off", str(directory), _facts(job))
        return made, _probe(directory / _uml_boot.PROBE)


def refuse_without_tracepoints() -> None:
    """Checks that the kernel can record each ACK.

    Raises:
        RunnerError: When it was built without tracepoints.
    """
    if not _uml_boot.has("CONFIG_ENABLE_DEFAULT_TRACERS"):
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
    scenarios: Sequence[_core.Scenario],
    jobs: Sequence[_uml_boot.Job | _uml_boot.Inside],
    progress: Progress | None,
    name: str,
) -> Iterator[list[Path]]:
    """Runs the jobs in one boot, and yields the directories of their records."""
    total = sum(scenario.duration_s for scenario in scenarios)

    def tick(elapsed: float) -> None:
        if progress:
            progress(min(elapsed, total), total, 0)

    try:
        with _uml_boot.booted(jobs, tick, scenarios[0].seed) as directories:
            yield directories
    except _uml_boot.StuckError as error:
        fix = "run it on kernel, in real time; or let the program sleep, or read the clock, while it waits"
        raise refusal(f"--on {name}: {error}", fix, file=scenarios[0].file) from error
    except RuntimeError as error:
        problem = str(error)
        fix = next(
            (fix for what, fix in _NEEDED.items() if f"{what}: " in problem),
            "fix the cause that it reports, and run it again",
        )
        raise refusal(f"--on {name}: {problem}", fix, file=scenarios[0].file) from error


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
        "memory": f"{_uml_boot.MEMORY} at most",
    }


def told() -> str:
    """Returns the kernel that is built, or the reason why it does not work here."""
    missing = RUNNER.missing()
    return missing.problem if missing else facts()["kernel"]


def _job(scenario: _core.Scenario, trace: str) -> _uml_boot.Job:
    topology = _core.uml_topology(scenario)
    ends = json.loads(topology)
    plan = _core.agent_plan(
        scenario, trace, ends["receiver"], ends["first_port"], RUNNER.name, _ALGORITHMS
    )
    return _uml_boot.Job(topology, plan)
