"""Depth of the tests that have a number of cases: with FULLPIPE_DEEP=1, as in `make deep`, that of a release."""

from __future__ import annotations

import os

DEEP = bool(os.environ.get("FULLPIPE_DEEP"))


def of(variable: str, usual: int, deep: int) -> int:
    """Returns a depth: the variable's value, or that of a change or a release."""
    return int(os.environ.get(variable) or (deep if DEEP else usual))
