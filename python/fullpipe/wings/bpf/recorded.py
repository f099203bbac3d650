"""Records the connections of loaded algorithms, by the program `fullpipe-kernel`."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from fullpipe.errors import Stopped
from fullpipe.results import fresh_directory
from fullpipe.wings.bpf.program import OBJECTS, KernelError, of, program
from fullpipe.wings.traces.foreign.kept import save
from fullpipe.wings.traces.foreign.kernel import Reader, warned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def lines(name: str | None, port: int | None, seconds: float | None) -> int:
    """Prints the rows as lines of JSON, and returns the exit code.

    Raises:
        KernelError: When nothing is loaded, or this process may not read the rows.
    """
    sys.stdout.flush()
    with _recorder(name, port, seconds, None) as process:
        process.wait()
    return 0


def record(name: str | None, port: int | None, seconds: float | None, out: Path) -> int:
    """Keeps the rows as a run, and returns the exit code. Ctrl-C ends the recording, and keeps it.

    Raises:
        KernelError: When nothing is loaded, this process may not read the rows, or no row came.
    """
    code = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as rows:
        try:
            with _recorder(name, port, seconds, rows) as process:
                print("recording; Ctrl-C ends it and keeps the rows", file=sys.stderr)
                process.wait()
        except KeyboardInterrupt:
            code = 128 + signal.SIGINT
        except Stopped as stop:
            stop.answered = True
            code = stop.code
        rows.seek(0)
        reader = Reader()
        for line in rows:
            reader.add(json.loads(line))
    flows = reader.flows()
    if not flows:
        if code:
            print("interrupted; no connection had a row, nothing kept", file=sys.stderr)
            return code
        raise KernelError(
            "no connection had a row\n"
            "  fix: let a program use the algorithm meanwhile; fullpipe kernel status counts its sockets"
        )
    words = [*([name] if name else []), *(["--port", str(port)] if port else [])]
    with fresh_directory(out, called=f"--out {out}") as aside:
        save(
            aside,
            flows,
            runner="kernel trace",
            title=f"Recorded from Linux' TCP: {', '.join(sorted({flow.cc for flow in flows}))}",
            command=shlex.join(["fullpipe", "kernel", "trace", *words, "--out", str(out)]),
            duration_s=reader.last,
            warnings=warned(reader.lost),
        )
    for warning in warned(reader.lost):
        print(f"warning: {warning}", file=sys.stderr)
    stopped = f"interrupted after {reader.last:.1f} s; " if code else ""
    print(f"{stopped}{len(flows)} flow{'s' if len(flows) > 1 else ''} kept in {out}")
    return code


@contextmanager
def _recorder(
    name: str | None, port: int | None, seconds: float | None, rows: IO[str] | None
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs the program, whose last rows are written when its standard input closes."""
    path = program()
    words = [
        str(port or 0),
        str(seconds or 0),
        str(path.parent / OBJECTS),
        *([name] if name else []),
    ]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [path, "trace", *words],
            stdin=subprocess.PIPE,
            stdout=rows,
            stderr=errors,
            start_new_session=True,  # Ctrl-C ends it through its standard input
        )
        try:
            yield process
        finally:
            process.communicate()
        if process.returncode not in (0, -signal.SIGPIPE):
            errors.seek(0)
            raise of(os.fsdecode(errors.read()), process.returncode)
