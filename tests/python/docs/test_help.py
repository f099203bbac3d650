"""`--help`: every command's summary fits its line, and its examples name what exists."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fullpipe.commands import app
from fullpipe.commands.listing import Group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Fullpipe

ROOT = Path(__file__).parents[3]


COMMANDS = dict(app.walk())


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_no_line_of_help_is_longer_than_80_columns(
    fullpipe: Fullpipe, names: tuple[str, ...]
) -> None:
    text = fullpipe(*names, "--help").stdout
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_a_summary_is_the_first_line_of_the_command_s_help(names: tuple[str, ...]) -> None:
    group = app if len(names) == 1 else COMMANDS[names[:-1]]
    assert isinstance(group, Group)
    assert (COMMANDS[names].help or "").partition("\n")[0] == group.summary(names[-1])


@pytest.mark.parametrize("group", [(), ("fleet",), ("workload",)])
def test_no_summary_is_cut_at_80_columns(fullpipe: Fullpipe, group: tuple[str, ...]) -> None:
    listed = fullpipe(*group, "--help").stdout
    names = [names[-1] for names in COMMANDS if names[:-1] == group]
    lines = [line for line in listed.splitlines() if line.split()[:1] and line.split()[0] in names]
    assert len(lines) == len(names)
    assert [line for line in lines if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_help_has_a_summary_and_examples_without_notation_of_types(
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
        if not isinstance(COMMANDS[called], Group):
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
