"""`fullpipe trace`: one file per command."""

from fullpipe.commands.listing import Group

COMMANDS = {
    "Commands": {
        "import": "Make a run of measurements of other programs.",
        "judge": "Judge a flow in a trace by an algorithm's rules.",
        "identify": "Name the algorithm that made a flow.",
        "qlog": "Convert the trace of a run to qlog 0.3, for qvis.",
        "packets": "Show single packets of a run, or export them.",
    }
}
"""The modules of this package with their summaries, by the heading of `--help`, in its order."""

_HELP = """Import measurements as runs, and export traces.

Examples:
    fullpipe trace import iperf3.json --out results/measured
    fullpipe report results/measured
    fullpipe trace judge server.qlog --as bbr3 --rate 20mbit --rtt 40ms
    fullpipe trace qlog results/first first.qlog
    fullpipe trace packets results/packets --window 3s..3.02s
"""

command = Group("trace", __name__, COMMANDS, _HELP)
