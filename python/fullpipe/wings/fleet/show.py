"""Prints the summary of `fullpipe fleet ingest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from fullpipe.wings.fleet.commits import Source
    from fullpipe.wings.fleet.ingest import Ingest

# The counts of each kind of file, with their names in the table.
_COLUMNS: dict[str, list[tuple[str, str]]] = {
    "ss": [("connections", "connections"), ("samples", "samples")],
    "nginx": [("requests", "requests")],
    "snmp": [("readings", "readings")],
    "hist": [("buckets", "buckets")],
}


def unread(summary: Sequence[Source]) -> list[Source]:
    """Returns the hosts' files without a line that could be read; listings of ss may be empty, as logs."""
    return [
        source
        for source in summary
        if not source["counts"].get(_COLUMNS[source["kind"]][0][0])
        and source["counts"].get("bytes" if source["kind"] in ("snmp", "hist") else "bad")
    ]


def show(summary: Sequence[Source], console: Console) -> None:
    """Prints a line for each arm and kind of file."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("arm", no_wrap=True)
    table.add_column("kind")
    for name in ("hosts", "files", "MB", "rows", "samples", "bad lines"):
        table.add_column(name, justify="right")
    groups: dict[tuple[str, str], list[Source]] = {}
    for source in summary:
        groups.setdefault((source["arm"] or "by host", source["kind"]), []).append(source)
    for (arm, kind), sources in sorted(groups.items()):
        counts = {
            key: sum(source["counts"].get(key, 0) for source in sources)
            for key, _ in _COLUMNS[kind]
        }
        rows = _COLUMNS[kind][0][0]
        table.add_row(
            arm,
            kind,
            f"{len(sources):,}",
            f"{sum(len(source['files']) for source in sources):,}",
            f"{sum(source['counts'].get('bytes', 0) for source in sources) / 1e6:,.1f}",
            f"{counts[rows]:,} {rows}",
            f"{counts['samples']:,}" if kind == "ss" else "",
            f"{sum(source['counts'].get('bad', 0) for source in sources):,}",
        )
    console.print(table)


def facts(work: Ingest, seconds: float, out: Path, console: Console) -> None:
    """Prints the amount of text read, the time taken, and the output directory."""
    text = sum(source["counts"].get("bytes", 0) for source in work.commits.summary())
    line = f"{text / 1e6:,.1f} MB of text in {seconds:.1f} s"
    if work.skipped:
        line = f"{(work.total - work.skipped) / 1e6:,.1f} MB of files in {seconds:.1f} s; the rest was read earlier"
    console.print(f"{line} · {out}", markup=False, soft_wrap=True)


def warn(summary: Sequence[Source], variables: Sequence[str] | None, console: Console) -> None:
    """Prints a line for each problem in the data."""

    def say(text: str) -> None:
        console.print(text, style="yellow", markup=False, soft_wrap=True)

    bad = [(line, source) for source in summary for line in source["bad_lines"]]
    for line, _ in bad[:3]:
        quoted = f": {line['text'].strip()[:60]}" if line["text"] else ""
        say(f"{line['file']}:{line['line']}: {line['why']}{quoted}")
    if len(bad) > 3:
        say("ingest.json has more bad lines")
    for kind, key, what in (
        (
            "ss",
            "untimed",
            "samples have no time in their file: the time in its name, or of its last change, is used",
        ),
        (
            "ss",
            "backwards",
            "samples are older than the one before: does a folder have files of two hosts? Write {host}",
        ),
        (
            "snmp",
            "resets",
            "readings are below the one before: did the host restart, or does a folder have two hosts?",
        ),
    ):
        count = sum(source["counts"].get(key, 0) for source in summary if source["kind"] == kind)
        if count:
            say(f"{count:,} {what}")
    arms: dict[str, list[Source]] = {}
    for source in summary:
        if source["kind"] == "ss":
            arms.setdefault(source["arm"], []).append(source)
    for arm, sources in arms.items():
        if not any(source["counts"].get("connections") for source in sources):
            files = sum(len(source["files"]) for source in sources)
            say(f"arm {arm} has no connection in {files:,} file{'s' if files > 1 else ''}")
    for kind in dict.fromkeys(source["kind"] for source in unread(summary)):
        sources = [source for source in summary if source["kind"] == kind]
        hosts = f"{len(unread(sources))} of {len(sources)} hosts"
        say(
            f"no line matches --log-format in the logs of {hosts}: they have no requests"
            if kind == "nginx"
            else f"no line could be read in the files of {kind} of {hosts}"
        )
    if variables and not {"request_time"} & set(variables):
        say("the log has no $request_time: requests will have no throughput")
    if variables and not {"bytes_sent", "body_bytes_sent"} & set(variables):
        say(
            "the log has neither $bytes_sent nor $body_bytes_sent: requests will have no throughput"
        )
