"""Responses to a flow's requests: in metrics, trace, files and the terminal's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import fullpipe as package

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

SCENARIO = """# One client
duration = "10s"

[path]
rate = "10mbit"
rtt = "40ms"
buffer = "2bdp"

[[flow]]
cc = "cubic"
app = "request exp 20kB think 50ms"
"""


def test_each_answer_has_a_row_that_its_metrics_are_made_of(tmp_path: Path) -> None:
    run = package.run(SCENARIO, trace="100ms")
    assert run.tables == ["flows", "links", "transitions", "queues", "responses"]
    assert run.units("responses") == {"start": "s", "end": "s", "flow": "", "bytes": "B"}
    rows = run.trace("responses").with_columns(took=pl.col("end") - pl.col("start"))
    flow = run.flow_metrics[0]
    assert len(rows) == flow["responses"] > 50
    mean, longest = flow["response_s"]["mean"], flow["response_s"]["max"]
    assert mean is not None and longest is not None
    assert mean == pytest.approx(rows["took"].mean(), rel=1e-9)
    assert longest == pytest.approx(rows["took"].max(), rel=1e-9)
    assert rows["flow"].unique().to_list() == ["cubic"]
    run.save(tmp_path / "kept")
    assert pl.read_parquet(tmp_path / "kept" / "responses.parquet").equals(run.trace("responses"))


def test_a_run_without_questions_has_no_table_of_answers(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    assert "responses" in fullpipe("run", str(file)).stdout
    assert (
        "responses" not in fullpipe("run", str(file), "--set", "flow.0.app=on 50kB off 50ms").stdout
    )
    silent = package.run(SCENARIO, trace="100ms", set={"flow.0.app": "on 50kB off 50ms"})
    assert "responses" not in silent.tables
    assert (silent.flow_metrics[0]["responses"], silent.flow_metrics[0]["response_s"]["mean"]) == (
        0,
        None,
    )
