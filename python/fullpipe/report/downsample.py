"""Downsampling of lines with MinMaxLTTB (Van Der Donckt et al., 2023), from its authors' tsdownsample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]


def downsampled(x: Values, y: Values, points: int) -> tuple[Values, Values]:
    """Returns at most `points` of the points, with minima and maxima; drops points that are not finite."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = np.ascontiguousarray(x[known]), np.ascontiguousarray(y[known])
    if len(x) <= points:
        return x, y
    from tsdownsample import MinMaxLTTBDownsampler

    chosen = MinMaxLTTBDownsampler().downsample(x, y, n_out=points)  # type: ignore[no-untyped-call]
    return x[chosen], y[chosen]
