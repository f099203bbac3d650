"""Crates with an algorithm: a new one, and the library that cargo builds of one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.algorithms.plugins import ENDINGS, MANIFEST
from fullpipe.algorithms.plugins.copied import copied
from fullpipe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_DEPENDENCY = "fullpipe-plugin"
_STEP = re.compile(
    r"(?:\x1b\[[\d;]*m| )*"
    r"(Adding|Blocking.* on package cache|Compiling|Downloaded|Downloading|Finished|Locking|Updating)\b"
)
"""The beginning of a line of cargo about a step."""


def sources() -> Path:
    """Returns the folder of the crate `fullpipe-plugin`: in the checkout, or else in the installed package."""
    package = Path(_core.__file__).resolve().parent
    checkout = package.parents[1] / "crates" / "plugin"
    return checkout if (checkout / MANIFEST).is_file() else package / "rust" / "plugin"


def new(place: Path, original: str | None = None) -> None:
    """Writes a crate with an algorithm, which has the name of its folder.

    Args:
        place: The folder of the crate.
        original: A built-in algorithm whose sources the crate gets; by default, an algorithm in a few lines.

    Raises:
        UserError: When the name can't be one of a crate, belongs to another algorithm, or the folder is there; or the
            original can't be copied.
        OSError: When the folder can't be written.
    """
    name = place.name
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{name or place}: not a name of a crate\n  fix: use letters, digits, - and _, first a letter, like my-reno"
        )
    if name in {each["name"] for each in _core.algorithms()}:
        raise UserError(
            f"{name}: the name of an algorithm that is there\n  fix: choose another one, like my-{name}"
        )
    if place.exists():
        raise UserError(f"{place}: it is there already\n  fix: choose another name")
    written, needed = _written(name, original)
    version = ".".join(_core.__version__.split(".")[:2])
    files = {
        MANIFEST: f"""\
[package]
name = "{name}"
version = "0.1.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
{_DEPENDENCY} = "{version}"
{needed}
[profile.release]
codegen-units = 1
""",
        **written,
        # For cargo and editors without `fullpipe plugin build`; only for this machine.
        ".cargo/config.toml": f"""\
# The crate {_DEPENDENCY} of the installed fullpipe; `fullpipe plugin build` passes it, too.
[patch.crates-io]
{_DEPENDENCY}.path = {json.dumps(str(sources()))}
""",
        ".gitignore": "/target\n/.cargo\n",
    }
    for file, text in files.items():
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_text(text, encoding="utf-8")


def _written(name: str, original: str | None) -> tuple[dict[str, str], str]:
    """Returns the source files of a new crate, and lines with its dependencies besides fullpipe."""
    if original is None:
        template = Path(__file__).with_name("template.rs").read_text(encoding="utf-8")
        return {"src/lib.rs": template.replace("NAME", name)}, ""
    crates = sources().parent
    module, descriptor, files = copied(crates / "cc" / "src" / "algo", original, name)
    shared = tomllib.loads(
        Path(_core.__file__).with_name("rust").joinpath(MANIFEST).read_text(encoding="utf-8")
    )
    versions = shared["workspace"]["dependencies"]
    needed = [each for each in ("libm",) if any(f"{each}::" in text for text in files.values())]
    top = f"""\
//! The algorithm {name}: at first the {original} of fullpipe {_core.__version__}.
//!
//! `fullpipe plugin check . --same-as {original}` says where the two differ, and tests the contract.

pub mod {module};

fullpipe_plugin::plugin!({descriptor});
"""
    return (
        {"src/lib.rs": top} | {f"src/{file}": text for file, text in files.items()},
        "".join(f'{each} = "{versions[each]}"\n' for each in needed),
    )


def build(crate: Path) -> Path:
    """Builds a crate's library with cargo, in release mode, and returns the file.

    Raises:
        UserError: When there is no crate or no cargo, or the crate has an error or no library of the type cdylib.
    """
    manifest = crate / MANIFEST
    if not manifest.is_file():
        raise UserError(
            f"{crate}: no {MANIFEST}\n  fix: name the directory of a crate; `fullpipe plugin new NAME` makes one"
        )
    cargo = shutil.which("cargo")
    if cargo is None:
        raise UserError(
            f"{crate}: no cargo on the path, which builds it\n"
            "  fix: install Rust (https://rustup.rs), or name a library that is built"
        )
    words = ["build", "--release", "--lib", "--message-format=json-render-diagnostics"]
    words.append(f"--color={'always' if sys.stderr.isatty() else 'never'}")
    with TemporaryFile("w+", encoding="utf-8") as told_to:
        with subprocess.Popen(
            [cargo, *words, f"--manifest-path={manifest}", *_patch(manifest)],
            stdout=told_to,
            stderr=subprocess.PIPE,
            text=True,
        ) as done:
            assert done.stderr is not None
            _show(done.stderr, crate)
        if done.returncode:
            raise UserError(f"{crate}: cargo did not build it\n  fix: correct the error above")
        told_to.seek(0)
        lines = told_to.read().splitlines()
    here = manifest.resolve()
    for line in lines:
        told = json.loads(line) if line.startswith("{") else {}
        if (
            told.get("reason") == "compiler-artifact"
            and Path(told["manifest_path"]).resolve() == here
            and "cdylib" in told["target"]["kind"]
        ):
            return next(Path(file) for file in told["filenames"] if file.endswith(ENDINGS))
    raise UserError(
        f'{crate}: its library is no cdylib\n  fix: write crate-type = ["cdylib"] below [lib] in {manifest}'
    )


def _show(lines: Iterable[str], crate: Path) -> None:
    """Prints what cargo says besides its steps, and that it builds when the first one is that of a compiler."""
    builds = False
    for line in lines:
        step = _STEP.match(line)
        if step and step[1] == "Compiling" and not builds:
            print(f"building {crate} with cargo", file=sys.stderr, flush=True)
            builds = True
        if not step:
            sys.stderr.write(line)


def _patch(manifest: Path) -> list[str]:
    """Returns the words for cargo that say where the crate `fullpipe-plugin` is, if it is named by its version."""
    try:
        table: dict[str, Any] = tomllib.loads(manifest.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return []  # cargo reports the error
    given = table.get("dependencies", {}).get(_DEPENDENCY)
    by_version = isinstance(given, str) or (
        isinstance(given, dict) and not {"path", "git", "workspace"} & set(given)
    )
    if not by_version:
        return []
    return ["--config", f"patch.crates-io.{_DEPENDENCY}.path={json.dumps(str(sources()))}"]
