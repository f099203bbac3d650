"""Commands found by their modules' names, and the layout of their help."""

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import getdoc
from itertools import groupby
from typing import TYPE_CHECKING

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter


# The largest seed, which says nothing to a reader.
_RANGE = re.compile(r"0<=x<=9223372036854775807")


class Command(TyperCommand):
    """A command whose help has an argument as `NAME`; typer writes `{NAME}` and `NAME <str>`."""

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        """Returns the words of the usage line."""
        pieces = super().collect_usage_pieces(ctx)
        return [re.sub(r"^\{(.*)\}|(?<=\.\.\.\])\.\.\.$", r"\1", piece) for piece in pieces]

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Writes arguments and options, without the Python types of the arguments."""
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            params = [param for param in self.get_params(ctx) if param.param_type_name == kind]
            rows = [row for param in params if (row := record(param, ctx))]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def record(param: "Parameter", ctx: "Context") -> tuple[str, str] | None:
    """Returns name and help of an argument or option, without Python types; None for a hidden one."""
    if (found := param.get_help_record(ctx)) is None:
        return None
    name, text = found
    return re.sub(r" <[\w\[\] ]+>$", "", name), _RANGE.sub("x>=0", text)


class Group(TyperGroup):
    """Commands under the headings that `add` was given."""

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Writes each command with the first sentence of its help."""
        width = max(map(len, self.commands))
        for heading, commands in groupby(
            self.commands.items(), lambda item: getattr(item[1], "rich_help_panel", None)
        ):
            rows = [
                (f"{name:{width}}", each.get_short_help_str(formatter.width - 6 - width))
                for name, each in commands
            ]
            with formatter.section(heading or "Commands"):
                formatter.write_dl(rows)


def add(app: typer.Typer, package: str, headings: Mapping[str, Sequence[str]]) -> None:
    """Adds commands in this order: a module of `package` has `command`, a function or a group of further commands.

    Args:
        app: The group that the commands belong to.
        package: The package whose modules define them.
        headings: Names of modules by the heading that `--help` lists them under.
    """
    for heading, names in headings.items():
        for name in names:  # `import_` is the command `import`
            command = import_module(f"{package}.{name}").command
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name, rich_help_panel=heading)
            else:
                text = unwrapped(getdoc(command) or "")
                app.command(name.rstrip("_"), cls=Command, help=text, rich_help_panel=heading)(
                    command
                )


def unwrapped(text: str) -> str:
    """Marks sections like `Examples:`, whose lines are indented, so that typer does not wrap them."""
    return re.sub(r"\n\n(?=\w+:\n )", "\n\n\b\n", text)
