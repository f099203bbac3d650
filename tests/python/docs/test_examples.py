"""The examples run as their pages say. test_controllers.py and `make test-rust` run those of controllers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from base64 import b64decode
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

import fullpipe
from fullpipe.wings.search.score import process

ROOT = Path(__file__).parents[3]
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
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_listed() -> None:
    listed = re.findall(r"\]\(([\w-]+)\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(each.name for each in EXAMPLES.iterdir() if each.is_dir())


def test_an_evolution_improves_a_small_algorithm(tmp_path: Path) -> None:
    if refused := process.refused():
        pytest.skip(refused)
    suite = (ROOT / "python/fullpipe/wings/search/score/suites/general.toml").read_text(
        encoding="utf-8"
    )
    head, *parts = suite.split("[[part]]")
    few = re.sub(r"cells = \d+", "cells = 3", parts[0]).replace('"12s"', '"4s"')
    (tmp_path / "few.toml").write_text(f"{head}[[part]]{few}", encoding="utf-8")
    script = EXAMPLES / "evolve/evolve.py"
    lines = script.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 100
    words = ("--generations", "2", "--population", "4", "--suite", "few.toml")
    printed = _call(sys.executable, script, *words, cwd=tmp_path)
    assert "generation 1: " in printed
    assert "the hold-out" in printed
    best = json.loads((tmp_path / "evolved/best.json").read_text(encoding="utf-8"))
    assert set(best["params"]) == {"gain", "target", "slope", "cut"}
    assert best["cells"] == 3


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401  (nbformat has no types)
    """The example's notebook after a run of all cells by a kernel of Jupyter."""
    notebook = nbformat.read(EXAMPLES / "notebook/compare.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept"
    folder = tmp_path_factory.mktemp("notebook")
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
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


# --- A gate in CI ------------------------------------------------------------------------------

ACTION = yaml.safe_load((ROOT / "action/action.yml").read_text(encoding="utf-8"))
WORKFLOW = EXAMPLES / "ci/.github/workflows/congestion-control.yml"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The sample repository with its files committed."""
    place = tmp_path / "repository"
    shutil.copytree(EXAMPLES / "ci", place, ignore=shutil.ignore_patterns("__pycache__"))
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "base"],
    ):
        subprocess.run(["git", *arguments], cwd=place, check=True)
    return place


class Job:
    """Runs the `run:` lines of the action as a runner of GitHub does, with a stub of its program `gh`."""

    def __init__(self, repository: Path, base: str = "HEAD", repeat: str = "3") -> None:
        self.place, self.temp = repository, repository.parent / "temp"
        self.temp.mkdir()
        (self.temp / "gh").write_text(f'#!/bin/sh\necho "$@" > {self.temp}/commented\n')
        (self.temp / "gh").chmod(0o755)
        self.context = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}
        self.context |= {"repeat": repeat, "base": base, "token": "secret"}
        self.outputs: dict[str, str] = {}
        self.codes: dict[str, int] = {}

    def run(self) -> Job:
        for step in ACTION["runs"]["steps"]:
            if step["id"] != "install":
                self.codes[step["id"]] = self._step(step)
        return self

    def _step(self, step: dict[str, Any]) -> int:
        output, summary = self.temp / f"output-{step['id']}", self.temp / "summary"
        output.touch()
        env = {name: self._value(value) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.place,
            env={
                **os.environ,
                "PATH": f"{self.temp}:{Path(sys.executable).parent}:{os.environ['PATH']}",
                "RUNNER_TEMP": str(self.temp),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
                **env,
            },
            check=False,
        )
        for line in output.read_text().splitlines():
            self.outputs[f"{step['id']}.{line.partition('=')[0]}"] = line.partition("=")[2]
        return done.returncode

    def _value(self, text: str) -> str:
        (of,) = re.findall(r"^\$\{\{ ([\w.]+) \}\}$", text)
        if of.startswith("inputs."):
            return str(self.context[of.removeprefix("inputs.")])
        if of == "github.event.number":
            return "17"
        return self.outputs[of.removeprefix("steps.").replace(".outputs.", ".")]


def test_the_sample_repository_meets_its_conditions(repository: Path) -> None:
    printed = _call("fullpipe", "check", "scenarios", "--repeat", "3", cwd=repository)
    assert "6 of 6 conditions met in 3 scenarios" in printed


def test_the_action_passes_without_a_change_and_comments(repository: Path) -> None:
    job = Job(repository).run()
    assert set(job.codes.values()) == {0}
    assert "0 worse, 0 better" in (job.temp / "summary").read_text(encoding="utf-8")
    assert (job.temp / "commented").read_text().startswith("pr comment 17 --edit-last")
    assert "testsuites" in (job.temp / "fullpipe.xml").read_text()


def test_the_action_fails_on_a_worse_algorithm_and_shows_the_change(repository: Path) -> None:
    own = repository / "aimd.py"
    own.write_text(own.read_text().replace("KEPT = 0.7", "KEPT = 0.1"))
    job = Job(repository, repeat="8").run()
    assert (job.codes["base"], job.codes["comment"], job.codes["result"]) == (0, 0, 1)
    table = (job.temp / "fullpipe.md").read_text(encoding="utf-8")
    row = r"own\.toml \| own \| goodput \|.*\| −[\d.]+ % \[−[\d.]+, −[\d.]+\] \| 🔴 worse \|"
    assert re.search(row, table.partition("<details>")[0]), table


def test_the_action_checks_conditions_alone_if_there_is_no_base(repository: Path) -> None:
    job = Job(repository, base="0" * 40).run()
    assert set(job.codes.values()) == {0}
    assert not (job.temp / "fullpipe.md").exists()
    assert not (job.temp / "commented").exists()


def test_the_steps_of_the_sample_workflow_run_and_use_inputs_that_there_are(
    repository: Path,
) -> None:
    steps = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["check"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    assert runs
    for lines in runs:
        _call("bash", "-ec", lines, cwd=repository)
    (used,) = [step for step in steps if "fullpipe/action" in step.get("uses", "")]
    assert {*used["with"]} <= {*ACTION["inputs"]}


def test_the_action_is_a_composite_one_whose_steps_name_their_shell() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert {"name", "description", "inputs", "outputs", "runs"} == {*ACTION}
    for each in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert each["description"]
    for step in ACTION["runs"]["steps"]:
        assert {*step} <= {"id", "if", "shell", "env", "run"}
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "values reach a script by its environment alone"
        named = {
            name
            for value in step.get("env", {}).values()
            for name in re.findall(r"inputs\.(\w+)", value)
        }
        assert named <= {*ACTION["inputs"]}
        subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


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


def test_the_artifact_makes_its_results_and_verifies_them(tmp_path: Path) -> None:
    place = tmp_path / "artifact"
    shutil.copytree(EXAMPLES / "artifact", place)
    script = place / "run.sh"
    text = script.read_text(encoding="utf-8")
    script.write_text(text.replace("--duration 30s", "--duration 2s"), encoding="utf-8")
    made = _call("sh", script, cwd=tmp_path)
    assert "fingerprint " in made
    assert (place / "fig1.svg").stat().st_size > 5000
    (place / "cell.trace").unlink()
    verified = _call("sh", script, "20", cwd=tmp_path)
    assert "20 of 20 equal, a sample of 60 runs, " in verified
