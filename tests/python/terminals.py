"""Commands on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios


def on_a_terminal(width: int, *command: str) -> list[str]:
    """Returns the lines that a command prints on a terminal of `width` columns, without colors; asserts exit code 0."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.pop("COLUMNS", None)
        os.environ["TERM"] = "xterm-256color"
        os.execv(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    printed = b""
    try:
        while part := os.read(terminal, 4096):
            printed += part
    except OSError:  # the end of a pseudo-terminal
        pass
    assert os.waitpid(child, 0)[1] == 0, printed
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", printed.decode()).replace("\r", "\n").splitlines()
