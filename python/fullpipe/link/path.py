"""The path of a link: from a scenario's file, or from options, then alike in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe._core import Scenario
from fullpipe.run import load

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULTS = {"rate": "100mbit", "rtt": "50ms", "buffer": "1bdp"}
"""Those of `fullpipe compare`."""
_UP = ("rate", "buffer", "queue", "loss")
"""What a link has of its own; the RTT is the path's."""
_FLOW = '[[flow]]\ncc = "cubic"\n'


class OptionError(ValueError):
    """Options that do not go together; the text says how they do."""


def path(
    given: Mapping[str, str],
    settings: Mapping[str, str],
    *,
    up: str | None,
    profile: str | None,
    file: Path | None,
) -> Scenario:
    """The scenario whose first flow's way all packets go.

    Args:
        given: What was said of the path, by its keys: rate, rtt, buffer, queue, loss.
        settings: Keys with values that come after these.
        up: The rate of the way up, if it differs.
        profile: A named path.
        file: A scenario's.

    Raises:
        OptionError: When `up` is for a path that says itself what the way up is.
        ScenarioError: When something is refused.
        OSError: When the file can't be read.
    """
    of_path = {f"path.{key}": value for key, value in given.items()}
    if profile is not None:
        of_path = {"path.profile": profile, **of_path}
    if up is not None and (profile is not None or file is not None):
        whose = f"--profile {profile}" if profile is not None else f"--scenario {file}"
        raise OptionError(
            f"--up is for a path of options, and {whose} says itself what the way up is\n"
            f"  fix: set it: --set link.0.rate={up}"
        )
    if file is not None:
        return load(file, set={**of_path, **settings})
    if profile is not None:
        text = (
            f'# The path {profile}\nduration = "60min"\n\n[path]\nprofile = "{profile}"\n\n{_FLOW}'
        )
        return Scenario.parse(text, "link", list({**of_path, **settings}.items()))
    # A queue of another kind has a limit of its own.
    both = {
        key: value for key, value in DEFAULTS.items() if key != "buffer" or "queue" not in given
    } | dict(given)
    ways = {f"path.{key}": value for key, value in both.items()}
    ways |= {f"link.0.{key}": value for key, value in both.items() if key in _UP}
    if up is not None:
        ways["link.0.rate"] = up
    text = (
        '# The same both ways\nduration = "60min"\n\n[path]\nrate = "100mbit"\nrtt = "50ms"\n\n'
        '[[link]]\nname = "up"\nrate = "100mbit"\n\n' + _FLOW + 'reverse_route = ["up"]\n'
    )
    return Scenario.parse(text, "link", list({**ways, **settings}.items()))
