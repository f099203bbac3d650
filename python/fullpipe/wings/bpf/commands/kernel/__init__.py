"""`fullpipe kernel`: one file per command."""

from fullpipe.commands.listing import Group

COMMANDS = {
    "Commands": {
        "load": "Load an algorithm into Linux' TCP, as BPF.",
        "list": "List the algorithms, and which are loaded.",
        "status": "Show who holds and uses the loaded algorithms.",
        "unload": "Unload an algorithm.",
        "trace": "Record connections that use a loaded algorithm.",
    }
}
"""The modules of this package with their summaries, by the heading of `--help`, in its order."""

_HELP = """Use an algorithm in Linux' own TCP, through BPF.

An algorithm is loaded under its name with fp_ before it. Programs choose it by that name, like
iperf3 -C fp_bbr3. It needs Linux 6.4, and root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN; `fullpipe
doctor` checks them.

Examples:
    fullpipe kernel load bbr3 && iperf3 -c example.org -C fp_bbr3
    fullpipe kernel trace --port 443 --for 10s --out results/live
    fullpipe kernel unload bbr3
"""

command = Group("kernel", __name__, COMMANDS, _HELP)
