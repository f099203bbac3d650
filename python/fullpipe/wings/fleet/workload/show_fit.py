"""`fullpipe workload fit`: fitted distributions and their goodness of fit, as a table or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from fullpipe.wings.fleet.workload.fit import Fit


def show(fits: Sequence[Fit], flows: int, console: Console) -> None:
    """Prints each distribution with its distances, and the best one's quantiles and `model` line."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    console.print(f"{flows:,} flows; fitted distributions, ordered by the error of their quantiles")
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1))
    table.add_column("distribution", overflow="fold")
    for heading in ("quantile\nerror", "maximum\ndistance", "distance\nby bytes", "mean\nratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for fit in fits:
        table.add_row(
            fit.law.text,
            factor(fit),
            f"{fit.distance:.3f}",
            f"{fit.byte_distance:.3f}",
            f"{fit.mean:.2f}",
        )
    console.print(table)
    console.print()
    best = fits[0]
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1))
    for heading in ("quantile", "flows", "fit", "ratio"):
        table.add_column(
            heading, justify="left" if heading == "quantile" else "right", no_wrap=True
        )
    for kind, quantiles in (("flows", best.quantiles), ("bytes", best.byte_quantiles)):
        for off in quantiles:
            called = f"{off.share * 100:g} % of the {kind}"
            table.add_row(called, f"{off.flows:,.0f} B", f"{off.law:,.0f} B", f"{off.ratio:.2f}")
    console.print(table)
    console.print()
    console.print(f'model = "{best.law.text}"', soft_wrap=True, markup=False)


def factor(fit: Fit) -> str:
    """Formats the quantile error as a factor: exp of the root mean square of the log ratios."""
    import math

    return f"× {math.exp(fit.error):.2f}"


def record(fits: Sequence[Fit], flows: int) -> str:
    """Returns the fits as JSON."""
    laws = [
        {
            "model": fit.law.text,
            "error": fit.error,
            "distance": fit.distance,
            "byte_distance": fit.byte_distance,
            "mean_ratio": fit.mean,
            "quantiles": [off._asdict() for off in fit.quantiles],
            "byte_quantiles": [off._asdict() for off in fit.byte_quantiles],
        }
        for fit in fits
    ]
    return json.dumps({"flows": flows, "laws": laws}, indent=2)
