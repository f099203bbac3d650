"""Parameters of an algorithm, by the names that conditions use."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.errors import UserError
from fullpipe.scenario.path_options import STACK

if TYPE_CHECKING:
    from collections.abc import Mapping

_OTHER_NAMES = {
    "bbr1": {
        "startup_pacing_gain": "high_gain",
        "drain_pacing_gain": "drain_gain",
        "probe_rtt_interval": "min_rtt_window",
        "up_cwnd_gain": "cwnd_gain",
        "probe_rtt_renewed_by_equal": "min_rtt_refresh_on_equal",
    }
}
"""Names of the same parameter in another version."""


class SubjectError(UserError):
    """The algorithm or a parameter is unknown; the text names it and has the fix."""


class Rules:
    """The parameters of an algorithm: those that are set, and the defaults of its profile for the others."""

    def __init__(self, algorithm: str, params: Mapping[str, str], stack: str = STACK.usual) -> None:
        """Reads the algorithm's declaration.

        Args:
            algorithm: Its name.
            params: The parameters that are set.
            stack: `stack` of the sender, which sets the profile, unless `params` do.

        Raises:
            SubjectError: When there is no such algorithm or parameter.
        """
        every = {str(each["name"]): each for each in _core.algorithms()}
        if algorithm not in every:
            near = get_close_matches(algorithm, every, n=1)
            fix = f"did you mean {near[0]}?" if near else "`fullpipe list algorithms` has the names"
            raise SubjectError(f"--as {algorithm}: not an algorithm of fullpipe\n  fix: {fix}")
        self.algorithm = algorithm
        self.params = dict(params)
        declared: list[Mapping[str, Any]] = list(every[algorithm]["params"])
        names = [str(each["name"]) for each in declared]
        for name, value in self.params.items():
            if name not in names:
                near = get_close_matches(name, names, n=1)
                fix = (
                    f"did you mean {near[0]}?"
                    if near
                    else f"`fullpipe explain {algorithm}` has its parameters"
                )
                raise SubjectError(
                    f"--set {name}={value}: {algorithm} has no such parameter\n  fix: {fix}"
                )
        self.profile = _profile(declared, self.params, stack)
        self._values = _values(declared, self.params, self.profile)
        self._other = _OTHER_NAMES.get(algorithm, {})

    def under(self, stack: str) -> Rules:
        """Returns the rules of a sender of another stack."""
        return Rules(self.algorithm, self.params, stack)

    def has(self, name: str) -> bool:
        """Returns whether the algorithm has a parameter, under its own name or that of conditions."""
        return self._other.get(name, name) in self._values

    def number(self, name: str) -> float:
        """Returns the value of a parameter that is a number."""
        return float(self._values[self._other.get(name, name)])

    def flag(self, name: str) -> bool:
        """Returns the value of a flag."""
        return str(self._values[self._other.get(name, name)]).lower() == "true"

    @property
    def title(self) -> str:
        """The algorithm with the parameters that are set."""
        return ", ".join(
            [self.algorithm, *(f"{name} = {value}" for name, value in self.params.items())]
        )


def _profile(declared: list[Mapping[str, Any]], params: Mapping[str, str], stack: str) -> str:
    """Returns the profile that is set, or that of the stack; empty for an algorithm without any."""
    for each in declared:
        if each["name"] == "profile":
            usual = dict(each["profiles"]).get(f'{STACK.key} = "{stack}"', each["default"])
            return params.get("profile", str(usual))
    return ""


def _values(
    declared: list[Mapping[str, Any]], params: Mapping[str, str], profile: str
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for each in declared:
        of_profile = dict(each["profiles"])
        values[str(each["name"])] = of_profile.get(profile, each["default"])
    for name, text in params.items():
        found = _core.quantity(text)
        values[name] = text if found is None else found[0]
    return values
