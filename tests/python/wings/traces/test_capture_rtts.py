"""RTTs of captures at either end, of senders that pause, whose ACKs are late, or whose data are lost."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from test_trace_import import _capture, _imported

if TYPE_CHECKING:
    from pathlib import Path

RTT = 0.04
SIZE = 1000


def _segment(
    *, down: bool, seq: int, ack: int, size: int = 0, flags: int = 16, sent: float, echo: int
) -> bytes:
    """Returns a segment with timestamps in milliseconds; `echo` is 0 for a segment without them."""
    ends = (b"\x0a\0\0\1", b"\x0a\0\0\2") if down else (b"\x0a\0\0\2", b"\x0a\0\0\1")
    ports = (80, 4000) if down else (4000, 80)
    stamps = struct.pack(">BBBBII", 1, 1, 8, 10, 1000 + int(1e3 * sent), echo) if echo else b""
    words = (20 + len(stamps)) // 4
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, words << 4, flags, 1000, 0, 0)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + 4 * words + size, 0, 0, 64, 6, 0)
    return head + ends[0] + ends[1] + tcp + stamps + bytes(size)


def _transfer(
    writes: list[tuple[float, int]],
    *,
    at_sender: bool,
    handshake: bool = True,
    stamps: bool = True,
    late: float = 0.0,
) -> list[tuple[float, bytes]]:
    """Returns the packets of a server that writes segments at times, as one end captures them.

    The client acknowledges each second segment at once, and a single one after `late`.
    """
    half = RTT / 2
    packets: list[tuple[float, bytes]] = []
    told: list[tuple[float, int]] = [(0.0, 999)]
    """Times of ACKs at the server, and their timestamps."""

    def put(sent: float, *, down: bool, seq: int, ack: int, size: int = 0, flags: int = 16) -> None:
        echo = 999
        if down:
            echo = max((each for each in told if each[0] <= sent), key=lambda each: each[0])[1]
        else:
            told.append((sent + half, 1000 + int(1e3 * sent)))
        seen = sent if down == at_sender else sent + half
        packet = _segment(
            down=down,
            seq=seq,
            ack=ack,
            size=size,
            flags=flags,
            sent=sent,
            echo=echo if stamps else 0,
        )
        packets.append((10 + seen, packet))

    if handshake:
        put(-2 * RTT, down=False, seq=0, ack=0, flags=2)
        put(-2 * RTT + half, down=True, seq=0, ack=1, flags=18)
        put(-RTT, down=False, seq=1, ack=1)
    edge = 1
    for time, count in writes:
        for at in range(count):
            put(time + at * 1e-3, down=True, seq=edge, ack=1, size=SIZE)
            edge += SIZE
            if at % 2 or at == count - 1:
                wait = 0.0 if at % 2 else late
                put(time + at * 1e-3 + half + wait, down=False, seq=1, ack=edge)
    return sorted(packets, key=lambda each: each[0])


def _rtts(tmp_path: Path, packets: list[tuple[float, bytes]]) -> dict[str, float | None]:
    (tmp_path / "a").write_bytes(_capture(packets))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    found: dict[str, float | None] = flow["rtt_s"]
    return found


@pytest.mark.parametrize("at_sender", [True, False], ids=["at-sender", "at-receiver"])
@pytest.mark.parametrize("stamps", [True, False], ids=["stamps", "no-stamps"])
@pytest.mark.parametrize("period", [0.1, 0.25, 0.5])
def test_pauses_of_a_sender_are_not_its_rtt(
    tmp_path: Path, *, at_sender: bool, stamps: bool, period: float
) -> None:
    for count in (1, 4):
        writes = [(at * period, count) for at in range(20)]
        folder = tmp_path / str(count)
        folder.mkdir()
        found = _rtts(folder, _transfer(writes, at_sender=at_sender, stamps=stamps))
        assert found["min"] == pytest.approx(RTT, rel=0.02)
        assert found["max"] == pytest.approx(RTT, rel=0.02)


def test_pauses_of_a_sender_whose_handshake_was_not_captured(tmp_path: Path) -> None:
    writes = [(at * 0.5, 1) for at in range(20)]
    found = _rtts(tmp_path, _transfer(writes, at_sender=True, handshake=False))
    assert found["min"] == pytest.approx(found["max"]) == pytest.approx(RTT, abs=1e-4)


@pytest.mark.parametrize("handshake", [True, False])
def test_at_the_receiver_the_echoes_of_its_acks_tell_the_rtt(
    tmp_path: Path, *, handshake: bool
) -> None:
    """A window of 40 segments, sent each millisecond: each ACK sends two more."""
    writes = [(at * 2e-3, 2) for at in range(400)]
    found = _rtts(tmp_path, _transfer(writes, at_sender=False, handshake=handshake))
    assert found["p50"] == pytest.approx(RTT, abs=2e-3)
    assert found["max"] == pytest.approx(RTT, abs=3e-3)


def test_a_late_ack_makes_its_own_sample_longer_and_no_other(tmp_path: Path) -> None:
    writes = [(at * 0.5, 3) for at in range(20)]  # of three, the last one waits
    found = _rtts(tmp_path, _transfer(writes, at_sender=True, late=0.02))
    assert found["min"] == pytest.approx(RTT, abs=1e-4)
    assert found["max"] == pytest.approx(RTT + 0.02, abs=1e-4)


def test_an_ack_above_data_sent_again_has_no_rtt(tmp_path: Path) -> None:
    """Without SACK, it acknowledges data that came long before (Karn)."""
    packets = _transfer([(at * 0.1, 1) for at in range(20)], at_sender=True, stamps=False)
    edge, now = 1 + 20 * SIZE, 13.0
    for at in range(3):
        data = _segment(down=True, seq=edge + at * SIZE, ack=1, size=SIZE, sent=0, echo=0)
        packets.append((now + at / 1e3, data))
    again = _segment(down=True, seq=edge, ack=1, size=SIZE, sent=0, echo=0)
    ack = _segment(down=False, seq=1, ack=edge + 3 * SIZE, sent=0, echo=0)
    packets += [(now + 0.3, again), (now + 0.3 + RTT, ack)]
    assert _rtts(tmp_path, packets)["max"] == pytest.approx(RTT, abs=1e-4)


def test_a_syn_that_was_sent_twice_tells_no_rtt(tmp_path: Path) -> None:
    packets = _transfer([(at * 0.5, 1) for at in range(20)], at_sender=True)
    packets.insert(0, (packets[0][0] - 1.0, packets[0][1]))
    assert _rtts(tmp_path, packets)["max"] == pytest.approx(RTT, abs=1e-4)
