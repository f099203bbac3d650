"""Delivery rates of a qlog, by draft-cheng-iccrg-delivery-rate-estimation-02: two readings of its section 3.3.

By the draft each ACK has a rate sample of its own. A sender that keeps the sample's fields over ACKs takes the interval
of an earlier ACK for what a later one delivers, if its packets left in the same burst. The table has both, from the
packets and ACKs of a JSON-SEQ qlog.

    .venv/bin/python tools/delivery_rates.py results/ngtcp2/programs/ngtcp2/*.sqlog --after 5
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEAST = 200
"""Packets with fewer bytes have no data."""


class Sent(NamedTuple):
    """A packet in flight, with the draft's fields: P.delivered, P.delivered_time and P.first_sent_time; times in ms."""

    time: float
    size: int
    delivered: int
    delivered_time: float
    first_sent_time: float


@dataclass
class Estimator:
    """The estimator of the draft; with `kept`, its sample outlives the ACK."""

    kept: bool
    delivered: int = 0
    delivered_time: float = 0.0
    first_sent_time: float = 0.0
    inflight: int = 0
    prior: int = -1
    interval: float = 0.0

    def sent(self, time: float, size: int) -> Sent:
        """Returns the fields of a packet that leaves."""
        if self.inflight == 0:
            self.first_sent_time = self.delivered_time = time
        self.inflight += size
        return Sent(time, size, self.delivered, self.delivered_time, self.first_sent_time)

    def acked(self, now: float, packets: list[Sent]) -> float | None:
        """Returns the sample of an ACK in bit/s; None if it has none."""
        if not self.kept:
            self.prior, self.interval = -1, 0.0
        for packet in packets:
            self.inflight -= packet.size
            self.delivered += packet.size
            self.delivered_time = now
            if packet.delivered > self.prior or (not self.kept and packet.delivered == self.prior):
                self.prior = packet.delivered
                send_elapsed = packet.time - packet.first_sent_time
                ack_elapsed = now - packet.delivered_time
                self.interval = max(send_elapsed, ack_elapsed)
                self.first_sent_time = packet.time
        return 8e3 * (self.delivered - self.prior) / self.interval if self.interval else None


def samples(path: Path, *, kept: bool) -> Iterator[tuple[float, float]]:
    """Yields times in ms and rates in bit/s."""
    estimator = Estimator(kept)
    flight: dict[int, Sent] = {}
    waiting: list[Sent] = []
    of = (-1, 0.0)
    for name, time, data in events(path):
        number = data["header"].get("packet_number")
        if name == "packet_received" and (number, time) == of:
            waiting += taken(flight, data)
            continue
        if waiting and (rate := estimator.acked(of[1], sorted(waiting))) is not None:
            yield of[1], rate
        waiting = []
        if name == "packet_received":
            of, waiting = (number, time), taken(flight, data)
        elif name == "packet_sent" and (size := data["raw"]["length"]) >= _LEAST:
            flight[number] = estimator.sent(time, size)
        elif name == "packet_lost" and (lost := flight.pop(number, None)):
            estimator.inflight -= lost.size


def events(path: Path) -> Iterator[tuple[str, float, dict[str, Any]]]:
    """Yields the events of 1-RTT packets: name, time and data."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            event = json.loads(line.strip("\x1e"))
        except ValueError:  # the last line of a program that was ended
            continue
        name, data = str(event.get("name")).rpartition(":")[2], event.get("data", {})
        if name.startswith("packet_") and data.get("header", {}).get("packet_type") == "1RTT":
            yield name, event["time"], data


def taken(flight: dict[int, Sent], data: dict[str, Any]) -> list[Sent]:
    """Takes the packets that an ACK acknowledges out of those in flight."""
    found: list[Sent] = []
    for frame in data.get("frames", []):
        for ends in frame.get("acked_ranges", []):
            numbers = [number for number in flight if min(ends) <= number <= max(ends)]
            found += [flight.pop(number) for number in numbers]
    return found


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("qlog", type=Path)
    parser.add_argument("--after", type=float, default=5.0, help="seconds that are left out")
    options = parser.parse_args()
    print("| Sample | Samples | Median, Mbit/s | 99 % | Largest |")
    print("|---|---|---|---|---|")
    for name, kept in (("of each ACK", False), ("kept over ACKs", True)):
        found = sorted(
            rate / 1e6
            for time, rate in samples(options.qlog, kept=kept)
            if time > 1e3 * options.after
        )
        median, high = found[len(found) // 2], found[int(0.99 * len(found))]
        print(f"| {name} | {len(found)} | {median:.2f} | {high:.2f} | {found[-1]:.2f} |")


if __name__ == "__main__":
    main()
