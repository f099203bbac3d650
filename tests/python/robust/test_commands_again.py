"""Commands that fullpipe prints about the user's own algorithms run as they are printed; results name the code."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Fullpipe

CLASS = """\
import fullpipe

__version__ = "3.1"

class Mine:
    def __init__(self, config):
        self.window = 4 * config.smss

    def on_ack(self, cx, ack):
        pass

    def decision(self):
        return fullpipe.Decision(cwnd=self.window)
"""
LIBRARY = """\
#include "fullpipe.h"
#include <stdlib.h>
static void *create(const struct fullpipe_config *c) {
    uint64_t *window = malloc(sizeof *window);
    *window = 4 * c->smss;
    return window;
}
static void destroy(void *it) { free(it); }
static int32_t decision(void *it, struct fullpipe_decision *into) {
    into->cwnd = into->ssthresh = *(uint64_t *)it;
    return 0;
}
static int32_t on_ack(void *it, const struct fullpipe_context *cx, const struct fullpipe_ack *ack) {
    return FULLPIPE_SAME;
}
static const struct fullpipe_plugin table = {
    .version = FULLPIPE_VERSION, .name = FULLPIPE_TEXT("four"), .purpose = FULLPIPE_TEXT("Four segments"),
    .create = create, .destroy = destroy, .decision = decision, .on_ack = on_ack,
};
FULLPIPE_PLUGIN(table)
"""
# By its kind: the algorithm as a user writes it, its name in scenarios, and its file.
KINDS = {
    "class": ("again_mine.py:Mine", "again_mine:Mine", "again_mine.py"),
    "class elsewhere": ("sub dir/again_mine.py:Mine", "again_mine:Mine", "sub dir/again_mine.py"),
    "library": ("sub dir/libfour.so", "four", "sub dir/libfour.so"),
    "policy": ("policy:sub/power.json", "policy:sub/power.json", "sub/power.json"),
}
PATH = ("--rate", "10mbit", "--rtt", "20ms", "--duration", "1s")
EVALUATED = ("--criterion", "full-backoff", "--quick", "--seeds", "3")
DOORS = {
    "run": ("run", "{}", *PATH, "--out", "kept"),
    "sweep": ("sweep", "{}", *PATH, "--set", "path.buffer=1bdp,2bdp", "--out", "kept"),
    "compare": ("compare", "cubic", "{}", *PATH, "--repeat", "3", "--out", "kept"),
    "evaluate": ("evaluate", "{}", *EVALUATED, "--out", "kept"),
    "attack": (
        *("attack", "search", "{}", "--goal", "utilization", "--budget", "1s", "--random"),
        *("--worst", "1", "--out", "kept"),
    ),
    "check": ("check", "missed.toml", "--plugin", "{}"),
}
_COMMAND = re.compile(r"fullpipe [a-z][^\n`|]*")
_IN_PAGE = re.compile(r"<code>(fullpipe [^<]*)</code>|\"command\":(\"fullpipe [^\"]*\")")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library in C."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "four.c").write_text(LIBRARY)
    header = Path(__file__).parents[3] / "crates/plugin/include"
    made = ["cc", "-shared", "-fPIC", f"-I{header}", "-o", "libfour.so", "four.c"]
    subprocess.run(made, cwd=folder, check=True)
    return folder / "libfour.so"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The kind of an algorithm, whose file is in the test's directory."""
    _, _, file = KINDS[request.param]
    (tmp_path / file).parent.mkdir(exist_ok=True)
    if request.param == "library":
        shutil.copy(request.getfixturevalue("library"), tmp_path / file)
    elif request.param == "policy":
        trained = Path(__file__).parents[3] / "python/fullpipe/trained/power.json"
        shutil.copy(trained, tmp_path / file)
    else:
        (tmp_path / file).write_text(CLASS)
    return str(request.param)


def printed(fullpipe: Fullpipe, folder: Path, words: list[str]) -> Iterator[str]:
    """Yields the commands that a command prints, and writes into its results and their report."""
    done = fullpipe(*words)
    assert done.returncode in (0, 1), done.stderr
    texts, pages = [done.stdout], []
    if (folder / "kept").exists() and words[0] in ("run", "sweep", "compare"):
        report = fullpipe("report", "kept", "--out", "report.html")
        assert report.returncode == 0, report.stderr
    for file in folder.rglob("*.*"):
        if file.suffix == ".md":
            texts.append(file.read_text(encoding="utf-8"))
        elif file.suffix == ".html":
            pages.append(file.read_text(encoding="utf-8"))
    for text in texts:
        for found in _COMMAND.findall(text):
            yield found.rstrip(" .,;:)")
    for page in pages:
        for plain, quoted in _IN_PAGE.findall(page):
            yield unescape(plain) or json.loads(quoted)


@pytest.mark.parametrize("door", DOORS)
def test_a_printed_command_runs_as_it_is(
    kind: str, door: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    word, name, _ = KINDS[kind]
    if door == "check" and kind == "policy":
        word = "sub/none"  # its name is enough
    (tmp_path / "missed.toml").write_text(
        'duration = "1s"\nexpect = ["link.bottleneck.utilization > 100%"]\n[path]\nrate = "10mbit"\nrtt = "20ms"\n'
        f'buffer = "1bdp"\n[[flow]]\ncc = "{name}"\n'
    )
    words = [each.format(word) for each in DOORS[door]]
    if word == "sub/none":
        words = words[:2]
    own = {" ".join(words), shlex.join(words)}
    commands = {
        each
        for each in printed(fullpipe, tmp_path, words)
        if each.split()[1] in ("run", "attack", "check", "explore", "report")
        and each.removeprefix("fullpipe ") not in own
    }
    assert commands
    for each in sorted(commands):
        done = fullpipe(*shlex.split(each)[1:])
        assert done.returncode in (0, 1), f"{each}\n{done.stderr}"


def test_results_name_the_code(kind: str, fullpipe: Fullpipe, tmp_path: Path) -> None:
    word, name, file = KINDS[kind]
    digest = hashlib.sha256((tmp_path / file).read_bytes()).hexdigest()
    done = fullpipe("evaluate", word, *EVALUATED, "--out", "kept")
    assert done.returncode in (0, 1), done.stderr
    for text in ("table.md", "dossier.html", "dossier/report.md"):
        said = unescape((tmp_path / "kept" / text).read_text(encoding="utf-8"))
        assert digest in said, text
        assert file in said, text
    [of_code] = json.loads((tmp_path / "kept/table.json").read_text())[0]["algorithms"]
    assert (of_code["name"], of_code["file"], of_code["sha256"]) == (name, file, digest)
    assert of_code["version"] == ("3.1" if "class" in kind else "")
