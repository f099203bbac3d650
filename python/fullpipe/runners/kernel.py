"""This machine's own TCP, in real time, between two network namespaces joined by the emulated path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.errors import refusal
from fullpipe.progress import Intervals
from fullpipe.runners import Missing

if TYPE_CHECKING:
    from fullpipe.runners import Progress

_TUN = Path("/dev/net/tun")


class Kernel:
    """A runner in network namespaces of its own, which vanish at the end."""

    name = "kernel"
    about = "this machine's TCP, in real time, behind the same path"
    real_time = True

    def missing(self) -> Missing | None:
        """Returns the reason without Linux or TUN devices; a run tries the other requirements and reports a fix."""
        if sys.platform != "linux":
            return Missing("it needs Linux", "run it on Linux")
        if not _TUN.exists():
            return Missing(
                f"there is no {_TUN}",
                "as root: modprobe tun; in a container: --device /dev/net/tun",
            )
        return None

    def refuse(self, scenario: _core.Scenario, trace: str) -> None:
        """Refuses features that a kernel's TCP does not have."""
        _core.check_kernel(scenario)

    def execute(
        self, scenario: _core.Scenario, trace: str, progress: Progress | None
    ) -> _core.RunResult:
        """Runs the scenario on this machine's clock."""
        try:
            said = progress.interval_of if isinstance(progress, Intervals) else None
            return _core.run_kernel(scenario, trace, progress, said)
        except _core.MachineError as error:
            raise refusal(f"--on kernel: {error.problem}", error.fix, file=scenario.file) from error
        except (OSError, RuntimeError) as error:
            raise refusal(f"--on kernel: {error}", "try again", file=scenario.file) from error


RUNNER = Kernel()
