"""The program in the process of a candidate: it imports the code, and answers the calls of the simulator.

This module runs with the candidate in one interpreter. So it has nothing that the candidate must not have.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from fullpipe import _core
from fullpipe.controllers import given

SOCKET = 3
"""The descriptor of the socket to the simulator."""
NAME = "candidate"


def main(file: str, made: str) -> None:
    """Serves the candidate of a file until the simulator ends.

    Args:
        file: A Python file, or a library.
        made: The class of a Python file; empty for a library.
    """
    try:
        if made:
            name, classes = NAME, given([], {NAME: _class(file, made)})
        else:
            name, classes = _core.load_plugin(Path(file)).name, []
    except BaseException as error:
        problem = getattr(error, "problem", None) or f"{type(error).__name__}: {error}"
        _core.refuse_to_serve(SOCKET, str(problem)[:2000])
        return
    _core.serve(SOCKET, name, classes)


def _class(file: str, made: str) -> type:
    spec = importlib.util.spec_from_file_location("candidate", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found = getattr(module, made)
    if not isinstance(found, type):
        raise TypeError(f"{made} is no class")
    return found
