"""`fullpipe link --cc`: the congestion control of both ends; and what a link says if a program reaches nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from links import Linked, tool

if TYPE_CHECKING:
    from links import Link

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a link needs Linux")

# TCP_CONGESTION of an accepted connection, and of the client's.
SERVER = """
import socket
with socket.create_server(("0.0.0.0", 7000)) as server:
    while True:
        client, _ = server.accept()
        with client:
            client.sendall(client.getsockopt(6, 13, 16).rstrip(bytes(1)))
"""
CLIENT = """
import socket
with socket.create_connection(("100.64.0.1", 7000)) as server:
    print(server.getsockopt(6, 13, 16).rstrip(bytes(1)).decode(), server.recv(16).decode())
"""


def _ends(linked: Linked, *options: str) -> list[str]:
    """Returns the algorithms of the program's connection, and of the server's."""
    for name, text in (("server.py", SERVER), ("client.py", CLIENT)):
        (linked.folder / name).write_text(text)
    done = linked.link(
        *options,
        f"--server={linked.python} {linked.folder / 'server.py'}",
        *("--", linked.python, str(linked.folder / "client.py")),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def _words(name: str) -> list[str]:
    return Path(f"/proc/sys/net/ipv4/tcp_{name}_congestion_control").read_text("ascii").split()


def test_each_end_has_its_own_algorithm_whatever_programs_may_choose(linked: Linked) -> None:
    usual = _ends(linked)[0]
    assert _ends(linked) == [usual, usual]
    # First those that `tcp_allowed_congestion_control` bars, if there are any. Those of `fullpipe kernel` come and go.
    present = [name for name in _words("available") if not name.startswith("fp_")]
    offered = sorted(present, key=lambda name: name in _words("allowed"))
    other = next(name for name in offered if name != usual)
    assert _ends(linked, f"--cc={other}") == [other, other]
    assert _ends(linked, f"--server-cc={other}") == [usual, other]
    assert _ends(linked, f"--cc={other}", f"--server-cc={usual}") == [other, usual]


def test_fullpipes_names_are_known(linked: Linked) -> None:
    assert _ends(linked, "--cc=newreno") == ["reno", "reno"]


def test_an_algorithm_that_the_kernel_lacks_is_refused(link: Link) -> None:
    for option, value in (("--cc", "nosuch"), ("--server-cc", "nosuch")):
        done = link(option, value, "--", "true")
        assert done.returncode == 2
        assert f"error: {option} nosuch: this kernel has no such algorithm" in done.stderr
        assert "fullpipe doctor" in done.stderr
    if "fp_copa" not in _words("available"):
        done = link("--server-cc", "copa", "--", "true")
        assert done.returncode == 2
        assert "fix: load it first: fullpipe kernel load copa; or name one" in done.stderr


def test_a_program_that_is_not_installed_is_named(link: Link) -> None:
    done = link("--", "no-such-program")
    assert done.returncode == 2
    assert "error: no-such-program: not found on PATH\n  fix: check the spelling" in done.stderr


def test_a_program_that_asks_for_localhost_is_told_what_can_be_reached(link: Link) -> None:
    call = (tool("curl"), "-sS", "http://localhost:8765/")
    alone = link("--rate=20mbit", "--", *call)
    assert alone.returncode == 7
    assert "there is only the far end, 100.64.0.1" in alone.stderr
    assert "--server 'COMMAND'" in alone.stderr
    by_proxy = link("--rate=20mbit", "--uplink", "--", *call)
    assert by_proxy.returncode == 97
    assert "the proxy of --uplink does not connect to localhost" in by_proxy.stderr
    idle = link("--uplink", "--", "sh", "-c", "exit 3")
    assert (idle.returncode, "does not connect" in idle.stderr) == (3, False)
    # A program that fails for another reason has had answers.
    answered = link("--", tool("ping"), "-c", "2", "-i", "0.2", "-W", "0.01", "100.64.0.1")
    assert "far end, 100.64.0.1" not in answered.stderr
