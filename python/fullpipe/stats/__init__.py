"""Statistics over runs, on numpy and scipy; `docs/reference/statistics.md` has their definitions and sources.

Importing this package is quick: scipy is loaded by the first function that needs it.
"""

from fullpipe.stats.compare import Comparison, adjusted, corrected, paired
from fullpipe.stats.distribution import Cdf, Ellipse, cdf, ellipse
from fullpipe.stats.fairness import (
    Fairness,
    fairness,
    harm,
    jain,
    jain_over_time,
    min_max,
    rates_per_window,
)
from fullpipe.stats.interval import Interval, bootstrap, mean, median, medians, share, student
from fullpipe.stats.quantity import (
    MetricError,
    Quantity,
    columns_asked,
    columns_shown,
    is_shown,
    quantity,
)
from fullpipe.stats.sequential import Rule, RuleError, enough, parse_rule
from fullpipe.stats.words import family, sentences

__all__ = [
    "Cdf",
    "Comparison",
    "Ellipse",
    "Fairness",
    "Interval",
    "MetricError",
    "Quantity",
    "Rule",
    "RuleError",
    "adjusted",
    "bootstrap",
    "cdf",
    "columns_asked",
    "columns_shown",
    "corrected",
    "ellipse",
    "enough",
    "fairness",
    "family",
    "harm",
    "is_shown",
    "jain",
    "jain_over_time",
    "mean",
    "median",
    "medians",
    "min_max",
    "paired",
    "parse_rule",
    "quantity",
    "rates_per_window",
    "sentences",
    "share",
    "student",
]
