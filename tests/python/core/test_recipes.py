"""Recipes of programs: parameters, names in the schema, builds, versions, and what each transfers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from fullpipe.algorithms import programs
from fullpipe.algorithms.programs import lines
from links import tool
from program_flows import fullpipe, metrics, scenario

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel runner needs Linux")

ROOT = Path(__file__).parents[3]


def test_a_recipe_names_its_parameters_and_their_choices(folder: Path) -> None:
    aioquic = '\n[[program]]\nuse = "iperf3"\nparams = { speed = 3 }\n'
    done = fullpipe("run", scenario(folder, aioquic), "--on=kernel")
    assert done.returncode == 2
    assert 'program.0.params.speed = "3": iperf3 has no such parameter' in done.stderr
    assert "fix: it has cc, bytes" in done.stderr
    done = fullpipe("run", scenario(folder, '\n[[program]]\nuse = "iperf"\n'), "--on=kernel")
    assert done.returncode == 2
    assert "did you mean iperf3?" in done.stderr


def test_every_recipe_is_listed_with_its_state() -> None:
    done = fullpipe("list", "programs")
    assert done.returncode == 0, done.stderr
    listed = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert set(listed) == {recipe.name for recipe in programs.every()}
    assert all("installed: " in line or "missing: " in line for line in listed.values())


def test_every_recipe_has_a_command_that_installs_it() -> None:
    assert all(recipe.installs() for recipe in programs.every())
    for recipe in programs.every():
        built = "{built}" in recipe.server and recipe.name not in ("aioquic", "picoquic")
        assert built == bool(recipe.sources), (
            "a program of own sources says which it was built from"
        )
        assert all((recipe.folder / name).is_file() for name in recipe.sources.split())
        commands = " ".join(recipe.install.values())
        assert "cargo install" not in commands or "--locked" in commands


def test_go_of_ci_is_new_enough_for_the_recipe() -> None:
    """A skipped test counts as failed there, and Debian 12 has Go 1.19."""
    steps = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    module = "python/fullpipe/algorithms/programs/quic-go/go.mod"
    assert f"go-version-file: {module}" in steps
    (needed,) = re.findall(r"^go (\d+\.\d+)", (ROOT / module).read_text(), re.MULTILINE)
    assert f"Go {needed} or newer" in " ".join(programs.named("quic-go").install)


def test_a_program_of_other_sources_than_the_recipes_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("quinn", "quic-go"):
        recipe = programs.named(name)
        (tmp_path / name).mkdir()
        says = {
            "old": (f"fullpipe-{name} with {name} 0.11", True),
            "other": (f"fullpipe-{name} with {name} 0.11.9, source {0:016x}", True),
            "same": (f"fullpipe-{name} with {name} 0.11.9, source {recipe.source()}", False),
        }
        for case, (line, outdated) in says.items():
            monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name / case))
            program = programs.built() / "bin" / f"fullpipe-{name}"
            program.parent.mkdir(parents=True)
            program.write_text(f"#!/bin/sh\necho '{line}'\n")
            program.chmod(0o755)
            lines.version_of.cache_clear()
            assert lines.is_outdated(name) == outdated
            done = fullpipe("list", "programs")
            (listed,) = (each for each in done.stdout.splitlines() if each.startswith(f"{name} "))
            assert line in listed
            assert (
                "built from other sources" in listed and "install it again" in listed
            ) == outdated
    lines.version_of.cache_clear()


def install(name: str) -> None:
    """Installs a program into the user's cache, as its recipe says; `make apt` installs Debian's."""
    if lines.version_of(name) and not lines.is_outdated(name):
        return
    for source, line in programs.named(name).installs():
        if source == "Debian":
            pytest.skip(f"{name} is not installed: `make apt nginx`")
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"{name} can't be installed: {done.stderr[-300:]}")
    lines.version_of.cache_clear()


@pytest.mark.parametrize("name", ["nginx", "ngtcp2", "quic-go", "quinn", "s2n-quic"])
def test_a_recipe_transfers_what_is_asked(folder: Path, name: str) -> None:
    install(name)
    out = folder / "out"
    more = f'\n[[program]]\nuse = "{name}"\nparams = {{ bytes = "500kB" }}\n'
    done = fullpipe("run", scenario(folder, more, duration="60s"), "--on=kernel", "--out", out)
    assert done.returncode == 0, done.stderr
    flow = json.loads((out / "metrics.json").read_text())["flows"][0]
    transferred = flow["goodput_bps"] * flow["completion_s"] / 8
    assert 500e3 < transferred < 550e3, "with headers of HTTP or QUIC, and the handshake"
    assert flow["rtt_s"]["min"] > 0.02
    if source := programs.named(name).sources and programs.named(name).source():
        version = json.loads((out / "metrics.json").read_text())["host"][f"program {name}, version"]
        assert re.search(rf" v?\d+\.\d+\.\d+, .*source {source}$", version)
    if programs.named(name).qlog:
        (log,) = (out / "programs" / name).glob("*.sqlog")
        assert log.read_bytes().startswith(b"\x1e{"), "JSON text sequences"


def test_aioquic_leaves_a_qlog_and_its_rtt_is_that_of_the_spin_bit(folder: Path) -> None:
    install("aioquic")
    out = folder / "out"
    more = '\n[[program]]\nuse = "aioquic"\nparams = { cc = "reno", bytes = "300kB" }\n'
    done = fullpipe("run", scenario(folder, more, duration="60s"), "--on=kernel", "--out", out)
    assert done.returncode == 0, done.stderr
    flow = json.loads((out / "metrics.json").read_text())["flows"][0]
    transferred = flow["goodput_bps"] * flow["completion_s"] / 8
    assert 300e3 < transferred < 330e3, "with QUIC's own headers and the handshake"
    assert flow["rtt_s"]["min"] > 0.02
    assert flow["retransmits"] == 0, "no observer can tell"
    (log,) = (out / "programs" / "aioquic").glob("*.qlog")
    assert json.loads(log.read_text())["traces"][0]["events"]
    limits = pl.read_parquet(out / "trace.parquet")["limited_by"]
    assert limits.null_count() == len(limits) > 0, "no observer can tell"
    page = folder / "page.html"
    assert fullpipe("report", out, "--out", page).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "Program aioquic" in text


@pytest.mark.parametrize("name", ["program:iperf3", "program:quic-go", "program:iperf3:bbr"])
def test_the_schema_has_the_names_of_recipes(name: str) -> None:
    schema = (ROOT / "crates/scenario/scenario.schema.json").read_text(encoding="utf-8")
    patterns = set(re.findall(r'"pattern": "(.*program:.*)"', schema))
    assert patterns
    assert all(re.search(pattern, name) for pattern in patterns)
    assert not any(re.search(pattern, f"{name}:") for pattern in patterns)


def test_a_recipes_algorithm_that_was_asked_for_stays_in_its_name(folder: Path) -> None:
    tool("iperf3")
    path = ("--rate=10mbit", "--rtt=20ms", "--duration=2s", "--json")
    done = fullpipe("run", "program:iperf3:reno", "program:iperf3", "--on=kernel", *path)
    named, usual = metrics(done).values()
    assert named["cc"] == "program:iperf3:reno"
    default = named["cc"].partition(":reno")[0]
    assert re.fullmatch(f"{default}:[a-z0-9_]+", usual["cc"])
