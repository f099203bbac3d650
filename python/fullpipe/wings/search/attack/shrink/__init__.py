"""`fullpipe attack shrink`: the shortest scenario in which conditions still hold.

- `conditions.py` reads the conditions: those of `expect`, with shorter forms.
- `holds.py` runs a scenario with several seeds and judges the conditions.
- `edits.py` proposes simpler scenarios: without elements, keys or seconds, and with rounder values.
- `reduce.py` applies the edits after which the conditions still hold. `command.py` prints the result.
"""
