"""Scripts that probe the machine behind `fullpipe link`: their common part, and the program that runs them."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from links import Linked

PRELUDE = """
import ctypes, errno, json, mmap, os, platform, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    "The error of a system call, or its result."
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_void_p, arguments))
    return errno.errorcode[ctypes.get_errno()] if result == -1 else result
def attempt(what):
    "The error of a function, or None."
    try:
        what()
    except OSError as error:
        return errno.errorcode[error.errno]
def opened(path, how=os.O_RDWR):
    return attempt(lambda: os.close(os.open(path, how | os.O_NONBLOCK)))
found = {}
"""

# By architecture: x86-64, and the numbers that newer architectures share.
_FIRST = platform.machine() != "x86_64"
NUMBERS = {
    name: pair[_FIRST]
    for name, pair in {
        "mount": (165, 40),
        "umount2": (166, 39),
        "pivot_root": (155, 41),
        "setns": (308, 268),
        "unshare": (272, 97),
        "clone": (56, 220),
        "init_module": (175, 105),
        "delete_module": (176, 106),
        "finit_module": (313, 273),
        "kexec_load": (246, 104),
        "bpf": (321, 280),
        "perf_event_open": (298, 241),
        "userfaultfd": (323, 282),
        "keyctl": (250, 219),
        "add_key": (248, 217),
        "request_key": (249, 218),
        "settimeofday": (164, 170),
        "clock_settime": (227, 112),
        "clock_adjtime": (305, 266),
        "adjtimex": (159, 171),
        "reboot": (169, 142),
        "swapon": (167, 224),
        "swapoff": (168, 225),
        "acct": (163, 89),
        "quotactl": (179, 60),
        "open_by_handle_at": (304, 265),
    }.items()
} | {
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "mount_setattr": 442,
    "open_tree_attr": 467,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
}


ALL = """
import traceback
results = {}
for name, script in json.load(open("probes.json")).items():
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        space = dict(globals(), found={})
        try:
            exec(script, space)
            said = space["found"]
        except BaseException:
            said = traceback.format_exc()
        os.write(writer, json.dumps(said).encode())
        os._exit(0)
    os.close(writer)
    results[name] = json.loads(b"".join(iter(lambda: os.read(reader, 65_536), b"")))
    os.close(reader)
    os.waitpid(child, 0)
print(json.dumps(results))
"""


def probed(
    linked: Linked, scripts: dict[str, str], *options: str, pass_fds: tuple[int, ...] = ()
) -> dict[str, Any]:
    """Runs probes behind a link; returns what each found."""
    (linked.folder / "probes.json").write_text(json.dumps(scripts))
    text = f"{PRELUDE}\nN = {NUMBERS}\n{ALL}"
    done = linked.link(*options, "--", linked.python, "-c", text, pass_fds=pass_fds)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


KEY = 0x0F000000 | os.getpid()
SHARED = {"shmget": (KEY, 100), "semget": (KEY, 1), "msgget": (KEY,)}
"""Shared memory, semaphores and queues of the machine: the arguments of the calls that open them."""


@contextmanager
def shared_by_the_machine() -> Iterator[Path]:
    """Makes `SHARED`, and a file in /dev/shm, which is yielded; all are for every user."""
    libc = ctypes.CDLL(None, use_errno=True)
    made = {name: getattr(libc, name)(*args, 0o1666) for name, args in SHARED.items()}
    assert min(made.values()) >= 0
    try:
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            Path(file.name).chmod(0o666)
            yield Path(file.name)
    finally:
        libc.shmctl(made["shmget"], 0, None)
        libc.semctl(made["semget"], 0, 0)
        libc.msgctl(made["msgget"], 0, None)
