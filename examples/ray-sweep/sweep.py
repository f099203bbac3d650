"""A sweep over buffers and round-trip times, on threads or on a Ray cluster."""

import argparse

import fullpipe

SCENARIO = """\
# CUBIC or BBRv3 alone
duration = "20s"
measure_from = "5s"

[path]
rate = "50mbit"
rtt = "40ms"
buffer = "1bdp"

[[flow]]
name = "flow"
cc = "cubic"
"""
AXES = {
    "flow.0.cc": ["cubic", "bbr3"],
    "path.rtt": ["10ms", "40ms", "160ms"],
    "path.buffer": ["0.25bdp", "1bdp", "4bdp", "16bdp"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory")
    parser.add_argument("--ray", action="store_true", help="run on a Ray cluster")
    given = parser.parse_args()
    engine = "ray" if given.ray else "local"
    sweep = fullpipe.sweep(
        SCENARIO, AXES, repeat=5, out=given.directory, engine=engine, trace="off"
    )
    print(sweep)


if __name__ == "__main__":
    main()
