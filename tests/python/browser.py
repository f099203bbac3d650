"""The browser that tests of pages use."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from fullpipe.wings.pages.explore.page import ENGINE

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

WEB = Path(__file__).parents[2] / "web"


def chromium() -> str | None:
    """Returns the path of Chromium, if it is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def built_engine() -> None:
    """Skips the test, which CI counts as a failure, if the simulator for pages is not built."""
    assets = Path(str(files("fullpipe.wings.pages.explore"))) / "assets"
    if not (assets / ENGINE).exists():
        pytest.skip("no engine for pages: `make wasm` builds it")


def browser() -> str:
    """Returns the path of Chromium, or skips the test with the missing part as the reason."""
    found = chromium()
    missing = [
        name
        for name, there in (
            ("chromium", found),
            ("node", shutil.which("node")),
            ("playwright-core", (WEB / "node_modules/playwright-core").is_dir()),
        )
        if not there
    ]
    if missing or found is None:
        pytest.skip(f"no {' and no '.join(missing)}: `make browser` installs what this needs")
    return found


def observed(script: str, *arguments: str | Path) -> dict[str, Any]:
    """Returns what a script of web/ observed on a page in a browser, which has no errors of its own.

    The script is called once in a run of the tests.
    """
    command = ["node", str(WEB / script), browser(), *map(str, arguments)]

    def observe() -> dict[str, Any]:
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        assert found["errors"] == []
        return found

    return once(script, observe)


def once(name: str, observe: Callable[[], T]) -> T:
    """Returns the observation of the first worker of this run of the tests: the others wait for it.

    Args:
        name: The name of the file in `target/once` that keeps it.
        observe: Makes the observation, of values for JSON.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}")
    file = WEB.parent / "target/once" / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+", encoding="utf-8") as kept:
        fcntl.flock(kept, fcntl.LOCK_EX)
        kept.seek(0)
        of, _, there = kept.read().partition("\n")
        if of == run:
            observed: T = json.loads(there)
            return observed
        observed = observe()
        kept.truncate(0)
        kept.write(f"{run}\n{json.dumps(observed)}")
        return observed
