"""Results in directories: how they are saved, whole or not at all, and loaded again. Nothing is ever overwritten."""

from fullpipe.results.files import (
    fresh_directory,
    fresh_file,
    parents,
    plain_path,
    read_parquet,
    scan_parquet,
    write_parquet,
)
from fullpipe.results.save import save_run, save_runs, suited_interval

__all__ = [
    "fresh_directory",
    "fresh_file",
    "parents",
    "plain_path",
    "read_parquet",
    "save_run",
    "save_runs",
    "scan_parquet",
    "suited_interval",
    "write_parquet",
]
