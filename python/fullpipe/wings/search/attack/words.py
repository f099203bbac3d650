"""Quantities of scenarios as people write them: few digits, and a unit that fits."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"\+?\s*(-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)\s*(.*)", re.IGNORECASE)
_FACTORS = {
    "s": {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0},
    "bit/s": {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9},
    "B": {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1024.0, "mib": 1024.0**2},
}
"""The units of each dimension in lower case, in its base."""
_SHOWN = {
    "s": (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)),
    "bit/s": (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)),
    "B": (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)),
}
_DIGITS = 2


def base(text: str) -> tuple[float, str]:
    """Returns the value of a quantity in the base of its dimension, and the dimension or its own unit.

    Raises:
        ValueError: When it is no number with a unit.
    """
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    number, unit = float(found[1]), found[2].strip()
    for dimension, factors in _FACTORS.items():
        if unit.lower() in factors and unit:
            return number * factors[unit.lower()], dimension
    if re.search(r"[0-9\s,]", unit):
        raise ValueError(text)
    return number, unit


def rounded(value: float, digits: int = _DIGITS) -> float:
    """Returns a number with `digits` significant digits."""
    return float(f"{value:.{digits - 1}e}") if math.isfinite(value) else value


def quantity(value: float, unit: str) -> str:
    """Writes a value of a dimension's base, or of a unit, without an exponent."""
    for name, factor in _SHOWN.get(unit, ()):
        if abs(value) >= factor * (1 - 1e-9):
            return f"{_plain(value / factor)}{name}"
    if unit in _SHOWN:
        name, factor = _SHOWN[unit][1 if unit == "s" else -1]
        return f"{_plain(value / factor)}{name}"
    return f"{_plain(value)}{unit}"


def _plain(number: float) -> str:
    text = f"{rounded(number, 6):f}".rstrip("0").rstrip(".")
    return text or "0"
