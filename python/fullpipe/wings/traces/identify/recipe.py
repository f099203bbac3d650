"""The recipe of the classifier: its algorithms, and the paths over which they are simulated."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

from fullpipe import _core

ALGORITHMS: dict[str, list[dict[str, str]]] = {
    "newreno": [{}, {"profile": "linux"}, {"slow_start": "hystart++"}],
    "cubic": [{}, {"profile": "linux"}, {"slow_start": "classic"}],
    "bbr1": [{}],
    "bbr2": [{}],
    "bbr3": [{}, {"profile": "linux"}],
    "copa": [{}],
    "vivace": [{}],
    "c4": [{}],
    "ledbat++": [{}],
}
"""The algorithms that the classifier knows, with the parameters of their variants."""
FLOWS = 64
"""Flows of each algorithm, shared by its variants."""
DURATIONS_S = (12.0, 30.0)
"""Range of the lengths of flows, even in the logarithm."""
RATES_MBIT, RTTS_MS, BUFFERS_BDP = (3.0, 60.0), (10.0, 130.0), (0.5, 4.0)
"""Ranges of the drawn paths, even in the logarithm."""
LOSSY, JITTERY, UNEVEN = 0.2, 0.4, 0.3
"""Shares of paths with random loss, with jitter of the path, and with a sender that is late by random times, as on a
busy machine."""
LOSSES, JITTERS_MS = (0.01, 0.1), (0.1, 4.0)
"""Ranges of the loss in percent, and of the jitter."""
STEP = "10ms"
_SEED = "identify-2"


def draws(algorithm: str, flows: int | None = None) -> list[dict[str, Any]]:
    """Returns the scenarios of an algorithm."""
    draw = random.Random(f"{_SEED} {algorithm}")
    variants = ALGORITHMS.get(algorithm, [{}])
    return [
        _scenario(draw, algorithm, variants[n % len(variants)], n + 1)
        for n in range(FLOWS if flows is None else flows)
    ]


def _scenario(
    draw: random.Random, algorithm: str, params: dict[str, str], seed: int
) -> dict[str, Any]:
    def between(ends: tuple[float, float]) -> float:
        return float(ends[0] * (ends[1] / ends[0]) ** draw.random())

    scenario: dict[str, Any] = {
        "duration": f"{between(DURATIONS_S):.1f}s",
        "seed": seed,
        "start_jitter": "20ms",
        "flow": [{"cc": algorithm, "params": params}],
    }
    path = {
        "rate": f"{between(RATES_MBIT):.2f}mbit",
        "rtt": f"{between(RTTS_MS):.1f}ms",
        "buffer": f"{between(BUFFERS_BDP):.2f}bdp",
    }
    if draw.random() < LOSSY:
        path["loss"] = f"{between(LOSSES):.4f}%"
    if draw.random() < JITTERY:
        path["jitter"] = f"{between(JITTERS_MS) * 1e3:.0f}us"
    if draw.random() < UNEVEN:
        scenario["send_jitter"] = f"{between(JITTERS_MS) * 1e3:.0f}us"
    return scenario | {"path": path}


def digest(features: tuple[str, ...]) -> str:
    """Returns a name for the content of the recipe, the features, and the version that simulates."""
    ranges = [DURATIONS_S, RATES_MBIT, RTTS_MS, BUFFERS_BDP, LOSSES, JITTERS_MS]
    about = [ALGORITHMS, FLOWS, ranges, LOSSY, JITTERY, UNEVEN, STEP, _SEED]
    text = json.dumps([about, features, _core.__version__], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
