"""Applies edits to a scenario while its conditions hold."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fullpipe.base.toml import document
from fullpipe.wings.search.attack import words
from fullpipe.wings.search.attack.shrink.edits import (
    Subject,
    fewer_elements,
    fewer_items,
    fewer_keys,
    fewer_seconds,
    fewer_words,
    rounder,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fullpipe.wings.search.attack.shrink.edits import Edit

_ROUNDS = 8
_LEAST_S = 5.0
_LEAST_RTTS = 50
"""The time to measure, which a shorter scenario keeps: to hold during the first round trips is no finding."""


def reduce(
    subject: Subject,
    holds: Callable[[Subject], bool],
    tick: Callable[[Subject], object] = lambda _subject: None,
    least_s: float | None = None,
) -> Subject:
    """Returns the simplest scenario that edits reach while the conditions hold.

    Args:
        subject: The scenario, in which the conditions hold.
        holds: Whether the conditions hold in a scenario.
        tick: Called after each edit.
        least_s: The seconds to measure at least; None for the usual ones, and no more than the scenario measures.
    """
    least_s = _least(subject) if least_s is None else least_s
    edits: list[Edit] = [
        fewer_elements,
        fewer_keys,
        partial(fewer_seconds, least_s=least_s),
        fewer_items,
        fewer_words,
        rounder,
    ]
    tried: set[str] = set()
    for _ in range(_ROUNDS):
        before = subject
        for edit in edits:
            subject = _exhausted(subject, edit, holds, tick, tried)
        if subject == before:
            break
    return subject


def _exhausted(
    subject: Subject,
    edit: Edit,
    holds: Callable[[Subject], bool],
    tick: Callable[[Subject], object],
    tried: set[str],
) -> Subject:
    """Applies an edit as often as it succeeds."""
    while True:
        for simpler in edit(subject):
            text = f"{simpler.keep}\n{document(simpler.tables)}"
            if text in tried:
                continue
            tried.add(text)
            if holds(simpler):
                subject = simpler
                tick(subject)
                break
        else:
            return subject


def _least(subject: Subject) -> float:
    tables = subject.tables
    duration_s = words.base(tables["duration"])[0]
    measured_s = duration_s - words.base(tables.get("measure_from", "0s"))[0]
    rtt_s = words.base(tables.get("path", {}).get("rtt", "100ms"))[0]
    return min(measured_s, max(_LEAST_S, _LEAST_RTTS * rtt_s))
