"""Command lines of the programs of a scenario, for one run, and the check that the programs are installed."""

from __future__ import annotations

import math
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from fullpipe import _core
from fullpipe.algorithms.programs import FOLDER, NoRecipeError, are_allowed, named
from fullpipe.errors import refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.algorithms.programs import Recipe

_MORE = 1.5
"""Transfers without a length are longer than the path can carry in the rest of the run, by this factor."""
_VARIES = 10.0
"""... on a link whose rate varies around the known mean."""
_LATER_S = 5
"""Time limits are longer than the run, so that it ends first, in seconds."""
_PATIENCE_S = 30
"""Time that a program has to print its version, in seconds."""
_OUTDATED = "(built from other sources than those of its recipe)"
"""The end of a version that is not the recipe's."""


@dataclass(frozen=True)
class Asked:
    """A flow of a scenario that is a program, as the scenario has it.

    Attributes:
        index: The index of the flow.
        name: The name of the flow.
        key: The key that makes it a program, like `program.0.use`.
        value: The value of that key.
        recipe: The name of the recipe; None with command lines.
        server: The server's line; None with a recipe.
        client: The client's line; None with a recipe.
        qlog: The pattern of files to keep, if the scenario has one.
        params: The values of the recipe's parameters.
        size: The bytes to transfer; None for unlimited.
        left_s: The time from its start to the end of the run.
    """

    index: int
    name: str
    key: str
    value: str
    recipe: str | None
    server: str | None
    client: str | None
    qlog: str | None
    params: Mapping[str, object]
    size: int | None
    left_s: float


class Lines(NamedTuple):
    """The command lines of a flow, in words.

    Attributes:
        asked: The flow.
        server: The server's.
        client: The client's.
        qlog: The pattern of files to keep; empty for none.
        cc: The congestion control of the server's TCP; None for the machine's.
        version: The version of a recipe's program; empty if unknown.
    """

    asked: Asked
    server: list[str]
    client: list[str]
    qlog: str
    cc: str | None
    version: str


def asked(scenario: _core.Scenario) -> list[Asked]:
    """Returns the flows of a scenario that are programs."""
    return [
        Asked(*flow, *key, recipe, server, client, qlog, dict(params), size, left_s)
        for flow, key, (recipe, server, client, qlog), params, size, left_s in scenario.programs
    ]


def lines(scenario: _core.Scenario, far: str, first_port: int) -> list[Lines]:
    """Returns the command lines of the programs of a scenario.

    Args:
        scenario: The scenario.
        far: The address of the servers.
        first_port: The port of the scenario's first flow.

    Raises:
        ScenarioError: When a recipe or a parameter is unknown, the user has not allowed the scenario's own lines, or a
            program is not installed.
    """
    plenty = int(_plenty_bps(scenario) / 8)
    return [
        _of_one(scenario, each, far, first_port + each.index, plenty) for each in asked(scenario)
    ]


def _of_one(scenario: _core.Scenario, flow: Asked, far: str, port: int, plenty: int) -> Lines:
    seconds = math.ceil(flow.left_s) + _LATER_S
    values = {
        "far": far,
        "port": str(port),
        "seconds": str(seconds),
        "bytes": str(flow.size or math.ceil(plenty * flow.left_s)),
        "cert": str(FOLDER / "cert.pem"),
        "key": str(FOLDER / "key.pem"),
    }
    if flow.recipe is None:
        if not are_allowed():
            refused(
                scenario,
                flow,
                "a file can't run its command lines without permission",
                "read them, and if you trust them add --programs",
            )
        server, client = flow.server or "", flow.client or ""
        missing = 'install it, or name a recipe: use = "iperf3"'
        found = Lines(flow, [], [], flow.qlog or "", None, "")
    else:
        recipe = _recipe(scenario, flow)
        values |= recipe.places | _params(scenario, flow, recipe, values)
        server, client = recipe.server, recipe.client
        version = version_of(recipe.name)
        if not version:
            problem = f'program "{flow.name}": {recipe.name} is not installed'
            refused(scenario, flow, problem, recipe.fix)
        cc = recipe.kernel_cc.format(**values) or None
        missing = recipe.fix
        found = Lines(flow, [], [], flow.qlog or recipe.qlog, cc, version)
    words = [_words(scenario, flow, line, values) for line in (server, client)]
    for each in words:
        _there(scenario, flow, each, missing)
    return found._replace(server=words[0], client=words[1])


def _recipe(scenario: _core.Scenario, flow: Asked) -> Recipe:
    try:
        return named(flow.recipe or "")
    except NoRecipeError as error:
        problem, _, fix = str(error).partition("\n  fix: ")
        refused(scenario, flow, problem.partition(": ")[2], fix)


def _params(
    scenario: _core.Scenario, flow: Asked, recipe: Recipe, values: Mapping[str, str]
) -> dict[str, str]:
    """Returns the values of a recipe's parameters, and of `length`."""
    found = {name: each.default for name, each in recipe.params.items()}
    for name, given in flow.params.items():
        text = f"{given:g}" if isinstance(given, float) else str(given)
        known = recipe.params.get(name)
        if known is None:
            there = ", ".join(recipe.params) or "none"
            _param_refused(
                scenario,
                flow,
                name,
                text,
                f"{recipe.name} has no such parameter",
                f"it has {there}",
            )
        if known.choices and text not in known.choices:
            fix = f"use one of {', '.join(known.choices)}"
            _param_refused(scenario, flow, name, text, f"{recipe.name} does not have it", fix)
        if not text or text.startswith("-") or any(each.isspace() for each in text):
            problem = "not one word, or an option"
            _param_refused(scenario, flow, name, text, problem, "write one word")
        found[name] = text
    size = _size(scenario, flow, found.pop("bytes", ""), flow.size)
    if flow.size is not None and "bytes" not in recipe.params:
        problem = f"{recipe.name} has no length in bytes"
        refused(scenario, flow, problem, "remove bytes")
    if size is not None:
        found["bytes"] = str(size)
    limit = recipe.length.get("time" if size is None else "bytes", "")
    return {**found, "length": limit.format(**{**values, **found})}


def _size(scenario: _core.Scenario, flow: Asked, text: str, size: int | None) -> int | None:
    if not text:
        return size
    found = _core.quantity(text)
    if found is None or found[1] not in ("B", "") or found[0] < 1:
        _param_refused(scenario, flow, "bytes", text, "not a size", "write one, like 10MB")
    return int(found[0])


def _words(
    scenario: _core.Scenario, flow: Asked, line: str, values: Mapping[str, str]
) -> list[str]:
    """Splits a line as a shell does, and then puts values into its words, which no value can split."""
    try:
        words = shlex.split(line)
        made = [word.format(**values) for word in words]
    except (ValueError, KeyError, IndexError, AttributeError) as error:
        known = ", ".join(f"{{{name}}}" for name in values)
        fix = f"use {known}; write {{{{ and }}}} for braces, and close quotation marks"
        refused(scenario, flow, f"its line can't be read: {line} ({error})", fix)
    # The length of a transfer is several words.
    split = [made for word, made in zip(words, made, strict=True) for made in _several(word, made)]
    if not split:
        refused(scenario, flow, "its line is empty", "write the command")
    return split


def _several(word: str, made: str) -> list[str]:
    return made.split() if word == "{length}" else [made]


def _there(scenario: _core.Scenario, flow: Asked, words: list[str], fix: str) -> None:
    if words and shutil.which(words[0]) is None:
        where = "not found" if "/" in words[0] else "not found on PATH"
        refused(scenario, flow, f'program "{flow.name}": {words[0]}: {where}', fix)


def _plenty_bps(scenario: _core.Scenario) -> float:
    """Returns a rate that the path never carries in the long run, in bit/s."""
    most = max([scenario.rate_bps, *(rate for _, rate in scenario.changes)])
    return most * (_VARIES if scenario.varying_links else _MORE)


def refused(scenario: _core.Scenario, flow: Asked, problem: str, fix: str) -> NoReturn:
    """Raises an error about a program of a scenario."""
    raise refusal(problem, fix, file=scenario.file, key=flow.key, value=flow.value)


def _param_refused(
    scenario: _core.Scenario, flow: Asked, name: str, value: str, problem: str, fix: str
) -> NoReturn:
    key = f"{flow.key.rpartition('.')[0]}.params.{name}"
    raise refusal(problem, fix, file=scenario.file, key=key, value=f'"{value}"')


@cache
def version_of(recipe_name: str) -> str:
    """Returns the first line that the program of a recipe prints about its version; empty if it is not installed."""
    recipe = named(recipe_name)
    if not recipe.check:
        return "installed"
    check = [word.format(**recipe.places) for word in shlex.split(recipe.check)]
    try:
        done = subprocess.run(
            check,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = (done.stdout or done.stderr).strip().splitlines()
    if done.returncode != 0:
        return ""
    version = " ".join(said[0].split()) if said else "installed"
    return f"{version} {_OUTDATED}" if _is_outdated(recipe, version) else version


def is_outdated(recipe_name: str) -> bool:
    """Whether the program of a recipe was built from other sources than the recipe has."""
    return version_of(recipe_name).endswith(_OUTDATED)


def _is_outdated(recipe: Recipe, version: str) -> bool:
    try:
        return bool(recipe.sources) and not version.endswith(f"source {recipe.source()}")
    except OSError:
        return True
