"""Whether the numbers of runs are steady within the measured window."""

from __future__ import annotations

import json
import math
from collections import Counter
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from fullpipe import _core
from fullpipe.base.frame import table
from fullpipe.stats.compare import LEAST_PAIRS
from fullpipe.stats.quantity import quantity
from fullpipe.stats.words import digits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fullpipe.base.metrics import Metrics
    from fullpipe.stats.quantity import Quantity

_VERDICT = "steadiness.verdict"
_UNTIL = "steadiness.tested_until_s"
_MOST_TOLD = 3
_MOST_POINTS = 3
_MOST_NAMED = 12
_SHARE = 0.25
"""The least share of runs that say themselves that a number drifts."""
_FLOW = {
    "goodput_bps": "goodput_bps",
    "queue_delay_s": "queue_delay_s.mean",
    "rtt_s": "rtt_s.mean",
    "loss_fraction": "loss_fraction",
    "concurrent": "concurrent",
}
_BY_ACTIVE = ("completion_s", "slowdown")
_BY_QUEUE = ("rtt_s", "queue_delay_s")
_LINK = {"utilization": "utilization", "queue_delay_s": "queue_delay_s.mean"}


class Drifting(NamedTuple):
    """A number that drifts: means over the seeds, in the unit of the metric."""

    of: str
    """The flow, or `link NAME`."""
    flow: int | None
    """The index of the flow; None for a link."""
    quantity: Quantity
    value: float
    first: float
    """Mean of the first third of the window."""
    last: float
    """Mean of the last third."""
    warm_up_s: float | None = None
    """End of the warm-up, if it is after `measure_from`."""
    settled: float | None = None
    """Mean from that time on."""

    def is_of(self, column: str, flow: int | None) -> bool:
        """Returns whether a number in this column follows it: of one flow, or of all for None."""
        metric, own = followed(column), followed(self.quantity.column)
        if column.startswith("link."):
            return own == metric and self.of == f"link {column.split('.')[1]}"
        if self.flow is None:
            return own == metric and metric not in _FLOW
        # The RTT is the path's and the queue's; only the queue is tested where it is observed.
        # A workload's flows take longer as more are active.
        slower = own == "concurrent" and metric in _BY_ACTIVE
        return flow in (None, self.flow) and (own == metric or (metric, own) == _BY_QUEUE or slower)

    @property
    def text(self) -> str:
        """The number and its course in words."""
        what = f"{self.quantity.words} of {self.of}"
        unit = f" {self.quantity.unit}" if self.quantity.unit else ""
        value, first, last, settled = (
            digits(each * self.quantity.scale, 3)
            for each in (self.value, self.first, self.last, self.settled or 0.0)
        )
        if self.warm_up_s is not None:
            return f"{what} is {value}{unit}, but {settled}{unit} from {self.warm_up_s:.3g} s on"
        way = "rises" if self.last > self.first else "falls"
        return f"{what} {way} from {first} to {last}{unit}"


class Steadiness(NamedTuple):
    """The verdict on the runs of one point."""

    verdict: str
    """`steady`, `drifts`, `changes`, or `untested`; empty for runs without a test."""
    drifting: tuple[Drifting, ...] = ()
    changes: str = ""
    """Changes on purpose within the window."""
    until_s: float | None = None
    """End of the tested part of the window, if arrivals stop before the end of the run."""

    def of(self, columns: Iterable[str]) -> Steadiness:
        """Returns the verdict on some metrics only, by their columns; on all for none."""
        wanted = [(each, None) for each in columns]
        return self.about(wanted) if wanted else self

    def about(self, wanted: Iterable[tuple[str, int | None]]) -> Steadiness:
        """Returns the verdict on some numbers: their columns, each with the index of a flow, or None for all flows.

        It is empty if the course of none of them is tested, as of completion times.
        """
        wanted = list(wanted)
        drifting = tuple(
            each for each in self.drifting if any(each.is_of(*number) for number in wanted)
        )
        tested = any(followed(column) in {*_FLOW, *_LINK} for column, _ in wanted)
        if not tested and not drifting:
            return Steadiness("")
        if self.verdict != "drifts":
            return self
        return self._replace(verdict="drifts" if drifting else "steady", drifting=drifting)

    @property
    def text(self) -> str:
        """The verdict in words; empty if the numbers are steady in the whole window, or nothing is known."""
        if self.verdict == "changes":
            return f"not tested for drift: {self.changes}"
        if self.verdict == "untested":
            return "not tested for drift: the window is too short"
        until = "" if self.until_s is None else f" until {self.until_s:.6g} s"
        if self.verdict != "drifts":
            return f"tested for drift{until}, when arrivals stop" if until else ""
        shown = self.drifting[:_MOST_TOLD]
        texts = [each.text for each in shown]
        if more := len(self.drifting) - len(texts):
            texts.append(f"and {more} more")
        thirds = any(each.warm_up_s is None for each in shown)
        where = " from the first to the last third of the window" if thirds else ""
        return f"not steady{where}{until}: {'; '.join(texts)}"

    def record(self) -> dict[str, object]:
        """Returns the verdict for JSON, in SI units."""
        return {
            "verdict": self.verdict,
            "changes": self.changes,
            **({} if self.until_s is None else {"tested_until_s": self.until_s}),
            "drifting": [
                {
                    "of": each.of,
                    "metric": each.quantity.column,
                    "first": each.first,
                    "last": each.last,
                    "warm_up_s": each.warm_up_s,
                    "settled": each.settled,
                }
                for each in self.drifting
            ],
        }


def followed(column: str) -> str:
    """Returns the metric whose course a column follows: shares and fairness follow from goodputs."""
    base = column.split(".")[2 if column.startswith("link.") else 0]
    return "goodput_bps" if base in ("jain", "max_min_share") else base


class _Number(NamedTuple):
    of: str
    flow: int | None
    metric: str
    quantity: Quantity
    rows: list[dict[str, float | None]]
    """One per seed: value, first, last, tau, warm_up_s, settled."""
    least: float


def of_run(metrics: Metrics) -> Steadiness:
    """Judges one run by its metrics."""
    return of_runs([metrics])


def of_runs(runs: Sequence[Metrics]) -> Steadiness:
    """Judges the runs of one point by their metrics."""
    return judged(table(_core.rows([(0, json.dumps(each)) for each in runs])))


def judged(rows: pl.DataFrame) -> Steadiness:
    """Judges the runs of one point on one runner, from the rows of their flows.

    With three seeds and more, a number drifts if the difference of the last and the first third of the window is
    not zero over the seeds, and if its trend within the runs, the end of most warm-ups, or the verdict of a quarter of
    the runs is not chance either. With fewer, if each run says so.
    """
    if _VERDICT not in rows.columns:
        return Steadiness("")
    runs = rows.unique("seed", keep="first", maintain_order=True)
    verdicts = runs[_VERDICT].cast(pl.String).to_list()
    if "changes" in verdicts:
        texts = runs["steadiness.changes"].cast(pl.String).to_list()
        return Steadiness("changes", changes=next(filter(None, texts), ""))
    if not verdicts or "untested" in verdicts:
        return Steadiness("untested")
    numbers = list(_numbers(rows))
    if not numbers:
        return Steadiness("untested")
    said = [
        {each.rpartition(" ")[0] for each in str(text).split("; ")}
        for text in runs["steadiness.drifting"].cast(pl.String)
    ]
    if len(verdicts) < LEAST_PAIRS:
        if not all(each == "drifts" for each in verdicts):
            return Steadiness("steady", until_s=_until(runs))
        found = [each for each in numbers if _name(each) in set.union(*said)]
        verdict = "drifts"
    else:
        level = _core.drift_limits()["level"] / len(numbers)
        found = [each for each in numbers if _drifts(each, level, said)]
        verdict = "drifts" if found else "steady"
    drifting = sorted((_drifting(each) for each in found), key=_size, reverse=True)
    return Steadiness(verdict, tuple(drifting), until_s=_until(runs))


def by_point(rows: pl.DataFrame) -> dict[int, Steadiness]:
    """Returns the verdict on each point. The numbers of one drift only if at least one of its runs says so."""
    if _VERDICT not in rows.columns:
        return {}
    verdict = pl.col(_VERDICT).cast(pl.String)
    some = rows.filter((verdict == "drifts").any().over("point"))
    found = {
        int(str(point)): judged(part)
        for (point,), part in some.group_by("point", maintain_order=True)
    }
    rest = rows.filter(~(verdict == "drifts").any().over("point"))
    said = rest.group_by("point").agg(
        verdict.unique().alias("verdicts"),
        pl.col("steadiness.changes").cast(pl.String).max().alias("changes"),
        _ends(rest).min().alias("until"),
    )
    for point, verdicts, changes, until in said.iter_rows():
        first = next((each for each in ("changes", "untested") if each in verdicts), "steady")
        found[point] = Steadiness(first, changes=changes or "", until_s=until)
    return dict(sorted(found.items()))


def lines(verdicts: Mapping[str, Steadiness]) -> list[str]:
    """Returns the verdicts in words: on which points the numbers drift or are not tested; empty if all are steady.

    Args:
        verdicts: The verdict on each point, by the point in words; a single point has no words.
    """
    if len(verdicts) == 1:
        return [each.text for each in verdicts.values() if each.text]
    found = []
    for verdict, says in (
        ("drifts", "not steady"),
        ("changes", "not tested for drift"),
        ("untested", "not tested for drift"),
    ):
        those = {place: each for place, each in verdicts.items() if each.verdict == verdict}
        if not those:
            continue
        for place, each in list(those.items())[:_MOST_POINTS]:
            found.append(f"{place}: {each.text}" if place else each.text)
        if rest := [place for place in those if place][_MOST_POINTS:]:
            named = "; ".join(rest[:_MOST_NAMED])
            more = f"; and {len(rest) - _MOST_NAMED} more" if len(rest) > _MOST_NAMED else ""
            whole = f"{says}: {len(those)} of {len(verdicts)} points"
            found.append(f"{whole}: those above, and {named}{more}")
    return found


def summary(verdicts: Mapping[str, Steadiness], what: str) -> list[str]:
    """Returns in how many of many results the numbers are steady, then those that drift.

    Args:
        verdicts: The verdict on each, by its name.
        what: Their kind in words, as "cells".
    """
    count = Counter(each.verdict for each in verdicts.values() if each.verdict)
    if not count:
        return []
    said = f"steady within the measured window: {count['steady']} of {count.total()} {what}"
    if count["drifts"]:
        said += f"; {count['drifts']} drift"
    if count["changes"]:
        said += f"; {count['changes']} change on purpose, and are not tested"
    if count["untested"]:
        said += f"; {count['untested']} too short for a test"
    drifting = [f"{name}: {each.text}" for name, each in verdicts.items() if each.drifting]
    shown = drifting[:_MOST_POINTS]
    if more := len(drifting) - len(shown):
        shown.append(f"and {more} more")
    return [said, *shown]


def _ends(rows: pl.DataFrame) -> pl.Expr:
    """Returns the ends of the tested parts of the windows; null for a whole window."""
    known = _UNTIL in rows.columns
    return (pl.col(_UNTIL) if known else pl.lit(None)).cast(pl.Float64).fill_nan(None)


def _until(rows: pl.DataFrame) -> float | None:
    """Returns the earliest end of the tested part of a window; None if all of each is tested."""
    least: float | None = rows.select(_ends(rows).min()).item()
    return least


def _name(number: _Number) -> str:
    """Returns the name of a number as a run's verdict has it."""
    kind = "link" if number.flow is None else "flow"
    kind = "workload" if number.metric == "concurrent" else kind
    return f"{kind} {number.of.removeprefix('link ')} {number.metric}"


def _numbers(rows: pl.DataFrame) -> Iterator[_Number]:
    """Yields the numbers with a course in every run."""
    limits = _core.drift_limits()
    every = rows.group_by("seed").agg(
        pl.col("goodput_bps").sum(), pl.col("rtt_s.mean").cast(pl.Float64).max()
    )
    goodput, rtt = (
        fmean(values) if (values := every[name].drop_nulls().drop_nans().to_list()) else 0.0
        for name in ("goodput_bps", "rtt_s.mean")
    )
    floors = {
        "goodput_bps": limits["of_all"] * goodput,
        "queue_delay_s": limits["of_all"] * rtt,
        "rtt_s": limits["of_all"] * rtt,
        "loss_fraction": limits["loss"],
        "utilization": limits["of_all"],
        "concurrent": limits["flows"],
    }
    for (index,), flow in rows.group_by("flow_index", maintain_order=True):
        name = str(flow["flow"][0])
        queue = False
        for metric, column in _FLOW.items():
            if metric == "rtt_s" and queue:
                continue
            courses = _courses(flow, f"drift.{metric}", column)
            known = quantity(column)
            if courses is not None and known is not None:
                queue |= metric == "queue_delay_s"
                if metric == "concurrent":
                    known = known._replace(words="number of active flows")
                yield _Number(name, int(str(index)), metric, known, courses, floors[metric])
    runs = rows.unique("seed", keep="first", maintain_order=True)
    suffix = ".utilization"
    links = [
        each.removeprefix("link.").removesuffix(suffix)
        for each in rows.columns
        if each.startswith("link.") and each.endswith(suffix)
    ]
    for link in links:
        for metric, column in _LINK.items():
            courses = _courses(runs, f"link.{link}.drift.{metric}", f"link.{link}.{column}")
            known = (
                quantity(column) if metric == "queue_delay_s" else quantity(f"link.{link}.{column}")
            )
            if courses is not None and known is not None:
                words = known.words.removesuffix(f" at {link}")
                yield _Number(
                    f"link {link}",
                    None,
                    metric,
                    known._replace(words=words),
                    courses,
                    floors[metric],
                )


def _courses(rows: pl.DataFrame, drift: str, column: str) -> list[dict[str, float | None]] | None:
    """Returns the course of a number in each run; None if a run has none."""
    if f"{drift}.tau" not in rows.columns:
        return None
    names = {"value": column, **{each: f"{drift}.{each}" for each in ("first", "last", "tau")}}
    also = {each: f"{drift}.{each}" for each in ("warm_up_s", "settled")}
    columns = [pl.col(name).cast(pl.Float64).alias(key) for key, name in names.items()]
    columns += [
        pl.col(name).cast(pl.Float64).fill_nan(None).alias(key)
        for key, name in also.items()
        if name in rows.columns
    ]
    courses: list[dict[str, float | None]] = rows.select(columns).to_dicts()
    known = all(
        (value := each[key]) is not None and math.isfinite(value)
        for each in courses
        for key in names
    )
    return courses if known and courses else None


def _of(number: _Number, key: str) -> list[float]:
    """Returns the known values of a number, one per seed."""
    return [value for each in number.rows if (value := each.get(key)) is not None]


def _late(number: _Number) -> list[dict[str, float | None]]:
    """Returns the runs whose warm-up ends after `measure_from`, to a degree that matters."""
    share = _core.drift_limits()["warm_up"]
    found = []
    for each in number.rows:
        settled, value = each.get("settled"), each["value"]
        if settled is None or value is None:
            continue
        if abs(settled - value) >= max(number.least, share * value):
            found.append(each)
    return found


def _drifts(number: _Number, level: float, said: Sequence[set[str]]) -> bool:
    """Returns whether a number drifts in the runs of several seeds, which have said what drifts in each."""
    differences = [b - a for a, b in zip(_of(number, "first"), _of(number, "last"), strict=True)]
    share = _core.drift_limits()["warm_up"]
    if abs(fmean(differences)) < max(number.least, share * fmean(_of(number, "value"))):
        return False
    if _differ(differences) > level:
        return False
    # The differences are alike over seeds. That may be a cycle which all of them share, unless time shows it, too.
    if _core.trend_p(fmean(_of(number, "tau"))) <= level:
        return True
    if len(_late(number)) > len(number.rows) / 2:
        return True
    return sum(_name(number) in each for each in said) >= _SHARE * len(said)


def _differ(differences: Sequence[float]) -> float:
    """Returns the p-value of Student's t-test that the mean is zero."""
    from scipy.special import stdtr

    mean = fmean(differences)
    squares = sum((each - mean) ** 2 for each in differences)
    if squares == 0.0:
        return 0.0 if mean else 1.0
    count = len(differences)
    error = math.sqrt(squares / (count - 1) / count)
    return 2 * float(stdtr(count - 1, -abs(mean) / error))


def _drifting(number: _Number) -> Drifting:
    late = _late(number)
    value, first, last = (fmean(_of(number, key)) for key in ("value", "first", "last"))
    if len(late) * 2 > len(number.rows):
        ends = [each["warm_up_s"] or 0.0 for each in late]
        settled = [each["settled"] or 0.0 for each in late]
        return Drifting(
            number.of,
            number.flow,
            number.quantity,
            value,
            first,
            last,
            median(ends),
            fmean(settled),
        )
    return Drifting(number.of, number.flow, number.quantity, value, first, last)


def _size(each: Drifting) -> float:
    """Returns the size of a drift relative to the number, for an order."""
    return abs(each.last - each.first) / each.value if each.value else 0.0
