"""A specification with the files that it needs, in a form that another machine can run.

The files of the scenario, the modules of its Python classes and the libraries of its algorithms are sent by their
contents. A worker writes them into a
folder of its own, at the same places relative to each other. A file with an absolute name stays where it is: the worker
must have the same one.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fullpipe.batch.pool import Planned

    Pickle = Callable[[object], bytes]
    Unpickle = Callable[[bytes], Any]

S = TypeVar("S", bound="Planned")
_FILE = re.compile(r"\bfile\s+(\S.*)", re.DOTALL)
_SOURCE = "source"
_INSTALLED = ("site-packages", "dist-packages")


@dataclass(frozen=True)
class Shipment(Generic[S]):
    """A specification and its files.

    Attributes:
        spec: The pickled specification. Its classes need the modules.
        files: Contents of files, by their name relative to a common folder.
        imports: Folders of modules, relative to the same folder.
        absolute: SHA-256 of files with an absolute name, by name.
        plugins: Libraries with algorithms: the name, the file's name, and the content.
    """

    spec: bytes
    files: dict[str, bytes]
    imports: tuple[str, ...]
    absolute: dict[str, str]
    plugins: tuple[tuple[str, str, bytes], ...]


def pack(spec: S, pickle: Pickle) -> Shipment[S]:
    """Reads the files that a specification names, and those of its modules.

    Raises:
        OSError: When one can't be read.
    """
    scenario = Path(os.path.abspath(spec.file))  # noqa: PTH100  (no link is followed)
    named, absolute = set(), {}
    for name in _named(spec):
        file = scenario.parent / name
        if not file.is_file():
            continue  # the name of a preset; the plan has been checked
        if Path(name).is_absolute():
            absolute[name] = _sha256(file)
        else:
            named.add(Path(os.path.normpath(file)))
    modules = dict(_modules(spec))
    everything = [scenario, *named, *modules]
    root = os.path.commonpath([each.parent for each in everything])
    return Shipment(
        pickle(replace(spec, file=os.path.relpath(scenario, root))),  # type: ignore[type-var]
        {os.path.relpath(each, root): each.read_bytes() for each in (*named, *modules)},
        tuple(sorted({os.path.relpath(folder, root) for folder in modules.values()})),
        absolute,
        tuple((each.name, Path(each.file).name, each.content) for each in spec.plugins),
    )


class Unpacked(Generic[S]):
    """A shipment on the machine of a worker.

    Attributes:
        problem: The reason why its runs can't be made here; empty if they can.
        fix: The fix for it.
        spec: The specification, whose file is in a temporary folder.
    """

    def __init__(self, shipment: Shipment[S], unpickle: Unpickle) -> None:
        self.problem = ""
        self.fix = "copy it to every node, or name it relative to the scenario, which sends it"
        for name, digest in shipment.absolute.items():
            file = Path(name)
            if not file.is_file():
                self.problem = f"no file {name}"
            elif _sha256(file) != digest:
                self.problem = f"{name} has other contents"
        if self.problem:
            return
        self._folder = TemporaryDirectory(prefix="fullpipe-")
        root = Path(self._folder.name)
        for name, content in shipment.files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        for number, (plugin, library_name, content) in enumerate(shipment.plugins):
            library = root / f"plugin{number}" / library_name
            library.parent.mkdir()
            library.write_bytes(content)
            try:
                _core.load_plugin(library, plugin, replaces=True)
            except _core.ScenarioError as error:
                self.problem = f"no use for {library_name}, which {error.problem}"
                self.fix = "build the library on a machine like the nodes"
                self._folder.cleanup()
                return
        sys.path[:0] = [os.path.normpath(root / folder) for folder in shipment.imports]
        spec: S = unpickle(shipment.spec)
        (root / spec.file).parent.mkdir(parents=True, exist_ok=True)
        self.spec: S = replace(spec, file=str(root / spec.file))  # type: ignore[type-var]


def _named(spec: Planned) -> Iterator[str]:
    """Yields the possible names of files in a specification: `"list file losses.txt"`, and sources of workloads."""
    for key, text in (*_words(tomllib.loads(spec.text)), *spec.settings):
        for part in (text, *text.split(",")):
            word = part.strip(" \t\"'")
            if key.rpartition(".")[2] == _SOURCE and word:
                yield word
            elif found := _FILE.search(word):
                words = found[1].split(" ")  # the name may have spaces, or options may follow it
                yield from (" ".join(words[:end]).strip() for end in range(len(words), 0, -1))


def _words(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yields the texts in TOML, each with the last key that leads to it."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for inner, each in value.items():
            yield from _words(each, inner)
    elif isinstance(value, list):
        for each in value:
            yield from _words(each, key)


def _modules(spec: Planned) -> Iterator[tuple[Path, Path]]:
    """Yields the files of loaded modules next to those of the classes, each with the folder to import from.

    Modules that are installed have to be installed on each machine.
    """
    names = {made.__module__ for _, made, _ in spec.classes}
    folders = set(_folders(names))
    for module in [*sys.modules.values()]:
        file = getattr(module, "__file__", None)
        if not file or module.__name__ == "__main__" or not Path(file).is_file():
            continue
        for folder in folders:
            if Path(file).is_relative_to(folder) and not _is_installed(Path(file)):
                yield Path(file), folder


def _folders(names: Iterable[str]) -> Iterator[Path]:
    for name in names:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and name != "__main__" and not _is_installed(Path(file)):
            above = name.count(".") + (Path(file).stem == "__init__")
            yield Path(os.path.abspath(file)).parents[above]  # noqa: PTH100  (as it was imported)


def _is_installed(file: Path) -> bool:
    ours = Path(__file__).parents[1]
    return (
        any(part in _INSTALLED for part in file.parts)
        or file.is_relative_to(sys.base_prefix)
        or file.is_relative_to(ours)
    )


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
