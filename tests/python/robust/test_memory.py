"""The memory that a run may use: that of the machine, of its container and of its own limits."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fullpipe.base.memory import available

if TYPE_CHECKING:
    from pathlib import Path

GB = 10**9
LARGE = """\
duration = "60s"
[path]
rate = "100gbit"
rtt = "400ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("limit", ["ulimit -v 1500000", "ulimit -d 1500000"])
@pytest.mark.parametrize(
    "command",
    [
        "run x.toml",
        "check x.toml",
        "sweep x.toml",
        "attack shrink x.toml --keep 'flow.*.goodput > 1mbit'",
    ],
)
def test_a_process_s_own_limit_refuses_a_run_before_it_starts(
    command: str, limit: str, tmp_path: Path
) -> None:
    text = f'expect = ["jain >= 10%"]\n{LARGE}' if command.startswith("check") else LARGE
    (tmp_path / "x.toml").write_text(text)
    shell = f'{limit}; exec "{sys.executable}" -m fullpipe {command}'
    done = subprocess.run(
        ["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "may need 2.3 GB of memory, " in done.stderr
    assert "lower path.rate" in done.stderr


def machine(root: Path, cgroup: str, mount: str) -> Path:
    """Makes `proc` and `sys` of a machine with 8 GB free."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n")
    (root / "proc/self/cgroup").write_text(cgroup)
    (root / "proc/self/mountinfo").write_text(mount)
    return root


def group(folder: Path, limit: tuple[str, str], use: str, stat: str) -> None:
    """Makes the folder of a control group that uses 300 MB; the kernel gives 100 MB of them back."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / limit[0]).write_text(limit[1])
    (folder / use).write_text("300000000")
    (folder / "memory.stat").write_text(f"anon 200000000\n{stat} 100000000\n")


@pytest.mark.parametrize(
    ("inner", "outer", "free"),
    [
        ("max", "max", 8000000 * 1024),
        ("1000000000", "max", 800_000_000),
        ("max", "1000000000", 800_000_000),
        ("5000000000", "2000000000", 1_800_000_000),
        ("100000000", "max", 0),
    ],
)
def test_limits_of_control_groups_and_of_those_around_them(
    inner: str, outer: str, free: int, tmp_path: Path
) -> None:
    mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
    root = machine(tmp_path, "0::/a/b\n", mount)
    for folder, limit in (("a/b", inner), ("a", outer), ("", "max")):
        group(
            root / "sys/fs/cgroup" / folder,
            ("memory.max", limit),
            "memory.current",
            "inactive_file",
        )
    assert available(root) == free


@pytest.mark.parametrize("inside", ["/", "/docker/x"])
def test_version_1_of_control_groups_and_a_container_s_view(inside: str, tmp_path: Path) -> None:
    mount = (
        "29 23 0:25 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        f"30 23 0:26 {inside} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    )
    root = machine(tmp_path, "5:cpu:/\n4:memory:/docker/x\n0::/\n", mount)
    folder = root / "sys/fs/cgroup/memory" / ("docker/x" if inside == "/" else "")
    limits = ("memory.limit_in_bytes", "1000000000")
    group(folder, limits, "memory.usage_in_bytes", "total_inactive_file")
    assert available(root) == 800_000_000
    (folder / "memory.limit_in_bytes").write_text("9223372036854771712")
    assert available(root) == 8000000 * 1024
