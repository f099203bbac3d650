"""Packets of a window of time: their kinds, fates and delays by cause, and the ACKs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import fullpipe
from fullpipe.report.build import build
from fullpipe.report.model import Timeline
from fullpipe.report.panels import packets
from fullpipe.report.panels.declared import PANELS
from fullpipe.report.panels.tracks import rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

TWO = """\
duration = "8s"
[path]
rate = "20mbit"
rtt = "40ms"
buffer = "1bdp"
{more}
[[flow]]
name = "a"
cc = "cubic"
[[flow]]
name = "b"
cc = "bbr3"
start = "1s"
"""
PATHS = {
    "plain": "",
    "fq_codel": 'queue = "fq_codel"',
    "policed": 'policer = "12mbit burst 30kB"',
    "lossy": 'loss = "1%"',
    "reordered": 'jitter = "2ms"',
    "shaped": 'shaper = "15mbit burst 20kB"',
    "marked": 'queue = "step_ecn"',
}


@pytest.mark.parametrize("path", PATHS)
def test_packets_agree_with_the_metrics(path: str) -> None:
    text = TWO.format(more=PATHS[path])
    if path == "marked":
        text = text.replace('cc = "cubic"', 'cc = "cubic"\necn = "ect0"')
    run = fullpipe.run(text, trace="10ms packets")
    assert run.trace_hash == fullpipe.run(text, trace="10ms").trace_hash, (
        "recording changes nothing"
    )
    packets = run.trace("packets")
    for flow in run.flow_metrics:
        mine = packets.filter(flow=flow["name"])
        again = mine.filter(kind="retransmission")
        assert (mine.height, again.height) == (flow["sent"], flow["retransmits"])
        gone = mine.filter(pl.col("fate").cast(pl.String).is_in(["dropped", "policed", "lost"]))
        assert gone["link"].drop_nulls().unique().to_list() == (
            ["bottleneck"] if gone.height else []
        )
        assert gone.height == flow["drops"]
        assert mine.filter(fate="marked").height == flow["marks"]
        # Each first transmission follows the one before it.
        new = mine.filter(kind="new").sort("sequence")
        ends = new["sequence"] + new["bytes"]
        assert (new["sequence"][1:] == ends[:-1]).all()
        arrived = mine.drop_nulls("queue")
        assert arrived["queue"].mean() == pytest.approx(flow["queue_delay_s"]["mean"], rel=0.02)
        parts = arrived.select("access", "queue", "path").to_numpy()
        assert (parts >= -1e-9).all()
        assert parts[:, 2].min() >= 0.02, "half of the RTT is propagation"


def test_acks_have_their_sack_blocks() -> None:
    run = fullpipe.run(TWO.format(more='loss = "1%"'), trace="10ms packets")
    acks = run.trace("acks").filter(flow="a")
    assert (acks["acked"].diff().drop_nulls() >= 0).all()
    sacked = acks.drop_nulls("sack_start")
    assert sacked.height > 10
    assert (sacked["sack_start"] < sacked["sack_end"]).all()
    # the final cumulative acknowledgment is the one of the flow's rows
    assert abs(acks["acked"][-1] - run.trace().filter(flow="a")["acked"][-1]) < 100_000


def test_a_window_bounds_what_is_recorded(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO.format(more=""), encoding="utf-8")
    run = ("run", "two.toml", "--trace", "20ms packets 2s..2.5s", "--out", "kept")
    done = fullpipe(*run)
    assert done.returncode == 0, done.stderr
    for table in ("packets", "acks"):
        times = pl.read_parquet(tmp_path / "kept" / f"{table}.parquet")["time"]
        assert 2.0 <= np.min(times.to_numpy()) <= np.max(times.to_numpy()) < 2.5
    report = build(tmp_path / "kept")
    (timeline,) = next(each for each in report.sections if each.title == "Over time").blocks
    assert isinstance(timeline, Timeline)
    sources = timeline.runs[0].read()
    shown = {panel.key for panel in PANELS if rows_of(panel, sources)}
    assert {"packets", "packet-delays"} <= shown
    slide = fullpipe("report", "kept", "--panel", "packets", "--format", "png")
    assert slide.returncode == 0, slide.stderr


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        ("packets 5s..2s", "the window of packets ends before it begins"),
        ("packets 5s", "the window of packets has no .."),
        ("10ms packets 1..2", "the window of packets is not two times"),
        ("off packets", "packets need a trace"),
        ("packet", "neither a level nor an interval"),
    ],
)
def test_a_wrong_window_is_refused(fullpipe: Fullpipe, trace: str, said: str) -> None:
    done = fullpipe("run", "cubic", "--duration", "2s", "--trace", trace)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert '"10ms packets 2s..4s"' in done.stderr


def test_the_first_picture_is_of_a_loss_and_its_retransmission(tmp_path: Path) -> None:
    """A whole run would show single packets as a line."""
    run = fullpipe.run(TWO.format(more=""), trace="10ms packets")
    run.save(tmp_path / "kept")
    (section,) = [each for each in build(tmp_path / "kept").sections if each.title == "Over time"]
    (block,) = section.blocks
    assert isinstance(block, Timeline)
    assert block.runs[0].near is not None
    begin, end = block.runs[0].near
    rows = run.trace("packets").filter(pl.col("time").is_between(begin, end))
    assert 250 < rows.height < 320
    gone = run.trace("packets").filter(pl.col("fate").cast(pl.String) == "dropped")["time"]
    assert begin < gone.min() < end  # type: ignore[operator]
    assert (rows["kind"].cast(pl.String) == "retransmission").any()


def test_packets_that_can_not_be_told_apart_have_no_picture() -> None:
    one = pl.DataFrame({"time": [1.0], "kind": ["data"], "fate": ["delivered"]})
    assert packets.near(one) is None
    assert packets.near(pl.concat([one, one])) is None
    many = pl.DataFrame(
        {"time": np.arange(1000.0), "kind": ["data"] * 1000, "fate": ["delivered"] * 1000}
    )
    begin, end = packets.near(many) or (0.0, 0.0)
    assert (begin, end) == (449.0, 749.0)


@pytest.fixture
def kept(fullpipe: Fullpipe, tmp_path: Path) -> Path:
    """A kept run with the packets of a second."""
    (tmp_path / "two.toml").write_text(TWO.format(more='loss = "0.3%"'), encoding="utf-8")
    done = fullpipe("run", "two.toml", "--trace", "10ms packets 3s..4s", "--out", "kept")
    assert done.returncode == 0, done.stderr
    return tmp_path / "kept"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_writes_the_rows_of_a_window(
    fullpipe: Fullpipe, kept: Path, ending: str
) -> None:
    options = ("--window", "3.2s..3400ms", "--flow", "b")
    done = fullpipe("trace", "packets", "kept", f"rows.{ending}", *options)
    assert (done.returncode, done.stdout) == (0, f"rows.{ending}\n"), done.stderr
    read = pl.read_csv if ending == "csv" else pl.read_parquet
    written = read(kept.parent / f"rows.{ending}")
    every = pl.read_parquet(kept / "packets.parquet").with_columns(pl.col("flow").cast(pl.String))
    wanted = every.filter(pl.col("flow") == "b", pl.col("time").is_between(3.2, 3.4))
    assert written.height > 50
    for name in ("time", "sequence", "queue"):
        assert written[name].is_null().to_list() == wanted[name].is_null().to_list()
        numbers = (rows[name].drop_nulls().to_list() for rows in (written, wanted))
        assert next(numbers) == pytest.approx(next(numbers), rel=1e-6)


def test_the_command_prints_rows_and_says_how_many_there_are(
    fullpipe: Fullpipe, kept: Path
) -> None:
    rows = pl.read_parquet(kept / "packets.parquet")
    done = fullpipe("trace", "packets", "kept", "--rows", "3")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[6].startswith(f"3 of {rows.height:,} packets: ")
    first = rows.row(0, named=True)
    assert lines[3].split()[:4] == [
        first["flow"],
        f"{first['time']:.6f}",
        f"{first['sequence']:,}",
        f"{first['bytes']:,}",
    ]
    acks = fullpipe("trace", "packets", "kept", "--acks", "--rows", "3")
    assert f"3 of {pl.read_parquet(kept / 'acks.parquet').height:,} rows of ACKs" in acks.stdout


def test_a_capture_has_the_packets_when_they_left_and_the_acks_when_they_came(
    fullpipe: Fullpipe, kept: Path
) -> None:
    """The reader of captures gets the trace's data, retransmissions and RTTs of it."""
    assert fullpipe("trace", "packets", "kept", "all.pcapng").returncode == 0
    done = fullpipe("trace", "import", "all.pcapng", "--out", "read")
    assert done.returncode == 0, done.stderr
    rows = pl.read_parquet(kept / "packets.parquet").with_columns(pl.col("flow").cast(pl.String))
    order = rows["flow"].unique(maintain_order=True).to_list()
    read = pl.read_parquet(kept.parent / "read/trace.parquet").with_columns(
        pl.col("flow").cast(pl.String)
    )
    trace = pl.read_parquet(kept / "trace.parquet").with_columns(pl.col("flow").cast(pl.String))
    assert read["flow"].n_unique() == 2
    for number, flow in enumerate(order):
        mine = read.filter(pl.col("flow").str.contains(f":{10_001 + number} "))
        window = trace.filter(pl.col("flow") == flow, pl.col("time").is_between(3.2, 3.9))
        median = mine["rtt"].drop_nulls().median()
        assert median == pytest.approx(window["rtt"].drop_nulls().median(), rel=0.03)
        sent = rows.filter(pl.col("flow") == flow)["bytes"].sum()
        assert mine["delivered"].max() == pytest.approx(sent, rel=0.15)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kept", "x.txt"), "x.txt: the suffix is not one of .csv, .parquet, .pcapng"),
        (("kept", "--window", "3s"), "write one, like 3s..3.2s"),
        (("kept", "--window", "4.5s..5s"), "no packets in this window\n  fix: the packets are"),
        (("kept", "--flow", "c"), "no packets of a flow c\n  fix: name one of "),
        (("plain",), "this run has no packets\n  fix: record them: fullpipe run plain/resolved"),
        (("nothing",), "there is no packets.parquet"),
    ],
)
def test_packets_that_are_not_there_are_an_error(
    fullpipe: Fullpipe, kept: Path, words: tuple[str, ...], said: str
) -> None:
    if words[0] == "plain":
        ran = fullpipe("run", "cubic", "--duration", "1s", "--out", "plain")
        assert ran.returncode == 0
    done = fullpipe("trace", "packets", *words)
    assert (done.returncode, done.stdout) == (2, ""), kept
    assert said in done.stderr


CUT = """\
duration = "{duration}"
measure_from = "0s"
send_jitter = "{jitter}"
[path]
rate = "{rate}"
rtt = "20ms"
buffer = "20packets"
{more}
[[flow]]
name = "a"
cc = "{cc}"
{app}
"""


@pytest.mark.parametrize("queue", ["pfifo", "fq_codel", "cake"])
@pytest.mark.parametrize("cc", ["cubic", "bbr3", "none"])
@pytest.mark.parametrize("duration", ["3ms", "21.3ms", "203.7ms", "1.1s"])
def test_a_packet_that_the_end_cuts_is_under_way(duration: str, cc: str, queue: str) -> None:
    """It is on an access link, in the element of jitter, in a queue, or on the line."""
    for jitter, rate in (("0s", "10mbit"), ("4ms", "10mbit"), ("0s", "1mbit"), ("9ms", "1mbit")):
        more = f'queue = "{queue}"\nloss = "1%"\njitter = "3ms"'
        app = 'app_rate = "9mbit"' if cc == "none" else ""
        text = CUT.format(duration=duration, jitter=jitter, more=more, cc=cc, rate=rate, app=app)
        run = fullpipe.run(text, trace="10ms packets")
        mine = run.trace("packets")
        [flow_metrics] = run.flow_metrics
        assert mine.height == flow_metrics["sent"], text
        ends = mine.with_columns(
            end=pl.sum_horizontal(pl.col("time", "access", "queue", "path").cast(pl.Float64))
        ).filter(pl.col("fate").cast(pl.String).is_in(["arrived", "marked"]))
        assert ends.filter(pl.col("end") > run.scenario.duration_s + 1e-6).is_empty(), text
        assert ends["queue"].null_count() == 0
        under_way = mine.filter(fate="under way")
        assert under_way["path"].null_count() == under_way.height
        gone = mine.filter(pl.col("fate").cast(pl.String).is_in(["dropped", "policed", "lost"]))
        assert gone.height == flow_metrics["drops"], text


HOSTED = """\
duration = "1s"
measure_from = "0s"
{host}
[path]
rate = "1gbit"
rtt = "2ms"
buffer = "1000bdp"
[[flow]]
cc = "cubic"
"""


@pytest.mark.parametrize(
    ("host", "joins", "waiting"),
    [
        ("", False, 0),
        ("[host]\nbatch = 1\n", False, 200),
        ('[host]\nsend = "20us"\n', True, 0),
    ],
)
def test_a_row_of_an_ack_trace_follows_each_ack_or_each_turn_of_a_host(
    host: str, joins: bool, waiting: int
) -> None:
    run = fullpipe.run(HOSTED.format(host=host), trace="ack packets")
    assert run.flow_metrics[0]["retransmits"] == 0, "so that each ACK has one row of `acks`"
    acks, rows = run.trace("acks"), run.trace()
    first = rows.filter(pl.col("rtt").is_null())
    assert rows["time"].n_unique() == len(rows), "one turn, one row"
    if not joins:
        # ACKs in the sender's inbox at the end are not read.
        assert 0 <= len(acks) - (len(rows) - len(first)) <= waiting
    else:
        assert len(rows) < 0.5 * len(acks)
    # No ACK is missing in the counts.
    assert rows["acked"][-1] == acks.filter(pl.col("time") <= rows["time"][-1])["acked"].max()
