"""Each promise of SECURITY.md about a program behind `fullpipe link`, tried as root and as a user.

The probes open the machine's files, but write none. Calls have arguments that change nothing even if they are allowed.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import links
from links import AS_USER, USER, Linked
from probes import NUMBERS, SHARED, probed, shared_by_the_machine

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a link needs Linux")

ROOT = Path(__file__).parents[4]

PROBES: dict[str, str] = {}
"""Scripts that set `found`, each in a process of its own. All run behind one link, which takes a second to start."""


@dataclass(frozen=True)
class Seen:
    """Findings of the probes behind a link."""

    linked: Linked
    found: dict[str, Any]
    inherited: int

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        return self.found[name]


@pytest.fixture(scope="module", params=["root", "user"])
def seen(request: pytest.FixtureRequest) -> Iterator[Seen]:
    """All probes behind one link of root's, and behind one of a user's."""
    links.needed()
    with (
        links.linked(request.param) as linked,
        shared_by_the_machine() as shared,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.create_server(("127.0.0.1", 0)) as port,
        (linked.folder / "inherited").open("w") as file,
    ):
        number = port.getsockname()[1]
        abstract.bind(f"\0fullpipe-test-{number}")
        abstract.listen()
        if os.geteuid() == 0:
            os.mknod(linked.folder / "device", 0o020666, os.makedev(1, 3))  # as /dev/null is
            (linked.folder / "device").chmod(0o666)
        script = "ls /sys/class/net > far.net; ls /dev > far.dev; cat /proc/self/status > far; exec sleep 100"
        root = os.open("/", os.O_RDONLY)
        about = {"port": number, "shared": str(shared), "keys": SHARED, "pid": os.getpid()}
        scripts = {name: f"outside = {about}\n{text}" for name, text in PROBES.items()}
        inherited = (root, file.fileno())
        server = f"sh -c '{script}'"
        found = probed(linked, scripts, "--server", server, pass_fds=inherited)
        os.close(root)
        yield Seen(linked, found, file.fileno())


PROBES["devices of the network"] = """
found["sys"] = sorted(os.listdir("/sys/class/net"))
found["indices"] = sorted(name for _, name in socket.if_nameindex())
"""


def test_it_sees_only_the_devices_of_its_own_network(seen: Seen) -> None:
    own = ["fullpipe0", "lo"]
    assert seen["devices of the network"] == {"sys": own, "indices": own}
    assert (seen.linked.folder / "far.net").read_text().split() == own


PROBES["network"] = """
import fcntl, struct
with socket.socket() as control:
    def ask(code):
        request = struct.pack("16s24x", b"fullpipe0")
        return attempt(lambda: fcntl.ioctl(control, code, request))
    found["ioctl"] = [ask(0x8922), ask(0x8914), ask(0x8916), ask(0x8924)]
# Without the data that they need.
def netlink(kind):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.bind((0, 0))
        kernel.send(struct.pack("=IHHII", 32, kind, 5, 1, 0) + bytes(16))
        return errno.errorcode[-struct.unpack_from("=i", kernel.recv(1000), 16)[0]]
found["netlink"] = [netlink(kind) for kind in (16, 20, 24, 32, 36)]
"""


def test_it_can_not_change_devices_addresses_or_routes(seen: Seen) -> None:
    # The MTU, flags, address and MAC address; RTM_NEWLINK, NEWADDR, NEWROUTE, NEWRULE, NEWQDISC.
    assert seen["network"] == {"ioctl": ["EPERM"] * 4, "netlink": ["EPERM"] * 5}


PROBES["sockets of others"] = """
abstract = lambda: socket.socket(socket.AF_UNIX).connect(f"\\0fullpipe-test-{outside['port']}")
loopback = lambda: socket.create_connection(("127.0.0.1", outside["port"]), 2)
elsewhere = lambda: socket.create_connection(("192.0.2.1", 80), 2)
found = [attempt(abstract), attempt(loopback), attempt(elsewhere)]
"""


def test_it_reaches_no_network_but_the_path(seen: Seen) -> None:
    assert seen["sockets of others"] == ["ECONNREFUSED", "ECONNREFUSED", "ENETUNREACH"]


PROBES["families"] = """
SOCKET = 41 if platform.machine() == "x86_64" else 198
others = set(range(50)) - {1, 2, 10, 16, 17}
found["others"] = sorted({str(call(SOCKET, family, kind, 0)) for family in others for kind in (1, 2, 3, 5)})
found["high bits"] = call(SOCKET, 40 | 1 << 32, socket.SOCK_STREAM, 0)
found["ring"] = [call(N[name], -1, 0, 0, 0, 0, 0) for name in ("io_uring_setup", "io_uring_enter", "io_uring_register")]
"""


def test_it_has_no_sockets_beside_the_networks(seen: Seen) -> None:
    refused = {"others": ["EAFNOSUPPORT"], "high bits": "EAFNOSUPPORT", "ring": ["EPERM"] * 3}
    assert seen["families"] == refused


PROBES["audit"] = """
import struct
def ask(kind):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9) as audit:
        audit.settimeout(2)
        audit.send(struct.pack("=IHHII", 16, kind, 5, 1, 0))
        raise OSError(-struct.unpack_from("=i", audit.recv(1000), 16)[0], "")
found = [attempt(lambda: ask(kind)) for kind in (1000, 1013)]
"""


def test_it_can_not_ask_the_audit(seen: Seen) -> None:
    # AUDIT_GET and AUDIT_LIST_RULES only read; the last is the answer of a kernel without audit.
    assert set(seen["audit"]) <= {"EPERM", "ECONNREFUSED", "EPROTONOSUPPORT"}


PROBES["devices"] = """
import stat
found["dev"] = sorted(os.listdir("/dev"))
found["nodes"] = [opened("/dev/" + name) for name in ("null", "zero", "full", "random", "urandom")]
found["terminals"] = os.listdir("/dev/pts")
found["elsewhere"] = opened("device") if os.path.exists("device") else "EACCES"
found["made"] = attempt(lambda: os.mknod("node", stat.S_IFCHR | 0o666, os.makedev(10, 200)))
found["more"] = []
folders = ["/"]
while folders:
    folder = folders.pop()
    for entry in os.scandir(folder) if os.access(folder, os.R_OK | os.X_OK) else ():
        if entry.is_symlink() or entry.path in ("/proc", "/sys", "/dev"):
            continue
        mode = entry.stat(follow_symlinks=False).st_mode
        if (stat.S_ISBLK(mode) or stat.S_ISCHR(mode)) and not opened(entry.path, os.O_RDONLY):
            found["more"].append(entry.path)
        if stat.S_ISDIR(mode) and entry.path.count("/") < 2:
            folders.append(entry.path)
"""


def test_it_opens_no_device_of_the_machine(seen: Seen) -> None:
    found = seen["devices"]
    own = ["fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout"]
    assert found["dev"] == [*own, "tty", "urandom", "zero"]
    assert found["nodes"] == [None] * 5
    assert found["terminals"] == ["ptmx"]
    assert (found["elsewhere"], found["made"], found["more"]) == ("EACCES", "EPERM", [])


PROBES["typing"] = """
import fcntl
screen, terminal = os.openpty()
TIOCSTI, TIOCLINUX, TIOCGWINSZ = 0x5412, 0x541C, 0x5413
found = [attempt(lambda: fcntl.ioctl(terminal, code, bytes(8))) for code in (TIOCSTI, TIOCLINUX, TIOCGWINSZ)]
# The kernel uses 32 bits of the code.
found.append(call(16 if platform.machine() == "x86_64" else 29, terminal, TIOCSTI | 1 << 32, 0))
"""


def test_it_can_not_type_into_a_terminal(seen: Seen) -> None:
    assert seen["typing"] == ["EPERM", "EPERM", None, "EPERM"]


PROBES["shared"] = """
for name, arguments in outside["keys"].items():
    found[name] = getattr(libc, name)(*arguments, 0) < 0 and errno.errorcode[ctypes.get_errno()]
found["posix"] = opened(outside["shared"])
found["tables"] = [len(open("/proc/sysvipc/" + name).readlines()) for name in ("shm", "sem", "msg")]
"""


def test_it_shares_no_memory_with_others(seen: Seen) -> None:
    none = dict.fromkeys([*SHARED, "posix"], "ENOENT")
    assert seen["shared"] == {**none, "tables": [1, 1, 1]}


PROBES["names"] = """
found["call"] = attempt(lambda: socket.sethostname(socket.gethostname()))
found["file"] = opened("/proc/sys/kernel/hostname", os.O_WRONLY)
found["name"] = socket.gethostname()
kinds = ("uts", "ipc", "cgroup", "mnt", "net", "pid")
found["namespaces"] = {name: os.readlink("/proc/self/ns/" + name) for name in kinds}
"""


def test_it_can_not_rename_the_machine(seen: Seen) -> None:
    found = seen["names"]
    assert found["call"] == "EPERM"
    assert found["file"] in ("EROFS", "EACCES")
    assert found["name"] == socket.gethostname()
    for name, inside in found["namespaces"].items():
        assert str(Path(f"/proc/self/ns/{name}").readlink()) != inside


PROBES["groups"] = """
found["own"] = sorted({line.split(":", 2)[2].strip() for line in open("/proc/self/cgroup")})
found["opened"] = []
for folder, _, files in os.walk("/sys/fs/cgroup"):
    paths = [os.path.join(folder, name) for name in files]
    found["opened"] += [path for path in paths if not opened(path, os.O_WRONLY)]
"""


def test_it_can_not_leave_its_control_group(seen: Seen) -> None:
    assert seen["groups"] == {"own": ["/"], "opened": []}


PROBES["processes"] = """
found["number"] = sum(name.isdigit() for name in os.listdir("/proc"))
found["kill"] = attempt(lambda: os.kill(outside["pid"], 0))
links = ["root", "cwd", "exe", "ns/net", "ns/mnt", "ns/user", *(f"fd/{number}" for number in range(20))]
found["first"] = [name for name in links if not attempt(lambda: os.readlink(f"/proc/1/{name}"))]
found["memory"] = [opened("/proc/1/" + name, os.O_RDONLY) for name in ("mem", "maps", "environ")]
"""


def test_it_sees_no_process_outside(seen: Seen) -> None:
    found = seen["processes"]
    assert found["number"] <= 4, "the first, a server, and two of the probe"
    assert (found["kill"], found["first"]) == ("ESRCH", [])
    assert found["memory"] == ["EACCES"] * 3


PROBES["mounts"] = """
old, new = ("mount", "umount2", "pivot_root"), ("open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick")
found["old"] = [call(N[name], 0, 0, 0, 0, 0) for name in old]
found["new"] = [call(N[name], -1, 0, 0, 0, 0) for name in (*new, "mount_setattr", "open_tree_attr")]
found["chroot"] = attempt(lambda: os.chroot("/"))
"""


def test_it_can_not_change_its_mounts(seen: Seen) -> None:
    found = seen["mounts"]
    assert found["chroot"] == "EPERM"
    if seen.linked.is_root:
        assert found == {"old": ["EPERM"] * 3, "new": ["EPERM"] * 8, "chroot": "EPERM"}
    else:  # refused for want of the capability, or for the probe's invalid arguments
        errors = {"EPERM", "EFAULT", "EBADF", "EINVAL", "ENOSYS"}
        assert set(found["old"] + found["new"]) <= errors


PROBES["namespaces"] = """
FLAGS = {"cgroup": 0x02000000, "ipc": 0x08000000, "net": 0x40000000, "mnt": 0x20000, "pid": 0x20000000,
         "time": 0x80, "user": 0x10000000, "uts": 0x04000000}
def unshared(flag):
    child = os.fork()
    if child == 0:
        os._exit(call(N["unshare"], flag) == 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
found["unshared"] = [name for name, flag in FLAGS.items() if unshared(flag)]
# With CLONE_FS, which the kernel refuses with these: no process is made.
found["clone"] = [call(N["clone"], FLAGS[name] | 0x200, 0, 0, 0, 0) for name in ("user", "mnt")]
found["clone3"] = call(N["clone3"], 0, 0)
own = [os.open("/proc/self/ns/" + name, 0) for name in ("net", "user", "mnt")]
found["setns"] = [call(N["setns"], number, 0) for number in own]
found["files"] = call(N["unshare"], 0x600)
"""


def test_it_can_not_make_or_join_namespaces(seen: Seen) -> None:
    found = seen["namespaces"]
    assert found.pop("files") == 0, "unshare is also for other things"
    if seen.linked.is_root:
        refused = {"unshared": [], "clone": ["EPERM"] * 2, "clone3": "ENOSYS"}
        assert found == {**refused, "setns": ["EPERM"] * 3}
    else:  # a user's programs may make what a user may make
        assert set(found["unshared"]) <= {"user"}
        assert set(found["setns"]) <= {"EPERM", "EINVAL"}


PROBES["kernel"] = """
calls = ("init_module", "finit_module", "delete_module", "kexec_load", "bpf", "perf_event_open", "userfaultfd")
found = {name: call(N[name], 0, 17, 0, 0, 0) for name in calls}
if platform.machine() == "x86_64":
    found["x32"] = [call(0x40000000 + number, 0, 17, 0, 0) for number in (N["init_module"], N["bpf"], 528)]
    found["ports"] = [call(172, 4), call(173, 0, 1, 0)]
"""


def test_it_can_not_change_the_kernel(seen: Seen) -> None:
    found = dict(seen["kernel"])
    assert found.pop("x32", ["ENOSYS"] * 3) == ["ENOSYS"] * 3
    assert found.pop("ports", ["EPERM"] * 2) == ["EPERM"] * 2
    assert set(found.values()) == {"EPERM"}


PROBES["keys"] = """
found = [call(N["keyctl"], 0, -3, 0), call(N["add_key"], 0, 0, 0, 0, -2), call(N["request_key"], 0, 0, 0, -2)]
"""


def test_it_can_not_use_the_callers_keys(seen: Seen) -> None:
    assert seen["keys"] == ["EPERM"] * 3


PROBES["clock"] = """
invalid = (ctypes.c_long * 2)(1, -1)
reading = ctypes.create_string_buffer(300)
found = [
    call(N["settimeofday"], ctypes.addressof(invalid), 0),
    call(N["clock_settime"], 0, ctypes.addressof(invalid)),
    call(N["adjtimex"], ctypes.addressof(reading)),
    call(N["clock_adjtime"], 0, ctypes.addressof(reading)),
]
"""


def test_it_can_not_set_the_clock(seen: Seen) -> None:
    assert seen["clock"] == ["EPERM"] * 4


PROBES["machine"] = """
missing = ctypes.create_string_buffer(b"/nowhere")
path = ctypes.addressof(missing)
found = [  # wrong magic numbers, no such files, an unknown command
    call(N["reboot"], 0, 0, 0, 0),
    call(N["swapon"], path, 0),
    call(N["swapoff"], path),
    call(N["acct"], path),
    call(N["quotactl"], -1, path, 0, 0),
]
"""


def test_it_can_not_stop_the_machine(seen: Seen) -> None:
    assert seen["machine"] == ["EPERM"] * 5


PROBES["handles"] = 'found["error"] = call(N["open_by_handle_at"], -100, 0, 0)'


def test_it_can_not_open_files_by_their_handles(seen: Seen) -> None:
    assert seen["handles"] == {"error": "EPERM"}


PROBES["descriptors"] = """
import stat
def kind(number):
    try:
        return stat.S_ISDIR(os.fstat(number).st_mode)
    except OSError:
        return None
found = {number: kind(number) for number in range(1000) if kind(number) is not None}
"""


def test_it_gets_no_folder_that_the_caller_has_open(seen: Seen) -> None:
    found = seen["descriptors"]
    assert found[str(seen.inherited)] is False, "a file is passed on"
    assert not any(found.values())
    assert len(found) <= 3 + 1 + 2, "standard streams, the file, and two of the probe"


HERE = """
import os
for file in ("hostname", "core_pattern", "mm/ksm/run", "uevent_helper", "net/tun", "kmsg", "vda"):
    try:
        os.close(os.open(file, os.O_WRONLY))
        print(file)
    except OSError:
        pass
"""


@pytest.mark.parametrize("folder", ["/proc/sys/kernel", "/sys/kernel", "/dev"])
def test_it_reaches_no_mount_outside_from_where_it_starts(linked: Linked, folder: str) -> None:
    done = linked.link("--", linked.python, "-c", HERE, cwd=folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


PROBES["status"] = 'found["text"] = open("/proc/self/status").read()'


def test_set_user_id_gives_nothing(seen: Seen) -> None:
    assert "NoNewPrivs:\t1\n" in seen["status"]["text"]
    if os.geteuid() != 0:
        return
    linked, program = seen.linked, seen.linked.folder / "id"
    program.write_bytes(Path("/usr/bin/id").read_bytes())
    program.chmod(0o4755)
    linked.folder.chmod(0o755)
    as_user = AS_USER if linked.is_root else []
    assert linked.link("--", *as_user, str(program), "-u").stdout == f"{USER}\n"


PROBES["32 bits"] = """
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
child = os.fork()
if child == 0:
    os._exit(0 if platform.machine() != "x86_64" else function() * 0)
found["signal"] = os.WTERMSIG(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="32-bit calls exist on x86")
def test_code_of_32_bits_is_ended(seen: Seen) -> None:
    assert seen["32 bits"]["signal"] in (31, 11)  # SIGSYS; SIGSEGV where the kernel has none


def test_the_programs_at_the_far_end_are_confined_too(seen: Seen) -> None:
    far, near = (seen.linked.folder / "far").read_text(), seen["status"]["text"]
    for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters"):
        assert [line for line in far.splitlines() if line.startswith(f"{name}:")] == [
            line for line in near.splitlines() if line.startswith(f"{name}:")
        ]
    assert (seen.linked.folder / "far.dev").read_text().split() == seen["devices"]["dev"]


UNCONFINED = {
    "shared": 'found = opened(outside["shared"])',
    "ipc": 'found = os.readlink("/proc/self/ns/ipc")',
    "status": 'found = open("/proc/self/status").read()',
    "devices": 'found = os.path.exists("/dev/net/tun")',
    "unshare": 'found = call(N["unshare"], 0x10000000)',
    "settings": 'found = opened("/proc/sys/kernel/hostname", os.O_WRONLY)',
}


def test_without_the_confinement_a_program_has_what_it_takes_away(linked: Linked) -> None:
    with shared_by_the_machine() as shared:
        about = {"shared": str(shared)}
        scripts = {name: f"outside = {about}\n{text}" for name, text in UNCONFINED.items()}
        found = probed(linked, scripts, "--unconfined")
    assert (found["shared"], found["devices"], found["unshare"]) == (None, True, 0)
    assert found["ipc"] == str(Path("/proc/self/ns/ipc").readlink())
    assert "NoNewPrivs:\t0\nSeccomp:\t0\n" in found["status"]
    # Settings and capabilities are as without the option.
    assert found["settings"] in ("EROFS", "EACCES")
    capabilities = int(found["status"].partition("CapEff:")[2].split()[0], 16)
    assert capabilities >> 12 & 0x201 == 0  # NET_ADMIN, SYS_ADMIN


# Refuses namespaces for shared memory, as a container's filter might.
OUTER = """
import ctypes, os, struct, sys
unshare, new = int(sys.argv[1]), 0x08000000
code = [(0x20, 0, 0, 0), (0x15, 0, 3, unshare), (0x20, 0, 0, 16), (0x45, 0, 1, new), (0x06, 0, 0, 0x50001),
        (0x06, 0, 0, 0x7FFF0000)]
steps = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(steps)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program))) == 0  # PR_SET_SECCOMP
os.execvp(sys.argv[2], sys.argv[2:])
"""


def test_a_machine_that_does_not_allow_the_confinement_is_refused(linked: Linked) -> None:
    within = (sys.executable, "-c", OUTER, str(NUMBERS["unshare"]))
    done = linked.link("--", "echo", "it ran", within=within)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: this machine does not allow namespaces for names, shared memory" in done.stderr
    assert "or do without the confinement: --unconfined" in done.stderr
    assert linked.link("--unconfined", "--", "echo", "it ran", within=within).stdout == "it ran\n"


def test_every_row_of_the_promises_has_its_test_and_every_test_its_row() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|.*\| `(test_\w+\.py)::(test_\w+)` \|$", text, re.MULTILINE)
    assert len(rows) == len(set(rows)) > 20
    files = {file.name: file for file in (ROOT / "tests/python").rglob("test_*.py")}
    tests = {name: files[name].read_text(encoding="utf-8") for name, _ in rows}
    assert [row for row in rows if f"def {row[1]}(" not in tests[row[0]]] == []
    ours = re.findall(r"^def (test_\w+)\(\w*: Seen", Path(__file__).read_text(), re.MULTILINE)
    ours += re.findall(r"^def (test_it_\w+)\(", Path(__file__).read_text(), re.MULTILINE)
    assert set(ours) <= {name for _, name in rows}
