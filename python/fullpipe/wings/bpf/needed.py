"""Algorithms that this kernel does not have, in fullpipe's version for BPF: loaded for a run of `--on kernel` only."""

from __future__ import annotations

import json
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.errors import refusal
from fullpipe.wings.bpf import holder, loaded, machine, parameters, program
from fullpipe.wings.bpf import states as _states
from fullpipe.wings.bpf.program import KernelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.base.frame import Labels, Numbers
    from fullpipe.runners import Result


class Needed(NamedTuple):
    """An algorithm that a run needs as BPF.

    Attributes:
        name: Its name in the kernel.
        what: Its object.
        present: Whether it was loaded before the run.
        parameters: The parameters that the scenario sets.
    """

    name: str
    what: program.Object
    present: bool
    parameters: dict[str, float]

    @contextmanager
    def loaded(self, trace_us: int) -> Iterator[None]:
        """Keeps it loaded within the block, with a row of each connection in `trace_us`.

        Raises:
            KernelError: When the kernel refuses it.
        """
        if self.present:
            yield
            return
        with claimed(self.name) as is_ours:
            if not is_ours:
                raise _is_of_another(self)
            with holder.loaded(holder.plan(self.what, self.parameters, trace_us=trace_us)):
                yield


def needed(scenario: _core.Scenario) -> list[Needed]:
    """Returns the algorithms of a scenario that have to be loaded, or are loaded already.

    Raises:
        ScenarioError: When one can't be loaded on this machine, or not with its parameters.
    """
    lacking = _core.kernel_bpf(scenario)
    if not lacking or program.find() is None:
        return []
    try:
        known = program.objects()
        found = [
            Needed(
                name,
                known[cc],
                present,
                parameters.checked(known[cc], dict(given), called=f"params of {cc}: "),
            )
            for cc, name, present, given in lacking
            if cc in known
        ]
        if any(not each.present for each in found) and (lacks := machine.unmet()):
            raise KernelError(lacks)
        for each in found:
            _refuse_others(each)
    except KernelError as error:
        raise refused(error, scenario) from error
    return found


@contextmanager
def claimed(name: str) -> Iterator[bool]:
    """Claims an algorithm for the run that loads and unloads it; False if another run has claimed it."""
    with _datagrams() as claim:
        try:
            claim.bind(_address(name))  # ends with this process
        except OSError:
            yield False
            return
        yield True


def is_claimed(name: str) -> bool:
    """Whether a run has claimed an algorithm."""
    with _datagrams() as probe:
        try:
            # Not by a claim: two runs that look at the same time would take each other for the one that loads.
            probe.connect(_address(name))
        except ConnectionRefusedError:
            return False
        return True


def _datagrams() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def _address(name: str) -> str:
    return f"\0fullpipe-run-{name}"


def _is_of_another(wanted: Needed) -> KernelError:
    return KernelError(
        f"another run on this machine has loaded {wanted.name}, and will unload it\n"
        f"  fix: wait for its end, or load it for both: fullpipe kernel load {wanted.what.algorithm}"
    )


def _refuse_others(wanted: Needed) -> None:
    if not wanted.present:
        return
    if is_claimed(wanted.name):
        raise _is_of_another(wanted)
    there = loaded.named(loaded.every(), wanted.name)
    asked = program.as_declared(wanted.what.algorithm, wanted.parameters)
    if dict(there.parameters or {}) != asked:
        raise KernelError(
            f"{wanted.name} is loaded with other parameters than the scenario's\n"
            f"  fix: fullpipe kernel unload {wanted.what.algorithm}"
        )


def refused(error: KernelError, scenario: _core.Scenario) -> _core.ScenarioError:
    """Returns the error of a scenario whose algorithm can't be loaded."""
    problem, _, fix = str(error).partition("\n  fix: ")
    return refusal(f"--on kernel: {problem}", fix, file=scenario.file)


class Wrapped:
    """A result with more in its metrics."""

    def __init__(self, result: Result) -> None:
        self._result = result

    @property
    def trace_hash(self) -> str | None:
        """None: a run in real time can't be repeated exactly."""
        return self._result.trace_hash

    @property
    def tables(self) -> list[str]:
        """The names of the recorded tables."""
        return self._result.tables

    def metrics_json(self) -> str:
        """The metrics as one JSON object."""
        return self._result.metrics_json()

    def table(self, name: str) -> dict[str, Numbers | Labels]:
        """Returns the columns of a table."""
        return self._result.table(name)

    def units(self, name: str) -> dict[str, str]:
        """Returns the unit of each column of a table."""
        return self._result.units(name)


class WithBpf(Wrapped):
    """The result of a run with algorithms of fullpipe in the kernel."""

    def __init__(
        self, result: Result, used: Sequence[Needed], changes: Sequence[_states.Change]
    ) -> None:
        super().__init__(result)
        self._used = used
        self._changes = changes

    def table(self, name: str) -> dict[str, Numbers | Labels]:
        """Returns the columns of a table; the kernel itself reports no states of algorithms."""
        if name == _states.TABLE and self._changes:
            return _states.table(self._changes)
        return super().table(name)

    def metrics_json(self) -> str:
        """The metrics; warnings name the algorithms, which are not the kernel's own."""
        metrics = json.loads(super().metrics_json())
        for each in self._used:
            how = "was loaded before" if each.present else "was loaded for this run"
            metrics["warnings"].append(
                f"this kernel has no {each.what.algorithm}: fullpipe's version for BPF, {each.name}, {how}"
            )
            metrics["host"][f"bpf {each.what.algorithm}"] = each.name
        return json.dumps(metrics)
