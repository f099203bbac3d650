"""The page of `fullpipe explore`: the simulator itself in a browser, offline, in one file."""

from fullpipe.explore.page import DEFAULT, EngineError, explorer

__all__ = ["DEFAULT", "EngineError", "explorer"]
