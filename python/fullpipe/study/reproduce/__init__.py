"""Reproduction of published results: from `published/*.toml` to tables of verdicts and pictures.

A file is parsed into points (a scenario, seeds, a trace level: `groups.py`), cells of tables
(`tables.py`, row names by `decode.py`) and claims (`claims.py`); errors are reported before
anything runs. `study.py` collects the numbers needed of each point, and `runner.py` runs all points
and seeds by `batch.repeated`. `measures/` takes these numbers in the run's thread and drops its
trace, so memory does not grow with the number of runs. `verdicts.estimate` reduces them to one
number with a confidence interval; cell and claim judge it; `show.py` and `show_claims.py` print,
`save.py` writes. A picture that needs a trace repeats its runs.

`fleet/` is a study of a fleet (`[fleet]` in its file). Both kinds of claims share
`statement.Statement`.
"""
