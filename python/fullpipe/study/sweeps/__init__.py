"""Sweeps: points of a scenario, each with many seeds, as a data set of Parquet files.

`execute.py` executes the missing runs with `fullpipe.study`: first on the simulator, then on other
runners, and at the end in real time, one run at a time in the main thread, which Ctrl-C interrupts.
Except on the simulator each run is a shard of its own. `store.py` is the directory: the names of
shards show which runs are missing. `dataset.py` opens it, `series.py` records the first seed of
each point, and `until.py` repeats the execution with more repetitions until a rule holds.
"""
