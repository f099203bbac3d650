"""Processes with the code of a candidate: contained, or with the user's rights if that was asked for.

The simulator and the results stay in this process. A candidate's process gets what an algorithm gets, call by call.
Each run has a new one, a fork of a process that has not run the code: no state lives on from cell to cell.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import sysconfig
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.wings.search.score.candidate import Candidate

PATIENCE_S = 10.0
"""Most time for the answer to one call, and for the import of the candidate."""
MEMORY = 1 << 30
"""Most address space of a candidate's process, in bytes."""
CPU_S = 3600
"""Most processor time of a candidate's process."""
_LIBRARIES = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"),
    *("/nix/store", "/gnu/store"),
)
_FOLDER = Path("/candidate")
_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


class CandidateError(UserError):
    """A candidate can't be started; the text has the reason."""


def refused() -> str | None:
    """Returns why this machine can't contain a candidate, with the fix; None if it can."""
    if sys.platform != "linux":
        problem, fix = f"{sys.platform} has no containment of candidates", "run it on Linux"
    elif found := _core.containment_refused():
        problem, fix = found
    else:
        return None
    return (
        f"code of a candidate can't be contained: {problem}\n  fix: {fix}; or, if you trust the code, let it run with "
        "your rights: --uncontained"
    )


@contextmanager
def served(candidate: Candidate, secrets: Sequence[Path], *, contained: bool) -> Iterator[None]:
    """Makes a candidate the algorithm `candidate.cc` of this process, within the block.

    Args:
        candidate: A candidate that is code.
        secrets: Folders that the candidate must not see.
        contained: Whether the processes are contained.

    Raises:
        CandidateError: When the code can't be imported, or is no algorithm.
        UserError: When this machine can't contain it.
        OSError: When a process can't be started.
    """
    ours, theirs = socket.socketpair()
    with ours:
        end = (_contained if contained else _uncontained)(candidate, theirs, secrets)
        number = ours.detach()
    try:
        try:
            _core.connect(candidate.cc, number, PATIENCE_S)
        except _core.ScenarioError as error:
            if not isinstance(end, subprocess.Popen) and (refused_by := end.refused()):
                raise UserError("\n  fix: ".join(refused_by)) from None
            raise CandidateError(error.problem) from None
        yield
    finally:
        _core.forget(candidate.cc)
        if isinstance(end, subprocess.Popen):
            with suppress(ProcessLookupError):  # it leads a group with its forks
                os.killpg(end.pid, signal.SIGKILL)
            end.wait()
        else:
            end.end()


def _contained(
    candidate: Candidate, theirs: socket.socket, secrets: Sequence[Path]
) -> _core.Container:
    suffix = Path(candidate.file).suffix
    inside = _FOLDER / f"candidate{suffix}"
    executable = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    places = shown(executable)
    for secret in secrets:
        if any(secret.resolve().is_relative_to(place) for place in places):
            raise UserError(
                f"{secret}: a candidate would see it, because the interpreter's files are there\n"
                "  fix: set XDG_STATE_HOME and XDG_CACHE_HOME to folders outside of them"
            )
    return _core.contain(
        _command(str(executable), str(inside), candidate, contained=True),
        theirs.detach(),
        environment=[f"{name}={value}" for name, value in _environment().items()],
        places=places,
        files=[(inside, candidate.content)],
        memory=MEMORY,
        cpu_s=CPU_S,
    )


def _uncontained(
    candidate: Candidate, theirs: socket.socket, _: Sequence[Path]
) -> subprocess.Popen[bytes]:
    with theirs:
        number = theirs.fileno()
        code = f"import os; os.dup2({number}, 3); " if number != 3 else ""
        file = str(Path(candidate.file).resolve())
        command = _command(sys.executable, file, candidate, contained=False)
        command[-1] = code + command[-1]
        return subprocess.Popen(
            command,
            pass_fds=[number],
            start_new_session=True,
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def _environment() -> dict[str, str]:
    path = os.environ.get("LD_LIBRARY_PATH")
    return {**_ENVIRONMENT, **({"LD_LIBRARY_PATH": path} if path else {})}


def _package() -> Path:
    return Path(_core.__file__).resolve().parent


def _command(executable: str, file: str, candidate: Candidate, *, contained: bool) -> list[str]:
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), str(_package().parent)]
    code = (
        f"import sys; sys.path.extend({list(dict.fromkeys(folders))!r}); "
        f"from fullpipe.wings.search.score.inside import main; "
        f"main({file!r}, {candidate.made!r}, contained={contained})"
    )
    return [executable, "-P", "-s", "-S", "-B", "-c", code]


def shown(executable: Path) -> list[Path]:
    """Returns the folders and files that a contained candidate may read: interpreter, packages, libraries."""
    package = _package()
    wanted = [
        *map(Path, _LIBRARIES),
        executable,
        *(Path(prefix) / "lib" for prefix in (sys.base_prefix, sys.base_exec_prefix)),
        *(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")),
        package,
        Path(_core.__file__).resolve(),
    ]
    there = sorted(
        {each for each in wanted if os.access(each, os.R_OK)}, key=lambda each: len(each.parts)
    )
    kept: list[Path] = []
    for each in there:
        if not any(each.is_relative_to(outer) for outer in kept):
            kept.append(each)
    return kept
