"""`fullpipe evaluate --suite stack`: real stacks, on user-mode Linux and on this machine, with recipes of one's own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import needs
import served
from depth import DEEP
from fullpipe.algorithms.programs import lines
from fullpipe.errors import UNEVALUATED
from fullpipe.study.evaluation.command import usual_directory
from fullpipe.study.evaluation.suite import suite
from fullpipe.study.question import Contender

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence
    from pathlib import Path

# Few packets where a second is enough: user-mode Linux takes a millisecond of the processor for one.
CELL = {"rate": "5mbit", "rtt": "20ms", "buffer": "1bdp", "duration": "6s"}
SMALL = {**CELL, "rate": "2mbit", "rtt": "40ms", "duration": "5s"}
BRIEF = {**CELL, "rate": "20mbit"}
RECIPE = """
server = "iperf3 --server --one-off --port {port}"
client = "iperf3 --client {far} --port {port} --reverse {length}"
check = "iperf3 --version"
length = { bytes = "--bytes {bytes}", time = "--time {seconds}" }

[params.bytes]
about = "Bytes to transfer."
"""


def fullpipe(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return served.command(*arguments, directory=cwd)


def stack(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return fullpipe("evaluate", *arguments, "--suite", "stack", cwd=cwd)


def one(cell: dict[str, str]) -> list[str]:
    """Returns the words for a single cell, with the least number of seeds."""
    axes = [word for axis, value in cell.items() for word in ("--axis", f"{axis}={value}")]
    return [*axes, "--seeds", "3"]


@needs.UML
def test_a_stack_is_judged_alone_and_next_to_cubic_in_simulated_time(tmp_path: Path) -> None:
    # Not iperf3, which next to another flow computes for half a minute here.
    if not lines.version_of("nginx"):
        pytest.skip("nginx is not installed: make nginx")
    names = ["use", "leaves", "gets"] if DEEP else ["leaves", "gets"]
    chosen = [word for name in names for word in ("--criterion", name)]
    asked: list[object] = ["program:nginx", "--on", "uml", *one(CELL if DEEP else SMALL), *chosen]
    asked += ["--out", tmp_path / "out"]
    done = stack(*asked, "--json")
    assert done.returncode == 0, done.stderr
    *alone, leaves, gets = json.loads(done.stdout)
    assert "not met" not in (leaves["verdict"], gets["verdict"])  # a second does not decide
    for use in alone:
        assert use["verdict"] == "met"
        # The kernel's CUBIC under nginx does what the kernel's CUBIC does.
        assert use["measured"] == pytest.approx(use["others"]["cubic"], rel=0.01)
    # Both flows together have all: the shares of their fair rates add up to 2 if neither starves.
    assert leaves["measured"] + gets["measured"] == pytest.approx(2, abs=0.25)
    # Criteria that differ in the metric have the same runs.
    runs_of = {each.name for each in (tmp_path / "out" / "criteria").iterdir()}
    assert runs_of == set(names) - {"gets"}
    page = (tmp_path / "out" / "dossier.html").read_text()
    assert "in simulated time, on uml" in page
    assert "nginx/1." in page
    replay = next(
        line
        for line in page.split("fullpipe run ")[1:]
        if f"criteria/{names[0]}" in line.split("<")[0]
    ).split("<")[0]
    assert " --on uml " in replay

    runs = {file: file.stat().st_mtime_ns for file in tmp_path.glob("out/**/runs/*")}
    again = stack(*asked)  # resumes: no run is made again
    assert runs == {file: file.stat().st_mtime_ns for file in tmp_path.glob("out/**/runs/*")} != {}
    assert again.returncode == 0
    assert f"{len(names)} criteria: " in again.stdout


def test_a_recipe_of_ones_own_is_judged_in_real_time(tmp_path: Path) -> None:
    (tmp_path / "mystack.toml").write_text(RECIPE)
    done = stack(
        *("program:mystack", "--recipe", "mystack.toml", "--on", "kernel", "--out", "out"),
        *(*one(BRIEF), "--criterion", "short"),
        cwd=tmp_path,
    )
    assert done.returncode in (0, 1), done.stderr  # a busy machine may be slow
    assert "program:mystack: A stack next to the kernel's CUBIC" in done.stdout
    page = (tmp_path / "out" / "dossier.html").read_text()
    assert "Measured in real time on kernel" in page
    assert "the machine kept time in all 6 runs" in page or "of 6 runs: " in page


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("server = 3", "server: not text\n  fix: write text"),
        ('server = "x"', "client: is missing"),
        ('server = "x"\nclient = "y"\ncolor = "red"', "color: no key of a recipe"),
        (
            'server = "x"\nclient = "y"\ninstall = { Debian = 3 }',
            "install: has another value than text",
        ),
        ('server = "x"\nclient = "y"\nparams = { cc = 3 }', "params.cc: not a parameter"),
        ("server = ", "not TOML"),
        (None, "No such file"),
    ],
)
def test_errors_of_a_recipe_name_file_key_and_fix(
    tmp_path: Path, text: str | None, words: str
) -> None:
    file = tmp_path / "mine.toml"
    if text is not None:
        file.write_text(text)
    done = fullpipe("run", "program:mine", "--recipe", file, "--on", "kernel")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}: {words}" in done.stderr
    assert "\n  fix: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_recipe_needs_a_name_of_its_own(tmp_path: Path) -> None:
    for name, words in (
        ("quinn", "fullpipe has a recipe quinn"),
        ("a b", "not the name of a recipe"),
    ):
        file = tmp_path / f"{name}.toml"
        file.write_text(RECIPE)
        done = fullpipe("run", "program:quinn", "--recipe", file, "--on", "kernel")
        assert done.returncode == 2
        assert words in done.stderr


def test_without_a_runner_the_error_names_one(tmp_path: Path) -> None:
    for command in (
        ("evaluate", "program:iperf3", "--suite", "stack"),
        ("sweep", "program:iperf3"),
        ("sweep", "cubic", "--set", "flow.0.cc=cubic,program:iperf3"),
        ("compare", "cubic", "program:iperf3"),
    ):
        done = fullpipe(*command, "--out", tmp_path / "out")
        assert (done.returncode, done.stdout) == (2, "")
        assert "fix: run it with --on kernel, uml or uml-emulator" in done.stderr
        assert "Traceback" not in done.stderr
        assert "panicked" not in done.stderr
        assert not list((tmp_path / "out").glob("**/runs/*"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--axis", "color=red"), "--axis color: no criterion of stack has this axis"),
        (("--axis", "rate"), "--axis rate: not an axis"),
        (("--axis", "rate=10mbit,,"), "not an axis"),
        (("--axis", "rate=many", "--on", "kernel"), "path.rate=many"),
        (("--on", "nowhere"), "--on nowhere: no runner has this name"),
        (("--on", "sim,kernel"), "no runner has this name"),
    ],
)
def test_axes_and_runners_are_checked_before_the_first_run(
    tmp_path: Path, options: Sequence[str], words: str
) -> None:
    done = stack("program:iperf3", *options, "--out", tmp_path / "out")
    assert done.returncode == 2, done.stdout
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@needs.UML
def test_a_criterion_that_the_runner_does_not_support_is_not_evaluated(tmp_path: Path) -> None:
    done = fullpipe(
        *("evaluate", "cubic", "--suite", "prudentia", "--criterion", "itself", "--seeds", "3"),
        *("--on", "uml", "--out", tmp_path / "out", "--json"),
    )
    assert done.returncode == UNEVALUATED, done.stderr
    [itself] = json.loads(done.stdout)
    assert itself["verdict"] == "not evaluated"
    assert "bbr3" in itself["reason"]  # a baseline of the suite that this kernel lacks
    assert (tmp_path / "out" / "dossier.html").exists()


def test_a_value_without_its_words_is_refused() -> None:
    done = fullpipe("evaluate", "cubic", "--suite", "prudentia", "--axis", "rate=9mbit")
    assert done.returncode == 2
    assert "[with.rate]" in done.stderr


def test_the_usual_directory_names_program_and_runner() -> None:
    found = usual_directory(Contender("program:quinn:bbr"), suite("stack"), quick=False, on="uml")
    assert found.name.startswith("stack-quinn-bbr-uml-")
