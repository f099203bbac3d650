"""Kept files are read through one door, which finds damage and other forms, and names the file and the fix."""

from __future__ import annotations

import ast
import json
import random
import shutil
import string
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import polars as pl
import pytest

import fullpipe as package
from conftest import SCENARIO
from fullpipe.base.metrics import Metrics
from fullpipe.errors import DamagedError
from fullpipe.results import fresh_directory, kept, sums, write_shard
from fullpipe.results.form import mismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(package.__file__).parent
DOOR = "results/kept.py"

# Calls that read a file, or parse what one has. Their own modules are those of the checksums, and of texts that are
# no kept results: the user's files, the machine's, and messages of our own programs.
READS = {
    "read_text",
    "read_bytes",
    "json.load",
    "json.loads",
    "tomllib.load",
    "tomllib.loads",
    "pl.read_parquet",
    "pl.scan_parquet",
    "pl.read_csv",
    "pl.scan_csv",
    "pl.read_ndjson",
    "pl.scan_ndjson",
    "pl.read_parquet_metadata",
    "pl.read_parquet_schema",
}
OTHERS = {
    "results/sums.py": "the checksums, for the door",
    "study/records.py": "lines of the door's read_lines, each with its checksum",
    "study/shipped.py": "the user's files, to send them, and the text of a scenario",
    "results/objects.py": "a copy of an object store, whose files the door reads later",
    "base/build.py": "the program's own sources, and what its build wrote",
    "study/cells.py": "the text of a scenario, from the package or a user's suite",
    "algorithms/rehearsal.py": "the answer of a copy of this process",
    "study/crew.py": "a loaded library, to see whether it was built again",
    "algorithms/guard.py": "the names of this process's threads",
    "study/checks/judge.py": "verdicts of the core",
    "wings/search/attack/space.py": "the text of a scenario, from the package's space or a user's",
    "wings/search/attack/shrink/command.py": "the text of a user's scenario",
    "base/toml.py": "a value of --set",
    "runs/lengths.py": "the text of a scenario, complete",
    "study/verify/labels.py": "complete scenarios, which the door read",
    "commands/doctor.py": "the installation",
    "about/doctor.py": "the machine's configuration",
    "base/memory.py": "/proc/meminfo",
    "wings/bpf/": "the machine's settings, and messages of our own program and core",
    "wings/quic/runners/": "messages and records of our own programs, while they run",
    "wings/real/runners/": "messages and records of our own programs, while they run",
    "wings/quic/hostfit.py": "messages of our own program",
    "wings/real/links/run.py": "messages of our own program",
    "wings/real/loadtest/echo.py": "messages of our own program",
    "wings/real/loadtest/program.py": "messages of our own program",
    "wings/real/loadtest/plan.py": "values of a profile and the text of a scenario, from the core",
    "wings/real/links/api.py": "the text of a report, which the door read",
    "commands/complete.py": "the package's published tables",
    "commands/new.py": "the package's scenarios",
    "commands/shells.py": "the start file of the user's shell",
    "algorithms/plugins/": "cargo's messages, a crate of the user and its manifest, and the template of one",
    "about/pages.py": "the package's pages",
    "scenario/origin.py": "a user's scenario",
    "scenario/canned/": "the package's tests",
    "study/checks/run.py": "a user's scenario",
    "scenario/skeleton.py": "the text of a scenario, from the core",
    "about/catalogue.py": "the package's scenarios",
    "wings/pages/explore/page.py": "the package's page and scenarios",
    "runs/view/path.py": "the text of a scenario, from the core",
    "results/scenario.py": "the text of a scenario, which the door read",
    "wings/traces/foreign/": "files of other programs",
    "report/panels/time.py": "the text of a scenario, which the door read",
    "runs/data.py": "the core's metrics, from memory",
    "wings/real/validate/command.py": "the core's metrics, from memory",
    "wings/real/validate/drawn/runs.py": "the core's metrics, from memory",
    "wings/fleet/workload/captures.py": "the core's report, from memory",
    "algorithms/classes.py": "a user's code, for the record",
    "wings/traces/behavior/model.py": "the text of a scenario, from the core or a user",
    "wings/traces/behavior/source.py": "the text of a scenario, which the door read",
    "algorithms/programs/": "the package's recipes, and files that a program left, of a run that is not saved yet",
    "study/verdicts/reader.py": "a published table",
    "study/verify/study.py": "verdicts from memory",
    "study/reproduce/command.py": "a published table, for its fingerprint",
    "study/reproduce/pictures/series.py": "a published figure's numbers",
    "wings/fleet/command.py": "a user's key",
    "wings/fleet/sample.py": "/proc",
    "wings/fleet/workload/zeek.py": "a user's log, in pieces from the core",
    "wings/fleet/workload/csv_file.py": "a user's log, in pieces from the core",
    "report/html.py": "the page's script and styles",
    # A scenario's text is parsed where a part of it is needed; its file was read through the door.
    "study/other_runners.py": "a scenario's text",
    "wings/pages/gallery.py": "a scenario's text",
    "wings/search/observatory/site.py": "the page's script and styles",
    "wings/fleet/study/study.py": "a population's text",
    "results/qlog.py": "a scenario's text",
    "runs/view/plot.py": "a scenario's text",
    "study/sweeps/store.py": "a value of --set",
    "wings/search/score/suite.py": "a user's suite, for its fingerprint",
    "study/pool.py": "a scenario's text",
    "wings/search/score/inside.py": "a user's code",
    "wings/search/score/candidate.py": "a user's code and list of candidates",
    "wings/search/score/measure.py": "the text of a suite's scenario",
}


def _reads(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of, name = node.func.value, node.func.attr
            called = f"{of.id}.{name}" if isinstance(of, ast.Name) else name
            if called in READS or (
                name in ("read_text", "read_bytes") and called != "kept.read_text"
            ):
                yield f"{called} in line {node.lineno}"


def test_only_the_door_reads_kept_files() -> None:
    found = {
        str(file.relative_to(ROOT)): reads
        for file in sorted(ROOT.rglob("*.py"))
        if (reads := list(_reads(file)))
    }
    assert found.pop(DOOR)
    outside = {name: reads for name, reads in found.items() if not name.startswith(tuple(OTHERS))}
    assert not outside, "use fullpipe.results.kept, or say in OTHERS which files these are"
    unused = [name for name in OTHERS if not any(each.startswith(name) for each in found)]
    assert not unused, "no longer read a file themselves"


def test_a_directory_with_any_printable_character_in_its_name_is_read_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(1)
    printable = sorted(set(string.printable) - {"/"})
    names = {f"{each}run" for each in printable} | {f"run{each}" for each in printable}
    names |= {
        "".join(drawn.choices([*printable, *"[]*?{}!~:ü\u202e"], k=drawn.randint(1, 12)))
        for _ in range(300)
    }
    names -= {".", ".."}
    values = {name: value for value, name in enumerate(sorted(names))}
    for name, value in values.items():
        with fresh_directory(f"./{name}") as aside:
            pl.DataFrame({"value": [value]}).write_parquet(aside / "kept.parquet")
            (aside / "kept.json").write_text(json.dumps([value]))
            (aside / "kept.txt").write_text(f"{value}")
            write_shard(pl.DataFrame({"value": [value]}), aside, "part")
    for name, value in values.items():
        folder = Path(f"./{name}")
        assert kept.read_parquet(folder / "kept.parquet")["value"].to_list() == [value]
        assert kept.read_json(folder / "kept.json", list[int]) == [value]
        assert kept.read_text(folder / "kept.txt") == f"{value}"
        found = [file for file in kept.shards(folder) if sums.is_shard(file)]
        rows = kept.scan_parquet([*found, str(found[0])]).collect()
        assert rows["value"].to_list() == [value] * 2


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    drawn = random.Random(2)
    with fresh_directory(tmp_path / "run") as aside:
        pl.DataFrame({"value": range(1000)}).write_parquet(aside / "kept.parquet")
        shard = write_shard(pl.DataFrame({"value": range(1000)}), aside, "part").name
        sums.write_json(aside / ".sealed.json", {"format": 1, "value": [1.5, "text", None]})
    sealed = TypedDict("sealed", {"format": int, "value": list[float | str | None]})  # noqa: UP013
    files = [tmp_path / "run" / name for name in ("kept.parquet", shard, ".sealed.json")]
    for file in files:
        whole = file.read_bytes()
        for _ in range(300):
            bit = drawn.randrange(8 * len(whole))
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            if file.suffix == ".json":
                try:
                    found = kept.read_sealed(file, sealed, 1)
                except DamagedError as error:
                    assert str(file) in str(error) and "\n  fix: " in str(error)
                else:  # white space, which means nothing
                    assert found == {"format": 1, "value": [1.5, "text", None]}
            else:
                with pytest.raises(DamagedError, match="its checksum is another\n  fix: "):
                    kept.read_parquet(file)
        file.write_bytes(whole)


def test_sha256sum_checks_a_run(tmp_path: Path) -> None:
    package.run(SCENARIO, trace="100ms").save(tmp_path / "run")
    program = shutil.which("sha256sum")
    if program is None:
        pytest.skip("sha256sum is not installed")
    done = subprocess.run(
        [program, "--check", "--strict", "SHA256SUMS"],
        cwd=tmp_path / "run",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    named = {line.partition(":")[0] for line in done.stdout.splitlines()}
    assert named | {"SHA256SUMS"} == {file.name for file in (tmp_path / "run").iterdir()}


def test_a_file_that_was_written_and_is_missing_is_damage(tmp_path: Path) -> None:
    with fresh_directory(tmp_path / "run") as aside:
        (aside / "links.parquet").touch()
    (tmp_path / "run/links.parquet").unlink()
    with pytest.raises(DamagedError, match=r"links\.parquet: missing\n  fix: "):
        sums.is_there(tmp_path / "run/links.parquet")
    assert not sums.is_there(tmp_path / "run/other.parquet")


def test_another_form_is_said_with_its_place() -> None:
    metrics = json.loads(json.dumps(package.run(SCENARIO).metrics))
    assert mismatch(metrics, Metrics) is None
    changes: list[tuple[Callable[[Any], object], str]] = [
        (lambda it: it["flows"][1].pop("cc"), "no entry flows[1].cc"),
        (lambda it: it["flows"][0].update(sent="7"), "flows[0].sent is not a whole number"),
        (lambda it: it["flows"][0]["rtt_s"].update(p50=[]), "flows[0].rtt_s.p50 is not a number"),
        (lambda it: it.update(links={}), "links is not a list"),
        (lambda it: it.update(seed=True), "seed is not a whole number"),
    ]
    for change, said in changes:
        other = json.loads(json.dumps(metrics))
        change(other)
        assert mismatch(other, Metrics) == said
    assert mismatch([], Metrics) == "its content is not an object"
