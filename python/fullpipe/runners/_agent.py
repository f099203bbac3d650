"""Where the program is that sends and receives on kernel TCP (`crates/testbed/src/agent`)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from fullpipe.runners import Missing

_NAME = "fullpipe-agent"


@dataclass(frozen=True)
class Agent:
    """The program, there or not."""

    path: Path

    def missing(self) -> Missing | None:
        """What to do where it is not there."""
        return None if self.path.is_file() else Missing(f"{_NAME} has not been built", "run make setup")


def agent() -> Agent:
    """That beside this Python, or in the build's folder of the source tree."""
    tree = Path(__file__).resolve().parents[3]
    places = [Path(sys.prefix) / "bin" / _NAME, *(tree / "target" / kind / _NAME for kind in ("release", "debug"))]
    return Agent(next((place for place in places if place.is_file()), places[0]))
