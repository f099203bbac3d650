"""Comparison of the arms of a fleet, and its tables: the public names of the wing."""

from fullpipe.wings.fleet.compare.analysis import analyze
from fullpipe.wings.fleet.compare.options import CompareOptions
from fullpipe.wings.fleet.store import scan

__all__ = ["CompareOptions", "analyze", "scan"]
