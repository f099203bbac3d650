"""Output on a terminal: texts of others are escaped, and streams may be closed or full."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fullpipe as package
from conftest import SCENARIO
from fullpipe.base.terminal import printable

if TYPE_CHECKING:
    from conftest import Fullpipe

ROOT = Path(package.__file__).parent
EVIL = "\x1b[2J\x1b]0;pwned\x07\u202eevil\u2028next\x9b31m"
ESCAPED = r"\x1b[2J\x1b]0;pwned\x07\u202eevil\u2028next\x9b31m"
# A terminal obeys, or a reader's direction or lines change, for any of these.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\u061c\u200e\u200f]")


def test_what_changes_the_rest_of_the_output_is_escaped() -> None:
    assert printable(EVIL) == ESCAPED
    assert (
        printable("plain, ü, 漢, \t tab\nline, 👩\u200d🚀")
        == "plain, ü, 漢, \t tab\nline, 👩\u200d🚀"
    )
    assert printable(os.fsdecode(b"name-\xff")) == r"name-\udcff"
    unsafe = [
        chr(code)
        for code in range(0x110000)
        if unicodedata.bidirectional(chr(code))
        in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    ]
    for each in (*unsafe, *(chr(code) for code in range(32) if chr(code) not in "\t\n")):
        assert printable(each).isascii() and len(printable(each)) > 1


def test_only_the_terminal_makes_consoles() -> None:
    made = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Console"
    ]
    # The other one writes into a text.
    assert sorted(place.partition(":")[0] for place in made) == [
        "base/terminal.py",
        "runs/view/run.py",
    ]


def test_a_title_a_name_and_a_bad_line_can_not_command_the_terminal(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    title = EVIL.replace("\x1b", "").replace("\x07", "").replace("\x9b", "\u200f")
    (tmp_path / "evil.toml").write_text(f"# {title}\n{SCENARIO}", encoding="utf-8")
    (tmp_path / "expects.toml").write_text(
        f'# {title}\nexpect = ["flow.*.goodput >= 1mbit"]\n{SCENARIO}', encoding="utf-8"
    )
    (tmp_path / "evil.log").write_text(f"{EVIL}\n", encoding="utf-8")
    # A bad line of a log and a missing file are quoted, titles are printed.
    for arguments, said in (
        (["run", "evil.toml"], r"\u202eevil\u2028next"),
        (["check", "expects.toml"], ""),
        (["sweep", "evil.toml", "--repeat", "2", "--out", "swept"], ""),
        (["run", f"{EVIL}.toml"], ESCAPED),
        (["report", EVIL], ESCAPED),
        (["fleet", "ingest", "--nginx", "a=evil.log", "-o", "fleet"], r"\x1b[2J"),
        (["fleet", "compare", EVIL], ESCAPED),
        (["workload", "describe", EVIL], ESCAPED),
        (["explain", EVIL], ""),
    ):
        done = fullpipe(*arguments)
        both = done.stdout + done.stderr
        assert said in both, arguments
        assert not UNSAFE.search(both), arguments
        assert "Traceback" not in both


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_errors_that_can_not_be_written_keep_their_code(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SCENARIO)

    def code(line: str) -> int:
        words = " ".join([*command, line])
        return subprocess.run(["sh", "-c", words], cwd=tmp_path, check=False).returncode

    assert code("run missing.toml 2>/dev/full") == 2
    assert code("run missing.toml 2>&-") == 2
    assert code("run short.toml >/dev/full 2>/dev/full") == 2
    # Closed streams: the work is done, and no file takes their numbers.
    assert code("sweep short.toml --out swept <&- >&- 2>&-") == 0
    assert package.Sweep(tmp_path / "swept").frame().height == 2
    assert {file.name for file in tmp_path.iterdir()} == {"short.toml", "swept"}
