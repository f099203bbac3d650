"""Parameters of an algorithm for the kernel, checked by the declaration that the simulator's version has."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.wings.bpf.program import SECONDS, KernelError, declared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.wings.bpf.program import Object

_TRIAL = """duration = "1ms"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
"""
_KEY = "flow.0.params."
_PROFILE = "profile"
_LINUX = "linux"
"""The profile whose rules the kernel's version has."""


def checked(of: Object, given: Mapping[str, str], called: str = "--set ") -> dict[str, float]:
    """Returns the numbers of parameters that a user gives as text; 0 and 1 for flags.

    Args:
        of: The algorithm.
        given: The values, by the parameters' names.
        called: The words before a parameter in an error.

    Raises:
        KernelError: When the algorithm, or its version for the kernel, has no such parameter or value.
    """
    known = declared(of.algorithm)
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, of.parameters, n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise KernelError(
                f'{called}{name}={value}: {of.algorithm} has no parameter "{name}"\n'
                f"  fix: {meant}the kernel's {of.algorithm} has {', '.join(of.parameters)}"
            )
        if name == _PROFILE and _PROFILE in known and value != _LINUX:
            raise KernelError(
                f"{called}{name}={value}: the kernel's {of.algorithm} follows the rules of Linux\n"
                f'  fix: omit it, or write "{_LINUX}"'
            )
        if name in known and name != _PROFILE and name not in of.parameters:
            has = f"it has {', '.join(of.parameters)}" if of.parameters else "it has none"
            raise KernelError(
                f"{called}{name}={value}: the kernel's {of.algorithm} does not have this parameter\n"
                f"  fix: omit it; {has}"
            )
    profile = {_PROFILE: _LINUX} if _PROFILE in known else {}
    params = _resolved(of.algorithm, profile | dict(given), called)
    return {name: _number(of, name, params[name]) for name in given if name != _PROFILE}


def _resolved(algorithm: str, given: Mapping[str, str], called: str) -> dict[str, object]:
    """Lets the core check the parameters, by a run of a millisecond."""
    settings = [(f"{_KEY}{name}", value) for name, value in given.items()]
    try:
        scenario = _core.Scenario.parse(f'{_TRIAL}cc = "{algorithm}"\n', "--set", settings)
        _core.run(scenario, "off")
    except _core.ScenarioError as error:
        name = error.key.rpartition(_KEY)[2] or error.key
        value = given.get(name, error.value)
        raise KernelError(f"{called}{name}={value}: {error.problem}\n  fix: {error.fix}") from error
    params: dict[str, object] = tomllib.loads(scenario.to_toml())["flow"][0]["params"]
    return params


def _number(of: Object, name: str, value: object) -> float:
    """Returns a value as the program takes it: times in seconds, words by their place."""
    declaration = declared(of.algorithm)[name]
    if isinstance(value, str):
        assert declaration["choices"] is not None
        return float(declaration["choices"].index(value))
    assert isinstance(value, bool | int | float)
    return float(value) * SECONDS.get(declaration["unit"], 1.0)
