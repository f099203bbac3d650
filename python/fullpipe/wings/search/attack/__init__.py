"""`fullpipe attack`: searches scenarios for those in which an algorithm does worst, and shrinks them.

- `space.toml` is the space, as data; a user's own file has the same form. `space.py` reads it and makes scenarios.
- `goals.py` has the goals. `trial.py` measures scenarios for a goal. `optimize.py` proposes scenarios, at random or by
  evolution strategies, and learns from their values. `search.py` is the loop within a budget, kept by `store.py`.
- `worst.py` chooses different ones of the worst scenarios, and verifies them with further seeds. `command.py` prints.
- `shrink/` makes a scenario as short as possible while conditions hold.
"""
