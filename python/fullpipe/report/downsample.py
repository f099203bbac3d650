"""Fewer points that look the same: MinMaxLTTB (Van Der Donckt et al., 2023), by its authors' tsdownsample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]


def downsampled(x: Values, y: Values, points: int) -> tuple[Values, Values]:
    """At most so many of the points, the least and greatest among them; those that are not finite are left out."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = np.ascontiguousarray(x[known]), np.ascontiguousarray(y[known])
    if len(x) <= points:
        return x, y
    from tsdownsample import MinMaxLTTBDownsampler

    chosen = MinMaxLTTBDownsampler().downsample(x, y, n_out=points)  # type: ignore[no-untyped-call]
    return x[chosen], y[chosen]
