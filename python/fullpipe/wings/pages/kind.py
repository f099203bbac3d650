"""Algorithms in JavaScript: the page runs one that a reader writes there."""

from __future__ import annotations

import re

from fullpipe.algorithms.resolve import IN_PAGE, Kind
from fullpipe.errors import refusal

_FILE = re.compile(r"\.m?js(:[^:/]*)?$")
_ONLY = "an algorithm in JavaScript runs in the page of `fullpipe explore`"
_INSTEAD = "write it into that page (docs/guide/explore.md), or in Python (docs/tutorial/python-algorithm.md)"


def _refuse(name: str) -> str:
    raise refusal(_ONLY, _INSTEAD, place=name)


KINDS = (
    Kind(
        "JavaScript",
        "mine.js",
        lambda text: _FILE.search(text) is not None,
        _ONLY,
        "pages",
        _INSTEAD,
        IN_PAGE,
        is_path=True,
        is_code=True,
        load=_refuse,
        use=_refuse,
    ),
)
