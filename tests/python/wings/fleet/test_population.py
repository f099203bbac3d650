"""A population of simulated paths gives the same fleet directory with any executor and after any interruption."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import tomllib
from typing import TYPE_CHECKING

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

import fullpipe
from fullpipe.base.progress import Counter
from fullpipe.commands import app
from fullpipe.study.engine import Engine
from fullpipe.wings.fleet import store as tables
from fullpipe.wings.fleet.population import execute as shards
from fullpipe.wings.fleet.population.execute import execute
from fullpipe.wings.fleet.population.spec import PopulationSpec, population
from fullpipe.wings.fleet.population.store import PopulationStore, opened, paths

if TYPE_CHECKING:
    from pathlib import Path

ARMS = ("cubic", "bbr1")
PATHS = 24


def spec(**changed: object) -> PopulationSpec:
    text, file = population("edge-2019")
    return PopulationSpec(**{"text": text, "file": file, "arms": ARMS, "paths": PATHS, **changed})  # type: ignore[arg-type]


def filled(directory: Path, made: PopulationSpec, threads: int = 2) -> tuple[int, int]:
    with Counter(silent=True) as counter:
        return execute(made, directory, counter, command="test", engine=Engine(threads=threads))


def rows(directory: Path, table: str) -> pl.DataFrame:
    return (
        tables.scan(directory, table)
        .sort("arm", "pair" if table != "counters" else "time")
        .collect()
    )


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("population") / "fleet"
    assert filled(directory, spec())[0] == PATHS
    return directory


def test_it_has_the_tables_of_a_fleet(fleet: Path) -> None:
    connections, requests = rows(fleet, "connections"), rows(fleet, "requests")
    assert connections["arm"].value_counts().sort("arm").rows() == [
        ("bbr1", PATHS),
        ("cubic", PATHS),
    ]
    assert connections["connection"].n_unique() == 2 * PATHS
    assert set(requests["status"]) == {200} and set(requests["body_bytes_sent"]) == {3_000_000}
    # Bytes sent without retransmissions equal bytes acknowledged: each loss was retransmitted.
    assert (
        connections["bytes_sent"] - connections["bytes_retrans"] == connections["bytes_acked"]
    ).all()
    for throughput, seconds in requests.select("throughput_bps", "request_time_s").iter_rows():
        assert throughput == pytest.approx(8 * 3e6 / seconds)
    assert (connections["busy_s"] > requests["request_time_s"]).all()
    is_bbr = connections["arm"] == "bbr1"
    assert connections["bbr_bw_bps"].is_not_null().equals(is_bbr)


def test_counters_are_sums_of_connections(fleet: Path) -> None:
    connections, counters = rows(fleet, "connections"), rows(fleet, "counters")
    for arm in ARMS:
        of_arm = connections.filter(arm=arm)
        sent, again = (
            int(of_arm[name].sum()) for name in ("data_segs_out", "retrans_total_packets")
        )
        assert counters.filter(arm=arm)["retrans_segs"].sum() == again
        assert counters.filter(arm=arm)["out_segs"].sum() == sent - again


def test_paths_are_there_as_they_were_drawn(fleet: Path) -> None:
    drawn = paths(fleet).sort("pair").collect()
    connections = rows(fleet, "connections").filter(arm="cubic")
    assert drawn["pair"].to_list() == list(range(PATHS))
    assert set(drawn["class"]) <= {"wired", "wifi", "mobile"}
    assert (connections["minrtt_s"] > drawn["path.rtt.value"]).all(), (
        "nothing is faster than its path"
    )


def test_what_is_there_is_not_run_again_and_more_is_added(fleet: Path, tmp_path: Path) -> None:
    assert filled(fleet, spec()) == (0, 0)
    grown = tmp_path / "grown"
    filled(grown, spec(paths=10))
    assert filled(grown, spec(), threads=1)[0] == PATHS - 10
    for table in ("connections", "requests", "counters"):
        assert_frame_equal(rows(grown, table), rows(fleet, table))
    assert json.loads((grown / "simulate.json").read_text())["paths"] == PATHS


def test_a_shard_without_its_name_is_made_again(fleet: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    filled(killed, spec(paths=10))
    for name in (killed / "shards").iterdir():
        name.unlink()
    assert filled(killed, spec())[0] == PATHS
    assert_frame_equal(rows(killed, "connections"), rows(fleet, "connections"))


def test_counters_that_were_not_finished_are_made_again(fleet: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    filled(killed, spec(paths=10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PopulationStore, "finish", lambda _: None)
        assert filled(killed, spec())[0] == PATHS - 10
    assert filled(killed, spec()) == (0, 0)
    assert_frame_equal(rows(killed, "counters"), rows(fleet, "counters"))


# A few seconds of work in short shards.
SLOWLY = """
import sys
from fullpipe.wings.fleet.population import execute
from fullpipe.commands import main
execute.SHARD_S = 0.05
sys.argv = ["fullpipe", "fleet", "simulate", "--paths", "1500", "--cc", "cubic,bbr1", "--threads", "1", "--out", "edge"]
main()
"""


def test_it_goes_on_where_a_signal_has_ended_it_without_loss_or_doubles(tmp_path: Path) -> None:
    shards = tmp_path / "edge" / "shards"
    before = 0
    for sent, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        process = subprocess.Popen(
            [sys.executable, "-c", SLOWLY],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # the handler of a process started in a terminal
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        with process:
            deadline = time.monotonic() + 60
            while len(list(shards.glob("[0-9]*-*"))) < before + 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(sent)
            _, said = process.communicate(timeout=20)
        assert process.returncode == code
        if sent != signal.SIGKILL:
            assert "of 1,500 paths" in said and "the same command resumes there" in said
        more = len(list(shards.glob("[0-9]*-*")))
        assert more >= before + 2
        before = more
    subprocess.run(
        [sys.executable, "-c", SLOWLY], cwd=tmp_path, check=True, capture_output=True, timeout=300
    )
    stopped, whole = tmp_path / "edge", tmp_path / "whole"
    assert json.loads((stopped / "simulate.json").read_text())["paths"] == 1500
    filled(whole, spec(paths=1500))
    for table in ("connections", "requests", "counters"):
        assert_frame_equal(rows(stopped, table), rows(whole, table))
    assert_frame_equal(paths(stopped).sort("pair").collect(), paths(whole).sort("pair").collect())


def test_another_population_is_refused_the_directory(fleet: Path) -> None:
    for other in (spec(seed=2), spec(arms=("cubic",)), spec(changes=[("path.loss", "0%")])):
        with pytest.raises(
            FileExistsError, match="of another population, other arms or another seed"
        ):
            filled(fleet, other)


def test_a_path_by_itself_is_what_it_was_in_the_fleet(fleet: Path) -> None:
    printed = CliRunner().invoke(app, ["fleet", "path", str(fleet), "7", "--arm", "bbr1"])
    assert printed.exit_code == 0, printed.output
    assert tomllib.loads(printed.stdout)["flow"][0]["cc"] == "bbr1"
    flow = fullpipe.run(printed.stdout).metrics["flows"][0]
    row = rows(fleet, "connections").row(
        by_predicate=(pl.col("arm") == "bbr1") & (pl.col("pair") == 7), named=True
    )
    assert (flow["sent"], flow["retransmits"]) == (
        row["data_segs_out"],
        row["retrans_total_packets"],
    )
    assert opened(fleet).identity == spec().identity


def test_what_is_wrong_is_said(fleet: Path, tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["fleet", *arguments])
        assert done.exit_code == 2, done.output
        return done.output

    out = ["--out", str(tmp_path / "new")]
    assert "did you mean edge-2019?" in said("simulate", "--preset", "edge-2091", *out)
    assert (
        'neither an arm of this population nor an algorithm\n  fix: did you mean "cubic"?'
        in said("simulate", "--cc", "cubik", *out)
    )
    assert "{1ms..2mbit}: 1ms and 2mbit have different units" in said(
        "simulate", "--set", "path.rtt={1ms..2mbit}", *out
    )
    assert "unknown key\n  fix: did you mean path.rtt?" in said(
        "simulate", "--set", "path.rrt=1ms", *out
    )
    assert not (tmp_path / "new").exists()
    assert "choose one of cubic, bbr1" in said("path", str(fleet), "0", "--arm", "bbr2")
    assert "has 24 paths" in said("path", str(fleet), "24")
    assert "no simulate.json" in said("path", str(tmp_path), "0")


def test_a_kill_loses_at_most_ten_seconds_of_work() -> None:
    assert shards.SHARD_S <= 10, "what a shard has of work, in tests less"
