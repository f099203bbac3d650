"""`fullpipe trace`: measurements of other programs, one file per command."""

from fullpipe.commands.listing import Group

COMMANDS = {
    "Commands": {
        "import": "Make a run of measurements of other programs.",
    }
}
"""The modules of this package with their summaries, by the heading of `--help`, in its order."""

_HELP = """Import measurements of other programs as runs.

Examples:
    fullpipe trace import iperf3.json --out results/measured
    fullpipe report results/measured
"""

command = Group("trace", __name__, COMMANDS, _HELP)
