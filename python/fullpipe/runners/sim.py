"""The simulator: virtual time, the same result for the same seed on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.memory import refuse_too_large
from fullpipe.runners import SIMULATOR

if TYPE_CHECKING:
    from fullpipe.runners import Progress


class Simulator:
    """Runs on one thread, as fast as it goes."""

    name = SIMULATOR
    about = "the simulator: virtual time, bit for bit the same for a scenario and a seed"
    real_time = False

    def missing(self) -> None:
        """It is always there."""

    def refuse(self, scenario: _core.Scenario, trace: str) -> None:
        """Refuses what would need more memory than there is."""
        refuse_too_large(scenario, trace)

    def execute(
        self, scenario: _core.Scenario, trace: str, progress: Progress | None
    ) -> _core.RunResult:
        """Runs it."""
        return _core.run(scenario, trace, progress)


RUNNER = Simulator()
