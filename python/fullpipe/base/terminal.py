"""Output of the commands: control characters in a user's texts are printed as escapes, and the streams may be closed.

A title, a file's name or a bad line may have characters that a terminal obeys (ESC), or that reverse or break a line.
`open_streams` escapes them in everything that is printed, and :func:`console` in what rich prints.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from fullpipe.errors import Exit

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.measure import Measurement

# C0 but for tab and line feed, DEL and C1; line and paragraph separators; the marks, embeddings, overrides and isolates
# of UAX #9; surrogates, which stand for bytes of a file's name that are no UTF-8.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""Returns a text with escapes, like `\x1b`, for the characters that would change the rest of the output."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def console(*, stderr: bool = False) -> Console:
    """Returns a console of rich on standard output or error, without colors for numbers, that escapes texts."""
    from rich.console import Console
    from rich.measure import Measurement
    from rich.segment import Segment

    class Escaped:
        def __init__(self, renderable: RenderableType) -> None:
            self._renderable = renderable

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for segment in console.render(self._renderable, options):
                if segment.control:
                    yield segment
                else:
                    yield Segment(printable(segment.text), segment.style)

        def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
            return Measurement.get(console, options, self._renderable)

    class Escaping:
        def process_renderables(self, renderables: list[Any]) -> list[Any]:
            return [Escaped(each) for each in renderables]

    stream = sys.stderr if stderr else sys.stdout
    made = Console(file=getattr(stream, "rich_proxied_file", stream), highlight=False)
    made.push_render_hook(Escaping())  # type: ignore[arg-type]  # the protocol of RenderHook
    return made


def open_streams() -> None:
    """Prepares the standard streams of a command.

    A closed one is opened on the null device, so that no file gets its number. Both outputs escape texts, and the
    characters that their encoding lacks. A message that can't be written to standard error is lost, and the command
    goes on.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115  (until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = cast("TextIO", _Escaping(sys.stdout or _on_null()))
    sys.stderr = cast("TextIO", _Quiet(sys.stderr or _on_null()))


_aside: list[int] = []
"""A copy of standard output, while it is standard error."""


def set_aside() -> None:
    """Keeps standard output for :func:`print_alone`: whatever a user's class prints goes to standard error.

    Also what a library of it, or a process that it starts, writes without Python.
    """
    if Exit.alone and not _aside:
        sys.stdout.flush()
        _aside.append(os.dup(1))
        os.dup2(2, 1)


def print_alone(text: str) -> None:
    """Prints what a command was asked to have alone on standard output, like JSON."""
    if _aside:
        sys.stdout.flush()
        os.dup2(_aside[0], 1)
        os.close(_aside.pop())
    print(text)


def _on_null() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123  (until the process ends)


class _Escaping:
    """A stream that escapes the text written to it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        # A console writes here itself: it escapes texts, but not its own controls.
        self.rich_proxied_file: IO[str] = stream

    def write(self, text: str) -> int:
        self._stream.write(printable(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever a stream has)
        return getattr(self._stream, name)


class _Quiet(_Escaping):
    """Standard error, which may not be writable: on a full disk, for example."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()
