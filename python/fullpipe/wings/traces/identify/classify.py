"""Decides which algorithm made a flow, or that it is of no known one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fullpipe.errors import MissingExtraError
from fullpipe.wings.traces.identify.check import contradiction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.wings.traces.behavior.observed import Observed, Values

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
        nearness: Share of the trees that put the flow next to flows of the chosen algorithm.
        reason: The reason for "unknown"; empty otherwise.
    """

    name: str
    probabilities: Sequence[tuple[str, float]]
    nearness: float
    reason: str = ""


@dataclass(frozen=True)
class Thresholds:
    """Limits of novelty: the least share of the trees, and the least nearness, of a flow of a known algorithm.

    `accepted` is the share of known flows within both, in cross-validation; `rejected` that of the flows of each
    algorithm outside of one of them, when the classifier was fitted without that algorithm.
    """

    least_share: float
    least_nearness: float
    accepted: float
    rejected: float


class Classifier:
    """Trees over the features, with thresholds of novelty.

    A flow is unknown if no algorithm has enough of the trees, if it is unlike the flows of the chosen one,
    or if it breaks a rule of the chosen one.
    """

    def __init__(self, table: Table, thresholds: Thresholds | None = None) -> None:
        """Fits the trees; `thresholds` are computed if they are not given, which takes many fits.

        Raises:
            MissingExtraError: When scikit-learn is not installed.
        """
        values, names = table
        self.names = np.array(names)
        self._values = values
        self._trees = _forest().fit(values, self.names)
        self._leaves = self._trees.apply(values)
        self.thresholds = thresholds or self._thresholds()

    def identify(self, row: Values, trace: Observed | None = None) -> Identified:
        """Returns the decision on a flow's features, and with its trace by the rules of the chosen algorithm."""
        shares = self._trees.predict_proba(row[None, :])[0]
        order = np.argsort(-shares, kind="stable")
        ranked = [(str(self._trees.classes_[at]), float(shares[at])) for at in order]
        name, share = ranked[0]
        leaves = self._trees.apply(row[None, :])
        near = float(_nearness(leaves, [name], self._leaves, self.names)[0])
        reason, least = "", self.thresholds.least_share
        if share < least:
            reason = f"{name} has {share:.0%} of the trees, less than {least:.0%}"
        elif near < self.thresholds.least_nearness:
            reason = f"it is unlike the flows of {name}: {near:.0%} of the trees put it next to some of them"
        elif trace is not None and (broken := contradiction(trace, name)):
            reason = f"most like {name}, but {broken}"
        return Identified(UNKNOWN if reason else name, ranked, near, reason)

    def without(self, name: str) -> Classifier:
        """Returns a classifier with the same thresholds that does not know an algorithm."""
        keep = self.names != name
        table = self._values[keep], self.names[keep].tolist()
        return Classifier(table, self.thresholds)

    def _thresholds(self) -> Thresholds:
        """Returns the thresholds that reject the most flows of algorithms left out, and accept enough of the known."""
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=_SEED)
        known = self._left_out([left for _, left in folds.split(self._values, self.names)])
        groups = [np.flatnonzero(self.names == name) for name in np.unique(self.names)]
        strange = self._left_out(groups)
        best: Thresholds | None = None
        for rank in np.linspace(0.0, 1 - ACCEPTED, _RANKS):
            least = float(np.quantile(known[0], rank))
            for other in np.linspace(0.0, 1 - ACCEPTED, _RANKS):
                near = float(np.quantile(known[1], other))
                accepted = float(np.mean((known[0] >= least) & (known[1] >= near)))
                rejected = float(np.mean((strange[0] < least) | (strange[1] < near)))
                if accepted >= ACCEPTED and (best is None or rejected > best.rejected):
                    best = Thresholds(least, near, accepted, rejected)
        assert best is not None  # both ranks of 0 accept every flow
        return best

    def _left_out(self, parts: Sequence[Any]) -> tuple[Values, Values]:
        """Returns, for each flow, the largest share and the nearness by a fit without its part."""
        shares, near = np.empty(len(self._values)), np.empty(len(self._values))
        for left in parts:
            others = np.ones(len(self._values), dtype=bool)
            others[left] = False
            trees = _forest().fit(self._values[others], self.names[others])
            found = trees.predict_proba(self._values[left])
            shares[left] = found.max(axis=1)
            chosen = trees.classes_[found.argmax(axis=1)]
            leaves, names = trees.apply(self._values[others]), self.names[others]
            near[left] = _nearness(trees.apply(self._values[left]), chosen, leaves, names)
        return shares, near


def _nearness(rows: Any, chosen: Any, leaves: Any, names: Any) -> Values:  # noqa: ANN401
    """Returns the share of trees in which each row falls into a leaf with the nearest flows of its algorithm."""
    found = np.empty(len(rows))
    for number, (row, name) in enumerate(zip(rows, chosen, strict=True)):
        same = np.sort((leaves[names == name] == row).mean(axis=1))
        found[number] = same[-_NEAREST:].mean() if len(same) else 0.0
    return found


def _forest() -> Any:  # noqa: ANN401  (scikit-learn has no types)
    try:
        from sklearn.ensemble import ExtraTreesClassifier
    except ImportError:
        raise MissingExtraError("fullpipe trace identify", "scikit-learn", "identify") from None
    return ExtraTreesClassifier(_TREES, min_samples_leaf=2, random_state=_SEED, n_jobs=1)
