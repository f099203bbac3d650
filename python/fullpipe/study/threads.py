"""Executes jobs on threads, and defines the order of repetitions."""

from __future__ import annotations

import random
import threading
import time
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar, cast

from fullpipe.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from fullpipe.runners import Progress

T = TypeVar("T")
_LOOK_UP_S = 0.1
# A thread whose job calls an algorithm that does not return is left to itself.
_PATIENCE_S = 1.0


def blocks(
    size: int, repetitions: Iterable[int], key: Callable[[int], object] | None = None
) -> Iterator[tuple[int, int]]:
    """Yields each repetition of all items before the next repetition of any item.

    Args:
        size: The number of items.
        repetitions: The numbers of the repetitions.
        key: Returns a seed to shuffle the items of a repetition: a randomized block design. None to keep their order.

    Yields:
        Repetition and item.
    """
    for repetition in repetitions:
        items = list(range(size))
        if key is not None:
            random.Random(key(repetition)).shuffle(items)  # type: ignore[arg-type]
        yield from ((repetition, item) for item in items)


def on_threads(
    jobs: Sequence[Callable[[Progress], T]], threads: int, tick: Callable[[], object] = lambda: None
) -> Generator[tuple[int, T], None, None]:
    """Executes jobs on threads. Closing the generator ends them.

    A job must call the progress function that it is given from time to time: the function raises KeyboardInterrupt
    when the jobs are to end.

    Args:
        jobs: The jobs, in the order to begin them.
        threads: The number of threads.
        tick: Called several times a second, in the caller's thread.

    Yields:
        The number of a job and its result, when it is done.

    Raises:
        The exception of the first job that fails, after the results that are available then.
    """
    ended = threading.Event()
    numbers = iter(range(len(jobs)))  # in CPython each thread gets another one
    results: SimpleQueue[tuple[int, T | None, BaseException | None]] = SimpleQueue()

    def progress(_at_s: float, _duration_s: float, _events: int) -> None:
        if ended.is_set():
            raise KeyboardInterrupt

    def work() -> None:
        for number in numbers:
            if ended.is_set():
                return
            try:
                results.put((number, jobs[number](progress), None))
            except BaseException as error:  # for the caller's thread
                results.put((number, None, error))

    # Not an executor of the standard library: a signal during its `wait`, which locks all futures, leaves some of them
    # locked, and then its threads never end.
    # Each has the caller's context, so that what the user has allowed is allowed in every job.
    workers = [
        threading.Thread(target=copy_context().run, args=(work,), daemon=True)
        for _ in range(min(threads, len(jobs)))
    ]
    try:
        for each in workers:
            each.start()
        for _ in jobs:
            number, made, error = _next(results, tick)
            if error is not None:
                yield from _others(results)
                raise error
            yield number, cast("T", made)
            del made  # no reference to the result remains
            tick()
    finally:
        ended.set()
        end = time.monotonic() + _PATIENCE_S
        for each in workers:
            if each.ident is not None:  # started
                each.join(max(end - time.monotonic(), 0))
                Exit.at_once |= each.is_alive()


def _next(
    results: SimpleQueue[tuple[int, T | None, BaseException | None]], tick: Callable[[], object]
) -> tuple[int, T | None, BaseException | None]:
    while True:
        with suppress(Empty):
            # With a timeout: polars' signal handler restarts system calls, so that Ctrl-C does not
            # end a wait.
            return results.get(timeout=_LOOK_UP_S)
        tick()


def _others(
    results: SimpleQueue[tuple[int, T | None, BaseException | None]],
) -> Iterator[tuple[int, T]]:
    """Yields the results that are there."""
    with suppress(Empty):
        while True:
            number, made, error = results.get_nowait()
            if error is None:
                yield number, cast("T", made)
