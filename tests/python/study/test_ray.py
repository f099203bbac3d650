"""A Ray cluster on this machine gives the same rows of sweeps and fleets, though a worker is killed.

`make setup-all` installs Ray.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from polars.testing import assert_frame_equal

import fullpipe as package
from fullpipe.base.progress import Counter
from fullpipe.study.engine import Engine
from fullpipe.wings.fleet import store as tables
from fullpipe.wings.fleet.population.execute import execute
from fullpipe.wings.fleet.population.spec import PopulationSpec, population
from fullpipe.wings.fleet.population.store import paths
from fullpipe.wings.fleet.schema import DAY_OF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Fullpipe

ray = pytest.importorskip("ray", reason="Ray is not installed; `make setup-all` installs it")

# Ray's own warnings are not errors.
pytestmark = pytest.mark.filterwarnings("default")

SCENARIO = """\
# 24 runs of it are about ten seconds of work
duration = "20s"
[path]
rate = "1gbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
[[flow]]
cc = "cubic"
"""
AXES = {"flow.1.cc": ["cubic", "bbr1", "bbr3"]}


@pytest.fixture
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def busy_workers() -> list[int]:
    """Returns the processes that run a task of fullpipe; Ray puts the task's name into their title."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            title = (process / "cmdline").read_bytes()
        except OSError:  # the process has ended
            continue
        if title.startswith(b"ray::fullpipe_task"):
            found.append(int(process.name))
    return found


@pytest.mark.usefixtures("cluster")
def test_every_row_is_there_and_the_same_though_a_worker_is_killed(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not list(
            (tmp_path / "ray").glob("runs/[0-9]*.parquet")
        ):
            time.sleep(0.02)
        while time.monotonic() < deadline and not killed:
            for worker in busy_workers()[:1]:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

    killer = threading.Thread(target=kill)
    killer.start()
    on_ray = package.sweep(
        SCENARIO, AXES, repeat=8, engine="ray", trace="off", out=tmp_path / "ray"
    )
    killer.join()
    assert killed, "no busy worker was found"
    here = package.sweep(SCENARIO, AXES, repeat=8, trace="off", out=tmp_path / "local")
    assert len(here.frame()) == 3 * 8 * 2
    assert_frame_equal(on_ray.frame(), here.frame())
    assert on_ray.about["identity"] == here.about["identity"]


@pytest.mark.usefixtures("cluster")
def test_a_fleet_is_the_same_on_a_cluster_and_goes_on_there(tmp_path: Path) -> None:
    text, file = population("edge-2019")
    spec = PopulationSpec(text, file, ("cubic", "bbr3"), paths=60)

    def filled(directory: Path, number: int, engine: str) -> tuple[int, int]:
        with Counter(silent=True) as counter:
            return execute(
                replace(spec, paths=number),
                directory,
                counter,
                command="test",
                engine=Engine(engine),
            )

    begun = filled(tmp_path / "ray", 20, "local")
    rest = filled(tmp_path / "ray", 60, "ray")
    whole = filled(tmp_path / "local", 60, "local")
    assert (begun[0] + rest[0], begun[1] + rest[1]) == whole
    for table in ("connections", "requests", "counters"):
        on_ray, here = (
            tables.scan(tmp_path / engine, table).sort("arm", "host", DAY_OF[table]).collect()
            for engine in ("ray", "local")
        )
        assert len(here) > 0
        assert_frame_equal(on_ray, here, check_exact=True)
    assert_frame_equal(
        *(paths(tmp_path / engine).sort("pair").collect() for engine in ("ray", "local"))
    )


@pytest.mark.usefixtures("cluster")
def test_workloads_and_the_files_that_they_are_made_of_are_there_on_every_worker(
    tmp_path: Path,
) -> None:
    (tmp_path / "flows.csv").write_text(
        "start,bytes\n" + "".join(f"{n * 0.05},{(n % 7 + 1) * 5000}\n" for n in range(60))
    )
    scenario = tmp_path / "web.toml"
    scenario.write_text(
        'duration = "5s"\n[path]\nrate = "20mbit"\nrtt = "20ms"\nbuffer = "1bdp"\n'
        '[[workload]]\nname = "seen"\nsource = "flows.csv"\ncc = "cubic"\n'
        '[[workload]]\nname = "drawn"\nmodel = "lognormal median 5kB sigma 1 max 1MB"\nload = 0.2\ncc = "cubic"\n'
    )
    axes = {"workload.1.load": ["0.2", "0.4"]}
    on_ray = package.sweep(
        scenario, axes, repeat=4, engine="ray", trace="off", out=tmp_path / "ray"
    )
    here = package.sweep(scenario, axes, repeat=4, trace="off", out=tmp_path / "local")
    assert len(here.frame()) == 2 * 4 * 2
    assert_frame_equal(on_ray.frame(), here.frame())
    drawn = here.frame().filter(flow="drawn")
    assert drawn["completed_bytes"].n_unique() == len(drawn), (
        "each seed and load has different flows"
    )
    seen = here.frame().filter(flow="seen")
    assert seen["arrived"].unique().to_list() == [60]
    assert seen["completion_s.mean"].n_unique() == len(seen), "all repetitions differ"


def test_an_evaluation_has_the_same_verdicts(fullpipe: Fullpipe, tmp_path: Path) -> None:
    tables = {}
    for engine in ("local", "ray"):
        out = tmp_path / engine
        done = fullpipe(
            *("evaluate", "cubic", "--quick", "--seeds", "3", "--engine", engine),
            *("--criterion", "full-backoff", "--criterion", "late-comer", "--out", str(out)),
        )
        assert done.returncode in (0, 1), done.stderr
        tables[engine] = (out / "table.json").read_text(encoding="utf-8")
    assert tables["ray"] == tables["local"]
