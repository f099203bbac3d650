"""The directory of a sweep: what is in it, and how it grows shard by shard.

A shard's file is named after the numbers of its runs, the sweep's identity and, but for the
simulator, the runner. It appears whole or not at all. So the names show what is missing.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe import _core
from fullpipe._core import __version__
from fullpipe.frame import series
from fullpipe.results import fresh_directory, write_parquet
from fullpipe.sweeps.plan import FORMAT, build

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fullpipe._core import _Rows
    from fullpipe.sweeps.plan import Recipe

_SHARD = re.compile(r"(\d+)-(\d+)-([0-9a-f]{16})(?:-([a-z0-9-]+))?\.parquet")


class Store:
    """The directory of one sweep, opened to be filled."""

    def __init__(
        self,
        directory: Path,
        recipe: Recipe,
        command: str,
        called: str,
        runners: Sequence[str] = ("sim",),
    ) -> None:
        """Makes the directory, or opens the one that is there, where runners may be added.

        Raises:
            FileExistsError: When there is something else.
            OSError: When it can't be written.
        """
        self.directory, self.recipe, self.runners = directory, recipe, list(runners)
        if not (directory / "sweep.json").exists():
            with fresh_directory(directory, called) as aside:
                (aside / "runs").mkdir()
                (aside / "scenario.toml").write_text(recipe.text, encoding="utf-8")
                write_parquet(
                    _points(recipe).with_columns(
                        pl.Series("scenario", recipe.scenarios(), dtype=pl.String)
                    ),
                    aside / "points.parquet",
                )
                write_json(aside / "sweep.json", self._description(command))
        kept = json.loads((directory / "sweep.json").read_text(encoding="utf-8"))
        if kept.get("identity") != recipe.identity:
            why = (
                f"by another build of fullpipe ({kept.get('version')}, {kept.get('build')}), whose runs may differ"
                if kept.get("build") != build()
                else "of another scenario or other points"
            )
            raise FileExistsError(
                f"{called} holds a sweep {why}; name a new directory, results are never overwritten"
            )
        self.runners = list(dict.fromkeys([*kept["runners"], *runners]))
        if len(kept["seeds"]) < recipe.plan.seeds[1] or self.runners != kept["runners"]:
            write_json(directory / "sweep.json", self._description(command))
        self._points = _points(recipe)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other processes from filling the same directory.

        Raises:
            BlockingIOError: When one does so already.
        """
        with alone(self.directory):
            for leftover in (self.directory / "runs").glob(".*"):  # of a process that was killed
                leftover.unlink()
            yield

    def missing(self, runner: str = "sim") -> list[tuple[int, int]]:
        """Ranges of run numbers that no shard of a runner has, each with the number behind its last."""
        return gaps(self._shards(runner), self.recipe.plan.runs)

    def add(
        self,
        first: int,
        end: int,
        rows: _Rows,
        runner: str = "sim",
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes a shard; `more` are columns of one value.

        Raises:
            OSError: When it can't be written.
        """
        whose = "" if runner == "sim" else f"-{runner}"
        name = f"{first:07}-{end:07}-{self.recipe.identity}{whose}.parquet"
        aside = self.directory / "runs" / f".{name}"
        try:
            write_parquet(
                self._frame(rows).with_columns(
                    **{key: pl.lit(value) for key, value in (more or {}).items()}
                ),
                aside,
            )
            aside.rename(aside.with_name(name))
        except BaseException:
            aside.unlink(missing_ok=True)
            raise

    def _shards(self, runner: str) -> Iterator[tuple[int, int]]:
        for file in (self.directory / "runs").iterdir():
            if (found := _SHARD.fullmatch(file.name)) and (found[4] or "sim") == runner:
                yield int(found[1]), int(found[2])

    def _frame(self, rows: _Rows) -> pl.DataFrame:
        """A shard's rows, with what was varied behind point and seed."""
        columns = [series(name, column) for name, column in rows.items()]
        frame = pl.DataFrame(columns)
        varied = self._points.drop("point")[frame["point"]]
        return pl.concat(
            [frame.select("point", "seed"), varied, frame.drop("point", "seed")], how="horizontal"
        )

    def _description(self, command: str) -> dict[str, Any]:
        plan = self.recipe.plan
        first, count = plan.seeds
        return {
            "format": FORMAT,
            "version": __version__,
            "build": build(),
            "identity": self.recipe.identity,
            "command": command,
            "file": self.recipe.file,
            "scenario": self.recipe.text,
            "mode": plan.mode,
            "axes": [
                {"key": key, "values": [plain(value) for value in values], "unit": unit(values)}
                for key, values in plan.axes
            ],
            "zip": list(self.recipe.together),
            "seeds": list(range(first, first + count)),
            "points": plan.points,
            "runners": self.runners,
            "runs": plan.runs * len(self.runners),
            "added_jitter": {
                key: least if least == most else [least, most]
                for key, least, most in plan.added_jitter
            },
        }


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Keeps other processes from filling the same directory.

    Raises:
        BlockingIOError: When one does so already.
    """
    try:
        import fcntl
    except ImportError:  # not on this system
        yield
        return
    with (directory / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError(
                f"{directory}: another process is filling it; wait for that one"
            ) from error
        yield


def gaps(shards: Iterable[tuple[int, int]], runs: int) -> list[tuple[int, int]]:
    """The ranges of run numbers that no shard has, each with the number behind its last."""
    ranges, at = [], 0
    for first, end in sorted(shards):
        if first > at:
            ranges.append((at, first))
        at = max(at, end)
    ranges = [(first, min(end, runs)) for first, end in ranges if first < runs]
    return [*ranges, (at, runs)] if at < runs else ranges


def plain(value: str) -> str:
    """A value as it is meant: without the quotes that a `--set` may need."""
    return str(tomllib.loads(f"value = {value}")["value"]) if value[:1] in ('"', "'") else value


def unit(values: Sequence[str]) -> str | None:
    """The base unit of all values; empty for plain numbers and shares, None where they have not one in common."""
    quantities = [_core.quantity(plain(value)) for value in values]
    units = {quantity[1] if quantity else None for quantity in quantities}
    return units.pop() if len(units) == 1 else None


def _points(recipe: Recipe) -> pl.DataFrame:
    """A row a point: its number, each varied key as written, and as a number where its values have one unit."""
    plan = recipe.plan
    columns = [pl.Series("point", range(plan.points), dtype=pl.Int64)]
    for axis, (key, values) in enumerate(plan.axes):
        places = pl.Series(plan.places(axis), dtype=pl.UInt32)
        words = [plain(value) for value in values]
        columns.append(pl.Series(key, words, dtype=pl.String).gather(places))
        if unit(values) is not None:
            numbers = [
                quantity[0] if (quantity := _core.quantity(word)) else None for word in words
            ]
            columns.append(pl.Series(f"{key}.value", numbers, dtype=pl.Float64).gather(places))
    return pl.DataFrame(columns)


def write_json(path: Path, value: object) -> None:
    """Writes a file that is the old one or the new one at any time."""
    aside = path.with_name(f".{path.name}")
    aside.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    os.replace(aside, path)  # noqa: PTH105  (also where it exists, on every system)
