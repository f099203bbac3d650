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
from fullpipe.stats.interval import share
from fullpipe.wings.traces.behavior.observed import LacksError
from fullpipe.wings.traces.behavior.source import of_run, open_trace
from fullpipe.wings.traces.identify import recipe, train
from fullpipe.wings.traces.identify.features import features

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fullpipe.wings.traces.behavior.observed import Observed
    from fullpipe.wings.traces.identify.classify import Classifier

    Flows = Iterable[tuple[str, Observed]]

PATHS = 10
KERNEL = ("cubic", "newreno", "bbr1")
"""Algorithms of most kernels, by our names."""
STRANGE = ("scream", "swift", "ledbat")
"""Algorithms that the recipe has not, and that do not react as Reno without ECN."""
LEFT_OUT = 24
"""Flows of each algorithm that the classifier is fitted without."""
_SEED = "kernel-test-2"


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


def of_kernel(directory: Path) -> Iterator[tuple[str, Observed]]:
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
            yield name, open_trace(place).observed


def of_strange() -> Iterator[tuple[str, Observed]]:
    """Yields algorithm and features of simulated flows of algorithms that the recipe has not."""
    for name in STRANGE:
        for scenario in recipe.draws(name, 24):
            yield name, of_run(fullpipe.run(scenario, trace=recipe.STEP))


def of_left_out(name: str) -> Iterator[tuple[str, Observed]]:
    """Yields simulated flows of an algorithm of the recipe."""
    for scenario in recipe.draws(name)[:LEFT_OUT]:
        yield name, of_run(fullpipe.run(scenario, trace=recipe.STEP))


def count(found: dict[str, Counter[str]], classifier: Classifier, flows: Flows) -> None:
    """Counts the answers on flows; those that are too short for features are left out."""
    for name, trace in flows:
        try:
            row = features(trace)
        except LacksError:
            continue
        found.setdefault(name, Counter())[classifier.identify(row, trace).name] += 1


def table(title: str, found: dict[str, Counter[str]], *, known: bool) -> None:
    """Prints a confusion matrix, with the 95 % interval of the share that is right."""
    answers = sorted({answer for counts in found.values() for answer in counts})
    print(f"\n{title}\n\n| | {' | '.join(answers)} | n | right |")
    print(f"|---|{'--:|' * (len(answers) + 2)}")
    right = total = 0
    for name, counts in found.items():
        own = counts[name if known else "unknown"]
        right, total = right + own, total + counts.total()
        cells = [str(counts[answer]) for answer in answers]
        print(
            f"| {name} | {' | '.join(cells)} | {counts.total()} | {_share(own, counts.total())} |"
        )
    print(f"| all | {'| ' * len(answers)}{total} | {_share(right, total)} |")


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
    classifier = train.classifier()
    kernel: dict[str, Counter[str]] = {}
    count(kernel, classifier, of_kernel(directory))
    table("Flows of the kernel", kernel, known=True)
    strange: dict[str, Counter[str]] = {}
    count(strange, classifier, of_strange())
    table("Algorithms that the recipe has not", strange, known=False)
    left: dict[str, Counter[str]] = {}
    for name in recipe.ALGORITHMS:
        count(left, classifier.without(name), of_left_out(name))
    table("Each algorithm left out in turn", left, known=False)
    programs: dict[str, Counter[str]] = {}
    for name, _, file in (word.partition("=") for word in sys.argv[2:]):
        count(programs, classifier, [(name, open_trace(Path(file)).observed)])
    if programs:
        table("Programs", programs, known=True)


if __name__ == "__main__":
    main()
