"""Prints statistics of flows as tables for a terminal of 80 columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from fullpipe.runs.view.table import NONE, digits, make_table, number_columns, rate_unit
from fullpipe.wings.fleet.workload.describe import SHARES, by_bytes, decades, quantile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.table import Table

    from fullpipe.wings.fleet.workload.describe import Described, Values
    from fullpipe.wings.fleet.workload.extract import Extracted

_NAMES = tuple(f"p{share * 100:g}" for share in SHARES)


def show_extracted(extracted: Extracted, console: Console) -> None:
    """Prints the sources, counts and output file of an extraction."""
    about = extracted.about
    for source in about["sources"]:
        if not source.get("refused"):
            console.print(_source(source), markup=False, soft_wrap=True)
    for line in counts(about):
        console.print(line, markup=False, soft_wrap=True)
    console.print(
        f"saved in {extracted.out}; to inspect it: fullpipe workload describe {extracted.out}",
        markup=False,
        soft_wrap=True,
    )


def _source(source: dict[str, Any]) -> str:
    if "packets" not in source:
        return f"{source['path']}: {_FORMATS.get(source['format'], source['format'])}"
    lasted = (source["last"] - source["first"]) / 1e9 if source["first"] is not None else 0.0
    cut = f", {source['cut_packets']:,} of them truncated" if source["cut_packets"] else ""
    links = f", {' and '.join(source['links'])}" if source["links"] else ""
    return f"{source['path']}: {source['format']}{links}, {source['packets']:,} packets{cut}, {digits(lasted)} s"


_FORMATS = {"zeek": "Zeek's conn.log", "zeek-json": "Zeek's conn.log as JSON", "csv": "CSV"}


def counts(about: dict[str, Any]) -> Iterator[str]:
    """Yields sentences about the number of flows and the certainty of their volumes."""
    found = about["counts"]
    without = found["flows"] - found["with_payload"]
    yield (
        f"{found['flows']:,} flow{'' if found['flows'] == 1 else 's'}, {without:,} without payload; "
        f"{size(found['bytes'])} in each flow's larger direction"
    )
    if "packets" in found:
        cut = []
        if found["cut_at_start"]:
            cut.append(f"{found['cut_at_start']:,} may have begun before the capture")
        if found["cut_at_end"]:
            cut.append(f"{found['cut_at_end']:,} may continue after it")
        if cut:
            yield "of these, " + ", ".join(cut)
        if found["sequence_bytes"]:
            yield (
                f"TCP volume in both directions: {size(found['sequence_bytes'])} by sequence numbers; "
                f"{size(found['more_by_lengths'])} more by packet lengths (retransmitted), "
                f"{size(found['more_by_numbers'])} less (not captured)"
            )
        rest = [
            f"{found[name]:,} {words}"
            for name, words in (
                ("other", "packets of other protocols"),
                ("orphans", "fragments without their first fragment"),
                ("strays", "segments with sequence numbers far from their flow's"),
            )
            if found.get(name)
        ]
        if rest:
            yield f"left out: {', '.join(rest)}"


def show(described: Described, console: Console) -> None:
    """Prints the statistics as tables."""
    console.print(Text(described.name, style="bold"), soft_wrap=True)
    if "counts" in described.about:
        for line in counts(described.about):
            console.print(line, markup=False)
    flows, total = described.flows.height, float(described.sizes.sum())
    mean = total * 8 / described.span_s
    unit, scale = rate_unit([mean])
    peak_unit, peak_scale = rate_unit([float(described.load.max())])
    console.print(
        f"{flows:,} flows with payload in {digits(described.span_s)} s: "
        f"{digits(flows / described.span_s)} per second, mean load {digits(mean / scale)} {unit}, "
        f"peak load {digits(described.load.max() / peak_scale)} {peak_unit} over {time(float(described.edges[1]))}",
        markup=False,
    )
    console.print("")
    console.print(_quantiles(described))
    console.print("")
    console.print(_decades(described))
    paused = (
        int((described.flows["chunks"].list.len() > 1).sum())
        if "chunks" in described.flows.columns
        else 0
    )
    console.print("")
    console.print(
        f"{_pauses(paused, len(described.pauses))}"
        f"coefficient of variation of interarrival times: {_variation(described.gaps)} (Poisson: 1)",
        style="dim",
        markup=False,
    )


def _quantiles(described: Described) -> Table:
    table = make_table("")
    number_columns(table, *_NAMES, "mean")
    sizes = described.sizes
    table.add_row(
        "flow size", *(size(quantile(sizes, share)) for share in SHARES), size(sizes.mean())
    )
    table.add_row(
        "size by bytes",
        *(size(by_bytes(sizes, share)) for share in SHARES),
        size(float((sizes**2).sum() / sizes.sum())),
    )
    for name, values in (
        ("interarrival", described.gaps),
        ("duration", described.lasted),
        ("pauses", described.pauses),
    ):
        if len(values):
            table.add_row(
                name,
                *(time(quantile(values, share)) for share in SHARES),
                time(float(values.mean())),
            )
    return table


def _decades(described: Described) -> Table:
    flows, total = described.flows.height, float(described.sizes.sum())
    table = make_table("flow size")
    number_columns(table, "flows", "% of flows", "bytes", "% of bytes")
    for low, high, count, volume in decades(described.sizes):
        table.add_row(
            f"{whole(size(low))}–{whole(size(high))}",
            f"{count:,}",
            digits(100 * count / flows),
            size(volume),
            digits(100 * volume / total),
        )
    return table


def record(described: Described) -> str:
    """Returns the statistics as a JSON object, at full precision, in SI units."""

    def spread(values: Values) -> dict[str, float] | None:
        if not len(values):
            return None
        return {
            **{name: quantile(values, share) for name, share in zip(_NAMES, SHARES, strict=True)},
            "mean": float(values.mean()),
        }

    sizes = described.sizes
    return json.dumps(
        {
            "flows": described.flows.height,
            "bytes": int(sizes.sum()),
            "span_s": described.span_s,
            "size_bytes": spread(sizes),
            "byte_weighted_size_bytes": {
                name: by_bytes(sizes, share) for name, share in zip(_NAMES, SHARES, strict=True)
            },
            "gap_s": spread(described.gaps),
            "duration_s": spread(described.lasted),
            "pause_s": spread(described.pauses),
            "decades": [
                {"from": low, "to": high, "flows": count, "bytes": int(volume)}
                for low, high, count, volume in decades(sizes)
            ],
            "load_bps": {"bin_s": float(described.edges[1]), "values": described.load.tolist()},
            "starts_per_s": {
                "bin_s": float(described.edges[1]),
                "values": described.starts.tolist(),
            },
            "about": described.about,
        }
    )


def _variation(gaps: Values) -> str:
    mean = float(gaps.mean()) if len(gaps) else 0.0
    return digits(float(gaps.std()) / mean) if mean else NONE


def _pauses(flows: int, pauses: int) -> str:
    if not pauses:
        return "no flow pauses; "
    return f"{flows:,} flow{'s' if flows > 1 else ''} pause{'' if flows > 1 else 's'}, {pauses:,} times in total; "


def size(count: float) -> str:
    """Formats a size, such as 18.2 kB."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{digits(count / scale)} {unit}"
    return f"{count:.0f} B"


def whole(words: str) -> str:
    """Removes insignificant zeros from a formatted power of ten: 10 kB."""
    return words.replace(".00 ", " ").replace(".0 ", " ")


def time(seconds: float) -> str:
    """Formats a time, such as 12 ms."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{digits(seconds / scale)} {unit}"
    return f"{seconds * 1e9:.0f} ns" if seconds else "0"
