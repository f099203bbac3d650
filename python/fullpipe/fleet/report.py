"""The report of a fleet directory: its arms, compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.report.model import Report

_FILES = ("ingest.json", "simulate.json", "connections", "requests", "counters")
"""What a fleet directory has one of: who filled it, or a table."""


def is_fleet(directory: Path) -> bool:
    """Whether a directory is a fleet's."""
    return any((directory / each).exists() for each in _FILES)


def build(directory: Path) -> Report:
    """Compares the arms.

    Raises:
        ScenarioError: When they can't be compared.
    """
    from fullpipe.fleet.compare.analysis import analyze
    from fullpipe.fleet.compare.options import CompareOptions
    from fullpipe.fleet.compare.page import page

    return page(analyze(CompareOptions(directory)))
