"""Compares the congestion control of stacks, alone and next to the kernel's CUBIC, as a page.

Each stack runs with two buffers and each `--rate`: in simulated time on `--on uml-emulator`, in real time with
`--on kernel`. The seed of a run moves the starts by up to one RTT. The order of runs is random within each repetition.
Runs are kept in the directory as they come: the same command continues there, and writes `witness.md`. A run that fails
is kept with its error, and counted; remove its file to run it again.

    .venv/bin/python tools/witness.py results/witness --repeat 3
    .venv/bin/python tools/witness.py results/witness-kernel --repeat 5 --on kernel --rate 10mbit,100mbit,300mbit
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import fullpipe
from fullpipe.algorithms.programs.lines import version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

STACKS = {
    "kernel CUBIC": 'cc = "cubic"',
    "iperf3 (kernel CUBIC)": 'cc = "program:iperf3:cubic"',
    "iperf3 (kernel BBRv1)": 'cc = "program:iperf3:bbr"',
    "nginx (kernel CUBIC)": 'cc = "program:nginx:cubic"',
    "ngtcp2 CUBIC": 'cc = "program:ngtcp2:cubic"',
    "ngtcp2 BBR": 'cc = "program:ngtcp2:bbr"',
    "quinn CUBIC": 'cc = "program:quinn:cubic"',
    "quinn BBR": 'cc = "program:quinn:bbr"',
    "s2n-quic CUBIC": 'cc = "program:s2n-quic:cubic"',
    "s2n-quic BBRv2": 'cc = "program:s2n-quic:bbr"',
    "quiche CUBIC": 'cc = "program:quiche:cubic"',
    "quiche BBRv2": 'cc = "program:quiche:bbr2"',
    "quic-go Reno": 'cc = "program:quic-go"',
    "aioquic CUBIC": 'cc = "program:aioquic:cubic"',
}
BUFFERS = ("1bdp", "4bdp")
SCENARIO = """duration = "{duration}"
measure_from = "{settled}"
start_jitter = "40ms"
[path]
rate = "{rate}"
rtt = "40ms"
buffer = "{buffer}"
[[flow]]
name = "stack"
{stack}
"""
CUBIC = '[[flow]]\nname = "cubic"\ncc = "cubic"\n'


class Cell(NamedTuple):
    """A stack on a path."""

    stack: str
    rate: str
    buffer: str
    shared: bool

    @property
    def file(self) -> str:
        """The beginning of the names of its files."""
        stack = "".join(each if each.isalnum() else "-" for each in self.stack.lower())
        return f"{stack}_{self.rate}_{self.buffer}_{'shared' if self.shared else 'alone'}"

    def scenario(self, duration: float) -> str:
        """Returns its scenario; the first third of a run is not measured."""
        values = {
            "duration": f"{duration:g}s",
            "settled": f"{duration / 3:g}s",
            "rate": self.rate,
            "buffer": self.buffer,
            "stack": STACKS[self.stack],
        }
        return SCENARIO.format(**values) + (CUBIC if self.shared else "")


class Study(NamedTuple):
    """The runs of a study."""

    directory: Path
    stacks: list[str]
    rates: list[str]
    repeat: int
    seconds: float
    runner: str

    @property
    def seeds(self) -> range:
        """The seeds of each cell."""
        return range(1, self.repeat + 1)


def main() -> None:
    """Carries out the missing runs, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0, help="of the flows' clock, each run")
    parser.add_argument("--stack", action="append", choices=STACKS, help="repeatable; default: all")
    parser.add_argument("--rate", default="10mbit", help="one or more, with commas")
    parser.add_argument("--on", default="uml-emulator", choices=["uml-emulator", "kernel"])
    parser.add_argument("--at-once", type=int, help="runs at a time (default: 1 on the kernel)")
    options = parser.parse_args()
    study = Study(
        directory=options.directory,
        stacks=options.stack or list(STACKS),
        rates=options.rate.split(","),
        repeat=options.repeat,
        seconds=options.seconds,
        runner=options.on,
    )
    study.directory.mkdir(parents=True, exist_ok=True)
    # A block has each cell once, so an interrupted study has whole blocks.
    todo = []
    for seed in study.seeds:
        block = list(map(Cell._make, product(study.stacks, study.rates, BUFFERS, (False, True))))
        random.Random(seed).shuffle(block)
        todo += [(cell, seed) for cell in block if not kept(study.directory, cell, seed).exists()]
    at_once = options.at_once or (1 if study.runner == "kernel" else cpu_count())
    with ThreadPoolExecutor(at_once) as pool:
        for done, _ in enumerate(pool.map(lambda each: run(study, *each), todo), 1):
            print(f"{done} of {len(todo)}", flush=True)
    page = "\n".join(written(study)) + "\n"
    (study.directory / "witness.md").write_text(page, encoding="utf-8")
    print(page)


def kept(directory: Path, cell: Cell, seed: int) -> Path:
    """Returns the file of a run."""
    return directory / f"{cell.file}_{seed}.json"


def run(study: Study, cell: Cell, seed: int) -> None:
    """Carries out a run, and keeps its metrics."""
    try:
        found: object = fullpipe.run(
            cell.scenario(study.seconds), on=study.runner, seed=seed
        ).metrics
    except fullpipe.ScenarioError as error:
        found = {"error": str(error)}
    file = kept(study.directory, cell, seed)
    aside = file.with_suffix(".part")
    aside.write_text(json.dumps(found), encoding="utf-8")
    aside.rename(file)


def written(study: Study) -> Iterator[str]:
    """Yields the lines of the page."""
    seconds = f"{study.seconds:g} s without the first third"
    yield f"40 ms, {seconds}. Seeds: {study.repeat}. Mean (least to most)."
    yield ""
    alone = "Alone: goodput, Mbit/s | queueing delay, ms | lost, %"
    yield f"| Stack | Rate | Buffer | {alone} | With CUBIC: share, % | queueing delay, ms | Runs | With a warning |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for stack, rate, buffer in product(study.stacks, study.rates, BUFFERS):
        single, pair = (
            [
                each
                for seed in study.seeds
                if (each := read(study.directory, Cell(stack, rate, buffer, shared), seed))
            ]
            for shared in (False, True)
        )
        failed = sum("error" in each for each in (*single, *pair))
        single, pair = ([each for each in runs if "error" not in each] for runs in (single, pair))
        cells = [
            spread([each["flows"][0]["goodput_bps"] / 1e6 for each in single], 2),
            spread([each["links"][0]["queue_delay_s"]["mean"] * 1e3 for each in single], 0),
            spread(
                [100 * each["flows"][0]["drops"] / each["flows"][0]["sent"] for each in single], 2
            ),
            spread([100 * share(each) for each in pair], 0),
            spread([each["links"][0]["queue_delay_s"]["mean"] * 1e3 for each in pair], 0),
        ]
        warned = sum(bool(each["warnings"]) for each in (*single, *pair))
        runs = f"{len(single)} + {len(pair)}" + (f", {failed} failed" if failed else "")
        yield f"| {stack} | {rate} | {buffer} | {' | '.join(cells)} | {runs} | {warned} |"
    yield ""
    known = {
        name: version_of(name)
        for name in (
            "iperf3",
            "nginx",
            "ngtcp2",
            "quinn",
            "s2n-quic",
            "quiche",
            "quic-go",
            "aioquic",
        )
    }
    yield (
        "; ".join(f"{name}: {version or 'not installed'}" for name, version in known.items()) + "."
    )


def read(directory: Path, cell: Cell, seed: int) -> dict[str, Any] | None:
    """Returns the metrics of a run; None if it has not been carried out."""
    file = kept(directory, cell, seed)
    found: dict[str, Any] | None = (
        json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    )
    return found


def share(metrics: dict[str, Any]) -> float:
    """Returns the stack's share of the goodput."""
    stack, cubic = (flow["goodput_bps"] for flow in metrics["flows"])
    return float(stack / (stack + cubic))


def spread(values: list[float], digits: int) -> str:
    """Returns the mean, with the range of the values if it shows."""
    if not values:
        return ""
    mean, least, most = (
        f"{each:.{digits}f}" for each in (statistics.mean(values), min(values), max(values))
    )
    return mean if least == most else f"{mean} ({least} to {most})"


if __name__ == "__main__":
    main()
