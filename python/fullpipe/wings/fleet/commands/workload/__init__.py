"""`fullpipe workload`: flows of captures and logs, one file per command."""

from fullpipe.commands.listing import Group

COMMANDS = {
    "Commands": {
        "extract": "Extract the flows of captures or logs to a file.",
        "describe": "Print sizes, durations, arrivals and load of flows.",
        "fit": "Fit distributions to the sizes of flows.",
    }
}
"""The modules of this package with their summaries, by the heading of `--help`, in its order."""

_HELP = """Extract traffic from captures and logs, for scenarios.

`extract` writes the flows of packet captures or logs to a file, which a scenario's [[workload]] can
replay. `describe` prints their sizes, arrivals and load, and `fit` a distribution for the sizes.

Examples:
    fullpipe workload extract monday.pcap.gz --out monday.parquet
    fullpipe workload describe monday.parquet
"""

command = Group("workload", __name__, COMMANDS, _HELP)
