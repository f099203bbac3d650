"""Loads every BPF algorithm on Debian's kernels, in QEMU without KVM: `make kernel-qemu`.

Each kernel boots with an initial file system of busybox, the program fullpipe-kernel and its objects. Its init loads
each algorithm as the default, moves data over the loopback with it, ends the holder by SIGKILL, and expects that the
algorithm and the default are gone. Linux before 6.4 has to refuse each with the fix. The exit code is 1 if a kernel
fails.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from initramfs import copy, packed

from fullpipe.wings.bpf.program import ENDING, objects, program

CACHE = Path("target/kernel-qemu")
_PATTERNS = {
    "6.1": r"linux-image-6\.1\.[\d-]+-cloud-amd64-unsigned",
    "6.12": r"linux-image-6\.12\.[\w.+-]+-cloud-amd64-unsigned",
}
"""Names of Debian's packages; the newest of each is used."""
_BOOT_S = 300
_MOST_LINES = 40
_DONE = "all algorithms are as expected"
_INIT = f"""#!/bin/busybox sh
export PATH=/bin
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2> /dev/null
ifconfig lo 127.0.0.1 up
echo "kernel $(uname -r)"
TCP=/proc/sys/net/ipv4
fail() {{ echo "FAILED: $1"; cat /errors; poweroff -f; }}
gone() {{ ! grep -q "$1" $TCP/tcp_available_congestion_control; }}
before=$(cat $TCP/tcp_congestion_control)
mkfifo /in
mkdir /www
head -c 4000000 /dev/zero > /www/file
for plan in /plans/*; do
    name=fp_$(basename $plan)
    /fullpipe-kernel hold "$(cat $plan)" < /in > /said 2> /errors & holder=$!
    exec 9> /in
    for wait in $(seq 100); do test -s /said -o -s /errors && break; sleep 0.1; done
    if grep -q EXPECTED /expected && grep -q "$(cat /refusal)" /errors; then
        echo "$name is refused: $(cat /errors)"
        exec 9>&-
        wait $holder
        continue
    fi
    test -s /said || fail "$name is not loaded"
    test "$(cat $TCP/tcp_congestion_control)" = $name || fail "$name is not the default"
    httpd -f -p 5001 -h /www & server=$!
    sleep 0.5
    wget -q -O /received http://127.0.0.1:5001/file
    size=$(wc -c < /received)
    test $size = 4000000 || fail "$name carried $size bytes"
    kill $server
    kill -9 $holder
    for wait in $(seq 100); do
        gone $name && test "$(cat $TCP/tcp_congestion_control)" = $before && break
        sleep 0.1
    done
    gone $name || fail "$name stays"
    test "$(cat $TCP/tcp_congestion_control)" = $before || fail "the default is $(cat $TCP/tcp_congestion_control)"
    exec 9>&-
    echo "$name carried $size bytes, and is gone"
done
dmesg | grep -E "WARNING|BUG|Oops" && fail "the kernel complains"
echo "{_DONE}"
poweroff -f
"""


def package(pattern: str) -> str:
    """Returns the newest package of a kernel.

    Raises:
        SystemExit: When this machine's package lists have none.
    """
    listed = subprocess.run(
        ["apt-cache", "pkgnames", "linux-image-"], capture_output=True, text=True, check=True
    )
    found = [name for name in listed.stdout.split() if re.fullmatch(pattern, name)]
    if not found:
        raise SystemExit(f"error: no package {pattern}\n  fix: apt-get update, on Debian 12")
    return max(found, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])


def kernel(name: str) -> Path:
    """Downloads and unpacks a kernel; returns its image."""
    folder = CACHE / name
    if not folder.is_dir():
        aside = CACHE / f"{name}.part"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        subprocess.run(["apt-get", "download", name], cwd=aside, check=True)
        (file,) = aside.glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", file, aside], check=True)
        file.unlink()
        aside.rename(folder)
    return next((folder / "boot").glob("vmlinuz-*"))


def initial(folder: Path, *, refused: bool) -> Path:
    """Makes the initial file system."""
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "proc", "sys", "dev", "plans", "objects"):
        (root / name).mkdir(parents=True)
    busybox = shutil.which("busybox")
    if busybox is None:
        raise SystemExit("error: busybox is not installed\n  fix: apt-get install busybox-static")
    shutil.copy(busybox, root / "bin/busybox")
    copy(program(), root, "fullpipe-kernel")
    for each in objects().values():
        stem = each.file.name.removesuffix(ENDING)
        if each.algorithm == "prague" and not refused:
            continue  # needs accurate ECN, which these kernels do not have
        shutil.copy(each.file, root / "objects")
        plan = {
            "algorithm": each.algorithm,
            "object": f"/objects/{each.file.name}",
            "parameters": {},
            "trace_us": 10_000,
            "default": True,
            "detach": False,
        }
        (root / "plans" / stem).write_text(json.dumps(plan))
    (root / "expected").write_text("EXPECTED" if refused else "")
    (root / "refusal").write_text("boot Linux 6.4 or newer")
    init = root / "init"
    init.write_text(_INIT)
    init.chmod(0o755)
    image = folder / "initial.gz"
    image.write_bytes(packed(root, busybox))
    return image


def boot(image: Path, files: Path) -> str:
    """Boots a kernel to its end; returns its output."""
    done = subprocess.run(
        [
            *("qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "1024", "-no-reboot"),
            *("-nographic", "-kernel", image, "-initrd", files),
            *("-append", "console=ttyS0 quiet panic=-1"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_BOOT_S,
        check=False,
    )
    return done.stdout + done.stderr


def main() -> int:
    """Boots the kernels, and prints their reports."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("versions", nargs="*", default=list(_PATTERNS), help="default: all")
    failed = False
    for version in asked.parse_args().versions:
        name = package(_PATTERNS[version])
        image = kernel(name)
        folder = CACHE / f"files-{version}"
        folder.mkdir(parents=True, exist_ok=True)
        said = boot(image, initial(folder, refused=version == "6.1"))
        print(f"{name}:")
        lines = said[max(said.find("kernel "), 0) :].split("\n")  # without the firmware's words
        print("\n".join(f"  {line.strip()}" for line in lines[:_MOST_LINES] if line.strip()))
        failed |= _DONE not in said
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
