"""`fullpipe fleet ingest`: reads, says how far it is, and what came of it."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.errors import refusal, stoppable
from fullpipe.fleet.ingest import Ingest, Options
from fullpipe.fleet.sources import streams
from fullpipe.progress import reading
from fullpipe.sweeps.api import command_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from fullpipe.fleet.sources import Kind

_KEY_BYTES = 16


def ingest(
    out: Path,
    *,
    arms: Sequence[str],
    nginx: Sequence[str],
    snmp: Sequence[str],
    hist: Sequence[str],
    log_format: str | None,
    keep: Sequence[str],
    samples: bool,
    anonymize: Path | None,
    as_json: bool,
) -> bool:
    """Reads files into a fleet directory; gives whether every file could be read to its end.

    Raises:
        ScenarioError: When an option is wrong.
        OSError: When something can't be read or written.
    """
    from rich.console import Console

    log_format = log_format or "combined"
    variables = _variables(log_format) if nginx else []
    given: dict[Kind, Sequence[str]] = {"ss": arms, "nginx": nginx, "snmp": snmp, "hist": hist}
    found = streams(given, own_hosts="hostname" in variables)
    if not found:
        raise refusal(
            "nothing to read",
            "name an arm, like --arm 'cubic=hosts/{host}/*.ss'",
            place="fleet ingest",
        )
    key = _key(anonymize) if anonymize else None
    start = time.perf_counter()
    work = Ingest(out, found, Options(samples, log_format, tuple(keep), key), command_line())
    where = lambda: f"after {work.done / 1e6:,.0f} of {work.total / 1e6:,.0f} MB"  # noqa: E731
    with (
        stoppable(where, f"what is committed is in {out}, and the same command goes on from there"),
        reading() as bar,
    ):
        task = bar.add_task("reading", total=work.total)
        work.run(lambda: bar.update(task, completed=work.done))
    seconds = time.perf_counter() - start
    summary = work.summary()
    cut = [file for source in summary for file in source["files"] if file.get("trouble")]
    if as_json:
        print(json.dumps({"directory": str(out), "sources": summary}, indent=1, ensure_ascii=False))
    else:
        console = Console(highlight=False)
        _show(summary, console)
        _facts(work, seconds, out, console)
        _warn(summary, variables if nginx else None, console)
    for file in cut:
        print(f"{file['path']}: not read to its end: {file['trouble']}", file=sys.stderr)
    return not cut


def _variables(log_format: str) -> list[str]:
    try:
        return _core.fleet_variables(log_format)
    except ValueError as error:
        problem, fix = error.args
        raise refusal(problem, fix, place="--log-format") from None


def _key(file: Path) -> bytes:
    """The key in a file, which is made if it is not there."""
    if not file.exists():
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as made:
            made.write(secrets.token_hex(_KEY_BYTES) + "\n")
        print(f"made the key {file}: who has it can find out whose an address is", file=sys.stderr)
    try:
        key = bytes.fromhex(file.read_text(encoding="ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise refusal(
            f"a key is {2 * _KEY_BYTES} hexadecimal digits",
            "name a file that is not there, and one is made",
            place=f"--anonymize {file}",
        )
    return key


# What is counted of each kind, and what is worth a column.
_COLUMNS: dict[str, list[tuple[str, str]]] = {
    "ss": [("connections", "connections"), ("samples", "samples")],
    "nginx": [("requests", "requests")],
    "snmp": [("readings", "readings")],
    "hist": [("buckets", "buckets")],
}


def _show(summary: Sequence[dict[str, Any]], console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("arm", no_wrap=True)
    table.add_column("of")
    for name in ("hosts", "files", "MB", "rows", "samples", "bad lines"):
        table.add_column(name, justify="right")
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
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


def _facts(work: Ingest, seconds: float, out: Path, console: Console) -> None:
    text = sum(source["counts"].get("bytes", 0) for source in work.summary())
    line = f"{text / 1e6:,.1f} MB of text in {seconds:.1f} s"
    if work.skipped:
        line = f"{(work.total - work.skipped) / 1e6:,.1f} MB of files read in {seconds:.1f} s, the rest was there"
    console.print(f"{line} · {out}", markup=False, soft_wrap=True)


def _warn(
    summary: Sequence[dict[str, Any]], variables: Sequence[str] | None, console: Console
) -> None:
    """What spoils the data, a line each."""

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
            "samples have no time in their file: that of its name or its last change stands for it",
        ),
        (
            "ss",
            "backwards",
            "samples are older than the one before: are two hosts in one folder? Write {host}",
        ),
        (
            "snmp",
            "resets",
            "readings are below the one before: was the host started again, or are two in one folder?",
        ),
    ):
        count = sum(source["counts"].get(key, 0) for source in summary if source["kind"] == kind)
        if count:
            say(f"{count:,} {what}")
    logs = [source for source in summary if source["kind"] == "nginx"]
    if unread := [
        source
        for source in logs
        if source["counts"].get("bad") and not source["counts"].get("requests")
    ]:
        say(
            f"of {len(unread)} of {len(logs)} hosts' logs no line fits --log-format: there are no requests of them"
        )
    if variables and not {"request_time"} & set(variables):
        say("the log has no $request_time: requests will have no throughput")
    if variables and not {"bytes_sent", "body_bytes_sent"} & set(variables):
        say(
            "the log has neither $bytes_sent nor $body_bytes_sent: requests will have no throughput"
        )
