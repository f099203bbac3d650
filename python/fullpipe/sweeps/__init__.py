"""Many runs: points of a scenario, each with many seeds, as a data set of Parquet files.

`execute.py` runs what is missing by `fullpipe.batch`: the simulator first, then other runners, and
runners on a machine's clock last and alone, in the main thread, which Ctrl-C interrupts. On other
runners than the simulator each run is a shard of its own. `store.py` is the directory: the names of
shards tell which runs are missing. `dataset.py` opens it, `series.py` records the first seed of
each point, and `until.py` repeats the execution with more repetitions until a rule holds.
"""
