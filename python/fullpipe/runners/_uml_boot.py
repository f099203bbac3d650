"""Boots user-mode Linux with a batch of runs, and waits until each has its records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
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

_LOOK_S = 0.1
_MEMORY = "2048M"
_SHOWN = 2_000


class OracleError(RuntimeError):
    """User-mode Linux ended early, or a run in it failed. The text has its messages."""


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


def has_tracepoints() -> bool:
    """Whether the kernel was built with tracepoints, which an earlier configuration did not have."""
    file = cache() / "config"
    wanted = "CONFIG_ENABLE_DEFAULT_TRACERS=y"
    return file.is_file() and wanted in file.read_text(encoding="utf-8").splitlines()


@contextmanager
def booted(jobs: Sequence[Job], tick: Callable[[float], object]) -> Iterator[list[Path]]:
    """Runs the jobs in one boot, one after the other, and yields the directory of each job's records.

    The directories exist until the context ends. `tick` is called ten times a second with the simulated seconds that
    are done, the sum of all runs.

    Raises:
        OracleError: When a job fails.
    """
    with tempfile.TemporaryDirectory(prefix="fullpipe-uml-") as made:
        work = Path(made)
        directories = [work / str(number) for number in range(len(jobs))]
        runs = []
        for directory, job in zip(directories, jobs, strict=True):
            directory.mkdir()
            (directory / "plan.json").write_text(job.plan, encoding="utf-8")
            topology = json.loads(job.topology)
            runs.append({"directory": directory.name, "topology": topology, "probe": job.probe})
        batch = {"core": str(Path(_core.__file__).resolve()), "runs": runs}
        (work / "batch.json").write_text(json.dumps(batch), encoding="utf-8")
        behind = 0.0

        def look() -> None:
            nonlocal behind
            behind = max(behind, sum(map(_elapsed, directories)))
            tick(behind)

        _boot(work, look)
        for directory in directories:
            failed = directory / "failed"
            if failed.exists():
                raise OracleError(failed.read_text(encoding="utf-8").strip())
            if not (directory / "done").exists():
                raise OracleError(f"user-mode Linux ended early:\n{_tail(work / 'console')}")
        yield directories


def _boot(work: Path, tick: Callable[[], object]) -> None:
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
            f"mem={_MEMORY}",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "quiet",
            "time-travel=inf-cpu",
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
