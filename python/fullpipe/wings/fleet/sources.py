"""Finds the input files, their order, and the host and arm that each belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fullpipe import _core
from fullpipe.errors import refusal
from fullpipe.wings.fleet.store import is_name
from fullpipe.wings.traces.foreign import formats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Kind = Literal["ss", "nginx", "snmp", "hist"]
# The option that names files of each kind.
OPTION: dict[Kind, str] = {"ss": "--arm", "nginx": "--nginx", "snmp": "--snmp", "hist": "--hist"}
_ARM = re.compile(r"([A-Za-z0-9][A-Za-z0-9._+-]*)=(.+)", re.DOTALL)
_HOST = "{host}"
_MOST_SHOWN = 3


@dataclass(frozen=True)
class Stream:
    """The files of one kind from one host, in order of time.

    Attributes:
        kind: Kind of the files.
        arm: Arm of the host; empty where each line names its own host.
        host: Name of the host.
        files: The files.
    """

    kind: Kind
    arm: str
    host: str
    files: tuple[Path, ...]

    @property
    def key(self) -> str:
        """Prefix of the names of the files made from this stream."""
        return blake2b(
            "\0".join((self.kind, self.arm, self.host)).encode(), digest_size=6
        ).hexdigest()

    @property
    def name(self) -> str:
        """Name of the stream in messages."""
        return f"{self.arm or '?'}/{self.host}, {self.kind}"


def streams(given: dict[Kind, Sequence[str]], own_hosts: bool = False) -> list[Stream]:
    """Finds the files of each option.

    Args:
        given: By kind, values like `cubic=hosts/{host}/*.ss`. Only values for `ss` need an arm:
                files of other kinds belong to the arm of their host.
        own_hosts: Whether each line of the nginx logs names its host.

    Raises:
        ScenarioError: When an option is wrong, or a pattern matches no file.
        ForeignError: When a file is of a format that other commands or options read.
    """
    found: dict[tuple[Kind, str, str], list[Path]] = {}
    of_host: dict[str, set[str]] = {}
    for kind, values in given.items():
        for value in values:
            arm, files = _files(kind, value)
            for host, file in files:
                formats.check(file, f"fleet ingest {OPTION[kind]}")
                whose = arm
                if not whose and kind == "nginx" and own_hosts:
                    host = file.parent.name or "."
                elif not whose:
                    whose = _arm_of(kind, value, host, of_host)
                if kind == "ss":
                    of_host.setdefault(host, set()).add(whose)
                found.setdefault((kind, whose, host), []).append(file)
    return [Stream(kind, arm, host, _in_order(files)) for (kind, arm, host), files in found.items()]


def _files(kind: Kind, value: str) -> tuple[str, list[tuple[str, Path]]]:
    """Splits `ARM=PATTERN`; returns the arm, or an empty text, and the files with their hosts."""
    option = OPTION[kind]
    split = _ARM.fullmatch(value)
    arm, pattern = (split[1], split[2]) if split else ("", value)
    if kind == "ss" and not arm:
        raise refusal(
            "an arm needs a name made of letters, digits and ._+-",
            f"write {option} 'cubic={value.partition('=')[2] or value}'",
            place=f"{option} {value}",
        )
    assert not arm or is_name(arm)
    if pattern.count(_HOST) > 1:
        raise refusal(
            f"{_HOST} occurs twice",
            f"write {_HOST} once, and * elsewhere",
            place=f"{option} {value}",
        )
    path = Path(pattern.replace(_HOST, "*"))
    root, parts = (
        (Path(path.anchor), path.parts[1:]) if path.is_absolute() else (Path(), path.parts)
    )
    matches = (
        sorted(file for file in root.glob(str(Path(*parts))) if file.is_file()) if parts else []
    )
    if not matches:
        what = "no such file" if (root / Path(*parts)).exists() or not parts else "no file matches"
        if (root / Path(*parts)).is_dir():
            raise refusal(
                "this is a folder", f"name its files, like {pattern}/*", place=f"{option} {value}"
            )
        raise refusal(
            what,
            _there(root, parts)
            or "quote the pattern; * matches any part of a name, ** any folders",
            place=f"{option} {value}",
        )
    return arm, [(_host(pattern, file), file) for file in matches]


def _there(root: Path, parts: Sequence[str]) -> str:
    """Returns what the folder of a pattern without a match has; empty without such a folder."""
    *above, last = parts
    folders = [each for each in root.glob(str(Path(*above))) if each.is_dir()] if above else [root]
    files = sorted(file for folder in folders for file in folder.iterdir() if file.is_file())
    if not files:
        return ""
    names = ", ".join(file.name for file in files[:_MOST_SHOWN])
    more = f" and {len(files) - _MOST_SHOWN} more" if len(files) > _MOST_SHOWN else ""
    return f"{files[0].parent} has {names}{more}: change {last}"


def _host(pattern: str, file: Path) -> str:
    """Returns the part of the path that `{host}` matches; without `{host}`, the name of the folder."""
    if _HOST not in pattern:
        return file.resolve().parent.name or "."
    pieces = (
        re.escape(piece) for piece in re.split(r"(\*\*/?|\*|\?|\{host\})", str(Path(pattern)))
    )
    words = {
        r"\*\*/": "(?:.*/)?",
        r"\*\*": ".*",
        r"\*": "[^/]*",
        r"\?": "[^/]",
        r"\{host\}": "(?P<host>[^/]+)",
    }
    found = re.fullmatch("".join(words.get(piece, piece) for piece in pieces), str(file))
    return found["host"] if found else file.resolve().parent.name


def _arm_of(kind: Kind, value: str, host: str, of_host: dict[str, set[str]]) -> str:
    arms = of_host.get(host, set())
    if len(arms) == 1:
        return next(iter(arms))
    known = ", ".join(sorted(of_host)) or "none"
    why = (
        f"host {host} is in no arm; the hosts of --arm are {known}"
        if not arms
        else f"host {host} is in {len(arms)} arms: {', '.join(sorted(arms))}"
    )
    raise refusal(
        why,
        f"name the arm: {OPTION[kind]} 'ARM={value}', or mark the host in the path: 'logs/{_HOST}/*'",
        place=f"{OPTION[kind]} {value}",
    )


def _in_order(files: Iterable[Path]) -> tuple[Path, ...]:
    """Sorts files by the time at which each begins, then by name."""
    unique = dict.fromkeys(files)
    return tuple(sorted(unique, key=lambda file: (_core.fleet_begin(file), str(file))))
