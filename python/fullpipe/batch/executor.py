"""Executes jobs on threads, and defines the order of repetitions."""

from __future__ import annotations

import random
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from fullpipe.runners import Progress

T = TypeVar("T")
_LOOK_UP_S = 0.1


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

    def progress(_at_s: float, _duration_s: float, _events: int) -> None:
        if ended.is_set():
            raise KeyboardInterrupt

    executor = ThreadPoolExecutor(max_workers=threads)
    try:
        numbers = {executor.submit(job, progress): number for number, job in enumerate(jobs)}
        pending: set[Future[T]] = set(numbers)
        while pending:
            # With a timeout: polars' signal handler restarts system calls, so that Ctrl-C does not
            # end a wait.
            done, pending = wait(pending, timeout=_LOOK_UP_S, return_when=FIRST_COMPLETED)
            for each in sorted(done, key=lambda job: (job.exception() is not None, numbers[job])):
                yield numbers.pop(each), each.result()  # no reference to the result remains
            tick()
    finally:
        ended.set()
        executor.shutdown(cancel_futures=True)
