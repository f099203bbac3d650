"""Slowdowns as the command, its tables and its report show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fullpipe.metrics import DecadeMetrics, decade_text
from fullpipe.report.build import build
from fullpipe.report.model import Lines, Number, Table, Timeline

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

SCENARIO = """\
# Flows that arrive
duration = "6s"
[path]
rate = "100mbit"
rtt = "20ms"
buffer = "4bdp"
[[workload]]
model = "bounded_pareto shape 1.2 min 1kB max 1MB"
load = 0.6
stop = "5s"
cc = "cubic"
"""


def test_sizes_of_a_decade_have_their_units() -> None:
    def text(least: int) -> str:
        return decade_text(DecadeMetrics(from_bytes=least, unfinished=0, flows=None, srpt=None, ps=None))

    assert [text(10**power) for power in (0, 1, 2, 3, 5, 9)] == [
        *("1 to 10 B", "10 to 100 B", "100 B to 1 kB", "1 to 10 kB", "100 kB to 1 MB", "1 to 10 GB"),
    ]


def test_a_run_tells_slowdowns_in_its_table_its_json_and_its_report(fullpipe: Fullpipe, tmp_path: Path) -> None:
    scenario, kept = tmp_path / "arriving.toml", tmp_path / "kept"
    scenario.write_text(SCENARIO, encoding="utf-8")
    done = fullpipe("run", str(scenario), "--out", str(kept))
    assert done.returncode == 0, done.stderr
    metrics = json.loads((kept / "metrics.json").read_text(encoding="utf-8"))
    slowdown = metrics["workloads"][0]["slowdown"]
    assert [each["from_bytes"] for each in slowdown["decades"]] == [10**3, 10**4, 10**5]
    for decade in slowdown["decades"]:
        assert 1 <= decade["srpt"]["mean"] <= decade["flows"]["mean"]
        line = next(line for line in done.stdout.splitlines() if line.startswith(decade_text(decade)))
        assert line.split()[-7].replace(",", "") == str(decade["flows"]["count"])
        assert line.split()[-6] == f"{decade['flows']['mean']:.2f}"
    sections = {section.title: section for section in build(kept).sections}
    chart, table = sections["Slowdown by size"].blocks
    assert isinstance(chart, Lines)
    assert isinstance(table, Table)
    assert [line.label for line in chart.lines] == [
        "cubic, mean",
        "cubic, 99 %",
        "SRPT, mean",
        "processor sharing, mean",
    ]
    assert chart.lines[0].y.tolist() == [decade["flows"]["mean"] for decade in slowdown["decades"]]
    assert [row[0] for row in table.rows] == ["1 to 10 kB", "10 to 100 kB", "100 kB to 1 MB", "all sizes"]
    assert table.rows[-1][1] == Number(slowdown["all"]["flows"]["count"], f"{slowdown['all']['flows']['count']:,}")
    # No flow lasts: there is the queue over time, and no chart without a line.
    (over_time,) = (block for block in sections["Over time"].blocks if isinstance(block, Timeline))
    assert [panel.title for panel in over_time.runs[0].panels] == ["Queue"]
