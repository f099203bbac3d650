"""Algorithms in shared libraries: their names, and the crates that cargo builds them from."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from fullpipe import _core
from fullpipe.errors import UserError, refusal

ENDINGS = (".so", ".dylib", ".dll")
_MANIFEST = "Cargo.toml"


def is_library(name: str) -> bool:
    """Whether the name of an algorithm is that of a library, or of a directory with a crate.

    A name without a separator, like `cubic`, is never a directory's: write `./cubic`.
    """
    if name.endswith(ENDINGS):
        return True
    return ("/" in name or "\\" in name) and (Path(name) / _MANIFEST).is_file()


def library(name: str) -> _core.Plugin:
    """Loads the library of this name; of a directory with a crate, it builds the library first.

    Raises:
        ScenarioError: When the library can't be loaded.
        UserError: When the crate can't be built.
    """
    file = Path(name)
    if file.is_dir():
        file = build(file)
    elif not file.is_file():
        raise refusal(
            "no such file",
            "name a shared library, or the directory of a crate",
            key="cc",
            value=name,
            place=f'cc = "{name}"',
        )
    return _core.Plugin(name, file.resolve())


def build(crate: Path) -> Path:
    """Builds a crate's library with cargo, in release mode, and returns the file.

    Raises:
        UserError: When there is no crate, no cargo, an error in the source, or no library of type cdylib.
    """
    manifest = crate / _MANIFEST
    if not manifest.is_file():
        raise UserError(
            f"{crate}: no {_MANIFEST}\n  fix: name the directory of a crate; `fullpipe plugin new NAME` makes one"
        )
    cargo = shutil.which("cargo")
    if cargo is None:
        raise UserError(
            f"{crate}: no cargo on the path\n  fix: install Rust, https://rustup.rs, or name a library that is built"
        )
    print(f"building {crate}", file=sys.stderr)
    done = subprocess.run(
        [
            cargo,
            "build",
            "--release",
            "--lib",
            "--quiet",
            "--message-format=json-render-diagnostics",
            f"--manifest-path={manifest}",
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UserError(f"{crate}: cargo could not build it\n  fix: correct the errors above")
    here = manifest.resolve()
    for line in done.stdout.splitlines():
        told = json.loads(line)
        if (
            told.get("reason") == "compiler-artifact"
            and Path(told["manifest_path"]).resolve() == here
            and "cdylib" in told["target"]["kind"]
        ):
            return next(Path(file) for file in told["filenames"] if file.endswith(ENDINGS))
    raise UserError(
        f"{crate}: its library is no cdylib\n"
        f'  fix: write crate-type = ["cdylib"] below [lib] in {manifest}'
    )
