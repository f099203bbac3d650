"""Runs a drawn scenario on the kernel and on the simulator, and keeps the numbers of each flow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fullpipe.runners.sim import RUNNER as SIMULATOR
from fullpipe.wings.real.runners import uml
from fullpipe.wings.real.validate.quantities import FlowNumbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fullpipe.base.metrics import Metrics
    from fullpipe.runners import Progress
    from fullpipe.wings.real.validate.drawn.draw import Drawn


class KeptFlow(FlowNumbers):
    """A flow's numbers in a run, in SI units; None without a sample, or for a flow that did not complete."""

    rtt_p95_s: float | None
    completion_s: float | None
    response_s: float | None


def on_kernel(drawn: Drawn, progress: Progress) -> list[list[KeptFlow]]:
    """Runs a scenario on user-mode Linux with each of its seeds, in one boot.

    Raises:
        ScenarioError: When user-mode Linux fails.
    """
    scenarios = [drawn.setup.scenario(seed) for seed in _seeds(drawn.seeds)]
    made = uml.execute(scenarios, "off", progress)
    return [numbers(json.loads(each.metrics_json())) for each in made]


def on_simulator(drawn: Drawn, seeds: int, progress: Progress) -> list[list[KeptFlow]]:
    """Runs a scenario on the simulator: with `seeds` seeds or more if it depends on random numbers, otherwise once."""
    count = max(seeds, drawn.seeds) if drawn.is_random else 1
    scenarios = (drawn.setup.scenario(seed) for seed in _seeds(count))
    made = (SIMULATOR.execute(each, "off", progress) for each in scenarios)
    return [numbers(json.loads(each.metrics_json())) for each in made]


def numbers(metrics: Metrics) -> list[KeptFlow]:
    """Returns the numbers to keep of a run."""
    return [
        KeptFlow(
            goodput_bps=flow["goodput_bps"],
            rtt_mean_s=flow["rtt_s"]["mean"],
            rtt_p95_s=flow["rtt_s"]["p95"],
            retransmits=flow["retransmits"],
            completion_s=flow["completion_s"],
            response_s=flow["response_s"]["mean"],
        )
        for flow in metrics["flows"]
    ]


def _seeds(count: int) -> Iterable[int]:
    return range(1, count + 1)
