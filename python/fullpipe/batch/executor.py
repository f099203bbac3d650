"""Executes jobs one after the other, or on threads; and the order in which repetitions take their turn."""

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
    """Each repetition of all items, before the next repetition of any.

    Args:
        size: How many items there are.
        repetitions: Their numbers.
        key: Seeds the order of a repetition, which is shuffled then: a randomized block design. None to go in order.

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
    """Executes jobs on so many threads. Closed, it ends them.

    A job calls the progress that it is given now and then: that ends it when the others are interrupted.

    Args:
        jobs: What to execute, in this order.
        threads: How many at a time.
        tick: Called several times a second, in this thread.

    Yields:
        The number of a job and its result, when it is done.

    Raises:
        What the first job that fails raises, after all results that are there.
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
            # Not without end: once polars is loaded, whose handler restarts system calls, Ctrl-C
            # does not end a wait.
            done, pending = wait(pending, timeout=_LOOK_UP_S, return_when=FIRST_COMPLETED)
            for each in sorted(done, key=lambda job: (job.exception() is not None, numbers[job])):
                yield numbers.pop(each), each.result()  # nothing holds a result for longer
            tick()
    finally:
        ended.set()
        executor.shutdown(cancel_futures=True)
