"""Saved results: directories that are written atomically, never overwritten, and loaded again.

`save.py` writes a run into a directory. `load.py` reads every kind of saved result (run, sweep,
study) into one form, `model.Results`: rows of metrics, points with their settings, traces. The rows
of a run come from the core (`rows.py`), like those of a sweep.
"""

from fullpipe.results.files import (
    fresh_directory,
    fresh_file,
    parents,
    write_parquet,
    write_shard,
)
from fullpipe.results.kept import plain_path, read_parquet, scan_parquet
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
    "write_shard",
]
