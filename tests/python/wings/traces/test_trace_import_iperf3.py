"""`fullpipe trace import`: the files that iperf3 writes on both sides, with the zeros of what a side does not know."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from test_trace_import import _imported

if TYPE_CHECKING:
    from pathlib import Path

SENT, ARRIVED = 20e6, 5e6
"""Rates of a stream that is sent faster than its path, bit/s."""
PACKETS = 1000


def _file(
    side: str, streams: list[bool], *, udp: bool, seconds: int = 3, **changed: object
) -> dict[str, Any]:
    """Returns the file of a side; each stream says whether that side sends it."""
    client = side == "client"

    def interval(at: int, socket: int, sends: bool) -> dict[str, Any]:
        rate = SENT if sends else ARRIVED
        own: dict[str, Any] = {"packets": PACKETS} if udp else {}
        if sends and not udp:
            own = {"retransmits": 1, "snd_cwnd": 14_480, "rtt": 20_000}
        if udp and not sends:
            own |= {"jitter_ms": 0.4, "lost_packets": 3 * PACKETS // 4}
        return {
            "socket": socket, "start": at, "end": at + 1, "seconds": 1, "bytes": rate / 8,
            "bits_per_second": rate, "omitted": False, "sender": sends, **own,
        }  # fmt: skip

    def total(socket: int, sends: bool) -> dict[str, Any]:
        # The other side's rate is 0 where the file does not have it: the server gets no results of the client.
        sent = SENT if sends or client else 0
        arrived = ARRIVED if client or not sends else 0
        if not udp:
            sides = {"sender": sent, "receiver": arrived}
            return {
                name: {"socket": socket, "bits_per_second": rate, "sender": sends}
                for name, rate in sides.items()
            }
        lost = 3 * PACKETS * seconds // 4 if client or not sends else 0
        counts = {"packets": PACKETS * seconds, "lost_packets": lost}
        return {"udp": {"socket": socket, "bits_per_second": sent, **counts, "sender": sends}}

    numbered = [(5 + 2 * at, sends) for at, sends in enumerate(streams)]
    reverse = len(set(streams)) == 1 and streams[0] != client
    protocol = "UDP" if udp else "TCP"
    value: dict[str, Any] = {
        "start": {
            "connecting_to" if client else "accepted_connection": {"host": "192.0.2.2"},
            "test_start": {"protocol": protocol, "reverse": int(reverse), "omit": 0},
        },
        "intervals": [
            {"streams": [interval(at, *each) for each in numbered]} for at in range(seconds)
        ],
        "end": {"streams": [total(*each) for each in numbered]},
    }
    if udp and client:
        sending = sum(streams)
        value["end"]["sum_received"] = {"bits_per_second": ARRIVED * max(sending, 1)}
    return {**value, **changed}


def _flows(tmp_path: Path, value: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    (tmp_path / "a").write_text(json.dumps(value))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    return metrics["flows"], metrics["warnings"]


@pytest.mark.parametrize("udp", [False, True], ids=["tcp", "udp"])
@pytest.mark.parametrize("streams", [[True], [False], [True, False], [True, True]])
def test_the_goodput_of_a_clients_file_is_what_arrived(
    tmp_path: Path, streams: list[bool], *, udp: bool
) -> None:
    flows, warnings = _flows(tmp_path, _file("client", streams, udp=udp))
    assert [flow["goodput_bps"] for flow in flows] == [ARRIVED] * len(streams)
    assert [flow["loss_fraction"] for flow in flows] == [0.75 if udp else None] * len(streams)
    assert not warnings


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("udp", [False, True], ids=["tcp", "udp"])
@pytest.mark.parametrize("streams", [[True], [False], [False, True]])
def test_a_servers_file_does_not_have_the_clients_total(
    tmp_path: Path, streams: list[bool], *, udp: bool, told: bool
) -> None:
    value = _file("server", streams, udp=udp)
    if not told:  # the begin of the file was left out
        value["start"].pop("accepted_connection")
    flows, warnings = _flows(tmp_path, value)
    for flow, sends in zip(flows, streams, strict=True):
        # TCP's socket waits for the path; UDP's takes all.
        assert flow["goodput_bps"] == ((None if udp else SENT) if sends else ARRIVED)
        assert flow["loss_fraction"] == (0.75 if udp and not sends else None)
        said = [warning for warning in warnings if f"{flow['name']}: " in warning]
        assert len(said) == sends
        assert all("does not have what arrived" in each or "no goodput" in each for each in said)


@pytest.mark.parametrize("udp", [False, True], ids=["tcp", "udp"])
def test_a_client_that_was_interrupted_has_no_results_of_the_other_side(
    tmp_path: Path, *, udp: bool
) -> None:
    value = _file("client", [True], udp=udp, error="interrupt - the client has terminated")
    (last,) = value["end"]["streams"]
    for side in last.values():  # over the time up to the last interval
        side["bits_per_second"] *= 1.3
        side["lost_packets"] = 0
    value["end"]["sum_received"] = {"bits_per_second": 0}
    value["intervals"].append(value["intervals"][-1])
    (flow,), warnings = _flows(tmp_path, value)
    assert flow["goodput_bps"] == (None if udp else SENT)
    assert flow["loss_fraction"] is None
    assert len(warnings) == 1


def test_a_receiver_that_got_nothing_counts_no_loss(tmp_path: Path) -> None:
    value = _file("client", [True], udp=True)
    value["end"]["streams"][0]["udp"]["lost_packets"] = 0
    value["end"]["sum_received"] = {"bits_per_second": 0}
    (flow,), _ = _flows(tmp_path, value)
    assert (flow["goodput_bps"], flow["loss_fraction"]) == (0, 1)


@pytest.mark.parametrize("streams", [1, 2])
def test_losses_of_an_omitted_time_are_not_those_of_the_packets(
    tmp_path: Path, streams: int
) -> None:
    value = _file("client", [True] * streams, udp=True)
    value["start"]["test_start"]["omit"] = 3
    for last in value["end"]["streams"]:
        last["udp"]["lost_packets"] *= 2
    flows, warnings = _flows(tmp_path, value)
    assert [flow["loss_fraction"] for flow in flows] == [None] * streams
    assert [flow["goodput_bps"] for flow in flows] == ([ARRIVED] if streams == 1 else [None] * 2)
    assert len(warnings) == (0 if streams == 1 else 2)


def test_old_files_say_neither_who_sends_nor_what_the_receiver_got_in_all(tmp_path: Path) -> None:
    value = _file("client", [True], udp=True)
    del value["end"]["sum_received"]
    for interval in value["intervals"]:
        del interval["streams"][0]["sender"]
    (flow,), _ = _flows(tmp_path, value)
    assert flow["goodput_bps"] == ARRIVED
