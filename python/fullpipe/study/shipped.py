"""A plan, or functions of runs, with the files that they need, in a form that another machine can run.

The files of the scenarios, the modules of Python classes, and the libraries and policies of algorithms are sent by
their contents. A worker writes them into a folder of its own, at the same places relative to each other. A file with
an absolute name stays where it is: the worker must have the same one.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from fullpipe import _core
from fullpipe.algorithms import policies

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from fullpipe.algorithms.classes import Given

    Pickle = Callable[[object], bytes]
    Unpickle = Callable[[bytes], Any]
    Move = Callable[[str], str]

S = TypeVar("S", bound="Sendable")
_FILE = re.compile(r"\bfile\s+(\S.*)", re.DOTALL)
_SOURCE = "source"
_INSTALLED = ("site-packages", "dist-packages")


class Source(NamedTuple):
    """A scenario, or a population.

    Attributes:
        text: Its text, TOML.
        file: The name of its text in errors; other files are named relative to it.
        settings: Further keys and values, as `--set` takes them.
    """

    text: str
    file: str
    settings: Sequence[tuple[str, str]] = ()


class Sendable(Protocol):
    """Runs that a worker can execute, in ranges of their numbers."""

    @property
    def sources(self) -> Collection[Source]:
        """The scenarios, each once."""

    @property
    def classes(self) -> Given:
        """The Python classes that are algorithms of the scenarios."""

    @property
    def plugins(self) -> Sequence[_core.Plugin]:
        """The loaded libraries that the scenarios may name."""

    def moved(self, to: Move) -> Any:  # noqa: ANN401  (itself)
        """Returns the same runs with other names of their files, without computed attributes: they are pickled next."""

    def prepare(self) -> None:
        """Makes the plan or the classes that all runs need, in a worker.

        Raises:
            ScenarioError: When a scenario is refused there.
        """

    def work(self, first: int, end: int) -> tuple[Any, int]:
        """Executes a range of the runs, on one thread; returns the results, and the packets that they moved."""


@dataclass(frozen=True)
class Shipment(Generic[S]):
    """Runs with the files that they need.

    Attributes:
        spec: The pickled runs. Their classes need the modules.
        files: Contents of files, by their name relative to a common folder.
        imports: Folders of modules, relative to the same folder.
        absolute: SHA-256 of files with an absolute name, by name.
        plugins: Libraries with algorithms: the name, the file's name, and the content.
        policies: Texts of policies by their names.
        names: The sender's names of the scenarios, by those relative to the common folder.
    """

    spec: bytes
    files: dict[str, bytes]
    imports: tuple[str, ...]
    absolute: dict[str, str]
    plugins: tuple[tuple[str, str, bytes], ...]
    policies: dict[str, str]
    names: dict[str, str]


def pack(spec: S, pickle: Pickle) -> Shipment[S]:
    """Reads the files that a specification names, and those of its modules.

    Raises:
        OSError: When one can't be read.
    """
    scenarios: dict[str, Path] = {}
    named, absolute = set(), {}
    for source in spec.sources:
        scenario = Path(os.path.abspath(source.file))  # noqa: PTH100  (no link is followed)
        scenarios[source.file] = scenario
        for name in _named(source):
            file = scenario.parent / name
            if not file.is_file():
                continue  # the name of a preset; the plan has been checked
            if Path(name).is_absolute():
                absolute[name] = _sha256(file)
            else:
                named.add(Path(os.path.normpath(file)))
    modules = dict(_modules(spec))
    everything = [*scenarios.values(), *named, *modules]
    root = os.path.commonpath([each.parent for each in everything])
    names = [
        name for each in spec.sources for name in _core.algorithm_names(each.text, each.settings)
    ]
    moved = {file: os.path.relpath(scenario, root) for file, scenario in scenarios.items()}
    return Shipment(
        pickle(spec.moved(moved.__getitem__)),
        {os.path.relpath(each, root): each.read_bytes() for each in (*named, *modules)},
        tuple(sorted({os.path.relpath(folder, root) for folder in modules.values()})),
        absolute,
        tuple((each.name, Path(each.file).name, each.content) for each in spec.plugins),
        {each.name: each.text for each in policies.used(names)},
        {name: file for file, name in moved.items()},
    )


class Unpacked(Generic[S]):
    """A shipment on the machine of a worker.

    Attributes:
        problem: The reason why its runs can't be made here; empty if they can.
        fix: The fix for it.
        spec: The runs, whose files are in a temporary folder.
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
        for number, (policy, text) in enumerate(shipment.policies.items()):
            file = root / f"policy{number}.json"
            file.write_text(text, encoding="utf-8")
            policies.SENT[policy] = file
        sys.path[:0] = [os.path.normpath(root / folder) for folder in shipment.imports]
        spec: S = unpickle(shipment.spec)
        for source in spec.sources:
            (root / source.file).parent.mkdir(parents=True, exist_ok=True)
        self.spec: S = spec.moved(lambda file: str(root / file))
        self._names = {str(root / name): file for name, file in shipment.names.items()}

    def renamed(self, error: _core.ScenarioError) -> _core.ScenarioError:
        """Returns the error of a run with the sender's name of its scenario."""
        text = str(error)
        for name, file in self._names.items():
            text = text.replace(name, file)
        error.args = (text,)
        error.file = self._names.get(error.file, error.file)
        return error


def _named(source: Source) -> Iterator[str]:
    """Yields the possible names of files in a scenario: `"list file losses.txt"`, and sources of workloads."""
    for key, text in (*_words(tomllib.loads(source.text)), *source.settings):
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


def _modules(spec: Sendable) -> Iterator[tuple[Path, Path]]:
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
