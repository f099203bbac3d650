"""A scenario in a notebook: its text, and a picture of its path over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.runs.view.html import Page
from fullpipe.runs.view.run import show_scenario

if TYPE_CHECKING:
    from fullpipe._core import Scenario
    from fullpipe.runs.view.figure import Picture

_BINS = 800


def scenario_html(scenario: Scenario) -> str:
    """Returns the name of a scenario, its text and the settings that override it as HTML."""
    page = Page()
    show_scenario(scenario, page)
    page.add_text(scenario.source.rstrip())
    if scenario.settings:
        settings = "\n".join(f"{key} = {value}" for key, value in scenario.settings)
        page.print("with the settings")
        page.add_text(settings)
    page.add_png(scenario_png(scenario))
    return page.html()


def scenario_png(scenario: Scenario) -> bytes | None:
    """Returns the picture of :func:`picture` as a PNG; None without a link, as on a machine's own loopback."""
    return picture(scenario).png() if scenario.links else None


def picture(scenario: Scenario) -> Picture:
    """Draws the rate at which the bottleneck can send over time."""
    from fullpipe.runs.view.axes import GREY, dress
    from fullpipe.runs.view.figure import Picture
    from fullpipe.runs.view.table import rate_unit
    from fullpipe.scenario.origin import shown

    over = scenario.rate_over_time(_BINS)
    unit, scale = rate_unit(rate for _, rate in over)
    times = [at for at, _ in over] + [scenario.duration_s]
    rates = [rate / scale for _, rate in over]
    figure = Picture(figsize=(8, 2.4), dpi=110, layout="constrained")
    panel = figure.subplots()
    dress(panel, f"{scenario.title or shown(scenario.file)}: rate of the bottleneck", unit)
    panel.step(times, [*rates, rates[-1]], where="post", color=GREY, linewidth=1.2)
    panel.set_xlim(0, scenario.duration_s)
    panel.set_ylim(0, 1.1 * max(rates))
    panel.set_xlabel("time, s")
    return figure
