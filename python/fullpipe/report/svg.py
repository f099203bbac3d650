"""Draws throughput against delay as SVG: small, sharp in print, in the page's colors."""

from __future__ import annotations

import math
from html import escape
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.report.colors import DASHES, of_clouds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fullpipe.report.colors import Look
    from fullpipe.report.model import Cloud, Clouds
    from fullpipe.stats import Ellipse

_ABOVE = 12
_LEAST_ROOM = 0.005
"""Least room at either end of an axis, as a part of its greatest value."""
_LETTER = 7
"""Width of a letter, pixels."""
_MARKS = (
    *("circle", "square", "diamond", "up", "down", "cross", "plus"),
    *("left", "right", "pentagon", "star", "hexagon"),
)
"""The forms of `runs.view.colors.MARKERS`, in their order."""
_SHARES = ("", "55%,white", "60%,black", "40%,white", "35%,black", "80%,white")
"""The lightnesses of `runs.view.colors`: shares of a line's color, and the color that it is mixed with."""


class _Size(NamedTuple):
    """The size of a plot, and the room for the names of its axes; pixels."""

    width: int
    height: int
    left: int
    below: int


_LARGE, _SMALL = _Size(520, 320, 62, 46), _Size(250, 170, 32, 22)


class _Frame(NamedTuple):
    """The ends of both axes; those of a logarithmic x axis are logarithms."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    log_x: bool


Looks = dict[str, tuple[int, "Look"]]
"""Number and look of each contender by its label."""


def clouds(block: Clouds) -> str:
    """Returns points and ellipses; the axis of delays runs from right to left."""
    own = of_clouds([block])
    note = f'<p class="note">{escape(" ".join(filter(None, (block.note, block.left))))}</p>'
    return f"{_draw(block, frame_of([block]), own, _LARGE)}{_legend(own)}{note}"


def row(blocks: Sequence[Clouds]) -> tuple[str, str]:
    """Returns small plots of means and ellipses with equal axes, and their legend."""
    frame, own = frame_of(blocks), of_clouds(blocks)
    figures = (
        f"<figure><figcaption>{escape(block.title)}</figcaption>"
        f"{_draw(block, frame, own, _SMALL)}</figure>"
        for block in blocks
    )
    return "".join(figures), _legend(own)


def frame_of(blocks: Sequence[Clouds]) -> _Frame:
    """Returns axes that have all points and ellipses."""
    log_x = blocks[0].log_x
    found = [cloud for block in blocks for cloud in block.clouds]
    points = [point for cloud in found for area in areas(cloud, log_x=log_x) for point in area]
    points += [point for cloud in found for point in zip(cloud.x, cloud.y, strict=True)]
    x_low, x_high = _widened([math.log10(x) if log_x else x for x, _ in points])
    y_low, y_high = _widened([y for _, y in points])
    return _Frame(x_low, x_high, y_low, y_high, log_x)


def _draw(block: Clouds, frame: _Frame, own: Mapping[str, tuple[int, Look]], size: _Size) -> str:
    left, width, height = (
        size.left,
        size.width - size.left - 10,
        size.height - size.below - _ABOVE,
    )

    def at(x: float, y: float) -> tuple[float, float]:
        x = math.log10(x) if frame.log_x else x
        return (
            left + (frame.x_high - x) / (frame.x_high - frame.x_low) * width,
            _ABOVE + (frame.y_high - y) / (frame.y_high - frame.y_low) * height,
        )

    parts = [f'<rect x="{left}" y="{_ABOVE}" width="{width}" height="{height}" class="frame"/>']
    parts += _across(frame, at, size)
    for value in _ticks(frame.y_low, frame.y_high, max(2, height // 50)):
        y = at(1.0, value)[1]
        parts.append(
            f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        )
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for cloud in block.clouds:
        number, look = own[cloud.label]
        color = _color(look)
        for area in areas(cloud, log_x=frame.log_x):
            corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in area))
            dash = ",".join(map(str, DASHES[look.dash]))
            style = f'stroke="{color}" fill="{color}" fill-opacity="0.12"'
            style += f' stroke-width="1.8" stroke-dasharray="{dash}"'
            parts.append(f'<polygon points="{corners}" {style}/>')
        points = [*zip(cloud.x, cloud.y, strict=True)]
        if block.row:
            points = [(fmean(cloud.x), fmean(cloud.y))]
        parts += [_mark(*at(x, y), number, color) for x, y in points]
    if not block.row:
        middle = left + width / 2
        parts.append(
            f'<text x="{middle}" y="{size.height - 8}" text-anchor="middle">{escape(block.x)}</text>'
        )
        parts.append(
            f'<text transform="rotate(-90)" x="{-(_ABOVE + height / 2)}" y="14" text-anchor="middle">'
            f"{escape(block.y)}</text>"
        )
    named = ", ".join(filter(None, (block.row, block.title)))
    whose = ", ".join(cloud.label for cloud in block.clouds)
    title = escape(f"{named}: {whose}; better is up and to the right")
    return (
        f'<svg class="clouds" viewBox="0 0 {size.width} {size.height}" role="img" aria-label="{title}">'
        f"{''.join(parts)}</svg>"
    )


def _across(
    frame: _Frame, at: Callable[[float, float], tuple[float, float]], size: _Size
) -> list[str]:
    """Returns the lines and numbers of the x axis; numbers without room have their line only."""
    bottom, last = size.height - size.below, math.inf
    count = max(2, (size.width - size.left) // 90)
    values = (
        _log_ticks(frame.x_low, frame.x_high)
        if frame.log_x
        else _ticks(frame.x_low, frame.x_high, count)
    )
    parts = []
    for value in values:
        x = at(value, frame.y_low)[0]
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_ABOVE}" y2="{bottom}" class="grid"/>')
        text = f"{value:,g}"
        if abs(last - x) > (len(text) + 1) * _LETTER:
            parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{text}</text>')
            last = x
    return parts


def _legend(own: Mapping[str, tuple[int, Look]]) -> str:
    entries = "".join(
        f'<li><svg width="16" height="16" aria-hidden="true">{_mark(8, 8, number, _color(look))}</svg>'
        f"{escape(label)}</li>"
        for label, (number, look) in own.items()
    )
    return f'<ul class="legend">{entries}</ul>'


def areas(cloud: Cloud, *, log_x: bool = False) -> list[list[tuple[float, float]]]:
    """Returns the outline of a cloud's ellipse, if it has one; on a logarithmic axis only that above zero."""
    if cloud.ellipse is None:
        return []
    least = 0.5 * min(cloud.x) if log_x else -math.inf
    return [[(max(x, least), y) for x, y in outline(cloud.ellipse)]]


def outline(ellipse: Ellipse, steps: int = 72) -> list[tuple[float, float]]:
    """Returns points of an ellipse in data units, since a transform to pixels changes its angle."""
    cos, sin = math.cos(ellipse.angle), math.sin(ellipse.angle)
    points = []
    for step in range(steps):
        turn = 2 * math.pi * step / steps
        along, across = ellipse.major * math.cos(turn), ellipse.minor * math.sin(turn)
        points.append(
            (ellipse.x + along * cos - across * sin, ellipse.y + along * sin + across * cos)
        )
    return points


def _color(look: Look) -> str:
    own = f"var(--c{look.color})"
    share = _SHARES[look.shade % len(_SHARES)]
    return f"color-mix(in srgb,{own} {share})" if share else own


def _widened(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    # Equal values do not fill an axis with their last digits.
    room = max((high - low) * 0.12, abs(high) * _LEAST_ROOM) or 1.0
    return low - room, high + room


def _ticks(low: float, high: float, count: int) -> list[float]:
    """Returns about `count` round numbers between the limits."""
    exact = (high - low) / count
    power = 10 ** math.floor(math.log10(exact))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= exact * 0.999)
    first = math.ceil(low / step)
    return [round(number * step, 10) for number in range(first, math.floor(high / step) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Returns powers of ten between two logarithms, and 2 and 5 times these over less than two decades."""
    digits = (1, 2, 5) if high - low < 2 else (1,)
    found = (digit * 10.0**power for power in range(-9, 10) for digit in digits)
    return [float(f"{each:g}") for each in found if low <= math.log10(each) <= high]


def _mark(x: float, y: float, number: int, color: str) -> str:
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{color}"/>',
        "square": f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" fill="{color}"/>',
        "diamond": f'<path d="M{x:.1f} {y - 4.2:.1f}l4.2 4.2l-4.2 4.2l-4.2 -4.2z" fill="{color}"/>',
        "up": f'<path d="M{x:.1f} {y - 4:.1f}l4 7h-8z" fill="{color}"/>',
        "down": f'<path d="M{x:.1f} {y + 4:.1f}l4 -7h-8z" fill="{color}"/>',
        "cross": f'<path d="M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6" stroke="{color}" stroke-width="2"/>',
        "plus": f'<path d="M{x - 4:.1f} {y:.1f}h8m-4 -4v8" stroke="{color}" stroke-width="2"/>',
        "left": f'<path d="M{x - 4:.1f} {y:.1f}l7 4v-8z" fill="{color}"/>',
        "right": f'<path d="M{x + 4:.1f} {y:.1f}l-7 4v-8z" fill="{color}"/>',
        "pentagon": _polygon(x, y, 5, color),
        "star": _polygon(x, y, 10, color, 0.45),
        "hexagon": _polygon(x, y, 6, color),
    }
    return shapes[_MARKS[number % len(_MARKS)]]


def _polygon(x: float, y: float, count: int, color: str, inner: float = 1.0) -> str:
    """Returns a regular polygon; of a star, every second corner is nearer to the middle."""
    corners = []
    for number in range(count):
        radius, turn = 4 * (inner if number % 2 else 1.0), 2 * math.pi * number / count
        corners.append(f"{x + radius * math.sin(turn):.1f} {y - radius * math.cos(turn):.1f}")
    return f'<path d="M{"L".join(corners)}z" fill="{color}"/>'
