"""Groups of commands: a command's module is imported when the command is called or its help is asked for."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

import click

from fullpipe.commands.declare import WIDTH, command_of, unwrapped

Map = Mapping[str, Mapping[str, str]]
"""The summaries of commands, by their names, by the heading of `--help`."""

_COMPLETE = "_FULLPIPE_COMPLETE"
"""The environment variable by which a shell asks click for completions."""
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH}


class Group(click.Group):
    """Commands under headings, in the order of the map."""

    def __init__(
        self,
        name: str,
        package: str | Sequence[str],
        headings: Map,
        text: str,
        **more: Any,  # noqa: ANN401
    ) -> None:
        """Makes a group.

        Args:
            name: The group's name.
            package: The packages of the commands' modules. The module of a command has a function or a group
                `command`. Its name is the command's, with `_` at its end if Python has a word of that name.
            headings: The map of the group's commands.
            text: The help of the group.
            more: Further arguments of click.Group.
        """
        super().__init__(
            name, help=unwrapped(text), no_args_is_help=True, context_settings=SETTINGS, **more
        )
        self._packages = [package] if isinstance(package, str) else package
        self.headings = headings

    def list_commands(self, ctx: click.Context | None = None) -> list[str]:
        """Returns the names of the commands in their order."""
        return [name for commands in self.headings.values() for name in commands]

    def summary(self, name: str) -> str:
        """Returns the summary of a command."""
        return next(each[name] for each in self.headings.values() if name in each)

    def get_command(self, ctx: click.Context | None, name: str) -> click.Command | None:
        """Returns a command, or None for an unknown name."""
        if name not in self.list_commands():
            return None
        if name not in self.commands:
            found: Group | Callable[..., None] = self._module(name).command
            self.commands[name] = (
                found if isinstance(found, Group) else command_of(found, name, self.summary(name))
            )
        return self.commands[name]

    def _module(self, name: str) -> Any:  # noqa: ANN401  (a module with the attribute `command`)
        places = (f"{each}.{name}{'_' if name == 'import' else ''}" for each in self._packages)
        return import_module(next(place for place in places if find_spec(place) is not None))

    def walk(self, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
        """Yields all commands below the group, and groups of them, with their names."""
        for name in self.list_commands():
            command = self.get_command(None, name)
            assert command is not None
            yield (*names, name), command
            if isinstance(command, Group):
                yield from command.walk(*names, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes each command with its summary, without a look at its module."""
        width = max(map(len, self.list_commands()))
        for heading, commands in self.headings.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", text) for name, text in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command that the words name; an unknown name is refused with the nearest one."""
        name = args[0]
        if not name.startswith("-") and name not in self.list_commands():
            raise click.exceptions.NoSuchCommand(name, possibilities=self.list_commands(), ctx=ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Returns the commands and options that begin with a word, without a look at the commands' modules."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=text)
            for commands in self.headings.values()
            for name, text in commands.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


class Program(Group):
    """The group of all commands, which prints errors in the project's form."""

    def __init__(self, *given: Any, renamed: Mapping[str, Sequence[str]], **more: Any) -> None:  # noqa: ANN401
        """Makes the group; `renamed` has the present words for each former name of a command."""
        super().__init__(*given, **more)
        self._renamed = renamed

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the words; a former name of a command is replaced, with a warning."""
        if args and (now := self._renamed.get(args[0])):
            words = f"fullpipe {' '.join(now)}"
            print(f"warning: `fullpipe {args[0]}` is now `{words}`", file=sys.stderr)
            args = [*now, *args[1:]]
        return super().parse_args(ctx, args)

    def main(self, *args: Any, **more: Any) -> NoReturn:  # noqa: ANN401  (click's arguments)
        """Runs the command that the words name, and ends the process with its exit code."""
        if _COMPLETE in os.environ:
            from fullpipe.commands import shells

            shells.register()
        more = {**more, "standalone_mode": False, "prog_name": "fullpipe"}
        called = super().main
        exited(lambda: called(*args, **more))


def exited(command: Callable[[], object]) -> NoReturn:
    """Runs a command of click, prints errors in the project's form, and ends the process with the exit code."""
    try:
        code = command()
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.ctx.get_help() if error.ctx else "")
        sys.exit(2)
    except click.UsageError as error:
        from fullpipe.commands.mistakes import told

        print(f"error: {told(error)}", file=sys.stderr)
        sys.exit(2)
    except click.Abort:
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)
