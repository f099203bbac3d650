"""Flows of captures and logs: the public names of the wing's package."""

from fullpipe.wings.fleet.workload import about, extract, read

__all__ = ["about", "extract", "read"]
