"""`fullpipe attack`: the search for the worst scenario, and the shortest one, one file per command."""

from typing import Any

import click

from fullpipe.commands.listing import Group

COMMANDS = {
    "Commands": {
        "search": "Search scenarios for those where it does worst.",
        "shrink": "Shorten a scenario while conditions hold.",
    }
}
"""The modules of this package with their summaries, by the heading of `--help`, in its order."""

_HELP = """Search the scenario where an algorithm does worst.

`search` tries thousands of scenarios within realistic bounds and keeps the worst ones; its name may
be left out. `shrink` reduces a scenario to the few lines that matter, for a regression test.

Examples:
    fullpipe attack bbr1 --goal utilization --than cubic
    fullpipe attack shrink worst/1/scenario.toml --keep 'goodput < 10%'
"""

_USUAL = "search"


class _WithUsual(Group):
    """A group whose first command may be left out."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the words; without a command's name they are those of the usual command."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands():
            args = [_USUAL, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Returns the commands that begin with a word, and the first words of the usual command."""
        usual = self.get_command(ctx, _USUAL)
        assert usual is not None
        found = super().shell_complete(ctx, incomplete)
        inner = click.Context(usual, info_name=_USUAL, parent=ctx, resilient_parsing=True)
        for param in usual.params:
            if isinstance(param, click.Argument):
                found += param.shell_complete(inner, incomplete)
        return found


command = _WithUsual("attack", __name__, COMMANDS, _HELP)
