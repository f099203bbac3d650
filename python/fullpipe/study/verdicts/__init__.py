"""Measured numbers and their references: estimated, judged, shown and stored.

`judged.Judged` is a measured number with its reference and its verdict. `show.py` prints it,
`estimate.py` reduces many runs to one number, and `reader.py` reads files of expected numbers. Rust
judges the conditions of `evaluate`; they become `Judged`, too, for display and storage.
"""
