"""Rates at which `fullpipe trace identify` is right: flows of this kernel, of simulated algorithms, and of qlogs.

`python tests/python/identify_rates.py DIR` runs and keeps flows of the kernel in DIR (a flow takes 20 s; those that are
there are not run again), and prints the tables of docs/evidence/identify.md. Further arguments are `NAME=FILE`:
traces of programs, with the algorithm that made each.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import fullpipe
from fullpipe.behavior.source import open_trace
from fullpipe.identify import recipe, train
from fullpipe.identify.features import features
from fullpipe.stats.interval import share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fullpipe.behavior.observed import Values

PATHS = 14
KERNEL = ("cubic", "newreno", "bbr1")
"""Algorithms of most kernels, by our names."""
STRANGE = ("scream", "swift", "ledbat")
"""Algorithms that the recipe has not, and that do not react as Reno without ECN."""
_SEED = "kernel-test-1"


def paths() -> list[tuple[str, str, str]]:
    """Returns rate, RTT and buffer of the drawn paths."""
    draw = random.Random(_SEED)
    return [
        (
            f"{draw.uniform(5, 40):.1f}mbit",
            f"{draw.uniform(15, 100):.0f}ms",
            f"{draw.uniform(0.6, 3):.2f}bdp",
        )
        for _ in range(PATHS)
    ]


def of_kernel(directory: Path) -> Iterator[tuple[str, Values]]:
    """Yields algorithm and features of flows of the kernel."""
    for number, (rate, rtt, buffer) in enumerate(paths()):
        for name in KERNEL:
            place = directory / f"{name}-{number}"
            if not place.exists():
                run = fullpipe.run(
                    [name],
                    rate=rate,
                    rtt=rtt,
                    buffer=buffer,
                    duration="20s",
                    trace="10ms",
                    on="kernel",
                )
                run.save(place)
            yield name, features(open_trace(place).observed)


def of_strange() -> Iterator[tuple[str, Values]]:
    """Yields algorithm and features of simulated flows of algorithms that the recipe has not."""
    for name in STRANGE:
        for scenario in recipe.draws(name, 24):
            if (row := train.simulated(scenario)) is not None:
                yield name, row


def table(title: str, rows: Iterable[tuple[str, Values]]) -> None:
    """Prints a confusion matrix, with the 95 % interval of the share that is right."""
    classifier = train.classifier()
    found: dict[str, Counter[str]] = {}
    for name, row in rows:
        found.setdefault(name, Counter())[classifier.identify(row).name] += 1
    answers = sorted({answer for counts in found.values() for answer in counts})
    print(f"\n{title}\n\n| | {' | '.join(answers)} | n | right |")
    print(f"|---|{'--:|' * (len(answers) + 2)}")
    right = total = 0
    for name, counts in found.items():
        own = name if name in recipe.ALGORITHMS else "unknown"
        n = counts.total()
        right, total = right + counts[own], total + n
        cells = [str(counts[answer]) for answer in answers]
        print(f"| {name} | {' | '.join(cells)} | {n} | {_share(counts[own], n)} |")
    print(f"| all | {'| ' * len(answers)}| {total} | {_share(right, total)} |")


def _share(right: int, n: int) -> str:
    found = share(right, n)
    return f"{found.value:.0%} [{found.low:.0%}, {found.high:.0%}]"


def main() -> None:
    """Prints the tables."""
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    train.train()
    limits = train.classifier().thresholds
    print(
        f"known flows accepted {limits.accepted:.1%}, left-out algorithms rejected {limits.rejected:.1%}"
    )
    table("Flows of the kernel", of_kernel(directory))
    table("Algorithms that the recipe has not", of_strange())
    traces = [word.partition("=") for word in sys.argv[2:]]
    if traces:
        rows = [(name, features(open_trace(Path(file)).observed)) for name, _, file in traces]
        table("Programs", rows)


if __name__ == "__main__":
    main()
