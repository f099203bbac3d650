"""Hold-out: cells that are drawn with a secret, and the alarm when the score on them falls behind.

The secret is in the user's state directory, which only the user may read and no contained candidate sees. Each use of
the hold-out answers one question with yes or no, so a search learns little about its cells. After a stated number of
uses, and once the cells have been printed, another secret takes its place.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from fullpipe.errors import DamagedError
from fullpipe.results import disk
from fullpipe.results.kept import read_sealed
from fullpipe.results.sums import write_json
from fullpipe.wings.search.score.points import scored
from fullpipe.wings.search.score.suite import number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe.wings.search.score.suite import Cell, Suite

ALARM = 0.02
"""Probability of an alarm about a candidate that does not know the shown cells."""
_FORMAT = 1
_ONLY_USER = 0o700


class _Kept(TypedDict):
    format: int
    secret: str
    uses: int


def home() -> Path:
    """Returns the folder of secrets, and of values on their cells."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "fullpipe" / "score"


class Secret:
    """The secret of a suite.

    Attributes:
        uses: The number of uses of this secret.
    """

    def __init__(self, suite: Suite) -> None:
        """Reads the secret, or makes one.

        Raises:
            OSError: When it can't be read or written.
        """
        self._suite = suite
        self._file = home() / f"{suite.identity}.json"
        disk.make_folder(home())
        home().chmod(_ONLY_USER)
        with self._alone():
            try:
                kept = read_sealed(self._file, _Kept, _FORMAT)
                self._secret, self.uses = kept["secret"], kept["uses"]
            except (FileNotFoundError, DamagedError):
                self._renew()

    @property
    def seed(self) -> int:
        """The seed of the drawing."""
        return number_of(f"{self._secret} {self._suite.identity}")

    @property
    def values(self) -> Path:
        """The folder of the values on the secret cells."""
        return home() / hashlib.sha256(self._secret.encode()).hexdigest()[:16]

    def use(self) -> None:
        """Counts a use; the one after the last makes a new secret."""
        with self._alone():
            kept = read_sealed(self._file, _Kept, _FORMAT)
            self._secret, self.uses = kept["secret"], kept["uses"]
            if self.uses >= self._suite.renew:
                self._renew()
            self.uses += 1
            self._write()

    def renew(self) -> None:
        """Makes another secret."""
        with self._alone():
            self._renew()

    def _renew(self) -> None:
        if hasattr(self, "_secret"):
            disk.remove_folder(self.values)
        self._secret, self.uses = secrets.token_hex(32), 0
        self._write()

    def _write(self) -> None:
        # The file has the permissions of the folder's only user from its beginning.
        before = os.umask(0o077)
        try:
            write_json(self._file, {"format": _FORMAT, "secret": self._secret, "uses": self.uses})
        finally:
            os.umask(before)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keeps other commands from the file meanwhile."""
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        lock = os.open(home() / f".{self._suite.identity}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


class Tried(NamedTuple):
    """Points of a candidate on cells.

    Attributes:
        cells: The cells.
        points: Its points by the cells' keys.
        control: The points of an algorithm that was not fitted to the cells.
    """

    cells: Sequence[Cell]
    points: Mapping[str, float]
    control: Mapping[str, float]


def alarm(suite: Suite, shown: Tried, hidden: Tried) -> float:
    """Returns the probability of a gap as large as that between the shown score and the hold-out's, by chance.

    Welch's one-sided test over the strata of both. The part of the points that the control explains, by a regression
    within the strata, is taken from them: cells with more to gain are in one of both sets by chance.
    """
    slope = _slope([*_centered(suite, shown), *_centered(suite, hidden)])
    beyond = [
        {key: value - slope * each.control.get(key, 0.0) for key, value in each.points.items()}
        for each in (shown, hidden)
    ]
    return scored(suite, hidden.cells, beyond[1]).below(scored(suite, shown.cells, beyond[0]))


def _centered(suite: Suite, tried: Tried) -> list[tuple[float, float]]:
    """Returns the control's points and the candidate's, without the means of the strata."""
    found = []
    for number in range(len(suite.parts)):
        keys = [cell.key for cell in tried.cells if cell.part == number]
        keys = [key for key in keys if key in tried.points and key in tried.control]
        if keys:
            x = fmean(tried.control[key] for key in keys)
            y = fmean(tried.points[key] for key in keys)
            found += [(tried.control[key] - x, tried.points[key] - y) for key in keys]
    return found


def _slope(pairs: Sequence[tuple[float, float]]) -> float:
    squares = sum(x * x for x, _ in pairs)
    return sum(x * y for x, y in pairs) / squares if squares else 0.0
