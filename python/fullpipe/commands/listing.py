"""How commands are found: by their modules' names."""

from collections.abc import Sequence
from importlib import import_module

import typer


def add(app: typer.Typer, package: str, names: Sequence[str]) -> None:
    """Adds commands in this order. A module of `package` has `command`: a function, or a group of further commands."""
    for name in names:
        command = import_module(f"{package}.{name}").command
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
