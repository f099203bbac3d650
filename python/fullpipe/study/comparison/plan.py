"""The plan of a comparison: a data set with each algorithm alone, and one with all of them together."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.algorithms.resolve import PROGRAM, kind_of
from fullpipe.base.build import made
from fullpipe.errors import DamagedError, refusal
from fullpipe.report import control
from fullpipe.results import about as abouts
from fullpipe.results import disk, fresh_directory, sums
from fullpipe.results.kept import read_json
from fullpipe.results.sweep import PARTS
from fullpipe.results.words import ONLY_FLOW
from fullpipe.scenario.origin import PATH, TIMES, warm_up, written
from fullpipe.study.spec import SweepSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.study.spec import Pairs

    Texts = Mapping[str, str]

FILE = "compare.json"
_MOST_LETTERS = 60
EACH = "flow.0."
"""Begin of the keys of each algorithm's flow, alone and together."""
_OF_FLOW = re.compile(r"flow\.\d+\.\w")
TRANSFERS = {"duration": "600s", "measure_from": "0s"}
"""Times for transfers: they may end before this duration."""
LOOPBACK = {"kind": "loopback"}
SOCKET = "3MB"
"""The receive window on a machine's own loopback: the room in a socket buffer of 4 MB, Linux' default."""


class TooFewError(ValueError):
    """Fewer than two different algorithms; the text has the fix."""


@dataclass(frozen=True)
class Comparison:
    """The arguments of `compare` as two sweeps."""

    algorithms: Sequence[str]
    alone: SweepSpec
    together: SweepSpec
    also: Sequence[str] = ()
    """The settings in words, for the directory's name."""
    control: SweepSpec | None = None
    """The programs, each twice; None without programs."""

    @property
    def specs(self) -> tuple[tuple[str, SweepSpec], ...]:
        """Both parts and the control, by name."""
        parts = tuple(zip(PARTS, (self.alone, self.together), strict=True))
        return (*parts, (control.PART, self.control)) if self.control else parts

    @property
    def usual_directory(self) -> Path:
        """The directory of a comparison without `--out`: the same one for the same comparison.

        Its name has the algorithms and the settings: `compare-cubic-bbr3-20mbit-40ms`. If another
        comparison has that name, as one of another build, a hash follows.
        """
        words = "-".join([*self.algorithms, *self.also]).replace("%", "pct")
        words = re.sub(r"[^A-Za-z0-9._]+", "-", words).strip("-.")
        named = Path("results") / f"compare-{words}"
        if len(words) <= _MOST_LETTERS and self._is_in(named):
            return named
        identity = hashlib.sha256(
            "".join(spec.identity for _, spec in self.specs).encode()
        ).hexdigest()
        return Path("results") / f"compare-{words[:_MOST_LETTERS].rstrip('-.')}-{identity[:8]}"

    def _is_in(self, directory: Path) -> bool:
        """Returns whether a directory has this comparison, or no runs."""
        for part, spec in self.specs:
            with suppress(FileNotFoundError, DamagedError):
                return abouts.sweep(directory / part)["identity"] == spec.identity
        return True


def plan(
    algorithms: Sequence[str],
    settings: Pairs,
    repeat: int,
    seed: int | None,
    *,
    size: str | None = None,
    loopback: bool = False,
    controllers: Mapping[str, type] | None = None,
) -> Comparison:
    """Makes the plan of a comparison, with every point checked.

    Args:
        algorithms: The names of the algorithms.
        settings: Keys with values that override :data:`PATH` and times; a `path.profile` replaces
            the whole path. `flow.0` is the flow of each algorithm, alone and together.
        repeat: The number of runs of each algorithm, and of all together.
        seed: The seed of the first run.
        size: The bytes that each flow transfers; None for unlimited flows.
        loopback: Whether the path is this machine's own loopback, unless settings define another.
        controllers: Algorithms in Python by name.

    Raises:
        TooFewError: When there are fewer than two different algorithms.
        ScenarioError: When a setting is refused.
    """
    if len(algorithms) < 2:
        raise TooFewError(
            "a comparison needs two or more algorithms\n  fix: name them, like fullpipe compare cubic bbr3"
        )
    if twice := [name for name in algorithms if algorithms.count(name) > 1]:
        raise TooFewError(f"{twice[0]} is named twice\n  fix: name each algorithm once")
    title = f"{', '.join(algorithms[:-1])} and {algorithms[-1]}"
    # A flow alone always has the same name, and so the same random numbers for each algorithm.
    loopback = loopback and not any(key.startswith(("path.", "link.")) for key, _ in settings)
    times, path = TRANSFERS if size else TIMES, LOOPBACK if loopback else PATH
    each = {**({"bytes": size} if size else {}), **({"receive_window": SOCKET} if loopback else {})}
    alone = written(
        f"{title}, each alone", [{"name": ONLY_FLOW, "cc": algorithms[0], **each}], times, path
    )
    together = written(
        f"{title} together", [{"cc": name, **each} for name in algorithms], times, path
    )
    for key, value in settings:
        if _OF_FLOW.match(key) and not key.startswith(EACH):
            _, number, part = key.split(".", 2)
            fix = f"write {EACH}{part}, which is the flow of each algorithm, alone and together"
            if part.startswith("params.") and int(number) < len(algorithms):
                one = f"{algorithms[int(number)]}:{part.removeprefix('params.')}={value}"
                fix = f"write {one} for this algorithm alone; or {fix.removeprefix('write ')}"
            raise refusal("no such flow", fix, key=key, value=value)
    shorter = warm_up(alone, settings)
    fixed = [*settings, *([shorter] if shorter else [])]
    made = Comparison(
        algorithms,
        SweepSpec(
            alone,
            "compare",
            fixed,
            axes=[("flow.0.cc", list(algorithms))],
            repeat=repeat,
            seed=seed,
            controllers=controllers or {},
        ),
        SweepSpec(
            together,
            "compare",
            [each for pair in fixed for each in _for_all(pair, len(algorithms))],
            repeat=repeat,
            seed=seed,
            points=[[]],
            controllers=controllers or {},
        ),
        [
            *(value for _, value in settings),
            *([size] if size else []),
            *(["loopback"] if loopback else []),
            *([f"seed{seed}"] if seed not in (None, 1) else []),
        ],
        _control(algorithms, alone, fixed, repeat, seed),
    )
    for _, spec in made.specs:
        spec.plan  # noqa: B018  (made here, to be refused here)
    return made


def _for_all(pair: tuple[str, str], flows: int) -> Pairs:
    """Returns a setting of the flow of each algorithm as one for each of several flows."""
    key, value = pair
    if not key.startswith(EACH):
        return [pair]
    return [(f"flow.{number}.{key.removeprefix(EACH)}", value) for number in range(flows)]


def _control(
    algorithms: Sequence[str], alone: str, fixed: Pairs, repeat: int, seed: int | None
) -> SweepSpec | None:
    """Returns the control: each program alone, in two arms."""
    programs = [name for name in algorithms if kind_of(name) is PROGRAM]
    if not programs:
        return None
    axes = [(control.KEYS[0], programs), (control.KEYS[1], list(control.ARMS))]
    first = f'cc = "{algorithms[0]}"'
    text = alone.replace(first, f'cc = "{programs[0]}"', 1)
    return SweepSpec(text, "compare", fixed, axes=axes, repeat=repeat, seed=seed)


def open_directory(directory: Path, comparison: Comparison, command: str, called: str) -> None:
    """Makes the directory, unless it has a comparison already; its parts check later that it is the same one.

    Raises:
        FileExistsError: When the directory has other contents.
        DamagedError: When its `compare.json` is damaged or another, and there are no runs.
        OSError: When it can't be written.
    """
    about = {**made(), "command": command, "algorithms": list(comparison.algorithms)}

    def write(place: Path) -> None:
        disk.write(place / FILE, json.dumps(about, indent=1) + "\n")

    file, sum_file = directory / FILE, directory / sums.SUMS
    if any((directory / part / abouts.SWEEP).exists() for part in PARTS):
        if not sum_file.exists() or not sums.is_whole(file):  # its parts have all that matters
            with disk.scratch(directory / ".repair") as folder:
                write(folder)
                sums.write_sums(folder)
                for each in (file, sum_file):
                    disk.place(folder / each.name, each)
    elif file.exists():
        read_json(file, abouts.ComparisonAbout)
    else:
        with fresh_directory(directory, called) as aside:
            write(aside)
