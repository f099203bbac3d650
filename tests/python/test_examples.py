"""The examples run as their pages say. test_controllers.py and `make test-rust` run those of controllers."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

import fullpipe

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def _call(*command: str | Path, cwd: Path) -> str:
    """Runs a command as a user would, with this environment's `fullpipe` and `python` first on the path."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_listed() -> None:
    listed = re.findall(r"\]\(([\w-]+)\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(each.name for each in EXAMPLES.iterdir() if each.is_dir())


def test_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    cells = json.loads((EXAMPLES / "notebook/compare.ipynb").read_text(encoding="utf-8"))["cells"]
    namespace: dict[str, object] = {}
    for cell in cells:
        assert not cell.get("outputs"), "outputs of a notebook are not kept"
        if cell["cell_type"] == "code":
            exec(re.sub(r"(?m)^%.*$", "", "".join(cell["source"])), namespace)
    frame = namespace["goodput"]
    assert frame.height == 10, "two algorithms at five buffers"  # type: ignore[attr-defined]


def test_ci_gate(tmp_path: Path) -> None:
    printed = _call("fullpipe", "check", EXAMPLES / "ci-gate/scenarios", cwd=tmp_path)
    assert "4 of 4 conditions met in 2 scenarios" in printed


def test_ci_gate_notices_a_regression(tmp_path: Path) -> None:
    text = (EXAMPLES / "ci-gate/scenarios/latency.toml").read_text(encoding="utf-8")
    (tmp_path / "latency.toml").write_text(
        text.replace('cc = "bbr3"', 'cc = "cubic"'), encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "fullpipe", "check", "latency.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout


def test_sweep_on_threads(tmp_path: Path) -> None:
    printed = _call("python", EXAMPLES / "ray-sweep/sweep.py", "results", cwd=tmp_path)
    assert "24 points, 5 seeds each" in printed


def test_sweep_on_ray_gives_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed; `make setup-all` installs it")
    for engine, options in (("threads", []), ("ray", ["--ray"])):
        _call("python", EXAMPLES / "ray-sweep/sweep.py", engine, *options, cwd=tmp_path)
    threads, ray = (fullpipe.Sweep(tmp_path / engine).frame() for engine in ("threads", "ray"))
    order = ["point", "seed", "flow"]
    assert threads.sort(order).equals(ray.sort(order))


def test_fleet_comparison(tmp_path: Path) -> None:
    printed = _call(EXAMPLES / "fleet-comparison/compare.sh", "results", "200", cwd=tmp_path)
    assert "p50 throughput" in printed
    assert (tmp_path / "results/report/report.html").exists()
