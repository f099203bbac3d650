"""Completion in bash, zsh and fish: the scripts, and their installation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import (
    BashComplete,
    FishComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from fullpipe.errors import UserError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem, ShellComplete

PROGRAM = "fullpipe"
VARIABLE = "_FULLPIPE_COMPLETE"
"""The environment variable by which a shell asks for completions."""

_BASH = """\
%(complete_func)s() {
    local type value word="${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            file) compopt -o default ;;
            dir) compopt -o dirnames ;;
            open) compopt -o nospace; COMPREPLY+=("$value") ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

_ZSH = """\
#compdef %(prog_name)s

%(complete_func)s() {
    local -a lines plain described open
    local line type value about
    (( ! $+commands[%(prog_name)s] )) && return 1
    lines=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \\
        %(complete_var)s=zsh_complete %(prog_name)s 2>/dev/null)}")
    for line in $lines; do
        IFS=$'\\t' read -r type value about <<< "$line"
        case $type in
            plain) if [[ -n $about ]]; then described+=("${value//:/\\\\:}:$about"); else plain+=("$value"); fi ;;
            open) open+=("$value") ;;
            file) _path_files -f ;;
            dir) _path_files -/ ;;
        esac
    done
    [[ -n $described ]] && _describe -V unsorted described -U
    [[ -n $plain ]] && compadd -U -V unsorted -a plain
    [[ -n $open ]] && compadd -U -S '' -V unsorted -a open
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    (( $+functions[compdef] )) || { autoload -U compinit && compinit -u }
    compdef %(complete_func)s %(prog_name)s
fi
"""


def _is_open(item: CompletionItem) -> bool:
    """Whether a value continues: a key, whose value follows."""
    return item.type == "plain" and str(item.value).endswith("=")


class Bash(BashComplete):
    """Completion in bash, whose words end at `=` and `:`."""

    source_template = _BASH

    @staticmethod
    def _check_version() -> None:
        """The script works with bash 4.4 and later, without a call of bash for its version."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Returns the complete words, and the one at the cursor as the command will get it."""
        line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
        words = split_arg_string(line)
        word = "" if not words or line[-1:].isspace() else words.pop()
        return words[1:], word

    def format_completion(self, item: CompletionItem) -> str:
        """Returns type and value; bash replaces only the part of a word behind the last word break."""
        _, word = self.get_completion_args()
        breaks = [word.rfind(each) for each in "=:" if each in os.environ["COMP_WORDBREAKS"]]
        start = max([-1, *breaks]) + 1
        kind = "open" if _is_open(item) else item.type
        return f"{kind},{str(item.value)[start:]}"


class Zsh(ZshComplete):
    """Completion in zsh, without a space behind a key."""

    source_template = _ZSH

    def format_completion(self, item: CompletionItem) -> str:
        """Returns type, value and help."""
        return f"{'open' if _is_open(item) else item.type}\t{item.value}\t{item.help or ''}"


class Fish(FishComplete):
    """Completion in fish, with commas in values and help."""

    source_template = FishComplete.source_template.replace(
        'string split ","', 'string split --max 1 ","'
    )


SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def register() -> None:
    """Lets click use these classes."""
    for name, made in SHELLS.items():
        add_completion_class(made, name)


def script(shell: str) -> str:
    """Returns the completion script of a shell."""
    from fullpipe.commands import app

    return SHELLS[shell](app, {}, PROGRAM, VARIABLE).source().strip() + "\n"


def named(shell: str) -> str:
    """Returns the shell of this name; `this` is the user's.

    Raises:
        UserError: When completion does not support it.
    """
    name = Path(os.environ.get("SHELL", "")).name if shell == "this" else shell
    if name not in SHELLS:
        raise UserError(
            f"the shell {name!r} has no completion\n  fix: name one: --install-completion {'|'.join(SHELLS)}"
        )
    return name


def install(shell: str) -> str:
    """Writes the script into the user's home, and for bash and zsh a line that reads it into their start-up file.

    Returns:
        A sentence on the changes.
    """
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    if shell == "fish":
        file = config / "fish/completions" / f"{PROGRAM}.fish"
        _write(file, script(shell))
        return f"wrote {file}; a new shell completes {PROGRAM}"
    file = data / PROGRAM / f"completion.{shell}"
    _write(file, script(shell))
    start = home / ".bashrc" if shell == "bash" else _zsh_home(home) / ".zshrc"
    line = f'[ -f "{file}" ] && . "{file}"  # completion of {PROGRAM}\n'
    before = start.read_text(encoding="utf-8") if start.exists() else ""
    if line not in before:
        gap = "" if not before or before.endswith("\n") else "\n"
        with start.open("a", encoding="utf-8") as out:
            out.write(f"{gap}{line}")
    return f"wrote {file}, which {start} reads; a new shell completes {PROGRAM}"


def _zsh_home(home: Path) -> Path:
    return Path(os.environ.get("ZDOTDIR") or home)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
