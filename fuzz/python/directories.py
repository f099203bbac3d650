"""Kept directories of runs, sweeps and comparisons with any contents: they load, or are an error with a fix.

The checksums are right: a wrong one ends the reading at once, which tests/python/robust/test_damage.py tests.
"""

from __future__ import annotations

import atheris
from _common import VALUES, folder, fuzz, instrumented, places

with instrumented("fullpipe.results"):
    from fullpipe.results import form, kept, load, qlog, single, study, sums, sweep  # noqa: F401

import copy
import json
import shutil
from typing import TYPE_CHECKING

import polars as pl
from click.testing import CliRunner

from fullpipe.commands import app
from fullpipe.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """\
# A title
duration = "0.2s"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "5packets"
[[flow]]
cc = "newreno"
"""
PLACE = folder()
COMMANDS = {
    "run": ("run", "{file}", "--trace", "20ms"),
    "sweep": ("sweep", "{file}", "--set", "path.rtt=20ms,30ms"),
    "compare": (
        "compare",
        "newreno",
        "dctcp",
        "--set",
        "duration=0.2s",
        "--set",
        "measure_from=0s",
    ),
}


def make() -> dict[str, list[Path]]:
    """Makes the directories; returns the files of each."""
    file = PLACE / "short.toml"
    file.write_text(SCENARIO)
    files = {}
    for name, command in COMMANDS.items():
        arguments = [each.format(file=file) for each in command]
        done = CliRunner().invoke(app, [*arguments, "--out", str(PLACE / name)])
        assert done.exit_code == 0, done.output
        for listed in [*(PLACE / name).rglob(sums.SUMS)]:
            listed.unlink()
        files[name] = sorted(
            each for each in (PLACE / name).rglob("*") if each.is_file() and each.name != ".lock"
        )
    return files


FILES = make()


def json_of(content: bytes, drawn: atheris.FuzzedDataProvider) -> bytes:
    value = json.loads(content)
    for _ in range(drawn.ConsumeIntInRange(1, 4)):
        container, key = drawn.PickValueInList(places(value))
        match drawn.ConsumeIntInRange(0, 4):
            case 0 if isinstance(container, dict):
                container.pop(key, None)
            case 1:
                container[key] = drawn.ConsumeUnicodeNoSurrogates(12)
            case 2:
                container[key] = drawn.ConsumeInt(9)
            case _:
                container[key] = copy.deepcopy(drawn.PickValueInList(VALUES))
        if not places(value):
            break
    if "checksum" in value:
        rest = {key: each for key, each in value.items() if key != "checksum"}
        value = {**rest, "checksum": sums._of_json(rest)}
    return json.dumps(value).encode()


def parquet_of(file: Path, drawn: atheris.FuzzedDataProvider) -> pl.DataFrame:
    frame = pl.read_parquet(file, glob=False)
    for _ in range(drawn.ConsumeIntInRange(1, 3)):
        name = drawn.PickValueInList(frame.columns)
        match drawn.ConsumeIntInRange(0, 5):
            case 0 if frame.width > 1:
                frame = frame.drop(name)
            case 1:
                frame = frame.with_columns(pl.col(name).cast(pl.String, strict=False))
            case 2:
                frame = frame.with_columns(pl.lit(None).alias(name))
            case 3:
                frame = frame.head(drawn.ConsumeIntInRange(0, 2))
            case 4:
                frame = frame.with_columns(pl.lit(drawn.ConsumeInt(8)).alias(name))
            case _:
                frame = frame.rename({name: drawn.ConsumeUnicodeNoSurrogates(5)}, strict=False)
    return frame


def damage(file: Path, drawn: atheris.FuzzedDataProvider) -> Path | None:
    """Replaces the contents of a file; returns the file that has them, whose name may have their checksum."""
    content = file.read_bytes()
    kind = drawn.ConsumeIntInRange(0, 5)
    aside = file.with_name(".aside")
    if kind == 0:
        file.unlink()
        return None
    if file.suffix == ".json" and kind < 5:
        aside.write_bytes(json_of(content, drawn))
    elif file.suffix == ".parquet":
        # Not its bytes: SECURITY.md promises nothing about a Parquet file of unknown origin.
        try:
            parquet_of(file, drawn).write_parquet(aside)
        except (pl.exceptions.PolarsError, OverflowError):  # a name twice, for example
            return file
    else:
        at = drawn.ConsumeIntInRange(0, len(content))
        new = drawn.ConsumeBytes(40)
        aside.write_bytes(content[:at] + new + content[at + drawn.ConsumeIntInRange(0, 40) :])
    to = file
    if sums.is_shard(file):
        to = file.with_name(f"{sums.stem(file)}-{sums.in_name(aside.read_bytes())}{file.suffix}")
        file.unlink()
    aside.replace(to)
    return to


def read(name: str, damaged: Path) -> None:
    directory = PLACE / name
    try:
        load.load(directory)
        if name == "run" and damaged.name != "scenario.toml":
            with kept.computing(directory):  # as the command does
                qlog.write_into(PLACE / "it.qlog", qlog.of_saved(directory), "json")
    except (UserError, OSError) as error:
        assert (
            isinstance(error, OSError) or "fix: " in str(error) or isinstance(error, qlog.QlogError)
        ), error


def check(data: bytes) -> None:
    drawn = atheris.FuzzedDataProvider(data)
    # The slowest is the rarest.
    name = drawn.PickValueInList(["run", "sweep", "sweep", "run", "sweep", "compare"])
    file = drawn.PickValueInList(FILES[name])
    before = PLACE / "before"
    shutil.copyfile(file, before)
    damaged = damage(file, drawn)
    try:
        read(name, file)
    finally:
        if damaged:
            damaged.unlink()
        shutil.copyfile(before, file)


if __name__ == "__main__":
    fuzz(check)
