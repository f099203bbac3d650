"""Systems other than Linux: the simulator works, and what needs Linux says so.

fullpipe has not run on such a system yet. These tests take away from Python what macOS or Windows lacks: the core's
functions for Linux, modules such as fcntl, and functions such as `os.sched_getaffinity`. `make lint-systems` compiles
the core for those systems.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[3]
_LACKING = {
    "darwin": {
        "modules": [],
        "os": ["sched_getaffinity", "sched_setaffinity", "setns", "unshare"],
        "signal": [],
    },
    "win32": {
        "modules": ["fcntl", "termios", "pwd", "grp", "resource", "tty", "pty"],
        "os": [
            *("sched_getaffinity", "sched_setaffinity", "setns", "unshare", "geteuid", "getuid"),
            *("getpgrp", "tcgetpgrp", "tcsetpgrp", "getloadavg", "sysconf", "killpg", "fork"),
        ],
        "signal": ["SIGHUP", "SIGPIPE", "SIGKILL", "SIGTTOU", "SIGALRM", "SIGTSTP"],
    },
}
_ELSEWHERE = """
import importlib, os, platform, signal, sys
# The libraries have their own code for each system, so they are loaded as on Linux.
for name in {loaded!r}:
    importlib.import_module(name)
system, lacking = {system!r}, {lacking!r}
sys.platform = system
platform.system = lambda: {{"darwin": "Darwin", "win32": "Windows"}}[system]
for name in lacking["modules"]:
    sys.modules[name] = None
for owner in ("os", "signal"):
    for name in lacking[owner]:
        if hasattr(sys.modules[owner], name):
            delattr(sys.modules[owner], name)
from fullpipe import _core
for name in {linux_only!r}:
    delattr(_core, name)
from fullpipe.commands import main
for args in {calls!r}:
    sys.argv = ["fullpipe", *args]
    print("$", *args, flush=True)
    print("$", *args, file=sys.stderr, flush=True)
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    print("exit code", code, flush=True)
"""
_LOADED = [
    "subprocess",
    "tempfile",
    "shutil",
    "multiprocessing",
    "concurrent.futures.process",
    "click",
]
_HEAVY = ["polars", "scipy.stats", "scipy.optimize", "rich.console", "matplotlib.figure"]


def _linux_only() -> list[str]:
    """Returns the names that the extension exports on Linux alone."""
    text = (ROOT / "crates/python/src/lib.rs").read_text(encoding="utf-8")
    found = re.findall(
        r'#\[cfg\(target_os = "linux"\)\]\s+#\[pymodule_export\]\s+use [\w:]+(?:::\{([^}]*)\}|::(\w+));',
        text,
    )
    names = [name.strip() for each in found for name in (each[0] or each[1]).split(",")]
    assert "link" in names
    return names


class Called(NamedTuple):
    """A call of the command: its exit code, and its outputs."""

    code: int
    stdout: str
    stderr: str


def _call(
    system: str, directory: Path, *calls: list[str], loaded: Sequence[str] = ()
) -> list[Called]:
    """Calls the command several times in one process, since loading takes most of the time."""
    code = _ELSEWHERE.format(
        loaded=[*_LOADED, *loaded],
        system=system,
        lacking=_LACKING[system],
        linux_only=_linux_only(),
        calls=calls,
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parts = [
        re.split(r"^\$ .*\n", text, flags=re.MULTILINE)[1:] for text in (done.stdout, done.stderr)
    ]
    called = []
    for out, error in zip(*parts, strict=True):
        text, _, last = out.rpartition("exit code ")
        called.append(Called(int(last), text, error))
    return called


@pytest.mark.parametrize("system", _LACKING)
def test_the_simulator_and_reports_work(system: str, tmp_path: Path) -> None:
    run, report, compare, doctor = _call(
        system,
        tmp_path,
        ["run", "cubic-vs-bbr1", "--duration=5s", "--out=results"],
        ["report", "results"],
        ["compare", "cubic", "bbr3", "--rate=5mbit", "--duration=3s", "--repeat=2"],
        ["doctor"],
        loaded=_HEAVY,
    )
    for each in (run, report, compare):
        assert each.code == 0, each.stderr
    assert "goodput" in run.stdout
    assert (tmp_path / "results/report.html").exists()
    assert doctor.code in (0, 1), doctor.stderr
    lines = doctor.stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith(" ✓")] == ["sim"]
    name = {"darwin": "Darwin", "win32": "Windows"}[system]
    assert f"{name}: only the simulator runs here" in doctor.stdout


@pytest.mark.parametrize("system", _LACKING)
def test_what_needs_linux_says_so(system: str, tmp_path: Path) -> None:
    calls = [
        ["link", "--", "true"],
        ["fleet", "sample", "-o", "samples"],
        *(
            ["run", "transfer", "--on", runner]
            for runner in ("kernel", "quic", "quic-virtual", "uml")
        ),
    ]
    for call, done in zip(calls, _call(system, tmp_path, *calls), strict=True):
        assert done.code == 2, (call, done.stderr)
        assert "needs Linux" in done.stderr, call
        assert "Traceback" not in done.stderr, call
        assert "fix: " in done.stderr, call
