"""`fullpipe doctor`: the runners that work on this machine, and the step that fixes each problem.

The command changes nothing, and needs no root.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from fullpipe import _core, wings
from fullpipe._core import __version__
from fullpipe.runners import every
from fullpipe.runs.view.table import short
from fullpipe.study.engine import cores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from fullpipe.runners import Runner

State = Literal["ok", "missing", "unknown"]

_PROC = Path("/proc/sys/net")
_WANTED = ("cubic", "reno", "bbr", "dctcp")
"""Algorithms of the kernel that have a counterpart in fullpipe to compare with."""
_WINDOW = 16 * 2**20
"""Bytes in flight and queued at 500 Mbit/s, 100 ms and 1 BDP of buffer, with a margin."""
_SLEEPS, _SLEEP_S, _LATE_S = 100, 1e-3, 500e-6


class Finding(NamedTuple):
    """A runner, or a property of the machine that runners need.

    Attributes:
        what: Its name.
        state: Whether it is available.
        found: The result of the check, in words.
        fix: The step that fixes the problem; empty without a problem or a fix.
        root: Whether the fix needs root.
    """

    what: str
    state: State
    found: str
    fix: str = ""
    root: bool = False


def runners() -> list[Finding]:
    """Checks each runner."""
    return [_runner(each) for each in every()]


def _runner(runner: Runner) -> Finding:
    if why := runner.missing():
        return Finding(runner.name, "missing", why.problem, why.fix, why.root)
    without: str | None = getattr(runner, "namespaces", None)
    if without is not None:
        for each in (_namespaces(), _tun()):
            if each.state == "missing":
                found = f"{without}{each.what}: {each.found}"
                return Finding(runner.name, "missing", found, each.fix, each.root)
    return Finding(runner.name, "ok", runner.about)


def machine() -> list[Finding]:
    """Checks the properties that runs on the machine's clock and kernel need."""
    if platform.system() != "Linux":
        return [
            Finding(
                "kernel",
                "missing",
                f"{platform.system()}: only the simulator runs here",
                "use Linux",
            )
        ]
    return [
        Finding("kernel", "ok", platform.release()),
        *_algorithms(),
        _namespaces(),
        *_confinement(),
        _tun(),
        _processors(),
        _clock(),
        _timers(),
        *_buffers(),
    ]


def _algorithms() -> Iterator[Finding]:
    offered = _words(_PROC / "ipv4/tcp_available_congestion_control")
    if not offered:
        yield Finding("TCP algorithms", "unknown", "the kernel does not report it")
        return
    yield Finding("TCP algorithms", "ok", ", ".join(sorted(offered)))
    loadable = _loadable() - {*offered}
    for name in _WANTED:
        if name in offered:
            continue
        if name in loadable:
            yield Finding(
                f"TCP {name}", "missing", "module not loaded", f"modprobe tcp_{name}", root=True
            )
        else:
            fix = "use a kernel built with it, or --on uml"
            yield Finding(f"TCP {name}", "missing", "not in this kernel", fix)
    if more := sorted(loadable - {*_WANTED}):
        yield Finding(
            "more TCP",
            "ok",
            f"modules not loaded: {', '.join(more)}",
            "modprobe tcp_NAME",
            root=True,
        )
    allowed = _words(_PROC / "ipv4/tcp_allowed_congestion_control")
    barred = [name for name in offered if name not in allowed]
    if allowed and barred:
        may = f"programs themselves may choose {', '.join(sorted(allowed))}"
        yield Finding(
            "TCP of programs", "ok", f"{may}; `fullpipe link --cc` gives them any of these"
        )
    if os.geteuid() != 0 and barred:
        line = f'sysctl -w net.ipv4.tcp_allowed_congestion_control="{" ".join(offered)}"'
        yield Finding(
            "TCP for users", "missing", f"only root may use {', '.join(barred)}", line, root=True
        )


def _loadable() -> set[str]:
    """Returns the algorithms that this kernel has as modules."""
    folder = Path("/lib/modules") / platform.release() / "kernel/net/ipv4"
    names = (re.fullmatch(r"tcp_(\w+)\.ko(\.\w+)?", file.name) for file in folder.glob("tcp_*.ko*"))
    return {found[1] for found in names if found and found[1] != "diag"}


def _namespaces() -> Finding:
    """Makes namespaces as a run does, in processes that end at once."""
    if refused := _core.namespaces_refused():
        problem, fix = refused
        return Finding("namespaces", "missing", problem, fix)
    return Finding("namespaces", "ok", "this user may make network namespaces")


def _confinement() -> Iterator[Finding]:
    """Confines a process as `fullpipe link` does its programs, where it can have namespaces."""
    if _core.namespaces_refused():
        return
    if refused := _core.confinement_refused():
        problem, fix = refused
        yield Finding("confinement", "missing", problem, fix)
    else:
        yield Finding("confinement", "ok", "programs of `fullpipe link` can be confined")


def _tun() -> Finding:
    device = Path("/dev/net/tun")
    try:
        os.close(os.open(device, os.O_RDWR))
    except FileNotFoundError:
        fix = "modprobe tun; in a container: --device /dev/net/tun"
        return Finding("/dev/net/tun", "missing", "does not exist", fix, root=True)
    except OSError as error:
        if isinstance(error, PermissionError):
            return Finding(
                "/dev/net/tun",
                "missing",
                "only root can open it",
                "chmod 666 /dev/net/tun",
                root=True,
            )
        return Finding("/dev/net/tun", "missing", f"{error.strerror}", "modprobe tun", root=True)
    return Finding("/dev/net/tun", "ok", "can be opened")


def _processors() -> Finding:
    count = cores()
    load = os.getloadavg()[0]
    found = f"{count}, load {load:.1f}"
    if count < 2:
        return Finding(
            "processors",
            "missing",
            found,
            "use a machine with two: one for the path, one for the ends of the flows",
        )
    if load > count / 2:
        return Finding(
            "processors",
            "missing",
            found,
            "stop other programs: they disturb the measurements",
        )
    return Finding("processors", "ok", found)


def _clock() -> Finding:
    folder = Path("/sys/devices/system/clocksource/clocksource0")
    current = next(iter(_words(folder / "current_clocksource")), "")
    others = _words(folder / "available_clocksource")
    if not current:
        return Finding("clock", "unknown", "the kernel does not report it")
    if current in ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"):
        return Finding("clock", "ok", current)
    found = f"{current}, which is slow to read"
    if "tsc" in others:
        return Finding(
            "clock", "missing", found, f"echo tsc > {folder}/current_clocksource", root=True
        )
    return Finding("clock", "missing", found, "use another machine: this one has no faster clock")


def _timers() -> Finding:
    """Measures the lateness of sleeps, by which events of real-time runners are late."""
    hz = _hz()
    about = f"HZ {hz}, " if hz else ""
    if time.clock_getres(time.CLOCK_MONOTONIC) > 1e-6:
        return Finding(
            "timers",
            "missing",
            f"{about}no high-resolution timers",
            "boot a kernel with CONFIG_HIGH_RES_TIMERS",
        )
    late = []
    for _ in range(_SLEEPS):
        start = time.monotonic()
        time.sleep(_SLEEP_S)
        late.append(time.monotonic() - start - _SLEEP_S)
    late.sort()
    middle, most = late[_SLEEPS // 2], late[_SLEEPS * 99 // 100]
    found = f"{about}sleeps end {middle * 1e6:.0f} µs late, p99 {most * 1e6:.0f} µs"
    if most > _LATE_S:
        return Finding(
            "timers", "missing", found, "stop other programs, or use a machine without them"
        )
    return Finding("timers", "ok", found)


def _hz() -> str | None:
    """Returns the kernel's HZ; None if its configuration can't be read."""
    try:
        text = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode()
    except OSError:
        try:
            text = Path(f"/boot/config-{platform.release()}").read_text(encoding="utf-8")
        except OSError:
            return None
    found = re.search(r"^CONFIG_HZ=(\d+)$", text, re.MULTILINE)
    return found[1] if found else None


def _buffers() -> Iterator[Finding]:
    for what, name in (("receive buffer", "tcp_rmem"), ("send buffer", "tcp_wmem")):
        limits = _words(_PROC / "ipv4" / name)
        if len(limits) != 3:
            yield Finding(what, "unknown", "the kernel does not report it")
            continue
        most = int(limits[2])
        found = f"at most {short(most / 2**20)} MiB"
        if most >= _WINDOW:
            yield Finding(what, "ok", found)
        else:
            wanted = f"{limits[0]} {limits[1]} {_WINDOW}"
            reach = f"{found}: paths with a large BDP need more"
            yield Finding(
                what, "missing", reach, f'sysctl -w net.ipv4.{name}="{wanted}"', root=True
            )


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split()
    except OSError:
        return []


def records() -> str:
    """Returns all findings as a JSON object."""
    return json.dumps(
        {
            "version": __version__,
            "runners": [each._asdict() for each in runners()],
            "machine": [each._asdict() for each in machine()],
            **{name: [each._asdict() for each in found] for name, _, found in wings.findings()},
        }
    )


def show(console: Console) -> None:
    """Prints a line per finding, and below it the step that fixes the problem."""
    from rich.table import Table
    from rich.text import Text

    styles: dict[State, tuple[str, str]] = {
        "ok": ("✓", "green"),
        "missing": ("✗", "red"),
        "unknown": ("?", "yellow"),
    }
    for title, findings in (
        ("Runners, for --on", runners()),
        ("This machine, for runners with real stacks", machine()),
        *((title, found) for _, title, found in wings.findings()),
    ):
        console.print(title, style="bold")
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for each in findings:
            mark, style = styles[each.state]
            words = Text(each.found)
            if each.fix:
                how = "as root" if each.root else "fix"
                words.append(
                    f"\n{how}: {each.fix}", style="yellow" if each.state == "missing" else "dim"
                )
            table.add_row(Text(f" {mark}", style=style), Text(each.what), words)
        console.print(table)
        console.print("")
