"""Kept files are written through one door; `test_faults.py` lets that door fail."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fullpipe as package
from fullpipe.results import disk, fresh_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(package.__file__).parent
DOOR = "results/disk.py"

# Calls that write, rename or delete. Their other modules write no kept results.
WRITES = {
    "write_text",
    "write_bytes",
    "touch",
    "mkdir",
    "rename",
    "unlink",
    "os.open",
    "os.rename",
    "os.replace",
    "os.remove",
    "os.link",
    "shutil.copyfile",
    "shutil.copytree",
    "shutil.copy",
    "shutil.copy2",
    "shutil.move",
    "shutil.rmtree",
}
OTHERS = {
    "wings/quic/runners/": "messages to our own programs, while they run",
    "wings/real/runners/": "messages to our own programs, while they run",
    "wings/quic/hostfit.py": "messages to our own program",
    "about/doctor.py": "whether a device can be opened",
    "errors.py": "/dev/null",
    "algorithms/rehearsal.py": "/dev/null",
    "base/terminal.py": "/dev/null",
    "study/shipped.py": "files of a scenario, in a temporary folder of a worker",
    "results/objects.py": "a copy of an object store, which is made again if it is lost",
    "commands/shells.py": "files of the user's shell",
    "study/store.py": "a lock file, which is empty",
    "wings/real/loadtest/echo.py": "messages to our own program, while it runs",
    "algorithms/plugins/crate.py": "a new crate of the user",
    "algorithms/programs/left.py": "files that a program left, of a run that is not saved yet",
    "wings/search/score/holdout.py": "the secret, with mode 0600",
}
# Names of `write_parquet`, `rename` and others are also methods of polars; files are these arguments only.
INTO_PATHS = {"write_parquet", "sink_parquet", "write_csv", "savefig"}


def _writes(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            name = "open"
        elif isinstance(node.func, ast.Attribute):
            of, name = node.func.value, node.func.attr
            name = (
                f"{of.id}.{name}"
                if isinstance(of, ast.Name) and of.id in ("os", "shutil")
                else name
            )
        else:
            continue
        mode = next((each.value for each in node.args if isinstance(each, ast.Constant)), "r")
        opened = name in ("open", "fdopen") and str(mode)[:1] in ("w", "a", "x")
        # LazyFrame.rename takes a mapping, or a function.
        frame = name == "rename" and not (node.args and _is_path(node.args[0]))
        if opened or (name in WRITES and not frame):
            yield f"{name} in line {node.lineno}"
        if name in INTO_PATHS and node.args and _is_path(node.args[0]):
            yield f"{name} into a path in line {node.lineno}"


def _is_path(node: ast.expr) -> bool:
    """Whether an argument is a path by its looks: `a / b`, `path.with_…()`, or a name like one."""
    if isinstance(node, ast.Name):
        return node.id in ("path", "target", "final", "aside", "to", "file_path", "directory")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("plain_path", "Path", "str")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr.startswith("with_")
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def test_only_the_door_writes_kept_files() -> None:
    found = {
        str(file.relative_to(ROOT)): writes
        for file in sorted(ROOT.rglob("*.py"))
        if (writes := list(_writes(file)))
    }
    assert found.pop(DOOR)
    outside = {name: each for name, each in found.items() if not name.startswith(tuple(OTHERS))}
    assert not outside, "use fullpipe.results.disk, or say in OTHERS which files these are"
    unused = [name for name in OTHERS if not any(each.startswith(name) for each in found)]
    assert not unused, "no longer write a file themselves"


def test_a_closed_file_is_not_written(tmp_path: Path) -> None:
    """The number of a closed file may be that of another one."""
    closed = disk.NewFile(tmp_path / "closed")
    closed.close()
    with (
        disk.NewFile(tmp_path / "other") as other,
        pytest.raises(ValueError, match="closed"),
    ):
        closed.write(b"lost")
    assert other.closed
    assert (tmp_path / "other").read_bytes() == b""


def test_what_a_killed_process_has_left_is_deleted(tmp_path: Path) -> None:
    """But not what a process is filling."""
    left = tmp_path / ".out.0123abcd"
    left.mkdir()
    (left / "file").write_text("")
    with fresh_directory(tmp_path / "other") as filling, fresh_directory(tmp_path / "out"):
        assert filling.is_dir()
        assert not left.exists()


def test_a_full_disk_is_named_with_its_fix(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="make room on the disk"), fresh_directory(tmp_path / "out"):
        raise OSError(28, "No space left on device", "somewhere")
    assert not list(tmp_path.iterdir())
