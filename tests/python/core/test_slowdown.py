"""Slowdowns in the command's output, tables and report."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import fullpipe
from fullpipe.base.metrics import decade_text
from fullpipe.report.build import build
from fullpipe.report.model import Lines, Number, Table, Timeline
from fullpipe.report.panels.declared import PANELS
from fullpipe.report.panels.slowdowns import _line
from fullpipe.report.panels.tracks import rows_of
from fullpipe.report.values import Group

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
    assert [decade_text(10**power) for power in (0, 1, 2, 3, 5, 9)] == [
        *(
            "1 to 10 B",
            "10 to 100 B",
            "100 B to 1 kB",
            "1 to 10 kB",
            "100 kB to 1 MB",
            "1 to 10 GB",
        ),
    ]


def test_a_run_tells_slowdowns_in_its_table_its_json_and_its_report(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    scenario, kept = tmp_path / "arriving.toml", tmp_path / "kept"
    scenario.write_text(SCENARIO, encoding="utf-8")
    done = fullpipe("run", str(scenario), "--out", str(kept))
    assert done.returncode == 0, done.stderr
    metrics = json.loads((kept / "metrics.json").read_text(encoding="utf-8"))
    slowdown = metrics["workloads"][0]["slowdown"]
    assert [each["from_bytes"] for each in slowdown["decades"]] == [10**3, 10**4, 10**5]
    for decade in slowdown["decades"]:
        assert 1 <= decade["srpt"]["mean"] <= decade["flows"]["mean"]
        line = next(
            line
            for line in done.stdout.splitlines()
            if line.startswith(decade_text(decade["from_bytes"]))
        )
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
    # A step for each decade, whose value holds to the next.
    means = [decade["flows"]["mean"] for decade in slowdown["decades"]]
    assert chart.stepped
    assert chart.lines[0].x.tolist() == [1, 10, 100, 1000]
    assert chart.lines[0].y.tolist() == [*means, means[-1]]
    assert [row[:2] for row in table.rows] == [
        ("cubic", Number(1_000, "1 to 10 kB")),
        ("cubic", Number(10_000, "10 to 100 kB")),
        ("cubic", Number(100_000, "100 kB to 1 MB")),
        ("cubic", Number(None, "all sizes")),
    ]
    assert table.rows[-1][2] == Number(
        slowdown["all"]["flows"]["count"], f"{slowdown['all']['flows']['count']:,}"
    )
    # No flow lasts for the whole run; panels without lines are left out.
    (over_time,) = (block for block in sections["Over time"].blocks if isinstance(block, Timeline))
    sources = over_time.runs[0].read()
    assert [panel.key for panel in PANELS if rows_of(panel, sources)] == [
        "queue",
        "share",
        "active",
    ]


def test_a_sweep_of_algorithms_has_a_chart_a_place_and_a_line_a_contender(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    scenario, kept = tmp_path / "arriving.toml", tmp_path / "kept"
    scenario.write_text(SCENARIO + '[[flow]]\ncc = "newreno"\ncount = 2\n', encoding="utf-8")
    sets = ("--set", "workload.0.cc=cubic,bbr1", "--set", "workload.0.load=0.2,0.4")
    done = fullpipe("sweep", str(scenario), *sets, "--repeat", "2", "--out", str(kept))
    assert done.returncode == 0, done.stderr
    read = build(kept)
    sections = {section.title: section for section in read.sections}
    low, high, table = sections["Slowdown by size"].blocks
    assert isinstance(low, Lines)
    assert isinstance(high, Lines)
    assert isinstance(table, Table)
    assert [low.title, high.title] == ["workload.0.load 0.2", "workload.0.load 0.4"]
    assert [line.label for line in high.lines] == [
        "cubic",
        "bbr1",
        "SRPT, mean",
        "processor sharing, mean",
    ]
    # The mean over the seeds of one decade's column.
    rows = pl.concat(pl.read_parquet(file) for file in (kept / "runs").glob("*.parquet"))
    of_it = rows.filter(
        pl.col("workload.0.cc") == "bbr1",
        pl.col("workload.0.load") == "0.4",
        pl.col("flow_index") == 2,
    )
    means = of_it["slowdown.decades.10000.flows.mean"].to_list()
    assert len(means) == 2
    assert high.lines[1].y[1] == pytest.approx(sum(means) / 2)
    assert [row[0:2] for row in table.rows][:2] == [("0.2", "cubic"), ("0.2", "cubic")]
    results = sections["Results"].blocks[0]
    assert isinstance(results, Table)
    # The competing flows' label names the algorithm that they compete with.
    assert [row[1] for row in results.rows][:2] == ["2 × newreno competing with cubic", "cubic"]


CONSTANT = {"rate": "20mbit", "rtt": "40ms", "buffer": "4bdp"}
PATHS: dict[str, dict[str, str]] = {
    "constant": {},
    "delays that fall": {"delay_trace": "0s 20ms, 5s 8ms, 10s 1ms"},
    "delays of ACKs that fall": {"reverse_delay_trace": "0s 20ms, 5s 1ms"},
    "sine": {"rate_pattern": "sine 5mbit..50mbit every 4s"},
    "walk": {"rate_pattern": "walk 5mbit..50mbit step 300ms"},
    "schedule": {"rate_pattern": "schedule 0s 20mbit, 5s 100mbit, 10s 20mbit"},
    "opportunities": {"rate_pattern": "mahimahi 2, 2, 2, 2, 3, 3, 5, 10"},
    "shaper": {"rate": "100mbit", "shaper": "10mbit burst 300kB"},
    **{each: {"profile": each} for each in ("lte", "5g", "leo", "geo", "wifi", "cable", "dsl")},
}
CHANGES = {
    "a higher rate": 'rate = "100mbit"',
    "a shorter RTT": 'rtt = "5ms"',
    "a shaper that ends": 'shaper = "off"',
}


@pytest.mark.parametrize(
    ("path", "change"),
    [*((path, "") for path in PATHS), *product(("constant", "shaper"), CHANGES)],
)
def test_no_flow_is_faster_than_alone_on_any_path(path: str, change: str) -> None:
    keys = PATHS[path] if "profile" in PATHS[path] else CONSTANT | PATHS[path]
    text = "\n".join(
        [
            'duration = "15s"',
            "[path]",
            *(f'{key} = "{value}"' for key, value in keys.items()),
            *([f'[[path.change]]\nat = "5s"\n{CHANGES[change]}'] if change else []),
            '[[workload]]\nname = "web"\nmodel = "lognormal median 10kB sigma 2 max 20MB"',
            'load = 0.3\ncc = "bbr3"\ninitial_window = 100\nrtt = "+13ms"',
        ]
    )
    run = fullpipe.run(text, trace="1s")
    transfers = run.trace("transfers").drop_nulls("completion")
    assert len(transfers) > 40
    assert (transfers["completion"] >= transfers["alone"]).all()
    all_sizes: dict[str, Any] = json.loads(json.dumps(run.metrics))["workloads"][0]["slowdown"][
        "all"
    ]
    served = [all_sizes[each] for each in ("srpt", "ps") if all_sizes[each]]
    assert all(each["p50"] >= 1 for each in served)


def test_each_decade_has_a_step_and_servers_without_values_are_not_explained(
    tmp_path: Path,
) -> None:
    second = '[[link]]\nname = "second"\nrate = "100mbit"\nbuffer = "4bdp"\n'
    workload = SCENARIO[SCENARIO.index("[[workload]]") :].replace("0.6", "0.3")
    routes = ('name = "x1"\nroute = ["bottleneck"]\n', 'name = "x2"\nroute = ["second"]\n')
    text = SCENARIO[: SCENARIO.index("[[workload]]")] + second
    run = fullpipe.run(text + "".join(workload + route for route in routes))
    run.save(tmp_path / "lot")
    section = next(each for each in build(tmp_path / "lot").sections if "Slowdown" in each.title)
    assert "shortest remaining" not in section.note
    assert "The ideal servers SRPT and processor sharing (PS) have no values: " in section.note
    *charts, _ = section.blocks
    assert [each.title for each in charts if isinstance(each, Lines)] == [
        "x1 (cubic)",
        "x2 (cubic)",
    ]
    assert {each.row for each in charts if isinstance(each, Lines)} == {"Slowdown by size"}
    for chart, workload_ in zip(charts, run.workload_metrics, strict=True):
        assert isinstance(chart, Lines)
        assert [line.label for line in chart.lines] == ["mean", "99 %"]
        known = [each for each in workload_["slowdown"]["decades"] if each["flows"]]
        for line in chart.lines:
            assert line.x[-1] == known[-1]["from_bytes"] * 10 / 1e3
            assert line.y[-1] == line.y[-2]


def test_a_step_ends_before_a_gap() -> None:
    values = {f"slowdown.decades.{10**power}.flows.mean": {1: float(power)} for power in (3, 5)}
    group = Group("x", "", {}, 0, 0, values)
    line = _line("mean", group, "flows.mean", [10**3, 10**4, 10**5, 10**6], 0)
    assert line.x == pytest.approx([1, 10, 10, 100, 1000])
    assert line.y[[0, 1, 3, 4]].tolist() == [3, 3, 5, 5]
    assert math.isnan(line.y[2])
