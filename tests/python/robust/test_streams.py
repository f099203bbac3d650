"""Streams, names and texts that no terminal has: each is answered in words."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from conftest import SCENARIO

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="streams of POSIX, names of Linux")


def called(
    folder: Path, *words: str | bytes, shell: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Calls the command with its own start-up, and with redirections of a shell."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-m", "fullpipe", *words],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", **environment},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [(["explain", "cubic"], 0), (["run", "-"], 2), (["explore", "-"], 2)],
)
def test_standard_input_may_be_closed(words: list[str], code: int, tmp_path: Path) -> None:
    done = called(tmp_path, *words, shell="<&-")
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert "<stdin>: no scenario\n  fix: " in done.stderr or code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["run", "x.toml", "--out", "o"],
        ["explain", "cubic"],
        ["compare", "cubic", "bbr1", "--rate", "5mbit", "--rtt", "20ms", "--duration", "2s"],
        ["sweep", "x.toml", "--repeat", "2", "--out", "s"],
        ["check", "x.toml"],
        ["list", "algorithms"],
    ],
)
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_output_lacks_some_characters(words: list[str], encoding: str, tmp_path: Path) -> None:
    expect = 'seed = 7\nexpect = ["jain >= 10%"]'
    (tmp_path / "x.toml").write_text(
        SCENARIO.replace("seed = 7", expect).replace("Two", "Zwölf → 二")
    )
    done = called(tmp_path, *words, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["run", b"bad\xff.toml"],
        ["sweep", b"bad\xff.toml"],
        ["check", b"bad\xff.toml"],
        ["explore", b"bad\xff.toml"],
        ["attack", "shrink", b"bad\xff.toml", "--keep", "flow.0.goodput > 1mbit"],
        ["workload", "describe", b"bad\xff.toml"],
        ["run", "x.toml", "--out", b"o\xff"],
        ["sweep", "x.toml", "--repeat", "2", "--out", b"o\xff"],
        ["compare", "cubic", "bbr1", "--duration", "1s", "--out", b"o\xff"],
        ["report", b"o\xff"],
        ["run", b"policy:p\xff.json"],
    ],
)
def test_a_name_that_is_no_utf_8_is_refused(words: list[str | bytes], tmp_path: Path) -> None:
    for name in (b"bad\xff.toml", b"x.toml"):
        (tmp_path / os.fsdecode(name)).write_text(SCENARIO)
    done = called(tmp_path, *words)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "\\udcff" in done.stderr
    assert ": a name that is not in UTF-8\n  fix: rename it" in done.stderr


def test_a_directory_whose_name_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    done = called(folder, "compare", "cubic", "bbr1", "--duration", "1s")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert ": a name that is not in UTF-8\n  fix: rename it" in done.stderr


@pytest.mark.parametrize("command", ["run", "sweep", "check", "explore"])
def test_a_file_without_end_is_refused(command: str, tmp_path: Path) -> None:
    done = called(tmp_path, command, "/dev/zero", shell="; exit $?")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "/dev/zero: more than 64 MiB\n  fix: " in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["run", "policy:/dev/zero"],
        ["plugin", "check", "/dev/zero"],
        ["run", "cubic", "--plugin", "/dev/zero"],
        ["run", "cubic", "--recipe", "/dev/zero"],
        ["evaluate", "cubic", "--suite", "/dev/zero"],
        ["score", "cubic", "--suite", "/dev/zero"],
        ["score", "--candidates", "/dev/zero"],
        ["attack", "cubic", "--space", "/dev/zero"],
        ["reproduce", "/dev/zero"],
        ["run", "cubic", "--set", "path.rate_pattern=file /dev/zero"],
    ],
)
def test_no_reader_takes_a_file_without_end(words: list[str], tmp_path: Path) -> None:
    done = called(tmp_path, *words, shell="; exit $?")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "\n  fix: " in done.stderr
    assert "memory" not in done.stderr


def test_a_title_is_as_long_as_a_line(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f"# {'long ' * 400_000}\n{SCENARIO}")
    begin = time.monotonic()
    for words in (
        ["run", "x.toml"],
        ["run", "x.toml", "--out", "o"],
        ["report", "o"],
        ["report", "o", "--format", "pdf"],
    ):
        done = called(tmp_path, *words)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout) < 5_000
    assert time.monotonic() - begin < 60  # one of them took longer than anybody waits


def test_junit_is_xml_for_any_name(tmp_path: Path) -> None:
    name = "a\x1b\x07\ufffe b.toml"
    (tmp_path / name).write_text(
        SCENARIO.replace("seed = 7", 'seed = 7\nexpect = ["jain >= 200%"]')
    )
    done = called(tmp_path, "check", name, "--junit", "j.xml")
    assert done.returncode in (1, 2), done.stderr
    root = ET.parse(tmp_path / "j.xml").getroot()
    assert root[0].attrib["name"].startswith("a\\x1b\\x07\\ufffe b")


def test_a_home_that_can_not_be_written_is_answered_with_the_variable(tmp_path: Path) -> None:
    home = {"HOME": "/proc/nohome", "XDG_CACHE_HOME": "", "XDG_STATE_HOME": ""}
    done = called(tmp_path, "score", "cubic", "--no-holdout", **home)
    assert done.returncode == 2
    assert done.stderr.endswith(
        "  fix: name another directory with --cache, or set XDG_CACHE_HOME to one that you can write\n"
    )
    done = called(tmp_path, "score", "cubic", "--no-holdout", "--suite", "gone", **home)
    assert "--suite gone: no such suite or file" in done.stderr
