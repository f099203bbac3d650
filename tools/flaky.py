"""Runs tests; those that fail run once more, and a pass then is counted as flaky. `.ci/run` uses it.

    tools/flaky.py .venv/bin/pytest [OPTION ...]
    tools/flaky.py .venv/bin/cargo-nextest nextest run [OPTION ...]
    tools/flaky.py count

One test that lost a race must not cost a whole run, but it is a defect. `count` prints the flaky tests of all
runs, and exits with 1 if there are more than two: then the machine or the change is at fault, not chance.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLAKY = ROOT / "target/flaky.txt"
MOST = 2
_FAILED = ROOT / ".pytest_cache/v/cache/lastfailed"
_JUNIT = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "nextest/again/junit.xml"


def record(names: list[str]) -> None:
    FLAKY.parent.mkdir(exist_ok=True)
    with FLAKY.open("a", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in names)


def pytest(command: list[str]) -> int:
    """Runs pytest, and the tests that failed alone; of more than two, none could be chance."""
    code = subprocess.run(command, check=False).returncode
    failed = sorted(json.loads(_FAILED.read_text(encoding="utf-8"))) if code == 1 else []
    if not 0 < len(failed) <= MOST:
        return code
    print(f"once more, alone: {', '.join(failed)}", flush=True)
    code = subprocess.run([*command, "--numprocesses=0", "--last-failed"], check=False).returncode
    if code == 0:
        record(failed)
    return code


def nextest(command: list[str]) -> int:
    """Runs nextest with a profile that tries a test twice."""
    _JUNIT.unlink(missing_ok=True)
    code = subprocess.run([*command, "--profile", "again"], check=False).returncode
    suites = ET.parse(_JUNIT).getroot().iter("testsuite") if _JUNIT.exists() else ()
    record(
        [
            f"{suite.get('name')} {case.get('name')}"
            for suite in suites
            for case in suite.iter("testcase")
            if case.find("flakyFailure") is not None
        ]
    )
    return code


def count() -> int:
    flaky = FLAKY.read_text(encoding="utf-8").splitlines() if FLAKY.exists() else []
    for name in flaky:
        print(f"flaky: {name}")
    print(f"{len(flaky)} flaky {'test' if len(flaky) == 1 else 'tests'}, {MOST} allowed")
    return int(len(flaky) > MOST)


def main() -> int:
    command = sys.argv[1:]
    if command == ["count"]:
        return count()
    return (pytest if Path(command[0]).name == "pytest" else nextest)(command)


if __name__ == "__main__":
    sys.exit(main())
