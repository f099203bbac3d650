"""Completion: a real bash, zsh and fish complete commands, options, names and keys."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

LINES = {
    "fullpipe ev": {"evaluate"},
    "fullpipe trace ": {"import", "qlog"},
    "fullpipe run cubic --qu": {"--queue"},
    "fullpipe run cubic-v": {"cubic-vs-bbr1"},
    "fullpipe compare cubic bbr": {"bbr1", "bbr2", "bbr3"},
    "fullpipe run cubic --queue fq": {"fq_codel"},
    "fullpipe sweep cubic --queue pfifo,fq": {"pfifo,fq_codel"},
    "fullpipe link --profile lt": {"lte"},
    "fullpipe run cubic --set path.bu": {"path.buffer="},
    "fullpipe run cubic --set path.queue=fq": {"path.queue=fq_codel"},
    "fullpipe run cubic --set flow.1.c": {"flow.1.cc=", "flow.1.count=", "flow.1.cwnd_validation="},
    "fullpipe run cubic --set flow.0.cc=cu": {"flow.0.cc=cubic"},
    "fullpipe list al": {"algorithms"},
    "fullpipe explain goodp": {"goodput", "goodput_bps"},
    "fullpipe reproduce micro": {"microsoft"},
    "fullpipe run cubic --on s": {"sim"},
}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes(command: list[str], tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: `make apt`")
    script = tmp_path / "script"
    script.write_bytes(_of_program(command, tmp_path, "--show-completion", shell))
    for line, wanted in LINES.items():
        found = COMPLETE[shell](shell, tmp_path, script, line)
        assert wanted <= found, (line, found)
        word = line.rpartition(" ")[2]
        assert all(each.startswith(word) for each in found), (line, found)
        assert len(found) < 60, line


def _bash(shell: str, home: Path, script: Path, line: str) -> set[str]:
    """Returns what bash's function replies, as bash calls it; words end at = and :."""
    words = line.replace("=", " = ").split() + ([""] if line.endswith(" ") else [])
    quoted = " ".join(f"'{word}'" for word in words)
    done = _run(
        shell,
        home,
        f"""
        source {script}
        compopt() {{ :; }}
        COMP_LINE='{line}'; COMP_POINT={len(line)}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}
        $(complete -p fullpipe | sed 's/.*-F \\([^ ]*\\).*/\\1/') fullpipe
        printf '%s\\n' "${{COMPREPLY[@]}}"
        """,
    )
    start = line.rpartition(" ")[2].rpartition("=")
    return {f"{start[0]}{start[1]}{each}" for each in done.stdout.split()}


def _fish(shell: str, home: Path, script: Path, line: str) -> set[str]:
    done = _run(shell, home, f"source {script}; complete --do-complete '{line}'")
    return {each.partition("\t")[0] for each in done.stdout.splitlines() if each}


def _zsh(shell: str, home: Path, script: Path, line: str) -> set[str]:
    """Returns what the function adds; zsh has no call for completion outside of its line editor."""
    words = line.split() + ([""] if line.endswith(" ") else [])
    quoted = " ".join(f"'{word}'" for word in words)
    done = _run(
        shell,
        home,
        f"""
        compdef() {{ : }}
        compadd() {{ print -rl -- ${{(P)@[-1]}} }}
        _describe() {{ local each; for each in ${{(P)3}}; do print -r -- ${{each%%:*}}; done }}
        functions[compdef]='true'
        source {script}
        words=({quoted}); CURRENT={len(words)}
        _fullpipe_completion
        """,
    )
    return {each for each in done.stdout.splitlines() if each}


COMPLETE = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def _run(shell: str, home: Path, text: str) -> subprocess.CompletedProcess[str]:
    flags = {"bash": ["--norc"], "zsh": ["--no-rcs"], "fish": ["--no-config"]}[shell]
    return subprocess.run(
        [shell, *flags, "-c", text],
        env={**os.environ, "HOME": str(home), "PATH": f"{home / 'bin'}:{os.environ['PATH']}"},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=300,
    )


def _of_program(command: list[str], home: Path, *words: str) -> bytes:
    """Puts the program into a `bin` of the home, and returns its output."""
    (home / "bin").mkdir(exist_ok=True)
    program = home / "bin/fullpipe"
    quoted = " ".join(f"'{word}'" for word in command)
    program.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
    program.chmod(0o755)
    return subprocess.run(
        [program, *words],
        check=True,
        capture_output=True,
        cwd=home,
        env={**os.environ, "HOME": str(home)},
    ).stdout


@pytest.mark.parametrize(
    ("shell", "file", "start"),
    [
        ("bash", ".local/share/fullpipe/completion.bash", ".bashrc"),
        ("zsh", ".local/share/fullpipe/completion.zsh", ".zshrc"),
        ("fish", ".config/fish/completions/fullpipe.fish", None),
    ],
)
def test_installation_writes_the_script_once(
    fullpipe: Fullpipe,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    shell: str,
    file: str,
    start: str | None,
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    if start:
        (tmp_path / start).write_text("alias l=ls")
    for words in (["--install-completion"], ["--install-completion", shell]):
        done = fullpipe(*words)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"{tmp_path / file}" in done.stdout
    assert (tmp_path / file).read_text() == fullpipe("--show-completion", shell).stdout
    if start:
        lines = (tmp_path / start).read_text().splitlines()
        assert lines[0] == "alias l=ls"
        assert len(lines) == 2 and f'. "{tmp_path / file}"' in lines[1]


def test_an_unknown_shell_is_refused(fullpipe: Fullpipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    done = fullpipe("--install-completion")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the shell 'tcsh' has no completion\n  fix: name one: ")
