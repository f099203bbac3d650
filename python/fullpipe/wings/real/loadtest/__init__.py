"""`fullpipe test`: the scenario of a canned test, its runs, and the latency under load that they measure.

`plan.py` makes the scenario. `measure.py` reduces a run to numbers, with `rpm.py` (responsiveness) and `voice.py`
(calls). `show.py` forms the numbers of all seeds as tables and sentences, once for the terminal and the report.
"""
