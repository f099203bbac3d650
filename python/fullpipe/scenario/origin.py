"""Where a scenario comes from: a file, standard input, the package, or the names of algorithms."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO

    Texts = Mapping[str, str]

SCENARIOS = Path(__file__).parents[1] / "scenarios"
"""The directory of the scenarios in the package."""

AUTO = "auto"
"""The warm-up that follows from the path: 100 RTTs with full buffers, at least 10 s, at most half of the run."""
TIMES = {"duration": "60s", "measure_from": AUTO}
PATH = {"rate": "100mbit", "rtt": "50ms", "buffer": "default"}
"""The keys of a scenario made of algorithms, where no option sets another value: each queue has its own limit."""

STDIN = "-"
ALGORITHMS = "algorithms"
"""The name, in errors, of a scenario that is made of algorithms."""
_MOST = 2**26
"""Most bytes of a scenario."""


def packaged() -> list[Path]:
    """Returns the files of the package's scenarios, by name."""
    return sorted(SCENARIOS.glob("*.toml"))


def located(scenario: str | os.PathLike[str]) -> Path:
    """Returns the file of a scenario: the path itself, or that of the package's scenario of this name.

    `cubic-vs-bbr1`, `cubic-vs-bbr1.toml` and `scenarios/cubic-vs-bbr1.toml` name the same one,
    unless a file or directory with that name exists.
    """
    path = Path(scenario)
    inside = SCENARIOS / f"{path.name.removesuffix('.toml')}.toml"
    named = path.parent in (Path(), Path("scenarios"))
    return inside if named and not path.exists() and inside.is_file() else path


def shown(file: str) -> str:
    """Returns the name that texts for people use for a scenario's file: a short one for the package's."""
    path = Path(file)
    return path.stem if path.parent == SCENARIOS else file


def read(scenario: str | os.PathLike[str]) -> tuple[str, str]:
    """Returns the text of a scenario and the name that errors use for it.

    Args:
        scenario: A path, `-` for standard input, the name of a scenario in the package, or the text
            itself (any string with a line break).

    Raises:
        OSError: When it can't be read.
    """
    if isinstance(scenario, str) and "\n" in scenario:
        return scenario, "<text>"
    if scenario == STDIN:
        if not (text := _bounded(sys.stdin.buffer, "<stdin>")):
            raise OSError(
                "<stdin>: no scenario\n  fix: write one to standard input, or name a file"
            )
        return _decoded(text, "<stdin>"), "<stdin>"
    path = located(scenario)
    file = str(path)
    named = file.encode(errors="backslashreplace").decode()
    if named != file:
        raise OSError(f"{named}: a name that is not in UTF-8\n  fix: rename it")
    with path.open("rb") as stream:
        return _decoded(_bounded(stream, file), file), file


def text_of(file: Path) -> str:
    """Returns the text of a file that a user names: a suite, a space, a recipe.

    Raises:
        OSError: When it can't be read, is too long, or is not in UTF-8.
    """
    with file.open("rb") as stream:
        return _decoded(_bounded(stream, str(file)), str(file))


def _bounded(stream: BinaryIO, file: str) -> bytes:
    text = stream.read(_MOST + 1)
    if len(text) > _MOST:
        raise OSError(f"{file}: more than {_MOST // 2**20} MiB\n  fix: name another file")
    return text


def _decoded(text: bytes, file: str) -> str:
    try:
        return text.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise OSError(
            f"{file}: not a text file in UTF-8 ({error.reason} at byte {error.start})\n  fix: save it as UTF-8"
        ) from error


def written(title: str, flows: Sequence[Texts], times: Texts = TIMES, path: Texts = PATH) -> str:
    """Returns the text of a scenario with a table for the path and for each flow."""

    def lines(head: str, keys: Texts) -> str:
        return "\n".join([head, *(f'{key} = "{value}"' for key, value in keys.items())])

    tables = [lines("[[flow]]", flow) for flow in flows]
    return "\n\n".join([lines(f"# {title}", times), lines("[path]", path), *tables]) + "\n"


def titled(algorithms: Sequence[str]) -> str:
    """Returns the title of a scenario of algorithms."""
    return " and ".join(filter(None, [", ".join(algorithms[:-1]), algorithms[-1]]))


def of_algorithms(algorithms: Sequence[str]) -> str:
    """Returns the text of a scenario in which a flow of each algorithm shares one path."""
    return written(titled(algorithms), [{"cc": name} for name in algorithms])


def retitled(text: str, settings: Mapping[str, object]) -> str:
    """Returns the text of a scenario of algorithms with its title as settings of `flow.0.cc` and the like have it."""
    if not any(key.startswith("flow.") and key.endswith(".cc") for key in settings):
        return text
    import tomllib

    try:
        names = [str(flow["cc"]) for flow in tomllib.loads(text).get("flow", ())]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError):
        return text  # which the core refuses, or a text of a user
    now = [str(settings.get(f"flow.{number}.cc", name)) for number, name in enumerate(names)]
    head, line, rest = text.partition("\n")
    if not names or now == names or head != f"# {titled(names)}":
        return text
    return f"# {titled(now)}{line}{rest}"


def usual(key: str) -> tuple[str, str] | None:
    """Returns how errors name a key of the path that a scenario of algorithms has without an option, and its value."""
    name = key.removeprefix("path.")
    if name == key or name not in PATH:
        return None
    value = f'{name} = "{PATH[name]}"'
    number = of_algorithms(["cubic"]).split("\n").index(value) + 1
    return f"{ALGORITHMS}:{number}: path.{value}", PATH[name]


def warm_up(text: str, settings: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Returns the setting of a shorter warm-up, if that of a scenario does not fit the duration that settings have.

    A warm-up of more than half of the duration, or of one in a list of several, becomes the usual one, unless the
    settings have a warm-up.
    """
    import tomllib

    keys = dict(settings)
    durations = [_seconds(each.strip()) for each in keys.get("duration", "").split(",")]
    known = [each for each in durations if each is not None]
    if not known or "measure_from" in keys:
        return None
    try:
        usual = _seconds(str(tomllib.loads(text).get("measure_from", "0s")))
    except tomllib.TOMLDecodeError:
        return None  # which the core refuses with its place
    if usual is None or usual <= min(known) / 2:
        return None
    return "measure_from", AUTO


def _seconds(text: str) -> float | None:
    found = _core.quantity(text)
    return found[0] if found and found[1] == "s" else None
