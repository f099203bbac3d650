"""The wheel of `make wheel WHEEL=linux`, in an empty environment outside of the checkout, without a compiler.

Its dependencies come from PyPI, as for a user. The commands of README and of the tutorial run as in test_docs.py, but
in an empty directory: everything that they read is in the package.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from pages import blocks, commands, settled

ROOT = Path(__file__).parents[3]
WHEELS = ROOT / "target/dist"
UV = shutil.which("uv") or ROOT / "target/tools/bin/uv"
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
# The programs whose absence makes a build impossible.
COMPILERS = ("cargo", "rustc", "maturin")
# Outside of a clone, `scenarios/NAME.toml` is the package's scenario, and texts call it NAME.
_PACKAGED = re.compile(r"^scenarios/([\w-]+)\.toml:")
_PATH = re.compile(r"/\S+/site-packages/fullpipe/(scenarios/)")
pytestmark = pytest.mark.skipif(
    not list(WHEELS.glob("*.whl")),
    reason="the wheel is not built; make wheel WHEEL=linux does that",
)


class Installed(NamedTuple):
    """An environment with the wheel: its programs, and an empty directory."""

    programs: Path
    directory: Path

    def call(self, command: str, *, directory: Path | None = None) -> tuple[int, str]:
        """Runs a line of a shell as in a user's terminal; returns the exit code and the output."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=directory or self.directory,
            env=_environment(self.programs),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout


def _environment(programs: Path | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "UV_CACHE_DIR")}
    kept |= {name: value for name, value in os.environ.items() if "proxy" in name.lower()}
    kept |= {name: value for name, value in os.environ.items() if "_CA_" in name or "CERT" in name}
    path = f"{programs}:{SYSTEM}" if programs else SYSTEM
    return {**kept, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The installed wheel."""
    place = tmp_path_factory.mktemp("installed")
    (wheel,) = WHEELS.glob("*.whl")
    environment = _environment(None)
    for compiler in COMPILERS:
        assert shutil.which(compiler, path=environment["PATH"]) is None
    steps: list[list[str | Path]] = [
        ["venv", "--quiet", "--python", sys.executable, place / "venv"],
        ["pip", "install", "--quiet", "--python", place / "venv/bin/python", wheel],
    ]
    for words in steps:
        subprocess.run([UV, *words], env=environment, check=True, cwd=place, timeout=300)
    (place / "empty").mkdir()
    return Installed(place / "venv/bin", place / "empty")


def test_the_environment_has_few_packages(installed: Installed) -> None:
    site = next((installed.programs.parent / "lib").glob("python*")) / "site-packages"
    names = {re.sub(r"-[\d.].*", "", each.name) for each in site.glob("*.dist-info")}
    assert not names & {"mypy", "ruff", "pytest", "hypothesis", "maturin", "typer"}
    assert len(names) <= 25, sorted(names)


def test_real_quic_is_in_the_wheel(installed: Installed) -> None:
    scenario = "fullpipe new bbr3 --rate 10mbit --rtt 20ms --duration 2s | fullpipe run - --on quic"
    code, output = installed.call(scenario)
    assert code == 0, output
    assert re.search(r"^bbr3 +\d\.\d", output, re.MULTILINE), output


def test_algorithms_for_linux_are_in_the_wheel(installed: Installed) -> None:
    code, output = installed.call("fullpipe kernel list")
    assert code == 0, output
    assert re.search(r"^bbr3 +fp_bbr3 ", output, re.MULTILINE), output


def test_the_simulator_for_pages_is_in_the_wheel(installed: Installed) -> None:
    code, output = installed.call("fullpipe explore --out explore.html && wc -c < explore.html")
    assert code == 0, output
    assert int(output.split()[-1]) > 700_000  # with the simulator


def test_a_new_crate_finds_the_sources_in_the_wheel(installed: Installed, tmp_path: Path) -> None:
    code, output = installed.call("fullpipe plugin new mine", directory=tmp_path)
    assert code == 0, output
    code, output = installed.call("fullpipe plugin build mine", directory=tmp_path)
    assert code == 2, output  # there is no cargo
    assert "cargo" in output
    header = installed.call("fullpipe plugin header")[1].strip()
    rust = Path(header).parents[1]
    assert (Path(header) / "fullpipe.h").is_file()
    for crate in ("cc", "plugin", "units"):
        assert (rust / crate / "Cargo.toml").is_file()
        assert (rust / crate / "src/lib.rs").is_file()
    # With the cargo of this machine it builds; the sources are those of the wheel.
    if cargo := shutil.which("cargo"):
        assert str(rust).startswith(str(installed.programs.parent))
        command = f"PATH={Path(cargo).parent}:$PATH fullpipe plugin build mine"
        code, output = installed.call(command, directory=tmp_path)
        assert code == 0, output


def test_a_published_table_is_reproduced(installed: Installed) -> None:
    code, output = installed.call("fullpipe reproduce microsoft")
    assert code in (0, 1), output  # 1: a cell is missed, which is a finding
    assert "Microsoft" in output


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *sorted(
            str(page.relative_to(ROOT))
            for page in ROOT.glob("docs/tutorial/*.md")
            if "```console" in page.read_text(encoding="utf-8")
        ),
    ],
)
def test_the_commands_of_a_page_run_outside_of_the_checkout(
    page: str, installed: Installed, tmp_path: Path
) -> None:
    calls = 0
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        if file := re.fullmatch(r"(?:toml|python) file=(\S+)", block.language):
            (tmp_path / file[1]).write_text("\n".join(block.lines) + "\n", encoding="utf-8")
        if block.language != "console":
            continue
        for command, quoted, _ in commands(block):
            fails = any(re.search(r"^error:| missed$", line) for line in quoted)
            code, output = installed.call(command, directory=tmp_path)
            assert fails or code == 0, f"{page}: $ {command}\n{output}"
            output = _PATH.sub(r"\1", output)
            settled(output, [_PACKAGED.sub(r"\1:", line) for line in quoted], bless=False)
            calls += 1
    assert calls


def test_the_wheel_and_the_sdist_have_what_belongs_to_them() -> None:
    (wheel,) = WHEELS.glob("*.whl")
    (sdist,) = WHEELS.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in ("scenarios/cubic-vs-bbr1.toml", "published/microsoft-wan-2021.toml", "py.typed"):
        assert f"fullpipe/{wanted}" in names
    assert not [name for name in names if name.startswith(("scenarios/", "published/", "tests/"))]
    with tarfile.open(sdist) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames()}
    for wanted in ("Cargo.lock", "crates/sim/Cargo.toml", "python/fullpipe/__init__.py"):
        assert wanted in sources
    # Sizes: docs/guide/install.md.
    assert sdist.stat().st_size < 4e6


def test_a_sweep_of_the_clone_is_verified_and_continued_by_the_wheel(
    installed: Installed, tmp_path: Path
) -> None:
    own = Installed(Path(sys.executable).parent, tmp_path)

    def told(of: Installed, command: str) -> str:
        code, output = of.call(command, directory=tmp_path)
        assert code == 0, output
        return output

    version = re.compile(r"fullpipe [\d.]+, commit (\S+)(?: with changes)?, build (\w{16})\n")
    here, there = (version.fullmatch(told(of, "fullpipe --version")) for of in (own, installed))
    assert here and there
    assert there[2] == here[2], "make wheel WHEEL=linux builds the wheel anew"
    assert re.fullmatch("[0-9a-f]{12}", there[1])  # what the build wrote
    sweep = "fullpipe sweep cubic bbr3 --duration 2s --buffer 1bdp,2bdp --repeat 2 --out kept"
    told(own, sweep)
    assert "4 of 4 equal, 2 with their traces" in told(installed, "fullpipe verify kept")
    assert "2 runs, " in told(installed, "fullpipe sweep kept --repeat 3")
    assert "made by" not in (output := told(own, "fullpipe verify kept"))
    assert "6 of 6 equal" in output
