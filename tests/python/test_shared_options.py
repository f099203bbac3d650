"""The options that commands share: each command has each of them, or its reason."""

from __future__ import annotations

import pytest

from fullpipe.commands import app
from fullpipe.commands.shared import SHARED, sharing
from fullpipe.wings.search.observatory.__main__ import command as observatory

COMMANDS = [(" ".join(names), command) for names, command in app.walk()]
TABLE = list(sharing([*COMMANDS, ("observatory", observatory)]))
OF_RUNS = {"--on", "--repeat", "--threads", "--engine", "--programs"}
"""Options of commands that run experiments."""


@pytest.mark.parametrize(("name", "command", "holes"), TABLE, ids=[each[0] for each in TABLE])
def test_a_command_takes_each_option_or_has_its_reason(
    name: str, command: object, holes: dict[str, str]
) -> None:
    lacking = {each.title for each in SHARED if not each.is_of(command)}  # type: ignore[arg-type]
    assert lacking == holes.keys(), name


def test_every_command_that_runs_experiments_is_in_the_table() -> None:
    options = {
        name: {each for param in command.params for each in param.opts}
        for name, command in COMMANDS
    }
    assert {name for name, those in options.items() if those & OF_RUNS} <= {
        each[0] for each in TABLE
    }
    assert len(TABLE) == 15
