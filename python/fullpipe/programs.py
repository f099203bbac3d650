"""Programs as flows: the public name of `fullpipe.algorithms.programs`."""

from fullpipe.algorithms.programs import allowed

__all__ = ["allowed"]
