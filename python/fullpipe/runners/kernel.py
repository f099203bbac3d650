"""This machine's own TCP, in real time, between two network namespaces with the emulated path between them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.errors import refusal
from fullpipe.runners import Missing

if TYPE_CHECKING:
    from fullpipe.runners import Progress

_TUN = Path("/dev/net/tun")


class Kernel:
    """Runs in namespaces of its own, of which nothing is left."""

    name = "kernel"
    about = "this machine's TCP, in real time, behind the same path"
    real_time = True

    def missing(self) -> Missing | None:
        """Whether this is Linux with TUN devices; what else is needed is tried by a run, which says what to do."""
        if sys.platform != "linux":
            return Missing("it needs Linux", "run it on Linux")
        if not _TUN.exists():
            return Missing(
                f"there is no {_TUN}",
                "as root: modprobe tun; in a container: --device /dev/net/tun",
            )
        return None

    def refuse(self, scenario: _core.Scenario, trace: str) -> None:
        """Refuses what a kernel's TCP has not got."""
        _core.check_kernel(scenario)

    def execute(
        self, scenario: _core.Scenario, trace: str, progress: Progress | None
    ) -> _core.RunResult:
        """Runs it."""
        try:
            return _core.run_kernel(scenario, trace, progress)
        except _core.MachineError as error:
            raise refusal(f"--on kernel: {error.problem}", error.fix, file=scenario.file) from error
        except (OSError, RuntimeError) as error:
            raise refusal(f"--on kernel: {error}", "try again", file=scenario.file) from error


RUNNER = Kernel()
