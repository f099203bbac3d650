"""The browser that tests of pages use."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from fullpipe.explore.page import ENGINE

WEB = Path(__file__).parents[2] / "web"


def chromium() -> str | None:
    """Returns the path of Chromium, if it is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def built_engine() -> None:
    """Skips the test, which CI counts as a failure, if the simulator for pages is not built."""
    assets = Path(str(files("fullpipe.explore"))) / "assets"
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
    """Returns what a script of web/ observed on a page in a browser, which has no errors of its own."""
    command = ["node", str(WEB / script), browser(), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["errors"] == []
    return found
