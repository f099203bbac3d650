"""Candidates: parameters of an algorithm of fullpipe, a policy, a Python class, or a library."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.algorithms.resolve import FILE, bare, kind_of, params_of, similar
from fullpipe.base.build import build
from fullpipe.base.toml import value_of
from fullpipe.errors import UserError
from fullpipe.runners import refuse_kind
from fullpipe.scenario.origin import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEYS = ("candidate", "params", "name")
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Candidate:
    """A candidate.

    Attributes:
        name: Its name in the output.
        algorithm: The name of an algorithm of this process; empty if the candidate is code.
        params: Its parameters.
        file: The name of the file with its code; empty if it is no code.
        made: The class in a Python file; empty for a library.
        content: The contents of its file, code or policy, when it was read.
        problem: The reason why it can't run, with a fix; empty if none is known.
    """

    name: str
    algorithm: str = ""
    params: Mapping[str, object] = field(default_factory=dict)
    file: str = ""
    made: str = ""
    content: bytes = b""
    problem: str = ""

    @property
    def is_code(self) -> bool:
        """Whether it is code of others, and not an algorithm of this process."""
        return bool(self.file)

    @property
    def key(self) -> str:
        """A fingerprint of all that its results depend on, this program included, 16 hexadecimal digits."""
        words = json.dumps([self.algorithm, sorted(self.params.items()), self.made])
        digest = hashlib.sha256(f"{build()} {words} {Path(self.file).suffix}\n".encode())
        digest.update(self.content)
        return digest.hexdigest()[:16]

    @property
    def cc(self) -> str:
        """The name in scenarios."""
        return f"candidate-{self.key}" if self.is_code else self.algorithm

    @property
    def default(self) -> Candidate | None:
        """The same algorithm with its default parameters; None for code and without other parameters."""
        if self.is_code or not self.params:
            return None
        return Candidate(self.algorithm, self.algorithm, content=self.content)


def candidate(
    word: str, params: Mapping[str, object] | None = None, name: str | None = None
) -> Candidate:
    """Returns the candidate that a word names: an algorithm, `policy:FILE`, `mine.py:Class`, or a library.

    Code is read, and not run. A file without the class is a candidate with a problem: the others run without it.

    Args:
        word: The word.
        params: Parameters.
        name: Another name in the output.

    Raises:
        UserError: When there is no such algorithm or file.
        ScenarioError: When the file of a policy has an error.
        OSError: When the file can't be read.
    """
    behind = {key: value_of(text) for key, text in params_of(word).items()}
    given = {**behind, **(params or {})}
    word = bare(word)
    kind = kind_of(word)
    if kind is None:
        raise UserError(f"{word}: not a candidate\n  fix: {similar(word)}")
    refuse_kind(word, "score")
    short = Path(word).name if kind.is_path else word
    shown = name or _shown(short, given)
    if kind is FILE:
        file, _, made = word.rpartition(":") if ":" in word else (word, "", "")
        return _python(file, made, given, shown)
    if kind.is_code:
        return Candidate(shown, "", given, word, "", _content(word))
    source = kind.source(kind.load(word))
    return Candidate(shown, word, given, content=source.content if source else b"")


def _shown(stem: str, params: Mapping[str, object]) -> str:
    return " ".join([stem, *(f"{key}={value}" for key, value in params.items())])


def _python(file: str, made: str, params: Mapping[str, object], shown: str) -> Candidate:
    content = _content(file)
    classes = _CLASS.findall(content.decode("utf-8", "replace"))
    others = " or ".join(f"{file}:{each}" for each in classes)
    if not made:
        raise UserError(
            f"{file}: a file, and its class is missing\n  fix: write {others or f'{file}:Mine'}"
        )
    problem = "" if made in classes else _without(file, made, content, others)
    return Candidate(shown, "", params, file, made, content, problem)


def _without(file: str, made: str, content: bytes, others: str) -> str:
    """Returns the problem of a file that has no such class: the error in its text, if it is no Python."""
    try:
        ast.parse(content)
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        return f"{file}: SyntaxError: {error.msg}{where}\n  fix: correct it"
    except (ValueError, MemoryError, RecursionError) as error:
        return f"{file}: {type(error).__name__}: {error}\n  fix: write Python"
    fix = (
        f"write {others}"
        if others
        else f"define {made}; docs/reference/controller.md has the methods"
    )
    return f"{file}: has no class {made}\n  fix: {fix}"


def _content(file: str) -> bytes:
    if not Path(file).is_file():
        raise UserError(
            f"{file}: no such file\n  fix: name a Python file and its class, or a library"
        )
    return Path(file).read_bytes()


def listed(file: Path) -> Iterator[Candidate]:
    """Yields the candidates of a file with a JSON object per line: `candidate`, `params` and `name`.

    Raises:
        UserError: When a line is no candidate.
        OSError: When the file can't be read.
    """
    for number, line in enumerate(text_of(file).splitlines(), 1):
        if not line.strip():
            continue
        where = f"{file}:{number}"
        fix = 'write it like {"candidate": "bbr3", "params": {"beta": 0.8}}'
        try:
            table = json.loads(line)
        except ValueError:
            raise UserError(f"{where}: not JSON\n  fix: {fix}") from None
        if not isinstance(table, dict) or not isinstance(table.get("candidate"), str):
            raise UserError(f"{where}: has no candidate\n  fix: {fix}")
        params = table.get("params", {})
        if others := set(table) - set(_KEYS):
            known = ", ".join(_KEYS)
            raise UserError(f"{where}: {min(others)}: unknown key\n  fix: use one of {known}")
        if not isinstance(params, dict) or not all(
            isinstance(value, str | int | float) for value in params.values()
        ):
            raise UserError(f"{where}: params: not a table of numbers and words\n  fix: {fix}")
        yield candidate(table["candidate"], params, table.get("name"))
