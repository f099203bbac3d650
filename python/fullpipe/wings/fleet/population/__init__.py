"""A population of simulated paths with downloads under several algorithms, as a fleet directory.

`fullpipe.study` fills the directory: a shard's rows first, then its name, so a killed process
leaves no row twice. Counters are sums of all rows; `shards/counted` marks them as complete for the
present shards.
"""
