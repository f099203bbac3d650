"""The performance envelope of QUICbench: throughput and delay over spans of ten round trips, and their hulls.

Mishra, Lim and Leong, "Understanding Speciation in QUIC Congestion Control", IMC 2022, take the
convex hull of the 95 % of the points next to their mean; Mishra and Leong, "Containing the Cambrian Explosion
in QUIC Congestion Control", IMC 2023, take a hull for each cluster. Conformance is the share of the
points of both flows that lie within the other's envelope, or next to it by a packet: without that, the hull of a
flow that fills the link is a line, and a jitter of microseconds leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fullpipe.behavior.judge import digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.behavior.observed import Observed, Values

SPAN_RTTS = 10.0
"""The length of a span, as QUICbench samples."""
SHARE = 0.95
"""The share of a cluster's points that its hull contains: those next to its center."""
LEAST_POINTS = 20
_MOST_CLUSTERS = 4
_SEPARATE = 0.6
"""Several clusters are taken if their mean silhouette is at least this (Rousseeuw 1987: 0.5 is a reasonable, 0.7 a
strong structure)."""
_IN_CLUSTER = 5
_SEED = 1


@dataclass(frozen=True)
class Envelope:
    """Points of one flow or of several, and the hulls of their clusters.

    Attributes:
        points: Delay in base RTTs, and throughput as a share of the path's rate, shape (points, 2).
        kept: Whether a point is inside of its cluster's hull, shape (points,).
        hulls: The corners of each hull, counterclockwise, shape (corners, 2) each.
        margin: The distances from a hull that still count as within, along both axes.
    """

    points: Values
    kept: Any
    hulls: Sequence[Values]
    margin: tuple[float, float] = (0.0, 0.0)

    def within(self, points: Values) -> Any:  # noqa: ANN401  (an array of bool)
        """Returns whether each point lies in a hull that is larger by the margin: the Minkowski sum with its box."""
        wide, high = self.margin
        found = np.zeros(len(points), dtype=bool)
        for corners in self.hulls:
            edges = np.roll(corners, -1, axis=0) - corners
            to = points[:, None, :] - corners[None, :, :]
            side = edges[None, :, 0] * to[:, :, 1] - edges[None, :, 1] * to[:, :, 0]
            reach = np.abs(edges[:, 0]) * high + np.abs(edges[:, 1]) * wide
            inside = (side >= -1e-9 - reach[None, :]).all(axis=1)
            least, most = corners.min(axis=0) - self.margin, corners.max(axis=0) + self.margin
            inside &= ((points >= least - 1e-9) & (points <= most + 1e-9)).all(axis=1)
            found |= inside
        return found


@dataclass(frozen=True)
class Conformance:
    """The overlap of a trace and the model's runs.

    Attributes:
        trace: The envelope of the trace.
        model: That of all runs of the model.
        value: The share of the points of both that lie in the other's envelope.
        by_seed: The same with each run of the model alone.
        own: Each run of the model against its other runs: the value that the model itself reaches.
    """

    trace: Envelope
    model: Envelope
    value: float
    by_seed: Sequence[float]
    own: Sequence[float]

    def lines(self) -> list[str]:
        """Returns the result in words."""
        several = len(self.by_seed) > 1
        spread = (
            f" ({digits(min(self.by_seed))} to {digits(max(self.by_seed))} with each of"
            f" {len(self.by_seed)} runs)"
            if several
            else ""
        )
        lines = [f"performance envelope: {digits(self.value)} of the points within both{spread}"]
        if self.own:
            lines.append(
                f"  runs of the model with each other: {digits(min(self.own))} to {digits(max(self.own))}"
            )
        return lines

    def record(self) -> dict[str, Any]:
        """Returns the record for JSON."""
        return {
            "conformance": self.value,
            "by_seed": list(self.by_seed),
            "model_with_itself": list(self.own),
            "points": len(self.trace.points),
            "hulls": [hull.tolist() for hull in self.trace.hulls],
            "model_hulls": [hull.tolist() for hull in self.model.hulls],
        }


def points_of(trace: Observed, rate_bps: float, rtt_s: float) -> Values:
    """Returns delay and throughput of each span of ten base RTTs, in base RTTs and as shares of the rate."""
    span = _span(trace, rtt_s)
    begin = float(trace.time[0])
    edges = np.arange(begin, trace.end, span)
    delivered = trace.column("delivered")
    known = np.isfinite(delivered)
    at = np.interp(edges, trace.time[known], delivered[known])
    times, rtts = trace.samples("rtt" if trace.has("rtt") else "srtt")
    number = np.digitize(times, edges) - 1
    count = np.bincount(number, minlength=len(edges))[: len(edges) - 1]
    total = np.bincount(number, weights=rtts, minlength=len(edges))[: len(edges) - 1]
    rate = 8 * np.diff(at) / span
    full = (count > 0) & (rate > 0)
    points: Values = np.column_stack([total[full] / count[full] / rtt_s, rate[full] / rate_bps])
    return points


def margin_of(trace: Observed, rate_bps: float, rtt_s: float) -> tuple[float, float]:
    """Returns the part of a packet in both axes of points: its time on the link, and its share of a span."""
    bits = 8 * trace.segment
    return bits / rate_bps / rtt_s, bits / (_span(trace, rtt_s) * rate_bps)


def _span(trace: Observed, rtt_s: float) -> float:
    return max(SPAN_RTTS * rtt_s, 4 * trace.gap)


def envelope(points: Values, margin: tuple[float, float] = (0.0, 0.0)) -> Envelope:
    """Returns the envelope of points: the hulls of their clusters."""
    kept = np.zeros(len(points), dtype=bool)
    hulls: list[Values] = []
    labels = _clusters(points)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if len(members) < _IN_CLUSTER:
            continue
        distance = np.linalg.norm(points[members] - points[members].mean(axis=0), axis=1)
        near = members[np.argsort(distance, kind="stable")[: max(int(len(members) * SHARE), 3)]]
        kept[near] = True
        hulls.append(_hull(points[near]))
    return Envelope(points, kept, hulls, margin)


def conformance(
    trace: Values, runs: Sequence[Values], margin: tuple[float, float] = (0.0, 0.0)
) -> Conformance:
    """Returns the overlap of a trace's points with those of the model's runs; `margin` as in :class:`Envelope`."""

    def of(several: Sequence[Values]) -> Envelope:
        return envelope(np.concatenate(list(several)), margin)

    own_envelope, whole = of([trace]), of(runs)
    singles = [of([each]) for each in runs]
    others = [
        of([each for number, each in enumerate(runs) if number != left])
        for left in (range(len(runs)) if len(runs) > 1 else ())
    ]
    return Conformance(
        own_envelope,
        whole,
        overlap(own_envelope, whole),
        [overlap(own_envelope, each) for each in singles],
        [overlap(one, rest) for one, rest in zip(singles, others, strict=False)],
    )


def overlap(one: Envelope, other: Envelope) -> float:
    """Returns the mean of the two shares of kept points within the other's hulls.

    QUICbench counts the points of both together; here both sides weigh the same, since the model has
    as many points as runs.
    """
    shares = [
        float(b.within(a.points[a.kept]).mean()) if a.kept.any() and b.hulls else 0.0
        for a, b in ((one, other), (other, one))
    ]
    return sum(shares) / 2


def _clusters(points: Values) -> Any:  # noqa: ANN401
    """Returns the cluster of each point, by k-means with the number of clusters of the best silhouette."""
    from scipy.cluster.vq import kmeans2

    best, labels = _SEPARATE, np.zeros(len(points), dtype=int)
    spread = points.std(axis=0)
    scaled = points / np.where(spread > 0, spread, 1.0)
    for k in range(2, _MOST_CLUSTERS + 1):
        if len(points) < 4 * k or len(np.unique(scaled, axis=0)) < k:
            break
        _, found = kmeans2(scaled, k, minit="++", rng=np.random.default_rng(_SEED), iter=30)
        sizes = np.bincount(found, minlength=k)
        if sizes.min() < _IN_CLUSTER:
            continue
        value = _silhouette(scaled, found)
        if value > best:
            best, labels = value, found
    return labels


def _silhouette(points: Values, labels: Any) -> float:  # noqa: ANN401
    distances = np.linalg.norm(points[:, None, :] - points[None, :, :], axis=2)
    sums = np.stack(
        [distances[:, labels == k].sum(axis=1) for k in range(labels.max() + 1)], axis=1
    )
    sizes = np.bincount(labels)
    rows = np.arange(len(points))
    inside = sums[rows, labels] / np.maximum(sizes[labels] - 1, 1)
    means = sums / sizes
    means[rows, labels] = np.inf
    outside = means.min(axis=1)
    return float(np.mean((outside - inside) / np.maximum(np.maximum(inside, outside), 1e-12)))


def _hull(points: Values) -> Values:
    """Returns the corners of the convex hull; of points on a line, those of a thin triangle or more around it."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except QhullError:
        reach = 1e-6 * max(float(np.abs(points).max()), 1.0)
        around = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * reach
        points = (points[:, None, :] + around[None, :, :]).reshape(-1, 2)
        hull = ConvexHull(points)
    corners: Values = points[hull.vertices]
    return corners
