"""The metrics of a run as tables for a terminal of 80 columns."""

from __future__ import annotations

from io import StringIO
from statistics import fmean, median
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console

    from fullpipe.metrics import FlowMetrics, LinkMetrics
    from fullpipe.run import Run

_MOST_FLOWS = 20
NONE = "–"
# The widest that a column of names is, and what narrow terminals leave of it at least, if a word is that long.
_NAME, _SHORT_NAME = 14, 10
# Columns that narrow terminals do without, the first one first.
_SPARE = (
    *("\np99", "\np95", "marks", "random\nlosses", "re-\nsent", "\nmax", "queue\nms", "loss\n%", "done\ns"),
    *("after\ns", "RTT\nms", "ended"),
)
# Limits whose names are too long for a column.
_SHORT = {"receive_window": "rwnd", "application": "app"}


def show(run: Run, console: Console, wall_s: float) -> None:
    """Prints the tables and one line about the run, which took `wall_s` seconds of real time."""
    narrowed = _tables(run, console)
    console.print(f"\n{_facts(run, wall_s)}", highlight=False)
    for warning in run.metrics["warnings"]:
        console.print(f"warning: {warning}", style="yellow", markup=False, soft_wrap=True)
    if narrowed:
        console.print("columns without room are left out; see --json", style="dim")


def text(run: Run) -> str:
    """The tables as plain text."""
    from rich.console import Console

    console = Console(width=80, file=StringIO(), highlight=False, color_system=None)
    with console.capture() as printed:
        _tables(run, console)
    return "\n".join(line.rstrip() for line in printed.get().splitlines())


def _tables(run: Run, console: Console) -> bool:
    """Prints them; whether columns had to be left out."""
    each = len(run.flows) <= _MOST_FLOWS
    narrowed = False
    answered = [flow for flow in run.flows if flow["responses"]]
    for table in (
        _flows(run.flows) if each else _algorithms(run.flows),
        *([_responses(answered)] if answered and each else []),
        _links(run.links),
    ):
        narrowed |= narrow(table, console)
        console.print("")
        console.print(table)
    return narrowed


def _flows(flows: Sequence[FlowMetrics]) -> Table:
    """A line a flow."""
    unit, scale = rate_unit(flow["goodput_bps"] for flow in flows)
    ended = any(flow["completion_s"] is not None for flow in flows)
    table = make_table("flow")
    number_columns(table, f"goodput\n{unit}", "RTT ms\nmean", "\np95", "\np99", "queue\nms", "re-\nsent", "loss\n%")
    if ended:
        number_columns(table, "done\ns")
    _last(table)
    for flow in flows:
        rtt = flow["rtt_s"]
        table.add_row(
            Text(flow["name"] if flow["name"].startswith(flow["cc"]) else f"{flow['name']} ({flow['cc']})"),
            digits(flow["goodput_bps"] / scale),
            *(_ms(value) for value in (rtt["mean"], rtt["p95"], rtt["p99"], flow["queue_delay_s"]["mean"])),
            f"{flow['retransmits']}",
            _percent(flow["loss_fraction"]),
            *([digits(flow["completion_s"])] if ended else []),
            _limit(flow["limited_by"]),
        )
    return table


def _algorithms(flows: Sequence[FlowMetrics]) -> Table:
    """A line an algorithm, for runs with more flows than fit; delays are medians of the flows' means."""
    unit, scale = rate_unit(flow["goodput_bps"] for flow in flows)
    ended = any(flow["completion_s"] is not None for flow in flows)
    table = make_table("flows")
    number_columns(table, f"{unit}\nleast", "\nmedian", "\nmost")
    number_columns(table, "RTT\nms", "queue\nms", "re-\nsent", "loss\n%")
    if ended:
        number_columns(table, "ended", "after\ns")
    _last(table)
    for cc in sorted({flow["cc"] for flow in flows}):
        those = [flow for flow in flows if flow["cc"] == cc]
        rates = [flow["goodput_bps"] / scale for flow in those]
        sent = sum(flow["sent"] for flow in those)
        resent = sum(flow["retransmits"] for flow in those)
        table.add_row(
            Text(f"{len(those)} × {cc}"),
            *(digits(value) for value in (min(rates), median(rates), max(rates))),
            _ms(_median(flow["rtt_s"]["mean"] for flow in those)),
            _ms(_median(flow["queue_delay_s"]["mean"] for flow in those)),
            f"{resent}",
            _percent(resent / sent if sent else 0.0),
            *(_ends(those) if ended else []),
            _limit(_mean_shares(those)),
        )
    return table


def _responses(flows: Sequence[FlowMetrics]) -> Table:
    """A line a flow whose application asks."""
    table = make_table("flow")
    number_columns(table, "answers", "time ms\nmean", "\np50", "\np95", "\np99", "\nmax")
    for flow in flows:
        times = flow["response_s"]
        values = (times["mean"], times["p50"], times["p95"], times["p99"], times["max"])
        table.add_row(Text(flow["name"]), f"{flow['responses']}", *(_ms(value) for value in values))
    return table


def _links(links: Sequence[LinkMetrics]) -> Table:
    table = make_table("link")
    policed = any(link["policed"] for link in links)
    # ACKs have columns where they go over a link.
    acks: tuple[tuple[str, Callable[[LinkMetrics], int]], ...] = (
        ("ACK\ndrops", lambda link: link["ack_drops"]),
        ("ACKs\nfiltered", lambda link: link["acks_filtered"]),
    )
    shown = [(header, count) for header, count in acks if any(link["acks"] and count(link) for link in links)]
    number_columns(table, "utilisation\n%", "queue ms\nmean", "\np95", "\np99", "\nmax", "drops", "random\nlosses")
    doubled = any(link["duplicates"] for link in links)
    counts = [*(["policed"] if policed else []), *(["copies"] if doubled else []), "marks"]
    number_columns(table, *counts, *(header for header, _ in shown))
    for link in links:
        queue = link["queue_delay_s"]
        table.add_row(
            Text(link["name"]),
            f"{link['utilisation'] * 100:.1f}",
            *(_ms(value) for value in (queue["mean"], queue["p95"], queue["p99"], queue["max"])),
            *(f"{count}" for count in (link["drops"], link["losses"])),
            *([f"{link['policed']}"] if policed else []),
            *([f"{link['duplicates']}"] if doubled else []),
            f"{link['marks']}",
            *(f"{count(link)}" for _, count in shown),
        )
    return table


def _facts(run: Run, wall_s: float) -> str:
    metrics = run.metrics
    facts = [*([] if run.runner == "sim" else [f"on {run.runner}"]), f"seed {run.seed}"]
    if len(run.flows) > 1 and metrics["jain"] is not None:
        facts.append(f"Jain {metrics['jain']:.3f}")
    facts.append(f"{metrics['packets']:,} packets in {wall_s:.2f} s")
    if run.trace_hash is not None:
        facts.append(f"trace {run.trace_hash}")
    return " · ".join(facts)


def make_table(what: str) -> Table:
    """A table whose first column, the name of `what`, is the one that shrinks where room is short."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0, header_style="bold")
    table.add_column(what, vertical="bottom", overflow="fold", max_width=_NAME)
    return table


def narrow(table: Table, console: Console) -> bool:
    """Leaves out columns, the least telling first, until the words of the names have room; whether it had to."""
    wide = console.options.update(max_width=1000)
    columns = {column.header: column for column in table.columns}
    spare = [columns[header] for header in _SPARE if header in columns]
    names, dropped = table.columns[0], False
    words = (len(word) for name in names.cells for word in f"{name}".split())
    names.max_width = min(max(words, default=1), _SHORT_NAME)
    while spare and console.measure(table, options=wide).maximum > console.width:
        table.columns.remove(spare.pop(0))
        dropped = True
    names.max_width = _NAME
    return dropped


def _last(table: Table) -> None:
    table.add_column("limited by", vertical="bottom", no_wrap=True)


def number_columns(table: Table, *headers: str) -> None:
    """Adds columns of numbers."""
    for header in headers:
        table.add_column(header, justify="right", vertical="bottom", no_wrap=True, min_width=6)


def _limit(shares: dict[str, float]) -> str:
    """What held for longest, and for how much of the time."""
    if not any(shares.values()):
        return NONE
    name = max(shares, key=lambda limit: shares[limit])
    return f"{_SHORT.get(name, name)} {shares[name] * 100:.0f} %"


def _ends(flows: Sequence[FlowMetrics]) -> tuple[str, str]:
    """How many transfers ended, and the median time that they took."""
    times = [flow["completion_s"] for flow in flows if flow["completion_s"] is not None]
    return f"{len(times)}", digits(_median(times))


def _mean_shares(flows: Sequence[FlowMetrics]) -> dict[str, float]:
    limits = {limit for flow in flows for limit in flow["limited_by"]}
    return {limit: fmean(flow["limited_by"].get(limit, 0.0) for flow in flows) for limit in sorted(limits)}


def rate_text(bps: float) -> str:
    """A rate as it is said: 2.5 Mbit/s."""
    unit, scale = rate_unit([bps])
    return f"{bps / scale:.3g} {unit}"


def rate_unit(rates: Iterable[float]) -> tuple[str, float]:
    """The unit for a column of rates in bit/s, and what it is worth."""
    most = max(rates, default=0.0)
    return next(
        ((unit, scale) for unit, scale in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)) if most >= scale),
        ("bit/s", 1.0),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _ms(seconds: float | None) -> str:
    return NONE if seconds is None else digits(seconds * 1e3)


def _percent(share: float) -> str:
    return "0" if share == 0 else f"{share * 100:.2g}" if share < 0.01 else f"{share * 100:.1f}"


def digits(value: float | None) -> str:
    """Three digits that count, or all before the point."""
    if value is None:
        return NONE
    if value == 0:
        return "0"
    return f"{value:.{0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 1 else 3}f}"
