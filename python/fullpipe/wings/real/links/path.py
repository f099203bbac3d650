"""The path of a link: from a scenario's file, or from options, with the same values in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe._core import Scenario
from fullpipe.run import unjudged
from fullpipe.scenario.origin import PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.runs.given import ScenarioLike

_UP = ("rate", "buffer", "queue", "loss")
"""Keys that each link has; the RTT is a key of the path."""
_FLOW = '[[flow]]\ncc = "cubic"\n'


class OptionError(ValueError):
    """Options exclude each other; the text has the fix."""


def path(
    given: Mapping[str, str],
    settings: Mapping[str, str],
    *,
    up: str | None,
    file: ScenarioLike | None,
    seed: int | None = None,
) -> Scenario:
    """Returns the scenario; all packets take the path of its first flow.

    Args:
        given: The options of the path, by their keys, like `path.rate`.
        settings: Keys with values that override these.
        up: The rate of the upstream direction, if it differs.
        file: The file of a scenario, or another form of one.
        seed: The seed; None for the scenario's.

    Raises:
        OptionError: When `up` is given with a path that defines its upstream direction.
        ScenarioError: When a value is refused.
        OSError: When the file can't be read.
    """
    of_path = {key: value for key, value in given.items() if key != "path.profile"}
    profile = given.get("path.profile")
    if profile is not None:
        of_path = {"path.profile": profile, **of_path}
    if up is not None and (profile is not None or file is not None):
        whose = f"--profile {profile}" if profile is not None else f"--scenario {file}"
        raise OptionError(
            f"--up can't be used with {whose}, which defines its own upstream link\n"
            f"  fix: use --set link.0.rate={up}"
        )
    if file is not None:
        return unjudged(file, seed=seed, set={**of_path, **settings})
    if profile is not None:
        text = f'duration = "60min"\n\n[path]\nprofile = "{profile}"\n\n{_FLOW}'
        return Scenario.parse(text, "link", list({**of_path, **settings}.items()), seed)
    both = PATH | {key.removeprefix("path."): value for key, value in of_path.items()}
    ways = {f"path.{key}": value for key, value in both.items()}
    ways |= {f"link.0.{key}": value for key, value in both.items() if key in _UP}
    if up is not None:
        ways["link.0.rate"] = up
    text = (
        '# The path is the same in both directions.\nduration = "60min"\n\n[path]\nrate = "100mbit"\nrtt = "50ms"\n\n'
        '[[link]]\nname = "up"\nrate = "100mbit"\n\n' + _FLOW + 'reverse_route = ["up"]\n'
    )
    return Scenario.parse(text, "link", list({**ways, **settings}.items()), seed)
