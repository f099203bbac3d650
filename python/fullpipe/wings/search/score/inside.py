"""The program that serves a candidate: it forks a process for each run, which imports the code and answers the calls.

The program itself never runs the code, so it may fork, and each run begins in the same state. This module is in one
interpreter with the candidate, so it has nothing that the candidate must not have.
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.util
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

from fullpipe import _core
from fullpipe.algorithms.resolve import described

SOCKET = 3
"""The descriptor of the socket to the simulator."""
NAME = "candidate"


def main(file: str, made: str, *, contained: bool) -> None:
    """Serves the candidate of a file, in a process for each socket that comes, until the simulator ends.

    Args:
        file: A Python file, or a library.
        made: The class of a Python file; empty for a library.
        contained: Whether the processes contain themselves.
    """
    if made:
        _foresee(Path(file).read_bytes())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel takes ended processes away
    gc.freeze()  # else the first collection of a process would copy its memory
    with socket.socket(socket.AF_UNIX, fileno=SOCKET) as parent:
        while (found := socket.recv_fds(parent, 1, 1))[0]:
            [number] = found[1]
            if os.fork() == 0:
                parent.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                try:
                    if contained:
                        _core.contain_further()
                    _serve(number, file, made)
                finally:
                    os._exit(0)
            os.close(number)


def _foresee(content: bytes) -> None:
    """Imports the installed modules that a file will import, which may take longer than its runs."""
    try:
        body = ast.parse(content).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return  # the import of the file says it
    for each in body:
        names = [name.name for name in each.names] if isinstance(each, ast.Import) else []
        if isinstance(each, ast.ImportFrom) and each.module and not each.level:
            names = [each.module]
        for name in names:
            with suppress(BaseException):
                importlib.import_module(name)


def _serve(number: int, file: str, made: str) -> None:
    try:
        if made:
            name, classes = NAME, described([], {NAME: _class(file, made)})
        else:
            name, classes = _core.load_plugin(Path(file)).name, []
    except BaseException as error:
        problem = getattr(error, "problem", None) or f"{type(error).__name__}: {error}"
        _core.refuse_to_serve(number, str(problem)[:2000])
        return
    _core.serve(number, name, classes)


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
