"""The results of a link as a table for a terminal, and its live lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from fullpipe.results.total import Total
from fullpipe.runs.view.table import (
    NONE,
    Trimmed,
    digits,
    make_table,
    narrow,
    number_columns,
    rate_text,
    rate_unit,
)

if TYPE_CHECKING:
    from rich.console import Console

    Report = dict[str, Any]

WAYS = ("down", "up")
FAR = "100.64.0.1"
"""The address of the far end."""
_REFUSAL = 12
"""Packets of a connection to the proxy that it refuses, with a margin."""
_NO_QUEUE_S = 10e-6
LIVE_HEADER = "   s" + "".join(f"{way:>12}{'ms':>6}{'pkts':>5}{'drop':>5}" for way in WAYS)
"""The header of the live lines, 60 columns wide: a table without an end can't adapt its columns."""


def show(report: Report, console: Console) -> None:
    """Prints both directions, the lateness of packets, and doubts about the timing."""
    links = {link["name"]: link for link in report["links"]}
    unit, scale = rate_unit([report[way]["rate_bps"] for way in WAYS])
    table = make_table("direction")
    number_columns(
        table,
        f"IP\n{unit}",
        "\npackets",
        "\ndropped",
        "\nmarked",
        "queue ms\nmean",
        "\np95",
        "\nmax",
    )
    table.add_column("\nlink", vertical="bottom")
    for name in WAYS:
        way = report[name]
        counts = (
            f"{way['rate_bps'] / scale:.2f}",
            *(f"{way[what]:,}" for what in ("packets", "dropped", "marked")),
        )
        for row, link in enumerate(way["links"] or [None]):
            queue = links[link]["queue_delay_s"] if link else {}
            waits = (_milliseconds(queue.get(what)) for what in ("mean", "p95", "max"))
            table.add_row(
                name if row == 0 else "",
                *(counts if row == 0 else [""] * 4),
                *waits,
                Text(link or "none"),
            )
    narrow(table, console)
    console.print(Trimmed(table))
    time = report["timeliness"]
    late = ", ".join(
        f"{what} {_short(time[key])}"
        for what, key in (
            ("p50", "lateness_p50_s"),
            ("p99", "lateness_p99_s"),
            ("max", "lateness_max_s"),
        )
    )
    if not any(report[way]["packets"] for way in WAYS):
        late = "–, no packets"
    console.print(
        f"\n{report['elapsed_s']:.1f} s · lateness {late} · this machine can pace about "
        f"{rate_text(report['most_bps'])}",
        highlight=False,
        soft_wrap=True,
    )
    for line in (*deaf(report), *left_out(report)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for doubt in time["doubts"]:
        console.print(
            f"not trustworthy: {doubt}", style="bold yellow", markup=False, soft_wrap=True
        )


def deaf(report: Report) -> list[str]:
    """Returns a sentence for each server that did not listen when the program started."""
    return [
        f'--server "{server}" did not listen before the program started'
        for server in report.get("deaf", [])
    ]


def left_out(report: Report) -> list[str]:
    """Returns a sentence about the flows that are not kept, if there are any."""
    flows = Total(**report["flows"]) if "flows" in report else None
    return [str(flows)] if flows and flows.kept < flows.flows else []


def unreached(report: Report, *, uplink: bool) -> str:
    """Returns what a program can reach, if it failed without an answer; empty otherwise."""
    down = report["down"]["packets"]
    if report["exit_code"] == 0 or down > (_REFUSAL if uplink else 0):
        return ""
    if uplink:
        if not report["up"]["packets"]:  # it connected to nothing, not even to the proxy
            return ""
        return (
            "the program failed almost without an answer: the proxy of --uplink does not connect to localhost\n"
            f"  fix: for a server on this machine, use its address {_own_address()} instead"
        )
    return (
        f"no packet came back: behind the path there is only the far end, {FAR}\n"
        f"  fix: start your server there with --server 'COMMAND', or use --uplink and this machine's address "
        f"{_own_address()}"
    )


def _own_address() -> str:
    """Returns the address from which this machine reaches others; an example if it has none."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return "192.168.1.5"
        return str(probe.getsockname()[0])


def _milliseconds(seconds: float | None) -> str:
    """Formats a time; below a hundredth of a millisecond there was no queue."""
    return NONE if seconds is None else digits(seconds * 1e3) if seconds >= _NO_QUEUE_S else "0"


def _short(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{digits(seconds * 1e3)} ms"


def live(now: Report) -> str:
    """Returns a line about the last second."""

    def way(name: str) -> str:
        of = now[name]
        rate, queue = rate_text(of["rate_bps"]), digits(of["queue_s"] * 1e3)
        return f"{rate:>12}{queue:>6}{of['queue_packets']:>5}{of['dropped']:>5}"

    return f"{now['at_s']:>4.0f}{way('down')}{way('up')}"
