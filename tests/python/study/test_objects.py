"""Results in an object store: a local S3 server has whole objects only, whenever it is asked.

`make setup-all` installs obstore and the server, moto.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import fullpipe as package
import served
from ray_nodes import wait
from test_resumed import COMMANDS as RESUMED
from test_resumed import COUNTED, ran, stopped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

obstore = pytest.importorskip(
    "obstore", reason="obstore is not installed; `make setup-all` installs it"
)
pytest.importorskip("moto", reason="moto is not installed; `make setup-all` installs it")

SCENARIO = """\
# Short runs
duration = "5s"
[path]
rate = "50mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
"""
SHARD = re.compile(r".*-([0-9a-f]{16})\.parquet")
SERVER = """
import sys, threading
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
threading.Event().wait()
"""


class S3:
    """A server with the bucket `results`."""

    def __init__(self, address: str, home: Path) -> None:
        self.address, self.home = address, home
        self.env = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": address,
            "AWS_ALLOW_HTTP": "true",
            "XDG_CACHE_HOME": str(home / "cache"),
        }
        asked = urllib.request.Request(f"{address}/results", method="PUT")
        with urllib.request.urlopen(asked, timeout=20):
            pass
        self._store = obstore.store.S3Store(
            "results",
            endpoint=address,
            access_key_id="test",
            secret_access_key="test",
            region="us-east-1",
            client_options={"allow_http": True},
        )

    def get(self, name: str) -> bytes:
        return bytes(obstore.get(self._store, name).bytes())

    def put(self, name: str, content: bytes) -> None:
        obstore.put(self._store, name, content)

    def names(self) -> list[str]:
        return [each["path"] for some in obstore.list(self._store) for each in some]

    def shards(self) -> list[str]:
        return [name for name in self.names() if "/runs/" in name]

    def fullpipe(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in {**self.env, **more}.items() if value}
        return served.command(*arguments, directory=self.home, environment=environment)

    @contextmanager
    def begun(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        with subprocess.Popen(
            [sys.executable, "-m", "fullpipe", *arguments],
            cwd=self.home,
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture
def s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    (tmp_path / "short.toml").write_text(SCENARIO)
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout
        try:
            made = S3(f"http://127.0.0.1:{int(server.stdout.readline())}", tmp_path)
            for name, value in made.env.items():
                monkeypatch.setenv(name, value)
            yield made
        finally:
            server.kill()


URL = "s3://results/some/sweep"
SWEEP = ["sweep", "short.toml", "--trace=off"]


def test_a_killed_sweep_goes_on_from_the_store_and_no_partial_object_is_ever_seen(
    s3: S3, tmp_path: Path
) -> None:
    with s3.begun(*SWEEP, "--repeat=1000000", "--threads=1", f"--out={URL}") as killed:
        wait(lambda: len(s3.shards()) > 1)
        second = s3.fullpipe(
            *SWEEP, "--repeat=9", f"--out={URL}", XDG_CACHE_HOME=str(tmp_path / "another")
        )
        for name in s3.shards():  # whole, though the sweep runs
            found = SHARD.fullmatch(name)
            assert found, name
            content = s3.get(name)
            assert hashlib.sha256(content).hexdigest().startswith(found[1])
        assert killed.poll() is None
        killed.send_signal(signal.SIGKILL)
    assert second.returncode == 2
    assert second.stderr.startswith(f"error: {URL}: another process is adding to it")
    kept = {name: s3.get(name) for name in s3.shards()}
    repeat = max(int(name.rpartition("/")[2].split("-")[1]) for name in kept) + 100

    # An object is damaged, and another one is cut off. On another machine, whose cache is empty, the sweep continues.
    first, last = min(kept), max(kept)
    s3.put(first, b"damaged")
    s3.put(last, kept[last][:100])
    again = s3.fullpipe("report", URL, "--out=early.html")
    assert again.returncode == 2
    assert "damaged: its checksum is another\n  fix: run the command" in again.stderr
    resumed = s3.fullpipe(
        *SWEEP, f"--repeat={repeat}", f"--out={URL}", XDG_CACHE_HOME=str(tmp_path / "another")
    )
    assert resumed.returncode == 0, resumed.stderr
    assert f"kept in {URL}" in resumed.stdout
    assert {*s3.shards()} >= kept.keys() - {first, last}
    assert not [name for name in s3.names() if "/." in name], "the lease is gone"

    in_store = package.Sweep(URL)
    rows = in_store.frame()
    assert rows["seed"].to_list() == list(range(1, repeat + 1))
    # The seeds of both objects that were no good, and of the runs that were added.
    for seed in (1, int(last.rpartition("/")[2].split("-")[0]), repeat - 19):
        here = s3.fullpipe(*SWEEP, f"--seed={seed}", "--repeat=20", f"--out=here-{seed}")
        assert here.returncode == 0, here.stderr
        local = package.Sweep(tmp_path / f"here-{seed}").frame()
        assert_frame_equal(rows.filter(pl.col("seed").is_between(seed, seed + 19)), local)
    assert in_store.replay(0, 3) == f"fullpipe run {URL} --point 0 --seed 3"
    assert s3.fullpipe("report", URL, "--out=page.html").returncode == 0
    replayed = s3.fullpipe("run", URL, "--point=0", "--seed=3", "--json")
    assert replayed.returncode == 0, replayed.stderr


def test_a_fleet_in_a_store_is_the_same_as_in_a_directory(s3: S3) -> None:
    asked = ["fleet", "simulate", "--cc=cubic,bbr1"]
    url = "s3://results/fleet"
    for paths, out in (("40", url), ("80", url), ("80", "here")):
        done = s3.fullpipe(*asked, f"--paths={paths}", f"--out={out}")
        assert done.returncode == 0, done.stderr
    compared = [s3.fullpipe("fleet", "compare", place, "--json") for place in (url, "here")]
    assert [each.returncode for each in compared] == [0, 0], compared[0].stderr
    mine, other = (each.stdout for each in compared)
    assert len(mine) > 1000
    assert re.sub(r'"directory": "[^"]*"', "", mine) == re.sub(r'"directory": "[^"]*"', "", other)
    path = s3.fullpipe("fleet", "path", url, "3")
    assert path.returncode == 0
    assert "[path]" in path.stdout


def test_what_the_store_refuses_is_an_error_with_a_fix(s3: S3) -> None:
    for out, more, said in (
        ("s3://absent/x", {}, "s3://absent/x: no such bucket\n  fix: "),
        (
            URL,
            {
                "AWS_ACCESS_KEY_ID": "",
                "AWS_SECRET_ACCESS_KEY": "",
                "AWS_METADATA_ENDPOINT": "http://127.0.0.1:1",
            },
            f"{URL}: no credentials\n  fix: set AWS_ACCESS_KEY_ID",
        ),
        (URL, {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, f"{URL}: "),
    ):
        done = s3.fullpipe(*SWEEP, f"--out={out}", **more)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith(f"error: {said}"), done.stderr
        assert "Traceback" not in done.stderr
    for asked in (["report", URL, "--out=x.html"], ["fleet", "compare", URL]):
        done = s3.fullpipe(*asked)
        assert (done.returncode, done.stderr) == (
            2,
            f"error: {URL}: no objects there\n  fix: name the URL given to --out\n",
        )


EXPECTED = SCENARIO.replace('duration = "5s"', 'duration = "200ms"\nexpect = ["jain >= 0"]')
COMMANDS = {
    "run": ["run", "expected.toml"],
    "check": ["check", "expected.toml", "--repeat=2"],
    "compare": ["compare", "cubic", "bbr3", "--duration=200ms", "--repeat=3"],
    "evaluate": [
        *("evaluate", "cubic", "--suite=prudentia", "--quick", "--seeds=3"),
        *("--criterion=itself", "--axis=rate=8mbit"),
    ],
    "evaluate --suite bbr-draft": ["evaluate", "bbr3", "--suite=bbr-draft"],
    "reproduce": ["reproduce", "kernel", "--case=k_loss2_cubic"],
    "test": ["test", "upload", "--duration=1s", "--rate=1mbit"],
    "attack search": ["attack", "search", "cubic", "--random", "--budget=1s", "--worst=1"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_store_has_the_files_of_the_directory(s3: S3, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "expected.toml").write_text(EXPECTED)
    url = f"s3://results/{command[0]}"
    kept, here = (s3.fullpipe(*command, f"--out={place}") for place in (url, "here"))
    assert kept.returncode in (0, 1), kept.stderr
    assert (kept.returncode, here.returncode) == (here.returncode, kept.returncode)
    assert url in kept.stdout
    assert ".cache" not in kept.stdout
    files = {
        file.relative_to(tmp_path / "here").as_posix()
        for file in (tmp_path / "here").rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.parts)
    }
    stored = {name.removeprefix(f"{command[0]}/") for name in s3.names()}
    # The division into shards follows the machine's load.
    assert _without_shards(stored) == _without_shards(files)
    if command[0] not in ("compare", "evaluate"):  # these resume
        again = s3.fullpipe(*command, f"--out={url}")
        assert again.returncode == 2
        assert f"--out {url} exists already" in again.stderr


def _without_shards(names: set[str]) -> set[str]:
    return {name.rpartition("/runs/")[0] + "/runs" if "/runs/" in name else name for name in names}


def test_commands_read_what_others_keep_in_a_store(s3: S3, tmp_path: Path) -> None:
    (tmp_path / "expected.toml").write_text(EXPECTED)
    for rate in ("5mbit", "10mbit"):
        words = ("run", "expected.toml", f"--set=path.rate={rate}", f"--out=s3://results/{rate}")
        assert s3.fullpipe(*words).returncode == 0
    beside = s3.fullpipe("compare", "s3://results/5mbit", "s3://results/10mbit")
    assert beside.returncode == 0, beside.stderr
    assert "rate 10mbit" in beside.stdout
    assert "fullpipe report s3://results/5mbit s3://results/10mbit" in beside.stdout
    check = ("check", "expected.toml", "--repeat=3")
    assert s3.fullpipe(*check, "--out=s3://results/checked").returncode == 0
    against = s3.fullpipe(*check, "--against=s3://results/checked")
    assert against.returncode == 0, against.stderr
    assert "0 worse, 0 better" in against.stdout
    assert "against s3://results/checked" in against.stdout
    shrunk = s3.fullpipe(
        "attack", "shrink", "s3://results/5mbit", "--keep=goodput < 50mbit", "--seeds=1"
    )
    assert shrunk.returncode == 0, shrunk.stderr
    compared = package.compare("cubic", "bbr3", duration="200ms", repeat=3, out="s3://results/both")
    assert "s3://results/both" in repr(compared)
    assert package.Comparison("s3://results/both").flows.equals(compared.flows)


def test_a_comparison_in_a_store_continues_on_another_machine(s3: S3, tmp_path: Path) -> None:
    words = ("compare", "cubic", "bbr3", "--duration=200ms", "--out=s3://results/both")
    assert s3.fullpipe(*words, "--repeat=3").returncode == 0
    again = s3.fullpipe(*words, "--repeat=4", XDG_CACHE_HOME=str(tmp_path / "another"))
    assert again.returncode == 0, again.stderr
    assert "3 runs, " in again.stdout


@pytest.mark.parametrize("name", ["check", "test"])
def test_an_interrupted_command_has_its_runs_on_its_machine_and_goes_on(
    s3: S3, command: list[str], tmp_path: Path, name: str
) -> None:
    (tmp_path / "counted.py").write_text(COUNTED)
    for file in ("first", "second"):
        (tmp_path / f"{file}.toml").write_text(f"# The {file}\n{EXPECTED}")
    words, runs = RESUMED[name]
    url = f"s3://results/{name}"
    asked = [*words, "--on=counted:Counted", f"--out={url}"]
    code, said = stopped([*command, *asked], tmp_path, 2)
    assert code == 130
    kept = re.search("finished runs are kept in (.*); the same command resumes there\n$", said)
    assert kept, said
    assert (tmp_path / kept[1]).is_dir()
    assert not s3.names()
    resumed = s3.fullpipe(*asked)
    assert resumed.returncode in (0, 1), resumed.stderr
    assert f"kept in {url}" in resumed.stdout
    assert len(ran(tmp_path)) == len(set(ran(tmp_path))) == runs
    assert not (tmp_path / kept[1]).exists()
    assert f"{name}/{name}.json" in s3.names()
