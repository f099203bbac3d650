"""Each attempt of SECURITY.md, tried by the code of a candidate of `fullpipe score`.

A candidate raises its finding, which the command prints as the reason of its failure: `done` if the attempt had an
effect, otherwise the error with which it was refused.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import links
from fullpipe import _core
from links import AS_USER

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[4]

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the containment needs Linux"),
    pytest.mark.xdist_group("score_contained"),
]

SUITE = '''\
title = "One cell"
holdout = 0

[[part]]
name = "alone"
cells = 3
scenario = """
duration = "2s"
measure_from = "0s"
[path]
rate = "5mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
name = "tested"
cc = "{cc}"
"""
[part.prior]
"path.rate" = "2mbit..8mbit"
[[part.metric]]
name = "goodput"
'''
CANDIDATE = """\
import fullpipe

class Mine:
    def __init__(self, config):
        self.window = 20 * config.smss
        self.seen = 0

    def on_ack(self, cx, ack):
        self.seen += 1
        if self.seen == 5:
            self.attempt()

    def attempt(self):
{attempt}

    def decision(self):
        return fullpipe.Decision(cwnd=self.window, ssthresh=self.window)
"""


# The tests' own interpreter may lie in root's home, where no other user may read it: then that is shown alone.
READABLE = """
top=$1 prefix=$2; shift 2
if test -n "$top"; then
    keep=$(mktemp -d)
    mount --bind "$prefix" "$keep" && mount -t tmpfs -o mode=755 tmpfs "$top" && mkdir -p "$prefix" &&
    mount --move "$keep" "$prefix" && rmdir "$keep" || exit 1
fi
exec "$@"
"""
_TOP = Path(*Path(sys.base_prefix).parts[:2])
_HIDES = _TOP.stat().st_mode & 0o005 != 0o005 and not ROOT.is_relative_to(_TOP)
READ = [str(_TOP) if _HIDES else "", sys.base_prefix]


# Several attempts, and their findings.
EACH = """\
said = []
for code in {codes!r}:
    try:
        exec(code, {{}})
        said.append("done")
    except BaseException as error:
        said.append(f"{{type(error).__name__}}: {{error}}")
raise RuntimeError("each: " + " | ".join(said))
"""


@dataclass(frozen=True)
class Scorer:
    """`fullpipe score` as one of the machine's users, with a directory of theirs."""

    who: list[str]
    folder: Path
    python: str

    @property
    def environment(self) -> dict[str, str]:
        """Variables with the user's own cache and state."""
        home = {
            name: f"{self.folder}/{name.lower()}" for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")
        }
        return {**os.environ, "HOME": str(self.folder), **home}

    def command(self, candidate: str, *args: str) -> list[str]:
        """Returns the words of the command."""
        words = [self.python, "-m", "fullpipe", "score", candidate, "--suite", "suite.toml"]
        return [*self.who, *words, "--threads", "1", *args]

    def run(self, candidate: str, *args: str) -> subprocess.CompletedProcess[str]:
        """Calls the command."""
        command = self.command(candidate, *args)
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def attempt(self, code: str, *args: str) -> dict[str, Any]:
        """Scores a candidate that attempts something at its fifth ACK; returns its entry of the JSON."""
        lines = "\n".join(f"        {line}" for line in code.strip().splitlines())
        (self.folder / "mine.py").write_text(CANDIDATE.format(attempt=lines))
        done = self.run("mine.py:Mine", "--json", *args)
        assert done.stdout, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)["candidates"][0]
        return found

    def refused(self, code: str) -> str:
        """Returns the error with which an attempt was refused."""
        raising = "\n".join([code.strip(), 'raise RuntimeError("done")'])
        failed = self.attempt(raising)["failed"]
        assert failed, "the attempt was not made"
        assert "done" not in failed, f"the attempt had an effect: {failed}"
        return str(failed)

    def each_refused(self, *codes: str) -> list[str]:
        """Returns the errors with which attempts of one candidate were refused, which must not end it."""
        failed = str(self.attempt(EACH.format(codes=codes))["failed"])
        _, begins, said = failed.partition("each: ")
        assert begins, failed
        words = said.split(" | ")
        assert len(words) == len(codes)
        assert "done" not in words, f"an attempt had an effect: {words}"
        return words


@contextmanager
def scorer(who: str) -> Iterator[Scorer]:
    """Yields the command as "root" or "user"; skips the test where that is not possible."""
    if refused := _core.containment_refused():
        pytest.skip("\n  fix: ".join(refused))
    with links.linked(who) as linked:
        (linked.folder / "suite.toml").write_text(SUITE)
        words = linked.who and [*linked.who[:2], "sh", "-c", READABLE, "sh", *READ, *AS_USER]
        yield Scorer(words, linked.folder, sys.executable)


@pytest.fixture(scope="module", params=["root", "user"])
def mine(request: pytest.FixtureRequest) -> Iterator[Scorer]:
    with scorer(request.param) as found:
        yield found


@pytest.fixture
def as_user() -> Iterator[Scorer]:
    """A candidate of a user, for tests of its time, which is as long as that of root's."""
    with scorer("user") as found:
        yield found


def test_an_honest_candidate_has_a_score(mine: Scorer) -> None:
    entry = mine.attempt("pass")
    assert entry["failed"] is None
    assert entry["cells"] == 3


def test_it_can_not_open_a_file_to_write(mine: Scorer) -> None:
    target = mine.folder / "written"
    names = (str(target), "/tmp/written", "/candidate/candidate.py", "here", f"{sys.prefix}/x")
    for said in mine.each_refused(*(f"open({name!r}, 'w')" for name in names)):
        assert any(
            word in said for word in ("FileNotFoundError", "Read-only", "PermissionError")
        ), said
    assert not target.exists()


def test_it_reads_no_file_of_the_user(mine: Scorer) -> None:
    (mine.folder / "private").write_text("secret")
    names = (str(mine.folder / "private"), "/etc/passwd")
    for said in mine.each_refused(*(f"open({name!r}).read()" for name in names)):
        assert "FileNotFoundError" in said


def test_it_can_not_connect(mine: Scorer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        number = server.getsockname()[1]
        for said in mine.each_refused(
            f"import socket\nsocket.create_connection(('127.0.0.1', {number}), 2)",
            "import socket\nsocket.socketpair()",
        ):
            assert "PermissionError" in said
        with pytest.raises(TimeoutError):
            server.accept()


def test_it_can_not_fork(mine: Scorer) -> None:
    forked, run = mine.each_refused(
        "import os\nos.fork()", "import subprocess\nsubprocess.run(['/bin/true'])"
    )
    assert "PermissionError" in forked
    assert "Error" in run


def test_it_can_not_start_a_thread(mine: Scorer) -> None:
    said = mine.refused("import threading\nthreading.Thread(target=print).start()")
    assert "can't start new thread" in said


def test_it_gets_no_ten_gigabytes(mine: Scorer) -> None:
    for said in mine.each_refused(
        "kept = bytearray(10 << 30)", "kept = [bytearray(1 << 28) for _ in range(40)]"
    ):
        assert "MemoryError" in said


def test_an_endless_loop_ends(as_user: Scorer) -> None:
    start = time.monotonic()
    said = as_user.attempt("while True: pass")["failed"]
    assert "did not answer within 10 s" in said
    assert time.monotonic() - start < 60


SLOW = "import time\nself.seen = 4\ntime.sleep(0.5)"


def test_the_budget_ends_a_candidate_that_is_slow(as_user: Scorer) -> None:
    start = time.monotonic()
    entry = as_user.attempt(SLOW, "--budget", "2s")
    slow = "slow: the budget of 2 s was over before it had a score"
    assert (entry["cells"], entry["failed"], entry["missed"]) == (0, slow, False)
    assert time.monotonic() - start < 15
    said = as_user.run("mine.py:Mine", "--budget", "2s").stdout
    assert f"mine.py:Mine: failed: {slow}" in said


def test_the_last_of_several_that_is_slow_is_told_so(as_user: Scorer) -> None:
    code = "\n".join(f"        {line}" for line in SLOW.replace("0.5", "5").splitlines())
    (as_user.folder / "slow.py").write_text(CANDIDATE.format(attempt=code))
    for name in ("a", "b"):
        (as_user.folder / f"{name}.py").write_text(CANDIDATE.format(attempt="        pass"))
    names = ["a.py:Mine", "b.py:Mine", "slow.py:Mine"]
    found = json.loads(as_user.run(*names, "--budget", "6s", "--json").stdout)
    each = {entry["name"]: entry for entry in found["candidates"]}
    assert each["slow.py:Mine"]["failed"].startswith("slow: ")
    assert not any(entry["missed"] for entry in each.values())


def test_two_files_with_the_same_code_have_two_rows(as_user: Scorer) -> None:
    names = ["a.py:Mine", "b.py:Mine"]
    for name in names:
        (as_user.folder / name.partition(":")[0]).write_text(
            CANDIDATE.format(attempt="        pass")
        )
    found = json.loads(as_user.run(*names, "--no-holdout", "--json").stdout)
    assert [each["name"] for each in found["candidates"]] == names
    assert len({each["score"] for each in found["candidates"]}) == 1


def test_bad_candidates_take_their_own_time_and_not_that_of_others(as_user: Scorer) -> None:
    """One that is never imported, a slow one, one without its class, and one that writes lines of its own."""

    def write(name: str, attempt: str, before: str = "") -> None:
        code = "\n".join(f"        {line}" for line in attempt.splitlines())
        text = before + CANDIDATE.format(attempt=code)
        (as_user.folder / f"{name}.py").write_text(text)

    write("endless", "pass", "import time\ntime.sleep(1000)\n")
    write("slow", SLOW)
    write("good", "pass")
    write("forger", 'raise ValueError("x\\n\\nerror: forged\\nscore 99")')
    (as_user.folder / "other.py").write_text("class Other: pass\n")
    names = ["slow.py:Mine", "other.py:Mine", "endless.py:Mine", "good.py:Mine", "forger.py:Mine"]
    start = time.monotonic()
    done = as_user.run(names[0], *names[1:], "--budget", "30s")
    assert time.monotonic() - start < 60
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("good.py:Mine ") for line in lines)
    assert "5 candidates: 1 remained, 0 stopped early, 4 failed" in done.stdout
    for name, reason in {
        "slow.py:Mine": "slow: its share of the time",
        "other.py:Mine": "other.py: has no class Mine",
        "endless.py:Mine": "did not answer within 10 s",
        "forger.py:Mine": "ValueError: x error: forged score 99",
    }.items():
        (line,) = [line for line in lines if line.strip().startswith(f"{name}  failed: ")]
        assert reason in line
    assert not any(line.startswith(("error: forged", "score 99")) for line in lines)


def test_a_signal_ends_the_wait_for_a_candidate(as_user: Scorer) -> None:
    (as_user.folder / "mine.py").write_text(
        "while True: pass\n" + CANDIDATE.format(attempt="        pass")
    )
    command = as_user.command("mine.py:Mine")
    with subprocess.Popen(
        command,
        cwd=as_user.folder,
        env=as_user.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert _wait(lambda: _candidates()), "no process of a candidate"
        time.sleep(0.5)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert time.monotonic() - start < 5
    assert said.splitlines()[-1].startswith("interrupted")


def test_it_can_not_signal_the_parent(mine: Scorer) -> None:
    for target in ("os.getppid()", "-1", "1", str(os.getpid())):
        said = mine.refused(f"import os\nos.kill({target}, 9)")
        assert "PermissionError" in said or "ended" in said, said


def test_it_sees_no_process_in_proc(mine: Scorer) -> None:
    listed, read, mounted = mine.each_refused(
        "import os\nos.listdir('/proc')",
        f"open('/proc/{os.getpid()}/environ').read()",
        "import ctypes\nassert ctypes.CDLL(None).mount(b'p', b'/tmp', b'proc', 0, None) == 0",
    )
    assert "FileNotFoundError" in listed
    assert "FileNotFoundError" in read
    assert "Error" in mounted


def test_it_can_not_trace(mine: Scorer) -> None:
    calls = ((16, os.getpid()), (16, 1), (0, 0))  # PTRACE_ATTACH, PTRACE_TRACEME
    for said in mine.each_refused(
        *(
            "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            f"if libc.ptrace({request}, {target}, 0, 0) < 0: raise OSError(ctypes.get_errno(), 'refused')"
            for request, target in calls
        )
    ):
        assert "[Errno 1]" in said


def test_a_flood_of_output_goes_nowhere(mine: Scorer) -> None:
    entry = mine.attempt(
        "import os, sys\nfor fd in (1, 2):\n    for _ in range(1000): os.write(fd, b'x' * 100_000)\nprint('flood')"
    )
    assert entry["failed"] is None
    done = mine.run("mine.py:Mine")
    assert len(done.stdout) < 2000
    assert "flood" not in done.stdout + done.stderr
    assert "xxx" not in done.stdout + done.stderr


NUMBERS = {
    "x86_64": {
        "socket": 41,
        "clone": 56,
        "keyctl": 250,
        "bpf": 321,
        "io_uring_setup": 425,
        "unshare": 272,
    }
}


def test_it_makes_no_other_system_call(mine: Scorer) -> None:
    numbers = NUMBERS.get(os.uname().machine)
    if numbers is None:
        pytest.skip("the numbers are those of x86")
    numbers = {**numbers, "x32": 0x40000000 + 41}
    found = mine.each_refused(
        *(
            "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            f"if libc.syscall({number}, 2, 1, 0, 0, 0) < 0: raise OSError(ctypes.get_errno(), 'refused')"
            for number in numbers.values()
        )
    )
    for name, said in zip(numbers, found, strict=True):
        assert "[Errno 1]" in said or "[Errno 38]" in said, name


def test_it_can_not_write_to_the_cache(mine: Scorer) -> None:
    entry = mine.attempt("pass")
    [file] = (mine.folder / "xdg_cache_home").rglob("*.jsonl")
    before = file.read_bytes()
    assert entry["key"].encode() in before
    assert "FileNotFoundError" in mine.refused(f"open({str(file)!r}, 'a')")
    assert file.read_bytes() == before, "failed cells leave nothing"


def test_it_can_not_read_the_secret_of_the_hold_out(mine: Scorer) -> None:
    suite = SUITE.replace("holdout = 0", "holdout = 1")
    (mine.folder / "suite.toml").write_text(suite)
    try:
        entry = mine.attempt("pass")
        assert entry["failed"] is None
        [secret] = (mine.folder / "xdg_state_home").rglob("*.json")
        assert secret.stat().st_mode & 0o777 == 0o600
        assert secret.parent.stat().st_mode & 0o777 == 0o700
        assert "FileNotFoundError" in mine.refused(f"open({str(secret)!r}).read()")
    finally:
        (mine.folder / "suite.toml").write_text(SUITE)


def test_it_leaves_nothing_for_another_cell(mine: Scorer) -> None:
    code = "import sys\nif hasattr(sys, 'left'): raise RuntimeError('done')\nsys.left = self"
    assert mine.attempt(code)["failed"] is None


def test_it_does_not_see_the_scenario(mine: Scorer) -> None:
    code = (
        "import gc, sys\n"
        "texts = [x for x in gc.get_objects() if isinstance(x, str)] + sys.argv\n"
        "frame, words = sys._getframe(), []\n"
        "while frame: words += [repr(frame.f_locals)]; frame = frame.f_back\n"
        "if any('mbit' in word or 'suite' in word for word in texts + words): raise RuntimeError('done')\n"
        "raise RuntimeError('nothing')"
    )
    assert "nothing" in mine.attempt(code)["failed"]


def test_it_can_not_forge_a_result(mine: Scorer) -> None:
    """Bytes that it writes to the socket are at most a decision of its own, or end its run."""
    entry = mine.attempt("import os\nos.write(3, bytes(range(256)) * 40)")
    assert entry["failed"]


def test_nothing_is_left_after_kill_9(mine: Scorer) -> None:
    lines = "        import time\n        time.sleep(60)"
    (mine.folder / "mine.py").write_text(CANDIDATE.format(attempt=lines))
    process = subprocess.Popen(
        mine.command("mine.py:Mine", "--json"),
        cwd=mine.folder,
        env=mine.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert _wait(lambda: _candidates()), "no process of a candidate"
        process.send_signal(signal.SIGKILL)
        assert _wait(lambda: not _candidates()), "a process of a candidate is left"
    finally:
        process.kill()
        process.wait()


def _wait(holds: Any) -> bool:  # noqa: ANN401
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.1)
    return False


def _candidates() -> list[str]:
    """Returns the processes that serve a candidate."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes()
        except OSError:
            continue
        if b"fullpipe.wings.search.score.inside" in words and b"/candidate/candidate.py" in words:
            found.append(place.parent.name)
    return found


def test_a_library_is_contained_too(mine: Scorer) -> None:
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    header = Path(_core.__file__).parents[2] / "crates/plugin/include"
    source = """
#include "fullpipe.h"
#include <stdio.h>
#include <stdlib.h>
struct it { uint64_t window; };
static void *create(const struct fullpipe_config *c) {
    struct it *it = malloc(sizeof *it);
    it->window = fopen("/etc/passwd", "r") || fopen("/tmp/written", "w") ? c->smss : 20 * c->smss;
    return it;
}
static void destroy(void *it) { free(it); }
static int32_t decision(void *it, struct fullpipe_decision *into) {
    into->cwnd = into->ssthresh = ((struct it *)it)->window;
    return 0;
}
static int32_t on_ack(void *it, const struct fullpipe_context *cx, const struct fullpipe_ack *ack) {
    return FULLPIPE_SAME;
}
static const struct fullpipe_plugin table = {
    .version = FULLPIPE_VERSION, .name = FULLPIPE_TEXT("fixed"), .purpose = FULLPIPE_TEXT("Fixed window"),
    .create = create, .destroy = destroy, .decision = decision, .on_ack = on_ack,
};
FULLPIPE_PLUGIN(table)
"""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mine.c").write_text(source)
        library = mine.folder / "libmine.so"
        subprocess.run(
            [
                "cc",
                "-O1",
                "-shared",
                "-fPIC",
                f"-I{header}",
                "-o",
                str(library),
                f"{folder}/mine.c",
            ],
            check=True,
        )
    entry = json.loads(mine.run("./libmine.so", "--json").stdout)["candidates"][0]
    same = mine.attempt("pass")
    assert entry["failed"] is None
    assert entry["score"] == pytest.approx(same["score"]), (
        "the window of a library that opened no file"
    )


def test_uncontained_code_runs_with_the_users_rights(mine: Scorer) -> None:
    target = mine.folder / "written"
    entry = mine.attempt(f"open({str(target)!r}, 'w').close()", "--uncontained")
    assert entry["failed"] is None
    assert target.exists()
    target.unlink()


def test_a_machine_that_can_not_contain_refuses() -> None:
    """As root only: the limit is one of namespaces of its own."""
    with scorer("root") as mine:
        (mine.folder / "mine.py").write_text(CANDIDATE.format(attempt="        pass"))
        limit = 'echo 0 > /proc/sys/user/max_net_namespaces 2>/dev/null; exec "$@"'
        command = ["unshare", "--user", "--map-root-user", "sh", "-c", limit, "sh"]
        done = subprocess.run(
            [*command, *mine.command("mine.py:Mine", "--json")],
            cwd=mine.folder,
            env=mine.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 2, done
    assert "can't be contained" in done.stderr
    assert "--uncontained" in done.stderr
