"""Saved results are read from their directory, with any characters in its name."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from click.testing import CliRunner

import fullpipe
from conftest import SCENARIO
from fullpipe import results
from fullpipe.commands import app

if TYPE_CHECKING:
    from click.testing import Result

# As a pattern or a special path, each of these would mean `run1` or an entirely different place.
NAMES = ["run[1]", "r*n1", "run?", "*", "~", "s3:run1", "{run1,run2}", "[!x]*"]
# All printable characters except the slash may be in a name.
PRINTABLE = sorted(set(string.printable) - {"/"})


def call(*arguments: str) -> Result:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a run and a sweep with newreno, each named `run1`."""
    directory = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        Path("short.toml").write_text(SCENARIO)
        call("run", "short.toml", "--cc", "newreno", "--trace", "100ms", "--out", "run1")
        call(
            "sweep",
            "short.toml",
            "--set",
            "path.rtt=20ms,30ms",
            "--set",
            "flow.0.cc=newreno",
            "--out",
            "sweeps/run1",
        )
    return directory


@pytest.fixture
def neighbor(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kept)


@pytest.mark.parametrize("name", NAMES)
def test_a_directory_is_not_read_from_its_neighbors_files(neighbor: None, name: str) -> None:
    kept = f"./{name}"
    call(
        "run",
        "short.toml",
        "--cc",
        "bbr3",
        "--set",
        "duration=4s",
        "--trace",
        "100ms",
        "--out",
        kept,
    )
    call("trace", "qlog", kept, f"{kept}/kept.qlog")
    log = Path(kept, "kept.qlog").read_text()
    assert '"bbr3.state"' in log
    assert "newreno" not in log
    call("report", kept)
    page = Path(kept, "report.html").read_text()
    assert "bbr3" in page
    assert "newreno" not in page


@pytest.mark.parametrize("name", NAMES)
def test_a_sweep_goes_on_with_its_own_rows(neighbor: None, name: str) -> None:
    kept = f"sweeps/{name}"
    arguments = [
        "sweep",
        "short.toml",
        "--set",
        "path.rtt=20ms,30ms",
        "--set",
        "flow.0.cc=bbr3",
        "--out",
        kept,
    ]
    call(*arguments)
    before = fullpipe.Sweep(kept).frame()
    assert set(before["cc"]) == {"bbr3", "bbr1"}
    call(*arguments)
    assert fullpipe.Sweep(kept).frame().equals(before)
    call("report", kept)
    assert "newreno" not in Path(kept, "report.html").read_text()


@pytest.mark.parametrize("name", ["log[1]", "l*g1", "~"])
@pytest.mark.parametrize("kind", ["csv", "zeek", "json"])
def test_a_log_of_flows_is_read_by_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for where, size in (("log1", 111), (name, 222)):
        Path(where).mkdir()
        zeek = {
            "ts": 1379288667.5,
            "id.orig_p": 1,
            "proto": "tcp",
            "duration": 1.5,
            "orig_bytes": 0,
        }
        zeek |= {"resp_bytes": size, "conn_state": "SF", "orig_pkts": 2, "resp_pkts": 2}
        text = {
            "csv": f"start,bytes\n1.5,{size}\n",
            "json": json.dumps(zeek) + "\n",
            "zeek": "#separator \\x09\n#fields\t"
            + "\t".join(zeek)
            + "\n"
            + "\t".join(map(str, zeek.values()))
            + "\n",
        }[kind]
        Path(where, "flows.csv" if kind == "csv" else "conn.log").write_text(text)
    file = f"./{name}/{'flows.csv' if kind == 'csv' else 'conn.log'}"
    call("workload", "extract", file, "-o", f"./{name}/out.parquet")
    assert results.read_parquet(Path(name, "out.parquet"))["bytes"].to_list() == [222]
    call("workload", "describe", f"./{name}/out.parquet")


def test_a_fleet_is_read_from_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for host, acked in (("h1", 1000), ("h2", 2000)):
        line = (
            f"ESTAB 0 0 10.0.0.1:443 192.0.2.7:1\n\t cubic mss:1000 cwnd:10 bytes_acked:{acked}\n"
        )
        Path(f"{host}.ss").write_text(f"@1576576800\n{line}")
    for name, host in (("fleet1", "h1"), ("fleet[1]", "h2")):
        call("fleet", "ingest", "--arm", f"a={host}.ss", "-o", name)
    table = next(Path("fleet[1]").rglob("connections/**/*.parquet"))
    assert results.read_parquet(table)["bytes_acked"].to_list() == [2000]


def test_any_printable_character_may_be_in_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def write(directory: str, value: int) -> None:
        Path(directory).mkdir()
        pl.DataFrame({"value": [value]}).write_parquet(Path(directory).absolute() / "kept.parquet")

    for each in ("run", "run1", "arun"):
        write(each, -1)
    names = [name for each in PRINTABLE for name in (f"{each}run", f"run{each}")]
    for value, name in enumerate(names):
        if not Path(name).exists():
            write(name, value)
            file = Path(name, "kept.parquet")
            assert results.read_parquet(file)["value"].to_list() == [value]
            assert (
                results.scan_parquet([file, str(file)]).collect()["value"].to_list() == [value] * 2
            )
