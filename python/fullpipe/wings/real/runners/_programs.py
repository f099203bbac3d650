"""Results of runs with programs, on any runner that has them."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from fullpipe.wings.bpf import needed as _bpf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.algorithms.programs.left import Folders
    from fullpipe.algorithms.programs.lines import Lines
    from fullpipe.runners import Result


class WithPrograms(_bpf.Wrapped):
    """The result of a run with programs: their versions and command lines are facts of the host.

    Attributes:
        folders: The files that the programs left; None without programs.
    """

    def __init__(self, result: Result, folders: Folders | None) -> None:
        super().__init__(result)
        self.folders = folders

    def metrics_json(self) -> str:
        """The metrics, with the programs among the facts of the host."""
        metrics = json.loads(super().metrics_json())
        if self.folders is not None:
            metrics["host"] |= _facts(self.folders.programs)
        return json.dumps(metrics)


def _facts(programs: Sequence[Lines]) -> dict[str, str]:
    facts: dict[str, str] = {}
    for each in programs:
        parts = {
            "version": each.version,
            "server": shlex.join(each.server),
            "client": shlex.join(each.client),
        }
        facts |= {
            f"program {each.asked.name}, {part}": text for part, text in parts.items() if text
        }
    return facts
