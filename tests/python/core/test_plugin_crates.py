"""Algorithms in crates: cargo builds them, they keep the contract and run, and errors name them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fullpipe import _core
from fullpipe.algorithms.plugins.crate import build, new
from fullpipe.errors import UserError

if TYPE_CHECKING:
    from conftest import Fullpipe

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="compiles with cc")

ROOT = Path(__file__).parents[3]
CRATE = ROOT / "examples/custom-controller"


def test_kept_results_are_no_crate(fullpipe: Fullpipe, tmp_path: Path) -> None:
    path = ("--rate", "8mbit", "--rtt", "20ms", "--duration", "1s")
    for name, cc in (("a", "cubic"), ("b", "newreno")):
        assert fullpipe("run", cc, *path, "--out", name).returncode == 0
        crate = (
            '[package]\nname = "evil"\nversion = "0.1.0"\nedition = "2024"\nbuild = "build.rs"\n'
        )
        (tmp_path / name / "Cargo.toml").write_text(crate)
        (tmp_path / name / "build.rs").write_text(
            f'fn main() {{ std::fs::write("{tmp_path}/ran", "").unwrap(); }}\n'
        )
    for words in (["compare", "a", "b"], ["compare", "./a", "./b"], ["report", "./a", "./b"]):
        done = fullpipe(*words)
        assert "cargo" not in done.stdout + done.stderr
    assert fullpipe("run", "./a").returncode == 2
    assert not (tmp_path / "ran").exists()


def test_without_cargo_a_crate_is_an_error(fullpipe: Fullpipe, tmp_path: Path) -> None:
    assert fullpipe("plugin", "new", "mine").returncode == 0
    program = shutil.which("fullpipe", path=str(Path(sys.executable).parent)) or "fullpipe"
    for words in (["plugin", "build", "mine"], ["run", "./mine"], ["explain", "./mine"]):
        done = subprocess.run(
            [program, *words],
            env={**os.environ, "PATH": "/nowhere"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "mine: no cargo on the path" in done.stderr
        assert (
            "fix: install Rust (https://rustup.rs), or name a library that is built" in done.stderr
        )


def test_new_refuses_names(fullpipe: Fullpipe, tmp_path: Path) -> None:
    for name, problem in [
        ("cubic", "the name of an algorithm that is there"),
        ("9lives", "not a name of a crate"),
        ("libcreno.so", "not a name of a crate"),
    ]:
        done = fullpipe("plugin", "new", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"error: {name}: {problem}\n  fix: " in done.stderr
    (tmp_path / "there").mkdir()
    assert "there: it is there already" in fullpipe("plugin", "new", "there").stderr
    no_crate = fullpipe("plugin", "build", "there")
    assert no_crate.returncode == 2
    assert "there: no Cargo.toml\n  fix: name the directory of a crate" in no_crate.stderr


def test_a_new_crate_builds_keeps_the_contract_and_runs(
    fullpipe: Fullpipe,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    # Without optimization.
    monkeypatch.setenv("CARGO_TARGET_DIR", str(ROOT / "target/plugins"))
    monkeypatch.setenv("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
    assert fullpipe("plugin", "new", "my-aimd").returncode == 0
    code = tmp_path / "my-aimd/src/lib.rs"
    assert len(code.read_text().splitlines()) < 100
    build(tmp_path / "my-aimd")  # in this process, which has no limit on time
    assert capfd.readouterr().err == f"building {tmp_path / 'my-aimd'} with cargo\n"
    built = fullpipe("plugin", "build", "my-aimd")
    assert built.returncode == 0, built.stderr
    assert built.stdout.strip().endswith("libmy_aimd.so" if sys.platform == "linux" else ".dylib")
    assert built.stderr == "", "cargo had nothing to build"
    checked = fullpipe("plugin", "check", "my-aimd")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    run = fullpipe("run", "./my-aimd", "newreno", "--duration", "5s", "--json")
    assert json.loads(run.stdout)["flows"][0]["cc"] == "my-aimd"
    # cargo finds the same sources without fullpipe, too.
    alone = subprocess.run(
        ["cargo", "build", "--release", "--lib"],
        cwd=tmp_path / "my-aimd",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Compiling" not in alone.stderr
    text = code.read_text()
    code.write_text(text.replace("self.rounds += 1;", 'panic!("round {}", self.rounds);'))
    failed = fullpipe("run", "./my-aimd", "--duration", "5s")
    assert failed.returncode == 2
    assert re.search(
        r"^error: cc = my-aimd: on_ack at [\d.]+ s failed: panicked at src/lib\.rs:\d+:\d+: round 0$",
        failed.stderr,
        re.MULTILINE,
    ), failed.stderr
    code.write_text(text.replace("DESCRIPTOR);", "DESCRIPTOR"))
    wrong = fullpipe("run", "./my-aimd")
    assert wrong.returncode == 2
    assert "error: my-aimd: cargo did not build it\n  fix: correct the error above" in wrong.stderr
    manifest = tmp_path / "my-aimd/Cargo.toml"
    code.write_text(text)
    right = manifest.read_text()
    manifest.write_text(right.replace('"cdylib"', '"rlib"'))
    no_library = fullpipe("plugin", "build", "my-aimd")
    assert no_library.returncode == 2
    assert "its library is no cdylib\n  fix: write crate-type" in no_library.stderr
    manifest.write_text(right + 'panic = "abort"\n')
    with pytest.raises(UserError, match="my-aimd: cargo did not build it"):
        build(tmp_path / "my-aimd")  # builds all crates again
    assert 'remove panic = "abort" from Cargo.toml' in capfd.readouterr().err


_NO_COPIES = {
    "lia": "its flows share state",
    "rledbat": "an algorithm of the receiver",
    "bbr3-picoquic-2024-09": "write --from bbr3",
    "bbr3-picoquic-2024-10": "write --from bbr3",
    "bbr": "not a built-in algorithm",
}


@pytest.mark.parametrize(
    "name", sorted({*_NO_COPIES, *(each["name"] for each in _core.algorithms())})
)
def test_each_built_in_algorithm_has_a_copy_or_a_reason(name: str, tmp_path: Path) -> None:
    crate = tmp_path / f"my-{name.replace('++', 'pp')}"
    if name in _NO_COPIES:
        with pytest.raises(UserError, match=_NO_COPIES[name]):
            new(crate, name)
        assert not crate.exists()
        return
    new(crate, name)
    files = {file: file.read_text() for file in (crate / "src").rglob("*.rs")}
    code = "\n".join(files.values())
    assert f'name: "{crate.name}"' in code
    assert f'name: "{name}"' not in code
    assert "cc::algo" not in code
    assert "cfg(test)" not in code
    assert set(re.findall(r"AnyController::(\w+)", code)) == {"User"}


def test_an_unchanged_copy_decides_like_the_original_and_a_changed_one_does_not(
    fullpipe: Fullpipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A folder of its own: cargo says so where it waits for another one's.
    monkeypatch.setenv("CARGO_TARGET_DIR", str(ROOT / "target/copies"))
    monkeypatch.setenv("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
    made = fullpipe("plugin", "new", "my-bbr", "--from", "bbr3")
    assert made.returncode == 0, made.stderr
    assert "plugin check ./my-bbr --same-as bbr3" in made.stdout
    build(tmp_path / "my-bbr")  # in this process, which has no limit on time
    words = ["plugin", "check", "my-bbr", "--sequences", "5", "--same-as", "bbr3"]
    same = fullpipe(*words)
    assert same.stderr == "", "cargo warns of nothing"
    assert same.stdout == (
        "my-bbr keeps the contract: no breach in 5 sequences\nmy-bbr decides like bbr3 in 16 of 16 runs\n"
    )
    assert same.returncode == 0
    rules = tmp_path / "my-bbr/src/bbr/v3/versions.rs"
    text = rules.read_text()
    changed = text.replace(
        '("beta", Default::Number(180.0 / 256.0)),\n    ("headroom"',
        '("beta", Default::Number(0.9)),\n    ("headroom"',
    )
    assert changed != text
    rules.write_text(changed)
    other = fullpipe(*words)
    assert other.returncode == 1, other.stdout + other.stderr
    assert re.search(r"my-bbr decides like bbr3 in (\d|1[0-5]) of 16 runs", other.stdout)
    first = r"\n  20 Mbit/s, .*, stack linux.*: from [\d.]+ s on, \w+ in \w+ is \S+, not \S+\n"
    assert re.search(first, other.stdout)
    nothing = fullpipe(*words[:-1], "nothing")
    assert nothing.returncode == 2
    assert nothing.stderr.endswith(
        "--same-as nothing: no algorithm of this name\n  fix: `fullpipe list algorithms` has the names\n"
    )


def test_the_example_in_the_tree_runs_and_keeps_the_contract(
    fullpipe: Fullpipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `make test` has built this crate in the profile of tests, a minute of work.
    cargo = tmp_path / "bin" / "cargo"
    cargo.parent.mkdir()
    words = '"${@/#--release/--profile=ci}"'
    cargo.write_text(f"#!/bin/bash\nexec {shlex.quote(str(shutil.which('cargo')))} {words}\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", str(cargo.parent), prepend=os.pathsep)
    build(CRATE)  # in this process, which has no limit on time
    crate = str(CRATE)
    checked = fullpipe("plugin", "check", crate, "--sequences", "50")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.startswith("delayaimd keeps the contract")
    run = fullpipe("run", "cubic", crate, "--duration", "5s", "--json")
    assert [flow["cc"] for flow in json.loads(run.stdout)["flows"]] == ["cubic", "delayaimd"]


def test_the_crates_of_the_wheel_have_the_workspaces_values() -> None:
    ours = tomllib.loads((ROOT / "python/fullpipe/rust/Cargo.toml").read_text())["workspace"]
    theirs = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    assert ours["package"] == theirs["package"]
    assert ours["resolver"] == theirs["resolver"]
    for name, wanted in ours["dependencies"].items():
        if name.startswith("fullpipe-"):
            assert theirs["dependencies"][name] == {"path": f"crates/{wanted['path']}"}
        else:
            assert theirs["dependencies"][name] == wanted
    named = set()
    for member in ours["members"]:
        crate = tomllib.loads((ROOT / "crates" / member / "Cargo.toml").read_text())
        for kind in ("dependencies", "dev-dependencies"):
            named |= {name for name, given in crate.get(kind, {}).items() if given.get("workspace")}
    assert named == set(ours["dependencies"])
    assert _core.__version__ == ours["package"]["version"]
