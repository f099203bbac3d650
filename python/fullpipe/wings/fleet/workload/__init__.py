"""Workloads: flows from captures and logs, their statistics, and distributions fitted to them.

`extract.py` writes the columns of `crates/wings/ingest` as Parquet, part by part, and merges the parts
when the metadata of the file is known.
"""

from fullpipe.wings.fleet.workload.extract import extract
from fullpipe.wings.fleet.workload.flows import about, read

__all__ = ["about", "extract", "read"]
