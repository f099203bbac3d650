"""The files of a crate that begins as a copy of a built-in algorithm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

_DECLARED = re.compile(
    r'^pub static (?P<static>\w+): (?P<kind>\w+) = \w+ \{\n    name: "(?P<name>[^"]+)",.*?^\};\n',
    re.DOTALL | re.MULTILINE,
)
_TESTS = re.compile(r"\n#\[cfg\(test\)\]\nmod tests \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)
_BUILT = re.compile(r"AnyController::\w+\((?P<boxed>Box::new\()?")


class Copied(NamedTuple):
    """A built-in algorithm's source files, as those of a crate."""

    module: str
    """The module of the crate that has them."""
    descriptor: str
    """Path of the descriptor in the crate."""
    files: dict[str, str]
    """Texts by path below `src`."""


class _Declared(NamedTuple):
    file: Path
    static: str
    kind: str
    text: str


def copied(root: Path, original: str, name: str) -> Copied:
    """Returns the source files of a built-in algorithm, as an algorithm with another name.

    Args:
        root: The folder with the sources of all algorithms.
        original: Name of the built-in algorithm.
        name: Name of the copy.

    Raises:
        UserError: When there is no such built-in algorithm, or a library can't have it.
    """
    algorithms = _declared(root)
    declared = algorithms.get(original)
    if declared is None:
        known = sorted(algorithms)
        raise UserError(
            f"--from {original}: not a built-in algorithm\n  fix: choose one of {', '.join(known)}"
        )
    if declared.kind != "Descriptor":
        raise UserError(
            f"--from {original}: an algorithm of the receiver, and a library has one of the sender\n"
            "  fix: choose an algorithm of the sender"
        )
    preset = re.search(r'preset_of: Some\("([^"]+)"\)', declared.text)
    if preset:
        raise UserError(
            f"--from {original}: a preset of {preset[1]}, in the same files\n  fix: write --from {preset[1]}"
        )
    top = declared.file.relative_to(root).parts[0]
    module = top.removesuffix(".rs")
    sole = root / top
    paths = [sole] if sole.is_file() else sorted(sole.rglob("*.rs"))
    files = {path.relative_to(root).as_posix(): _moved(path, module) for path in paths}
    if any("shared.group(" in text for text in files.values()):
        raise UserError(
            f"--from {original}: its flows share state, which those of a library don't\n"
            "  fix: choose another algorithm, or change it in a checkout of fullpipe"
        )
    place = declared.file.relative_to(root).as_posix()
    files[place] = files[place].replace(f'    name: "{original}",', f'    name: "{name}",', 1)
    return Copied(module, f"{module}::{declared.static}", files)


def _declared(root: Path) -> dict[str, _Declared]:
    """Returns the declarations of all algorithms by name."""
    found = {}
    for file in sorted(root.rglob("*.rs")):
        for each in _DECLARED.finditer(file.read_text(encoding="utf-8")):
            found[each["name"]] = _Declared(file, each["static"], each["kind"], each[0])
    return found


def _moved(file: Path, module: str) -> str:
    """Returns a file's text with the paths that it has in a crate, without its tests."""
    text = _TESTS.sub("", file.read_text(encoding="utf-8"))
    text = text.replace(f"crate::algo::{module}", f"crate::{module}")
    text = re.sub(rf"(?<!\$)\bcrate::(?!{module}\b)", "fullpipe_plugin::cc::", text)
    text = re.sub(r"\bfullpipe_units::", "fullpipe_plugin::units::", text)
    return "\n".join(_boxed(line) for line in text.split("\n"))


def _boxed(line: str) -> str:
    """Returns a line that builds a controller as one that builds a user's."""
    built = _BUILT.search(line)
    if built is None or "build:" not in line:
        return line
    made = _BUILT.sub("AnyController::User(Box::new(", line)
    return made if built["boxed"] else made.removesuffix(",") + "),"
