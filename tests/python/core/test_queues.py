"""Parts of flows in queues, drops and marks; the rate of links; rows of flows without a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import fullpipe as pipe
from fullpipe import _core
from fullpipe.report.build import build
from fullpipe.report.model import Source, Timeline
from fullpipe.report.panels.declared import PANELS
from fullpipe.report.panels.tracks import MOST_FLOWS, rows_of
from fullpipe.wings.real.links.path import path as link_path

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

THREE = """\
stack = "rfc"
duration = "8s"
[path]
rate = "20mbit"
rtt = "40ms"
buffer = "1bdp"
queue = "{queue}"
{more}
[[flow]]
name = "a"
cc = "cubic"
ecn = "{ecn}"
[[flow]]
name = "b"
cc = "bbr3"
start = "1s"
reverse_route = [{back}]
[[flow]]
name = "cbr"
cc = "none"
app_rate = "6mbit"
start = "2s"
[[link]]
name = "uplink"
rate = "300kbit"
buffer = "20packets"
queue = "{queue}"
"""
QUEUES = [str(each["name"]) for each in _core.queues()]
SHAPED = 'shaper = "15mbit burst 20kB"'
POLICED = 'policer = "12mbit burst 30kB"'


def _sums(run: pipe.Run) -> pl.DataFrame:
    """Returns the sums over flows and the numbers of each link, for every sample."""
    numbers = ("queue_bytes", "drops", "marks")
    sums = (
        run.trace("queues").group_by("time", "link").agg(pl.col(numbers).sum().name.suffix("_sum"))
    )
    return run.trace("links").join(sums, on=["time", "link"], how="left").fill_null(0)


@pytest.mark.parametrize("more", ["", SHAPED, POLICED, 'change = [{ at = "4s", rate = "5mbit" }]'])
@pytest.mark.parametrize("queue", QUEUES)
def test_parts_of_flows_sum_up_to_the_queue(queue: str, more: str) -> None:
    ecn = "off" if queue in ("pfifo", "bfifo") else "ect0"
    text = THREE.format(queue=queue, more=more, back='"uplink"', ecn=ecn)
    run = pipe.run(text, trace="5ms")
    sums = _sums(run)
    assert (sums["queue_bytes"] > 20_000).any()
    for number in ("queue_bytes", "drops", "marks"):
        assert (sums[number] == sums[f"{number}_sum"]).all(), number
    at_end = run.trace("queues").filter(link="bottleneck").group_by("flow").last()
    for flow in run.flow_metrics:
        (mine,) = at_end.filter(flow=flow["name"]).iter_rows(named=True)
        assert mine["drops"] == flow["drops"]
        assert mine["marks"] == flow["marks"]


def test_a_workload_has_one_part() -> None:
    run = pipe.run("python/fullpipe/scenarios/workload.toml", trace="20ms", duration="20s")
    assert run.trace("queues")["flow"].unique().sort().to_list() == ["download", "web"]
    sums = _sums(run)
    assert (sums["queue_bytes"] == sums["queue_bytes_sum"]).all()


def test_the_rate_of_a_link_is_its_mean_since_the_previous_row() -> None:
    change = 'change = [{ at = "4.005s", rate = "5mbit" }]'
    text = THREE.format(queue="pfifo", more=change, back='"uplink"', ecn="off")
    rows = pipe.run(text, trace="10ms").trace("links").filter(link="bottleneck")
    rates = dict(rows.select(pl.col("time").round(3), "rate").iter_rows())
    assert (rates[4.0], rates[4.01], rates[4.02]) == (20e6, 12.5e6, 5e6)
    limited = text.replace(change, SHAPED)
    shaped = pipe.run(limited, trace="10ms").trace("links").filter(link="bottleneck")
    assert shaped["rate"].unique().to_list() == [15e6]


def test_the_mean_of_a_varying_rate_is_the_capacity_that_the_command_names() -> None:
    scenario = "python/fullpipe/scenarios/cubic-vs-bbr1.toml"
    run = pipe.run(scenario, trace="10ms", set={"path.profile": "lte", "duration": "60s"})
    links = run.trace("links")
    assert links.filter(link="uplink")["rate"].unique().to_list() == pytest.approx([5.6e6])
    rates = links.filter(link="bottleneck")["rate"]
    assert rates.n_unique() > 100
    assert rates.is_between(2.1e6, 23.3e6).all()


def test_a_flow_without_a_window_has_rows() -> None:
    text = THREE.format(queue="pfifo", more="", back='"uplink"', ecn="off")
    run = pipe.run(text, trace="10ms", measure_from="3s")
    rows = run.trace().filter(flow="cbr")
    assert rows["time"].min() == pytest.approx(2.0, abs=0.02)
    assert rows["limited_by"].unique().to_list() == ["application"]
    for column in ("cwnd", "inflight", "ssthresh", "pacing_rate", "rtt", "acked", "lost"):
        assert rows[column].null_count() == rows.height, column
    measured = rows.filter(pl.col("time") >= 3.0)["delivered"]
    goodput = (measured[-1] - measured[0]) * 8 / 5
    assert goodput == pytest.approx(run.flow_metrics[2]["goodput_bps"], rel=0.01)
    assert run.plot().axes


def test_a_flow_without_a_window_has_rows_at_every_ack_level() -> None:
    text = THREE.format(queue="pfifo", more="", back='"uplink"', ecn="off")
    rows = pipe.run(text, trace="ack", duration="3s").trace().filter(flow="cbr")
    assert rows.height == 1001  # each millisecond from 2 s to 3 s


def _sources(kept: Path) -> list[Source]:
    (block,) = (
        block
        for section in build(kept).sections
        for block in section.blocks
        if isinstance(block, Timeline)
    )
    return block.runs[0].read()


@pytest.mark.parametrize("flows", [2, MOST_FLOWS + 3])
def test_stacked_parts_are_the_whole_queue(flows: int, tmp_path: Path) -> None:
    text = f"""duration = "4s"
[path]
rate = "20mbit"
rtt = "40ms"
buffer = "2bdp"
[[flow]]
cc = "cubic"
count = {flows}
[[workload]]
name = "web"
model = "lognormal median 10kB sigma 2 max 1MB"
cc = "cubic"
load = 0.2
"""
    run = pipe.run(text, trace="10ms")
    run.save(tmp_path / "kept")
    parts = {
        each.name: each.tracks["share"]
        for each in _sources(tmp_path / "kept")
        if each.kind == "queue"
    }
    if flows == 2:
        assert list(parts) == ["cubic-1", "cubic-2", "web"]
    else:
        assert len(parts) == MOST_FLOWS
        assert "5 others" in parts
    links = run.trace("links")
    milliseconds = links["queue_bytes"].cast(pl.Float64).to_numpy() * 8 / 20e6 * 1e3
    assert milliseconds.max() > 40
    whole = np.sum([part.values for part in parts.values()], axis=0)
    np.testing.assert_allclose(whole, milliseconds, rtol=1e-6)


def test_at_a_varying_rate_parts_add_up_to_the_queueing_delay(tmp_path: Path) -> None:
    change = 'change = [{ at = "4s", rate = "5mbit" }]'
    run = pipe.run(
        THREE.format(queue="pfifo", more=change, back='"uplink"', ecn="off"), trace="10ms"
    )
    run.save(tmp_path / "kept")
    parts = [
        each.tracks["share"].values for each in _sources(tmp_path / "kept") if each.kind == "queue"
    ]
    rows = run.trace("links").filter(link="bottleneck")
    delays = np.where(rows["queue_bytes"].to_numpy() > 0, rows["sojourn"].to_numpy() * 1e3, 0.0)
    assert delays.max() > 40
    np.testing.assert_allclose(np.sum(parts, axis=0), delays, rtol=1e-6)


def test_a_trace_of_an_earlier_version_is_shown_without_parts_and_rates(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    run = pipe.run(THREE.format(queue="pfifo", more="", back='"uplink"', ecn="off"), trace="10ms")
    run.save(kept)
    now = _sources(kept)
    (kept / "queues.parquet").unlink()
    links = run.trace("links").drop("rate")
    links.write_parquet(kept / "links.parquet")
    (kept / "SHA256SUMS").unlink()
    found = _sources(kept)
    assert {each.kind for each in now} - {each.kind for each in found} == {"queue"}
    shown = {panel.key for panel in PANELS if rows_of(panel, found)}
    assert {panel.key for panel in PANELS if rows_of(panel, now)} - shown == {"share"}
    assert not any({"rate", "bdp"} & each.tracks.keys() for each in found)
    assert any("bdp" in each.tracks for each in now)


OWN = {
    str(each["name"]): "1bdp" if each["limit"] is None else f"{each['limit']}packets"
    for each in _core.queues()
}
"""The buffer that no option sets, by queue: tc's limit, or a BDP where tc has none that fits a path."""


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_keeps_its_own_limit_where_no_option_sets_the_buffer(
    queue: str, fullpipe: Fullpipe
) -> None:
    run = fullpipe("run", "cubic", "--queue", queue, "--duration", "1s")
    assert f", {queue} with {OWN[queue]}; 1s" in run.stdout
    short = ("--queue", queue, "--duration", "1s", "--rate", "5mbit")
    both = fullpipe("compare", "cubic", "bbr3", *short, "--repeat", "2")
    assert f", {queue} with {OWN[queue]}; 1s" in both.stdout
    made = fullpipe("new", "cubic", "--set", f"path.queue={queue}").stdout
    assert ('buffer = "1bdp"' in made) == (OWN[queue] == "1bdp") and "default" not in made
    assert f'buffer = "{OWN[queue]}"' in pipe.load(made).to_toml()


def test_a_sweep_over_queues_gives_each_its_own_limit(fullpipe: Fullpipe) -> None:
    queues = ["pfifo", "fq_codel", "red"]
    swept = pipe.sweep(["cubic"], queue=queues, duration="1s", repeat=1)
    for point, queue in enumerate(queues):
        assert f'buffer = "{OWN[queue]}"' in swept.scenario(point)
    words = ("--duration", "1s", "--repeat", "1", "--show", "utilization", "--json")
    done = fullpipe("sweep", "cubic", "--queue", ",".join(queues), *words)
    assert done.returncode == 0, done.stderr


def test_a_given_buffer_is_that_of_any_queue(fullpipe: Fullpipe) -> None:
    for words in (("--buffer", "2bdp"), ("--set", "path.buffer=2bdp")):
        run = fullpipe("run", "cubic", "--queue", "codel", "--duration", "1s", *words)
        assert "codel with 2bdp" in run.stdout
    made = fullpipe("new", "--queue", "codel", "--buffer", "2bdp").stdout
    assert 'buffer = "2bdp"' in made


def test_the_functions_and_tests_keep_a_queues_limit_too(fullpipe: Fullpipe) -> None:
    loaded = pipe.load(["cubic", "bbr3"], queue={"kind": "codel", "target": "10ms"})
    assert 'buffer = "1000packets"' in loaded.to_toml()
    load = fullpipe("test", "upload", "--queue", "pie", "--rate", "5mbit", "--duration", "3s")
    assert "pie with 1000packets" in load.stdout
    for given, limit in (({"path.queue": "cake"}, "10240packets"), ({}, "1bdp")):
        both = link_path(given, {}, up=None, file=None).to_toml()
        assert both.count(f'buffer = "{limit}"') == 2
