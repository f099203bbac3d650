"""The one door through which kept files are written: complete and durable, or not at all, also when power is lost.

A file that was written, but not synchronized, may be empty, cut or full of zeros after a loss of power; a name that
was made, changed or deleted, but whose directory was not synchronized, may be as before. So `put` and `place` do both,
in this order, and a caller may rely on it: the earlier of two files is there if the later one is.

`tests/python/robust/test_disk.py` fails if another module writes files itself. `tests/python/faulty_disk.py` takes
the place of `os` and `time` here, and fails on a schedule.
"""

# ruff: noqa: PTH102, PTH104, PTH105, PTH106, PTH108, PTH118
# (The tests take the place of `os` here.)

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager, suppress
from io import RawIOBase
from typing import TYPE_CHECKING, BinaryIO, Self

try:
    import fcntl
except ImportError:  # not on this system
    _CAN_LOCK = False
else:
    _CAN_LOCK = True

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from _typeshed import ReadableBuffer as Buffer

_BINARY = getattr(os, "O_BINARY", 0)  # on Windows
_SYNC_S = 1.0
"""Seconds of appended lines that a loss of power may cost."""


def now() -> float:
    """Returns the time of the clock, which may go back, in seconds since 1970."""
    return time.time()


if TYPE_CHECKING:

    class _Base(RawIOBase, BinaryIO):
        """The type that functions accept which write into a file."""
else:
    _Base = RawIOBase


class NewFile(_Base):
    """A file that is being written; an existing one is emptied.

    Attributes:
        error: The exception of the first write that failed. Libraries that write replace it by one of their own.
    """

    def __init__(self, file: Path, mode: int = 0o666, flags: int = os.O_TRUNC) -> None:
        """Opens the file.

        Raises:
            OSError: When it can't be opened.
        """
        self._path = file
        self.error: BaseException | None = None
        self._handle = -1
        self._handle = os.open(file, os.O_WRONLY | os.O_CREAT | flags | _BINARY, mode)

    def writable(self) -> bool:
        """Returns whether the file can be written."""
        return True

    def write(self, data: Buffer, /) -> int:
        """Writes all of the data.

        Raises:
            OSError: When it can't be written.
            ValueError: When it is closed, since its number may be that of another file now.
        """
        if self.closed:
            raise ValueError("write to a closed file")
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            with _naming(self._path):
                while left:
                    left = left[os.write(self._handle, left) :]
        except BaseException as error:
            self.error = self.error or error
            raise
        return size

    def sync(self, *, name: bool = False) -> None:
        """Makes the contents durable, and on demand also the file's name, unless it is to be renamed.

        Raises:
            OSError: When they could not be written.
        """
        with _naming(self._path):
            os.fsync(self._handle)
        if name:
            _sync(self._path.parent)

    def close(self) -> None:
        """Closes the file."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)
        super().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if isinstance(error, Exception) and self.error is not None and self.error is not error:
            raise self.error from error


def write(file: Path, data: str | Buffer) -> None:
    """Writes a file of a directory that :func:`place` will make visible and durable.

    Raises:
        OSError: When it can't be written.
    """
    with NewFile(file) as out:
        out.write(data.encode() if isinstance(data, str) else data)


def put(file: Path, data: str | Buffer) -> None:
    """Writes or replaces a file as :func:`replacing` does.

    Raises:
        OSError: When it can't be written.
    """
    with replacing(file) as out:
        out.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def replacing(file: Path) -> Iterator[NewFile]:
    """Yields a file that replaces `file` when the block succeeds, durably: at any time it is the old or the new one.

    Raises:
        OSError: When it can't be written.
    """
    aside = file.with_name(f".{file.name}")
    try:
        with NewFile(aside) as out:
            yield out
            out.sync()
        _rename(aside, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(aside)
        raise


def create(file: Path, data: str, mode: int) -> None:
    """Writes a file that must not exist yet, durably, with permissions.

    Raises:
        FileExistsError: When it exists.
        OSError: When it can't be written.
    """
    with NewFile(file, mode, os.O_EXCL) as out:
        try:
            out.write(data.encode())
            out.sync()
            _sync(file.parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(file)
            raise


class Lines:
    """A file to which lines are added, whose last second may be lost with the power."""

    def __init__(self, file: Path) -> None:
        """Opens or makes the file.

        Raises:
            OSError: When it can't be written.
        """
        self._file = NewFile(file, flags=os.O_APPEND)
        self._synced = float("-inf")
        self._file.sync(name=True)

    def add(self, line: str) -> None:
        """Adds a line.

        Raises:
            OSError: When it can't be written; a part of the line may be there.
        """
        self._file.write(f"{line}\n".encode())
        if time.monotonic() - self._synced >= _SYNC_S:
            self._file.sync()
            self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def place(aside: Path, final: Path) -> None:
    """Renames a file or directory, with all that is in it, and makes it durable. An existing file is replaced.

    Raises:
        OSError: When it can't be written.
    """
    if aside.is_dir():
        for folder, _, names in os.walk(aside):
            for name in names:
                _sync(aside.__class__(folder, name))
            _sync(aside.__class__(folder))
    else:
        _sync(aside)
    _rename(aside, final)


def make_folder(folder: Path) -> bool:
    """Makes a directory with its parents, unless it exists, durably; returns whether it did.

    Raises:
        OSError: When it can't be made.
    """
    made = False
    for each in reversed([folder, *folder.parents]):
        if not each.is_dir():
            with suppress(FileExistsError):  # another process has made it
                os.mkdir(each)
                made = True
            _sync(each.parent)
    return made


def link_folder(folder: Path, to: Path) -> None:
    """Puts the files of a directory and its folders into another one, as links, or copies where there are no links.

    Raises:
        OSError: When they can't be written.
    """
    make_folder(to)
    for each in sorted(folder.iterdir()):
        if each.is_dir():
            link_folder(each, to / each.name)
        else:
            _link(each, to / each.name)


def copy(file: Path, to: Path) -> None:
    """Copies a file into a directory that :func:`place` will make visible and durable.

    Raises:
        OSError: When it can't be read or written.
    """
    with file.open("rb") as source, NewFile(to) as out:
        while piece := source.read(1 << 20):
            out.write(piece)


def _link(file: Path, to: Path) -> None:
    try:
        os.link(file, to)
    except OSError:  # not on this file system
        copy(file, to)


def remove(file: Path) -> None:
    """Deletes a file, durably, unless it is gone already.

    Raises:
        OSError: When it can't be deleted.
    """
    with suppress(FileNotFoundError):
        os.unlink(file)
        _sync(file.parent)


def remove_folder(folder: Path) -> None:
    """Deletes a directory with its contents, as far as possible."""
    with suppress(OSError):
        for place, folders, names in os.walk(folder, topdown=False):
            for name in names:
                os.unlink(os.path.join(place, name))
            for name in folders:
                os.rmdir(os.path.join(place, name))
        os.rmdir(folder)


@contextmanager
def hidden(final: Path, *, folder: bool) -> Iterator[Path]:
    """Makes an empty file or directory next to `final`, to be filled and placed; deletes it in the end.

    Those of killed processes are deleted, too: they are not locked.

    Raises:
        OSError: When it can't be made.
    """
    name = re.compile(rf"\.{re.escape(final.name)}\.[0-9a-f]{{8}}")
    for old in final.parent.iterdir() if final.parent.is_dir() else ():
        if _CAN_LOCK and name.fullmatch(old.name):
            with suppress(OSError), _locked(old):
                _delete(old)
    aside = final.with_name(f".{final.name}.{os.urandom(4).hex()}")
    if folder:
        os.mkdir(aside)
    else:
        NewFile(aside).close()
    try:
        with _locked(aside):
            yield aside
    finally:
        _delete(aside)


def _delete(path: Path) -> None:
    if path.is_dir():
        remove_folder(path)
    else:
        with suppress(OSError):
            os.unlink(path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Locks a file or directory while its process lives.

    Raises:
        OSError: When another process has.
    """
    if not _CAN_LOCK:
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """Makes an empty directory, and deletes it in the end; one of a killed process is deleted first."""
    remove_folder(folder)
    os.mkdir(folder)
    try:
        yield folder
    finally:
        remove_folder(folder)


def _rename(aside: Path, final: Path) -> None:
    if aside.is_dir():
        os.rename(aside, final)
    else:
        os.replace(aside, final)
    _sync(final.parent)
    if aside.parent != final.parent:
        _sync(aside.parent)


def _sync(path: Path) -> None:
    """Makes the contents of a file durable, or the names in a directory."""
    if os.name == "nt":  # which has no such call for directories
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        with _naming(path):
            os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Adds the name of the file to an error that lacks it."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(file)
        raise
