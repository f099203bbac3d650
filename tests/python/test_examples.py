"""The examples run as their pages say. test_controllers.py and `make test-rust` run those of controllers."""

import os
import re
import subprocess
import sys
import warnings
from base64 import b64decode
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

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


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401  (nbformat has no types)
    """The example's notebook after a run of all cells by a kernel of Jupyter."""
    notebook = nbformat.read(EXAMPLES / "notebook/compare.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept"
    folder = tmp_path_factory.mktemp("notebook")
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Jupyter's own modules
        return client.execute()


def _outputs(notebook: Any, source: str) -> list[Any]:  # noqa: ANN401
    """The outputs of the cell whose source has these words."""
    (cell,) = [each for each in notebook.cells if source in each.source and "outputs" in each]
    return [each for each in cell.outputs if "data" in each]


def test_a_notebook_shows_tables_and_pictures_without_magic(executed: Any) -> None:  # noqa: ANN401
    assert not any("%matplotlib" in cell.source for cell in executed.cells)
    for source, words in (
        ("**path, trace=", "goodput"),
        ("fullpipe.compare(", "together"),
        ("fullpipe.sweep(", "buffer"),
    ):
        shown = _outputs(executed, source)[-1].data
        assert words in shown["text/html"]
        assert "<img" in shown["text/html"]
        assert shown["image/png"]
    assert "cubic" in _outputs(executed, "rtt_s.p95")[-1].data["text/html"]
    assert "report.html" in _outputs(executed, "sweep.report()")[-1].data["text/plain"]
    picture = b64decode(_outputs(executed, "plot_runs(")[-1].data["image/png"])
    assert picture.startswith(b"\x89PNG")
    page = ROOT / "docs/images/notebook.png"
    if os.environ.get("FULLPIPE_BLESS"):
        page.write_bytes(picture)
    assert page.exists()


def test_a_notebook_has_bars_of_progress_that_disappear(executed: Any) -> None:  # noqa: ANN401
    bars = [each for each in _outputs(executed, "fullpipe.sweep(")[:-1] if "text/html" in each.data]
    assert bars, "a bar was shown"
    assert {each.data["text/html"] for each in bars} == {""}, "and removed at the end"


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
