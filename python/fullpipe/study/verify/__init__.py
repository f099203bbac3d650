"""`fullpipe verify`: runs kept results again, and compares every number.

`find.py` finds the parts of a directory: sweeps, runs, checks and studies, at any depth. Each part says which runs it
has, and runs some of them again (`parts.py`, `study.py`). `compare.py` compares rows, metrics and traces; `sample.py`
chooses runs, `labels.py` compares settings; `command.py` prints.
"""
