"""Real stacks behind an emulated path: this machine's TCP, Linux in simulated time, and any program."""

from fullpipe.wings import Wing

WING = Wing(
    "real stacks behind an emulated path",
    commands={
        "Experiments": {
            "link": "Run any program behind an emulated network path.",
            "test": "Measure latency under load by a canned test, as RRUL.",
        },
        "Verdicts": {"validate": "Compare the simulator with Linux's TCP."},
    },
    facts={"extra UML kernel": "runners.uml:told"},
)
