"""Comparisons as sentences: "bbr3 has 41 % lower p95 queueing delay than cubic (95 % CI 38 to 44 %)"."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.stats.compare import LEAST_PAIRS, corrected, pairs_needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.stats.compare import Comparison
    from fullpipe.stats.quantity import Quantity


LARGE = 1.05
"""The least ratio, or its inverse, of a difference with an arrow."""


class Compared(NamedTuple):
    """A comparison with its subjects and its quantity."""

    a: str
    b: str
    quantity: Quantity
    comparison: Comparison
    where: str = ""
    """The point in words; empty if there is only one."""
    flow: str = ""
    """The flow whose numbers they are, if A and B are two values of a key and the runs have several flows."""

    between: bool = False
    """Whether A and B are of different runs, not two flows of the same."""

    @property
    def about(self) -> str:
        """The flow and the point in words."""
        return ", ".join(filter(None, (self.flow, self.where)))


class Sentence(NamedTuple):
    """A significant difference."""

    text: str
    better: int
    """1 when A is better by a large difference, -1 when it is worse, otherwise 0."""
    p: float
    """The corrected p-value."""
    about: Compared


def family(compared: Sequence[Compared]) -> list[Compared]:
    """Returns the comparisons of one report, corrected for their number: the argument of the functions below."""
    after = corrected([each.comparison for each in compared])
    return [each._replace(comparison=mine) for each, mine in zip(compared, after, strict=True)]


def sentences(compared: Sequence[Compared]) -> list[Sentence]:
    """Returns a sentence for each significant difference of a family, in their order.

    If delay and goodput both differ, they share a sentence.
    """
    found: list[Sentence] = []
    for each in compared:
        if each.comparison.significant:
            better = way(each) if is_large(each) else 0
            found.append(Sentence(_whole(each), better, each.comparison.p, each))
    return _joined(found)


def way(each: Compared) -> int:
    """Returns 1 when A is better, -1 when it is worse, and 0 for a quantity that is neither."""
    return each.quantity.better * (1 if each.comparison.difference.value > 0 else -1)


def is_large(each: Compared) -> bool:
    """Returns whether a difference is worth an arrow: 5 %, one percentage point of a share, or 0.05 of an index."""
    match _kind(each):
        case "amount":
            amount = abs(each.comparison.difference.value) * each.quantity.scale
            return amount >= {"%": 1.0, "": 0.05}.get(each.quantity.unit, 0.0)
        case _:
            ratio = each.comparison.ratio.value
            return not 1 / LARGE < ratio < LARGE


def by_size(found: Sequence[Sentence]) -> list[Sentence]:
    """Returns sentences with those on large differences first, each part from the largest to the smallest."""
    return sorted(found, key=lambda each: (not is_large(each.about), -size(each.about)))


def size(each: Compared) -> float:
    """Returns the size of a difference, for an order: that of the ratio's logarithm, or of a share's difference."""
    if _kind(each) == "amount":
        amount = abs(each.comparison.difference.value)
        return amount if each.quantity.unit in ("", "%") else math.inf
    ratio = each.comparison.ratio.value
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


def none_significant(compared: Sequence[Compared]) -> str:
    """Returns the sentence for a family without a significant difference, with the seeds that the likeliest needs."""
    tested = [each for each in compared if each.comparison.p == each.comparison.p]
    if not tested:
        return "There is no difference: the contenders' numbers are equal for every seed."
    least = min(tested, key=lambda each: each.comparison.p)
    words = f"No difference is significant. The likeliest: {_whole(least)}; "
    needed = pairs_needed(least.comparison, len(tested))
    if needed is None:
        return f"{words}not even 10,000 seeds would show a difference of this size"
    return f"{words}if it is real, about {needed:,} seeds show it"


def of_means(each: Compared) -> str:
    """Returns a sentence on two means that were not tested."""
    one, other = (
        digits(mean * each.quantity.scale) for mean in (each.comparison.a, each.comparison.b)
    )
    unit = f" {each.quantity.unit}" if each.quantity.unit else ""
    return f"{_claim(each)}: {one} against {other}{unit}."


def _joined(found: Sequence[Sentence]) -> list[Sentence]:
    """Joins the sentence about goodput with the first about a delay, for the same two at the same point.

    The larger of the two differences leads; the other one is its price.
    """
    prices = {_place(each): each for each in found if each.about.quantity.column == "goodput_bps"}
    joined: list[Sentence] = []
    taken = set()
    for each in found:
        goodput = prices.get(_place(each))
        if goodput is not None and _is_delay(each) and _place(each) not in taken:
            taken.add(_place(each))
            first, second = sorted((each, goodput), key=_size, reverse=True)
            text = f"{first.text}, at {_more(second.about)} {_interval(second.about)}"
            joined.append(first._replace(text=text, p=max(first.p, second.p)))
        else:
            joined.append(each)
    return [
        each
        for each in joined
        if not (_place(each) in taken and each.text == prices[_place(each)].text)
    ]


def _size(sentence: Sentence) -> float:
    """Returns the size of a difference: that of the logarithm of the ratio, so that half is as large as double."""
    ratio = sentence.about.comparison.ratio.value
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


def _place(sentence: Sentence) -> tuple[str, str, str]:
    return sentence.about.a, sentence.about.b, sentence.about.about


def _is_delay(sentence: Sentence) -> bool:
    return "queue_delay_s." in sentence.about.quantity.column


def _whole(each: Compared) -> str:
    return f"{_claim(each)} {_interval(each)}"


def _claim(each: Compared) -> str:
    where, words, up = (
        f"{each.about}: " if each.about else "",
        each.quantity.words,
        each.comparison.difference.value > 0,
    )
    match _kind(each):
        case "percent":
            return f"{where}{each.a} has {_percent(each)} {_way(up)} {words} than {each.b}"
        case "times":
            return f"{where}{each.a} has {digits(each.comparison.ratio.value)} times the {words} of {each.b}"
        case _:
            return f"{where}{each.a} has a {words} {_amount(each)} {_way(up)} than {each.b}"


def _more(each: Compared) -> str:
    """Returns the difference as a price: "2 % less goodput"."""
    words, up = each.quantity.words, each.comparison.difference.value > 0
    ways = ("more", "less") if each.quantity.column == "goodput_bps" else ("higher", "lower")
    way = ways[0 if up else 1]
    match _kind(each):
        case "percent":
            return f"{_percent(each)} {way} {words}"
        case "times":
            return f"{digits(each.comparison.ratio.value)} times the {words}"
        case _:
            return f"{_amount(each)} {way} {words}"


def _kind(each: Compared) -> str:
    """Returns the form of a difference: an amount for shares and indices, a factor from 2 on, else a percentage."""
    ratio = each.comparison.ratio
    ends = ratio if each.comparison.pairs >= LEAST_PAIRS else ratio[:1]  # means alone have none
    if each.quantity.unit in ("", "%") or not all(map(math.isfinite, ends)):
        return "amount"
    return "times" if ratio.value >= 2 else "percent"


def _percent(each: Compared) -> str:
    return f"{percent_digits(abs(each.comparison.ratio.value - 1) * 100)} %"


def percent_digits(value: float) -> str:
    """Formats a percentage as :func:`digits`, but with the digits that distinguish it from 100."""
    if not 99 <= value < 100:
        return digits(value)
    rest = digits(100 - value)
    return f"{100 - float(rest):.{len(rest.partition('.')[2])}f}"


def _way(up: bool) -> str:
    return "higher" if up else "lower"


def _amount(each: Compared) -> str:
    return f"{digits(abs(each.comparison.difference.value) * each.quantity.scale)}{_unit(each)}"


def _unit(each: Compared) -> str:
    """Returns the unit of an amount. Shares differ by points: "3 % lower" would mean 3 % of the share."""
    return {"%": " points", "": ""}.get(each.quantity.unit, f" {each.quantity.unit}")


def _interval(each: Compared) -> str:
    comparison, sign = each.comparison, 1 if each.comparison.difference.value > 0 else -1
    match _kind(each):
        case "percent":
            low, high = sorted(sign * (end - 1) * 100 for end in comparison.ratio[1:])
            unit = " %"
        case "times":
            low, high = comparison.ratio[1:]
            unit = ""
        case _:
            low, high = sorted(
                sign * end * each.quantity.scale for end in comparison.difference[1:]
            )
            unit = _unit(each)
    shown = percent_digits if unit == " %" else digits
    return f"(95 % CI {shown(low)} to {shown(high)}{unit})"


def digits(value: float) -> str:
    """Formats a number with two significant digits, from 99.5 on as a whole number."""
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 99.5 or value == 0:
        return f"{value:.0f}"
    places = max(1 - math.floor(math.log10(size)), 0)
    return f"{value:.{places}f}"
