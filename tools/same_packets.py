"""Runs stacks again and again in simulated time (`--on uml`), and counts the different sequences of packets.

Each stack has a path of 20 Mbit/s and 40 ms, alone. A run's fingerprint is a hash of the times, sides and bytes of all
packets. Recipes that are not installed are left out.

    .venv/bin/python tools/same_packets.py --runs 20
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count

import fullpipe
from fullpipe.algorithms import programs
from fullpipe.algorithms.programs.lines import version_of

PATH = '[path]\nrate = "20mbit"\nrtt = "40ms"\nbuffer = "100packets"\n'
SERVE = (
    "open('zeros', 'wb').write(bytes(2000000)); import http.server, sys; "
    "http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]))"
)
WEB = (
    f"[[program]]\nname = \"web\"\nserver = '''{sys.executable} -c \"{SERVE}\" {{port}}'''\n"
    'client = "curl --silent --fail --output /dev/null http://{far}:{port}/zeros"\n'
)


def stacks() -> dict[str, str]:
    """Returns the flows of each stack, as TOML."""
    found = {f"kernel {cc}": f'[[flow]]\ncc = "{cc}"\n' for cc in ("cubic", "bbr1")}
    found["curl from http.server"] = WEB
    recipes = {
        "iperf3": {"cc": "cubic"},
        "nginx": {"bytes": "2MB"},
        "aioquic": {"bytes": "2MB"},
        "ngtcp2": {"bytes": "2MB"},
        "picoquic": {"bytes": "2MB"},
        "quic-go": {"bytes": "2MB"},
        "quiche": {"bytes": "2MB"},
        "quinn": {"bytes": "2MB"},
        "s2n-quic": {"bytes": "2MB"},
    }
    for name, params in recipes.items():
        if not version_of(name):
            print(f"{name}: not installed, left out", file=sys.stderr)
            continue
        given = ", ".join(f'{key} = "{value}"' for key, value in params.items())
        found[name] = f'[[program]]\nuse = "{name}"\nparams = {{ {given} }}\n'
    return found


def main() -> None:
    """Prints a row of Markdown for each stack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--duration", default="2s")
    parser.add_argument("--only", default="", help="stacks whose name has this text")
    options = parser.parse_args()
    print("| Stack | Runs | Packets | Different sequences | Wall clock of a run, s |")
    print("|---|---|---|---|---|")
    for name, flows in stacks().items():
        if options.only in name:
            row(name, f'duration = "{options.duration}"\n{PATH}{flows}', options.runs)


def row(name: str, scenario: str, runs: int) -> None:
    """Runs one stack, and prints its row."""

    def one(_: int) -> str:
        with programs.allowed():
            return fullpipe.run(scenario, on="uml-emulator").metrics["host"]["packets"]

    began = time.monotonic()
    try:
        with ThreadPoolExecutor(cpu_count()) as pool:
            seen = Counter(pool.map(one, range(runs)))
    except fullpipe.ScenarioError as error:
        print(f"| {name} | {str(error).splitlines()[0]} | | | |", flush=True)
        return
    took = (time.monotonic() - began) / runs * (cpu_count() or 1)
    packets = ", ".join(sorted({each.split(",")[0] for each in seen}))
    print(f"| {name} | {runs} | {packets} | {len(seen)} | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main()
