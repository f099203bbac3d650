"""Requirements of BPF algorithms: the kernel, its settings, and the capabilities of this process."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_BTF = Path("/sys/kernel/btf/vmlinux")
_JIT = Path("/proc/sys/net/core/bpf_jit_enable")
_OF_FIRST = Path("/proc/sys/net/core/netdev_max_backlog")
"""Another setting that only the machine's first network namespace has."""
_STATUS = Path("/proc/self/status")
_USERS = Path("/proc/self/uid_map")
_EVERYONE = ["0", "0", "4294967295"]
"""The only line of the machine's own user namespace."""
_LINKS = (6, 4)
"""The first Linux that unloads an algorithm with its holder."""
_LINK = b"\0bpf_struct_ops_link\0"
"""The type of a link of struct_ops, which does that, among the names of BTF."""
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_PERFMON": 38, "CAP_BPF": 39}
"""Capabilities with their bits, from linux/capability.h."""


class Need(NamedTuple):
    """A requirement.

    Attributes:
        what: Its name.
        met: Whether it is met; None if this process may not read it.
        found: The result of the check, in words.
        fix: The step that meets it; empty if it is met.
        root: Whether the fix needs root.
    """

    what: str
    met: bool | None
    found: str
    fix: str = ""
    root: bool = False


def needs() -> list[Need]:
    """Checks every requirement."""
    if sys.platform != "linux":
        return [Need("BPF", False, f"{platform.system()} has none", "use Linux")]
    return [_version(), _btf(), _jit(), *_capabilities()]


def _version() -> Need:
    release = platform.release()
    numbers = re.match(r"(\d+)\.(\d+)", release)
    if _BTF.exists():
        old = _LINK not in _BTF.read_bytes()
    else:
        old = numbers is not None and (int(numbers[1]), int(numbers[2])) < _LINKS
    if old:
        least = ".".join(map(str, _LINKS))
        found = f"Linux {release} can't unload an algorithm with the process that loaded it"
        return Need("BPF links", False, found, f"boot Linux {least} or newer")
    return Need("BPF links", True, f"Linux {release} unloads an algorithm with its process")


def _btf() -> Need:
    if _BTF.exists():
        return Need("BTF", True, str(_BTF))
    fix = "boot a kernel built with CONFIG_DEBUG_INFO_BTF, as distributions' are"
    return Need("BTF", False, f"no {_BTF}: the kernel does not describe its types", fix)


def _jit() -> Need:
    try:
        enabled = _JIT.read_text(encoding="ascii").strip() != "0"
    except PermissionError:
        return Need("BPF JIT", None, "only root may read its setting")
    except OSError:
        if not _OF_FIRST.exists():
            return Need("BPF JIT", None, "its setting is in the first network namespace")
        fix = "boot a kernel built with CONFIG_BPF_JIT"
        return Need("BPF JIT", False, "this kernel has none", fix)
    if enabled:
        return Need("BPF JIT", True, "on")
    return Need("BPF JIT", False, "off", "sysctl -w net.core.bpf_jit_enable=1", root=True)


def _capabilities() -> Iterator[Need]:
    own = _USERS.read_text(encoding="ascii").split() != _EVERYONE
    found = re.search(r"^CapEff:\s*(\w+)$", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    bits = int(found[1], 16) if found else 0
    for name, bit in _CAPABILITIES.items():
        if own:
            fix = "run it outside of the container's or sandbox's user namespace, as root"
            yield Need(name, False, "not the machine's: this is another user namespace", fix)
        elif bits >> bit & 1:
            yield Need(name, True, "this process has it")
        elif os.geteuid() == 0:
            fix = f"give it to the container: --cap-add {name.removeprefix('CAP_')}"
            yield Need(name, False, "this process of root does not have it", fix)
        else:
            yield Need(name, False, "this process does not have it", "run it with sudo")


def unmet() -> str | None:
    """Returns the requirements that are not met, with their fixes; None if nothing is missing."""
    missing = [each for each in needs() if each.met is False]
    if not missing:
        return None
    problem = "; ".join(f"{each.what}: {each.found}" for each in missing)
    fixes = "; ".join(
        dict.fromkeys(f"as root: {each.fix}" if each.root else each.fix for each in missing)
    )
    return f"{problem}\n  fix: {fixes}"
