"""Completion times in the report of a sweep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

import fullpipe as api
from conftest import SCENARIO
from fullpipe.report import SlideForm, write_panel
from fullpipe.report.build import build
from fullpipe.report.model import Lines
from fullpipe.report.panels import completions
from fullpipe.results import write_shard
from fullpipe.results.load import load
from fullpipe.results.sweep import series_name
from made_sweeps import blocks
from sweep_dir import write_rows

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

REPEATED = {"send_jitter": "1200us"}
"""Jitter that a sweep adds."""
ARRIVALS = f"""{SCENARIO.partition("[[flow]]")[0]}
[[workload]]
name = "web"
model = "lognormal median 10kB sigma 2 max 2MB"
load = 0.5
cc = "cubic"
"""


def test_transfers_of_every_run_make_distributions_by_size(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "w.toml").write_text(ARRIVALS, encoding="utf-8")
    sweep = ("sweep", "w.toml", "--set", "workload.0.cc=cubic,bbr1", "--repeat", "3")
    done = fullpipe(*sweep, "--trace", "transfers", "--out", "s")
    assert done.returncode == 0, done.stderr
    results = load(tmp_path / "s")
    assert sorted(results.transfers) == [(point, seed) for point in (0, 1) for seed in (7, 8, 9)]
    assert not results.series
    # They are those of the run itself.
    alone = api.run(ARRIVALS, seed=8, trace="10ms", set=dict(REPEATED))
    kept = pl.read_parquet(results.transfers[0, 8])
    assert kept["completion"].to_list() == alone.trace("transfers")["completion"].to_list()
    charts = [
        each
        for each in blocks(build(tmp_path / "s"), "Completion times")
        if isinstance(each, Lines)
    ]
    assert all(each.stepped for each in charts)
    assert {line.label for each in charts for line in each.lines} == {"cubic", "bbr1"}
    frames = [pl.read_parquet(results.transfers[0, seed]) for seed in (7, 8, 9)]
    small = pl.concat(frames).filter(pl.col("bytes") < 10_000)
    line = charts[0].lines[0]
    assert line.y[-1] == pytest.approx(small["completion"].is_not_null().mean())
    assert line.x[-1] == pytest.approx(1e3 * float(str(small["completion"].max())))
    again = fullpipe(*sweep, "--trace", "transfers", "--out", "s")
    assert "nothing to run" in again.stdout


def arrived(directory: Path, buffer: str, sizes: list[int]) -> Path:
    """Writes a sweep of a point and two seeds, with transfers of these sizes that take 10 ms each."""
    text = ARRIVALS.replace('"1bdp"', f'"{buffer}"')
    rows = pl.DataFrame(
        [
            {"point": 0, "seed": seed, "flow": "web", "flow_index": 0, "cc": "cubic", "goodput_bps": 1e6}
            for seed in (1, 2)
        ]
    )  # fmt: skip
    write_rows(directory, rows, {}, text, [1, 2])
    (directory / "series").mkdir()
    for seed in (1, 2):
        transfers = pl.DataFrame(
            {"workload": "web", "bytes": sizes, "completion": 0.01 * seed},
            schema_overrides={"bytes": pl.UInt64},
        )
        write_shard(transfers, directory / "series", series_name(f"0-{seed}", "transfers"))
    return directory


def test_a_size_that_is_a_power_of_ten_is_the_first_of_its_decade(tmp_path: Path) -> None:
    sizes = [0, 1, 9, *(10**power + less for power in range(1, 13) for less in (-1, 0))]
    charts = blocks(build(arrived(tmp_path / "s", "1bdp", sizes)), "Completion times")
    titles = [each.title.rpartition(", n = ") for each in charts if isinstance(each, Lines)]
    # Lines of few transfers have their number.
    assert [int(count) for _, _, count in titles] == [20, *[4] * 8, 2]
    assert [title for title, _, _ in titles] == [
        "below 10 kB",
        "10 to 100 kB",
        "100 kB to 1 MB",
        *("1 to 10 MB", "10 to 100 MB", "100 MB to 1 GB"),
        *("1 to 10 GB", "10 to 100 GB", "100 GB to 1 TB", "1 to 10 TB"),
    ]
    (mega,) = blocks(build(arrived(tmp_path / "mega", "1bdp", [10**6])), "Completion times")
    assert isinstance(mega, Lines)
    assert mega.title == "Completion times, 1 to 10 MB, n = 2"
    (many,) = blocks(build(arrived(tmp_path / "many", "1bdp", [10**6] * 15)), "Completion times")
    assert isinstance(many, Lines)
    assert many.title == "Completion times, 1 to 10 MB"


def test_workloads_have_the_order_of_the_scenario(tmp_path: Path) -> None:
    directory = arrived(tmp_path / "s", "1bdp", [5000])
    for file in (directory / "series").iterdir():
        file.unlink()
    names = ["x1", "x2", "x3"]
    rows = [
        {
            "point": 0,
            "seed": 1,
            "flow": name,
            "flow_index": index,
            "cc": "cubic",
            "goodput_bps": 1e6,
        }
        for index, name in enumerate(names)
    ]
    results = replace(load(directory), rows=pl.DataFrame(rows))
    transfers = pl.DataFrame({"workload": ["x3", "x1", "x2"], "bytes": 5000, "completion": 0.01})
    file = tmp_path / "transfers.parquet"
    transfers.write_parquet(file)
    found = completions.section(replace(results, transfers={(0, 1): file}))
    assert found
    (chart,) = found.blocks
    assert isinstance(chart, Lines)
    assert [line.label for line in chart.lines] == names


def test_transfers_of_several_results_are_beside_each_other(tmp_path: Path) -> None:
    places = [arrived(tmp_path / name, name, [5000, 5001]) for name in ("1bdp", "4bdp")]
    (chart,) = blocks(build(places), "Completion times")
    assert isinstance(chart, Lines)
    assert [line.label for line in chart.lines] == ["1bdp", "4bdp"]
    out = write_panel(places, "completion", SlideForm.CSV, tmp_path / "c.csv")
    assert "4bdp" in out.read_text(encoding="utf-8")


def test_transfers_are_refused_where_there_are_none(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO, encoding="utf-8")
    done = fullpipe("sweep", "one.toml", "--trace", "transfers", "--out", "s")
    assert done.returncode == 2
    assert "--trace transfers: the scenario has no [[workload]]" in done.stderr
