"""The two ends of the probes of `fullpipe test program`, each a process of its own behind a link.

`python -m fullpipe.wings.real.loadtest.echo far` answers each byte with a byte. `near RECORD SPEC PROGRAM...` sends
the requests, runs the program, and writes the times into RECORD.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

_PATIENCE_S = 5.0
"""Time after the program's start for which a probe still waits for the far end to listen."""
_TO_END_S = 1.0
"""Time that the program has to end after its SIGTERM."""
PORT = 47_001
"""The port of the far end; fixed, since each link has a network of its own."""
_FAR = "100.64.0.1"


class Spec(TypedDict):
    """The task of the near end, with times in seconds after its start."""

    probes: int
    pause_s: float
    """The time between a response and the next request."""
    start_s: float
    """The start of the program."""
    end_s: float
    """The time at which the program is ended, if it still runs."""
    quiet: bool
    """Whether the program prints on standard error only."""


class Record(TypedDict):
    """The measurements of the near end, with times in seconds after its start."""

    began_s: float
    """Its start, in seconds since 1970."""
    end_s: float
    """The end of the program."""
    code: int
    """The exit code of the program, 0 if it was ended; 128 + n after signal n."""
    error: str
    """The reason why the program did not start; empty if it did."""
    responses: list[tuple[float, float, int]]
    """Start and end of each response, and the number of its connection."""


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while await reader.read(1):
            writer.write(b"!")
            await writer.drain()


async def _far() -> None:
    server = await asyncio.start_server(_answer, _FAR, PORT)
    await server.serve_forever()


async def _probe(
    number: int, spec: Spec, zero: float, responses: list[tuple[float, float, int]]
) -> None:
    await asyncio.sleep(spec["pause_s"] * number / spec["probes"])
    while True:
        try:
            reader, writer = await asyncio.open_connection(_FAR, PORT)
            break
        except ConnectionRefusedError:  # the far end has not begun to listen
            if time.monotonic() - zero > spec["start_s"] + _PATIENCE_S:
                raise
            await asyncio.sleep(0.02)
    while True:
        asked = time.monotonic()
        writer.write(b"?")
        await reader.readexactly(1)
        responses.append((asked - zero, time.monotonic() - zero, number))
        await asyncio.sleep(spec["pause_s"])


async def _near(spec: Spec, program: list[str]) -> Record:
    began, zero = time.time(), time.monotonic()
    responses: list[tuple[float, float, int]] = []
    probes = [
        asyncio.create_task(_probe(number, spec, zero, responses))
        for number in range(spec["probes"])
    ]
    await asyncio.sleep(spec["start_s"])
    code, error = 0, ""
    try:
        running = await asyncio.create_subprocess_exec(
            *program, stdout=sys.stderr if spec["quiet"] else None
        )
    except OSError as problem:
        code, error = 127, f"{program[0]}: {problem.strerror}"
    else:
        with suppress(TimeoutError):
            code = await asyncio.wait_for(running.wait(), spec["end_s"] - spec["start_s"])
        if running.returncode is None:
            running.send_signal(signal.SIGTERM)
    end = time.monotonic() - zero
    if not error and running.returncode is None:
        # The loop must see its end: asyncio's thread that waits for it complains about a closed loop.
        try:
            await asyncio.wait_for(running.wait(), _TO_END_S)
        except TimeoutError:
            running.kill()
            await running.wait()
    for each in probes:
        each.cancel()
    failed = [
        str(each)
        for each in await asyncio.gather(*probes, return_exceptions=True)
        if isinstance(each, Exception)
    ]
    return {
        "began_s": began,
        "end_s": end,
        "code": 128 - code if code < 0 else code,
        "error": error or "; ".join(failed[:1]),
        "responses": responses,
    }


def main(words: list[str]) -> int:
    """Runs one of the ends; returns the exit code of the program."""
    if words == ["far"]:
        asyncio.run(_far())
        return 0
    file, spec, *program = words[1:]
    record = asyncio.run(_near(json.loads(spec), program))
    aside = Path(f"{file}.new")
    aside.write_text(json.dumps(record), encoding="utf-8")
    aside.replace(file)
    return record["code"]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
