"""The simulator: virtual time, the same result for the same seed on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.algorithms.rehearsal import rehearse
from fullpipe.base.memory import refuse_too_large
from fullpipe.runners import SIMULATOR

if TYPE_CHECKING:
    from fullpipe.runners import Progress


class Simulator:
    """The simulator, on one thread, as fast as possible."""

    name = SIMULATOR
    about = "the simulator: virtual time, bit for bit the same for the same scenario and seed"
    real_time = False
    packets = True
    own_controllers = own_code = policies = True

    def missing(self) -> None:
        """Returns None: the simulator always works."""

    def refuse(self, scenario: _core.Scenario, trace: str) -> None:
        """Refuses a flow that the simulator does not support, and more memory than is free."""
        _core.check_simulator(scenario)
        refuse_too_large(scenario, trace)

    def execute(
        self, scenario: _core.Scenario, trace: str, progress: Progress | None
    ) -> _core.RunResult:
        """Runs the scenario in virtual time."""
        rehearse(scenario.controllers)
        return _core.run(scenario, trace, progress)


RUNNER = Simulator()
