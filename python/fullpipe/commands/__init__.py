"""The command `fullpipe`: one file per command, with its options and its call of the library.

A command's file is imported when the command is called. Packages that are slow to import (numpy,
polars, matplotlib, rich) are imported where they are used.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise, takewhile

import click

from fullpipe import wings
from fullpipe.base.terminal import open_streams
from fullpipe.commands.listing import Program
from fullpipe.errors import Exit, ending, fail, heed_signals, printing, tracebacks, user_errors

COMMANDS = {
    "Experiments": {
        "run": "Run one scenario and print its metrics.",
        "sweep": "Run a scenario with many values and seeds.",
        "compare": "Compare algorithms on one path, or kept results.",
    },
    "Results": {
        "report": "Make a report of results: summary, tables and charts.",
        "verify": "Run kept results again, and compare every number.",
    },
    "Verdicts": {
        "check": "Test scenarios against their `expect` conditions.",
        "evaluate": "Judge an algorithm or a queue by a suite of criteria.",
        "reproduce": "Rerun a published study and compare the results.",
    },
    "Hosts and files": {
        "plugin": "Use an algorithm of your own, in Rust, C or C++.",
    },
    "Reference and setup": {
        "new": "Print a new scenario with comments.",
        "list": "List names: algorithms, profiles, scenarios, ….",
        "explain": "Explain a name, key or metric, or print the docs.",
        "doctor": "Show which runners work here, with fixes for the rest.",
    },
}
"""The modules of this package with their summaries, by the heading of `--help`, in its order; wings add theirs."""

RENAMED = {
    "conformance": ("evaluate", "--suite", "bbr-draft"),
    "qlog": ("trace", "qlog"),
    "schema": ("explain", "--schema"),
}
"""The present words for a command's name of version 0.1, which works until the next one."""

_HELP = """A laboratory for TCP and QUIC congestion control.

It simulates flows on a network path, or runs them on real TCP and QUIC, and measures goodput, delay
and loss.

Examples:
    fullpipe compare cubic bbr3 --rate 50mbit --rtt 40ms
    fullpipe run cubic-vs-bbr1 --out results/first
    fullpipe report results/first

`fullpipe COMMAND --help` has the options and an example of each command.
"""


def _version(ctx: click.Context, _param: click.Parameter, given: bool) -> None:
    if given and not ctx.resilient_parsing:
        from fullpipe.base.build import in_words

        print(in_words())
        ctx.exit()


def _show_completion(ctx: click.Context, _param: click.Parameter, shell: str | None) -> None:
    if shell and not ctx.resilient_parsing:
        from fullpipe.commands import shells

        with user_errors():
            print(shells.script(shells.named(shell)), end="")
        ctx.exit()


def _install_completion(ctx: click.Context, _param: click.Parameter, shell: str | None) -> None:
    if shell and not ctx.resilient_parsing:
        from fullpipe.commands import shells

        with user_errors():
            print(shells.install(shells.named(shell)))
        ctx.exit()


def _of_shell(name: str, text: str, callback: Callable[..., None]) -> click.Option:
    """Returns an option whose value, a shell, may be left out."""
    return click.Option(
        [name],
        is_flag=False,
        flag_value="this",
        metavar="[SHELL]",
        expose_value=False,
        is_eager=True,
        callback=callback,
        help=text,
        shell_complete=lambda _ctx, _param, word: [
            each for each in ("bash", "zsh", "fish") if each.startswith(word)
        ],
    )


app = Program(
    "fullpipe",
    [__name__, *wings.packages("commands")],
    {
        heading: commands
        | {
            name: text
            for each in wings.every().values()
            for name, text in each.commands.get(heading, {}).items()
        }
        for heading, commands in COMMANDS.items()
    },
    _HELP,
    renamed=RENAMED,
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_version,
            help="Print the version and exit.",
        ),
        _of_shell(
            "--install-completion",
            "Complete words of fullpipe in new shells: bash, zsh or fish.",
            _install_completion,
        ),
        _of_shell(
            "--show-completion",
            "Print the script for completion, and install nothing.",
            _show_completion,
        ),
    ],
)


def main() -> None:
    """Runs the command.

    Exit codes: 0 for success, 1 for a check that failed, 2 for wrong use or input, 3 for a check that was not
    evaluated, 128 + n after signal n (130 for Ctrl-C).
    """
    open_streams()
    with ending(), tracebacks():
        heed_signals()
        with printing():
            _refuse_names()
            Exit.alone = _prints_alone()
            app()


def _prints_alone() -> bool:
    """Whether the words ask for JSON or Markdown alone on standard output."""
    words = list(takewhile(lambda word: word != "--", sys.argv[1:]))
    return "--json" in words or "--markdown=-" in words or ("--markdown", "-") in pairwise(words)


def _refuse_names() -> None:
    """Refuses words, and a current directory, that are not in UTF-8: kept files name them, and they are.

    Words behind `--` are those of another program.
    """
    words = list(takewhile(lambda word: word != "--", sys.argv[1:]))
    with suppress(OSError):  # the directory was removed
        words.append(os.getcwd())  # noqa: PTH109  (Path.cwd raises the same)
    for word in words:
        shown = word.encode(errors="backslashreplace").decode()
        if shown != word:
            fail(f"{shown}: a name that is not in UTF-8\n  fix: rename it")
