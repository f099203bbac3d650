"""`fullpipe trace identify`: the algorithm that made a trace, by a classifier of simulated flows.

`recipe.py` declares the algorithms and the drawn paths, `features.py` the numbers that are taken of a
flow, `train.py` simulates the flows and keeps their features, `classify.py` fits and decides.
"""
