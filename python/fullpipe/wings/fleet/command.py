"""`fullpipe fleet ingest`: reads files, shows progress, and prints a summary."""

from __future__ import annotations

import json
import secrets
import sys
import time
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.base import terminal
from fullpipe.base.progress import reading
from fullpipe.errors import refusal, stoppable
from fullpipe.results import disk
from fullpipe.study.spec import command_line
from fullpipe.wings.fleet.ingest import Ingest, Options
from fullpipe.wings.fleet.show import facts, show, unread, warn
from fullpipe.wings.fleet.sources import streams

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.wings.fleet.sources import Kind

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
    """Reads files into a fleet directory; returns whether every file was read to its end.

    Raises:
        ScenarioError: When an option is wrong.
        OSError: When something can't be read or written.
    """
    log_format = log_format or "combined"
    of_log = _variables(log_format) if nginx else None
    given: dict[Kind, Sequence[str]] = {"ss": arms, "nginx": nginx, "snmp": snmp, "hist": hist}
    found = streams(given, own_hosts="hostname" in (of_log or ()))
    if not found:
        raise refusal(
            "no input files given",
            "name an arm, like --arm 'cubic=hosts/{host}/*.ss'",
            place="fleet ingest",
        )
    key = _key(anonymize) if anonymize else None
    start = time.perf_counter()
    work = Ingest(out, found, Options(samples, log_format, tuple(keep), key), command_line())
    where = lambda: f"after {work.done / 1e6:,.0f} of {work.total / 1e6:,.0f} MB"  # noqa: E731
    with (
        stoppable(where, f"committed rows are in {out}; run the same command to resume"),
        work,
        reading() as bar,
    ):
        for text in work.commits.repaired:
            print(text, file=sys.stderr)
        task = bar.add_task("reading", total=work.total)
        work.run(lambda: bar.update(task, completed=work.done))
    seconds = time.perf_counter() - start
    summary = work.commits.summary()
    cut = [file for source in summary for file in source["files"] if file.get("trouble")]
    if as_json:
        print(json.dumps({"directory": str(out), "sources": summary}, indent=1, ensure_ascii=False))
    else:
        console = terminal.console()
        show(summary, console)
        facts(work, seconds, out, console)
        warn(summary, of_log, console)
    for file in cut:
        print(f"{file['path']}: not read to its end: {file['trouble']}", file=sys.stderr)
    return not cut and not unread(summary)


def _variables(log_format: str) -> list[str]:
    """Returns the variables of an nginx `log_format`.

    Raises:
        ScenarioError: When the format can't be parsed.
    """
    try:
        return _core.fleet_variables(log_format)
    except ValueError as error:
        problem, fix = error.args
        raise refusal(problem, fix, place="--log-format") from None


def _key(file: Path) -> bytes:
    """Reads the key in a file, and creates the file with a random key if it does not exist.

    Raises:
        ScenarioError: When the file holds no valid key.
        OSError: When the file can't be read or created.
    """
    if not file.exists():
        disk.create(file, secrets.token_hex(_KEY_BYTES) + "\n", 0o600)
        print(
            f"created the key {file}: anyone who has it can recover the addresses", file=sys.stderr
        )
    try:
        key = bytes.fromhex(file.read_text(encoding="ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise refusal(
            f"a key must be {2 * _KEY_BYTES} hexadecimal digits",
            "name a file that does not exist, and a key is created there",
            place=f"--anonymize {file}",
        )
    return key
