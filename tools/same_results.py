"""Compares what two checkouts compute, byte for byte: verdicts, numbers of studies, rows of sweeps and trace hashes.

    .venv/bin/python tools/same_results.py record DIR [PART …]   # of this checkout: a quarter of an hour
    .venv/bin/python tools/same_results.py compare BEFORE AFTER

`compare` shows the first lines that differ in each file, and ends with exit code 1. Texts of help and lists are shown
as a diff to read, since options grow: they don't count. Recorded texts do not depend on the machine's speed.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import polars as pl

import fullpipe
from fullpipe import commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Record = Callable[[], Iterator[tuple[str, str]]]

ROOT = Path(__file__).parent.parent
COMMAND = str(Path(sys.executable).parent / "fullpipe")
MINE = f"{ROOT}/examples/python-controller/reno.py:Reno"
"""A class, since its runs go another way than those of built-in algorithms."""
TO_READ = ("help", "lists")
LINES = 12
"""Number of differing lines that are shown of a file."""

SUITES = ("rfc9743", "aqm", "prudentia", "bbr-draft")
STUDIES = ("microsoft", "kit", "kit-whole", "l4s-tests", "dropbox", "huitema", "drift", "kernel")
PATH = ("--rate", "20mbit", "--rtt", "40ms")
ATTACK_BATCHES = 2
"""Number of an attack's batches that are compared: the budget decides how many there are."""


def called(*words: str, codes: Sequence[int] = (0, 1)) -> str:
    """Calls the command in the current directory and returns its standard output.

    Raises:
        RuntimeError: When the exit code is not in `codes`.
    """
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise RuntimeError(f"fullpipe {' '.join(words)}: {done.returncode}\n{done.stderr}")
    return done.stdout


def pretty(text: str) -> str:
    """Returns JSON with a line for each value, so that a difference is a line."""
    return json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False)


def rows(*directories: str) -> str:
    """Returns all rows of the Parquet files of directories; how many of them a shard has is a matter of time."""
    tables: dict[tuple[str, ...], list[pl.DataFrame]] = {}
    for file in sorted(file for each in directories for file in Path(each).rglob("*.parquet")):
        table = pl.read_parquet(file)
        name = str(file.parent if file.name[0].isdigit() else file)
        tables.setdefault((name, *table.columns), []).append(table)
    return "".join(
        f"{name}\n{pl.concat(parts).write_csv()}" for (name, *_), parts in tables.items()
    )


def hashes() -> Iterator[tuple[str, str]]:
    """The trace hash of each scenario, with a row for each ACK."""
    found = sorted((ROOT / "scenarios").rglob("*.toml"))
    lines = [
        f"{file.relative_to(ROOT)} {fullpipe.run(file, trace='ack').trace_hash}"
        for file in found
        if "programs" not in file.parts
    ]
    yield "scenarios", "\n".join(lines)


def evaluate() -> Iterator[tuple[str, str]]:
    """Each suite, and for one suite a class, too."""
    cases = [(suite, "fq_codel" if suite == "aqm" else "bbr3") for suite in SUITES]
    for suite, tested in [*cases, ("prudentia", MINE)]:
        seeds = () if suite == "bbr-draft" else ("--quick", "--seeds", "3")
        name = f"{suite}-{tested.partition(':')[2] or tested}"
        yield (
            name,
            pretty(called("evaluate", tested, "--suite", suite, *seeds, "--json", "--out", name)),
        )


def reproduce() -> Iterator[tuple[str, str]]:
    """Each study that runs in the simulator, with a seed for each case; a study of a fleet has one."""
    for study in STUDIES:
        seeds = () if study == "dropbox" else ("--seeds", "1")
        yield study, pretty(called("reproduce", study, *seeds, "--json", "--out", study))


def validate() -> Iterator[tuple[str, str]]:
    """The cells that Linux was recorded for."""
    yield "cells", pretty(called("validate", "--json"))


def check() -> Iterator[tuple[str, str]]:
    """The conditions of all scenarios that have some."""
    files = [
        str(file)
        for file in sorted((ROOT / "scenarios").glob("*.toml"))
        if "expect = " in file.read_text(encoding="utf-8")
    ]
    yield "scenarios", pretty(called("check", *files, "--repeat", "2", "--json"))


def compare_algorithms() -> Iterator[tuple[str, str]]:
    """Algorithms, and one of them a class."""
    for name, pair in (("built-in", ("cubic", "bbr3")), ("class", ("cubic", MINE))):
        yield (
            name,
            pretty(called("compare", *pair, *PATH, "--repeat", "4", "--out", name, "--json")),
        )


def score() -> Iterator[tuple[str, str]]:
    """Candidates against CUBIC."""
    words = ("score", "bbr3", MINE, "--no-holdout", "--cache", "cache", "--json")
    result = json.loads(called(*words))
    del result["seconds"]
    yield "general", pretty(json.dumps(result))


def attack() -> Iterator[tuple[str, str]]:
    """The first batches of a search. It is interrupted, since finished work is deleted in a finished one."""
    words = [
        COMMAND,
        "attack",
        "search",
        "bbr1",
        "--goal",
        "harm",
        "--budget",
        "60min",
        "--out",
        "found",
    ]
    kept = Path("found.unfinished/runs.jsonl")
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as search:
        while search.poll() is None and not (
            kept.exists() and kept.read_bytes().count(b"\n") >= ATTACK_BATCHES
        ):
            time.sleep(0.1)
        search.terminate()
    lines = kept.read_text(encoding="utf-8").splitlines()[:ATTACK_BATCHES]
    batches = [json.loads(line[line.index("{") :])["values"] for line in lines]
    yield "batches", json.dumps(batches, indent=1)


def sweep() -> Iterator[tuple[str, str]]:
    """The rows of sweeps over algorithms, queues and buffers."""
    words = ("--set", "flow.0.cc=bbr3,cubic,newreno", "--set", "path.queue=pfifo,fq_codel,cake")
    called(
        "sweep",
        "cubic",
        *PATH,
        *words,
        "--buffer",
        "0.5bdp,4bdp",
        "--duration",
        "20s",
        "--repeat",
        "3",
        "--out",
        "built-in",
    )
    yield "built-in", rows("built-in")
    called(
        "sweep",
        MINE,
        *PATH,
        "--buffer",
        "0.5bdp,4bdp",
        "--duration",
        "20s",
        "--repeat",
        "3",
        "--out",
        "class",
    )
    yield "class", rows("class")


def fleet() -> Iterator[tuple[str, str]]:
    """The rows of a population, and their comparison."""
    called("fleet", "simulate", "--paths", "300", "--cc", "cubic,bbr3", "--out", "fleet")
    yield "rows", rows("fleet")
    yield "compare", pretty(called("fleet", "compare", "fleet", "--json"))


def observatory() -> Iterator[tuple[str, str]]:
    """The values of a small observatory."""
    words = [
        "--small",
        "--cc",
        "cubic,bbr3",
        "--family",
        "alone,with-another,policer",
        "kept",
    ]
    subprocess.run(
        [sys.executable, "-m", "fullpipe.wings.search.observatory", *words],
        check=True,
        capture_output=True,
    )
    yield "values", rows("kept")


def helps() -> Iterator[tuple[str, str]]:
    """The help of each command."""

    def walk(group: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield words
        if isinstance(group, click.Group):
            for name in group.list_commands(None):  # type: ignore[arg-type]
                yield from walk(group.get_command(None, name), (*words, name))  # type: ignore[arg-type]

    for words in walk(commands.app, ()):
        yield "-".join(words) or "fullpipe", called(*words, "--help")


def lists() -> Iterator[tuple[str, str]]:
    """The lists of names."""
    for kind in (
        "algorithms",
        "queues",
        "impairments",
        "profiles",
        "metrics",
        "scenarios",
        "tests",
        "lessons",
    ):
        yield kind, called("list", kind)


PARTS: dict[str, Record] = {
    "hashes": hashes,
    "validate": validate,
    "check": check,
    "compare": compare_algorithms,
    "score": score,
    "attack": attack,
    "sweep": sweep,
    "fleet": fleet,
    "observatory": observatory,
    "help": helps,
    "lists": lists,
    "evaluate": evaluate,
    "reproduce": reproduce,
}


def record(out: Path, chosen: Sequence[str]) -> int:
    """Writes a file for each text of the chosen parts; a part that is there is not recorded again."""
    for name in chosen or PARTS:
        if (out / name).exists():
            print(f"{name}: recorded before")
            continue
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            texts = dict(PARTS[name]())
            os.chdir(ROOT)
        (out / name).mkdir(parents=True)
        for file, text in texts.items():
            here = text.replace(f"{ROOT}/", "")  # another checkout is elsewhere
            (out / name / f"{file}.txt").write_text(here + "\n", encoding="utf-8")
        print(f"{name}: {len(texts)} texts, {time.monotonic() - begun:.0f} s", flush=True)
    return 0


def compare(before: Path, after: Path) -> int:
    """Prints what differs; returns 1 if anything but texts to read does, or is missing on a side."""
    differ = 0
    names = sorted(
        {file.relative_to(each) for each in (before, after) for file in each.rglob("*.txt")}
    )
    for name in names:
        sides = [
            (each / name).read_text(encoding="utf-8").splitlines()
            if (each / name).exists()
            else None
            for each in (before, after)
        ]
        if sides[0] == sides[1]:
            continue
        to_read = name.parts[0] in TO_READ
        differ += not to_read
        missing = [
            str(each) for each, side in zip((before, after), sides, strict=True) if side is None
        ]
        print(
            f"{name}: {'to read' if to_read else 'differs'}{f', not in {missing[0]}' if missing else ''}"
        )
        old, new = (side or [] for side in sides)
        lines = difflib.unified_diff(old, new, lineterm="", n=0)
        changed = (line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---"))
        for line in changed if to_read else itertools.islice(changed, LINES):
            print(f"  {line[:200]}")
    print(f"{len(names)} texts, {differ} differ")
    return 1 if differ else 0


def main() -> int:
    """Records or compares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record", help="record this checkout's results in a directory")
    recording.add_argument("out", type=Path, metavar="DIR")
    recording.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)"
    )
    comparing = verbs.add_parser("compare", help="compare two such directories")
    comparing.add_argument("before", type=Path, metavar="BEFORE")
    comparing.add_argument("after", type=Path, metavar="AFTER")
    given = parser.parse_args()
    if given.verb == "compare":
        return compare(given.before, given.after)
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: no part")
    return record(given.out.resolve(), given.parts)


if __name__ == "__main__":
    sys.exit(main())
