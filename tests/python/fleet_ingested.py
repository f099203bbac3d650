"""Two arms of two hosts as files of ss, and calls of `fullpipe fleet ingest`."""

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from fullpipe.commands import app
from fullpipe.wings.fleet import store

REAL = (
    Path(__file__).parents[2]
    / "crates/wings/ingest/tests/fleet/data/ss_3ns_bbr_vs_cubic_50m.txt.gz"
)


def fleet(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["fleet", "ingest", *arguments])


def line(remote: str, acked: int, more: str = "") -> str:
    return (
        f"ESTAB 0 0 10.0.0.1:443 {remote}\n\t cubic rto:204 rtt:20/1 mss:1000 cwnd:10 bytes_sent:{acked + 10} "
        f"bytes_retrans:10 bytes_acked:{acked} segs_out:9 busy:500ms rwnd_limited:50ms(10.0%) {more}\n"
    )


def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Writes two arms of two hosts, a file per day; one connection continues from the first to the second day."""
    monkeypatch.chdir(tmp_path)
    for arm in ("cubic", "bbr"):
        for host in ("x", "y"):
            for day in (0, 1):
                file = Path(arm, host, f"day-{day}.ss")
                file.parent.mkdir(parents=True, exist_ok=True)
                time, acked = 1576576800 + 86400 * day, 1000 + 100 * day
                file.write_text(
                    f"@{time}\n{line('192.0.2.7:1', acked)}{line(f'192.0.2.8:{day + 10}', 500)}"
                    f"@{time + 10}\n{line('192.0.2.7:1', acked + 10)}"
                )
    return tmp_path


ARMS = ("--arm", "cubic=cubic/{host}/*.ss", "--arm", "bbr=bbr/{host}/*.ss")


def rows(directory: str = "out", table: str = "connections") -> pl.DataFrame:
    return store.scan(Path(directory), table).collect()


def zstd(content: bytes) -> bytes:
    """Returns a frame of raw blocks (RFC 8878 §3.1.1), which any program may write."""
    blocks = [content[at : at + 1000] for at in range(0, len(content), 1000)]
    heads = [
        (len(block) << 3 | (number == len(blocks) - 1)).to_bytes(3, "little")
        for number, block in enumerate(blocks)
    ]
    frame = b"".join(head + block for head, block in zip(heads, blocks, strict=True))
    return b"\x28\xb5\x2f\xfd\xa0" + len(content).to_bytes(4, "little") + frame
