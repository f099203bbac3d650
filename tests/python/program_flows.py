"""Scenarios with programs as flows: a server and a client in Python, and the command that runs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import served

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

HEAD = """# a program next to the kernel
duration = "{duration}"
measure_from = "{warm_up}"

[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
"""
CUBIC = '\n[[flow]]\nname = "kernel-cubic"\ncc = "cubic"\n'
SERVER = "python3 {server} {{port}}"
CLIENT = "python3 {client} {{far}} {{port}}"
SENDS = """import socket, sys
listening = socket.create_server(("0.0.0.0", int(sys.argv[1])))
open("left.qlog", "w").write("a log")
while True:
    taker, _ = listening.accept()
    with taker:
        taker.sendall(bytes(1_000_000))
"""
TAKES = """import socket, sys
taken = 0
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as of:
    while data := of.recv(1 << 16):
        taken += len(data)
print("taken", taken)
"""


def scenario(
    folder: Path, *tables: str, duration: str = "3s", warm_up: str = "0s", name: str = "it"
) -> Path:
    file = folder / f"{name}.toml"
    file.write_text(HEAD.format(duration=duration, warm_up=warm_up) + "".join(tables))
    return file


def program(server: str, client: str, more: str = "") -> str:
    return f'\n[[program]]\nname = "mine"\nserver = """{server}"""\nclient = """{client}"""\n{more}'


def own(folder: Path, sends: str = SENDS, takes: str = TAKES, more: str = "") -> str:
    """A [[program]] of two scripts in Python."""
    server, client = folder / "sends.py", folder / "takes.py"
    server.write_text(sends)
    client.write_text(takes)
    return program(SERVER.format(server=server), CLIENT.format(client=client), more)


def fullpipe(*arguments: object) -> subprocess.CompletedProcess[str]:
    return served.command(*arguments)


def metrics(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return {flow["name"]: flow for flow in json.loads(done.stdout)["flows"]}
