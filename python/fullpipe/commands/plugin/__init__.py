"""`fullpipe plugin`: one file per command."""

from fullpipe.commands.listing import Group

COMMANDS = {
    "Commands": {
        "new": "Write a crate with an algorithm, new or a copy.",
        "build": "Build the library of a crate, and print its name.",
        "check": "Test that an algorithm keeps the contract.",
        "header": "Print the folder of fullpipe.h, for C and C++.",
    }
}
"""The modules of this package with their summaries, by the heading of `--help`, in its order."""

_HELP = """Use an algorithm of your own, in Rust, C or C++.

A library or the directory of a crate stands wherever the name of an algorithm does on a command
line. Its code runs with your rights.

Examples:
    fullpipe plugin new my-reno
    fullpipe plugin check my-reno
    fullpipe compare cubic ./my-reno
    fullpipe check mine.toml --plugin ./libmine.so
"""

command = Group("plugin", __name__, COMMANDS, _HELP)
