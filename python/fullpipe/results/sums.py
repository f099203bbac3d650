"""Checksums of kept files: SHA-256, which shows that a file has changed since it was written.

A checksum is in one of three places:

- a shard, a file of a directory that grows, has the first 16 hexadecimal digits at the end of its name;
- a directory that appears at once has the file `SHA256SUMS`, which `sha256sum --check` reads, in each of its folders;
- a JSON file that changes has the entry `checksum`, over its text without that entry (`write_json`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe.errors import DamagedError
from fullpipe.results import disk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

SUMS = "SHA256SUMS"
_DIGITS = 16
_SHARD = re.compile(rf".+-([0-9a-f]{{{_DIGITS}}})\.\w+", re.DOTALL)
_LINE = re.compile(r"([0-9a-f]{64})  ([^\n]+)")
_ENTRY = "checksum"
AGAIN = "run the command that made it again; it makes the damaged part again"
_ANEW = f"make the results again in a new directory, or restore the file; {SUMS} has its checksum"

_found_whole: dict[str, tuple[int, int, int]] = {}
"""Files whose checksum was found right, with device, size and time of their last change."""


def in_name(data: bytes | memoryview) -> str:
    """Returns the part of a shard's name for its contents."""
    return hashlib.sha256(data).hexdigest()[:_DIGITS]


def stem(shard: Path) -> str:
    """Returns the name of a shard without its checksum and suffix."""
    return shard.stem[: -_DIGITS - 1]


def is_shard(file: Path) -> bool:
    """Returns whether a file has its checksum in its name."""
    return not file.name.startswith(".") and _SHARD.fullmatch(file.name) is not None


def is_whole(file: Path) -> bool:
    """Returns whether a file is there, and as it was written."""
    try:
        check(file)
    except (DamagedError, FileNotFoundError):
        return False
    return True


def is_whole_directory(directory: Path) -> bool:
    """Returns whether a directory that appeared at once is there, and all of its files are as they were written."""
    try:
        names = _sums(directory)
        return bool(names) and all(is_whole(directory / name) for name in names)
    except DamagedError:
        return False


def damaged(directory: Path) -> Iterator[DamagedError]:
    """Yields an error for each file of a directory and its folders that is missing, or not as it was written.

    Raises:
        OSError: When one can't be read.
    """
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        place = Path(folder)
        try:
            listed = _sums(place)
        except DamagedError as error:
            yield error
            continue
        for name in sorted({*listed, *(each for each in names if is_shard(place / each))}):
            try:
                if is_there(place / name):
                    check(place / name)
            except DamagedError as error:
                yield error


def check(file: Path) -> bool:
    """Compares a file with its checksum; returns whether it has one.

    Raises:
        DamagedError: When they differ, or the file has no checksum and its neighbors have.
        OSError: When it can't be read.
    """
    shard = _SHARD.fullmatch(file.name)
    if shard is None and not (file.parent / SUMS).exists():
        return False
    state = _state(file)
    if _found_whole.get(str(file)) != state:
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if digest != (expected := shard[1] if shard else _listed(file)) and not (
            shard and digest.startswith(expected)
        ):
            fix = AGAIN if shard else _ANEW
            raise DamagedError(f"{file}: damaged: its checksum is another\n  fix: {fix}")
        _found_whole[str(file)] = state
    return True


def is_there(file: Path) -> bool:
    """Returns whether an optional file exists.

    Raises:
        DamagedError: When it does not, but was written.
    """
    if file.is_file():
        return True
    if file.name in _sums(file.parent):
        raise DamagedError(f"{file}: missing\n  fix: {_ANEW}")
    return False


def write_sums(directory: Path, but: Collection[str] = ()) -> None:
    """Writes the checksums of all files in a directory and its folders, except for shards, hidden files and `but`.

    Raises:
        OSError: When they can't be written.
    """
    for folder, _, names in os.walk(directory):
        place, lines = Path(folder), []
        for name in sorted(names):
            file = place / name
            if name.startswith(".") or is_shard(file) or name in (*but, SUMS):
                continue
            with file.open("rb") as content:
                lines.append(f"{hashlib.file_digest(content, 'sha256').hexdigest()}  {name}\n")
        if lines and SUMS not in names:
            disk.write(place / SUMS, "".join(lines))


def _state(file: Path) -> tuple[int, int, int]:
    now = file.stat()
    return now.st_ino, now.st_size, now.st_mtime_ns


def _listed(file: Path) -> str:
    sums = _sums(file.parent)
    if file.name not in sums:
        raise DamagedError(
            f"{file}: {file.parent / SUMS} does not have its checksum\n  fix: {_ANEW}"
        )
    return sums[file.name]


def _sums(folder: Path) -> dict[str, str]:
    """Returns the checksums in a folder by name; empty without any."""
    file = folder / SUMS
    if not file.exists():
        return {}
    lines = file.read_bytes().decode("utf-8", "replace").splitlines()
    found = [_LINE.fullmatch(line) for line in lines]
    if not all(found):
        raise DamagedError(
            f"{file}: damaged\n  fix: restore it, or delete it to read the files without a check"
        )
    return {each[2]: each[1] for each in found if each}


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replaces a file atomically: at any time it has its old or its new contents, with their checksum.

    Raises:
        OSError: When it can't be written.
    """
    text = json.dumps({**value, _ENTRY: _of_json(value)}, indent=1, ensure_ascii=False)
    disk.put(path, f"{text}\n")


def without_checksum(file: Path, value: dict[str, Any]) -> dict[str, Any]:
    """Compares the contents of a file that `write_json` wrote with their checksum, and returns them without it.

    Raises:
        DamagedError: When they differ.
    """
    rest = {key: each for key, each in value.items() if key != _ENTRY}
    if value.get(_ENTRY) != _of_json(rest):
        raise DamagedError(f"{file}: damaged: its checksum is another\n  fix: {AGAIN}")
    return rest


def _of_json(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
