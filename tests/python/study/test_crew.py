"""Runs with a Python class in processes side by side: the numbers, errors and interruptions of one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from polars.testing import assert_frame_equal

import fullpipe as package
from fullpipe.errors import UnrepeatableError, UserError
from fullpipe.study import pool
from fullpipe.study.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

SHORT = {"duration": "2s", "measure_from": "200ms"}
CLASSES = '''\
import os
import sys

import fullpipe

OTHER = "pytest" not in sys.modules

class Plain:
    """A fixed window."""

    params = {"segments": fullpipe.Param(20, least=1, most=1000)}

    def __init__(self, config):
        self.cwnd = config.params["segments"] * config.smss

    def on_ack(self, cx, ack): ...

    def decision(self):
        return fullpipe.Decision(self.cwnd)

class Fails(Plain):
    """Fails where its parameter says so."""

    def on_ack(self, cx, ack):
        if self.cwnd > 100_000 and cx.now > 1:
            raise ZeroDivisionError("my own mistake")

class FailsAfterOthers(Plain):
    made = 0

    def __init__(self, config):
        super().__init__(config)
        FailsAfterOthers.made += OTHER

    def on_ack(self, cx, ack):
        if self.made > 1:
            raise ZeroDivisionError("state of runs before")

class Ends(Plain):
    def on_ack(self, cx, ack):
        if OTHER:
            os._exit(7)
'''


@pytest.fixture(autouse=True)
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Crew]]:
    """Makes short sweeps worth a process; yields the crews that were started."""
    (tmp_path / "crewed.py").write_text(CLASSES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "crewed", raising=False)
    monkeypatch.setattr(pool, "_WORTH_S", 1e-9)
    all_of_them: list[Crew] = []
    start = Crew.of

    def of(*given: object) -> Crew | None:
        crew = start(*given)  # type: ignore[arg-type]
        if crew:
            all_of_them.append(crew)
        return crew

    monkeypatch.setattr(Crew, "of", of)
    yield all_of_them
    for crew in all_of_them:
        assert all(each.process.poll() is not None for each in crew._workers), "a process is left"


def swept(name: str, threads: int, segments: str = "10,20,30,40", repeat: int = 3) -> pl.DataFrame:
    sweep = package.sweep(
        name,
        {"flow.0.params.segments": segments.split(",")},
        set={**SHORT, "path.rate": "10mbit"},
        repeat=repeat,
        threads=threads,
        out=f"{name.replace(':', '-')}-{threads}",
    )
    return sweep.frame().sort("point", "seed")


def test_processes_have_the_numbers_of_one(started: list[Crew]) -> None:
    one = swept("crewed:Plain", 1)
    assert not started
    two = swept("crewed:Plain", 2)
    assert [crew.size for crew in started] == [2], "this process, and another one"
    assert_frame_equal(one, two)


def test_an_exception_in_a_process_is_raised_with_its_line(started: list[Crew]) -> None:
    with pytest.raises(ZeroDivisionError, match="my own mistake") as raised:
        swept("crewed:Fails", 3, "10,20,100,110,120,130")
    assert started
    assert raised.traceback[-1].name == "on_ack"
    assert Path(raised.traceback[-1].path).name == "crewed.py"
    assert "the run of point" in str(raised.value.__notes__)


def test_state_that_only_a_process_has_is_told() -> None:
    with pytest.raises(UnrepeatableError, match="an algorithm keeps state from run to run") as told:
        swept("crewed:FailsAfterOthers", 3, repeat=4)
    assert "state of runs before" in str(told.value)


def test_an_algorithm_that_ends_its_process_is_an_error() -> None:
    with pytest.raises(UserError, match="ended with exit code 7 in run"):
        swept("crewed:Ends", 3)
    assert [*Path("crewed-Ends-3").rglob("runs/*.parquet")], "finished runs are kept"


class OfTheTest:
    """A class that another process can't import."""

    def __init__(self, config: object) -> None: ...

    def on_ack(self, *_: object) -> None: ...

    def decision(self) -> package.Decision:
        return package.Decision(20_000)


@pytest.mark.parametrize("module", ["__main__", "nowhere"])
def test_a_class_that_cannot_be_imported_runs_here(
    module: str, started: list[Crew], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = type("Local", (OfTheTest,), {"__module__": module})
    sweep = package.sweep(
        "cubic",
        {"path.rtt": ["10ms", "20ms"]},
        set={**SHORT, "flow.0.cc": "mine"},
        controllers={"mine": made},
        repeat=2,
        threads=2,
        out="local",
    )
    assert sweep.frame().height == 4
    assert not started


def test_ctrl_c_ends_the_processes(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\nfrom crewed import Plain\n"
        "class Slow(Plain):\n    def on_ack(self, cx, ack):\n        time.sleep(0.002)\n",
        encoding="utf-8",
    )
    command = [str(Path(sys.executable).with_name("fullpipe")), "sweep", "slow:Slow"]
    options = ["--rate", "10mbit", "--duration", "1s", "--repeat", "100", "--threads", "3"]
    done = subprocess.Popen(
        [*command, *options, "--set", "measure_from=100ms", "--out", "ended"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    processes = _wait_for(lambda: _of_session(done.pid), 4)
    os.killpg(done.pid, signal.SIGINT)  # as a terminal does
    _, said = done.communicate(timeout=20)
    assert done.returncode == 130, said
    assert "interrupted after" in said
    assert "Traceback" not in said
    assert processes
    assert _wait_for(lambda: not _of_session(done.pid) and [True], 1)


def _of_session(session: int) -> list[int]:
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(each.parent.name))
    return found


def _wait_for(look: object, least: int) -> list[int]:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found: list[int] = look() or []  # type: ignore[operator]
        if len(found) >= least:
            return found
        time.sleep(0.05)
    return []
