"""This machine's own TCP, in real time, between two network namespaces joined by the emulated path."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.algorithms.programs.left import Folders
from fullpipe.algorithms.programs.lines import lines
from fullpipe.base.progress import Intervals
from fullpipe.errors import refusal
from fullpipe.runners import Missing
from fullpipe.wings.bpf import needed as _bpf
from fullpipe.wings.bpf import states as _states
from fullpipe.wings.bpf.program import KernelError
from fullpipe.wings.real.runners._programs import WithPrograms

if TYPE_CHECKING:
    from fullpipe.runners import Progress, Result

_TUN = Path("/dev/net/tun")


class Kernel:
    """A runner in network namespaces of its own, which vanish at the end."""

    name = "kernel"
    about = "this machine's TCP, and any programs, in real time, behind the same path"
    real_time = True
    samples = programs = bpf = True
    namespaces = ""

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
        """Refuses features that a kernel's TCP does not have, and programs that are not there or not allowed."""
        _core.check_kernel(scenario, [each.name for each in _bpf.needed(scenario)])
        lines(scenario, *_core.kernel_place())

    def execute(self, scenario: _core.Scenario, trace: str, progress: Progress | None) -> Result:
        """Runs the scenario on this machine's clock."""
        said = progress.interval_of if isinstance(progress, Intervals) else None
        programs = lines(scenario, *_core.kernel_place())
        folders = Folders(programs) if programs else None
        commands = [
            (each.asked.index, each.server, each.client, each.cc, folders.of(each))
            for each in programs
            if folders
        ]
        states = _states.Recorder()
        try:
            with ExitStack() as loaded:
                needed = _bpf.needed(scenario)
                rows = 0 if trace == "off" else _states.INTERVAL_US
                for each in needed:
                    loaded.enter_context(each.loaded(rows))
                own = {each.what.algorithm: each.name for each in needed if not each.present}
                if rows and own:
                    loaded.enter_context(states.recording([*own.values()]))
                result: Result = _core.run_kernel(scenario, trace, commands, progress, said)
        except KernelError as error:
            raise _bpf.refused(error, scenario) from error
        except _core.MachineError as error:
            raise refusal(f"--on kernel: {error.problem}", error.fix, file=scenario.file) from error
        except (OSError, RuntimeError) as error:
            raise refusal(f"--on kernel: {error}", "try again", file=scenario.file) from error
        if needed:
            result = _bpf.WithBpf(result, needed, states.changes(scenario, own))
        if folders is None:
            return result
        folders.tidy()
        return WithPrograms(result, folders)


RUNNER = Kernel()
