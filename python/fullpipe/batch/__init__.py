"""Many runs: what executes them, in which order, and where finished ones are stored. Commands share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def kept_in(directory: Path) -> str:
    """What a command that is stopped says of its finished runs."""
    return f"what is finished is kept in {directory}, and the same command goes on from there"
