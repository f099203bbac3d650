"""Errors of usage in the project's form: the option, the problem and the fix."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from fullpipe.commands.listing import Group

if TYPE_CHECKING:
    from collections.abc import Iterable


def told(error: click.UsageError) -> str:
    """Returns the text of an error of usage, without `error: `."""
    path = error.ctx.command_path if error.ctx else "fullpipe"
    match error:
        case click.exceptions.NoSuchCommand():
            group = error.ctx.command if error.ctx else None
            known = group.list_commands(error.ctx) if isinstance(group, Group) else []
            fix = _near(error.command_name, known) or f"`{path} --help` lists the commands"
            return f"{path} {error.command_name}: no such command\n  fix: {fix}"
        case click.NoSuchOption():
            known = _options(error.ctx)
            fix = _near(error.option_name, known) or f"`{path} --help` lists the options"
            return f"{error.option_name}: not an option of {path}\n  fix: {fix}"
        case click.MissingParameter():
            name = _name(error)
            value = f" {error.param.metavar}" if isinstance(error.param, click.Option) else ""
            return (
                f"{path}: {name} is missing\n  fix: add {name}{value}; `{path} --help` explains it"
            )
        case click.BadParameter() if "\n  fix: " in error.message:
            return f"{error.param_hint or _name(error)} {error.message}"
    return (
        f"{path}: {error.format_message().removesuffix('.')}\n  fix: `{path} --help` has the usage"
    )


def _name(error: click.BadParameter) -> str:
    """Returns the name of an option, or what `--help` calls an argument."""
    param = error.param
    if isinstance(param, click.Option) or param is None or error.ctx is None:
        return max(param.opts, key=len) if param else "value"
    record = param.get_help_record(error.ctx)
    return record[0] if record else param.name


def _options(ctx: click.Context | None) -> list[str]:
    return [name for param in ctx.command.get_params(ctx) for name in param.opts] if ctx else []


def _near(word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]}?" if near else ""
