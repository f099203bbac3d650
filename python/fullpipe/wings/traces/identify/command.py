"""Reads and identifies a trace: the work of `fullpipe trace identify`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.errors import UserError
from fullpipe.wings.traces.behavior.observed import LacksError
from fullpipe.wings.traces.behavior.source import TraceError, open_trace
from fullpipe.wings.traces.identify import recipe
from fullpipe.wings.traces.identify.features import features
from fullpipe.wings.traces.identify.train import classifier, folder, is_trained, train

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from fullpipe.wings.traces.identify.classify import Identified

_SHOWN = 3


class UntrainedError(UserError):
    """The classifier has not been trained; the text has the fix."""


def train_all() -> tuple[int, Path]:
    """Simulates the recipe's flows, unless they are in the cache; returns their number and the cache's directory."""
    values, _ = train()
    classifier()
    return len(values), folder()


def identify_trace(trace: Path, flow: str | None = None) -> tuple[str, Identified]:
    """Returns the flow's name, and the decision on it.

    Raises:
        UntrainedError: When the classifier has not been trained.
        MissingExtraError: When scikit-learn is not installed.
        TraceError: When the trace is too short, or lacks a column.
        UserError: When the trace can't be read.
        OSError: When it can't be read.
    """
    source = open_trace(trace, flow)
    if not is_trained():
        count = len(recipe.ALGORITHMS) * recipe.FLOWS
        raise UntrainedError(
            "fullpipe trace identify: the classifier has not been trained on this machine\n"
            f"  fix: run fullpipe trace identify --train, which simulates {count} flows in a few minutes"
        )
    try:
        row = features(source.observed)
    except LacksError as error:
        raise TraceError(
            f"{trace}: {error}\n  fix: record ten seconds or more, at the sender or the bottleneck, with ACKs"
        ) from error
    return source.observed.name, classifier().identify(row, source.observed)


def show(name: str, found: Identified, console: Console) -> None:
    """Prints the decision, and the algorithms that are most like the flow."""
    console.print(Text(f"{name}: {found.name}", style="bold"), soft_wrap=True)
    if found.reason:
        console.print(Text(f"  {found.reason}"), soft_wrap=True)
    ranked = ", ".join(f"{name} {share:.0%}" for name, share in found.probabilities[:_SHOWN])
    console.print(Text(f"  most like {ranked} of the trees"), soft_wrap=True)


def as_json(name: str, found: Identified) -> str:
    """Returns the decision as JSON."""
    return json.dumps(
        {
            "flow": name,
            "algorithm": found.name,
            "reason": found.reason,
            "shares": dict(found.probabilities),
            "nearness": found.nearness,
        }
    )
