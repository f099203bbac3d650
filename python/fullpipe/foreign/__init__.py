"""Measurements of other programs as kept runs, in the form that `run --out` writes.

One module per kind of file makes flows of it (`flow.py`); `kept.py` saves them; `kinds.py`
recognizes the kind of a file by its content.
"""
