"""The live lines of a link as a chart that grows downwards: a bar for the rate and one for the queue each second.

Lines that have been printed are left alone, since the program prints to the same terminal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.runs.view.table import digits, rate_text
from fullpipe.wings.real.links.show import WAYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.wings.real.links.show import Report

LEAST_WIDTH = 72
"""The narrowest terminal with room for bars, columns."""
_NUMBERS = 52  # columns of a line besides the bars
_MOST_BARS = 60
_EIGHTHS = " ▏▎▍▌▋▊▉"
_FIRST = {"rate": 1e6, "queue": 10e-3}
"""The least ends of the scales, bit/s and seconds."""


class Chart:
    """Makes the lines of a chart.

    Attributes:
        way: The direction of the data, which has the bars: "down" or "up".
    """

    def __init__(self, way: str, width: int) -> None:
        """Begins a chart for a terminal with `width` columns, at least `LEAST_WIDTH`."""
        self.way = way
        self._other = next(each for each in WAYS if each != way)
        bars = min(width - _NUMBERS, _MOST_BARS)
        self._widths = {"rate": bars - 2 * bars // 5, "queue": 2 * bars // 5}
        self._ends: dict[str, float] = {}

    def lines(self, now: Report) -> Iterator[Text]:
        """Yields the line of the last second, before it a header if it is the first or outgrows a scale."""
        data, other = now[self.way], now[self._other]
        values = {"rate": float(data["rate_bps"]), "queue": float(data["queue_s"])}
        ends = {
            key: max(round_end(max(value, _FIRST[key])), self._ends.get(key, 0.0))
            for key, value in values.items()
        }
        if ends != self._ends:
            self._ends = ends
            yield self._header()
        line = Text(f"{now['at_s']:>4.0f}{rate_text(data['rate_bps']):>12} ")
        line.append(self._bar("rate", values["rate"]), style="cyan")
        line.append(f"{digits(1e3 * data['queue_s']):>6} ")
        line.append(self._bar("queue", values["queue"]), style="yellow")
        line.append(f"{data['dropped']:>5}", style="bold red" if data["dropped"] else "")
        ms = digits(1e3 * other["queue_s"])
        yield line.append(f"{rate_text(other['rate_bps']):>12}{ms:>6}{other['dropped']:>5}")

    def _header(self) -> Text:
        rate, queue = rate_text(self._ends["rate"]), f"{1e3 * self._ends['queue']:g} ms"
        return Text(
            f"{'s':>4}{self.way:>12} {_scale(rate, self._widths['rate'])}"
            f"{'ms':>6} {_scale(queue, self._widths['queue'])}{'drop':>5}"
            f"{self._other:>12}{'ms':>6}{'drop':>5}",
            style="bold",
        )

    def _bar(self, key: str, value: float) -> str:
        width = self._widths[key]
        eighths = min(math.ceil(8 * width * value / self._ends[key]), 8 * width)
        whole, part = divmod(eighths, 8)
        return ("█" * whole + (_EIGHTHS[part] if part else "")).ljust(width)


def _scale(end: str, width: int) -> str:
    """Returns the ends of a scale over its bar; without room, as much as fits."""
    return f"0{end:>{width - 1}}" if len(end) < width - 1 else end[:width].rjust(width)


def round_end(value: float) -> float:
    """Returns the least of 1, 2 and 5 times a power of ten that a positive value exceeds by at most 5 %."""
    power = 10.0 ** math.floor(math.log10(value))
    # Rates of a second are a little above the link's, which should fill its scale.
    return next((step * power for step in (1, 2, 5) if value <= 1.05 * step * power), 10 * power)
