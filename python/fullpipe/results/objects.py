"""Results in an object store, by URL: `s3://bucket/prefix`.

A directory in the user's cache has the same files. Commands read and write that directory; :func:`fetched` makes it
equal to the store, and :class:`Mirror` makes the store equal to it. An object appears whole or not at all, and those
that name others (`*.json`) appear after them, and go before them. Hidden files stay on this machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe.errors import UserError, how_to_add
from fullpipe.results.files import fresh_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SCHEMES = ("s3://", "gs://", "az://")
_LEASE = ".writer"
_RENEW_S = 5.0
_STALE_S = 30.0
"""A lease that has not changed for so long is that of a process that was killed."""
_PUSH_S = 1.0
_AT_A_TIME = 16

State = tuple[int, int, int]

_URLS: dict[Path, str] = {}
"""The URLs of this process's copies."""


class ObjectsError(UserError):
    """The object store refuses, or can't be reached; the text has the URL and the fix."""


def is_url(text: str | os.PathLike[str]) -> bool:
    """Returns whether a text is the URL of an object store."""
    return str(text).startswith(SCHEMES)


def local(place: str | os.PathLike[str]) -> Path:
    """Returns the directory of results: for a URL a copy in the user's cache, made equal to the store.

    Raises:
        ObjectsError: When the store can't be read, or has nothing there.
    """
    if not is_url(place):
        return Path(place)
    store = _Store(str(place))
    directory = _copy_of(store.url) / "read"
    _URLS[directory] = store.url
    if not _fetch(store, directory):
        raise ObjectsError(f"{store.url}: no objects there\n  fix: name the URL given to --out")
    return directory


def called(place: str | os.PathLike[str]) -> str:
    """Returns the name of a place of results for users: a path, or the URL if it is in a copy of a store."""
    path = Path(place)
    for copy in (path, *path.parents):
        if copy in _URLS:
            return "/".join([_URLS[copy], *path.relative_to(copy).parts])
    return str(place)


class Mirror:
    """A store that this process adds to.

    Attributes:
        directory: The directory to change.
    """

    def __init__(self, store: _Store, lease: _Lease) -> None:
        self._store, self._lease = store, lease
        # Not the one for reading, since a reader of this machine would delete files that are not pushed yet.
        self.directory = _copy_of(store.url) / "write"
        _URLS[self.directory] = store.url
        _fetch(store, self.directory)
        self._pushed = {name: _state(file) for name, file in _files(self.directory)}
        self._next = 0.0

    def push(self, *, now: bool = False) -> None:
        """Makes the store equal to the directory; without `now` only if the last time is a second ago.

        Raises:
            ObjectsError: When the store can't be written, or another process writes there.
        """
        began = time.monotonic()
        if not now and began < self._next:
            return
        self._lease.check()
        files = dict(_files(self.directory))
        states = {name: _state(file) for name, file in files.items()}
        gone = [name for name in self._pushed if name not in states]
        new = [name for name, state in states.items() if self._pushed.get(name) != state]
        for step, names in (
            (self._delete, [name for name in gone if _names_others(name)]),
            (self._put, [name for name in new if not _names_others(name)]),
            (self._put, [name for name in new if _names_others(name)]),
            (self._delete, [name for name in gone if not _names_others(name)]),
        ):
            _at_once(step, names)
        # A large directory takes long to look at: at most a fifth of the time is spent here.
        self._next = time.monotonic() + max(_PUSH_S, 4 * (time.monotonic() - began))

    def _put(self, name: str) -> None:
        file = self.directory / name
        state = _state(file)
        self._store.put(name, file.read_bytes())
        self._pushed[name] = state

    def _delete(self, name: str) -> None:
        self._store.delete(name)
        del self._pushed[name]


@contextmanager
def writable(place: str | os.PathLike[str]) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Yields the directory to change, and a function to call now and then, which brings changes to the store of a URL.

    At the end of the block, also after an error, the store has all of it.

    Raises:
        ObjectsError: When the store can't be read or written.
        BlockingIOError: When another process adds to it.
    """
    if not is_url(place):
        yield Path(place), lambda: None
        return
    store = _Store(str(place))
    with _Lease(store) as lease:
        mirror = Mirror(store, lease)
        try:
            yield mirror.directory, mirror.push
        finally:
            mirror.push(now=True)


@contextmanager
def fresh(place: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary directory that becomes a new directory, or the objects of a URL, when the block succeeds.

    Raises:
        ObjectsError: When the store can't be read or written.
        BlockingIOError: When another process adds to it.
        FileExistsError: When it has anything already.
        OSError: When it can't be written.
    """
    with (
        writable(place) as (directory, _),
        fresh_directory(directory, called=f"--out {place}") as aside,
    ):
        yield aside


class _Store:
    """An object store, with its errors in words."""

    def __init__(self, url: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError:
            raise ObjectsError(
                f"{url}: a URL needs obstore, which is an extra\n  fix: {how_to_add('cloud')}"
            ) from None
        self.url = url.rstrip("/")
        self._obstore: Any = obstore
        patience: Any = {"max_retries": 4, "retry_timeout": timedelta(seconds=30)}
        with self._words():
            self._store: Any = from_url(self.url, retry_config=patience)

    def put(self, name: str, content: bytes, mode: str | dict[str, str] = "overwrite") -> str:
        """Writes an object; returns its version.

        Raises:
            FileExistsError: When `mode` is "create", or names a version, and there is another one.
        """
        with self._words():
            try:
                whole = {} if mode == "overwrite" else {"use_multipart": False}
                done = self._obstore.put(self._store, name, content, mode=mode, **whole)
            except (
                self._obstore.exceptions.AlreadyExistsError,
                self._obstore.exceptions.PreconditionError,
            ) as error:
                raise FileExistsError(f"{self.url}/{name}") from error
        return str(done["e_tag"])

    def get(self, name: str) -> tuple[bytes, str]:
        """Returns contents and version of an object."""
        with self._words():
            found = self._obstore.get(self._store, name)
            return bytes(found.bytes()), str(found.meta["e_tag"])

    def delete(self, name: str) -> None:
        with self._words(), suppress(FileNotFoundError):
            self._obstore.delete(self._store, name)

    def versions(self) -> dict[str, str]:
        """Returns the versions of all objects by name."""
        with self._words():
            return {
                each["path"]: str(each["e_tag"])
                for some in self._obstore.list(self._store)
                for each in some
                if not _is_hidden(each["path"])
            }

    @contextmanager
    def _words(self) -> Iterator[None]:
        """Raises an error with the URL, the reason and a fix."""
        try:
            yield
        except (FileExistsError, ObjectsError):
            raise
        except (self._obstore.exceptions.BaseError, OSError) as error:
            text = str(error)
            reasons = (
                ("NoSuchBucket", "no such bucket", "make it, or correct the URL"),
                ("latest/api/token", "no credentials", _CREDENTIALS),
                ("Unauthenticated", "the credentials are refused", _CREDENTIALS),
                ("403 Forbidden", "no permission", _CREDENTIALS),
                ("401 Unauthorized", "the credentials are refused", _CREDENTIALS),
                ("Unable to recognise URL", "not a URL", "write s3://BUCKET/PREFIX"),
            )
            for part, problem, fix in reasons:
                if part in text:
                    raise ObjectsError(f"{self.url}: {problem}\n  fix: {fix}") from error
            if isinstance(error, FileNotFoundError):
                raise
            said = text.partition("\n")[0].partition("<?xml")[0].strip()
            raise ObjectsError(
                f"{self.url}: {said}\n  fix: see the store's documentation; for S3 of another provider,"
                " AWS_ENDPOINT_URL has its address"
            ) from error


_CREDENTIALS = "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_DEFAULT_REGION, or those of the store's provider"


class _Lease:
    """Keeps other processes from adding to the same objects: an object that its owner renews."""

    def __init__(self, store: _Store) -> None:
        self._store = store
        self._name = f"{_machine() or '?'} {os.getpid()}"
        self._version, self._renewed, self._lost = "", 0.0, False
        self._end = threading.Event()

    def check(self) -> None:
        """Raises an error if another process has taken the lease.

        Raises:
            BlockingIOError: When it has.
        """
        if self._lost or time.monotonic() - self._renewed > _STALE_S - _RENEW_S:
            raise BlockingIOError(
                f"{self._store.url}: this process could not reach it in time, and another one may add to it now\n"
                "  fix: run the same command again"
            )

    def __enter__(self) -> _Lease:
        try:
            self._take("create")
        except FileExistsError:
            self._wait()
        threading.Thread(target=self._renew, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if not self._lost:
            with suppress(ObjectsError):
                self._store.delete(_LEASE)

    def _take(self, mode: str | dict[str, str]) -> None:
        # Its contents differ each time, and so does its version.
        content = f"{self._name} {os.urandom(4).hex()}".encode()
        self._version = self._store.put(_LEASE, content, mode)
        self._renewed = time.monotonic()

    def _wait(self) -> None:
        """Takes the lease of a process that was killed.

        Raises:
            BlockingIOError: When the other process lives.
        """
        deadline = time.monotonic() + _STALE_S
        owner, version = self._store.get(_LEASE)
        while not _is_dead(owner.decode(errors="replace")) and time.monotonic() < deadline:
            time.sleep(1)
            try:
                now = self._store.get(_LEASE)[1]
            except FileNotFoundError:
                break
            if now != version:
                raise BlockingIOError(
                    f"{self._store.url}: another process is adding to it; wait until that has finished"
                )
        try:
            self._take({"e_tag": version})
        except FileExistsError:
            raise BlockingIOError(f"{self._store.url}: another process is adding to it") from None

    def _renew(self) -> None:
        while not self._end.wait(_RENEW_S):
            try:
                self._take({"e_tag": self._version})
            except FileExistsError:
                self._lost = True
                return
            except (ObjectsError, OSError):
                pass  # `check` counts the time


def _is_dead(owner: str) -> bool:
    """Returns whether the process of a lease was one of this machine, and has ended."""
    machine, _, rest = owner.partition(" ")
    pid = rest.partition(" ")[0]
    if machine != _machine() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _machine() -> str:
    """Returns the name of this start of the machine and of its process numbers; empty if they have none."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115  (not a path)
    except OSError:  # not Linux
        return ""


def _copy_of(url: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    name = hashlib.sha256(f"{endpoint} {url}".encode()).hexdigest()[:16]
    return cache / "fullpipe" / "objects" / name


def _fetch(store: _Store, directory: Path) -> int:
    """Makes a directory equal to a store; returns the number of objects."""
    there, known = store.versions(), _known(directory)
    if not there:
        shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    files = dict(_files(directory))
    for name in files.keys() - there.keys():
        files[name].unlink(missing_ok=True)

    def get(name: str) -> None:
        with suppress(FileNotFoundError):  # deleted meanwhile
            content, there[name] = store.get(name)
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            aside = file.with_name(f".{file.name}.{os.urandom(4).hex()}")
            aside.write_bytes(content)
            aside.replace(file)

    def is_same(name: str) -> bool:
        return name in files and known.get(name) == [there[name], *_state(files[name])]

    old = [name for name in there if not is_same(name)]
    # Those that name others first, so that the others are there too.
    for first in (True, False):
        _at_once(get, [name for name in old if _names_others(name) is first])
    now = {name: [there[name], *_state(file)] for name, file in _files(directory) if name in there}
    aside = directory.with_name(f".{directory.name}.{os.urandom(4).hex()}")
    aside.write_text(json.dumps(now), encoding="utf-8")
    aside.replace(_known_file(directory))
    return len(there)


def _known_file(directory: Path) -> Path:
    return directory.with_suffix(".json")


def _known(directory: Path) -> dict[str, list[object]]:
    """Returns version and state of each file that was fetched."""
    try:
        found: dict[str, list[object]] = json.loads(_known_file(directory).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _files(directory: Path) -> Iterator[tuple[str, Path]]:
    """Yields the files of a directory and its folders, except for hidden ones."""
    for folder, folders, names in os.walk(directory):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for name in names:
            if not name.startswith("."):
                file = Path(folder) / name
                yield file.relative_to(directory).as_posix(), file


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _names_others(name: str) -> bool:
    return name.endswith(".json")


def _state(file: Path) -> State:
    now = file.stat()
    return now.st_ino, now.st_size, now.st_mtime_ns


def _at_once(step: Callable[[str], None], names: Iterable[str]) -> None:
    several = list(names)
    if several:
        with ThreadPoolExecutor(max_workers=min(_AT_A_TIME, len(several))) as executor:
            list(executor.map(step, several))
