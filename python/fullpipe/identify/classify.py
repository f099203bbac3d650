"""Decides which algorithm made a flow, or that it is of no known one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fullpipe.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.behavior.observed import Values

Table = tuple["Values", list[str]]
"""Features, shape (flows, features), and the algorithm of each flow."""
UNKNOWN = "unknown"
ACCEPTED = 0.96
"""Share of the simulated flows of known algorithms that the thresholds of novelty accept, in cross-validation."""
_TREES = 300
_FOLDS = 5
_NEAREST = 5
_RANKS = 17
_SEED = 1


@dataclass(frozen=True)
class Identified:
    """A decision.

    Attributes:
        name: The algorithm, or "unknown".
        probabilities: Share of the trees that chose each algorithm, the largest first.
        distance: Distance to the flows of the nearest algorithm, 1 at the threshold.
        reason: The reason for "unknown"; empty otherwise.
    """

    name: str
    probabilities: Sequence[tuple[str, float]]
    distance: float
    reason: str = ""


@dataclass(frozen=True)
class Thresholds:
    """Limits of novelty: the least share of the trees, and the largest distance, for a flow of a known algorithm.

    `accepted` is the share of known flows within both, in cross-validation; `rejected` that of the flows of each
    algorithm outside of one of them, when the classifier was fitted without that algorithm.
    """

    least_share: float
    most_distance: float
    accepted: float
    rejected: float


class Classifier:
    """Trees over the features, with thresholds of novelty.

    A flow is unknown if no algorithm has enough of the trees, or if it is far from the flows of the
    chosen one.
    """

    def __init__(self, table: Table, thresholds: Thresholds | None = None) -> None:
        """Fits the trees; `thresholds` are computed if they are not given, which takes many fits.

        Raises:
            MissingExtraError: When scikit-learn is not installed.
        """
        values, names = table
        self.names = np.array(names)
        self._low, self._span = _scale(values)
        self._values = self._scaled(values)
        self._trees = _forest().fit(values, self.names)
        importance: Values = self._trees.feature_importances_
        self._weight = np.sqrt(importance / importance.sum())
        self.thresholds = thresholds or self._thresholds(values)

    def identify(self, row: Values) -> Identified:
        """Returns the decision on a flow's features."""
        shares = self._trees.predict_proba(row[None, :])[0]
        order = np.argsort(-shares, kind="stable")
        ranked = [(str(self._trees.classes_[at]), float(shares[at])) for at in order]
        name, share = ranked[0]
        distance = float(self._distances(self._scaled(row[None, :]), np.array([name]))[0])
        relative = distance / self.thresholds.most_distance
        reason, least = "", self.thresholds.least_share
        if share < least:
            reason = f"{name} has {share:.0%} of the trees, less than {least:.0%}"
        elif relative > 1:
            reason = f"it is {relative:.2g} times as far from the flows of {name} as these are from each other"
        return Identified(UNKNOWN if reason else name, ranked, relative, reason)

    def _scaled(self, values: Values) -> Values:
        scaled: Values = np.clip((values - self._low) / self._span, -2.0, 3.0)
        return scaled

    def _distances(
        self,
        rows: Values,
        names: Any,
        *,
        without: Any = None,  # noqa: ANN401
    ) -> Values:
        """Returns the mean distance of each row to the nearest flows of its algorithm."""
        found = np.empty(len(rows))
        for number, (row, name) in enumerate(zip(rows, names, strict=True)):
            of_name = self.names == name
            if without is not None:
                of_name &= ~without
            other = (self._values[of_name] - row) * self._weight
            distances = np.sort(np.linalg.norm(other, axis=1))
            found[number] = distances[:_NEAREST].mean() if len(distances) else np.inf
        return found

    def _thresholds(self, values: Values) -> Thresholds:
        """Returns the thresholds that reject the most flows of algorithms left out, and accept enough of the known."""
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=_SEED)
        known = self._left_out(values, [left for _, left in folds.split(values, self.names)])
        groups = [np.flatnonzero(self.names == name) for name in np.unique(self.names)]
        strange = self._left_out(values, groups)
        best: Thresholds | None = None
        for rank in np.linspace(0.0, 1 - ACCEPTED, _RANKS):
            least = float(np.quantile(known[0], rank))
            for other in np.linspace(0.0, 1 - ACCEPTED, _RANKS):
                most = float(np.quantile(known[1], 1 - other))
                accepted = float(np.mean((known[0] >= least) & (known[1] <= most)))
                rejected = float(np.mean((strange[0] < least) | (strange[1] > most)))
                if accepted >= ACCEPTED and (best is None or rejected > best.rejected):
                    best = Thresholds(least, most, accepted, rejected)
        assert best is not None  # both ranks of 0 accept every flow
        return best

    def _left_out(self, values: Values, parts: Sequence[Any]) -> tuple[Values, Values]:
        """Returns, for each flow, the largest share and the distance by a fit without its part."""
        shares, far = np.empty(len(values)), np.empty(len(values))
        for left in parts:
            without = np.zeros(len(values), dtype=bool)
            without[left] = True
            trees = _forest().fit(values[~without], self.names[~without])
            found = trees.predict_proba(values[left])
            shares[left] = found.max(axis=1)
            chosen = trees.classes_[found.argmax(axis=1)]
            far[left] = self._distances(self._values[left], chosen, without=without)
        return shares, far


def _scale(values: Values) -> tuple[Values, Values]:
    low, high = np.quantile(values, [0.02, 0.98], axis=0)
    return low, np.where(high > low, high - low, 1.0)


def _forest() -> Any:  # noqa: ANN401  (scikit-learn has no types)
    try:
        from sklearn.ensemble import ExtraTreesClassifier
    except ImportError:
        raise MissingExtraError("fullpipe trace identify", "scikit-learn", "identify") from None
    return ExtraTreesClassifier(_TREES, min_samples_leaf=2, random_state=_SEED, n_jobs=1)
