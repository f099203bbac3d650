"""Tests of the colors of pictures: a line's color is that of its algorithm."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pytest

import fullpipe
from fullpipe import _core
from fullpipe.runs import given
from fullpipe.runs.view import colors, plot, states

if TYPE_CHECKING:
    from pathlib import Path


def _drawn(folder: Path, *algorithms: str) -> dict[str, tuple[object, object]]:
    """Returns color and dashes of each flow's line in the picture of a run."""
    file = folder / "made.toml"
    file.write_text(
        'duration = "2s"\n[path]\nrate = "10mbit"\nrtt = "20ms"\nbuffer = "1bdp"\n'
        + "".join(
            f'[[flow]]\nname = "{name}-{number}"\ncc = "{name}"\n'
            for number, name in enumerate(algorithms)
        ),
        encoding="utf-8",
    )
    figure = plot.picture(fullpipe.run(file, trace="10ms"))
    lines = figure.axes[0].get_legend().legend_handles  # type: ignore[union-attr]
    return {str(line.get_label()): (line.get_color(), line.get_linestyle()) for line in lines}  # type: ignore[union-attr]


def test_an_algorithm_has_its_color_whatever_its_place(tmp_path: Path) -> None:
    first, turned = _drawn(tmp_path, "cubic", "bbr3"), _drawn(tmp_path, "bbr3", "cubic")
    assert first["cubic-0"] == turned["cubic-1"]
    assert first["bbr3-1"] == turned["bbr3-0"]
    assert first["cubic-0"] != first["bbr3-1"]


def test_a_measured_flow_does_not_look_like_cubic_or_bbr() -> None:
    others = {colors.color_of(each) for each in ("cubic", "bbr1", "bbr2", "bbr3")}
    assert colors.color_of("unknown") not in others


def test_drops_and_marks_have_the_color_of_no_algorithm() -> None:
    assert not {colors.DROPS, colors.MARKS} & {*colors.COLORS}


def test_flows_of_one_algorithm_differ(tmp_path: Path) -> None:
    drawn = _drawn(tmp_path, "cubic", "cubic", "bbr1", "cubic")
    assert len({color for color, _ in drawn.values()}) == 4


_LIMITS = [each["name"] for each in _core.limits()]
_ALPHA = 0.85  # of a bar


def _linear(color: str) -> list[float]:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]


def _contrast(color: str, paper: str) -> float:
    """WCAG's contrast ratio of a bar with the paper."""
    mixed = "#" + "".join(
        f"{round(int(color[at : at + 2], 16) * _ALPHA + int(paper[at : at + 2], 16) * (1 - _ALPHA)):02x}"
        for at in (1, 3, 5)
    )
    dark, light = sorted(
        sum(part * each for part, each in zip((0.2126, 0.7152, 0.0722), _linear(css), strict=True))
        for css in (mixed, paper)
    )
    return (light + 0.05) / (dark + 0.05)


def _distance(one: str, other: str) -> float:
    """Distance in Oklab; https://bottosson.github.io/posts/oklab/."""
    to_cones = (
        (0.4122214708, 0.5363325363, 0.0514459929),
        (0.2119034982, 0.6806995451, 0.1073969566),
        (0.0883024619, 0.2817188376, 0.6299787005),
    )
    to_lab = (
        (0.2104542553, 0.7936177850, -0.0040720468),
        (1.9779984951, -2.4285922050, 0.4505937099),
        (0.0259040371, 0.7827717662, -0.8086757660),
    )

    def times(matrix: tuple[tuple[float, ...], ...], values: list[float]) -> list[float]:
        return [sum(a * b for a, b in zip(row, values, strict=True)) for row in matrix]

    labs = [
        times(to_lab, [each ** (1 / 3) for each in times(to_cones, _linear(css))])
        for css in (one, other)
    ]
    return float(sum((a - b) ** 2 for a, b in zip(*labs, strict=True)) ** 0.5)


@pytest.mark.parametrize(("dark", "paper"), [(False, "#ffffff"), (True, "#16181b")])
def test_states_of_each_algorithm_differ_from_each_other_and_from_the_paper(
    dark: bool, paper: str
) -> None:
    words = {
        each["name"]: field["labels"]
        for each in _core.algorithms()
        for field in each["fields"]
        if field["name"] == "state"
    }
    together = sorted({state for labels in words.values() for state in labels})
    for name, labels in {**words, "limits": _LIMITS}.items():
        found = states.colors(list(labels), dark=dark)
        for one, other in combinations(labels, 2):
            assert _distance(found[one], found[other]) > 0.1, (name, one, other)
        for state in labels:
            assert _contrast(found[state], paper) > 1.5, (name, state)
    every = states.colors(together, dark=dark)
    for one, other in combinations(together, 2):
        assert _distance(every[one], every[other]) > 0.045, (one, other)


def test_every_algorithm_has_a_declared_color_and_other_names_keep_theirs() -> None:
    # Without the policies that other tests have loaded.
    names = [each["name"] for each in _core.algorithms() if ":" not in each["name"]]
    assert not [name for name in names if given.declared(name) is None]
    assert colors.color_of("my.module:Mine") == colors.color_of("my.module:Mine")
    assert colors.color_of("kernel:cubic") == colors.color_of("cubic")
