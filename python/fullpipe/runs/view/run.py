"""Tables of a run's metrics for a terminal."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe import _core
from fullpipe.algorithms.programs.used import differences, names
from fullpipe.base.metrics import decade_text
from fullpipe.runners import has
from fullpipe.runs.view.path import path_line, stack_of
from fullpipe.runs.view.table import (
    NONE,
    Cell,
    Trimmed,
    add_rows,
    flow_name,
    make_table,
    narrow,
    number_columns,
    rate_text,
    rate_unit,
)
from fullpipe.scenario.origin import ALGORITHMS, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.table import Table

    from fullpipe._core import Scenario
    from fullpipe.base.metrics import DecadeMetrics, Distribution, FlowMetrics, LinkMetrics
    from fullpipe.runs.data import RunData

_MOST_FLOWS = 20
_LEAST_SHARE = 0.005
_MISSING = 0.02
_LEAST_SECOND = 0.1
_BIN = 0.004
"""Error of a quantile, as a share of it: that of the histogram's bins."""


def show_in_notebook(run: RunData, console: Console) -> None:
    """Prints the scenario's name, and the tables."""
    show_scenario(run.scenario, console)
    show([run], console, [None])


def show(runs: Sequence[RunData], console: Console, walls_s: Sequence[float | None]) -> None:
    """Prints the tables, with a line per flow and runner, then a line about each run, with its real time if known."""
    narrowed = _tables(runs, console)
    console.print("")
    for run, wall_s in zip(runs, walls_s, strict=True):
        for line in _lines(_facts(run, wall_s, several=len(runs) > 1), console.width):
            console.print(line, highlight=False, soft_wrap=True)
    for run in runs:
        whose = f" ({run.runner})" if len(runs) > 1 else ""
        for warning in run.metrics["warnings"]:
            console.print(
                f"warning{whose}: {warning}", style="yellow", markup=False, soft_wrap=True
            )
        for line in _unfinished(run):
            console.print(f"{line}{whose}", style="yellow", markup=False)
        for line in _steadiness(run):
            console.print(
                f"{line}{whose}",
                style="yellow" if line.startswith("not steady") else "dim",
                markup=False,
            )
    for difference in _other_algorithms(runs):
        console.print(f"warning: {difference}", style="yellow", markup=False, soft_wrap=True)
    if any(map(_is_coarse, runs)):
        console.print(
            "a mean above p99: quantiles are within 0.4 %, means are exact",
            style="dim",
            markup=False,
        )
    if any(has(run.runner, "samples") for run in runs):
        console.print(
            "limited by: measured by a kernel's own clocks and samples of its state",
            style="dim",
        )
    if narrowed:
        console.print("some columns do not fit and are left out; see --json", style="dim")


def _is_coarse(run: RunData) -> bool:
    """Returns whether a mean in the tables is above its p99 by no more than the width of the histogram's bins."""
    found = [each["queue_delay_s"] for each in run.link_metrics]
    found += [each["rtt_s"] for each in run.flow_metrics]
    return any(
        each["p99"] < each["mean"] <= each["p99"] * (1 + _BIN)
        for each in found
        if each["mean"] is not None and each["p99"] is not None
    )


def _other_algorithms(runs: Sequence[RunData]) -> list[str]:
    """Returns the programs whose congestion control differs between runners."""
    if len(runs) < 2:
        return []
    programs = names(run.scenario.to_toml() for run in runs[:1])
    return differences(
        (f"on {run.runner}", str(flow["name"]), str(flow["cc"]))
        for run in runs
        for flow in run.flow_metrics
        if flow["name"] in programs
    )


def _unfinished(run: RunData) -> Iterator[str]:
    """Yields the share of each workload's flows that did not complete, if it is not small."""
    for workload in run.workload_metrics:
        arrived = workload["slowdown"]["all"]
        if arrived is None:
            continue
        missing = arrived["unfinished"]
        count = missing + (arrived["flows"]["count"] if arrived["flows"] else 0)
        if missing > _MISSING * count:
            yield (
                f"{100 * missing / count:.0f} % of the flows of {workload['name']} did not complete "
                f"({missing:,} of {count:,}): completion times and slowdowns are of the others"
            )


def _steadiness(run: RunData) -> Iterator[str]:
    """Yields the verdict on the run's numbers in words, if they are not steady or not tested."""
    verdict = run.metrics.get("steadiness")  # a run of an earlier version has none
    if verdict is None or (verdict["verdict"] == "steady" and "tested_until_s" not in verdict):
        return
    from fullpipe.stats.steady import of_run  # needs polars

    yield of_run(run.metrics).text


def show_scenario(scenario: Scenario, console: Console) -> None:
    """Prints the scenario's name, profile and links."""
    title = f": {scenario.title}" if scenario.title else ""
    if scenario.file == ALGORITHMS:
        console.print(scenario.title or "", style="bold", markup=False)
        console.print(path_line(scenario.to_toml()), markup=False)
        return
    called = Text.assemble(
        (f"{shown(scenario.file)}{title}", "bold"), f"; {stack_of(scenario.to_toml())}"
    )
    console.print(called)
    if scenario.profile:
        name, values = scenario.profile
        given = ", ".join(
            f"{key.removeprefix('path.').replace('.N', '')} {value.strip(chr(34))}"
            for key, value in values
        )
        console.print(f"profile {name}: {given}", style="dim", markup=False)
    if len(scenario.links) > 1:
        about = dict.fromkeys(scenario.varying_links, "on average ")
        rates = ", ".join(
            f"{name} {about.get(name, '')}{rate_text(bps)}" for name, bps in scenario.links
        )
        console.print(f"links: {rates}", style="dim", markup=False)


def text(run: RunData) -> str:
    """Returns the tables as plain text."""
    from rich.console import Console

    console = Console(width=80, file=StringIO(), highlight=False, color_system=None)
    with console.capture() as printed:
        _tables([run], console)
    return "\n".join(line.rstrip() for line in printed.get().splitlines())


def _tables(runs: Sequence[RunData], console: Console) -> bool:
    """Prints the tables; returns whether columns were left out."""
    each = len(runs[0].flow_metrics) <= _MOST_FLOWS
    narrowed = False
    answered = any(flow["responses"] for run in runs for flow in run.flow_metrics)
    media = any(flow["frames"] or flow["lost_frames"] for run in runs for flow in run.flow_metrics)
    for table in (
        *(
            [_fitting(runs, console, _flows if each else _algorithms)]
            if runs[0].flow_metrics
            else []
        ),
        *([_responses(runs)] if answered and each else []),
        *([_frames(runs)] if media and each else []),
        *([_workloads(runs)] if runs[0].workload_metrics else []),
        *(
            [_slowdowns(runs)]
            if any(each["slowdown"]["all"] for run in runs for each in run.workload_metrics)
            else []
        ),
        # A loopback has no links.
        *([_links(linked, runs)] if (linked := [run for run in runs if run.link_metrics]) else []),
    ):
        narrowed |= narrow(table, console)
        console.print("")
        console.print(Trimmed(table))
    return narrowed


def _fitting(
    runs: Sequence[RunData], console: Console, make: Callable[[Sequence[RunData], int], Table]
) -> Table:
    """Returns the table of flows with two limits for each, or with one if two would cost a column."""
    table = make(runs, 2)
    return make(runs, 1) if narrow(table, console) else table


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _table_of(what: str, runs: Sequence[RunData]) -> Table:
    """Returns a table, with a column for the runner if there are several runs."""
    table = make_table(what)
    if len(runs) > 1:
        table.add_column("on", vertical="bottom", no_wrap=True)
    return table


def _heads(name: str, runs: Sequence[RunData]) -> Iterator[tuple[RunData, list[Text]]]:
    """Yields the first cells of the rows of one flow or link, one row per run, with the name in the first row."""
    for number, run in enumerate(runs):
        yield (
            run,
            [Text(name if number == 0 else ""), *([Text(run.runner)] if len(runs) > 1 else [])],
        )


def _nth(runs: Sequence[RunData], number: int) -> list[FlowMetrics]:
    return [run.flow_metrics[number] for run in runs]


def _flows(runs: Sequence[RunData], limits: int) -> Table:
    """Returns a table with a line per flow and run."""
    flows = [flow for run in runs for flow in run.flow_metrics]
    unit, scale = rate_unit(flow["goodput_bps"] for flow in flows)
    ended = any(flow["completion_s"] is not None for flow in flows)
    table = _table_of("flow", runs)
    rows: list[list[Cell]] = []
    number_columns(
        table,
        f"goodput\n{unit}",
        "RTT ms\nmean",
        "\np95",
        "\np99",
        "queue\nms",
        "re-\nsent",
        "loss\n%",
    )
    if ended:
        number_columns(table, "done\ns")
    _last(table)
    for number, named in enumerate(runs[0].flow_metrics):
        called = {flow_name(each["name"], each["cc"]) for each in _nth(runs, number)}
        # A program may use another algorithm on another runner.
        of_run = named["name"] if len(called) > 1 else called.pop()
        for run, head in _heads(of_run, runs):
            flow = run.flow_metrics[number]
            if called:
                head[1].append(f" ({flow['cc'].rpartition(':')[2]})")
            rtt = flow["rtt_s"]
            rows.append(
                [
                    *head,
                    flow["goodput_bps"] / scale,
                    *(
                        _milliseconds(value)
                        for value in (
                            rtt["mean"],
                            rtt["p95"],
                            rtt["p99"],
                            flow["queue_delay_s"]["mean"],
                        )
                    ),
                    f"{flow['retransmits']}",
                    flow["loss_fraction"] * 100,
                    *([flow["completion_s"]] if ended else []),
                    _limits(flow["limited_by"], limits),
                ]
            )
    add_rows(table, rows)
    return table


def _algorithms(runs: Sequence[RunData], limits: int) -> Table:
    """Returns a table with a line per algorithm and run, for many flows; delays are medians of the flows' means."""
    from statistics import median

    flows = [flow for run in runs for flow in run.flow_metrics]
    unit, scale = rate_unit(flow["goodput_bps"] for flow in flows)
    ended = any(flow["completion_s"] is not None for flow in flows)
    table = _table_of("flows", runs)
    rows: list[list[Cell]] = []
    number_columns(table, f"{unit}\nleast", "\nmedian", "\nmost")
    number_columns(table, "RTT\nms", "queue\nms", "re-\nsent", "loss\n%")
    if ended:
        number_columns(table, "ended", "after\ns")
    _last(table)
    for cc in sorted({flow["cc"] for flow in flows}):
        count = max(sum(flow["cc"] == cc for flow in run.flow_metrics) for run in runs)
        for run, head in _heads(f"{count} × {cc}", runs):
            those = [flow for flow in run.flow_metrics if flow["cc"] == cc]
            if not those:  # a program's algorithm on another runner
                continue
            rates = [flow["goodput_bps"] / scale for flow in those]
            sent = sum(flow["sent"] for flow in those)
            resent = sum(flow["retransmits"] for flow in those)
            rows.append(
                [
                    *head,
                    *(min(rates), median(rates), max(rates)),
                    _milliseconds(_median(flow["rtt_s"]["mean"] for flow in those)),
                    _milliseconds(_median(flow["queue_delay_s"]["mean"] for flow in those)),
                    f"{resent}",
                    100 * resent / sent if sent else 0.0,
                    *(_ends(those) if ended else []),
                    _limits(_mean_shares(those), limits),
                ]
            )
    add_rows(table, rows)
    return table


def _responses(runs: Sequence[RunData]) -> Table:
    """Returns a table with a line per run and flow that sends requests."""
    table = _table_of("flow", runs)
    rows: list[list[Cell]] = []
    number_columns(table, "responses", "time ms\nmean", "\np50", "\np95", "\np99", "\nmax")
    for number, named in enumerate(runs[0].flow_metrics):
        if not any(run.flow_metrics[number]["responses"] for run in runs):
            continue
        for run, head in _heads(named["name"], runs):
            flow = run.flow_metrics[number]
            rows.append([*head, f"{flow['responses']}", *_times(flow["response_s"])])
    add_rows(table, rows)
    return table


def _frames(runs: Sequence[RunData]) -> Table:
    """Returns a table with a line per run and media source."""
    table = _table_of("flow", runs)
    rows: list[list[Cell]] = []
    number_columns(table, "frames", "lost", "delay ms\nmean", "\np50", "\np95", "\np99", "\nmax")
    for number, named in enumerate(runs[0].flow_metrics):
        those = [run.flow_metrics[number] for run in runs]
        if not any(flow["frames"] or flow["lost_frames"] for flow in those):
            continue
        for run, head in _heads(named["name"], runs):
            flow = run.flow_metrics[number]
            counts = (f"{flow['frames']}", f"{flow['lost_frames']}")
            rows.append([*head, *counts, *_times(flow["frame_delay_s"])])
    add_rows(table, rows)
    return table


def _times(times: Distribution) -> list[float | None]:
    """Returns mean, median, two percentiles and maximum in milliseconds."""
    values = (times["mean"], times["p50"], times["p95"], times["p99"], times["max"])
    return [_milliseconds(value) for value in values]


def _workloads(runs: Sequence[RunData]) -> Table:
    """Returns a table with a line per workload and run: numbers of flows, completion times, delay and loss."""
    unit, scale = rate_unit(each["goodput_bps"] for run in runs for each in run.workload_metrics)
    table = _table_of("flows", runs)
    rows: list[list[Cell]] = []
    number_columns(table, f"goodput\n{unit}", "\nstarted", "\nended", "active\nmean", "\nmost")
    number_columns(table, "done ms\np50", "\np95", "\np99", "queue\nms", "loss\n%")
    for number, named in enumerate(runs[0].workload_metrics):
        called = flow_name(named["name"], named["cc"])
        for run, head in _heads(called, runs):
            each = run.workload_metrics[number]
            done = each["completion_s"]
            rows.append(
                [
                    *head,
                    each["goodput_bps"] / scale,
                    f"{each['arrived']:,}",
                    f"{each['completed']:,}",
                    each["concurrent"],
                    f"{each['most_concurrent']:,}",
                    *(
                        _milliseconds(value)
                        for value in (
                            done["p50"],
                            done["p95"],
                            done["p99"],
                            each["queue_delay_s"]["mean"],
                        )
                    ),
                    each["loss_fraction"] * 100,
                ]
            )
    add_rows(table, rows)
    return table


def _slowdowns(runs: Sequence[RunData]) -> Table:
    """Returns a table of slowdowns, with a line per decade of sizes, workload and run."""
    table = _table_of("slowdown of flows", runs)
    rows: list[list[Cell]] = []
    number_columns(table, "\nflows", "\nmean", "\np50", "\np95", "\np99", "SRPT\nmean", "PS\nmean")
    for number, named in enumerate(runs[0].workload_metrics):
        if len(runs[0].workload_metrics) > 1:
            rows.append([Text(named["name"]), *[""] * (len(table.columns) - 1)])
        for least in sorted({each["from_bytes"] for run in runs for each in _decades(run, number)}):
            for run, head in _heads(decade_text(least), runs):
                decade = next(
                    (each for each in _decades(run, number) if each["from_bytes"] == least), None
                )
                if decade is not None and (flows := decade["flows"]) is not None:
                    servers = (decade["srpt"], decade["ps"])
                    values = [flows["mean"], flows["p50"], flows["p95"], flows["p99"]]
                    known = [*values, *(each["mean"] if each else None for each in servers)]
                    rows.append(
                        [
                            *head,
                            f"{flows['count']:,}",
                            *known,
                        ]
                    )
    add_rows(table, rows)
    return table


def _decades(run: RunData, number: int) -> list[DecadeMetrics]:
    return run.workload_metrics[number]["slowdown"]["decades"]


def _links(runs: Sequence[RunData], every: Sequence[RunData]) -> Table:
    """Returns a table with a line per link and run."""
    table = _table_of(f"link, {runs[0].runner}" if len(runs) == 1 < len(every) else "link", runs)
    rows: list[list[Cell]] = []
    links = [link for run in runs for link in run.link_metrics]
    # Columns that are shown only if one of their counts is not 0.
    rare: tuple[tuple[str, Callable[[LinkMetrics], int], bool], ...] = (
        ("policed", lambda link: link["policed"], False),
        ("copies", lambda link: link["duplicates"], False),
        ("marks", lambda link: link["marks"], True),
        ("ACK\ndrops", lambda link: link["ack_drops"] if link["acks"] else 0, False),
        ("ACKs\nfiltered", lambda link: link["acks_filtered"] if link["acks"] else 0, False),
    )
    shown = [(header, count) for header, count, always in rare if always or any(map(count, links))]
    number_columns(
        table,
        "utilization\n%",
        "queue ms\nmean",
        "\np95",
        "\np99",
        "\nmax",
        "drops",
        "random\nlosses",
    )
    number_columns(table, *(header for header, _ in shown))
    for number, named in enumerate(runs[0].link_metrics):
        for run, head in _heads(named["name"], runs):
            link = run.link_metrics[number]
            queue = link["queue_delay_s"]
            rows.append(
                [
                    *head,
                    f"{link['utilization'] * 100:.1f}",
                    *(
                        _milliseconds(value)
                        for value in (queue["mean"], queue["p95"], queue["p99"], queue["max"])
                    ),
                    *(f"{count}" for count in (link["drops"], link["losses"])),
                    *(f"{count(link)}" for _, count in shown),
                ]
            )
    add_rows(table, rows)
    return table


def _lines(facts: Sequence[str], width: int) -> list[str]:
    """Joins facts to lines of a width, without a break within a fact."""
    lines: list[str] = []
    for fact in facts:
        if lines and len(lines[-1]) + len(fact) + 3 <= width:
            lines[-1] += f" · {fact}"
        else:
            lines.append(fact)
    return lines


def _facts(run: RunData, wall_s: float | None, several: bool) -> list[str]:
    metrics = run.metrics
    facts = [*([f"on {run.runner}"] if several or run.runner != "sim" else []), f"seed {run.seed}"]
    if len(run.flow_metrics) > 1 and metrics["jain"] is not None:
        facts.append(f"Jain {metrics['jain']:.3f}")
    took = "" if wall_s is None else f" in {wall_s:.2f} s"
    facts.append(f"{metrics['packets']:,} packets{took}")
    if run.trace_hash is not None:
        facts.append(f"trace {run.trace_hash}")
    return facts


def _last(table: Table) -> None:
    table.add_column("limited\nby, %", vertical="bottom", no_wrap=True)


def _limits(shares: dict[str, float], most: int) -> str:
    """Returns the most frequent limits, with their shares of the time in percent; a second one from 10 % on."""
    short = {each["name"]: each["short"] for each in _core.limits()}
    largest = sorted(shares, key=lambda limit: -shares[limit])[:most]
    known = [
        f"{short.get(name, name)} {shares[name] * 100:.0f}"
        for name in largest
        if shares[name] >= (_LEAST_SHARE if name == largest[0] else _LEAST_SECOND)
    ]
    return ", ".join(known) or NONE


def _ends(flows: Sequence[FlowMetrics]) -> tuple[str, float | None]:
    """Returns the number of completed transfers, and their median completion time."""
    times = [flow["completion_s"] for flow in flows if flow["completion_s"] is not None]
    return f"{len(times)}", _median(times)


def _mean_shares(flows: Sequence[FlowMetrics]) -> dict[str, float]:
    from statistics import fmean

    limits = {limit for flow in flows for limit in flow["limited_by"]}
    return {
        limit: fmean(flow["limited_by"].get(limit, 0.0) for flow in flows)
        for limit in sorted(limits)
    }


def _median(values: Iterable[float | None]) -> float | None:
    from statistics import median

    known = [value for value in values if value is not None]
    return median(known) if known else None
