"""`fullpipe validate --random`: draws scenarios, and compares the simulator with Linux's TCP on each.

`draw.py` has the prior, `runs.py` runs a scenario on both, `judge.py` compares the numbers, `acks.py` the windows
ACK by ACK, `factors.py` finds what the misses have in common, `show.py` and `page.py` print, and `store.py` is the
directory that keeps the kernel's results.
"""
