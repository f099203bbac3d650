"""Score of an algorithm over scenarios that are drawn from declared priors: one number with its interval and parts.

`suite.py` reads suites and draws their cells; `suites/` has those of the package. `candidate.py` reads candidates,
`process.py` runs a candidate's code in contained processes, `inside.py` is the program in them. `measure.py` executes
cells and keeps their values (`kept.py`), `points.py` turns values into the score. `race.py` ends the search of a
candidate that can't win, `holdout.py` has the secret scenarios and the alarm. `command.py` is the command.
"""
