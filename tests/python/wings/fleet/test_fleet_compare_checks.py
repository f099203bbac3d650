"""The checks of a comparison, and when it decides: hosts, strata and paths, missing files, and few data."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from fleet_compared import BBR1, check, rows, told
from fleet_made import lits, write_fleet
from fullpipe.results.sums import write_json
from fullpipe.wings.fleet import store

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe


def test_a_sample_ratio_mismatch_is_told(tmp_path: Path) -> None:
    write_fleet(
        tmp_path / "f", {"cubic": {}, "bbr1": {"rows": 0.8}}, hosts=6, rows=1000, counters=False
    )
    found = check(told(tmp_path / "f"), "sample ratio")
    assert found["fine"] is False
    assert "cubic 55.6% (50.0%), bbr1 44.4% (50.0%)" in found["text"]
    assert check(told(tmp_path / "f", ratio="cubic=5,bbr1=4"), "sample ratio")["fine"] is True


def test_one_host_that_makes_the_result_is_named(tmp_path: Path) -> None:
    arms = {"cubic": {}, "bbr1": {"odd": 0.05}}
    write_fleet(
        tmp_path / "f", arms, hosts=6, rows=600, host_sd=0.01, counters=False, requests=False
    )
    found = told(tmp_path / "f", unit="net")
    it = rows(found)["busy_rate.p25", "bbr1", "cubic"]
    assert it["verdict"] == "worse"
    assert it["without_host"] == "bbr1-0"
    assert "without bbr1-0" in check(found, "one host")["text"]
    # Resampling by hosts recognizes the difference as chance.
    assert rows(told(tmp_path / "f"))["busy_rate.p25", "bbr1", "cubic"]["verdict"] == "undecided"


def test_a_broken_host_that_widens_intervals_is_named(tmp_path: Path) -> None:
    arms = {"cubic": {}, "bbr1": {"odd": 0.05}}
    same: dict[str, Any] = {
        "hosts": 12,
        "rows": 300,
        "host_sd": 0.05,
        "counters": False,
        "requests": False,
    }
    write_fleet(tmp_path / "f", arms, **same)
    found = told(tmp_path / "f")
    assert rows(found)["busy_rate.p25", "bbr1", "cubic"]["verdict"] == "undecided"
    said = check(found, "one host")["text"]
    assert re.search(
        r"bbr1-0 differs from the other hosts of bbr1: without it the interval of .* \d[\d.]* times as narrow",
        said,
    ), said
    write_fleet(tmp_path / "g", {"cubic": {}, "bbr1": {}}, **same)
    assert "differs from the other hosts" not in check(told(tmp_path / "g"), "one host")["text"]


def test_a_stratum_that_few_hosts_have_does_not_count_as_lossless(tmp_path: Path) -> None:
    """Resamples may lack the stratum. A value that all connections share has no spread in any resample."""
    for arm, lost in (("cubic", 10_000), ("bbr1", 20_000)):
        for host in range(4):
            near = pl.Series(np.linspace(0.01, 0.05, 200))
            frame = pl.DataFrame(
                {
                    "bytes_sent": [1_000_000] * 200,
                    "bytes_retrans": [lost] * 200,
                    "minrtt_s": near * 20 if host == 0 else near,
                }
            ).with_columns(**lits({"arm": arm, "host": f"{arm}-{host}"}))
            store.write(tmp_path / "f", "connections", frame, f"{host}")
    it = rows(told(tmp_path / "f", min_bytes="0"))["loss", "bbr1", "cubic"]
    assert it["effect_standardized"] == pytest.approx(
        {"kind": "ratio", "value": 2, "low": 2, "high": 2}
    )


def test_a_host_with_nearly_all_of_an_arm_gives_no_interval_and_no_crash(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    for arm in ("cubic", "bbr1"):
        for host, number in enumerate((3000, 1)):
            frame = pl.DataFrame(
                {"bytes_acked": [2_000_000] * number, "busy_s": rng.lognormal(0, 1, number)}
            )
            own = lits({"arm": arm, "host": f"{arm}-{host}"})
            store.write(tmp_path / "f", "connections", frame.with_columns(**own), f"{host}")
    done = fullpipe("fleet", "compare", "f")
    assert done.returncode == 0, done.stderr
    assert "000,000" not in done.stdout.split("clusters")[0].split("verdict")[1]
    assert rows(told(tmp_path / "f"))["busy_rate.p50", "bbr1", "cubic"]["verdict"] == "undecided"


def test_too_few_data_are_called_that(tmp_path: Path) -> None:
    write_fleet(
        tmp_path / "f", {"cubic": {}, "bbr1": {"rate": 1.02}}, hosts=3, rows=30, counters=False
    )
    found = told(tmp_path / "f")
    it = rows(found)["throughput.p50", "bbr1", "cubic"]
    assert it["verdict"] == "undecided"
    assert it["data_needed"] > 2
    assert check(found, "enough data")["fine"] is False
    assert check(found, "clusters")["fine"] is False


def test_one_host_an_arm_is_no_experiment(tmp_path: Path) -> None:
    write_fleet(
        tmp_path / "f", {"cubic": {}, "bbr1": {"rate": 1.5}}, hosts=1, rows=3000, counters=True
    )
    found = told(tmp_path / "f")
    assert found["clusters"] == {"unit": "net", "why": "an arm has only one host"}
    assert check(found, "clusters")["fine"] is False
    by = rows(found)
    assert by["busy_rate.p50", "bbr1", "cubic"]["verdict"] == "better"
    # A metric that only hosts have has no interval with this unit.
    assert by["retrans", "bbr1", "cubic"]["verdict"] == "unknown"
    assert by["retrans", "bbr1", "cubic"]["effect"]["low"] is None


ARMS = ("--arm", "cubic=cubic/{host}.ss", "--arm", "bbr=bbr/{host}.ss")
INGEST = ("fleet", "ingest", *ARMS, "-o", "f")
SIMULATE = ("fleet", "simulate", "--cc", "cubic,bbr3", "--paths", "5", "--out", "f")


@pytest.fixture
def hosts(tmp_path: Path) -> None:
    """Writes samples of two arms of two hosts."""
    for arm in ("cubic", "bbr"):
        (tmp_path / arm).mkdir()
        for host in ("x", "y"):
            sockets = "".join(
                f"ESTAB 0 0 10.0.0.1:443 192.0.2.{at}:{at + 1}\n\t cubic rtt:20/1 mss:1000 cwnd:10 "
                f"bytes_sent:9{at}00000 bytes_acked:8{at}00000 busy:{at + 50}ms\n"
                for at in range(10, 40)
            )
            (tmp_path / arm / f"{host}.ss").write_text(f"@1576576800\n{sockets}")


@pytest.mark.parametrize("make", [INGEST, SIMULATE])
@pytest.mark.parametrize("damage", ["removed", "renamed", "changed", "moved"])
@pytest.mark.usefixtures("hosts")
def test_a_missing_or_changed_file_of_a_table_is_an_error(
    fullpipe: Fullpipe, tmp_path: Path, make: tuple[str, ...], damage: str
) -> None:
    """The command that made the directory makes the file again."""
    directory, compare = tmp_path / "f", ("fleet", "compare", "f", "--min-bytes", "0", "--json")
    assert fullpipe(*make).returncode == 0
    whole = fullpipe(*compare)
    assert check(json.loads(whole.stdout), "files")["fine"] is True
    for table in sorted(each.name for each in directory.iterdir() if list(each.glob("arm=*"))):
        file = min((directory / table).rglob("[!.]*.parquet"))
        match damage:
            case "removed":
                file.unlink()
            case "renamed":
                file.rename(file.with_name("other.parquet"))
            case "changed":
                content = bytearray(file.read_bytes())
                content[len(content) // 2] ^= 1
                file.write_bytes(content)
            case "moved":
                shutil.move(directory / table, tmp_path / "elsewhere" / table)
        refused = fullpipe(*compare)
        assert (refused.returncode, refused.stdout) == (2, ""), table
        assert refused.stderr.startswith(f"error: {file.relative_to(tmp_path)}: ")
        assert "fix: run the command that made it again" in refused.stderr
        assert fullpipe(*make).returncode == 0
        assert fullpipe(*compare).stdout == whole.stdout


@pytest.mark.usefixtures("hosts")
def test_what_is_not_there_yet_keeps_the_decision_open(fullpipe: Fullpipe, tmp_path: Path) -> None:
    # A larger population, as if a process had been killed after the first shard.
    assert fullpipe(*SIMULATE[:-2], "--out", "g").returncode == 0
    about = json.loads((tmp_path / "g" / "simulate.json").read_text())
    del about["checksum"]
    write_json(tmp_path / "g" / "simulate.json", {**about, "paths": 60})
    found = json.loads(fullpipe("fleet", "compare", "g", "--min-bytes", "0", "--json").stdout)
    files = check(found, "files")
    assert files["fine"] is False
    assert files["text"].startswith("5 of 60 paths are there: run fullpipe fleet simulate")

    # The first arm was read, and the second was interrupted.
    out = tmp_path / "h"
    ingest = (*INGEST[:-2], "-o", "h")
    assert fullpipe(*ingest).returncode == 0
    about = json.loads((out / "ingest.json").read_text())
    del about["checksum"]
    about["complete"] = about["sources"][3]["complete"] = False
    write_json(out / "ingest.json", about)
    found = json.loads(fullpipe("fleet", "compare", "h", "--min-bytes", "0", "--json").stdout)
    files = check(found, "files")
    assert files["fine"] is False
    assert "not all rows of bbr/y, ss are there" in files["text"]
    decision = " ".join(fullpipe("fleet", "compare", "h", "--min-bytes", "0").stdout.split())
    assert "files warn" in decision.partition("Decision: not yet: the checks ")[2]


@pytest.mark.usefixtures("hosts")
def test_a_directory_without_a_list_of_files_is_read_and_that_is_said(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    """Files that the list lacks are of a killed process, and not counted."""
    assert fullpipe(*INGEST).returncode == 0
    file = next((tmp_path / "f" / "connections" / "arm=bbr").rglob("*.parquet"))
    twice = file.with_name(f"0{file.name}")
    shutil.copy(file, twice)
    compare = ("fleet", "compare", "f", "--min-bytes", "0", "--json")
    found = json.loads(fullpipe(*compare).stdout)
    assert found["rows"]["connections"] == {"cubic": 60, "bbr": 60}
    for change in ({"format": 1}, {}):  # another version's format, and this one's without lists
        about = json.loads((tmp_path / "f" / "ingest.json").read_text())
        del about["checksum"]
        for source in about["sources"]:
            source.pop("written", None)
            source.pop("complete", None)
        write_json(tmp_path / "f" / "ingest.json", {**about, "format": 2, **change})
        found = json.loads(fullpipe(*compare).stdout)
        assert found["rows"]["connections"] == {"cubic": 60, "bbr": 90}
        files = check(found, "files")
        assert files["fine"] is None
        assert "no list of the tables' files is there" in files["text"]


def _simulated(fullpipe: Fullpipe, directory: str, *args: str) -> dict[str, Any]:
    arms = ("--cc", "cubic,bbr3", "--paths", "60", *args)
    made = fullpipe("fleet", "simulate", *arms, "--out", directory)
    assert made.returncode == 0, made.stderr
    found: dict[str, Any] = json.loads(fullpipe("fleet", "compare", directory, "--json").stdout)
    return found


def test_few_paths_decide_nothing(fullpipe: Fullpipe) -> None:
    found = _simulated(fullpipe, "few")
    undecided = sum(row["verdict"] == "undecided" for row in found["decision"])
    assert undecided > len(found["decision"]) / 2
    done = fullpipe("fleet", "compare", "few").stdout
    last = " ".join(done.partition("\nDecision: ")[2].split())
    assert last.startswith(
        f"not yet: {undecided} of {len(found['decision'])} metrics are undecided"
    )
    assert "use bbr3" not in last


def test_an_interval_and_its_verdict_agree(fullpipe: Fullpipe) -> None:
    for row in _simulated(fullpipe, "agree")["decision"]:
        effect = row["effect"]
        if effect["low"] is None or row["p_corrected"] is None or effect["low"] == effect["high"]:
            continue
        nothing = 1.0 if effect["kind"] == "ratio" else 0.0
        excludes = not effect["low"] <= nothing <= effect["high"]
        assert excludes == (row["p_corrected"] <= 0.05), row["metric"]


def test_the_ends_of_an_interval_have_the_notation_of_its_effect(fullpipe: Fullpipe) -> None:
    _simulated(fullpipe, "ends")
    table = fullpipe("fleet", "compare", "ends").stdout.partition("fine clusters")[0]
    intervals = re.findall(r"(\S+(?: [%×])?) \((\S+(?: ×)?) to (\S+(?: ×)?)\)", table)
    assert len(intervals) > 10
    for effect, low, high in intervals:
        assert {"÷" in low, "÷" in high} == {"÷" in effect}, (effect, low, high)
        assert "×" not in low + high, (effect, low, high)


def test_a_failed_check_leaves_the_decision_open(fullpipe: Fullpipe, tmp_path: Path) -> None:
    write_fleet(tmp_path / "f", {"cubic": {}, "bbr1": {**BBR1, "rows": 0.8}})
    done = fullpipe("fleet", "compare", "f").stdout
    last = " ".join(done.partition("\nDecision: ")[2].split())
    assert last.startswith("not yet: the checks clusters, sample ratio warn and "), last
    assert "So far bbr1 is better: p25 throughput (nginx) +2" in last
