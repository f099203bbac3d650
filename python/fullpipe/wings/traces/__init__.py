"""Flows that other programs measured: as runs, judged by an algorithm's rules, and named by their algorithm."""

from fullpipe.wings import Wing

WING = Wing(
    "flows that other programs measured",
    commands={"Results": {"trace": "Import measurements as runs, and export traces."}},
)
