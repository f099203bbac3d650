"""Tests of the colors of pictures: a line's color is that of its algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fullpipe
from fullpipe import _core
from fullpipe.view import colors, plot

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


def test_every_algorithm_has_a_declared_color_and_other_names_keep_theirs() -> None:
    names = [each["name"] for each in _core.algorithms()]
    assert not [name for name in names if not colors.is_declared(name)]
    assert colors.color_of("my.module:Mine") == colors.color_of("my.module:Mine")
    assert colors.color_of("kernel:cubic") == colors.color_of("cubic")
