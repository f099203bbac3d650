"""Is a stack's congestion control right, and fair next to the kernel's CUBIC? 56 cells in simulated time, as a page.

Fourteen stacks, alone and next to a flow of the kernel's CUBIC, with two buffers, on `--on uml-emulator`. The seed of a
run moves the starts by up to one RTT. Runs are kept in the directory as they come: the same command continues there,
and writes `witness.md`. A run that fails is kept with its error; remove its file to run it again.

    .venv/bin/python tools/witness.py results/witness --repeat 3
"""

from __future__ import annotations

import argparse
import json
import statistics
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import fullpipe
from fullpipe.programs.lines import version_of

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
    "quic-go": 'cc = "program:quic-go"',
    "aioquic CUBIC": 'cc = "program:aioquic:cubic"',
}
BUFFERS = ("1bdp", "4bdp")
SCENARIO = """duration = "{duration}"
measure_from = "{settled}"
start_jitter = "40ms"
[path]
rate = "10mbit"
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
    buffer: str
    shared: bool

    @property
    def file(self) -> str:
        """The beginning of the names of its files."""
        stack = "".join(each if each.isalnum() else "-" for each in self.stack.lower())
        return f"{stack}_{self.buffer}_{'shared' if self.shared else 'alone'}"

    def scenario(self, duration: float) -> str:
        """Returns its scenario; the first third of a run is not measured."""
        values = {
            "duration": f"{duration:g}s",
            "settled": f"{duration / 3:g}s",
            "buffer": self.buffer,
            "stack": STACKS[self.stack],
        }
        return SCENARIO.format(**values) + (CUBIC if self.shared else "")


CELLS = [Cell(*each) for each in product(STACKS, BUFFERS, (False, True))]


def main() -> None:
    """Carries out the missing runs, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0, help="simulated, of each run")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    # A block has each cell once, so an interrupted study has whole blocks.
    missing = [
        (cell, seed)
        for seed in range(1, options.repeat + 1)
        for cell in CELLS
        if not kept(options.directory, cell, seed).exists()
    ]
    with ThreadPoolExecutor(cpu_count()) as pool:
        for done, _ in enumerate(
            pool.map(lambda each: run(options.directory, options.seconds, *each), missing), 1
        ):
            print(f"{done} of {len(missing)}", flush=True)
    page = "\n".join(written(options.directory, options.repeat, options.seconds)) + "\n"
    (options.directory / "witness.md").write_text(page, encoding="utf-8")
    print(page)


def kept(directory: Path, cell: Cell, seed: int) -> Path:
    """Returns the file of a run."""
    return directory / f"{cell.file}_{seed}.json"


def run(directory: Path, seconds: float, cell: Cell, seed: int) -> None:
    """Carries out a run, and keeps its metrics."""
    try:
        found: object = fullpipe.run(cell.scenario(seconds), on="uml-emulator", seed=seed).metrics
    except fullpipe.ScenarioError as error:
        found = {"error": str(error)}
    file = kept(directory, cell, seed)
    aside = file.with_suffix(".part")
    aside.write_text(json.dumps(found), encoding="utf-8")
    aside.rename(file)


def written(directory: Path, repeat: int, seconds: float) -> Iterator[str]:
    """Yields the lines of the page."""
    path = f"10 Mbit/s, 40 ms, {seconds:g} s without the first third"
    yield f"{path}. Seeds: {repeat}. Mean (least to most)."
    yield ""
    alone = "Alone: goodput, Mbit/s | queueing delay, ms | lost, %"
    yield f"| Stack | Buffer | {alone} | With CUBIC: share, % | queueing delay, ms | Runs |"
    yield "|---|---|---|---|---|---|---|---|"
    for stack, buffer in product(STACKS, BUFFERS):
        single, pair = (
            [each for seed in range(1, repeat + 1) if (each := read(directory, cell, seed))]
            for cell in (Cell(stack, buffer, False), Cell(stack, buffer, True))
        )
        failed = [each["error"] for each in (*single, *pair) if "error" in each]
        if failed:
            yield f"| {stack} | {buffer} | {failed[0].splitlines()[0]} | | | | | {len(single)} + {len(pair)} |"
            continue
        cells = [
            spread([each["flows"][0]["goodput_bps"] / 1e6 for each in single], 2),
            spread([each["links"][0]["queue_delay_s"]["mean"] * 1e3 for each in single], 0),
            spread(
                [100 * each["flows"][0]["drops"] / each["flows"][0]["sent"] for each in single], 2
            ),
            spread([100 * share(each) for each in pair], 0),
            spread([each["links"][0]["queue_delay_s"]["mean"] * 1e3 for each in pair], 0),
        ]
        yield f"| {stack} | {buffer} | {' | '.join(cells)} | {len(single)} + {len(pair)} |"
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
