"""`fullpipe explain`."""

import re
import sys
from shutil import get_terminal_size
from typing import Annotated

from fullpipe.base import terminal
from fullpipe.commands.declare import Argument, Option
from fullpipe.errors import fail


def command(
    name: Annotated[
        str | None,
        Argument(
            metavar="NAME",
            complete=("names",),
            help="Name that `fullpipe list` prints, a scenario key like path.rate, a metric like goodput, a column of "
            "the trace, a limit of a flow, a class like mine.py:Mine, or `scenario` for all keys. With --docs a page.",
        ),
    ] = None,
    schema: Annotated[
        bool,
        Option(
            "--schema",
            help="Print the JSON schema of scenario files, with which editors check and complete them.",
        ),
    ] = False,
    docs: Annotated[
        bool,
        Option("--docs", help="List the pages of the documentation, or print the page NAME."),
    ] = False,
) -> None:
    """Explain a name, key or metric, or print the docs.

    For an algorithm it prints the specification, the parameters with their defaults, and the trace
    fields; for a profile its values and their sources; for a scenario key its type, default and
    examples; for a metric its definition. On a terminal a long text is shown by a pager.

    Examples:
        fullpipe explain bbr3
        fullpipe explain lte
        fullpipe explain path.buffer
        fullpipe explain goodput
        fullpipe explain scenario
        fullpipe explain --docs guide/link
        fullpipe explain --schema > scenario.schema.json
    """
    if schema:
        from fullpipe import _core

        if name is not None or docs:
            fail("--schema: the schema is of all keys\n  fix: leave out the other words")
        print(_core.schema(), end="")
    elif docs:
        from fullpipe.about.pages import NoPageError, listed, page

        try:
            _show(page(name) if name else listed())
        except NoPageError as error:
            fail(error)
    elif name is None:
        fail("a name is missing\n  fix: name what to explain, like bbr3, path.rate or goodput")
    else:
        _show(_explained(name))


def _explained(name: str) -> str:
    from fullpipe._core import ScenarioError
    from fullpipe.about.explanations import UnknownNameError, explain
    from fullpipe.algorithms import resolve
    from fullpipe.errors import UserError

    console = terminal.console()
    with console.capture() as printed:
        try:
            for paragraph in explain(resolve.name_of(name)):
                console.print(paragraph)
        except (UnknownNameError, ScenarioError, UserError) as error:
            fail(error)
    # Without the spaces that rich pads lines with.
    return re.sub(r" +((?:\x1b\[[0-9;]*m)*)$", r"\1", printed.get(), flags=re.MULTILINE)


def _show(text: str) -> None:
    """Prints a text, by a pager if the terminal has fewer lines."""
    if sys.stdin.isatty() and sys.stdout.isatty() and text.count("\n") >= get_terminal_size().lines:
        import click

        click.echo_via_pager(text)
    else:
        print(text, end="")
