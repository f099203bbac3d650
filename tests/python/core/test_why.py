"""Tests of the sentences about a run: every number in them is computed again from metrics and tables."""

from __future__ import annotations

import html
import math
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import fullpipe
from fullpipe import _core
from fullpipe.report import Form, why, write_report
from fullpipe.report.build import build
from fullpipe.report.model import Table, Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SCENARIOS = Path(__file__).parents[3] / "scenarios"
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
NAMES = (
    "cubic-vs-bbr1",
    "bbr1-deep-buffer",
    "lossy",
    "request-response",
    "transfer",
    "unresponsive",
    "ten-cubic",
    "prague-vs-cubic",
    "path-changes",
    "parking-lot",
    "paced-app",
    "workload",
    "profile-wifi",
    "dctcp",
)

Claimed = tuple["fullpipe.Run", "Mapping[str, pl.DataFrame]", list[str]]


@cache
def _claimed(name: str) -> Claimed:
    run = fullpipe.run(SCENARIOS / f"{name}.toml", trace="10ms")
    tables = {table: run.trace(table) for table in run.tables}
    return run, tables, why.about(run.metrics, tables, run.scenario.rtt_s)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _near(told: str, exact: float) -> bool:
    """Returns whether a number in a sentence is the exact one, to the digits that it has."""
    places = len(told.partition(".")[2])
    significant = 10 ** (math.floor(math.log10(abs(exact))) - 1) if exact else 0.0
    return bool(abs(_number(told) - exact) <= max(0.51 * 10**-places, 0.051 * significant) + 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_is_of_a_known_kind_and_true(name: str) -> None:
    run, tables, told = _claimed(name)
    assert 1 <= len(told) <= why.MOST
    for sentence in told:
        kinds = [check for pattern, check in CHECKS.items() if re.search(pattern, sentence)]
        assert len(kinds) == 1, sentence
        kinds[0](sentence, run, tables)


def _held(sentence: str, run: fullpipe.Run, _: Mapping[str, pl.DataFrame]) -> None:
    words = {each["words"]: each["name"] for each in _core.limits()}
    words |= {text.replace("its ", "their "): limit for text, limit in words.items()}
    for clause in sentence.rstrip(".").split("; "):
        if re.fullmatch(r"\d+ more", clause):
            continue
        found = re.fullmatch(r"(.+) (?:was|were)(?:, on average,)? held (.+) of the time", clause)
        assert found, clause
        names = re.split(r", | and ", found[1])
        for words_of, first, last in re.findall(
            rf"by ([a-z ]+?) for {NUMBER}(?: to {NUMBER})? %", found[2]
        ):
            shares = [_share_held(run, name, words[words_of]) * 100 for name in names]
            assert _near(first, min(shares)) or _number(first) <= min(shares) < 100, clause
            assert _near(last or first, max(shares)) or _number(last or first) < max(shares) < 100
            assert all(share >= 9.9 for share in shares)


def _share_held(run: fullpipe.Run, name: str, limit: str) -> float:
    those = [
        each
        for each in [*run.flow_metrics, *run.workload_metrics]
        if (name.partition(" × ")[2] or "-") == each["cc"] or each["name"] == name
    ]
    return float(np.mean([each["limited_by"][limit] for each in those]))


def _busy(sentence: str, run: fullpipe.Run, _: Mapping[str, pl.DataFrame]) -> None:
    most = max(link["utilization"] for link in run.link_metrics)
    assert most < why.BUSY
    assert _near(_numbers(sentence)[0], most * 100)


def _numbers(sentence: str) -> list[str]:
    return re.findall(rf"{NUMBER}", sentence)


def _queue(sentence: str, run: fullpipe.Run, tables: Mapping[str, pl.DataFrame]) -> None:
    link = max(run.link_metrics, key=lambda each: each["queue_delay_s"]["mean"] or 0.0)
    assert len(run.link_metrics) == 1 or link["name"] in sentence
    mean, rtt = link["queue_delay_s"]["mean"], run.scenario.rtt_s
    assert mean
    found = re.search(rf"was {NUMBER} (m?s) long", sentence)
    assert found
    assert _near(found[1], mean * (1e3 if found[2] == "ms" else 1.0))
    if times := re.search(rf"{NUMBER} times the path's RTT", sentence):
        assert _near(times[1], mean / rtt)
    elif share := re.search(rf"{NUMBER} % of the path's RTT", sentence):
        assert _near(share[1], mean / rtt * 100) or mean / rtt > 0.99
    if longer := re.search(rf"longer than that RTT for {NUMBER} % of", sentence):
        rows = tables["links"].filter(
            pl.col("link") == link["name"], pl.col("time") >= run.metrics["measure_from_s"]
        )
        # The trace has a sample each 10 ms, of the last accepted packet.
        share_s = (rows["sojourn"].fill_null(0.0) > rtt).mean()
        assert isinstance(share_s, float)
        assert abs(_number(longer[1]) / 100 - share_s) < 0.1, (longer[1], share_s)


def _filled(sentence: str, run: fullpipe.Run, tables: Mapping[str, pl.DataFrame]) -> None:
    link = max(run.link_metrics, key=lambda each: each["queue_delay_s"]["mean"] or 0.0)["name"]
    assert (link in sentence) == (len(run.link_metrics) > 1)
    mine = tables["queues"].filter(
        pl.col("link") == link, pl.col("time") >= run.metrics["measure_from_s"]
    )
    total = float(mine["queue_bytes"].sum())
    told = re.findall(rf"{NUMBER} % (?:were )?(?:of )?(.+?)(?:'s)?(?=, | and |\.$)", sentence)
    assert len(told) >= 2
    for share, name in told:
        those = [
            name,
            *(each["name"] for each in run.flow_metrics if name.endswith(f" × {each['cc']}")),
        ]
        part = float(mine.filter(pl.col("flow").cast(pl.String).is_in(those))["queue_bytes"].sum())
        assert _near(share, part / total * 100), (share, name)


def _lost(sentence: str, run: fullpipe.Run, _: Mapping[str, pl.DataFrame]) -> None:
    each = [*run.flow_metrics, *run.workload_metrics]
    lost, sent = sum(one["drops"] for one in each), sum(one["sent"] for one in each)
    if sentence == "No packet was lost.":
        assert lost == 0
        return
    total, share = _numbers(sentence)[:2]
    assert _number(total) == lost
    assert _near(share, lost / sent * 100)
    for cause, words in (
        ("drops", "dropped by the queue"),
        ("losses", "lost randomly"),
        ("policed", "dropped by the policer"),
    ):
        count = sum(link[cause] for link in run.link_metrics)  # type: ignore[literal-required]
        assert (words in sentence) == (count > 0)
        if found := re.search(rf"{NUMBER} {words}", sentence):
            assert _number(found[1]) == count
    _whose(sentence, run, "drops", lost)


def _marked(sentence: str, run: fullpipe.Run, _: Mapping[str, pl.DataFrame]) -> None:
    each = [*run.flow_metrics, *run.workload_metrics]
    marked, sent = sum(one["marks"] for one in each), sum(one["sent"] for one in each)
    total, share = _numbers(sentence)[:2]
    assert _number(total) == marked
    assert _near(share, marked / sent * 100)
    _whose(sentence, run, "marks", marked)


def _whose(sentence: str, run: fullpipe.Run, metric: str, total: int) -> None:
    _, _, named = sentence.partition("Of these, ")
    shares = {name: share for share, name in re.findall(rf"{NUMBER} % (?:were )?([^ ,]+)'s", named)}
    assert bool(named) == (
        len(run.flow_metrics) + len(run.workload_metrics) > 1 and not _alike(run)
    )
    for one in [*run.flow_metrics, *run.workload_metrics]:
        if one["name"] in shares:
            assert _near(shares[one["name"]], one[metric] / total * 100)  # type: ignore[literal-required]


def _alike(run: fullpipe.Run) -> bool:
    return len({one["cc"] for one in run.flow_metrics}) == 1 and len(run.flow_metrics) > 4


def _goodput(sentence: str, run: fullpipe.Run, tables: Mapping[str, pl.DataFrame]) -> None:
    rates = {flow["name"]: flow["goodput_bps"] for flow in run.flow_metrics}
    if found := re.match(
        rf"(\S+) had {NUMBER} times the goodput of (\S+): {NUMBER} (\S+) against {NUMBER} (\S+)\.",
        sentence,
    ):
        high, ratio, low, most, most_unit, least, least_unit = found.groups()
        scale = {"kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
        assert _near(ratio, rates[high] / rates[low])
        assert _number(most) == pytest.approx(rates[high] / scale[most_unit], rel=0.005)
        assert _number(least) == pytest.approx(rates[low] / scale[least_unit], rel=0.005)
        assert rates[high] / rates[low] >= why.UNEQUAL
    if last := re.search(
        rf"in the last five seconds (\S+) had {NUMBER} times (\S+)'s rate\.", sentence
    ):
        flows = tables["flows"].partition_by("flow", as_dict=True)
        end = tables["flows"]["time"][-1]
        parts = {
            str(flow): np.diff(
                np.interp([end - 5, end], rows["time"], rows["delivered"].cast(pl.Float64))
            )[0]
            for (flow,), rows in flows.items()
        }
        assert _near(last[2], parts[last[1]] / parts[last[3]])
        assert (parts[last[1]], parts[last[3]]) == (max(parts.values()), min(parts.values()))


def _state(sentence: str, run: fullpipe.Run, tables: Mapping[str, pl.DataFrame]) -> None:
    begin, end = run.metrics["measure_from_s"], run.metrics["duration_s"]
    for clause in sentence.rstrip(".").split("; "):
        name = clause.partition(" spent ")[0]
        changes = tables["transitions"].filter(pl.col("flow") == name)
        rows = tables["flows"].filter(pl.col("flow") == name)
        start = rows["time"][0]
        for share, state in re.findall(rf"{NUMBER} % of the time in (\w+)", clause):
            edges = [start, *changes["time"], end]
            states = [*changes["from"][:1], *changes["to"]]
            if not states:  # it stayed in one state
                states = [
                    each[0]
                    for column in rows.columns
                    if column.endswith(".state")
                    for each in [rows[column].drop_nulls()]
                    if len(each)
                ]
            spent = sum(
                max(min(till, end) - max(since, begin), 0.0)
                for since, till, each in zip(edges[:-1], edges[1:], states, strict=True)
                if each == state
            )
            assert _near(share, 100 * spent / (end - max(begin, start)))


def _took(sentence: str, run: fullpipe.Run, _: Mapping[str, pl.DataFrame]) -> None:
    for clause in sentence.rstrip(".").split("; "):
        found = re.match(
            rf"(\S+)'s {NUMBER} (responses|frames) took {NUMBER} (m?s) at the median and {NUMBER} (m?s) at",
            clause,
        )
        if not found:
            continue
        flow = next(each for each in run.flow_metrics if each["name"] == found[1])
        times = flow["response_s" if found[3] == "responses" else "frame_delay_s"]
        assert _number(found[2]) == flow[found[3]]  # type: ignore[literal-required]
        for told, unit, exact in ((found[4], found[5], "p50"), (found[6], found[7], "p95")):
            value = times[exact]  # type: ignore[literal-required]
            assert _near(told, value * (1e3 if unit == "ms" else 1.0))


def _completed(sentence: str, run: fullpipe.Run, _: Mapping[str, pl.DataFrame]) -> None:
    if found := re.match(rf"{NUMBER} flows of (\S+) completed, after {NUMBER} (m?s) at", sentence):
        workload = next(each for each in run.workload_metrics if each["name"] == found[2])
        assert _number(found[1]) == workload["completed"]
        median = workload["completion_s"]["p50"]
        assert median is not None
        assert _near(found[3], median * (1e3 if found[4] == "ms" else 1.0))
        return
    for clause in sentence.rstrip(".").split("; "):
        name, after = clause.split(" completed after ")
        flow = next(each for each in run.flow_metrics if each["name"] == name)
        assert flow["completion_s"]
        assert _near(after.removesuffix(" s"), flow["completion_s"])


CHECKS: dict[str, Callable[[str, Any, Any], None]] = {
    r" held by ": _held,
    r"was busy for": _busy,
    r"long on average": _queue,
    r"^The bytes in the queue": _filled,
    r"lost, |No packet was lost": _lost,
    r"marked CE": _marked,
    r"times the goodput of|had no goodput|within 25 % of equal shares": _goodput,
    r" spent \d": _state,
    r"(responses|frames) took": _took,
    r"completed(,)? after": _completed,
}


def test_the_kinds_of_sentences_all_occur() -> None:
    told = [sentence for name in NAMES for sentence in _claimed(name)[2]]
    unseen = [pattern for pattern in CHECKS if not any(re.search(pattern, one) for one in told)]
    assert unseen == []


_NARROW = """
duration = "6s"
[path]
rate = "20mbit"
rtt = "40ms"
buffer = "1bdp"
[[link]]
name = "uplink"
rate = "100kbit"
queue = "bfifo"
buffer = "6kB"
[[flow]]
cc = "cubic"
count = 2
route = ["bottleneck"]
reverse_route = ["uplink"]
[[workload]]
name = "web"
cc = "cubic"
model = "bounded_pareto shape 1.2 min 1kB max 1MB"
load = 0.2
route = ["bottleneck"]
reverse_route = ["uplink"]
"""


def test_dropped_acks_are_told_with_the_packets_that_were_sent_in_vain(tmp_path: Path) -> None:
    run = fullpipe.run(_NARROW, trace="10ms")
    run.save(tmp_path / "it")
    report = build(tmp_path / "it")
    told = [each.text for each in report.findings]
    each = [*run.flow_metrics, *run.workload_metrics]
    (uplink,) = (link for link in run.link_metrics if link["name"] == "uplink")
    acks, left = uplink["ack_drops"], uplink["acks"]
    assert acks == sum(one["ack_drops"] for one in each) > 1000
    share = f"{100 * acks / (acks + left):.0f} %"
    assert f"{acks:,} ACKs were dropped at uplink, {share} of those that arrived there." in told
    again, lost = (sum(one[name] for one in each) for name in ("retransmits", "drops"))
    assert (
        f"{again} packets were sent again, {again / lost:.0f} times as many as were lost. "
        "The others had not been lost: their ACKs were dropped or late."
    ) in told
    assert any(one.startswith(f"{lost} data packets were lost, ") for one in told)
    tables = [
        block
        for section in report.sections
        if section.title == "Results"
        for block in section.blocks
        if isinstance(block, Table)
    ]
    assert "Dropped ACKs at uplink, packets" in [head for one in tables for head in one.heads]
    words = f"Dropped ACKs, without ticks: {acks:,} at uplink."
    assert words in next(
        block.runs[0].notes["queue"]
        for section in report.sections
        for block in section.blocks
        if isinstance(block, Timeline)
    )
    titles = [axis.get_title(loc="left") for axis in run.plot().axes]
    assert any(f"ticks: data packets dropped at any link\n{words}" in title for title in titles)


def test_packets_sent_again_for_losses_need_no_further_words() -> None:
    told = [sentence for name in NAMES for sentence in _claimed(name)[2]]
    assert not any("sent again" in each or "ACKs" in each for each in told)


def test_without_a_trace_the_metrics_alone_are_described() -> None:
    run = fullpipe.run(SCENARIOS / "cubic-vs-bbr1.toml")
    told = why.about(run.metrics, {}, run.scenario.rtt_s)
    assert len(told) >= 4
    assert not any("last five seconds" in each or " spent " in each for each in told)


def test_a_flow_that_stays_in_one_state_has_it_in_words_and_in_a_lane(tmp_path: Path) -> None:
    settings = {"flow.0.app": "request 20kB think 500ms"}
    path: dict[str, Any] = {"rate": "10mbit", "rtt": "20ms", "duration": "10s"}
    run = fullpipe.run(["bbr3"], trace="10ms", set=settings, **path)
    assert run.trace("transitions").is_empty()
    tables = {table: run.trace(table) for table in run.tables}
    sentences = why.about(run.metrics, tables, run.scenario.rtt_s)
    assert "bbr3 spent 100 % of the time in startup." in sentences
    run.save(tmp_path / "kept")
    report = build(tmp_path / "kept")
    (timeline,) = (
        block
        for section in report.sections
        for block in section.blocks
        if isinstance(block, Timeline)
    )
    (flow,) = (each for each in timeline.runs[0].read() if each.kind == "flow")
    (stays,) = (each for each in flow.stays.values() if each[0].word == "startup")
    assert len(stays) == 1
    assert stays[0].till - stays[0].since > 9


def test_who_filled_the_queue() -> None:
    run, tables, _ = _claimed("cubic-vs-bbr1")
    begin = run.metrics["measure_from_s"]
    rows = [(begin - 1, "bottleneck", "cubic", 900), (begin - 1, "bottleneck", "bbr1", 0)]
    rows += [(begin + 1, "bottleneck", "cubic", 100), (begin + 1, "bottleneck", "bbr1", 300)]
    rows += [(begin + 2, "bottleneck", "cubic", 100), (begin + 2, "bottleneck", "bbr1", 500)]
    queues = pl.DataFrame(rows, schema=["time", "link", "flow", "queue_bytes"], orient="row")
    told = why.about(run.metrics, {**tables, "queues": queues}, run.scenario.rtt_s)
    assert "The bytes in the queue: 80 % were bbr1's and 20 % cubic's." in told


def test_a_report_of_one_run_begins_with_them_in_each_form(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    fullpipe.run(SCENARIOS / "transfer.toml", trace="10ms").save(kept)
    report = build(kept)
    told = [finding.text for finding in report.findings]
    assert any("completed after" in each for each in told)
    assert report.findings_note == "From 0 s to 10 s, unless other times are given."
    text = (write_report(kept, Form.MD) / "report.md").read_text("utf-8")
    assert all(f"- {each}\n" in text for each in told)
    assert re.search(r"01-over-time-a-transfer-[a-z0-9-]+-seed-1\.svg", text)
    assert write_report(kept, Form.PDF).stat().st_size > 0
    page = html.unescape(write_report(kept).read_text("utf-8"))
    assert all(each in page for each in told)
    assert "No comparison" not in page
