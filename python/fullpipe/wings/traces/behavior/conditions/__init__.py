"""Conditions on a trace: rules of a specification that a flow's behavior shows.

A condition is declared once, next to its measurement, with :func:`condition`. Its modules are those of
the algorithms that it is about. `CONDITIONS` has all of them, in the order of tables.
"""

from __future__ import annotations

from fullpipe.wings.traces.behavior.conditions import bbr, growth, loss, probing, window
from fullpipe.wings.traces.behavior.conditions.declare import Condition, Occasion

__all__ = ["CONDITIONS", "Condition", "Occasion", "of_algorithm"]

CONDITIONS: tuple[Condition, ...] = (
    *window.CONDITIONS,
    *growth.CONDITIONS,
    *loss.CONDITIONS,
    *bbr.CONDITIONS,
    *probing.CONDITIONS,
)
"""Every condition on a trace alone; `loss.loss_rate` needs runs of the model, and is every algorithm's."""


def of_algorithm(algorithm: str) -> list[Condition]:
    """Returns the conditions of an algorithm."""
    return [each for each in CONDITIONS if algorithm in each.sections]
