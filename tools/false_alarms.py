"""Measures the share of comparisons whose control raises an alarm: two arms with the same program differ significantly.

Each comparison is `fullpipe compare`'s control: one program alone in two arms, paired by seed, in a random order within
each repetition. It continues in an existing directory. `--hog` keeps a process on every CPU busy meanwhile.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import contextmanager
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING

from scipy.stats import binomtest

from fullpipe.report.control import METRICS, PART, controls

if TYPE_CHECKING:
    from collections.abc import Iterator

HOG = "while True: pass"


def main() -> None:
    """Runs the missing comparisons, and prints the rate after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--program", default="program:iperf3")
    parser.add_argument("--comparisons", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--duration", default="4s")
    parser.add_argument("--rate", default="20mbit")
    parser.add_argument("--rtt", default="20ms")
    parser.add_argument("--hog", action="store_true")
    options = parser.parse_args()
    with hogs(cpu_count() or 1 if options.hog else 0):
        for number in range(options.comparisons):
            compare(options, options.directory / f"{number:04d}", number)
            show(options.directory, number + 1)


def compare(options: argparse.Namespace, directory: Path, number: int) -> None:
    """Runs a control; only the runs that are missing."""
    scenario = directory.with_suffix(".toml")
    directory.parent.mkdir(parents=True, exist_ok=True)
    scenario.write_text(
        f'# control {number}\nduration = "{options.duration}"\nmeasure_from = "1s"\n'
        f'[path]\nrate = "{options.rate}"\nrtt = "{options.rtt}"\nbuffer = "1bdp"\n'
        f'[[flow]]\nname = "first"\ncc = "{options.program}"\n'
    )
    arms = ["--set", f"flow.0.cc={options.program}", "--set", "flow.0.name=first,second"]
    seeds = ["--repeat", str(options.repeat), "--seed", str(1 + number * options.repeat)]
    command = [sys.executable, "-m", "fullpipe", "sweep", str(scenario), *arms, *seeds]
    done = subprocess.run(
        [*command, "--trace", "off", "--on", "kernel", "--out", str(directory / PART)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(done.stderr or done.stdout)


def show(directory: Path, number: int) -> None:
    """Prints the share of comparisons with an alarm so far, with a 95 % interval, and keeps it in `alarms.json`."""
    found = [controls(directory / f"{place:04d}") for place in range(number)]
    by = {
        metric: sum(each.is_alarm for of in found for each in of if each.column == metric)
        for metric in METRICS
    }
    count = sum(any(each.is_alarm for each in of) for of in found)
    low, high = binomtest(count, number).proportion_ci(method="wilson")
    print(
        f"{count} of {number}, {100 * count / number:.1f} % [{100 * low:.1f} to {100 * high:.1f} %]; {by}",
        flush=True,
    )
    kept = {"alarms": count, "of": number, "low": low, "high": high, "by metric": by}
    (directory / "alarms.json").write_text(json.dumps(kept, indent=1) + "\n")


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """Keeps `count` processes busy."""
    running = [subprocess.Popen([sys.executable, "-c", HOG]) for _ in range(count)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


if __name__ == "__main__":
    main()
