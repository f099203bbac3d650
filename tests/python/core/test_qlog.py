"""qlog 0.3: the rules of the drafts, those of qvis, and the same data as in the trace.

The rules are those of draft-ietf-quic-qlog-main-schema-03 and draft-ietf-quic-qlog-quic-events-02, and of qvis'
FileLoader, QlogLoaderV2 and CongestionGraphD3Renderer as of October 2025.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from fullpipe import Run, __version__, run
from fullpipe.results import qlog
from fullpipe.results.qlog import QlogError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Fullpipe

GOLDEN = Path(__file__).parents[1] / "short.qlog"

SHORT = """\
# The first round trips of a transfer
duration = "0.15s"
[path]
rate = "10mbit"
rtt = "40ms"
buffer = "5packets"
[[flow]]
name = "first"
cc = "newreno"
bytes = "30kB"
"""

LOSSY = """\
# Two flows that lose
duration = "4s"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "0.5bdp"
loss = "1%"
[[flow]]
cc = "cubic"
[[flow]]
cc = "bbr1"
start = "1s"
[[flow]]
cc = "none"
app_rate = "1mbit"
"""

NAMED = {
    "congestion_window": ("cwnd", 1),
    "bytes_in_flight": ("inflight", 1),
    "ssthresh": ("ssthresh", 1),
    "latest_rtt": ("rtt", 1e3),
    "smoothed_rtt": ("srtt", 1e3),
    "min_rtt": ("min_rtt", 1e3),
    "pacing_rate": ("pacing_rate", 1),
    "delivery_rate": ("delivery_rate", 1),
}


@pytest.fixture(scope="module")
def lossy() -> Run:
    return run(LOSSY, trace="ack")


def records(file: Path) -> list[dict[str, Any]]:
    """Splits a JSON text sequence (RFC 7464 §2): a record separator before each text, a line feed after it."""
    first, *texts = file.read_bytes().split(b"\x1e")
    assert first == b""
    assert all(text.endswith(b"\n") for text in texts)
    return [json.loads(text) for text in texts]


def opened(file: Path) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yields each trace with its events, as qvis reads them: groups become traces."""
    if file.suffix == ".qlog":
        whole = json.loads(file.read_bytes())
        assert whole["qlog_format"] == "JSON"
        for trace in whole["traces"]:
            yield trace, trace["events"]
    else:
        whole, *events = records(file)
        assert whole["qlog_format"] == "JSON-SEQ"
        groups: dict[str | None, list[dict[str, Any]]] = {}
        for event in events:
            groups.setdefault(event.get("group_id"), []).append(event)
        for name, some in groups.items():
            yield {**whole["trace"], **({"title": name} if name else {})}, some
    assert whole["qlog_version"] == "0.3"
    # Main schema §3: both SHOULD be in the first 256 bytes; qvis looks at 1024.
    assert b"qlog_format" in file.read_bytes()[:256]


def is_valid(event: dict[str, Any]) -> None:
    """Checks the part of quic-events-02 that fullpipe writes."""
    assert set(event) <= {"time", "name", "data", "group_id"}
    data = dict(event["data"])
    match event["name"]:
        case "recovery:parameters_set":
            assert data["congestion_control"]
        case "recovery:metrics_updated":
            assert data
            for key in ("congestion_window", "bytes_in_flight", "ssthresh", "pacing_rate"):
                assert isinstance(data.get(key, 0), int), f"{key}: uint64"
            for key in ("min_rtt", "smoothed_rtt", "latest_rtt"):
                assert 0 < data.get(key, 1.0) < 1e5, f"{key}: ms"
        case "recovery:congestion_state_updated":
            assert set(data) == {"old", "new", "trigger"}
            assert all(isinstance(word, str) and word for word in data.values())
        case "transport:packet_sent":
            # qvis reports an error for sizes in there
            assert data["header"].keys() == {"packet_type", "packet_number"}
            assert data["header"]["packet_type"] == "1RTT"
            assert data["raw"]["length"] > 0
        case name:
            pytest.fail(f"event {name}")


@pytest.mark.parametrize("ending", ["qlog", "sqlog"])
def test_both_forms_are_as_the_draft_has_them_and_as_qvis_wants_them(
    lossy: Run, tmp_path: Path, ending: str
) -> None:
    file = lossy.qlog(tmp_path / f"run.{ending}")
    traces = {trace["title"]: (trace, events) for trace, events in opened(file)}
    # An unresponsive flow has no rows, and qvis cannot open a trace without events.
    assert list(traces) == ["cubic", "bbr1"]
    for trace, events in traces.values():
        assert trace["vantage_point"]["type"] == "server"  # the side that sends
        assert trace["common_fields"] == {
            "time_format": "relative",
            "reference_time": 0,
            "protocol_type": ["TCP"],
        }
        times = [event["time"] for event in events]
        assert times == sorted(times)
        for event in events:
            is_valid(event)
        sent = [event for event in events if event["name"] == "transport:packet_sent"]
        assert [event["data"]["header"]["packet_number"] for event in sent] == list(
            range(len(sent))
        )
        assert times[-1] <= 4000.0


@pytest.mark.parametrize("ending", ["qlog", "sqlog"])
def test_every_value_of_the_trace_is_in_it(
    lossy: Run, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qlog, "_SLICE", 97)
    for trace, events in opened(lossy.qlog(tmp_path / f"run.{ending}")):
        rows = lossy.trace().filter(pl.col("flow").cast(pl.String) == trace["title"])
        told: dict[str, Any] = {}
        after = {}
        for event in events:
            if event["name"] == "recovery:metrics_updated":
                told |= event["data"]
                after[event["time"]] = dict(told)
        times = [round(time * 1e3, 6) for time in rows["time"]]
        assert set(after) <= set(times)
        last: dict[str, Any] = {}
        for time, row in zip(times, rows.drop("time", "flow").iter_rows(named=True), strict=True):
            last = after.get(time, last)
            for name, (column, scale) in NAMED.items():
                row[name] = None if row[column] is None else row.pop(column) * scale
            for name, value in row.items():
                if isinstance(value, float):
                    assert last[name] == pytest.approx(value, rel=1e-6), (time, name)
                elif value is not None:
                    assert last[name] == value, (time, name)
        changes = lossy.trace("transitions").filter(
            pl.col("flow").cast(pl.String) == trace["title"]
        )
        states = [event for event in events if event["name"] == "recovery:congestion_state_updated"]
        assert [tuple(event["data"].values()) for event in states] == changes.select(
            "from", "to", "reason"
        ).rows()
        assert [event["time"] for event in states] == pytest.approx(
            [time * 1e3 for time in changes["time"]]
        )


def test_what_was_sent_adds_up_to_the_packets_that_were(lossy: Run, tmp_path: Path) -> None:
    for (_, events), flow in zip(
        opened(lossy.qlog(tmp_path / "run.qlog")), lossy.flow_metrics, strict=False
    ):
        sent = sum(
            event["data"]["raw"]["length"]
            for event in events
            if event["name"] == "transport:packet_sent"
        )
        # Packets may be sent after the last row, and a spurious retransmission counts only once.
        assert sent / 1448 == pytest.approx(flow["sent"], rel=0.01)


def test_it_reads_as_this(tmp_path: Path) -> None:
    short = run(SHORT, trace="ack")
    made = short.qlog(tmp_path / "short.qlog").read_text("utf-8")
    made = made.replace(__version__, "VERSION").replace(str(short.trace_hash), "HASH")
    if os.environ.get("FULLPIPE_BLESS"):
        GOLDEN.write_text(made, "utf-8")
    assert made == GOLDEN.read_text("utf-8")


def test_one_flow_needs_no_groups(lossy: Run, tmp_path: Path) -> None:
    header, *events = records(lossy.qlog(tmp_path / "one.sqlog", flow="bbr1"))
    assert header["trace"]["title"] == "bbr1"
    assert not any("group_id" in event for event in events)
    assert events[0]["data"]["congestion_control"] == "bbr1"
    assert events[0]["data"]["bbr1.cwnd_gain"] == 2.0


def test_form_says_what_the_ending_does_not(lossy: Run, tmp_path: Path) -> None:
    assert len(records(lossy.qlog(tmp_path / "log", flow="cubic", form="json-seq"))) > 100


def test_what_can_not_be_written_is_refused(lossy: Run, tmp_path: Path) -> None:
    with pytest.raises(
        QlogError,
        match=r"run\.txt: the suffix is neither \.qlog nor \.sqlog\n  fix: name it run\.qlog",
    ):
        lossy.qlog(tmp_path / "run.txt")
    with pytest.raises(QlogError, match=r"no flow 'bbr2'; there are cubic, bbr1, none"):
        lossy.qlog(tmp_path / "run.qlog", flow="bbr2")
    with pytest.raises(QlogError, match="the trace has no rows for qlog of none"):
        lossy.qlog(tmp_path / "run.qlog", flow="none")
    with pytest.raises(ValueError, match='no trace was recorded; run with trace="10ms"'):
        run(SHORT).qlog(tmp_path / "run.qlog")
    (tmp_path / "there.qlog").touch()
    with pytest.raises(FileExistsError, match="results are never overwritten"):
        lossy.qlog(tmp_path / "there.qlog")
    assert [file.name for file in tmp_path.iterdir()] == ["there.qlog"]


def test_the_command_writes_it_and_so_from_what_it_kept(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "lossy.toml").write_text(LOSSY)
    ran = fullpipe("run", "lossy.toml", "--out", "kept", "--qlog", "new/first.qlog")
    assert ran.returncode == 0
    assert ran.stdout.endswith("qlog in new/first.qlog\n")
    again = fullpipe("trace", "qlog", "kept", "second.qlog")
    assert (again.returncode, again.stdout) == (0, "second.qlog\n")
    assert (tmp_path / "new/first.qlog").read_bytes() == (tmp_path / "second.qlog").read_bytes()
    one = fullpipe("trace", "qlog", "kept", "one.sqlog", "--flow", "cubic")
    assert one.returncode == 0
    assert records(tmp_path / "one.sqlog")[0]["trace"]["title"] == "cubic"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("run", "s.toml", "--qlog", "x.json"),
            "--qlog x.json: the suffix is neither .qlog nor .sqlog\n  fix: name it x.qlog",
        ),
        (("run", "s.toml", "--qlog", "s.qlog"), "--qlog s.qlog exists already; name a new file"),
        (
            ("run", "s.toml", "--qlog", "x.qlog", "--trace", "off"),
            "--qlog needs a trace, and --trace off records none",
        ),
        (("run", "s.toml", "--qlog", "s.toml/x.qlog"), "--qlog s.toml/x.qlog can't be written: "),
        (
            ("trace", "qlog", "two", "x.qlog"),
            "two: runs of several runners\n  fix: name the directory of one, like two/sim",
        ),
        (
            ("trace", "qlog", ".", "x.qlog"),
            ".: no run with a trace: there is no metrics.json\n  fix: name a directory that `fullpipe run --out`",
        ),
    ],
)
def test_the_command_refuses(
    fullpipe: Fullpipe, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "s.toml").write_text(SHORT)
    (tmp_path / "s.qlog").touch()
    (tmp_path / "two").mkdir()
    (tmp_path / "two/runners.json").touch()
    ran = fullpipe(*arguments)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"error: {said}")
    assert {file.name for file in tmp_path.iterdir()} == {"s.toml", "s.qlog", "two"}


@pytest.mark.parametrize("blocks", [0, 4])
def test_on_a_full_disk_no_part_of_it_appears(
    command: list[str], tmp_path: Path, blocks: int
) -> None:
    (tmp_path / "lossy.toml").write_text(LOSSY)
    call = [*command, "run", "lossy.toml", "--qlog", "new/run.qlog"]
    limited = ["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "-", *call]
    done = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --qlog new/run.qlog can't be written: File too large")
    assert [file.name for file in tmp_path.iterdir()] == ["lossy.toml"]
