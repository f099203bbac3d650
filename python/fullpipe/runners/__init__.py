"""Runners of scenarios: the simulator, and real stacks. Each module here, and in a wing's `runners`, is a runner.

The module has the runner's name, with underscores for hyphens, and one value, `RUNNER`, a :class:`Runner`; no other
file has to name it. Modules that begin with `_` are parts of others. A runner outside of this package is
named as `my.module:MyRunner`, like a user's own algorithm.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from fullpipe import wings
from fullpipe.algorithms import resolve
from fullpipe.errors import RunnerError, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fullpipe._core import Scenario, ScenarioError
    from fullpipe.base.frame import Labels, Numbers

    Progress = Callable[[float, float, int], object]

SIMULATOR = "sim"
"""The runner that commands use without `--on`."""
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_IMPORTED: dict[str, str] = {}
"""The text for `--on` of a user's runner, like `my.module:MyRunner`, by the runner's name, once it was imported."""


class Result(Protocol):
    """A finished run, like :class:`fullpipe._core.RunResult`; `docs/reference/metrics.md` explains its contents."""

    @property
    def trace_hash(self) -> str | None:
        """A fingerprint of every value of the trace; None without a trace, or if runs can't be repeated exactly."""

    @property
    def tables(self) -> list[str]:
        """The names of the recorded tables; empty without a trace."""

    def metrics_json(self) -> str:
        """The metrics as one JSON object, with `runner`, `host` and `warnings`."""

    def table(self, name: str) -> dict[str, Numbers | Labels]:
        """Returns the columns of a table, all of one length."""

    def units(self, name: str) -> dict[str, str]:
        """Returns the unit of each column of a table."""


class Missing(NamedTuple):
    """The reason why a runner does not work on this machine.

    Attributes:
        problem: The reason, as part of a sentence: "it has not been built".
        fix: The step that fixes it: "run make oracle".
        root: Whether the fix needs root.
    """

    problem: str
    fix: str
    root: bool = False


class Runner(Protocol):
    """Something that runs scenarios.

    A runner of the package may also have, each true or absent:

    - `packets`: it records single packets.
    - `own_controllers`: its flows run fullpipe's algorithms, which have the scenario's parameters.
    - `own_code`: they may be classes and libraries of the user's, which run in this process.
    - `policies`: they may be trained policies.
    - `programs`: flows may be programs.
    - `bpf`: they may be algorithms of `fullpipe kernel`.
    - `samples`: limits and windows come from a kernel's clocks and samples of its state.
    - `loopback`: a comparison without a path runs over the machine's loopback.
    - `quic`: its flows are QUIC's.

    `namespaces`, if it is there, are words for what goes without two network namespaces and TUN devices between them.
    """

    @property
    def name(self) -> str:
        """The name for `--on`, and for `runner` in the metrics."""

    @property
    def about(self) -> str:
        """A description in one line."""

    @property
    def real_time(self) -> bool:
        """Whether a run takes the scenario's duration, on the machine's clock: such runs execute one at a time."""

    def missing(self) -> Missing | None:
        """Returns the reason why it does not work on this machine; None if it works."""

    def refuse(self, scenario: Scenario, trace: str) -> None:
        """Checks a scenario; for a sweep every point, before the first one runs.

        Raises:
            ScenarioError: When the runner can't run it: the scenario needs an unsupported feature,
                or more memory than is free.
        """

    def execute(self, scenario: Scenario, trace: str, progress: Progress | None) -> Result:
        """Runs a scenario to its end.

        Args:
            scenario: A scenario that `refuse` accepted.
            trace: `off`, `ack` for a row at every ACK (or as often as the runner can), or the
                interval between two rows, like `10ms`. A runner whose `packets` is true also gets `10ms packets`.
            progress: Called from time to time with seconds done, seconds in all, and events done (0
                if the runner counts none).

        Raises:
            ScenarioError: When the runner finds during the run that it can't run the scenario.
            KeyboardInterrupt: On Ctrl-C; nothing is left behind.
        """


def is_simulator(runner: Runner) -> bool:
    """Whether it is the simulator itself, whose runs the core's pool executes; false for an instance of a subclass."""
    from fullpipe.runners.sim import RUNNER

    return runner is RUNNER


def refuse(runner: Runner, scenario: Scenario, trace: str) -> None:
    """Checks whether a runner can run a scenario with a trace; for a sweep every point, before the first one runs.

    Raises:
        ScenarioError: When it can't, an algorithm is of a kind that it does not run, or `trace` is not a trace level,
            or one with packets, which only the simulator records.
    """
    if not getattr(runner, "packets", False):
        from fullpipe._core import quantity

        if "packets" in trace.split():
            problem = f"--on {runner.name} records no packets, which only {SIMULATOR} does"
            level = trace.partition("packets")[0].strip() or "10ms"
            fix = f"give {level}, or run it on {SIMULATOR}"
            raise refusal(problem, fix, key="trace", value=trace, place=f'trace = "{trace}"')
        found = quantity(trace)
        if trace not in ("off", "ack") and (found is None or found[1] != "s" or found[0] <= 0):
            fix = 'give "off", "ack" for a row at every ACK, or an interval like "10ms"'
            problem = "neither a level nor an interval"
            raise refusal(problem, fix, key="trace", value=trace, place=f'trace = "{trace}"')
    refuse_kinds(runner, scenario)
    runner.refuse(scenario, trace)


def refuse_kinds(runner: Runner, scenario: Scenario) -> None:
    """Checks whether a runner runs the kinds of algorithms of a scenario.

    Raises:
        ScenarioError: When it does not run one.
    """
    from fullpipe._core import algorithm_keys, scenario_error

    named = algorithm_keys(scenario)
    kinds = {cc: resolve.kind_of(cc) for *_, cc, _ in named}
    kinds |= {name: resolve.CLASS for name, _ in scenario.controllers}
    for key, value, cc, program in named:
        kind = resolve.PROGRAM if program else kinds[cc]
        if kind and not runs(runner.name, kind):
            raise scenario_error(scenario, key, value, kind.only, elsewhere(kind))


def runs(name: str, kind: resolve.Kind) -> bool:
    """Whether a runner runs a kind of algorithm; true for a user's runner, which refuses alone."""
    return not kind.needs or name not in names() or has(name, kind.needs)


def elsewhere(kind: resolve.Kind, *, on: bool = True) -> str:
    """Returns the fix for a kind of algorithm that does not run here; `on` is whether the command has `--on`."""
    there = [name for name in names() if runs(name, kind)]
    listed = " or ".join(filter(None, [", ".join(there[:-1]), *there[-1:]]))
    other = f"run it with --on {listed}" if on else f"give it to a command with --on {listed}"
    return ", or ".join(filter(None, [other if there else "", kind.instead]))


def refuse_kind(text: str, command: str, place: str = "") -> None:
    """Refuses the name of an algorithm that a command does not take, which has no `--on` and simulates.

    Raises:
        ScenarioError: When the simulator does not run its kind, or the kind declares it.
    """
    kind = resolve.kind_of(text)
    if kind is None:
        return
    if found := resolve.hole(kind, text, command):
        raise refusal(*found, place=place or text)
    if not runs(SIMULATOR, kind):
        raise refusal(kind.only, elsewhere(kind, on=False), place=place or text)


def of_kind(error: ScenarioError) -> ScenarioError:
    """Returns the simulator's error about an algorithm with the sentence of its kind, if it does not run that kind."""
    kind = resolve.kind_of(error.value.strip('"'))
    if kind is None or runs(SIMULATOR, kind):
        return error
    place = str(error).partition(f": {error.problem}\n")[0]
    return refusal(kind.only, elsewhere(kind), file=error.file, key=error.key, place=place)


def has(name: str, what: str) -> bool:
    """Whether a runner of the package has this trait; false for another name, as that of a user's runner."""
    return name in names() and bool(getattr(_named(name), what, False))


def option(name: str) -> list[str]:
    """Returns the command-line option that selects a runner; empty for the simulator."""
    return [] if name == SIMULATOR else ["--on", _IMPORTED.get(name, name)]


def runner(name: str) -> Runner:
    """Returns the runner with a name, ready to run.

    Raises:
        RunnerError: When there is no such runner, or it does not work on this machine.
    """
    found = _named(name)
    if why := found.missing():
        raise RunnerError(f"--on {name}: {why.problem}\n  fix: {why.fix}; {_there()}")
    return found


def chosen(names: str | Iterable[str]) -> list[Runner]:
    """Returns the runners of a list like "sim,kernel", in its order, each ready to run.

    Raises:
        RunnerError: When the list is empty or has duplicates, or one of them does not work on this machine.
    """
    listed = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    listed = [name for name in listed if name]
    if not listed:
        raise RunnerError(f"no runner is named\n  fix: {_there()}")
    if twice := [name for name in listed if listed.count(name) > 1]:
        raise RunnerError(f"--on: {twice[0]} is named twice\n  fix: name each runner once")
    found = [runner(name) for name in listed]
    if same := [
        each.name for each in found if [other.name for other in found].count(each.name) > 1
    ]:
        raise RunnerError(
            f"--on: two of these runners have the name {same[0]}\n  fix: give one a different name"
        )
    return found


def of_kept(name: str) -> Runner:
    """Returns the runner of kept runs, which have its name and not its class: one of the user's must be loaded already.

    Raises:
        RunnerError: When there is no such runner, its class is not loaded, or it does not work on this machine.
    """
    if name not in names() and name not in _IMPORTED:
        raise RunnerError(
            f"{name}: not a runner of fullpipe, and no class of yours with this name is loaded\n"
            "  fix: name the class: --on my.module:MyRunner"
        )
    return runner(name)


def load(text: str, place: str) -> list[str]:
    """Loads the classes of the user's that a list like "my.module:MyRunner" names; returns their names.

    Args:
        text: The list.
        place: The kept runs that need them, for errors.

    Raises:
        RunnerError: When one is not a class, or can't be loaded.
    """
    for each in text.split(","):
        if ":" not in each:
            raise RunnerError(
                f"--on {each}: {place} has its runners already\n"
                "  fix: leave it out, or name a class of yours that it needs, like my.module:MyRunner"
            )
    return [each.name for each in chosen(text)]


def every() -> list[Runner]:
    """Returns every runner of the package, whether it works here or not: the simulator first."""
    return [_named(name) for name in names()]


def names() -> list[str]:
    """Returns the names of the package's runners: the simulator's first."""
    return sorted(_modules(), key=lambda name: (name != SIMULATOR, name))


@cache
def _modules() -> Mapping[str, str]:
    """Returns the module of each of the package's runners, by the runner's name."""
    import pkgutil

    return {
        each.name.replace("_", "-"): f"{package}.{each.name}"
        for package in (__name__, *wings.packages("runners"))
        for each in pkgutil.iter_modules(import_module(package).__path__)
        if not each.name.startswith("_")
    }


def _named(name: str) -> Runner:
    name = _IMPORTED.get(name, name)
    if ":" in name:
        return _imported(name)
    if name not in names():
        from difflib import get_close_matches

        near = get_close_matches(name, names(), n=1)
        fix = f"did you mean {near[0]}? {_there()}" if near else _there()
        raise RunnerError(f"--on {name}: no runner has this name\n  fix: {fix}")
    return cast("Runner", import_module(_modules()[name]).RUNNER)


def _imported(name: str) -> Runner:
    """Makes a user's runner, without arguments: a class in a module in this directory or on Python's path."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # an installed command has the command's own directory there instead
        sys.path.insert(0, here)
    try:
        made = cast("Runner", getattr(import_module(module), attribute)())
    except (ImportError, AttributeError, ValueError) as error:
        raise RunnerError(
            f"--on {name}: {error}\n  fix: name a class that can be imported from {here}"
        ) from error
    needed = [
        each
        for each in ("about", "real_time", "missing", "refuse", "execute")
        if not hasattr(made, each)
    ]
    if needed:
        raise RunnerError(
            f"--on {name}: the class has no {needed[0]}\n  fix: add it, as in fullpipe.runners.Runner"
        )
    if not _NAME.fullmatch(str(getattr(made, "name", ""))):
        problem = "its name must be lower-case letters, digits and hyphens, since files are named after it"
        raise RunnerError(f'--on {name}: {problem}\n  fix: give the class name = "mine"')
    _IMPORTED[made.name] = name
    return made


def _there() -> str:
    """Returns the list of runners, for fixes."""
    listed = [
        f"{each.name}{' (not on this machine)' if each.missing() else ''}" for each in every()
    ]
    return f"there {'is' if len(listed) == 1 else 'are'} {', '.join(listed)}; see fullpipe doctor"
