"""Boots user-mode Linux with a batch of runs, and waits until each has its records."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TOOLS = ("setpriv", "unshare", "ip", "tc")
SEARCHED = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Directories of the programs in `TOOLS`, which a boot needs; the path inside user-mode Linux is the same."""

PROBE = "probe"
"""File of a run with the kernel's text of each tcp_probe."""
TROUBLE = "trouble.json"
"""File of a run behind the emulator that failed: problem and fix."""
PROGRAMS = "programs"
"""Directory of a run with the files of each program."""

_STUCK = re.compile(r"stuck: (.+?)\[\d+\] computes without end: (\d+) s")

_LOOK_S = 0.1
MEMORY = "2048M"
"""Limit of a boot's memory. The host holds the used part."""
_DATE_NS = 1_798_761_600 * 10**9
"""The date at which each boot begins, 2027-01-01: so it is the same in each run."""
PATIENCE_S = 60
"""Seconds of the host that a program may compute without the simulated clock moving."""
_SHOWN = 2_000


class OracleError(RuntimeError):
    """User-mode Linux ended early, or a run in it failed. The text has its messages."""


class StuckError(OracleError):
    """A program computed for long while the simulated clock stood still: it waits for the clock without reading it."""

    def __init__(self, program: str, seconds: str) -> None:
        super().__init__(
            f"{program} computed for {seconds} s of this machine while simulated time stood still: "
            "it waits for the time, or for another thread, in a loop without a system call"
        )


@dataclass(frozen=True)
class Job:
    """A run: its nodes and their queues, and the plan for the agents, both as JSON.

    `probe` is whether to record the tracepoint tcp_probe at the sender, in the file `PROBE`.
    """

    topology: str
    plan: str
    probe: bool = False


def cache() -> Path:
    """Returns the directory that `make oracle` writes the kernel to."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fullpipe" / "oracle"


def kernel() -> dict[str, str] | None:
    """Returns the kernel's package, version, configuration and release; None if it was not built completely.

    Raises:
        PermissionError: When this user may not read the cache.
    """
    file = cache() / "kernel.json"
    if not (cache() / "linux").is_file() or not file.is_file():
        return None
    try:
        known: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return known


def has(option: str) -> bool:
    """Whether the kernel was built with an option, which an earlier configuration may not have had."""
    file = cache() / "config"
    wanted = f"{option}=y"
    return file.is_file() and wanted in file.read_text(encoding="utf-8").splitlines()


@dataclass(frozen=True)
class Inside:
    """A run behind fullpipe's emulator inside: what `Scenario.parse` of the core takes, and the programs.

    The programs are command lines as `_core.simulate` takes them, without the directory, which is made inside.
    """

    source: str
    file: str
    settings: Sequence[tuple[str, str]]
    trace: str
    programs: Sequence[Program] = ()

    def as_json(self) -> dict[str, object]:
        """Returns the run for the process inside."""
        return asdict(self)


@dataclass(frozen=True)
class Program:
    """The command lines of a flow that is a program."""

    index: int
    name: str
    server: Sequence[str]
    client: Sequence[str]
    cc: str | None


@contextmanager
def booted(
    jobs: Sequence[Job | Inside], tick: Callable[[float], object], seed: int
) -> Iterator[list[Path]]:
    """Runs the jobs in one boot, one after the other, and yields the directory of each job's records.

    The directories exist until the context ends. `tick` is called ten times a second with the simulated seconds that
    are done, the sum of all runs. All randomness of the kernel and of programs follows from `seed`.

    Raises:
        OracleError: When a job fails.
    """
    with tempfile.TemporaryDirectory(prefix="fullpipe-uml-") as made:
        work = Path(made)
        directories = [work / str(number) for number in range(len(jobs))]
        runs: list[dict[str, object]] = []
        for directory, job in zip(directories, jobs, strict=True):
            directory.mkdir()
            if isinstance(job, Inside):
                runs.append({"directory": directory.name, "inside": job.as_json()})
                continue
            (directory / "plan.json").write_text(job.plan, encoding="utf-8")
            topology = json.loads(job.topology)
            runs.append({"directory": directory.name, "topology": topology, "probe": job.probe})
        core = str(Path(_core.__file__).resolve())
        batch = {
            "core": core,
            "runs": runs,
            "path": os.environ.get("PATH", SEARCHED),
            "here": str(Path.cwd()),
            "shown": _shown([core, sys.executable, str(Path.cwd()), *_files(jobs)]),
        }
        (work / "batch.json").write_text(json.dumps(batch), encoding="utf-8")
        behind = 0.0

        def look() -> None:
            nonlocal behind
            behind = max(behind, sum(map(_elapsed, directories)))
            tick(behind)

        _boot(work, look, seed)
        for directory in directories:
            failed = directory / "failed"
            if failed.exists():
                raise OracleError(failed.read_text(encoding="utf-8").strip())
            if not (directory / "done").exists():
                if stuck := _STUCK.search(
                    (work / "console").read_text(encoding="utf-8", errors="replace")
                ):
                    raise StuckError(*stuck.groups())
                raise OracleError(f"user-mode Linux ended early:\n{_tail(work / 'console')}")
        yield directories


def _files(jobs: Sequence[Job | Inside]) -> Iterator[str]:
    """Yields the words of the command lines, and the scenarios' files."""
    for job in jobs:
        if isinstance(job, Inside):
            yield job.file
            for program in job.programs:
                yield from program.server
                yield from program.client


def _shown(words: Sequence[str]) -> list[str]:
    """Returns the directories in /tmp that runs name: /tmp is empty inside, but for these, which are read-only."""
    found = set()
    for word in words:
        # Unlike Path.exists, it takes words that can't be a file's name, such as a long script.
        text = os.path.abspath(word) if os.path.exists(word) else word  # noqa: PTH100, PTH110
        for part in re.findall(r"/tmp/[^\s'\";=,:]+", text):
            top = Path(*Path(part).parts[:3])
            if top.is_dir():
                found.add(str(top))
    return sorted(found)


def _boot(work: Path, tick: Callable[[], object], seed: int) -> None:
    """Boots the kernel and waits for its end. The arguments after `--` go to init."""
    init = Path(__file__).with_name("_uml_init.py")
    python = Path(sys.executable).resolve()
    if any(any(letter.isspace() for letter in str(path)) for path in (work, init, python)):
        raise OracleError(
            f"a kernel's command line can't have paths with spaces: {work}, {init}, {python}"
        )
    words = [
        # The first process of a PID namespace dies with this process, so that no process survives.
        *(
            "setpriv",
            "--pdeathsig",
            "KILL",
            "unshare",
            "--pid",
            "--mount-proc",
            "--kill-child=KILL",
        ),
        *(() if os.geteuid() == 0 else ("--user", "--map-root-user")),
        str(cache() / "linux"),
        *(
            f"mem={MEMORY}",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "quiet",
            "time-travel=inf-cpu",
            f"time-travel-start={_DATE_NS}",
            f"random-seed={seed}",
            f"patience={PATIENCE_S}",
        ),
        *("con=null", "con0=fd:0,fd:1", "con1=null", f"uml_dir={work}/", "umid=uml"),
        *(f"init={python}", "--", "-IS", str(init), str(work)),
    ]
    with (work / "console").open("wb") as console:
        linux = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            cwd=work,
            start_new_session=True,
        )
        try:
            while linux.poll() is None:
                time.sleep(_LOOK_S)
                tick()
        finally:
            if linux.poll() is None:
                os.killpg(linux.pid, 9)
                linux.wait()


def _elapsed(directory: Path) -> float:
    try:
        return float((directory / "elapsed").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # the run has not begun, or the file is being written
        return 0.0


def _tail(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")[-_SHOWN:].strip()
