"""Coverage-guided fuzzing: `make fuzz` runs it.

    tools/fuzz.py run [--seconds 60] [--jobs 2] [TARGET ...]
    tools/fuzz.py minimize [TARGET ...]
    tools/fuzz.py table

A target is a file: `fuzz/src/targets/NAME.rs`, in the program that cargo-fuzz builds, or `fuzz/python/NAME.py`, run by
Atheris. Both have libFuzzer's options and output.

`run` goes on where the previous run ended: the inputs found so far are in `target/fuzz/corpus`. It starts from these,
from the inputs in `fuzz/corpus`, and from seeds: files of the repository that tests and examples use, copied to
`target/fuzz/seeds`. With `--seconds 0` it runs these inputs and no others. It prints a line per target. The exit code
is 1 if there is a finding, an input on which the target fails, in `fuzz/artifacts`.

`minimize` writes the smallest set of inputs that reaches the same code to `fuzz/corpus`, a directory of the
repository. `table` prints the sums of all runs, as in docs/evidence/fuzzing.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict

import fuzz_seeds

ROOT = Path(__file__).parents[1]
FUZZ = ROOT / "fuzz"
WORK = ROOT / "target/fuzz"
RECORD = WORK / "record.json"
_STATUS = re.compile(r"^#(\d+)\t.*?\bcov: (\d+)")
_DONE = re.compile(r"^stat::number_of_executed_units: +(\d+)|^Done (\d+) (?:runs )?in ")
_LONGEST = 20_000  # bytes of the largest input in fuzz/corpus
_FILES = 120  # inputs of a target in fuzz/corpus
_MOST = 100_000  # bytes of them

# Bytes of the longest input, and executions per second of the processor below which the line says "slow".
_DEFAULT = (4096, 1000)
_OPTIONS = {
    "compressed": (16384, 1000),
    "contract": (2048, 1000),
    "directories": (300, 200),
    "emulator": (2048, 200),
    "logs": (2048, 1000),
    "policy": (2048, 1000),
    "qlog": (300, 200),
    "replay": (2048, 1000),
}
_STRUCTURED = ("contract", "directories", "emulator", "qlog", "replay")


class Record(TypedDict):
    """Sums of all runs of a target, with the processor's seconds; edges and inputs are those of the last run."""

    executions: int
    seconds: float
    edges: int
    inputs: int
    findings: int


def targets() -> dict[str, Path]:
    files = [*(FUZZ / "src/targets").glob("*.rs"), *(FUZZ / "python").glob("[a-z]*.py")]
    named = {file.stem: file for file in files if file.stem != "mod"}
    return dict(sorted(named.items()))


def program(file: Path) -> list[str]:
    if file.suffix == ".py":
        return [sys.executable, str(file)]
    built = next(WORK.glob("*-*/release/fuzz"), None)  # the first part is the machine's kind
    if built is None:
        sys.exit("error: the targets in Rust are not built\n  fix: run make fuzz")
    return [str(built)]


def corpora(name: str) -> list[Path]:
    """The directories of inputs; libFuzzer adds to the first."""
    found = [WORK / "corpus" / name, FUZZ / "corpus" / name, WORK / "seeds" / name]
    found[0].mkdir(parents=True, exist_ok=True)
    return [directory for directory in found if directory.is_dir()]


def environment(name: str) -> dict[str, str]:
    # Small inputs need no threads; those of polars would compete with the other target.
    of_python = {"POLARS_MAX_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **of_python, "FUZZ_TARGET": name}


def one_run(name: str, file: Path, seconds: int, seed: int) -> Record:
    """Runs a target, and returns its numbers."""
    artifacts = FUZZ / "artifacts" / name
    artifacts.mkdir(parents=True, exist_ok=True)
    log = WORK / "logs" / f"{name}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    longest, _ = _OPTIONS.get(name, _DEFAULT)
    options = [
        f"-max_total_time={seconds}" if seconds else "-runs=0",
        f"-seed={seed}",
        f"-max_len={longest}",
        f"-artifact_prefix={artifacts}/",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        # Long sequences from the start, where nothing but the fuzzer makes them.
        *(["-len_control=0"] if name in _STRUCTURED else []),
    ]
    before = set(artifacts.iterdir())
    with log.open("w", encoding="utf-8", errors="replace") as out:
        called = [*program(file), *map(str, corpora(name)), *options]
        running = subprocess.Popen(
            called, stdout=out, stderr=subprocess.STDOUT, env=environment(name), cwd=ROOT
        )
        # Not running.wait(): the time of the processor is of interest, which other programs need, too.
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    found = set(artifacts.iterdir()) - before
    executions, edges = numbers(log.read_text(encoding="utf-8", errors="replace"))
    findings = max(len(found), int(running.returncode != 0))
    return {
        "executions": executions,
        "seconds": usage.ru_utime + usage.ru_stime,
        "edges": edges,
        "inputs": sum(1 for _ in (WORK / "corpus" / name).iterdir()),
        "findings": findings,
    }


def numbers(log: str) -> tuple[int, int]:
    """Returns the numbers of executions and edges in a log of libFuzzer."""
    executions = edges = 0
    for line in log.splitlines():
        if status := _STATUS.match(line):
            executions, edges = int(status[1]), max(edges, int(status[2]))
        elif done := _DONE.match(line):
            executions = max(executions, int(done[1] or done[2]))
    return executions, edges


_HEAD = ("target", "CPU s", "executions", "per CPU s", "edges", "inputs", "findings")


def row(name: str, of: Record) -> tuple[str, ...]:
    rate = of["executions"] / max(of["seconds"], 1)
    counts = (of["seconds"], of["executions"], rate, of["edges"], of["inputs"], of["findings"])
    return (name, *(f"{count:,.0f}" for count in counts))


def line(cells: tuple[str, ...]) -> str:
    return f"{cells[0]:<12}" + "".join(f"{cell:>12}" for cell in cells[1:])


_recording = threading.Lock()


def record(name: str, of: Record) -> None:
    with _recording:
        known = records()
        if before := known.get(name):
            sums = {key: before[key] + of[key] for key in ("executions", "seconds", "findings")}
            of = {**of, **sums}  # type: ignore[typeddict-item]
        known[name] = of
        RECORD.write_text(json.dumps(known, indent=1), encoding="utf-8")


def records() -> dict[str, Record]:
    found: dict[str, Record] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return found


def run(names: list[str], seconds: int, jobs: int, seed: int) -> int:
    all_targets = targets()
    fuzz_seeds.write(WORK / "seeds")
    print(line(_HEAD), flush=True)

    def each(name: str) -> int:
        found = one_run(name, all_targets[name], seconds, seed)
        record(name, found)
        slow = found["executions"] / max(found["seconds"], 1) < _OPTIONS.get(name, _DEFAULT)[1]
        print(line(row(name, found)) + ("  slow" if slow and seconds else ""), flush=True)
        if found["findings"]:
            print(f"  see {WORK / 'logs' / name}.txt and {FUZZ / 'artifacts' / name}", flush=True)
        return found["findings"]

    with ThreadPoolExecutor(jobs) as pool:
        return int(sum(pool.map(each, names)) > 0)


def minimize(names: list[str]) -> None:
    """Rewrites `fuzz/corpus`: a minimal set of inputs, and of a large one only a part."""
    for name in names:
        kept, merged = FUZZ / "corpus" / name, WORK / "merged" / name
        shutil.rmtree(merged, ignore_errors=True)
        merged.mkdir(parents=True)
        merge(name, merged)
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        # By their names, which are hashes: an arbitrary choice.
        inputs = sorted(merged.iterdir(), key=lambda file: file.name)
        total = 0
        for file in inputs[:_FILES]:
            total += file.stat().st_size
            if total <= _MOST:
                shutil.copyfile(file, kept / file.name)
        print(f"{name}: {len(list(kept.iterdir()))} of {len(inputs)} inputs")


def merge(name: str, to: Path) -> None:
    file = targets()[name]
    if file.suffix == ".py":
        # libFuzzer starts itself anew to merge, which it can't under an interpreter.
        for found in (each for each in corpora(name)[0].iterdir() if each.stat().st_size):
            shutil.copyfile(found, to / found.name)
        return
    called = [*program(file), "-set_cover_merge=1", str(to), *map(str, corpora(name))]
    called += [f"-max_len={_LONGEST}", "-timeout=10"]
    subprocess.run(called, check=True, env=environment(name), capture_output=True, cwd=ROOT)


def table() -> None:
    print(f"| {' | '.join(_HEAD)} |")
    print(f"|---|{'---:|' * (len(_HEAD) - 1)}")
    for name, of in sorted(records().items()):
        print(f"| {' | '.join((f'`{name}`', *row(name, of)[1:]))} |")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["run", "minimize", "table"])
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the mutations; 0 for another in each run"
    )
    chosen = parser.parse_intermixed_args()
    if unknown := set(chosen.targets) - set(targets()):
        parser.error(f"no target {min(unknown)}; there are {', '.join(targets())}")
    names = chosen.targets or list(targets())
    if chosen.what == "run":
        return run(names, chosen.seconds, chosen.jobs, chosen.seed)
    if chosen.what == "minimize":
        minimize(names)
    else:
        table()
    return 0


if __name__ == "__main__":
    sys.exit(main())
