"""`fullpipe fleet sample`: records a live host's TCP connections in files that `ingest` reads."""

from __future__ import annotations

import gzip
import ipaddress
import shlex
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.errors import refusal, stoppable
from fullpipe.results import disk
from fullpipe.study.store import alone

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Address, IPv6Address

# Sampling uses at most this share of one core. With very many connections, the interval between
# samples is longer than requested.
MOST_CPU = 0.05
_COUNTERS = ("/proc/net/snmp", "/proc/net/netstat", "/proc/stat")
_KINDS = ("ss", "snmp")
_STAMP = "%Y%m%dT%H%M%SZ"
_SYNC_S = 60.0
"""Seconds of samples that a loss of power may cost."""
_COUNTED = (b"Tcp:", b"TcpExt:", b"cpu ")


@dataclass(frozen=True)
class Filter:
    """Selection of connections, as given by the options."""

    states: Sequence[str] = ()
    sport: str | None = None
    dport: str | None = None
    src: str | None = None
    dst: str | None = None

    def sampler(self) -> _core.FleetSampler:
        """Opens a sampler of the selected connections.

        Raises:
            ScenarioError: When an option is wrong.
            OSError: When the kernel has no sock_diag.
        """
        if not hasattr(_core, "FleetSampler"):
            raise refusal("needs Linux", "sample on a Linux host", place="fleet sample")
        sport, dport = _ports("--sport", self.sport), _ports("--dport", self.dport)
        src, dst = _net("--src", self.src), _net("--dst", self.dst)
        try:
            return _core.FleetSampler(self.states, sport, dport, src, dst)
        except ValueError as error:
            raise refusal(
                "no such state",
                f"the kernel's states are {error}",
                place=f"--state {','.join(self.states)}",
            ) from None


def _ports(option: str, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, _, last = text.partition("-")
    try:
        ports = int(first), int(last or first)
    except ValueError:
        ports = (-1, -1)
    if not 0 <= ports[0] <= ports[1] <= 65535:
        raise refusal(
            "neither a port nor a range", "write 443 or 8000-8999", place=f"{option} {text}"
        )
    return ports


def _net(option: str, text: str | None) -> tuple[IPv4Address | IPv6Address, int] | None:
    if text is None:
        return None
    try:
        net = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise refusal(
            "not a network",
            "write 10.0.0.0/8, 2001:db8::/32 or an address",
            place=f"{option} {text}",
        ) from None
    return net.network_address, net.prefixlen


def sample(
    out: Path,
    chosen: Filter,
    *,
    interval_s: float,
    rotate_s: float,
    keep: int | None,
    count: int | None,
) -> None:
    """Writes a listing every `interval_s`, until it is interrupted or has written `count` of them.

    Raises:
        ScenarioError: When an option is wrong.
        BlockingIOError: When another process samples into the directory.
        OSError: When something can't be written, or the kernel refuses.
    """
    sampler = chosen.sampler()
    disk.make_folder(out)
    samples, slow = 0, False
    spent_s = cost_s = 0.0
    begun = last = time.monotonic()
    with (
        stoppable(lambda: f"after {samples:,} samples", f"the samples are in {out}"),
        alone(out),
        Files(out, rotate_s, keep) as files,
    ):
        # A process that was killed left these files; they can be read up to the point where they end.
        for leftover in out.glob("*.part"):
            disk.place(leftover, leftover.with_suffix(""))
        print(f"sampling every {interval_s:g} s into {out}; Ctrl-C stops", file=sys.stderr)
        while count is None or samples < count:
            if samples:
                due = max(interval_s, cost_s / MOST_CPU)
                time.sleep(max(0.0, last + due - time.monotonic()))
            last, before = time.monotonic(), time.process_time()
            now = disk.now()
            text, sockets, interrupted = sampler.list()
            head = f"@{now:.6f}\n" + (
                "# the kernel's table changed meanwhile\n" if interrupted else ""
            )
            files.write(now, head.encode() + text, _counters(now))
            cost_s = time.process_time() - before
            spent_s += cost_s
            samples += 1
            if cost_s / MOST_CPU > interval_s and not slow:
                slow = True
                print(
                    f"a sample of {sockets:,} connections takes {cost_s:.2f} s of processor time: sampling about every "
                    f"{cost_s / MOST_CPU:.1f} s, to use at most {MOST_CPU:.0%} of a core",
                    file=sys.stderr,
                )
    share = spent_s / max(time.monotonic() - begun, 1e-9)
    print(
        f"{samples:,} samples in {out}, {spent_s:.2f} s of processor time, {share:.2%} of a core",
        file=sys.stderr,
    )
    if samples:
        print(
            f"to read them: fullpipe fleet ingest --arm {shlex.quote(f'ARM={out}/*.ss.gz')} "
            f"--snmp {shlex.quote(f'ARM={out}/*.snmp.gz')} --out fleet",
            file=sys.stderr,
        )


def _counters(now: float) -> bytes:
    """Returns the host's TCP counters and processor times."""
    lines = [f"@{now:.6f}".encode()]
    for file in _COUNTERS:
        try:
            lines += [
                line for line in Path(file).read_bytes().splitlines() if line.startswith(_COUNTED)
            ]
        except OSError:  # some systems don't permit reading all of them
            continue
    return b"\n".join(lines) + b"\n"


class Files:
    """The files that are being written; `.part` at the end of a name marks an incomplete file."""

    def __init__(self, out: Path, rotate_s: float, keep: int | None) -> None:
        self._out, self._rotate_s, self._keep = out, rotate_s, keep
        self._open: list[gzip.GzipFile] = []
        self._files: list[disk.NewFile] = []
        self._paths: list[Path] = []
        self._from = self._until = 0.0
        self._synced = 0.0

    def write(self, now: float, *texts: bytes) -> None:
        """Adds a sample to the file of sockets and to the file of counters."""
        if not self._from <= now < self._until:  # the clock may also have gone back
            self._close()
            # All hosts rotate their files at the same times.
            self._from, self._until = now, (now // self._rotate_s + 1) * self._rotate_s
            stamp = f"{datetime.fromtimestamp(self._later(now), UTC):{_STAMP}}"
            paths = [self._out / f"{stamp}.{kind}.gz.part" for kind in _KINDS]
            self._files, self._paths = [disk.NewFile(path) for path in paths], paths
            # Level 1 is four times as fast as the default level; files are a fifth larger.
            self._open = [
                gzip.GzipFile("", "wb", compresslevel=1, fileobj=file) for file in self._files
            ]
        for file, text in zip(self._open, texts, strict=True):
            file.write(text)
            file.flush()  # a killed process loses no sample
        self._from = now
        if time.monotonic() - self._synced >= _SYNC_S:
            for kept in self._files:
                kept.sync(name=True)
            self._synced = time.monotonic()

    def _later(self, now: float) -> float:
        """Returns the time for the names of new files: after those that are there, so that names keep their order."""
        there = [file.name.partition(".")[0] for file in self._out.glob("*Z.*")]
        times = []
        for stamp in there:
            with suppress(ValueError):
                times.append(datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC).timestamp())
        return max([now, *(each + 1 for each in times)])

    def _close(self) -> None:
        with ExitStack() as closing:
            # In the reverse order. After an error there may be fewer open files.
            for path in self._paths:
                closing.callback(disk.place, path, path.with_suffix(""))
            for file in (*self._files, *self._open):
                closing.callback(file.close)
            self._open, self._files, self._paths = [], [], []
        if self._keep is not None:
            for kind in _KINDS:
                for old in sorted(self._out.glob(f"*Z.{kind}.gz"))[: -self._keep]:
                    disk.remove(old)

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
