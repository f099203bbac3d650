"""Errors of usage in the project's form: the option, the problem and the fix."""

from __future__ import annotations

import shlex
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from fullpipe.commands.declare import WORDS
from fullpipe.commands.listing import Group

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMMANDS_SHOWN = 3


def told(error: click.UsageError) -> str:
    """Returns the text of an error of usage, without `error: `."""
    path = error.ctx.command_path if error.ctx else "fullpipe"
    match error:
        case click.exceptions.NoSuchCommand():
            group = error.ctx.command if error.ctx else None
            known = group.list_commands(error.ctx) if isinstance(group, Group) else []
            fix = _near(error.command_name, known) or f"`{path} --help` lists the commands"
            return f"{path} {error.command_name}: no such command\n  fix: {fix}"
        case click.NoSuchOption() if error.ctx:
            return _no_option(error.option_name, error.ctx)
        case click.MissingParameter():
            name = _name(error)
            value = f" {error.param.metavar}" if isinstance(error.param, click.Option) else ""
            return (
                f"{path}: {name} is missing\n  fix: add {name}{value}; `{path} --help` explains it"
            )
        case click.BadParameter() if "\n  fix: " in error.message:
            return f"{error.param_hint or _name(error)} {error.message}"
        case click.BadOptionUsage() if "requires an argument" in error.message and error.ctx:
            param = _option(error.option_name, error.ctx)
            value = param.metavar if param and param.metavar else "VALUE"
            return f"{error.option_name}: its value is missing\n  fix: write {error.option_name} {value}"
    return (
        f"{path}: {error.format_message().removesuffix('.')}\n  fix: `{path} --help` has the usage"
    )


def _no_option(name: str, ctx: click.Context) -> str:
    """Returns the error about an unknown option: with its own name for it, or the commands that have it."""
    from fullpipe._core import synonym

    path = ctx.command_path
    words: list[str] = ctx.meta.get(WORDS, [])
    if (program := _program(words, ctx)) is not None:
        before, after = words[:program], words[program:]
        written = shlex.join([*path.split(), *before, "--", *after])
        return (
            f"{name}: not an option of {path}, but perhaps of {after[0]}\n"
            f"  fix: put -- in front of the program: {written}"
        )
    own = [each for each in _options(ctx) if each.startswith("--")]
    bare = [each.removeprefix("--") for each in own]
    if meant := synonym(name.removeprefix("--").replace("-", "_"), bare):
        fix = f"write --{meant}{_value_after(name, words)}"
    elif "--set" in own and (key := _key_of(name)):
        fix = f"write --set {key}={_value_after(name, words).strip() or 'VALUE'}"
    elif others := _commands_with(name, ctx):
        fix = f"it is an option of {others}"
    elif close := _near(name, own):
        fix = close
    else:
        fix = f"`{path} --help` lists the options"
    return f"{name}: not an option of {path}\n  fix: {fix}"


def _program(words: list[str], ctx: click.Context) -> int | None:
    """Returns the place of the program's name in the words, for a command that takes one behind `--`."""
    arguments = [param for param in ctx.command.params if isinstance(param, click.Argument)]
    takes = bool(arguments) and (arguments[-1].metavar or "").startswith("--")
    before = len(arguments) - 1
    place = 0
    while takes and place < len(words) and words[place] != "--":
        word = words[place]
        if not word.startswith("-"):
            if not before:
                return place
            before, place = before - 1, place + 1
            continue
        param = _option(word, ctx)
        place += 2 if param and not param.is_flag and "=" not in word else 1
    return None


def _value_after(name: str, words: list[str]) -> str:
    """Returns the value of an option with a space before it; empty if the words have none."""
    for place, word in enumerate(words):
        if word.startswith(f"{name}="):
            return f" {shlex.quote(word.partition('=')[2])}"
        if word == name and place + 1 < len(words) and not words[place + 1].startswith("-"):
            return f" {shlex.quote(words[place + 1])}"
    return ""


def _commands_with(name: str, ctx: click.Context) -> str:
    """Returns the other commands that have an option."""
    root = ctx.find_root().command
    if not isinstance(root, Group):
        return ""
    found = [
        f"fullpipe {' '.join(names)}"
        for names, command in root.walk()
        if any(name in param.opts for param in command.params)
    ]
    return " and ".join(
        filter(None, [", ".join(found[:_COMMANDS_SHOWN][:-1]), *found[:_COMMANDS_SHOWN][-1:]])
    )


def _key_of(name: str) -> str:
    """Returns the key of a scenario that an option would set: `path.jitter` for `--jitter`."""
    from fullpipe import _core

    bare = name.removeprefix("--").replace("-", "_")
    keys = [each["key"] for each in _core.scenario_keys()]
    those = [key for key in (f"path.{bare}", bare, f"flow.N.{bare}") if key in keys]
    return those[0].replace(".N.", ".0.") if those else ""


def _name(error: click.BadParameter) -> str:
    """Returns the name of an option, or what `--help` calls an argument."""
    param = error.param
    if isinstance(param, click.Option) or param is None or error.ctx is None:
        return max(param.opts, key=len) if param else "value"
    record = param.get_help_record(error.ctx)
    return record[0] if record else param.name


def _option(name: str, ctx: click.Context) -> click.Option | None:
    bare = name.partition("=")[0]
    for param in ctx.command.get_params(ctx):
        if isinstance(param, click.Option) and bare in param.opts:
            return param
    return None


def _options(ctx: click.Context | None) -> list[str]:
    return [name for param in ctx.command.get_params(ctx) for name in param.opts] if ctx else []


def _near(word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]}?" if near else ""
