"""Compares the trace hashes of all scenarios between targets: `make same-bits`.

Prints a table of targets; the exit code is 1 if any hash differs from that of the installed command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import fullpipe

ROOT = Path(__file__).parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
OUT = ROOT / "target" / "same-bits"
AARCH64, WASM = "aarch64-unknown-linux-gnu", "wasm32-unknown-unknown"
LINKER = {"CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": "aarch64-linux-gnu-gcc"}


class Build(NamedTuple):
    """A build of `tests/same-bits`: its name, the options of cargo, and the command that prints the hashes of files."""

    name: str
    options: list[str]
    command: list[str]


BUILDS = [
    Build("x86-64, release", ["--release"], [f"{TARGET}/release/same-bits"]),
    Build("x86-64, debug", [], [f"{TARGET}/debug/same-bits"]),
    Build(
        "wasm32, in Node",
        ["--release", "--lib", "--target", WASM],
        [
            "node",
            f"{ROOT}/tests/same-bits/module.mjs",
            f"{TARGET}/{WASM}/release/same_bits.wasm",
        ],
    ),
    Build(
        "aarch64, in QEMU",
        ["--release", "--target", AARCH64],
        ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", f"{TARGET}/{AARCH64}/release/same-bits"],
    ),
]


def main() -> int:
    """Builds, runs and compares."""
    texts = OUT / "scenarios"
    texts.mkdir(parents=True, exist_ok=True)
    expected = {}
    for file in sorted((ROOT / "scenarios").glob("*.toml")):
        if "policy:" in file.read_text(encoding="utf-8"):
            continue  # policies are no algorithms of the simulator alone
        scenario = fullpipe.load(file)
        # With the contents of files, which WebAssembly can't read.
        (texts / file.name).write_text(scenario.to_toml(), encoding="utf-8")
        expected[file.name] = str(fullpipe.run(scenario, trace="ack").trace_hash)
    print(f"{'the installed command':24} {len(expected)} scenarios")
    differ = False
    for build in BUILDS:
        subprocess.run(
            ["cargo", "build", "--quiet", "--package", "same-bits", *build.options],
            cwd=ROOT,
            env=os.environ | LINKER,
            check=True,
        )
        done = subprocess.run(
            [*build.command, *expected], cwd=texts, check=True, capture_output=True, text=True
        )
        (OUT / f"{build.name}.txt").write_text(done.stdout, encoding="utf-8")
        found = {name: digest for digest, name in map(str.split, done.stdout.splitlines())}
        others = [name for name, digest in expected.items() if found.get(name) != digest]
        differ |= bool(others)
        print(f"{build.name:24} {len(expected) - len(others)} equal {' '.join(others)}".rstrip())
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
