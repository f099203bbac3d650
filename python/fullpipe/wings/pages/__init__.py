"""The simulator itself in a browser: a page for one scenario, and one for all of the package."""

from fullpipe.wings import Wing

WING = Wing(
    "the simulator in a page",
    commands={"Experiments": {"explore": "Change a scenario in the browser and watch it run."}},
    names={"lessons": "explore:names"},
    pages="explore",
    kinds="kind:KINDS",
)
