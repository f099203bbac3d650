"""What is run: one data set with each algorithm alone, one with all of them together."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import __version__
from fullpipe.results import fresh_directory
from fullpipe.sweeps.plan import Recipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.sweeps.plan import Pairs

FILE = "compare.json"
PARTS = ("alone", "together")
"""Directories with a data set each."""
DEFAULTS = {"duration": "60s", "measure_from": "10s", "path.rate": "100mbit", "path.rtt": "50ms", "path.buffer": "1bdp"}


class TooFewError(ValueError):
    """Nothing to compare; the text says what is missing."""


@dataclass(frozen=True)
class Comparison:
    """What `compare` was asked for."""

    algorithms: Sequence[str]
    alone: Recipe
    together: Recipe

    @property
    def recipes(self) -> tuple[tuple[str, Recipe], ...]:
        """Both parts, by name."""
        return tuple(zip(PARTS, (self.alone, self.together), strict=True))

    @property
    def usual_directory(self) -> Path:
        """Where it goes that is told no directory: the same one when it is called again."""
        identity = hashlib.sha256("".join(recipe.identity for _, recipe in self.recipes).encode()).hexdigest()
        return Path("results") / f"compare-{identity[:8]}"


def plan(algorithms: Sequence[str], settings: Pairs, repeat: int, seed: int | None) -> Comparison:
    """Both parts, every point of them checked.

    Args:
        algorithms: Their names.
        settings: Keys with values, in the place of :data:`DEFAULTS`; a `path.profile` replaces the whole path.
        repeat: Runs of each.
        seed: Of the first of them.

    Raises:
        TooFewError: When there are not two different algorithms.
        ScenarioError: When something is refused.
    """
    if len(algorithms) < 2:
        raise TooFewError("one algorithm is no comparison\n  fix: name two or more, like fullpipe compare cubic bbr3")
    if twice := [name for name in algorithms if algorithms.count(name) > 1]:
        raise TooFewError(f"{twice[0]} is there twice\n  fix: name each algorithm once")
    title = f"{', '.join(algorithms[:-1])} and {algorithms[-1]}"
    # The flow that is alone has the same name, and so meets the same chance, whatever its algorithm.
    alone = _text(f"{title}, each alone", [("flow", algorithms[0])])
    together = _text(f"{title} together", [(None, name) for name in algorithms])
    made = Comparison(
        algorithms,
        Recipe(alone, "compare", settings, axes=[("flow.0.cc", list(algorithms))], repeat=repeat, seed=seed),
        Recipe(together, "compare", settings, repeat=repeat, seed=seed, points=[[]]),
    )
    for _, recipe in made.recipes:
        recipe.plan  # noqa: B018  (made here, to be refused here)
    return made


def _text(title: str, flows: Sequence[tuple[str | None, str]]) -> str:
    top = [f'{key} = "{value}"' for key, value in DEFAULTS.items() if "." not in key]
    path = [f'{key.removeprefix("path.")} = "{value}"' for key, value in DEFAULTS.items() if "." in key]
    tables = ["\n".join(["[[flow]]", *([f'name = "{name}"'] if name else []), f'cc = "{cc}"']) for name, cc in flows]
    return "\n\n".join(["\n".join([f"# {title}", *top]), "\n".join(["[path]", *path]), *tables]) + "\n"


def open_directory(directory: Path, comparison: Comparison, command: str, called: str) -> None:
    """Makes the directory, unless it is of a comparison already: its parts see to it that it is the same one.

    Raises:
        FileExistsError: When there is something else.
        OSError: When it can't be written.
    """
    if (directory / FILE).exists():
        return
    about = {"version": __version__, "command": command, "algorithms": list(comparison.algorithms)}
    with fresh_directory(directory, called) as aside:
        (aside / FILE).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
