"""Workloads from files of flows, through the package."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import fullpipe
from fullpipe import _core

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

TEXT = """duration = "30s"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "50packets"
[[workload]]
name = "web"
source = "flows.parquet"
cc = "cubic"
"""


def _scenario(folder: Path, flows: pl.DataFrame | None = None, text: str = TEXT) -> Path:
    if flows is not None:
        flows.write_parquet(folder / "flows.parquet")
    (folder / "a.toml").write_text(text, encoding="utf-8")
    return folder / "a.toml"


def _seen() -> pl.DataFrame:
    """Returns two flows, the first with a pause, and one without payload, in no particular order."""
    ms = 1_000_000
    chunks = [None, [{"at": 0, "bytes": 1_000}, {"at": 300 * ms, "bytes": 500}], None]
    kind = pl.List(pl.Struct({"at": pl.Duration("ns"), "bytes": pl.UInt64}))
    starts = pl.Series([5_000 * ms, 2_000 * ms, None], dtype=pl.Datetime("ns"))
    return pl.DataFrame(
        {"start": starts, "bytes": [20_000, 1_500, 0], "chunks": pl.Series(chunks, dtype=kind)}
    )


def test_flows_of_a_file_arrive_in_their_order_with_their_pauses(tmp_path: Path) -> None:
    run = fullpipe.run(_scenario(tmp_path, _seen()), trace="10ms")
    transfers = run.trace("transfers")
    assert transfers["start"].to_list() == [0.0, 3.0]
    assert transfers["bytes"].to_list() == [1_500, 20_000]
    # The second chunk is written after 300 ms, and takes its transmission time and half an RTT.
    assert transfers["completion"][0] == pytest.approx(0.3 + 0.0005 + 0.010, abs=0.0005)
    assert (transfers["completion"] >= transfers["alone"]).all()
    assert run.workload_metrics[0]["completed"] == 2
    assert transfers["workload"].to_list() == ["web", "web"]


def test_a_csv_will_do(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("start,bytes\n1.5,1000\n1.0,2000\n", encoding="utf-8")
    run = fullpipe.run(_scenario(tmp_path, text=TEXT.replace("parquet", "csv")), trace="10ms")
    assert run.trace("transfers")["bytes"].to_list() == [2_000, 1_000]
    assert run.trace("transfers")["start"].to_list() == [0.0, 0.5]


def test_a_csv_is_read_as_extract_reads_it_and_refused_with_its_row(tmp_path: Path) -> None:
    scenario = _scenario(tmp_path, text=TEXT.replace("parquet", "csv"))
    (tmp_path / "flows.csv").write_text("bytes;start\n1000;yesterday\n")
    with pytest.raises(fullpipe.ScenarioError, match="row 2: start yesterday") as refused:
        fullpipe.run(scenario)
    assert refused.value.key == "workload.0.source" and str(tmp_path) not in refused.value.problem
    (tmp_path / "flows.csv").write_text("bytes;start\n1000;1,000000001\n2000;1,0\n")
    transfers = fullpipe.run(scenario, trace="10ms").trace("transfers")
    assert transfers["start"].to_list() == [0.0, 1e-9] and transfers["bytes"].to_list() == [
        2000,
        1000,
    ]


def test_what_was_kept_is_run_again_with_the_same_flows_and_refused_with_others(
    tmp_path: Path,
) -> None:
    scenario = _scenario(tmp_path, _seen())
    first = fullpipe.run(scenario, trace="10ms")
    first.save(tmp_path / "kept")
    again = fullpipe.run(tmp_path / "kept" / "resolved.toml", trace="10ms")
    assert again.trace_hash == first.trace_hash
    assert {"workloads.parquet", "transfers.parquet"} < {
        file.name for file in (tmp_path / "kept").iterdir()
    }
    assert json.loads((tmp_path / "kept/metrics.json").read_text())["workloads"][0]["arrived"] == 2
    _scenario(tmp_path, _seen().head(1))
    with pytest.raises(fullpipe.ScenarioError, match="the fingerprint of the source differs"):
        fullpipe.run(tmp_path / "kept" / "resolved.toml")


@pytest.mark.parametrize(
    ("flows", "problem"),
    [
        (pl.DataFrame({"start": [1.0]}), "no column bytes"),
        (pl.DataFrame({"start": [1.0], "bytes": [0]}), "no flow in the file has bytes"),
        (pl.DataFrame({"start": [1.0], "bytes": [-5]}), "negative number of bytes"),
        (pl.DataFrame({"start": [1.0], "bytes": [1.5]}), "type Float64"),
        (pl.DataFrame({"start": ["a"], "bytes": [1]}), "the column start has type String"),
        (pl.DataFrame({"start": [float("nan")], "bytes": [1]}), "a start is not a finite number"),
        (pl.DataFrame({"start": [1.0], "bytes": [1], "chunks": [3]}), "not a list of"),
    ],
)
def test_a_file_that_has_no_flows_is_refused_by_its_key(
    tmp_path: Path, flows: pl.DataFrame, problem: str
) -> None:
    with pytest.raises(fullpipe.ScenarioError, match=problem) as refused:
        fullpipe.run(_scenario(tmp_path, flows))
    assert refused.value.key == "workload.0.source"
    assert refused.value.fix


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "flows.parquet").write_bytes(b"nothing of the kind" * 10)
    with pytest.raises(fullpipe.ScenarioError, match="not a Parquet file"):
        fullpipe.run(_scenario(tmp_path))


def test_a_sweep_has_a_row_a_workload_and_run(tmp_path: Path) -> None:
    swept = fullpipe.sweep(
        _scenario(tmp_path, _seen()), {"workload.0.cc": ["cubic", "bbr3"]}, repeat=2
    )
    rows = swept.frame()
    assert rows["flow"].to_list() == ["web"] * 4
    assert rows["completed"].to_list() == [2] * 4


def test_other_runners_refuse_it_by_its_key(tmp_path: Path) -> None:
    scenario = fullpipe.load(_scenario(tmp_path, _seen()))
    with pytest.raises(
        fullpipe.ScenarioError,
        match=r"workload\.0\.cc = \"cubic\": --on uml does not support workloads",
    ):
        _core.agent_plan(scenario, "off", "10.0.0.2", 5001, "uml")


def test_beyond_200000_flows_at_once_arrivals_are_refused_and_counted() -> None:
    # 250,000 flows arrive before the first handshake ends.
    text = """duration = "10s"
[path]
rate = "1gbit"
rtt = "20s"
buffer = "10packets"
[[workload]]
name = "crowd"
model = "bounded_pareto shape 1.2 min 1kB max 10kB"
load = 0.4
cc = "cubic"
"""
    run = fullpipe.run(text)
    (crowd,) = run.workload_metrics
    assert crowd["refused"] > 1000
    assert crowd["most_concurrent"] == crowd["arrived"] - crowd["refused"] == 200_000
    said = f"{crowd['refused']} flows of crowd were turned away: 200000 were under way at once"
    assert run.metrics["warnings"] == [said]


_LOT = """duration = "30s"
measure_from = "2s"
[path]
rate = "50mbit"
rtt = "20ms"
buffer = "1bdp"
[[link]]
name = "second"
rate = "40mbit"
buffer = "1bdp"
[[link]]
name = "third"
rate = "30mbit"
buffer = "1bdp"
"""


def _web(name: str, load: float, more: str = "") -> str:
    model = "bounded_pareto shape 1.5 min 2kB max 200kB"
    return (
        f'[[workload]]\nname = "{name}"\nmodel = "{model}"\nload = {load}\ncc = "cubic"\n{more}\n'
    )


def test_each_link_of_a_parking_lot_has_the_load_that_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "lot.toml"
    routes = ("bottleneck", "second", "third")
    each = "".join(_web(name, 0.4, f'route = ["{name}"]') for name in routes)
    file.write_text(_LOT + each)
    run = fullpipe.run(file)
    for workload, rate in zip(run.workload_metrics, (50e6, 40e6, 30e6), strict=True):
        assert workload["goodput_bps"] == pytest.approx(0.4 * rate * 1448 / 1500, rel=0.05)
    assert run.metrics["steadiness"]["verdict"] == "steady"


def test_workloads_that_overload_a_link_together_are_refused_by_its_name(
    tmp_path: Path, fullpipe: Fullpipe
) -> None:
    file = tmp_path / "lot.toml"
    apart = _web("a", 0.6) + _web("b", 0.6, 'route = ["second"]')
    file.write_text(_LOT + apart + _web("c", 0.6, 'route = ["second", "third"]'))
    refused = fullpipe("run", str(file))
    assert refused.returncode == 2
    assert 'workload.2.load = 0.6: the flows of "b" and "c" offer' in refused.stderr
    assert 'to link "second", which carries 38.61mbit' in refused.stderr
    file.write_text(_LOT + apart + _web("c", 0.5, 'route = ["third"]'))
    assert fullpipe("run", str(file)).returncode == 0
