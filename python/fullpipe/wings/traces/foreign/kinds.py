"""Recognizes the kind of a file by its content, and reads its flows."""

from __future__ import annotations

import io
import itertools
import json
import re
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from fullpipe import _core
from fullpipe.base.bounded import TooLargeError, Weight
from fullpipe.wings.traces.foreign import (
    capture,
    connections,
    flent,
    formats,
    iperf3,
    kernel,
    qlog,
    ss,
)
from fullpipe.wings.traces.foreign.flow import Flow, ForeignError, unlike

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _typeshed import WriteableBuffer

    from fullpipe.results.total import Total

MOST_BYTES = 1 << 30
"""The largest file, decompressed."""
_LONGEST = 1 << 24
"""The longest line of records and listings, bytes."""
_SPACE = "\x1e \r\n\t\ufeff"
_DECODER = json.JSONDecoder()
_OBJECT = re.compile(r"[\s\x1e]*\{")
_NOT_A_NUMBER = re.compile(r'("(?:[^"\\]|\\.)*")|-?\b(?:nan|inf|infinity)\b(?:\(ind\))?', re.I)
STEP_S = 0.1
"""The usual time between the rows of a capture, seconds."""


class Read(NamedTuple):
    """The flows of a file, its kind, and what could not be read."""

    kind: str
    flows: list[Flow]
    warnings: list[str]
    total: Total | None = None
    """Sums over all flows of a capture; `flows` has the largest."""


def read(path: Path, command: str, *, step: float = STEP_S, exact: bool = False) -> Read:
    """Reads a file.

    Args:
        path: The file.
        command: The command that reads it, for refusals.
        step: The time in seconds between the rows of a capture.
        exact: Whether the time of a row of a capture is that of its last packet.

    Raises:
        ForeignError: When its kind is not known, or one that other commands read, or it is damaged.
        OSError: When it can't be read.
    """
    warnings: list[str] = []
    name = str(path)
    formats.refuse_stream(path)
    with io.BufferedReader(_Content(path, warnings), formats.HEAD) as content:
        head = content.peek(formats.HEAD)
        of = formats.recognized(head)
        formats.refuse(path, of, command)
        match of and of.name:
            case "capture":
                return _some(_of_capture(path, step=step, exact=exact), name)
            case "ss":
                return _some(Read("ss", *ss.flows(path, MOST_BYTES)), name)
        begin = _text(head).removeprefix("\ufeff")
        found = re.search(r"(?:\A|^)[\s\x1e]*\{", begin, re.MULTILINE)
        if found:
            before = begin[: found.start()]
            if before:
                count = before.count("\n")
                warnings.append(
                    f"{name}: {count} line{'s' if count > 1 else ''} before the JSON left out"
                )
                content.read(len(before.encode()))
            return _some(_of_text(content, begin[found.start() :], name, warnings), name)
    raise _unknown(name)


class _Content(io.RawIOBase):
    """The content of a file, decompressed. Its end is where the compression is damaged."""

    def __init__(self, path: Path, warnings: list[str]) -> None:
        super().__init__()
        self._content = _core.Content(path)
        self._path, self._warnings, self._size = path, warnings, 0
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if not self._rest:
            self._rest = memoryview(self._next())
        part = self._rest[: len(memoryview(buffer))]
        self._rest = self._rest[len(part) :]
        memoryview(buffer)[: len(part)] = part
        return len(part)

    def _next(self) -> bytes:
        try:
            piece = self._content.next() or b""
        except OSError as error:
            if error.errno is not None:
                raise
            self._warnings.append(f"{self._path}: cut off or damaged: {error}")
            return b""
        self._size += len(piece)
        if self._size > MOST_BYTES:
            raise ForeignError(
                f"{self._path}: more than {MOST_BYTES >> 30} GiB\n  fix: name a shorter measurement"
            )
        return piece


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _lines(content: BinaryIO, name: str) -> Iterator[bytes]:
    while line := content.readline(_LONGEST):
        if len(line) == _LONGEST:
            raise ForeignError(
                f"{name}: a line of more than {_LONGEST >> 20} MiB\n  fix: name another file"
            )
        yield line


def _of_capture(path: Path, *, step: float, exact: bool) -> Read:
    notes = capture.Notes()
    packets = capture.segments(path, notes=notes, most=MOST_BYTES)
    found, total = connections.connections(packets, step=step, exact=exact)
    damage = f"; {notes.damage}" if notes.damage else ""
    if not found and notes.unknown:
        said = ", ".join(f"{count:,} of {what}" for what, count in notes.unknown[:3])
        raise ForeignError(
            f"{path}: no flow with data in its packets of IP; {said} are not understood{damage}\n"
            "  fix: capture in front of the tunnel, or name a longer measurement"
        )
    if not found:
        raise ForeignError(f"{path}: no flow with data{damage}\n  fix: name a longer measurement")
    warnings = [f"{path}: {notes.damage}"] if notes.damage else []
    if notes.untimed:
        warnings.append(f"{path}: {notes.untimed:,} packets have no time: no rates, no RTTs")
        found = [connections.untimed(flow) for flow in found]
    return Read("capture", found, warnings, total)


def _of_text(content: io.BufferedReader[Any], begin: str, name: str, warnings: list[str]) -> Read:
    """Reads JSON: one object, or records that are separated by 0x1E (RFC 7464) or line ends."""
    separated = "\x1e" in begin
    records = _records(content, name) if separated else _lines(content, name)
    first = next(records, b"") if separated else content.readline(_LONGEST)
    whole_line = first.endswith(b"\n") and content.peek(1)
    value = _parsed(_text(first).strip(_SPACE), name) if separated or whole_line else None
    texts = (_text(record).strip(_SPACE) for record in itertools.chain([first], records))
    if value is not None and kernel.is_row(value):
        found, told = kernel.flows(texts, name)
        return Read("kernel", found, [*warnings, *told])
    if value is not None and iperf3.is_event(value):
        return _of_json([each for text in texts if (each := _parsed(text, name))], name, warnings)
    if value is not None and qlog.is_qlog(value) and "traces" not in value:
        found, bad = qlog.records(texts, name)
        if bad:
            warnings.append(f"{name}: {bad} records could not be read")
        return Read("qlog", found, warnings)
    weight, parts = _Weight(name), []
    for part in itertools.chain([first], records if separated else _pieces(content)):
        weight.add(part)
        parts.append(part)
    text = _text(b"".join(parts)).removeprefix("\ufeff")
    values, problem = _values(text, name)
    if not values:
        if (cut := qlog.of_cut(text)) is not None:
            lost = f"{name}: cut off: the end of the file, after the last whole event, is left out"
            return Read("qlog", qlog.flows(cut, name), [*warnings, lost])
        raise ForeignError(
            f"{name}: damaged: not a whole JSON object: {problem}\n"
            "  fix: correct it there; if its end is missing, fetch or measure it again"
        )
    if problem:
        warnings.append(f"{name}: text between or behind JSON objects is left out: {problem}")
    return _of_json(values, name, warnings)


def _pieces(content: BinaryIO) -> Iterator[bytes]:
    while part := content.read(1 << 20):
        yield part


def _records(content: BinaryIO, name: str) -> Iterator[bytes]:
    """Yields the texts between bytes 0x1E."""
    rest, weight = b"", _Weight(name)
    for part in _pieces(content):
        *whole, last = part.split(b"\x1e")
        for record in whole:
            if (rest + record).strip():
                yield rest + record
            rest, weight = b"", _Weight(name)
        weight.add(last)
        rest += last
    if rest.strip():
        yield rest


class _Weight(Weight):
    """The weight of a file's JSON, with its name in the error."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def add(self, part: bytes) -> None:
        """Adds a part.

        Raises:
            ForeignError: When that is too much.
        """
        try:
            super().add(part)
        except TooLargeError as error:
            raise ForeignError(
                f"{self._name}: {error}\n  fix: name a shorter measurement"
            ) from None


def _parsed(text: str, name: str) -> dict[str, Any] | None:
    _Weight(name).add(text.encode())
    values, problem = _values(text, name)
    return values[0] if values and not problem else None


def _values(text: str, name: str) -> tuple[list[dict[str, Any]], str]:
    """Returns the JSON objects of a text, and the first problem among them."""
    values: list[dict[str, Any]] = []
    problem, at, mendable = "", 0, True
    while begun := _OBJECT.search(text, at):
        if text[at : begun.start()].strip(_SPACE):
            problem = problem or "it is no JSON"
        try:
            value, at = _DECODER.raw_decode(text, begun.end() - 1)
        except (ValueError, RecursionError) as error:
            # iperf3 writes -nan where it divides by zero.
            if mendable and isinstance(error, ValueError):
                mendable = False
                mended = _NOT_A_NUMBER.sub(lambda found: found[1] or "null", text)
                if mended != text:
                    text, values, problem, at = mended, [], "", 0
                    continue
            problem = problem or str(error)
            break
        values.append(value)
    if values and not problem and text[at:].strip(_SPACE):
        problem = "it is no JSON"
    return values, problem


def _of_json(values: list[dict[str, Any]], name: str, warnings: list[str]) -> Read:
    first = values[0]
    if iperf3.is_event(first):
        values = [iperf3.of_events([value for value in values if iperf3.is_event(value)])]
    if iperf3.is_iperf3(values[0]):  # a server writes an object for each test
        found = []
        for value in values:
            if iperf3.is_iperf3(value):
                flows, told = iperf3.flows(value, name)
                found += flows
                warnings += told
        return Read("iperf3", found, warnings)
    if kernel.is_row(first):
        found, told = kernel.flows((json.dumps(value) for value in values), name)
        return Read("kernel", found, [*warnings, *told])
    if flent.is_flent(first):
        return Read("flent", flent.flows(first, name), warnings)
    if qlog.is_qlog(first):
        if "traces" not in first:  # records on several lines, without 0x1E
            texts = (json.dumps(value) for value in values)
            return Read("qlog", qlog.records(texts, name)[0], warnings)
        return Read("qlog", qlog.flows(first, name), warnings)
    raise _unknown(name)


def _some(found: Read, name: str) -> Read:
    if not found.flows:
        raise ForeignError(f"{name}: no flow with data\n  fix: name a longer measurement")
    for flow in found.flows:
        for text in (flow.name, flow.cc, *(state for _, state in flow.changes)):
            if not text.isprintable() and re.search("[\ud800-\udfff]", text):
                raise ForeignError(
                    f"{name}: a name has half of a surrogate pair, which is no character: {text!a}\n"
                    "  fix: correct this escape in the file"
                )
    unlike(found.flows)
    return found


def _unknown(name: str) -> ForeignError:
    kinds = "; ".join(
        each.what for each in formats.FORMATS.values() if formats.TRACE[0] in each.readers
    )
    return ForeignError(
        f"{name}: of no kind that can be imported\n  fix: name one of these: {kinds}"
    )
