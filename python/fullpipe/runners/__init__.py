"""What a scenario can run on: the simulator, and real stacks. A module here is a runner, and its name the runner's.

Hyphens in a runner's name are underscores in the module's. Such a module has one value, `RUNNER`, a :class:`Runner`;
nothing else has to be told of it. Modules that begin with `_`
are parts of others. A runner that is not of this package is named as `my.module:MyRunner`, like a user's own algorithm.
"""

from __future__ import annotations

import pkgutil
import re
import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from fullpipe.controllers import is_imported
from fullpipe.errors import RunnerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fullpipe._core import Scenario
    from fullpipe.frame import Labels, Numbers

    Progress = Callable[[float, float, int], object]

SIMULATOR = "sim"
"""What commands use without `--on`."""
_NAME = re.compile(r"[a-z][a-z0-9-]*")


class Result(Protocol):
    """A finished run: what :class:`fullpipe._core.RunResult` has, for `docs/reference/metrics.md` says what is in it."""

    @property
    def trace_hash(self) -> str | None:
        """A fingerprint of every value of the trace; None without a trace, or where no run can be repeated exactly."""

    @property
    def tables(self) -> list[str]:
        """The names of the recorded tables; empty without a trace."""

    def metrics_json(self) -> str:
        """The metrics as one JSON object, with `runner`, `host` and `warnings`."""

    def table(self, name: str) -> dict[str, Numbers | Labels]:
        """The columns of a table, all of one length."""

    def units(self, name: str) -> dict[str, str]:
        """The unit of each column of a table."""


class Missing(NamedTuple):
    """Why a runner is not there.

    Attributes:
        problem: What keeps it, as part of a sentence: "it has not been built".
        fix: The step that mends it: "run make oracle".
        root: Whether that takes root.
    """

    problem: str
    fix: str
    root: bool = False


class Runner(Protocol):
    """Something that runs scenarios."""

    @property
    def name(self) -> str:
        """What `--on` calls it, and `runner` in the metrics."""

    @property
    def about(self) -> str:
        """What it is, in one line."""

    @property
    def real_time(self) -> bool:
        """Whether a run lasts as long as it says, on the machine's clock: such runs go on one at a time."""

    def missing(self) -> Missing | None:
        """What keeps it from running on this machine; None when nothing does."""

    def refuse(self, scenario: Scenario, trace: str) -> None:
        """Looks at what it will be asked for; of a sweep at every point, before the first one runs.

        Raises:
            ScenarioError: When it can't do that: the scenario needs what it has not got, or more
                than there is.
        """

    def execute(self, scenario: Scenario, trace: str, progress: Progress | None) -> Result:
        """Runs a scenario to its end.

        Args:
            scenario: One that it does not refuse.
            trace: `off`, `ack` for as often as it can, or the interval between two rows, like
                `10ms`.
            progress: Called now and then with seconds done, seconds in all, and events done (0 if
                it counts none).

        Raises:
            ScenarioError: When it turns out that it can't.
            KeyboardInterrupt: On Ctrl-C; nothing is left behind.
        """


def is_simulator(runner: Runner) -> bool:
    """Whether it is the simulator itself, whose runs the core's pool makes; a class derived from it is not."""
    from fullpipe.runners.sim import RUNNER

    return runner is RUNNER


def option(name: str) -> list[str]:
    """What a command says to use the runner of a name: nothing for the simulator."""
    return [] if name == SIMULATOR else ["--on", name]


def runner(name: str) -> Runner:
    """The runner of a name, ready to run.

    Raises:
        RunnerError: When there is none, or it can't run on this machine.
    """
    found = _named(name)
    if why := found.missing():
        raise RunnerError(f"--on {name}: {why.problem}\n  fix: {why.fix}; {_there()}")
    return found


def chosen(names: str | Iterable[str]) -> list[Runner]:
    """The runners of a list like "sim,kernel", in its order, each ready to run.

    Raises:
        RunnerError: When one of them is not, or is there twice, or there is none.
    """
    listed = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    listed = [name for name in listed if name]
    if not listed:
        raise RunnerError(f"no runner is named\n  fix: {_there()}")
    if twice := [name for name in listed if listed.count(name) > 1]:
        raise RunnerError(f"--on: {twice[0]} is there twice\n  fix: name each runner once")
    found = [runner(name) for name in listed]
    if same := [
        each.name for each in found if [other.name for other in found].count(each.name) > 1
    ]:
        raise RunnerError(
            f"--on: two of these runners call themselves {same[0]}\n  fix: give one another name"
        )
    return found


def every() -> list[Runner]:
    """Every runner of the package, there or not: the simulator first."""
    return [_named(name) for name in names()]


def names() -> list[str]:
    """Their names: the simulator's first."""
    modules = (
        each.name for each in pkgutil.iter_modules(__path__) if not each.name.startswith("_")
    )
    found = sorted(name.replace("_", "-") for name in modules)
    return sorted(found, key=lambda name: name != SIMULATOR)


def _named(name: str) -> Runner:
    if is_imported(name):
        return _imported(name)
    if name not in names():
        near = get_close_matches(name, names(), n=1)
        fix = f"did you mean {near[0]}? {_there()}" if near else _there()
        raise RunnerError(f"--on {name}: no runner of this name\n  fix: {fix}")
    return cast("Runner", import_module(f"{__name__}.{name.replace('-', '_')}").RUNNER)


def _imported(name: str) -> Runner:
    """A runner of somebody else: a class, made without arguments, in a module here or on Python's path."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # the command's own path has the place of the command instead
        sys.path.insert(0, here)
    try:
        made = cast("Runner", getattr(import_module(module), attribute)())
    except (ImportError, AttributeError) as error:
        raise RunnerError(
            f"--on {name}: {error}\n  fix: name a class that can be imported from {here}"
        ) from error
    needed = [
        each
        for each in ("about", "real_time", "missing", "refuse", "execute")
        if not hasattr(made, each)
    ]
    if needed:
        raise RunnerError(f"--on {name}: it has no {needed[0]}\n  fix: see fullpipe.runners.Runner")
    if not _NAME.fullmatch(str(getattr(made, "name", ""))):
        problem = "its name has to be of small letters, digits and hyphens, since files are named after it"
        raise RunnerError(f'--on {name}: {problem}\n  fix: give the class name = "mine"')
    return made


def _there() -> str:
    """Which there are, in words."""
    listed = [
        f"{each.name}{' (not on this machine)' if each.missing() else ''}" for each in every()
    ]
    return f"there {'is' if len(listed) == 1 else 'are'} {', '.join(listed)}; see fullpipe doctor"
