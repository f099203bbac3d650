"""`fullpipe fleet ingest` goes on after its end, however that came, and after changes of its files."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fleet_ingested
from fleet_ingested import ARMS, fleet, line, rows
from fullpipe import _core
from fullpipe.wings.fleet import ingest
from fullpipe.wings.fleet.ingest import Ingest, Options
from fullpipe.wings.fleet.sources import Stream, streams


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return fleet_ingested.hosts(tmp_path, monkeypatch)


def test_reading_again_reads_what_is_new(hosts: Path) -> None:
    fleet(*ARMS, "-o", "whole")
    late = [Path(arm, host, "day-1.ss") for arm in ("cubic", "bbr") for host in ("x", "y")]
    for file in late:
        file.rename(file.with_suffix(".later"))
    assert fleet(*ARMS, "-o", "out").exit_code == 0
    assert rows().height == 4 * 2
    for file in late:
        file.with_suffix(".later").rename(file)
    assert fleet(*ARMS, "-o", "out").exit_code == 0
    keys = ("arm", "host", "first_seen", "remote_port")
    assert rows().sort(keys).equals(rows("whole").sort(keys))
    assert "the rest was read earlier" in fleet(*ARMS, "-o", "out").output
    assert rows().sort(keys).equals(rows("whole").sort(keys))


def test_what_was_not_committed_is_read_again(hosts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a kill: a part has rows, but no commit followed."""
    fleet(*ARMS, "-o", "whole")
    found = streams({"ss": ["cubic=cubic/{host}/*.ss"], "nginx": [], "snmp": [], "hist": []})
    monkeypatch.setattr("fullpipe.wings.fleet.ingest._COMMIT_S", 0.0)
    write = Ingest._write

    def dies(self: Ingest, stream: Stream, tables: "_core._FleetTables", part: str) -> list[str]:
        written = write(self, stream, tables, part)
        if part == "open":
            raise OSError("killed")
        return written

    monkeypatch.setattr(Ingest, "_write", dies)
    with pytest.raises(OSError, match="killed"), Ingest(Path("out"), found, Options(), "") as work:
        work.run(threads=1)
    assert not json.loads(Path("out/ingest.json").read_text())["complete"]
    monkeypatch.setattr(Ingest, "_write", write)
    assert fleet(*ARMS, "-o", "out").exit_code == 0
    keys = ("arm", "host", "first_seen", "remote_port")
    assert rows().sort(keys).equals(rows("whole").sort(keys))


def test_what_a_file_gets_while_it_is_read_is_not_lost(
    hosts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is refused as grown, even if it grew between its end and the commit."""
    file = Path("cubic/x/day-1.ss")
    before = file.stat().st_size
    make = Ingest._reader

    class Growing:
        def __init__(self, reader: _core.FleetReader) -> None:
            self.reader = reader

        def __getattr__(self, name: str) -> object:
            return getattr(self.reader, name)

        def read(self, count: int, size: int) -> bool:
            more = self.reader.read(count, size)
            if not more and file.stat().st_size == before:
                file.write_text(f"{file.read_text()}@1576663300\n{line('192.0.2.7:1', 2000)}")
            return more

    monkeypatch.setattr(Ingest, "_reader", lambda self, stream: Growing(make(self, stream)))
    assert fleet("--arm", "cubic=cubic/x/day-1.ss", "-o", "out").exit_code == 0
    monkeypatch.undo()
    monkeypatch.chdir(hosts)
    grown = fleet("--arm", "cubic=cubic/x/day-1.ss", "-o", "out")
    assert grown.exit_code == 2
    assert (
        f"the file had {before:,} bytes when it was read, and has {file.stat().st_size:,} now"
        in grown.stderr
    )


SLOWLY = """
import fullpipe.wings.fleet.ingest as ingest
from fullpipe.commands import main
ingest._COMMIT_S, ingest._ROWS = 0.0, 50
write = ingest.Ingest._write
def later(self, *args):
    ingest.time.sleep(0.02)
    return write(self, *args)
ingest.Ingest._write = later
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_goes_on_after_any_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.chdir(tmp_path)
    for host in ("x", "y"):
        for day in range(8):
            Path(host).mkdir(exist_ok=True)
            sockets = [line(f"192.0.2.{at}:{day + 10}", 1000 + day) for at in range(120)]
            lines = "".join(
                [f"@{1576576800 + 86400 * day}\n", line("192.0.2.7:1", 1000 + day), *sockets]
            )
            Path(host, f"{day}.ss").write_text(lines)
    asked = ["--arm", "a={host}/*.ss", "-o"]
    fleet(*asked, "whole")

    def commits() -> int:
        kept = [json.loads(file.read_text()) for file in Path("out/.progress").glob("[!.]*.json")]
        return sum(each["commit"] for each in kept)

    for more in (1, 5):
        before = commits()
        command = [sys.executable, "-c", SLOWLY, "fleet", "ingest", *asked, "out"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            while commits() < before + more and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(number)
            _, said = process.communicate(timeout=30)
        assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
        if number != signal.SIGKILL:
            assert "MB; committed rows are in out; run the same command to resume" in said
            assert "Traceback" not in said
        assert not json.loads(Path("out/ingest.json").read_text())["complete"]
    assert "the rest was read earlier" in fleet(*asked, "out").output
    keys = ("host", "first_seen", "client", "remote_port")
    there, whole = (rows(each).sort(keys) for each in ("out", "whole"))
    assert there.height == 2 * (8 * 120 + 1)
    assert there.equals(whole)
    assert not list(Path("out").rglob(".*.parquet"))


def test_only_one_process_fills_a_directory(hosts: Path) -> None:
    """The second is refused, changes nothing, and the same command succeeds afterwards."""
    one, other = ([*ARMS[at : at + 2], "-o", "out"] for at in (0, 2))
    with subprocess.Popen([sys.executable, "-c", SLOWLY, "fleet", "ingest", *one]) as first:
        while not list(Path("out").glob("connections/**/[!.]*.parquet")) and first.poll() is None:
            time.sleep(0.01)
        first.send_signal(signal.SIGSTOP)
        seconds = [fleet(*other), fleet(*one)]
        first.send_signal(signal.SIGCONT)
        assert first.wait(60) == 0
    for second in seconds:
        assert second.exit_code == 2
        assert second.stderr == (
            "error: out: another process is adding to it; wait until that has finished\n"
        )
    assert rows().height == 2 * 3
    assert fleet(*other).exit_code == 0
    about = json.loads(Path("out/ingest.json").read_text())
    assert (about["complete"], len(about["sources"]), rows().height) == (True, 4, 4 * 3)


def test_a_directory_is_complete_when_each_arm_is(
    hosts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An arm that was not read to its end stays so until its own command has ended."""
    one, other = ([*ARMS[at : at + 2], "-o", "out"] for at in (0, 2))
    write = Ingest._write

    def dies(self: Ingest, stream: Stream, tables: "_core._FleetTables", part: str) -> list[str]:
        if part == "open":
            raise OSError("killed")
        return write(self, stream, tables, part)

    monkeypatch.setattr(Ingest, "_write", dies)
    assert fleet(*one).exit_code == 2
    monkeypatch.setattr(Ingest, "_write", write)
    complete = []
    for command in (other, one, other):
        assert fleet(*command).exit_code == 0
        complete.append(json.loads(Path("out/ingest.json").read_text())["complete"])
    assert complete == [False, True, True]
    assert rows().height == 4 * 3


def test_progress_is_saved_every_ten_seconds() -> None:
    assert ingest._COMMIT_S <= 10, "the tests of interruptions have less"
