"""Inputs on which a fuzz target has failed: each was a traceback, or a wrong file."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl
import pytest

import fullpipe
from fullpipe.results import qlog
from fullpipe.wings.fleet import workload
from fullpipe.wings.fleet.workload.flows import FlowsError

if TYPE_CHECKING:
    from pathlib import Path

_ZEEK = "#separator \\x09\n#unset_field\t-\n#fields\tts\tproto\torig_bytes\tresp_bytes\n"
_WHOLE = "1379288667.5\ttcp\t10\t20\n"
_OBJECT = '{"ts": 1379288667.5, "proto": "tcp", "orig_bytes": 10, "resp_bytes": 20}\n'


@pytest.mark.parametrize(
    ("content", "unreadable"),
    [
        # The first line decided the number of columns.
        (_ZEEK + "1379288667.5\ttcp\n" + _WHOLE, 1),
        (_ZEEK + "\n" + _WHOLE, 1),
        (_ZEEK.replace("\tproto", "\tts\tproto") + "1\t1379288667.5\ttcp\t10\t20\n", 0),
        (_ZEEK.replace("#unset_field\t-", "#unset_field") + _WHOLE, 0),
        # The only line of flows has no end, and begins nearly like a comment.
        (_ZEEK.replace("\tts", "\tuid\tts") + "C#\t1379288667.5\ttcp\t10\t20", 0),
        # Numbers that neither polars nor a float can hold.
        ('{"ts": 1' + "3" * 90 + ', "proto": "tcp", "orig_bytes": 1}\n' + _OBJECT, 1),
        ('{"ts": 1.5, "duration": 1' + "0" * 400 + "}\n" + _OBJECT, 1),
    ],
)
def test_an_unreadable_line_of_zeek_is_counted(
    tmp_path: Path, content: str, unreadable: int
) -> None:
    (tmp_path / "conn.log").write_text(content)
    done = workload.extract([tmp_path / "conn.log"], tmp_path / "flows.parquet")
    plural = "" if unreadable == 1 else "s"
    said = f"{tmp_path / 'conn.log'}: {unreadable} line{plural} can't be read"
    assert done.warnings == ([said] if unreadable else [])
    assert workload.read(tmp_path / "flows.parquet")["bytes"].to_list() == [20]


@pytest.mark.parametrize("separator", ["", "\\x", "\\xZZ", "\\N{x}", "\\x41", "ab", "\\xe9", "#"])
def test_a_separator_that_zeek_does_not_write_is_an_error(tmp_path: Path, separator: str) -> None:
    (tmp_path / "conn.log").write_text(f"#separator {separator}\n#fields\tts\n1\n")
    with pytest.raises(FlowsError, match=r"conn.log: .*\n  fix: "):
        workload.extract([tmp_path / "conn.log"], tmp_path / "flows.parquet")


def test_columns_that_differ_only_in_spaces_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("start, note,note ,bytes \n1,2,3,4\n")
    workload.extract([tmp_path / "flows.csv"], tmp_path / "flows.parquet")
    assert workload.read(tmp_path / "flows.parquet")["bytes"].to_list() == [4]


def test_the_last_line_may_have_no_end(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("note,start,bytes\na#b,1,2")
    workload.extract([tmp_path / "flows.csv"], tmp_path / "flows.parquet")
    assert workload.read(tmp_path / "flows.parquet")["bytes"].to_list() == [2]


def test_qlog_has_no_numbers_that_json_has_not(tmp_path: Path) -> None:
    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is not JSON")

    run = qlog.of_run(
        fullpipe.run(
            'duration = "0.2s"\n[path]\nrate = "10mbit"\nrtt = "20ms"\nbuffer = "5packets"\n[[flow]]\ncc = "cubic"\n',
            trace="20ms",
        )
    )
    for number in (math.nan, math.inf, -math.inf):
        flows = run.flows.with_columns(rtt=pl.lit(number, dtype=run.flows.schema["rtt"]))
        file = tmp_path / "it.qlog"
        qlog.write_into(file, replace(run, flows=flows), "json")
        written: Any = json.loads(file.read_text(), parse_constant=refuse)
        events = written["traces"][0]["events"]
        assert all("latest_rtt" not in event["data"] for event in events)
