"""A cluster of three nodes on this machine: a worker, a node and the head node are killed, and no row is lost.

`make setup-all` installs Ray. `tools/cluster.py` does the same with 100,000 runs, and measures.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import fullpipe as package
from ray_nodes import TOKEN, Node, wait

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("ray", reason="Ray is not installed; `make setup-all` installs it")

MINE = '''\
"""An algorithm of a user, which needs another module of the same folder."""

from fullpipe import Decision
from window import packets


class Mine:
    def __init__(self, config):
        self.mss = config.smss

    def on_ack(self, ack, conn):
        pass

    def decision(self):
        return Decision(cwnd=packets() * self.mss)
'''
SCENARIO = """\
# Short runs
duration = "5s"
[path]
rate = "50mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
"""
WITH_FILES = """\
# Files and a module that only the driver has
duration = "2s"
[path]
rate = "20mbit"
rtt = "20ms"
buffer = "1bdp"
loss = "list file losses.txt"
[[flow]]
cc = "mine:Mine"
[[workload]]
name = "seen"
source = "../flows.csv"
cc = "cubic"
"""


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[ExitStack]:
    with ExitStack() as ending:
        yield ending


def start(
    nodes: ExitStack,
    folder: Path,
    number: int,
    address: str = "",
    env: dict[str, str] | None = None,
) -> Node:
    node = Node(folder, number, address, env)
    nodes.callback(node.kill)
    return node


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "fullpipe", "sweep", *map(str, arguments)]


def elsewhere(node: Node) -> dict[str, str]:
    """Returns the environment of a driver."""
    return {**os.environ, **TOKEN, "RAY_ADDRESS": node.address}


def test_a_worker_a_node_and_the_head_are_killed_and_no_row_is_lost(
    tmp_path: Path, nodes: ExitStack
) -> None:
    head = start(nodes, tmp_path, 11).ready()
    others = [start(nodes, tmp_path, number, head.address) for number in (12, 13)]
    for each in others:
        each.ready()
    cluster = [head, *others]
    far, near = tmp_path / "driver", tmp_path / "here"
    for folder in (far, near):
        folder.mkdir()
    scenario = tmp_path / "short.toml"
    scenario.write_text(SCENARIO)
    asked = command(scenario, "--trace=off", "--set=path.buffer=0.5bdp,1bdp,4bdp", "--out=kept")
    shards = far / "kept" / "runs"

    def finished() -> int:
        return max(
            (int(file.name.split("-")[1]) for file in shards.glob("[!.]*.parquet")), default=0
        )

    # A worker and a node: the sweep continues without them.
    with subprocess.Popen(
        [*asked, "--repeat=1000000", "--engine=ray"],
        cwd=far,
        env=elsewhere(head),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as sweep:
        nodes.callback(sweep.kill)
        wait(lambda: finished() and cluster[1].kill_worker())
        wait(lambda: cluster[2].workers())
        cluster[2].kill()
        before = finished()
        wait(lambda: finished() > before)

        # The head: the command ends with an error.
        common = min(finished() // 3 + 20, 100)
        cluster[0].kill()
        killed = time.monotonic()
        _, said = sweep.communicate(timeout=50)
    assert sweep.returncode == 2, said
    assert time.monotonic() - killed < 45, "Ray itself gives up after 60 s"
    assert "error: the Ray cluster is lost: " in said
    assert "finished runs are kept in kept; the same command resumes there\n  fix: " in said
    assert "Traceback" not in said
    cluster[1].kill()

    # It continues on threads, with few more runs than there are, and the rows are those of one machine.
    repeat = finished() // 3 + 50
    for folder, seeds in ((far, repeat), (near, common)):
        subprocess.run([*asked, f"--repeat={seeds}"], cwd=folder, check=True, capture_output=True)
    rows, alone = (package.Sweep(folder / "kept").frame() for folder in (far, near))
    assert len(rows) == rows.select("point", "seed").n_unique() == 3 * repeat
    assert len(alone) == 3 * common
    assert_frame_equal(rows.filter(pl.col("seed") <= common), alone)


JUDGING = {
    "check": ["check", "long.toml", "--repeat=150", "--json"],
    "validate": ["validate", "--cell=cubic-*-loss", "--cell=bbr-*-loss", "--seeds=80", "--json"],
    "test": ["test", "upload", "--duration=60s", "--rate=50mbit", "--repeat=150", "--json"],
}
"""Commands that judge, with seconds of work for each."""


def test_commands_that_judge_keep_their_runs_when_the_cluster_is_lost(
    tmp_path: Path, nodes: ExitStack
) -> None:
    head = start(nodes, tmp_path, 41).ready()
    other = start(nodes, tmp_path, 42, head.address).ready()
    long = SCENARIO.replace('"5s"', '"60s"\nexpect = ["flow.*.goodput >= 1mbit"]')
    places = {name: tmp_path / name for name in JUDGING}
    for place in places.values():
        place.mkdir()
        (place / "long.toml").write_text(long)

    def words(name: str, *more: str) -> list[str]:
        return [sys.executable, "-m", "fullpipe", *JUDGING[name], *more]

    def finished(name: str) -> int:
        lines = places[name] / "kept.unfinished/runs.jsonl"
        return lines.read_bytes().count(b"\n") if lines.exists() else 0

    commands = {
        name: subprocess.Popen(
            words(name, "--engine=ray", "--out=kept"),
            cwd=place,
            env=elsewhere(head),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, place in places.items()
    }
    for each in commands.values():
        nodes.callback(each.kill)
    wait(lambda: all(map(finished, JUDGING)))
    other.kill_worker()  # if Ray has started one there
    before = {name: finished(name) for name in JUDGING}
    wait(lambda: any(finished(name) > before[name] for name in JUDGING))
    head.kill()
    for name, each in commands.items():
        _, said = each.communicate(timeout=300)
        assert each.returncode == 2, (name, said)
        assert "error: the Ray cluster is lost: " in said, name
        kept = "finished runs are kept in kept.unfinished; the same command resumes there\n  fix: "
        assert kept in said, name
        assert "Traceback" not in said, name
    other.kill()
    for name, place in places.items():
        made = [
            subprocess.run(words(name, f"--out={out}"), cwd=place, capture_output=True, text=True)
            for out in ("kept", "whole")
        ]
        assert made[0].returncode == made[1].returncode in (0, 1), (name, made[0].stderr)
        assert made[0].stdout == made[1].stdout, name
        assert not (place / "kept.unfinished").exists(), name


def test_files_and_modules_that_only_the_driver_has_are_sent(
    tmp_path: Path, nodes: ExitStack
) -> None:
    head = start(nodes, tmp_path, 21)
    home = tmp_path / "home"
    (home / "scenarios").mkdir(parents=True)
    (home / "scenarios" / "mine.toml").write_text(WITH_FILES)
    (home / "scenarios" / "losses.txt").write_text("3\n70\n71\n")
    flows = "".join(f"{n * 0.05},{(n % 7 + 1) * 5000}\n" for n in range(30))
    (home / "flows.csv").write_text(f"start,bytes\n{flows}")
    (home / "mine.py").write_text(MINE)
    (home / "window.py").write_text("def packets():\n    return 20\n")
    # A name by which only the driver finds its folder.
    folder = os.open(home, os.O_RDONLY)
    nodes.callback(os.close, folder)
    own = f"/proc/self/fd/{folder}"
    head.ready()

    for engine in ("ray", "local"):
        env = {**elsewhere(head), "PYTHONPATH": f"{own}:{os.environ.get('PYTHONPATH', '')}"}
        scenario = f"{own}/scenarios/mine.toml"
        options = ["--repeat=20", "--trace=off", f"--engine={engine}", f"--out={engine}"]
        done = subprocess.run(
            command(scenario, *options),
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            pass_fds=[folder],
        )
        assert done.returncode == 0, done.stderr
    rows, others = (package.Sweep(tmp_path / engine).frame() for engine in ("ray", "local"))
    assert rows["seed"].n_unique() == 20
    assert_frame_equal(rows, others)


def test_a_worker_that_can_not_run_the_sweep_is_named(tmp_path: Path, nodes: ExitStack) -> None:
    scenario = tmp_path / "short.toml"
    scenario.write_text(SCENARIO)
    without = tmp_path / "without" / "fullpipe"
    without.mkdir(parents=True)
    (without / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'fullpipe'\", name='fullpipe')\n"
    )
    other = tmp_path / "other" / "fullpipe"
    shutil.copytree(Path(package.__file__).parent, other)
    with (other / "run.py").open("a") as module:
        module.write("# another build\n")
    clusters = [
        start(nodes, tmp_path, number, env={"PYTHONPATH": str(where.parent)})
        for number, where in ((31, without), (32, other))
    ]
    for node, problem, fix in zip(
        clusters,
        ("a worker has no fullpipe", "of fullpipe, but the command has"),
        (
            "on every node, in a clone of fullpipe",
            "install the same build of fullpipe on every node",
        ),
        strict=True,
    ):
        node.ready()
        done = subprocess.run(
            command(scenario, "--repeat=4", "--trace=off", "--engine=ray", "--out=kept"),
            cwd=tmp_path,
            env=elsewhere(node),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("error: "), done.stderr
        assert problem in done.stderr and fix in done.stderr
        assert "Traceback" not in done.stderr


def test_an_address_without_a_cluster_is_an_error(tmp_path: Path) -> None:
    scenario = tmp_path / "short.toml"
    scenario.write_text(SCENARIO)
    for address, problem in (
        ("127.0.0.1:1", "no Ray cluster answers there"),
        ("ray://127.0.0.1:1", "Ray Client does not carry sweeps"),
    ):
        done = subprocess.run(
            command(scenario, "--engine=ray", "--trace=off", "--out=kept"),
            cwd=tmp_path,
            env={**os.environ, "RAY_ADDRESS": address},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert (done.returncode, done.stderr.splitlines()[0]) == (
            2,
            f"error: RAY_ADDRESS={address}: {problem}",
        )
