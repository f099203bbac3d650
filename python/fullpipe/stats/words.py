"""Comparisons as sentences: "bbr3 has 41 % lower p95 queueing delay than cubic (95 % CI 38 to 44 %)"."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fullpipe.stats.compare import LEAST_PAIRS, corrected, pairs_needed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.stats.compare import Comparison
    from fullpipe.stats.quantity import Quantity


LARGE = 1.05
"""The least ratio, or its inverse, of a difference with an arrow."""


LEAST_TOLD = 1e-3
"""The least difference that is worth a sentence, in percent, points of a share or units of an index."""


DRIFTS = "not steady within the window"
"""The end of a sentence on numbers that drift."""


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
    contenders: bool = True
    """Whether A and B are algorithms or flows, not two values of another key."""
    drifts: bool = False
    """Whether the number of A or B is not steady within the measured window."""

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
    """Returns a sentence for each significant difference of a family, in their order, unless it is tiny.

    If delay and goodput both differ, they share a sentence.
    """
    found: list[Sentence] = []
    for each in compared:
        if is_told(each):
            better = way(each) if is_large(each) else 0
            found.append(Sentence(_whole(each), better, each.comparison.p, each))
    return [
        each._replace(text=f"{each.text}; {DRIFTS}") if each.about.drifts else each
        for each in _joined(found)
    ]


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


def is_told(each: Compared) -> bool:
    """Returns whether a difference is significant, and not so small that tables show none."""
    return bool(each.comparison.significant) and not is_tiny(each)


def is_tiny(each: Compared) -> bool:
    """Returns whether a difference is below a thousandth of a percent, of a point of a share, or of an index."""
    match _kind(each):
        case "amount" if each.quantity.unit in ("", "%"):
            return abs(each.comparison.difference.value) * each.quantity.scale < LEAST_TOLD
        case "percent":
            return abs(_changes(each)[0]) < LEAST_TOLD
        case _:
            return False


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


Found = TypeVar("Found")


def with_price(found: Sequence[Found], most: int, way_of: Callable[[Found], int]) -> list[Found]:
    """Returns the first of some findings, and the next that is worse if all of these are better, or the reverse."""
    told, rest = list(found[:most]), found[most:]
    ways = {way_of(each) for each in told} - {0}
    if len(ways) == 1:
        told += [each for each in rest if way_of(each) in {-one for one in ways}][:1]
    return told


def none_significant(compared: Sequence[Compared]) -> str:
    """Returns the sentence for a family without a difference to tell: with the seeds that the likeliest needs."""
    tested = [each for each in compared if each.comparison.p == each.comparison.p]
    if not tested:
        return "There is no difference: the contenders' numbers are equal for every seed."
    if tiny := sum(each.comparison.significant for each in compared):
        number = f"{tiny} differences are" if tiny > 1 else "One difference is"
        bounds = f"{LEAST_TOLD:g} %, {LEAST_TOLD:g} points of a share or {LEAST_TOLD:g} of an index"
        return f"{number} significant, and below {bounds}."
    least = min(tested, key=lambda each: each.comparison.p)
    words = f"No difference is significant. The likeliest: {_whole(least)}; "
    needed = pairs_needed(least.comparison, len(tested))
    if needed is None:
        return f"{words}not even 10,000 seeds would show a difference of this size"
    return f"{words}if it is real, about {needed:,} seeds show it"


def of_means(each: Compared) -> str:
    """Returns a sentence on two means that were not tested, with the digits from which its percentage follows."""
    scaled = [mean * each.quantity.scale for mean in (each.comparison.a, each.comparison.b)]
    shown = [digits(value, 3) for value in scaled]
    for count in range(3, 7):
        shown = [digits(value, count) for value in scaled]
        one, other = (float(text.replace(",", "")) for text in shown)
        if _follows(each, one, other):
            break
    unit = f" {each.quantity.unit}" if each.quantity.unit else ""
    return f"{_claim(each)}: {shown[0]} against {shown[1]}{unit}."


def _follows(each: Compared, one: float, other: float) -> bool:
    """Returns whether the difference of two rounded numbers has the digits of the exact one."""
    match _kind(each):
        case "percent":
            return bool(other) and _percents(each)[0] == _percent_text(100 * (one / other - 1))
        case "times":
            return bool(other) and digits(one / other) == digits(each.comparison.ratio.value)
        case _:
            exact = abs(each.comparison.difference.value) * each.quantity.scale
            return digits(abs(one - other)) == digits(exact)


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
            about = first.about._replace(drifts=first.about.drifts or second.about.drifts)
            joined.append(first._replace(text=text, p=max(first.p, second.p), about=about))
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
            return f"{where}{each.a} has {_apart(each.comparison.ratio)[0]} times the {words} of {each.b}"
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
            return f"{_apart(each.comparison.ratio)[0]} times the {words}"
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
    return f"{_percents(each)[0]} %"


def _percents(each: Compared) -> tuple[str, str, str]:
    """Returns a change and the ends of its interval in percent, positive in its direction, with digits that differ."""
    value, low, high = _changes(each)
    if value < 0:
        value, low, high = -value, -high, -low
    texts = (
        f"{'−' if end < 0 else ''}{text}"
        for end, text in zip(
            (value, low, high),
            _told_apart((value, low, high), each.comparison.difference.value < 0),
            strict=True,
        )
    )
    return next(texts), next(texts), next(texts)


def percent_texts(each: Compared) -> tuple[str, str, str]:
    """Returns a change and the ends of its interval in percent, with signs, and digits that differ."""
    found = _told_apart(_changes(each), False)
    signs = (
        "" if text == "0" else "−" if end < 0 else "+"
        for end, text in zip(_changes(each), found, strict=True)
    )
    value, low, high = (f"{sign}{text}" for sign, text in zip(signs, found, strict=True))
    return value, low, high


def _changes(each: Compared) -> tuple[float, float, float]:
    value, low, high = (100 * (end - 1) for end in each.comparison.ratio)
    return value, low, high


def _told_apart(changes: tuple[float, float, float], flipped: bool) -> list[str]:
    """Formats the sizes of a change and of its interval's ends: with more digits if the ends would be equal."""
    texts: list[str] = []
    for count in range(2, 6):
        texts = [_percent_text(-each if flipped else each, count) for each in changes]
        if not changes[1] < changes[2] or texts[1] != texts[2] or changes[1] < 0 < changes[2]:
            break
    return texts


def _percent_text(change: float, count: int = 2) -> str:
    """Formats the size of a change in percent; of a decrease near 100 %, with the digits that distinguish it."""
    if abs(change) < _LEAST_SHOWN:  # a rounding error
        return "0"
    return percent_digits(-change, count) if change < 0 else digits(abs(change), count)


def percent_digits(value: float, count: int = 2) -> str:
    """Formats a decrease in percent as :func:`digits`, but with the digits that distinguish it from 100."""
    if not _NEARLY <= value < 100:
        return digits(value, count)
    rest = digits(100 - value, count)
    return f"{100 - float(rest):.{len(rest.partition('.')[2])}f}"


_LEAST_SHOWN = 5e-4
_NEARLY = 99
"""Decrease in percent from which on digits tell it apart from 100."""


def signed(change: float) -> str:
    """Formats a change in percent or points with its sign; 0 below a thousandth, where rounding errors are."""
    text = _percent_text(change)
    return text if text == "0" or change != change else f"{'−' if change < 0 else '+'}{text}"


def spanned(values: Sequence[float], *, percent: bool = False) -> str:
    """Formats the least and the greatest size of some numbers or, with `percent`, of some changes: "59 to 74"."""
    ends = [choose(values, key=abs) for choose in (min, max)]
    # A single digit tells a decrease apart from 100 in a range: "23 to 99.4", not "23 to 99.38".
    low, high = (
        _percent_text(end, 1 if end <= -_NEARLY else 2) if percent else digits(abs(end))
        for end in ends
    )
    return low if low == high else f"{low} to {high}"


def _way(up: bool) -> str:
    return "higher" if up else "lower"


def _amount(each: Compared) -> str:
    return f"{_amounts(each)[0]}{_unit(each)}"


def _amounts(each: Compared) -> list[str]:
    """Returns a difference and the ends of its interval, positive in its direction, with digits that differ."""
    difference = each.comparison.difference
    sign = 1 if difference.value > 0 else -1
    ends = sorted(sign * end * each.quantity.scale for end in difference[1:])
    return _apart([sign * difference.value * each.quantity.scale, *ends])


def _apart(numbers: Sequence[float]) -> list[str]:
    """Formats a number and the ends of its interval: with up to five digits if these tell the ends apart."""
    found = [[digits(each, count) for each in numbers] for count in range(2, 6)]
    return next((texts for texts in found if texts[1] != texts[2]), found[0])


def _span(low: str, high: str, unit: str) -> str:
    """Returns an interval in words; one of no width is a number."""
    return f"(95 % CI {low if low == high else f'{low} to {high}'}{unit})"


def _unit(each: Compared) -> str:
    """Returns the unit of an amount. Shares differ by points: "3 % lower" would mean 3 % of the share."""
    return {"%": " points", "": ""}.get(each.quantity.unit, f" {each.quantity.unit}")


def _interval(each: Compared) -> str:
    match _kind(each):
        case "percent":
            _, low, high = _percents(each)
            if reaches_nothing(each):
                return f"(95 % CI {low} % or more)"
            return _span(low, high, " %")
        case "times":
            _, low, high = _apart(each.comparison.ratio)
            return _span(low, high, "")
        case _:
            _, low, high = _amounts(each)
            return _span(low, high, _unit(each))


def reaches_nothing(each: Compared) -> bool:
    """Returns whether the interval of a decrease ends at 0 only since a ratio can't be less: −100 % is no finding."""
    return each.comparison.ratio.low == 0 and each.comparison.a > 0


def digits(value: float, count: int = 2) -> str:
    """Formats a number with two significant digits, or `count`; whole digits are never rounded away."""
    if not math.isfinite(value):
        return "–"
    size, sign = abs(value), "−" if value < 0 else ""
    if size == 0:
        return "0"
    places = max(count - 1 - math.floor(math.log10(size)), 0)
    # A number that rounds up to the next power of ten has a place less: 100 for 99.5, not 100.0.
    if places and float(f"{size:.{places}f}") >= 10 ** (count - places):
        places -= 1
    return f"{sign}{size:,.{places}f}"
