"""Measurements of a real fleet of hosts (`ss`, nginx, /proc, bpftrace) as tables for comparison.

`schema.py` declares the tables, `derive.py` computes derived columns, and `store.py` writes and
opens a directory, whatever fills it. `sources.py` finds files and their hosts. `ingest.py` reads
hosts in parallel; for each, one thread decompresses (`crates/wings/ingest/src/input.rs`), one parses and
joins, and one writes the previous batch. A host's file in `.progress` is its commit, written after
the rows before it. When reading resumes, rows after the last commit are removed.

`workload/` has the flows of captures and logs, `population/` simulates a fleet, and `study/` judges a published one.
"""

from fullpipe.wings import Wing

WING = Wing(
    "hosts that are measured, and the traffic of captures and logs",
    commands={
        "Hosts and files": {
            "fleet": "Compare algorithms on production or simulated hosts.",
            "workload": "Extract traffic from captures and logs, for scenarios.",
        }
    },
    flows="workload.columns:columns",
    reports="report",
    studies={"fleet": "study.command:reproduce"},
)
