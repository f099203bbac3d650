"""Comparisons of a fleet's arms in Python, and the rows and checks of their JSON output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fullpipe.wings.fleet.compare.analysis import analyze
from fullpipe.wings.fleet.compare.options import read

if TYPE_CHECKING:
    from pathlib import Path

BBR1 = {"rate": 1.3, "loss": 8.0, "queue": 2.5, "outliers": 0.0}
WISH: dict[str, Any] = {
    "min_bytes": "1MB",
    "by": "rtt",
    "against": None,
    "unit": "auto",
    "effect": "5%",
    "ratio": None,
}
Rows = dict[tuple[str, str, str], dict[str, Any]]


def told(directory: Path, **args: str) -> dict[str, Any]:
    """Returns the JSON output of a comparison."""
    record = analyze(read(directory, **(WISH | args))).record()
    found: dict[str, Any] = json.loads(json.dumps(record, allow_nan=False))
    return found


def rows(found: dict[str, Any]) -> Rows:
    return {(each["metric"], each["a"], each["b"]): each for each in found["decision"]}


def check(found: dict[str, Any], name: str) -> dict[str, Any]:
    (it,) = (each for each in found["checks"] if each["check"] == name)
    return dict(it)
