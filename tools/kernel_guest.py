"""Measures BPF algorithms in a stock kernel of Debian, on a clock that no host disturbs: `make kernel-guest`.

QEMU runs the guest without KVM and with `-icount shift=0,sleep=off`: the guest's clock counts its instructions, 1 ns
each, and skips idle time. So load on this machine changes nothing, and 30 s take some minutes. The kernel is that of
Debian's unstable, since it has accurate ECN. Parts:

- cells: cells of the kernel oracle (published/kernel-2026.toml) on its topology, next to the published figures and the
  simulator's.
- ecn: Prague on accurate ECN, and BBRv3 with `ecn = true` on classic ECN, behind a queue that marks.
- cost: instructions of the algorithms for an ACK, next to those of the kernel's own.
- loopback: throughput over the loopback, next to the kernel's own, and with rows of the trace.

The exit code is 1 if a part fails; a cell beyond its tolerance is printed, no failure.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from initramfs import copy, packed
from kernel_qemu import CACHE

from fullpipe import _core
from fullpipe.stats import interval
from fullpipe.study.reproduce.measures import states
from fullpipe.study.reproduce.published import load
from fullpipe.study.reproduce.study import study
from fullpipe.wings.bpf.program import ENDING, objects, program

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ROOT = Path(__file__).resolve().parents[1]
_SCRIPTS = Path(__file__).with_name("kernel_guest")
_PUBLISHED = _ROOT / "published" / "kernel-2026.toml"
_SUITE = "http://deb.debian.org/debian sid main"
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_PACKAGES = r"linux-(binary-unsigned|modules)-([\d.]+)\+deb\d+-cloud-amd64"
_MODULES = ["veth", "sch_netem", "sch_tbf", "sch_fq", "sch_fq_codel", "tcp_bbr"]
_TOOLS = ("ip", "tc", "ethtool")
_END = "end of the guest"
_BOOT_S = 3600
_SEEDS = 5


class Cell(NamedTuple):
    """A cell: its name in the published file, the object to load, the flows' algorithms, and netem's numbers."""

    name: str
    load: str
    algorithms: str
    rate: int
    delay: int
    limit: int
    seconds: int
    loss: str = "0"

    def line(self) -> str:
        """Returns its line for the guest; names have no spaces there."""
        return " ".join(map(str, self))


CELLS = (
    Cell("b_bbr3", "bbr3", "fp_bbr3", 20, 20, 400, 30),
    Cell("d0_bbr3", "bbr3", "fp_bbr3", 40, 40, 200, 30),
    Cell("b_bbr2", "bbr2", "fp_bbr2", 20, 20, 400, 30),
    Cell("b_reno", "newreno", "fp_newreno", 20, 20, 400, 30),
    Cell("gb_bbr3bbr3", "bbr3", "fp_bbr3,fp_bbr3", 20, 20, 400, 60),
    Cell("gb_bbr3cubic", "bbr3", "fp_bbr3,cubic", 20, 20, 400, 60),
    Cell("k_loss0.5_bbr3", "bbr3", "fp_bbr3", 40, 40, 200, 30, "0.5"),
)


def kernel() -> Path:
    """Downloads and unpacks the kernel's packages; returns the folder with the image and the modules."""
    folder = CACHE / "unstable"
    if not folder.is_dir():
        aside = (CACHE / "unstable.part").resolve()
        shutil.rmtree(aside, ignore_errors=True)
        for name in ("lists/partial", "cache/archives/partial", "files"):
            (aside / name).mkdir(parents=True)
        (aside / "sources.list").write_text(f"deb [signed-by={_KEYS}] {_SUITE}\n")
        (aside / "apt.conf").write_text(
            f'Dir::State::lists "{aside}/lists";\nDir::Cache "{aside}/cache";\n'
            f'Dir::Etc::sourcelist "{aside}/sources.list";\nDir::Etc::sourceparts "/dev/null";\n'
            'Acquire::Languages "none";\nAPT::Sandbox::User "root";\n'
        )
        with_them = {
            "env": {"APT_CONFIG": str(aside / "apt.conf"), "PATH": "/usr/sbin:/usr/bin:/bin"}
        }
        subprocess.run(["apt-get", "-qq", "update"], check=True, **with_them)  # type: ignore[call-overload]
        listed = subprocess.run(  # type: ignore[call-overload]
            ["apt-cache", "pkgnames", "linux-"],
            capture_output=True,
            text=True,
            check=True,
            **with_them,
        ).stdout
        names = [name for name in listed.split() if re.fullmatch(_PACKAGES, name)]
        subprocess.run(  # type: ignore[call-overload]
            ["apt-get", "-qq", "download", *names], cwd=aside / "files", check=True, **with_them
        )
        for file in (aside / "files").glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", file, aside], check=True)
        aside.rename(folder)
    return max((folder / "usr/lib/modules").iterdir())


def initial(part: str, plan: str, modules: Path, folder: Path) -> Path:
    """Makes the initial file system of a part."""
    root = folder / "root"
    for name in ("bin", "i", "proc", "sys", "dev", "run", "tmp", "var", "modules", "objects"):
        (root / name).mkdir(parents=True)
    programs = {"/fullpipe-kernel": program(), "/bin/busybox": _found("busybox")}
    programs |= {f"/i/{name}": _found(name) for name in _TOOLS}
    if part == "cost":
        programs["/bin/timer"] = _timer(folder, root / "objects")
    for to, file in programs.items():
        copy(Path(file), root, to[1:])
    for each in objects().values():
        shutil.copy(each.file, root / "objects")
    for name in _MODULES:
        for file in modules.rglob(f"{name}.ko.xz"):
            text = subprocess.run(["xz", "-dc", file], capture_output=True, check=True).stdout
            (root / f"modules/{name}.ko").write_bytes(text)
    shutil.copy(_SCRIPTS / "common.sh", root / "init")
    (root / "init").chmod(0o755)
    shutil.copy(_SCRIPTS / f"{part}.sh", root / "part.sh")
    (root / "plan").write_text(plan)
    image = folder / "initial.gz"
    image.write_bytes(packed(root, _found("busybox")))
    return image


def _found(name: str) -> Path:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        raise SystemExit(
            f"error: {name} is not installed\n"
            "  fix: apt-get install busybox-static ethtool iproute2 libbpf-dev qemu-system-x86 xz-utils"
        )
    return Path(found)


def _timer(folder: Path, to: Path) -> Path:
    """Builds the measuring program."""
    build = ["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3"]
    subprocess.run(
        [*build, "-c", _SCRIPTS / "timer.bpf.c", "-o", to / f"timer{ENDING}"], check=True
    )
    subprocess.run(["cc", "-O2", _SCRIPTS / "timer.c", "-o", folder / "timer", "-lbpf"], check=True)
    return folder / "timer"


def boot(part: str, plan: str = "") -> list[str]:
    """Runs a part; returns the lines that the guest printed."""
    modules = kernel()
    image = next(
        file for name in ("vmlinuz", "vmlinuz.unsigned") if (file := modules / name).exists()
    )
    with tempfile.TemporaryDirectory() as folder:
        files = initial(part, plan, modules, Path(folder))
        words = [
            "qemu-system-x86_64",
            "-accel",
            "tcg",
            "-icount",
            "shift=0,sleep=off",
            "-cpu",
            "max",
        ]
        words += ["-m", "1024", "-no-reboot", "-nographic", "-kernel", str(image)]
        words += ["-initrd", str(files), "-append", "console=ttyS0 quiet panic=-1"]
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_BOOT_S,
            check=False,
        )
    said = done.stdout
    (CACHE / f"{part}.txt").write_text(said)
    lines = [line.strip() for line in said[max(said.find("kernel "), 0) :].splitlines()]
    if _END not in lines:
        raise SystemExit("\n".join([*lines[-20:], f"error: the guest ended early in {part}"]))
    return lines


class _States:
    """The states of a flow, as measures read them."""

    def __init__(self, changes: Iterable[tuple[float, str, str]]) -> None:
        self.metrics = {"flows": [{"name": "flow"}]}
        self._rows = [{"time": at, "flow": "flow", "from": a, "to": b} for at, a, b in changes]

    def trace(self, _table: str) -> pl.DataFrame:
        """Returns the transitions."""
        schema = {"time": pl.Float64, "flow": pl.String, "from": pl.String, "to": pl.String}
        return pl.DataFrame(self._rows, schema=schema)


def measured(cell: Cell, lines: Sequence[str]) -> dict[tuple[str, int], float]:
    """Returns the measures of a cell, by name and flow."""
    every = (line.split() for line in lines)
    words = [each for each in every if each[1:2] == [cell.name] and len(each) > 2]
    labels = _labels(cell.load)
    found: dict[tuple[str, int], float] = {}
    changes: dict[int, list[tuple[float, str, str]]] = defaultdict(list)
    for kind, _, port, *rest in words:
        flow = int(port) - 5001
        if kind == "STATE":
            # A connection's first row is from the end of its handshake.
            at = float(rest[0]) + cell.delay / 1e3
            changes[flow].append((at, labels[int(rest[1])], labels[int(rest[2])]))
        elif kind == "RTT":
            for name, value in zip(("mean", "p50", "p95", "p99"), rest[1:], strict=True):
                found[f"rtt_{name}_ms", flow] = float(value) / 1e3
        elif kind == "FLOW":
            found["goodput_mbps", flow], found["retransmits", flow] = map(float, rest)
        elif kind == "BYTES":
            found["whole_mbps", flow] = float(rest[0]) * 8 / float(rest[1]) / 1e6
    # Only rows of the loaded algorithm say how a flow fared after 2 s.
    for flow in {flow for name, flow in found if name == "whole_mbps"}:
        found.setdefault(("goodput_mbps", flow), found["whole_mbps", flow])
        for measure in states.MEASURES:
            found[measure.__name__, flow] = measure(_States(changes[flow]), 0)  # type: ignore[arg-type]
    rates = [value for (name, _), value in sorted(found.items()) if name == "goodput_mbps"]
    found["goodput_sum_mbps", 0] = sum(rates)
    found["goodput_share", 0] = rates[0] / sum(rates)
    return found


def _labels(algorithm: str) -> Sequence[str]:
    of = next(each for each in _core.algorithms() if each["name"] == algorithm)
    return next(field["labels"] for field in of["fields"] if field["name"] == "state")


def cells(chosen: Sequence[Cell]) -> None:
    """Prints the cells: published, simulated, and in the guest."""
    lines = boot("cells", "".join(f"{cell.line()}\n" for cell in chosen))
    print(
        f"{lines[0]}\n\n| | | Linux, published | accepted | simulator | BPF | |\n|---|---|--:|--:|--:|--:|---|"
    )
    met = judged = 0
    for cell in chosen:
        ours = measured(cell, lines)
        names = [cell.name, f"{cell.name} phases"]
        published = load(_PUBLISHED)
        names = [name for name in names if any(case.name == name for case in published.cases)]
        for outcome in study(published.only(names).with_seeds(_SEEDS)).outcomes:
            for each in outcome.cells:
                metric = each.subject.metric
                value = ours.get((metric.measure, metric.flow), float("nan"))
                if value != value:
                    continue
                low, high = each.within
                inside = low <= value <= high
                judged, met = judged + 1, met + inside
                print(
                    f"| `{outcome.case.name}` | {each.metric} | {each.subject.published:g} | {low:.4g} – {high:.4g} "
                    f"| {each.ours.value:.4g} | {value:.4g} | {'met' if inside else 'missed'} |"
                )
    print(f"\n{met} of {judged} met")


def ecn() -> bool:
    """Prints what the guest said of ECN; returns whether the marks that arrived are those that the sender counts."""
    found: dict[str, dict[str, int]] = {}
    for line in boot("ecn"):
        _, name, key, rest = [*line.split(maxsplit=3), "", "", "", ""][:4]
        if line.startswith("ECN"):
            numbers = found.setdefault(name, {})
            if key == "row":
                numbers |= {key: int(value) for key, value in re.findall(r'"(\w+)":(\d+)', rest)}
            elif key == "qdisc":
                numbers |= {
                    key: int(value) for key, value in re.findall(r"(dropped) (\d+)", rest)[:1]
                }
            else:
                numbers[key] = int(rest)
    print(
        "| | tcp_ecn | Mbit/s | ECT(0) | ECT(1) | CE | CE, as the sender counts | drops | RTT, ms |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, of in found.items():
        print(
            f"| {name.partition('-')[0]} | {of['sysctl']} | {of['bytes'] * 8 / 1e7:.1f} | {of['InECT0Pkts']} "
            f"| {of['InECT1Pkts']} | {of['InCEPkts']} | {of['delivered_ce']} "
            f"| {of['dropped']} | {of['srtt'] / 1e3:.1f} |"
        )
    prague = found["prague-3"]
    exact = abs(prague["delivered_ce"] - prague["InCEPkts"]) <= 0.02 * prague["InCEPkts"]
    alone = prague["InECT1Pkts"] > 0 and prague["InECT0Pkts"] == 0
    return exact and alone and all(of["delivered_ce"] > 0 for of in found.values())


def cost() -> bool:
    """Prints the instructions for an ACK; returns whether each was measured."""
    rows = [line.split()[1:] for line in boot("cost") if line.startswith("COST")]
    medians = {(label, which): int(rest[2]) for label, which, *rest in rows}
    upper = {(label, which): int(rest[3]) for label, which, *rest in rows}
    empty = medians["nothing", "control"]
    print("| | its function, median (upper quartile) | tcp_ack with it |\n|---|--:|--:|")
    for label in dict.fromkeys(label for label, *_ in rows):
        if label != "nothing":
            # Three quarters of the calls of tcp_ack are at most as long: the others are the receiver's.
            own = f"{medians[label, 'control'] - empty} ({upper[label, 'control'] - empty})"
            print(f"| {label} | {own} | {upper[label, 'tcp_ack']} |")
    return bool(rows) and all(medians.values())


def loopback() -> bool:
    """Prints throughputs over the loopback over those of `bbr`, and with rows of the trace over those without."""
    lines = boot("loopback")
    got: dict[str, list[int]] = defaultdict(list)
    for words in (line.split() for line in lines if line.startswith("LOOPBACK")):
        got[words[1]].append(int(words[2]))
    print("| | Gbit a second of instructions | of bbr's |\n|---|--:|--:|")
    for name, values in got.items():
        base = got["trace-0" if name.startswith("trace") else "bbr"]
        ratio = interval.mean([a / b for a, b in zip(values, base, strict=True)])
        print(
            f"| {name} | {sum(values) * 8 / len(values) / 1e9:.3f} "
            f"| {100 * ratio.value:.2f} % [{100 * ratio.low:.2f}, {100 * ratio.high:.2f}] |"
        )
    print("\n".join(line for line in lines if line.startswith("ROWS")))
    return len(got) > 2


def main() -> int:
    """Runs the parts."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument(
        "parts", nargs="*", default=["ecn", "cost", "loopback", "cells"], help="default: all"
    )
    asked.add_argument("--cell", action="append", help="cell; repeatable (default: all)")
    given = asked.parse_args()
    good = True
    for part in given.parts:
        print(f"== {part}", flush=True)
        if part == "cells":
            cells([cell for cell in CELLS if cell.name in (given.cell or [c.name for c in CELLS])])
        else:
            good &= {"ecn": ecn, "cost": cost, "loopback": loopback}[part]()
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
