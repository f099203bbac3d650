"""Conditions to keep: those of a scenario's `expect`, and shorter forms of them.

`goodput < 10%` is about the first flow, and a share of the bottleneck's rate. `own.rtt.p95 > 4rtt` is about the flow of
that name, and `utilization < 50%` about the bottleneck.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.base.toml import document
from fullpipe.errors import UserError
from fullpipe.wings.search.attack import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PARTS = re.compile(r"\s*(?:(p[0-9.]+|median)\s+of\s+)?([^<>=]+?)\s*(>=|<=|<|>)\s*([^<>=]+?)\s*")
_OPPOSITE = {">=": "<", "<=": ">", "<": ">=", ">": "<="}
_RATES = ("goodput", "goodput_bps")


def expanded(
    texts: Sequence[str], tables: Mapping[str, Any], classes: Sequence[Any] = ()
) -> list[str]:
    """Returns conditions in the form of `expect` for a scenario.

    Raises:
        UserError: When one is no condition of the scenario.
        ScenarioError: When the scenario is refused.
    """
    bare = {key: value for key, value in tables.items() if key != "expect"}
    scenario = _core.Scenario.parse(document(bare), "<scenario>", [], controllers=classes)
    return [_expanded(text, bare, scenario, classes) for text in texts]


def _expanded(
    text: str, tables: Mapping[str, Any], scenario: _core.Scenario, classes: Sequence[Any]
) -> str:
    found = _PARTS.fullmatch(text)
    if found is None:
        raise UserError(
            f"--keep {text!r}: no condition\n"
            "  fix: write it like 'goodput < 10%', 'own.rtt.p95 > 4rtt' or 'link.bottleneck.utilization < 50%'"
        )
    quantile, metric, comparison, bound = found.groups()
    if bound.endswith("%") and metric.rpartition(".")[2] in _RATES:
        share = words.base(bound)[0] / 100
        bound = words.quantity(words.rounded(share * scenario.rate_bps), "bit/s")
    before = f"{quantile} of " if quantile else ""
    refused = None
    for name in _names(metric, scenario):
        made = f"{before}{name} {comparison} {bound}"
        try:
            _core.Scenario.parse(
                document({**tables, "expect": [made]}), "<scenario>", [], controllers=classes
            )
        except _core.ScenarioError as error:
            refused = refused or error
        else:
            return made
    assert refused is not None
    raise UserError(f"--keep {text!r}: {refused.problem}\n  fix: {refused.fix}")


def _names(metric: str, scenario: _core.Scenario) -> Iterator[str]:
    """Yields the full names that a metric may stand for, the likeliest first."""
    if not metric.startswith(("flow.", "link.", "workload.")):
        names = [name for name, _ in scenario.flows]
        if any(metric.startswith(f"{name}.") for name in names):
            yield f"flow.{metric}"
        else:
            if names:
                yield f"flow.{names[0]}.{metric}"
            yield f"link.bottleneck.{metric}"
    yield metric


def negated(text: str) -> str:
    """Returns the condition that holds if another one doesn't."""
    found = _PARTS.fullmatch(text)
    assert found is not None, text
    quantile, metric, comparison, bound = found.groups()
    before = f"{quantile} of " if quantile else ""
    return f"{before}{metric} {_OPPOSITE[comparison]} {bound}"


def renamed(texts: Sequence[str], old: str, new: str) -> list[str]:
    """Returns conditions in which a flow has another name."""
    pattern = re.compile(rf"(?<![\w.+-])(flow\.)?{re.escape(old)}\.(?=[a-z])")
    return [pattern.sub(lambda found: f"{found[1] or ''}{new}.", text) for text in texts]
