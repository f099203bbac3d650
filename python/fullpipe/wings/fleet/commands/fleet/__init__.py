"""`fullpipe fleet`: one file per command."""

from fullpipe.commands.listing import Group

COMMANDS = {
    "Commands": {
        "sample": "Record this host's connections and TCP counters.",
        "ingest": "Read the outputs and logs of hosts into tables.",
        "compare": "Compare the arms of a fleet and print a verdict.",
        "simulate": "Simulate downloads on many random paths.",
        "path": "Print one path of a simulated fleet as a scenario.",
    }
}
"""The modules of this package with their summaries, by the heading of `--help`, in its order."""

_HELP = """Compare algorithms on production or simulated hosts.

Groups of hosts (the arms) run different algorithms. `sample` records their connections, `ingest`
reads such files and logs into tables, and `compare` prints the effects and a verdict. `simulate`
makes the same tables from a simulated population of paths.

Examples:
    fullpipe fleet sample --sport 443 --out /var/tmp/samples
    fullpipe fleet ingest --arm 'cubic=a/*.gz' --arm 'bbr=b/*.gz' --out fleet
    fullpipe fleet compare fleet
"""

command = Group("fleet", __name__, COMMANDS, _HELP)
