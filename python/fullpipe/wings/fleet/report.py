"""The report of a fleet directory: a comparison of its arms."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.report.model import Report

_FILES = ("ingest.json", "simulate.json", "connections", "requests", "counters")
"""A fleet directory has at least one of these: a description of its origin, or a table."""
WHAT = "a fleet directory"
FIX = "make its report alone; to compare arms of a fleet, use one `fleet ingest` with an --arm for each"


def is_mine(directory: Path) -> bool:
    """Returns whether a directory is a fleet directory."""
    return any((directory / each).exists() for each in _FILES)


def build(directory: Path) -> Report:
    """Builds a report that compares the arms.

    Raises:
        ScenarioError: When the arms can't be compared.
    """
    from fullpipe.wings.fleet.compare.analysis import analyze
    from fullpipe.wings.fleet.compare.options import CompareOptions
    from fullpipe.wings.fleet.compare.page import page

    return page(analyze(CompareOptions(directory)))
