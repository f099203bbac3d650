"""Wrong usage: the error names the option, the problem and what to write instead."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

import fullpipe as package
from fullpipe.commands import app
from fullpipe.commands.listing import Group
from fullpipe.scenario.canned import named
from fullpipe.scenario.path_options import PATH_OPTIONS, PathOption
from fullpipe.wings.real.links.path import path as link_path
from fullpipe.wings.real.loadtest.plan import plan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Fullpipe

LINK = "fullpipe link --profile lte --rate=2mbit -- curl -sS http://192.0.2.1"
SWEEP = "fullpipe sweep cubic bbr3 --buffer 1bdp,4bdp"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run short.toml --bandwidth 10mbit", "write --rate 10mbit"),
        ("run short.toml --bandwidth=10mbit", "write --rate 10mbit"),
        ("compare cubic bbr3 --latency 10ms", "write --rtt 10ms"),
        ("run short.toml --algorithm bbr3", "write --cc bbr3"),
        ("sweep short.toml --qdisc fq_codel", "write --queue fq_codel"),
        ("run short.toml --jitter 5ms", "write --set path.jitter=5ms"),
        ("run short.toml --bytes 1MB", "write --set flow.0.bytes=1MB"),
        ("run short.toml --repeat 5", "it is an option of fullpipe sweep, fullpipe compare and"),
        ("run short.toml --duratoin 5s", "did you mean --duration?"),
        ("run short.toml --xyzzy", "`fullpipe run --help` lists the options"),
        ("run short.toml --out", "write --out DIR"),
        ("compare cubic bbr3 --buffer 1bdp,4bdp", f"sweep over them: {SWEEP}"),
        (LINK.removeprefix("fullpipe ").replace("-- curl", "curl"), f"of the program: {LINK}"),
        ("list algorithm", "did you mean algorithms?"),
        ("rnu short.toml", "did you mean run?"),
        ("run bbr", "did you mean bbr1 or bbr2 or bbr3?"),
        ("run short.toml --cc bbr", 'write one of "bbr1", "bbr2", "bbr3"'),
        ("run short.toml --set path.bandwidth=1mbit", "did you mean path.rate?"),
        ("run short.toml --set latency=10ms", "did you mean path.rtt?"),
        ("run short.toml --set flow.1.algorithm=cubic", "did you mean flow.1.cc?"),
        ("run short.toml --set path.rtt=0ms", "a BDP is rate x RTT: give a larger rate or rtt"),
        ("compare cubic,bbr3 --rtt 100", 'write "100us", "100ms" or "100s"'),
        ("sweep short.toml --repeat 0", "write 1 or more"),
        ("sweep short.toml --repeat many", "write a whole number, like 1"),
        ("sweep short.toml --engine cloud", "write one of local, ray"),
    ],
)
def test_the_error_says_what_to_write(
    fullpipe: Fullpipe, scenario: Path, words: str, said: str
) -> None:
    done = fullpipe(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    error, _, fix = done.stderr.partition("\n  fix: ")
    assert error.startswith("error: ") and "\n" not in error
    assert said in fix


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('bandwidth = "10mbit"', "did you mean rate?"),
        ('latency = "10ms"', "did you mean rtt?"),
        ('delay = "10ms"', "did you mean rtt?"),
        ('qdisc = "fq_codel"', "did you mean queue?"),
    ],
)
def test_a_key_of_other_programs_is_known(
    fullpipe: Fullpipe, tmp_path: Path, line: str, said: str
) -> None:
    text = f'duration = "2s"\n[path]\n{line}\n[[flow]]\ncc = "cubic"\n'
    (tmp_path / "mine.toml").write_text(text)
    done = fullpipe("run", "mine.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: mine.toml:3: path.{line}: unknown key\n  fix: {said}\n"


def test_the_options_of_a_path_mean_the_same_everywhere() -> None:
    of_path = {option.name: option for option in PATH_OPTIONS}
    having: dict[str, set[str]] = {name: set() for name in of_path}
    texts: dict[str, set[str]] = {name: set() for name in of_path}
    for names, command in app.walk():
        for param in command.params:
            name = max(param.opts, key=len).removeprefix("--")
            if not isinstance(command, Group) and name in of_path:
                having[name].add(" ".join(names))
                option = of_path[name]
                assert (param.metavar or "").removesuffix(",…") == option.metavar
                texts[name].add((param.help or "").partition(",")[0].partition(" (")[0])
    everywhere = {
        "run",
        "sweep",
        "compare",
        "explore",
        "link",
        "test",
        "check",
        "attack shrink",
        "new",
    }
    # Their scenarios are those of a file; --stack replaces its.
    of_a_file = {"evaluate", "reproduce", "attack search", "score", "fleet simulate"}
    for name, commands in having.items():
        of_commands = name in ("stack", "duration")  # a COMMAND has its own
        expected = everywhere - {"link"} if of_commands else everywhere
        if name == "stack":
            expected = expected | of_a_file
        # The path of a trace is stated; its duration is in the trace.
        assert commands - {"trace judge"} == expected, name
        beginning = of_path[name].help.partition(",")[0]
        assert all(text.startswith(beginning) for text in texts[name]), texts[name]


def test_a_path_option_sets_the_same_keys_everywhere(fullpipe: Fullpipe, tmp_path: Path) -> None:
    options = "--rate 7mbit --rtt 30ms --queue fq_codel --buffer 99packets --loss 1% --duration 2s"
    given = options.split()
    assert fullpipe("run", "cubic", *given, "--out", "run").returncode == 0
    (tmp_path / "new.toml").write_text(fullpipe("new", "cubic", *given).stdout)
    sweep = ["--repeat", "1", "--trace", "off"]
    assert fullpipe("sweep", "cubic", *given, *sweep, "--out", "sweep").returncode == 0
    once = ["--repeat", "1", "--out", "compare"]
    assert fullpipe("compare", "cubic", "bbr3", *given, *once).returncode == 0
    made = {
        "run": (tmp_path / "run/resolved.toml").read_text(encoding="utf-8"),
        "new": package.load(tmp_path / "new.toml").to_toml(),
        "sweep": package.Sweep(tmp_path / "sweep").load(0).to_toml(),
        "compare": package.Sweep(tmp_path / "compare/alone").load(0).to_toml(),
        "link": link_path(
            {option.key: value for option, value in _values(given)}, {}, up=None, file=None
        ).to_toml(),
        "test": plan(
            named("rrul"), [(option.key, value) for option, value in _values(given)], [], cc="cubic"
        ).scenario.to_toml(),
    }
    read = {name: tomllib.loads(text) for name, text in made.items()}
    for name, scenario in read.items():
        keys = {option.name for option, _ in _values(given)} & {*scenario["path"]}
        assert keys == {"rate", "rtt", "queue", "buffer", "loss"}
        assert {key: scenario["path"][key] for key in keys} == {
            key: read["run"]["path"][key] for key in keys
        }, name
    times = {name: (each["duration"], each["measure_from"]) for name, each in read.items()}
    # A link lasts as long as its program, and a test also has an idle phase.
    assert {times[name] for name in times if name not in ("link", "test")} == {("2s", "1s")}


def _values(words: list[str]) -> Iterator[tuple[PathOption, str]]:
    """Yields the options of the path, without --duration, with their values."""
    for option in PATH_OPTIONS:
        if f"--{option.name}" in words and option.name != "duration":
            yield option, words[words.index(f"--{option.name}") + 1]


@pytest.mark.parametrize(
    ("missing", "words"),
    [("run", ["cubic", "--duration", "1s"]), ("synonym", ["--bandwidth", "1mbit"])],
)
def test_a_compiled_part_that_is_too_old_says_so(missing: str, words: list[str]) -> None:
    code = (
        f"import fullpipe._core as core, sys; del core.{missing}; from fullpipe.commands import main; "
        f"sys.argv = {['fullpipe', 'run', *words]}; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        f"error: fullpipe._core has no {missing}: the compiled part is older than the rest\n"
        "  fix: run make setup\n",
    )
