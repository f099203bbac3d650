"""What is run, in a few lines on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.view.table import rate_text

if TYPE_CHECKING:
    from rich.console import Console

    from fullpipe._core import Scenario


def show_scenario(scenario: Scenario, console: Console) -> None:
    """Prints what is run."""
    title = f": {scenario.title}" if scenario.title else ""
    console.print(f"{scenario.file}{title}", style="bold", markup=False)
    if scenario.profile:
        name, values = scenario.profile
        given = ", ".join(
            f"{key.removeprefix('path.').replace('.N', '')} {value.strip(chr(34))}"
            for key, value in values
        )
        console.print(f"profile {name}: {given}", style="dim", markup=False)
    if len(scenario.links) > 1:
        about = dict.fromkeys(scenario.varying_links, "on average ")
        rates = ", ".join(
            f"{name} {about.get(name, '')}{rate_text(bps)}" for name, bps in scenario.links
        )
        console.print(f"links: {rates}", style="dim", markup=False)
