"""Options of a comparison, and their parsing from the command line."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe.errors import refusal

if TYPE_CHECKING:
    from pathlib import Path

UNITS = ("auto", "pair", "host", "net", "client", "connection")
_SIZES = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison.

    Attributes:
        directory: The fleet directory.
        min_bytes: Size in bytes below which connections and requests are left out.
        by: A column that splits the fleet into strata, or `rtt`.
        against: The baseline arm; None for the default one.
        unit: The unit of independent observation, one of :data:`UNITS`.
        effect: The smallest effect of interest, as a share of the value.
        ratio: Expected shares of connections by arm; None to derive them from the hosts.
    """

    directory: Path
    min_bytes: int = 1_000_000
    by: str = "rtt"
    against: str | None = None
    unit: str = "auto"
    effect: float = 0.05
    ratio: dict[str, float] | None = None


def read(
    directory: Path,
    *,
    min_bytes: str,
    by: str,
    against: str | None,
    unit: str,
    effect: str,
    ratio: str | None,
) -> CompareOptions:
    """Parses options.

    Raises:
        ScenarioError: When an option can't be parsed.
    """
    if unit not in UNITS:
        raise refusal(
            "no such unit", f"choose one of {', '.join(UNITS)}", key="--cluster", value=unit
        )
    return CompareOptions(
        directory,
        _bytes(min_bytes),
        by,
        against,
        unit,
        _share(effect),
        _parts(ratio) if ratio else None,
    )


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if not found or found[2] not in _SIZES:
        raise refusal(
            "not a size", "write it like 1MB, 500kB, or 0 for all", key="--min-bytes", value=text
        )
    return int(float(found[1]) * _SIZES[found[2]])


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise refusal(
            "must be greater than 0 and less than 1",
            "write it like 5% or 0.05",
            key="--effect",
            value=text,
        )
    return share


def _parts(text: str) -> dict[str, float]:
    parts = {}
    for each in text.split(","):
        arm, equals, part = each.partition("=")
        try:
            parts[arm.strip()] = float(part)
        except ValueError:
            equals = ""
        if not (equals and arm.strip() not in ("",) and math.isfinite(parts[arm.strip()])):
            raise refusal(
                "not ARM=PART, ARM=PART …", "write it like cubic=1,bbr=1", key="--ratio", value=text
            )
    return parts
