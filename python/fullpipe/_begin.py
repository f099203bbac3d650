"""Ctrl-C while the command imports its modules: a line instead of the traceback of an import.

The package imports this first. It changes nothing for other programs that import fullpipe.
"""

# Each of these is a part of the interpreter: the import of another module could be the one that is interrupted.
import _signal  # type: ignore[import-not-found]
import os
import sys


def _end(_number: int, _frame: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(128 + _signal.SIGINT)


# "-m" stands there while Python looks for the module that it will run, which may be another one that imports this.
_name = os.path.basename("".join(sys.argv[:1]))  # noqa: PTH119
_called = _name == "fullpipe" or (
    _name == "-m" and ("-m", "fullpipe") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
)
if _called and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _end)
