"""Executes a plan, or functions of runs, on the workers of a Ray cluster.

A task is a range of them. Ray repeats it if its worker or its node is lost. If the head node is lost, Ray would wait
for a minute and then end this process, so a thread watches the head, and the execution ends with an error before.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import pickle
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe.base.build import build
from fullpipe.errors import Exit, Stopped, fail, how_to_add, is_of_class, of_class
from fullpipe.study.engine import RAY, ClusterError, NoClusterError
from fullpipe.study.shipped import pack
from fullpipe.study.worker import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from fullpipe.study.engine import Engine
    from fullpipe.study.shipped import S, Sendable, Shipment
    from fullpipe.study.worker import Done

    Ranges = Sequence[tuple[int, int]]

_LOOK_UP_S = 0.1
_TASKS_PER_S = 25
"""Tasks that finish in a second on a large cluster: each costs this process about ten milliseconds, and a file."""
_PROBE_S = 1.0
_LOST_S = 15.0
"""Time without an answer of the head node after which it counts as lost. Ray ends this process after 60 s."""
_IDLE_S = 300.0
"""Time without any core in the cluster before an error; an autoscaler may need minutes to start a machine."""
_SHUT_DOWN_S = 5.0
NOTHING = "nothing kept"
"""The message about finished runs of a command that keeps none until its end."""


class Look(NamedTuple):
    """The progress of the tasks.

    Attributes:
        runs: The number of finished runs.
        packets: The packets that they moved.
        done: A task that has ended, if any.
    """

    runs: int
    packets: int
    done: Done | None = None


def on_ray(spec: Sendable, ranges: Ranges, task_s: float) -> Generator[Look, None, None]:
    """Executes ranges of runs on the cluster of the program or of RAY_ADDRESS, or on a new one on this machine.

    Raises:
        ClusterError: When Ray is not installed, or the cluster can't execute the runs.
        OSError: When a file of the scenario can't be read.
        Exception: The exception of a user's algorithm.
    """
    ray = _ray()
    with _connected(ray) as watch:
        yield from _tasks(ray, watch, spec, ranges, task_s)


@contextmanager
def one_cluster(engine: Engine) -> Iterator[None]:
    """Keeps the cluster for all executions of the block, since starting one takes seconds.

    Raises:
        ClusterError: When Ray is not installed, or the cluster does not answer.
    """
    if engine.name != RAY:
        yield
        return
    with _connected(_ray()):
        yield


@contextmanager
def telling(kept: Callable[[], str]) -> Iterator[None]:
    """Ends the command with the error of the cluster, and the message `kept` about finished runs."""
    try:
        yield
    except NoClusterError:
        raise
    except ClusterError as error:
        what = kept()
        fix = error.fix
        if what == NOTHING and fix == _AGAIN:
            fix = "start the cluster again and repeat the command, or leave --engine out"
        fail(f"{error.problem}; {what}\n  fix: {fix}")


def _ray() -> Any:  # noqa: ANN401  (an optional module)
    try:
        import ray
    except ImportError:
        raise NoClusterError(
            "--engine ray needs Ray, which is an extra", how_to_add("ray")
        ) from None
    return ray


@contextmanager
def _connected(ray: Any) -> Iterator[_Watch]:  # noqa: ANN401  (an optional module)
    ours = not ray.is_initialized()
    if ours:
        _refuse_address(os.environ.get("RAY_ADDRESS", ""))
        try:
            _start(ray)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            raise NoClusterError(
                f"no connection to the Ray cluster: {_first_line(error)}",
                "start Ray on this machine, too: ray start --address=HEAD:6379 --num-cpus=0; for a cluster with"
                " a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN",
            ) from error
    watch = _Watch(ray)
    try:
        yield watch
    finally:
        watch.end()
        if ours:
            _shut_down(ray, patient=not watch.lost)


def _start(ray: Any) -> None:  # noqa: ANN401
    try:
        ray.init(log_to_driver=False, include_dashboard=False, logging_level=logging.WARNING)
    except (KeyboardInterrupt, SystemExit) as end:
        Exit.at_once = True  # half of a start crashes the clean-up of Ray at the end of the process
        raise (_of_signal(end) if isinstance(end, SystemExit) else end) from None


def _of_signal(end: SystemExit) -> SystemExit:
    """Returns the end that a signal asked for: during its calls Ray makes one with exit code 1 of it."""
    number, _ = Exit.stopped
    if not number or isinstance(end, Stopped):
        return end
    Exit.passed_on = True
    return Stopped(128 + number)


def _refuse_address(address: str) -> None:
    """Tests whether the head node answers, since Ray would try for minutes."""
    if address.startswith("ray://"):
        raise NoClusterError(
            f"RAY_ADDRESS={address}: Ray Client does not carry sweeps",
            "make this machine a node, with ray start --address=HEAD:6379 --num-cpus=0, and set RAY_ADDRESS=HEAD:6379",
        )
    if ":" in address and not _answers(address):
        raise NoClusterError(
            f"RAY_ADDRESS={address}: no Ray cluster answers there",
            "start it with ray start --head --port=6379, or correct the address",
        )


def _shut_down(ray: Any, *, patient: bool) -> None:  # noqa: ANN401
    """Disconnects; without its head node Ray may not return, and is left to the end of this process."""
    if patient:
        ray.shutdown()
        return
    Exit.at_once = True
    thread = threading.Thread(target=ray.shutdown, daemon=True)
    thread.start()
    thread.join(_SHUT_DOWN_S)
    if thread.is_alive():
        atexit.unregister(ray.shutdown)


class _Watch:
    """Looks at the cluster from a thread: requests block when its head is lost.

    Attributes:
        cores: The number of cores of the cluster.
        lost: Whether the head node does not answer.
    """

    def __init__(self, ray: Any) -> None:  # noqa: ANN401
        self._ray, self._address = ray, str(ray.get_runtime_context().gcs_address)
        self.cores, self.lost = self._cores(), False
        self._idle_since = self._answered = time.monotonic()
        self._end = threading.Event()
        for look in (self._probe, self._count):
            threading.Thread(target=look, daemon=True).start()

    def end(self) -> None:
        """Ends the threads."""
        self._end.set()

    def refuse(self) -> None:
        """Raises the problem of the cluster, if it has one.

        Raises:
            ClusterError: When the head node is lost, or there has been no core for minutes.
        """
        if self.lost:
            raise ClusterError(
                f"the Ray cluster is lost: its head node {self._address} has not answered for {_LOST_S:.0f} s",
                _AGAIN,
            )
        if self.cores:
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since > _IDLE_S:
            raise ClusterError(
                f"the Ray cluster has had no core for {_IDLE_S / 60:.0f} minutes",
                "start a node with cores: ray start --address=HEAD:6379",
            )

    @contextmanager
    def calls(self) -> Iterator[None]:
        """Around a call of Ray: without a node on this machine, its connections break.

        Raises:
            ClusterError: When the call fails.
        """
        errors = self._ray.exceptions
        try:
            yield
        except errors.RayTaskError:
            raise
        except SystemExit as end:
            raise _of_signal(end) from None
        except (errors.RayError, OSError) as error:
            self.lost = True
            raise ClusterError(f"the Ray cluster is lost: {_first_line(error)}", _AGAIN) from error

    def _probe(self) -> None:
        while not self._end.wait(_PROBE_S):
            if _answers(self._address):
                self._answered = time.monotonic()
            self.lost = self.lost or time.monotonic() - self._answered > _LOST_S

    def _count(self) -> None:
        while not self._end.wait(_PROBE_S):
            with suppress(Exception):  # `_probe` reports the loss
                self.cores = self._cores()

    def _cores(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return True  # `auto`, `local`: Ray finds it
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=3):
            return True
    except OSError:
        return False


def _tasks(
    ray: Any,  # noqa: ANN401
    watch: _Watch,
    spec: Sendable,
    ranges: Ranges,
    task_s: float,
) -> Generator[Look, None, None]:
    task = ray.remote(num_cpus=1, max_retries=-1)(_remote())
    shipped = [ray.put(_packed(ray, spec))]
    left = [*reversed(ranges)]
    pending: list[Any] = []
    runs, packets, seconds = 0, 0, 0.0
    try:
        while left or pending:
            watch.refuse()
            # Two tasks per core, so that no core waits for this loop.
            while left and len(pending) < 2 * max(1, watch.cores):
                first, end = left.pop()
                length_s = max(task_s, watch.cores / _TASKS_PER_S)
                some = min(end - first, math.ceil(length_s * runs / seconds) if seconds else 1)
                with watch.calls():
                    pending.append(task.remote(shipped, build(), first, first + some))
                if first + some < end:
                    left.append((first + some, end))
            with watch.calls():
                done, pending = ray.wait(pending, num_returns=len(pending), timeout=_LOOK_UP_S)
            yield Look(runs, packets)
            for each in done:
                made = _result(ray, watch, each)
                runs, packets = runs + made.end - made.first, packets + made.packets
                seconds += made.seconds
                yield Look(runs, packets, made)
    finally:
        if not watch.lost:
            with suppress(ray.exceptions.RayError, OSError):
                for each in pending:
                    ray.cancel(each, force=True)


def _packed(ray: Any, spec: S) -> Shipment[S]:  # noqa: ANN401
    try:
        return pack(spec, ray.cloudpickle.dumps)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise NoClusterError(
            f"--engine ray can't send the runs to a worker: {_first_line(error)}",
            "leave --engine out",
        ) from error


def _remote() -> Any:  # noqa: ANN401  (for Ray)
    """Returns the function of a task. It is sent by value, so that a worker without fullpipe can say so."""

    def fullpipe_task(shipped: list[Any], expected: str, first: int, end: int) -> Any:  # noqa: ANN401
        import ray

        from fullpipe.study.worker import work

        (ref,) = shipped
        return work(lambda: ray.get(ref), ref.hex(), expected, first, end)

    return fullpipe_task


def _result(ray: Any, watch: _Watch, reference: Any) -> Done:  # noqa: ANN401
    """Returns the runs of a task.

    Raises:
        ClusterError: When a worker can't execute it.
        Exception: The exception of a user's algorithm.
    """
    try:
        with watch.calls():
            made: Done | Refused = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if not isinstance(cause, ModuleNotFoundError):
            if isinstance(cause, Exception) and not isinstance(cause, ray.exceptions.RayError):
                cause.add_note(str(error))  # with the traceback of the worker
                raise (of_class(cause) if is_of_class(cause) else cause) from None  # as on threads
            raise ClusterError(f"a task failed: {_first_line(error)}", _SAME) from error
        if cause.name == "fullpipe":
            raise ClusterError(
                "a worker has no fullpipe", f"on every node, {how_to_add('ray')}"
            ) from None
        if (cause.name or "").startswith("fullpipe."):
            raise ClusterError("a worker has another version of fullpipe", _SAME) from None
        fix = "install it on every node, or put it next to the algorithm's module, which sends it"
        raise ClusterError(f"a worker has no module {cause.name}", fix) from None
    if isinstance(made, Refused):
        raise ClusterError(f"the worker on {made.host} {made.problem}", made.fix)
    return made


_AGAIN = "start the cluster again; the same command continues, also with --engine local"
_SAME = "install the same build of fullpipe on every node"


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
