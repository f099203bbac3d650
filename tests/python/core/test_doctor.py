"""`fullpipe doctor`: its findings about a machine, and its report."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from typing import TYPE_CHECKING

import polars
import pytest

from fullpipe import __version__
from fullpipe.about import doctor
from fullpipe.commands import app
from fullpipe.runners import names
from fullpipe.wings.bpf import machine

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe


BPF = ["BPF links", "BTF", "BPF JIT", "CAP_NET_ADMIN", "CAP_PERFMON", "CAP_BPF", "BPF objects"]


def test_it_says_of_every_runner_and_need_whether_it_is_there(fullpipe: Fullpipe) -> None:
    told = fullpipe("doctor", "--json")
    assert told.returncode == 0, told.stderr
    said = json.loads(told.stdout)
    assert [each["what"] for each in said["runners"]] == names()
    assert said["runners"][0]["state"] == "ok"
    assert said["machine"][0]["what"] == "kernel"
    assert [each["what"] for each in said["bpf"]] == BPF
    for each in (*said["runners"], *said["machine"], *said["bpf"]):
        assert each["state"] in ("ok", "missing", "unknown")
        assert each["found"]
        assert each["state"] != "missing" or each["fix"], each


def test_the_table_is_as_wide_as_a_terminal(fullpipe: Fullpipe) -> None:
    told = fullpipe("doctor")
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("Runners, for --on\n ✓ sim ")
    assert all(len(line) <= 80 for line in told.stdout.splitlines())


def test_a_report_is_one_fenced_block_of_what_doctor_knows(fullpipe: Fullpipe) -> None:
    told = fullpipe("doctor", "--report")
    assert told.returncode == 0, told.stderr
    first, *lines, last = told.stdout.splitlines()
    assert (first, last) == ("```text", "```")
    said = dict(line.split(": ", 1) for line in lines)
    assert said["fullpipe"].startswith(f"{__version__}, commit ")
    assert {"release", "debug"} & set(said["fullpipe"].split(", "))
    assert said["python"].endswith(platform.python_version())
    assert f"polars {polars.__version__}" in said["libraries"]
    assert [what for what in said if what.startswith("runner ")] == [
        f"runner {name}" for name in names()
    ]
    for what in ("platform", "machine kernel", "extra Ray", "extra Chromium", "extra UML kernel"):
        assert said[what]


def test_a_report_names_no_user_host_or_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "homes" / "alice"))
    monkeypatch.setenv("LOGNAME", "alice")
    monkeypatch.setattr(platform, "node", lambda: "alices-laptop")
    told = f"of alice@alices-laptop: no {tmp_path}/homes/alice/linux, no /home/bob/linux"
    missing = doctor.Finding("uml", "missing", f"{told}; malice is a word")
    monkeypatch.setattr(doctor, "runners", lambda: [missing])
    with pytest.raises(SystemExit):
        app(["doctor", "--report"])
    said = capsys.readouterr().out
    assert "runner uml: not ok, of [user]@[host]: no ~/linux, no ~/linux; malice is" in said
    assert "alices-laptop" not in said


def test_without_a_home_of_its_own_paths_stay(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", "/")
    with pytest.raises(SystemExit):
        app(["doctor", "--report"])
    assert "machine /dev/net/tun: " in capsys.readouterr().out


def test_a_report_is_no_json(fullpipe: Fullpipe) -> None:
    told = fullpipe("doctor", "--report", "--json")
    assert (told.returncode, told.stdout) == (2, "")
    assert "error: --json and --report" in told.stderr


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The /proc/sys/net of another kernel, and its modules."""
    (tmp_path / "ipv4").mkdir()
    for name, text in (
        ("tcp_available_congestion_control", "reno cubic"),
        ("tcp_allowed_congestion_control", "reno"),
        ("tcp_rmem", "4096 131072 6291456"),
        ("tcp_wmem", "4096 16384 67108864"),
    ):
        (tmp_path / "ipv4" / name).write_text(f"{text}\n", encoding="ascii")
    monkeypatch.setattr(doctor, "_PROC", tmp_path)
    monkeypatch.setattr(doctor, "_loadable", lambda: {"bbr", "vegas", "cubic"})
    return tmp_path


@pytest.mark.usefixtures("proc")
def test_a_module_is_loaded_by_root_and_what_is_none_needs_another_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = {each.what: each for each in doctor.machine()}
    assert found["TCP algorithms"].found == "cubic, reno"
    assert (found["TCP bbr"].fix, found["TCP bbr"].root) == ("modprobe tcp_bbr", True)
    assert found["TCP dctcp"].found == "not in this kernel"
    assert found["more TCP"].found == "modules not loaded: vegas"
    assert found["TCP of programs"].found.startswith("programs themselves may choose reno;")
    assert found["TCP for users"].found == "only root may use cubic"
    assert (
        found["TCP for users"].fix
        == 'sysctl -w net.ipv4.tcp_allowed_congestion_control="reno cubic"'
    )
    assert found["receive buffer"].fix == 'sysctl -w net.ipv4.tcp_rmem="4096 131072 16777216"'
    assert (found["send buffer"].state, found["send buffer"].found) == ("ok", "at most 64 MiB")


def test_what_the_kernel_does_not_say_is_unknown(proc: Path) -> None:
    for file in (proc / "ipv4").iterdir():
        file.unlink()
    states = {each.what: each.state for each in doctor.machine()}
    assert (
        states["TCP algorithms"] == states["receive buffer"] == states["send buffer"] == "unknown"
    )


def test_who_may_not_make_namespaces_is_told_who_may_allow_it() -> None:
    limit = "echo 0 > /proc/sys/user/max_user_namespaces"
    told = _said_by_one_without(limit, "setpriv", "--bounding-set=-all")
    assert told["state"] == "missing"
    assert "does not allow a user namespace" in told["found"]
    assert (
        told["fix"]
        == "run it as root, or let root allow user namespaces: sysctl user.max_user_namespaces=10000"
    )


def test_who_has_the_capabilities_needs_no_user_namespace_but_a_network_one() -> None:
    assert _said_by_one_without("echo 0 > /proc/sys/user/max_user_namespaces")["state"] == "ok"
    told = _said_by_one_without("echo 0 > /proc/sys/user/max_net_namespaces")
    assert "does not allow a network namespace" in told["found"]
    assert told["fix"] == "as root, allow it: sysctl user.max_net_namespaces=10000"
    limit = "echo 0 > /proc/sys/user/max_net_namespaces"
    kernel = _said_by_one_without(limit, about="kernel", part="runners")
    assert (kernel["state"], kernel["fix"]) == ("missing", told["fix"])
    assert kernel["found"] == f"namespaces: {told['found']}"


def test_who_may_not_confine_a_links_program_is_told_who_may_allow_it() -> None:
    limit = "echo 0 > /proc/sys/user/max_ipc_namespaces"
    told = _said_by_one_without(limit, about="confinement")
    assert told["state"] == "missing"
    assert "does not allow namespaces for names, shared memory and control groups" in told["found"]
    fix = "as root, allow it: sysctl user.max_ipc_namespaces=10000"
    assert told["fix"] == f"{fix}; or do without the confinement: --unconfined"


def _said_by_one_without(
    limit: str, *how: str, about: str = "namespaces", part: str = "machine"
) -> dict[str, str]:
    """Returns a finding of doctor's, as root of the test's own user namespace with a limit set."""
    own = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*own, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no user namespace of the test's own")
    command = [
        *own,
        "sh",
        "-c",
        f'{limit} && exec "$@"',
        "sh",
        *how,
        sys.executable,
        "-m",
        "fullpipe",
        "doctor",
    ]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = (each for each in json.loads(done.stdout)[part] if each["what"] == about)
    return found  # type: ignore[no-any-return]


def test_it_writes_nothing(command: list[str], tmp_path: Path) -> None:
    places = {name: str(tmp_path / name) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "here")}
    for place in places.values():
        os.mkdir(place)  # noqa: PTH102
    for more in ([], ["--json"], ["--report"]):
        done = subprocess.run(
            [*command, "doctor", *more],
            cwd=places["here"],
            env={**os.environ, **places},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert sorted(map(str, tmp_path.rglob("*"))) == sorted(places.values())


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has setpriv")
def test_a_cache_that_may_not_be_read_is_a_finding(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0)
    as_user = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    words = [sys.executable, "-m", "fullpipe", "doctor", "--json"]
    done = subprocess.run(
        [*(as_user if os.geteuid() == 0 else []), *words],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    cache.chmod(0o700)
    assert done.returncode == 0, done.stderr
    (uml,) = (each for each in json.loads(done.stdout)["runners"] if each["what"] == "uml")
    assert uml["found"] == f"this user may not read {cache}/fullpipe/oracle/linux"
    assert uml["fix"].endswith("set XDG_CACHE_HOME to another one")


@pytest.mark.skipif(sys.platform != "linux", reason="BPF needs Linux")
def test_the_needs_of_bpf_are_named_with_their_fixes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jit").write_text("0\n", encoding="ascii")
    (tmp_path / "status").write_text("Name:\tme\nCapEff:\t0000008000001000\n", encoding="ascii")
    (tmp_path / "map").write_text("         0          0 4294967295\n", encoding="ascii")
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-56-amd64")
    monkeypatch.setattr(machine, "_BTF", tmp_path / "btf")
    monkeypatch.setattr(machine, "_JIT", tmp_path / "jit")
    monkeypatch.setattr(machine, "_STATUS", tmp_path / "status")
    monkeypatch.setattr(machine, "_USERS", tmp_path / "map")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = {each.what: each for each in machine.needs()}
    assert [what for what, each in found.items() if each.met] == ["CAP_NET_ADMIN", "CAP_BPF"]
    assert found["BPF links"].fix == "boot Linux 6.4 or newer"
    assert "CONFIG_DEBUG_INFO_BTF" in found["BTF"].fix
    assert found["BPF JIT"].fix == "sysctl -w net.core.bpf_jit_enable=1"
    assert found["CAP_PERFMON"].fix == "run it with sudo"
    said = machine.unmet()
    assert said is not None
    assert "Linux 6.1.0-56-amd64 can't unload an algorithm" in said
    assert "as root: sysctl -w net.core.bpf_jit_enable=1" in said
    (tmp_path / "map").write_text("0 1000 1\n", encoding="ascii")
    others = [each for each in machine.needs() if each.what.startswith("CAP_")]
    assert [each.met for each in others] == [False, False, False]
    assert all("another user namespace" in each.found for each in others)
