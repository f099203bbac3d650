"""Several links in metrics, traces, tables and pictures."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

import fullpipe
from fullpipe.runs.view.plot import picture
from fullpipe.runs.view.run import show

ROOT = Path(__file__).parents[3]


def test_each_link_has_its_row_its_trace_and_its_line() -> None:
    scenario = ROOT / "scenarios/parking-lot.toml"
    run = fullpipe.run(scenario, trace="10ms", duration="5s", set={"measure_from": "1s"})
    names = ["bottleneck", "second", "third"]
    assert [link["name"] for link in run.link_metrics] == names
    assert run.metrics["packets"] == run.link_metrics[0]["packets"]
    links = run.trace("links")
    assert links["link"].unique().sort().to_list() == names
    assert links.height == 3 * len(links["time"].unique())
    queue = picture(run).axes[-1]
    assert [line.get_label() for line in queue.get_lines() if line.get_label() in names] == names
    text = _table(run)
    assert all(f"\n{name} " in text for name in names)
    assert "ACK" not in text, "no ACK meets a link"


def test_acks_have_columns_where_links_drop_or_replace_them() -> None:
    scenario = ROOT / "scenarios/congested-ack-path.toml"
    run = fullpipe.run(
        scenario, duration="25s", set={"link.0.buffer": "15kB", "link.0.ack_filter": "on"}
    )
    uplink = run.link_metrics[1]
    assert uplink["acks_filtered"] > 0
    assert run.flow_metrics[0]["ack_drops"] == uplink["ack_drops"]
    assert f" {uplink['acks_filtered']}" in _table(run)


def test_a_route_can_be_set() -> None:
    scenario = ROOT / "scenarios/parking-lot.toml"
    loaded = fullpipe.load(scenario, set={"flow.0.route": "['bottleneck', 'third']"})
    assert 'route = ["bottleneck", "third"]' in loaded.to_toml()
    assert loaded.links == [
        ("bottleneck", 20_000_000),
        ("second", 20_000_000),
        ("third", 20_000_000),
    ]


def _table(run: fullpipe.Run) -> str:
    text = io.StringIO()
    show([run], Console(file=text, width=100), [0.1])
    return text.getvalue()
