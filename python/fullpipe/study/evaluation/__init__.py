"""`fullpipe evaluate`: an algorithm judged by a suite of criteria, with a dossier.

- `rfc9743/*.toml`: the criteria of the suite, as data; a user's own file has the same form.
- `suite.py` reads them. `measure.py` runs each criterion as a sweep that the same command resumes, and reduces the
  rows to one value for each cell, contender and seed. `judge.py` makes verdicts of the values.
- `dossier.py` is the report: a page and Markdown. `worst.py` records the run of each worst cell. `command.py` prints.
"""
