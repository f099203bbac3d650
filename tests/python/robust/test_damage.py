"""Kept directories with a random damage, and the commands that read them: an error with file and fix, or a repair."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import depth
import fullpipe as package
from conftest import SCENARIO
from fullpipe.commands import app

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

WORKLOAD = (
    SCENARIO
    + """
[[workload]]
cc = "cubic"
name = "web"
model = "lognormal median 10kB sigma 2 max 200kB"
load = 0.2
stop = "1s"
"""
)
SWEEP = ("sweep", "short.toml", "--set", "path.rtt=20ms,30ms", "--repeat", "2", "--out", "sweep")
COMPARE = ("compare", "cubic", "bbr1", "--set", "duration=2s", "--set", "measure_from=0s")
INGEST = ("fleet", "ingest", "--arm", "a=a/{host}/*.ss", "--arm", "b=b/{host}/*.ss", "-o", "fleet")
SIMULATE = ("fleet", "simulate", "--cc", "cubic,bbr1", "--paths", "2")
COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "run": [("report", "run"), ("verify", "run"), ("trace", "qlog", "run", "new.qlog")],
    "workload": [("report", "workload"), ("trace", "qlog", "workload", "new.qlog")],
    "sweep": [("report", "sweep"), ("run", "sweep", "--point", "1"), ("verify", "sweep"), SWEEP],
    "compare": [
        ("report", "compare"),
        ("verify", "compare"),
        (*COMPARE, "--repeat", "2", "--out", "compare"),
    ],
    "fleet": [("fleet", "compare", "fleet", "--min-bytes", "0"), ("report", "fleet"), INGEST],
    "paths": [("fleet", "compare", "paths"), (*SIMULATE, "--out", "paths")],
}
MUTATIONS = depth.of("FULLPIPE_MUTATIONS", 60, 500)


def _called(directory: Path, *arguments: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        return CliRunner().invoke(app, list(arguments))


def _socket(port: int) -> str:
    fields = (
        f"mss:1448 cwnd:10 bytes_sent:9{port:03}000 bytes_acked:8{port:03}000 busy:{port + 50}ms"
    )
    return f"ESTAB 0 0 10.0.0.1:443 192.0.2.{port}:{port + 1}\n\t cubic rtt:{port + 9}/2 {fields}\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one of each kind, and their inputs."""
    directory = tmp_path_factory.mktemp("made")
    (directory / "short.toml").write_text(SCENARIO)
    (directory / "workload.toml").write_text(WORKLOAD)
    for arm in ("a", "b"):
        for host in ("x", "y"):
            (directory / arm / host).mkdir(parents=True)
            sockets = "".join(map(_socket, range(20)))
            (directory / arm / host / "1.ss").write_text(f"@1576576800\n{sockets}")
    for command in (
        ("run", "short.toml", "--trace", "50ms", "--out", "run"),
        ("run", "workload.toml", "--trace", "50ms", "--out", "workload"),
        SWEEP,
        (*COMPARE, "--repeat", "2", "--out", "compare"),
        INGEST,
        (*SIMULATE, "--out", "paths"),
    ):
        done = _called(directory, *command)
        assert done.exit_code == 0, (command, done.stderr)
    return directory


def _damage(drawn: random.Random, place: Path) -> str:
    """Damages a file of a directory; returns the damage."""
    files = sorted(file for file in place.rglob("*") if file.is_file() and file.name != ".lock")
    file = drawn.choice(files)
    content = bytearray(file.read_bytes())
    kind = drawn.choice(["flip", "flip", "cut", "empty", "zeros", "garbage", "delete", "other"])
    at = drawn.randrange(max(len(content), 1))
    match kind:
        case "flip" if content:
            content[at] ^= 1 << drawn.randrange(8)
        case "cut":
            del content[at:]
        case "empty":
            content.clear()
        case "zeros":
            content[at : at + 64] = bytes(len(content[at : at + 64]))
        case "garbage":
            content[at : at + 40] = drawn.randbytes(drawn.randrange(80))
        case "other":
            content = bytearray(drawn.choice(files).read_bytes())
    if kind == "delete":
        file.unlink()
    else:
        file.write_bytes(content)
    return f"{kind} {file.relative_to(place)} at {at}"


def _meaning(directory: Path, name: str) -> object:
    """Returns the numbers of a directory, as far as they are the same each time."""
    if name == "sweep":
        return package.Sweep(directory / name).frame().to_dicts()
    return None


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_without_damage_each_command_succeeds(made: Path, tmp_path: Path, name: str) -> None:
    for each in ("short.toml", "workload.toml", "a", "b"):
        (tmp_path / each).symlink_to(made / each)
    shutil.copytree(made / name, tmp_path / name)
    for command in COMMANDS[name]:
        done = _called(tmp_path, *command)
        assert done.exit_code == 0, (command, done.stderr)


@pytest.mark.parametrize("part", range(2))
def test_damage_is_an_error_with_file_and_fix_or_repaired(
    made: Path, tmp_path: Path, part: int
) -> None:
    whole = _meaning(made, "sweep")
    for number in range(part, MUTATIONS, 2):
        drawn = random.Random(number)
        name = drawn.choice(sorted(COMMANDS))
        place = tmp_path / f"{number}"
        place.mkdir()
        for each in ("short.toml", "workload.toml", "a", "b"):
            (place / each).symlink_to(made / each)
        shutil.copytree(made / name, place / name)
        checked = drawn.random() < 0.7
        if not checked:  # as if copied without it
            for file in (place / name).rglob("SHA256SUMS"):
                file.unlink()
        done = [_damage(drawn, place / name) for _ in range(drawn.choice([1, 1, 1, 3]))]
        for command in COMMANDS[name]:
            called = _called(place, *command)
            said = f"seed {number}: {'; '.join(done)}: {' '.join(command)}: {called.stderr}"
            # A traceback would be another exception.
            assert isinstance(called.exception, SystemExit | None), said
            may_differ = [1] if command[0] == "verify" else []
            assert called.exit_code in (0, *may_differ, 2), said
            if called.exit_code == 2:
                assert "error: " in called.stderr, said
        if name == "sweep" and checked and called.exit_code == 0:
            # The same command came last, and has repaired the damage.
            assert _meaning(place, name) == whole, said
        shutil.rmtree(place)
