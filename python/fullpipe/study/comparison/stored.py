"""`fullpipe compare` of kept results: what differs between the scenarios of directories is compared."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.algorithms.resolve import kind_of
from fullpipe.base import terminal
from fullpipe.errors import UserError, printing
from fullpipe.results.beside import beside
from fullpipe.results.kept import computing
from fullpipe.results.objects import is_url, local
from fullpipe.results.words import command_of
from fullpipe.study.comparison.plan import TooFewError
from fullpipe.study.comparison.show import records, show

if TYPE_CHECKING:
    from collections.abc import Sequence


class MixedError(UserError):
    """Algorithms and directories in one comparison; the text has the fix."""


def are_stored(names: Sequence[str]) -> bool:
    """Returns whether the arguments of `compare` are directories of results; False for algorithms.

    Raises:
        MixedError: When only some of them are, or one is a path that does not exist.
        TooFewError: When it is one directory.
    """
    names = [name for name in names if not ((kind := kind_of(name)) and kind.is_path)]
    there = [name for name in names if is_url(name) or Path(name).is_dir()]
    missing = [name for name in names if name not in there and _is_path(name)]
    if missing:
        raise MixedError(
            f"{missing[0]}: no such directory\n  fix: name directories that run, sweep or compare wrote with --out"
        )
    if there and len(there) < len(names):
        other = next(name for name in names if name not in there)
        raise MixedError(
            f"{there[0]} is a directory and {other!r} is not: compare takes directories of results or algorithms\n"
            f"  fix: keep a run of {other} with `fullpipe run … --out DIR`, or name algorithms only"
        )
    if len(there) == 1:
        raise TooFewError(
            f"{there[0]}: one directory, and a comparison needs two or more\n"
            f"  fix: name another one; for what differs within it: {command_of('report', there)}"
        )
    return bool(there)


def _is_path(name: str) -> bool:
    """Returns whether a name can only be that of a directory: algorithms have no slash before their class."""
    return "/" in name and ":" not in name


def compare_stored(directories: Sequence[str], asked: Sequence[str], *, as_json: bool) -> None:
    """Prints the table and the sentences of kept results side by side.

    Raises:
        NoResultsError: When a directory has no results, or is named twice.
        MetricError: When a metric is unknown, or the runs have no value of it.
        ObjectsError: When an object store can't be read, or has nothing there.
        OSError: When a file can't be read.
    """
    places = [local(each) for each in directories]
    with ExitStack() as stack:
        for place in places:
            stack.enter_context(computing(place))
        kept = beside(places)
        with printing():
            if as_json:
                terminal.print_alone(records(kept, asked))
                return
            console = terminal.console()
            show(kept, "", console, asked)
            console.print(
                f"for a report: {command_of('report', directories)}", markup=False, soft_wrap=True
            )
