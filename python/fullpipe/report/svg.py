"""Draws throughput against delay as SVG: small, sharp in print, in the page's colors."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from fullpipe.report.colors import DASHES, looks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.colors import Look
    from fullpipe.report.model import Cloud, Clouds
    from fullpipe.stats import Ellipse

_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 520, 320, 62, 46, 12
_MARKS = ("circle", "square", "diamond", "up", "down", "cross", "plus")


def clouds(block: Clouds) -> str:
    """Returns points and ellipses; the axis of delays runs from right to left."""
    around = [point for cloud in block.clouds for area in areas(cloud) for point in area]
    points = [point for cloud in block.clouds for point in zip(cloud.x, cloud.y, strict=True)]
    x_low, x_high = _widened([x for x, _ in (*around, *points)])
    y_low, y_high = _widened([y for _, y in (*around, *points)])
    width, height = _WIDTH - _LEFT - 10, _HEIGHT - _BELOW - _ABOVE

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + (x_high - x) / (x_high - x_low) * width, _ABOVE + (y_high - y) / (
            y_high - y_low
        ) * height

    parts = [f'<rect x="{_LEFT}" y="{_ABOVE}" width="{width}" height="{height}" class="frame"/>']
    for value in _ticks(x_low, x_high):
        x, _ = at(value, y_low)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_ABOVE}" y2="{_ABOVE + height}" class="grid"/>'
        )
        parts.append(
            f'<text x="{x:.1f}" y="{_ABOVE + height + 16}" text-anchor="middle">{value:g}</text>'
        )
    for value in _ticks(y_low, y_high):
        _, y = at(x_low, value)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + width}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        )
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for number, (cloud, look) in enumerate(zip(block.clouds, _looks(block), strict=True)):
        color = _color(look)
        for area in areas(cloud):
            corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in area))
            dash = ",".join(map(str, DASHES[look.dash]))
            style = f'stroke="{color}" fill="{color}" fill-opacity="0.12"'
            style += f' stroke-width="1.8" stroke-dasharray="{dash}"'
            parts.append(f'<polygon points="{corners}" {style}/>')
        for x, y in zip(cloud.x, cloud.y, strict=True):
            parts.append(_mark(*at(x, y), number, color))
    middle = _LEFT + width / 2
    parts.append(
        f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(block.x)}</text>'
    )
    parts.append(
        f'<text transform="rotate(-90)" x="{-(_ABOVE + height / 2)}" y="14" text-anchor="middle">'
        f"{escape(block.y)}</text>"
    )
    title = escape(
        f"{block.title}: {', '.join(cloud.label for cloud in block.clouds)}; better is up and to the right"
    )
    return (
        f'<svg class="clouds" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title}">{"".join(parts)}</svg>'
        f'<ul class="legend">{_legend(block)}</ul>'
        f'<p class="note">{escape(" ".join(filter(None, (block.note, block.left))))}</p>'
    )


def _legend(block: Clouds) -> str:
    return "".join(
        f'<li><svg width="16" height="16" aria-hidden="true">{_mark(8, 8, number, _color(look))}</svg>'
        f"{escape(cloud.label)}</li>"
        for number, (cloud, look) in enumerate(zip(block.clouds, _looks(block), strict=True))
    )


def areas(cloud: Cloud) -> list[list[tuple[float, float]]]:
    """Returns the outline of a cloud's ellipse, if it has one."""
    return [outline(cloud.ellipse)] if cloud.ellipse else []


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


def _looks(block: Clouds) -> list[Look]:
    return looks([each.algorithm or each.label for each in block.clouds])


def _color(look: Look) -> str:
    own = f"var(--c{look.color})"
    match look.dash % 3:
        case 1:
            return f"color-mix(in srgb,{own} 55%,white)"
        case 2:
            return f"color-mix(in srgb,{own} 60%,black)"
        case _:
            return own


def _widened(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * 0.12 or abs(high) * 0.05 or 1.0
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Returns about five round numbers between the limits."""
    exact = (high - low) / 5
    power = 10 ** math.floor(math.log10(exact))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= exact * 0.999)
    first = math.ceil(low / step)
    return [round(number * step, 10) for number in range(first, math.floor(high / step) + 1)]


def _mark(x: float, y: float, number: int, color: str) -> str:
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{color}"/>',
        "square": f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" fill="{color}"/>',
        "diamond": f'<path d="M{x:.1f} {y - 4.2:.1f}l4.2 4.2l-4.2 4.2l-4.2 -4.2z" fill="{color}"/>',
        "up": f'<path d="M{x:.1f} {y - 4:.1f}l4 7h-8z" fill="{color}"/>',
        "down": f'<path d="M{x:.1f} {y + 4:.1f}l4 -7h-8z" fill="{color}"/>',
        "cross": f'<path d="M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6" stroke="{color}" stroke-width="2"/>',
        "plus": f'<path d="M{x - 4:.1f} {y:.1f}h8m-4 -4v8" stroke="{color}" stroke-width="2"/>',
    }
    return shapes[_MARKS[number % len(_MARKS)]]
