"""Workloads: flows out of captures and logs, what they are like, and laws that they are drawn from."""

from fullpipe.workload.extract import extract
from fullpipe.workload.flows import about, read

__all__ = ["about", "extract", "read"]
