"""Fixtures for all tests: a short scenario, calls of the command, and places for runs on the kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest

import links
import served
from fake_runners import write_own_runners

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_Report = TypeVar("_Report", pytest.TestReport, pytest.CollectReport)

SCENARIO = """\
# Two flows, two seconds
duration = "2s"
seed = 7
start_jitter = "20ms"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
[[flow]]
cc = "bbr1"
"""

# Extras by name: text in the reason of a skip for want of it, and the command that installs it.
EXTRAS = {
    "real QUIC": ("fullpipe-quic", "make quic"),
    "BPF": ("fullpipe-kernel", "make kernel"),
    "the wheel": ("the wheel is not built", "make wheel WHEEL=linux"),
    "user-mode Linux": ("user-mode Linux", "make oracle"),
    "Chromium": ("chromium", "make browser"),
    "nginx": ("nginx", "make nginx"),
    "scikit-learn": ("scikit-learn is", "make setup-all"),
    "Ray": ("Ray is", "make setup-all"),
    "Atheris": ("Atheris is", "make setup-all"),
    "a tool": ("is not installed: `make apt`", "make apt"),
    "DuckDB": ("DuckDB", "make setup-all"),
    "obstore": ("obstore is", "make setup-all"),
    "moto": ("moto is", "make setup-all"),
}
ALLOWED = [
    line.partition("|")[0].strip()
    for line in Path(__file__).with_name("skips.txt").read_text(encoding="utf-8").splitlines()
    if line.strip() and not line.startswith("#")
]
NO_SKIP = bool(os.environ.get("FULLPIPE_NO_SKIP"))

LONG = SCENARIO.replace('"2s"', '"5000s"').replace("10mbit", "10gbit")


def _heedful() -> None:
    """Resets signals to those of a terminal: under nohup or in the background some would be ignored."""
    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sent, signal.SIG_DFL)


def interrupt(command: list[str], directory: Path, *signals: signal.Signals) -> tuple[int, str]:
    """Starts a command, and signals it once its temporary directory exists; returns exit code and standard error."""
    process = subprocess.Popen(
        command,
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heedful,
    )
    with process:
        deadline = time.monotonic() + 30
        while not list(directory.rglob(".*.????????")) and time.monotonic() < deadline:
            time.sleep(0.02)
        try:
            for sent in signals:
                time.sleep(0.3)
                assert process.poll() is None
                process.send_signal(sent)
            _, said = process.communicate(timeout=10)
        finally:
            process.kill()
    return process.returncode, said


def pytest_xdist_auto_num_workers() -> int:
    """Returns one more than there are cores: a third of the tests' time is waiting, for real time or for processes."""
    return (os.cpu_count() or 1) + 1


# Names of the tests that passed in the last run of all, in pytest's cache.
_PASSED = "fullpipe/passed"


def pytest_addoption(parser: pytest.Parser) -> None:
    said = "run only the tests that did not pass in the last run: those that it skipped, since something was missing"
    parser.addoption("--rest", action="store_true", help=said)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests that passed."""
    if config.getoption("rest"):
        passed = set(config.cache.get(_PASSED, []))
        left_out = [item for item in items if item.nodeid in passed]
        items[:] = [item for item in items if item.nodeid not in passed]
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return _unskipped(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return _unskipped(report)


def _unskipped(report: _Report) -> _Report:
    """Turns a skip that skips.txt does not list into a failure, where everything is installed."""
    if (
        NO_SKIP
        and report.skipped
        and not hasattr(report, "wasxfail")
        and not _reason(report).startswith(tuple(ALLOWED))
    ):
        report.outcome = "failed"
        report.longrepr = f"skipped, and not in skips.txt: {_reason(report)}"
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    found = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return found.removeprefix("Skipped: ")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Keeps which tests passed; prints a line about skipped ones, and the command that runs them."""
    if config.pluginmanager.hasplugin("cacheprovider") and not (
        config.getoption("rest") or config.getoption("lf")
    ):
        passed = [report.nodeid for report in terminalreporter.stats.get("passed", [])]
        config.cache.set(_PASSED, passed)
    reasons = [_reason(report) for report in terminalreporter.stats.get("skipped", [])]
    wants = [
        (name, fix)
        for reason in reasons
        for name, (begins, fix) in EXTRAS.items()
        if begins in reason
    ]
    if wants:
        what = ", ".join(f"{name} ({fix})" for name, fix in dict.fromkeys(wants))
        terminalreporter.write_line(
            f"{len(wants)} tests skipped, since {what} is missing; `make test-rest` installs it, and runs them"
        )
    known = [begins for begins, _ in EXTRAS.values()]
    for reason in sorted(set(reasons)):
        if not any(begins in reason for begins in known):
            terminalreporter.write_line(f"skipped: {reason}")


class Fullpipe(Protocol):
    """Calls the command with arguments, in the test's own directory."""

    def __call__(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Runs the command to its end."""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A short scenario as a file."""
    path = tmp_path / "short.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def command() -> list[str]:
    """The words that start the command in a process of its own."""
    return [sys.executable, "-m", "fullpipe"]


@pytest.fixture
def fullpipe(tmp_path: Path) -> Fullpipe:
    """Calls the command in a forked process, in the test's directory."""

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        return served.call(list(args), tmp_path, {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"})

    return call


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The test's current directory, with user-defined runners in it."""
    write_own_runners(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("own_runners", None)


@pytest.fixture
def link() -> links.Link:
    """Calls `fullpipe link`; the tests that use it are skipped where namespaces are not allowed."""
    links.needed()
    return links.run


@pytest.fixture(params=["root", "user"])
def linked(request: pytest.FixtureRequest) -> Iterator[links.Linked]:
    """`fullpipe link` as root, and as a user without rights."""
    links.needed()
    with links.linked(request.param) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The test's directory, for runs on the kernel; skips where namespaces are not allowed."""
    links.needed()
    return tmp_path
