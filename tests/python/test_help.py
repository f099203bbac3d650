"""`--help`: every command's summary fits its line, and its examples name what exists."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from fullpipe.commands import app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click import Command

    from conftest import Fullpipe

ROOT = Path(__file__).parents[2]


def _commands(
    group: Command | TyperGroup, *names: str
) -> Iterator[tuple[tuple[str, ...], Command]]:
    assert isinstance(group, TyperGroup)
    for name, command in group.commands.items():
        yield (*names, name), command
        if isinstance(command, TyperGroup):
            yield from _commands(command, *names, name)


COMMANDS = dict(_commands(get_command(app)))


@pytest.mark.parametrize("group", [(), ("fleet",), ("workload",)])
def test_no_summary_is_cut_at_80_columns(fullpipe: Fullpipe, group: tuple[str, ...]) -> None:
    listed = fullpipe(*group, "--help").stdout
    names = [names[-1] for names in COMMANDS if names[:-1] == group]
    lines = [line for line in listed.splitlines() if line.split()[:1] and line.split()[0] in names]
    assert len(lines) == len(names)
    assert [line for line in lines if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_help_has_a_summary_and_examples_without_typers_notation(
    fullpipe: Fullpipe, names: tuple[str, ...]
) -> None:
    text = fullpipe(*names, "--help").stdout
    usage, _, rest = text.partition("\n\n")
    summary = rest.split("\n\n")[0].strip()
    assert len(summary) <= 55
    assert summary.endswith(".")
    assert "{" not in usage
    assert f"    fullpipe {' '.join(names)}" in text
    assert not re.search(r"<(str|path|list|int)\b|9223372036854775807", text)


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_examples_have_options_and_files_that_exist(names: tuple[str, ...]) -> None:
    for words in _examples(COMMANDS[names].help or ""):
        called = next(key for length in (2, 1) if (key := tuple(words[1 : 1 + length])) in COMMANDS)
        own = words[: words.index("--")] if "--" in words else words
        if called in COMMANDS and not isinstance(COMMANDS[called], TyperGroup):
            known = {option for param in COMMANDS[called].params for option in param.opts}
            assert {word for word in own if word.startswith("--")} - {"--help"} <= known
        for word in own:
            if word.startswith("scenarios"):
                assert (ROOT / word).exists()


def _examples(text: str) -> Iterator[list[str]]:
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("    fullpipe "):
            yield shlex.split(line)


def test_reproduce_lists_every_published_study(fullpipe: Fullpipe) -> None:
    text = fullpipe("reproduce", "--help").stdout.partition("Studies:\n")[2].partition("\n\n")[0]
    published = {
        tomllib.loads(file.read_text(encoding="utf-8"))["name"]
        for file in (ROOT / "published").glob("*.toml")
    }
    listed = {name for line in text.splitlines() for name in [line.split()[0]]}
    assert listed == published
