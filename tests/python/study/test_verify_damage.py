"""`fullpipe verify`: each kind of damage of each kind of kept results is found, or said not to be compared."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest

import served
from conftest import SCENARIO
from fullpipe.results import write_shard
from fullpipe.results.kept import parquet_about
from fullpipe.results.sums import SUMS, is_shard, stem, write_json
from test_evaluate import SMALL
from test_published import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KINDS = {
    "run": "run base.toml --out kept",
    "sweep": "sweep base.toml --buffer 1bdp,2bdp --repeat 2 --out kept",
    "comparison": "compare cubic newreno --duration 1s --repeat 2 --out kept",
    "transfers": "sweep workload --duration 2s --repeat 2 --trace '100ms transfers' --out kept",
    "check": "check base.toml --repeat 2 --out kept",
    "study": "reproduce small.toml --seeds 2 --out kept",
    "evaluation": "evaluate cubic --suite suite.toml --seeds 3 --out kept",
}


def rewritten(file: Path, frame: pl.DataFrame) -> None:
    """Replaces the rows of a file; a shard keeps its name and its description, and gets the right checksum."""
    if not is_shard(file):
        frame.write_parquet(file)
        return
    about = parquet_about(file, "fullpipe")
    file.unlink()
    write_shard(frame, file.parent, stem(file), about)


def resealed(file: Path, **changes: object) -> None:
    """Changes entries of a description, with the right checksum; None leaves one out."""
    about = json.loads(file.read_text())
    del about["checksum"]
    write_json(file, {key: each for key, each in (about | changes).items() if each is not None})


def unsummed(directory: Path) -> None:
    """Deletes the checksums of files that do not grow."""
    for sums in directory.rglob(SUMS):
        sums.unlink()


def other_build(directory: Path) -> None:
    unsummed(directory)
    for name in ("sweep.json", "check.json"):
        for file in directory.rglob(name):
            resealed(file, build="0" * 16)
    for file in directory.rglob("made.json"):
        file.write_text(json.dumps({**json.loads(file.read_text()), "build": "0" * 16}))


def rows(directory: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Changes all rows of runs, or the metrics of a run, but not the fingerprints."""
    unsummed(directory)
    for file in sorted(directory.rglob("*.parquet")):
        frame = pl.read_parquet(file)
        if "goodput_bps" in frame.columns and "cwnd" not in frame.columns:
            rewritten(file, change(frame))


def metrics(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    unsummed(directory)
    for file in directory.rglob("metrics.json"):
        found = json.loads(file.read_text())
        change(found)
        file.write_text(json.dumps(found))


def version(directory: Path) -> None:
    rows(
        directory,
        lambda frame: (
            frame.with_columns(version=pl.lit("0.0.9")) if "version" in frame.columns else frame
        ),
    )
    metrics(directory, lambda found: found.update(version="0.0.9"))


def fewer(directory: Path) -> None:
    """Leaves out a number, as of a build that did not have it; the fingerprints of rows do not have it."""
    from fullpipe.results.fingerprint import NAME, of_all, of_rows

    def without(frame: pl.DataFrame) -> pl.DataFrame:
        frame = frame.drop("retransmits")
        if NAME not in frame.columns:
            return frame
        more = [name for name in frame.columns if name.startswith("path.") or name == NAME]
        return frame.with_columns(of_rows(frame.drop(more)))

    rows(directory, without)
    for file in directory.rglob("sweep.json"):
        known = [pl.read_parquet(each)[NAME] for each in (file.parent / "runs").iterdir()]
        resealed(file, fingerprint=of_all(pl.concat(known)))
    metrics(directory, lambda found: [each.pop("retransmits") for each in found["flows"]])


def fewer_in_another_build(directory: Path) -> None:
    fewer(directory)
    other_build(directory)


def other_fingerprints(directory: Path) -> None:
    """Fingerprints as another build defines them, of the same numbers."""
    from fullpipe.results.fingerprint import NAME, of_all

    name = pl.lit("0" * 16).alias(NAME)
    rows(
        directory,
        lambda frame: frame.with_columns(name) if NAME in frame.columns else frame,
    )
    for file in directory.rglob("sweep.json"):
        known = [pl.read_parquet(each)[NAME] for each in (file.parent / "runs").iterdir()]
        resealed(file, fingerprint=of_all(pl.concat(known)))


def other_fingerprints_in_another_build(directory: Path) -> None:
    other_fingerprints(directory)
    other_build(directory)


def nothing(_directory: Path) -> None:
    """Makes no damage, for what the output says anyway."""


def no_series(directory: Path) -> None:
    for folder in directory.rglob("series"):
        shutil.rmtree(folder)


def no_tables(directory: Path) -> None:
    unsummed(directory)
    for name in ("trace", "links", "queues", "transitions"):
        for file in directory.rglob(f"{name}.parquet"):
            file.unlink()


def fewer_tables(directory: Path) -> None:
    unsummed(directory)
    for file in [*directory.rglob("*.links-*.parquet"), *directory.rglob("links.parquet")]:
        file.unlink()


def no_flows(directory: Path) -> None:
    for file in directory.rglob("series/*.parquet"):
        if "." not in stem(file):
            file.unlink()


def no_later_transfers(directory: Path) -> None:
    (file,) = directory.rglob("series/0-2.transfers-*.parquet")
    file.unlink()


def one_trace_without_level(directory: Path) -> None:
    """Takes the level of one trace, and changes another one."""
    one, other = sorted(
        file for file in directory.rglob("series/*.parquet") if "." not in stem(file)
    )
    name, frame = stem(one), pl.read_parquet(one)
    one.unlink()
    write_shard(frame, one.parent, name)
    rewritten(other, pl.read_parquet(other).with_columns(pl.col("inflight") + 1))


def without(*names: str) -> Callable[[Path], None]:
    """Returns the removal of files or folders, by patterns."""

    def remove(directory: Path) -> None:
        found = [each for name in names for each in directory.glob(name)]
        assert found
        for each in found:
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink()

    return remove


def changed(pattern: str) -> Callable[[Path], None]:
    """Returns a change of a byte of a file."""

    def change(directory: Path) -> None:
        file = sorted(directory.glob(pattern))[0]
        content = bytearray(file.read_bytes())
        content[len(content) // 3] ^= 1
        file.write_bytes(content)

    return change


def unsealed(directory: Path) -> None:
    """Gives all rows of two runs other fingerprints."""
    from fullpipe.results.fingerprint import NAME, of_all

    (file,) = directory.glob("runs/*")
    frame = pl.read_parquet(file)
    frame = frame.with_columns(
        pl.when(pl.col("seed") == 7).then(pl.lit("0" * 16)).otherwise(NAME).alias(NAME)
    )
    rewritten(file, frame)
    resealed(directory / "sweep.json", fingerprint=of_all(frame[NAME]))


def fewer_runs(directory: Path) -> None:
    """Leaves out a run, with the fingerprint of the others."""
    from fullpipe.results.fingerprint import NAME, of_all

    (file,) = directory.glob("runs/*")
    frame = pl.read_parquet(file).filter((pl.col("seed") != 8) | (pl.col("point") != 1))
    rewritten(file, frame)
    resealed(directory / "sweep.json", fingerprint=of_all(frame[NAME]))


def labels(directory: Path, *, rows_too: bool) -> None:
    """Exchanges the labels of two points, in the points alone or in the rows and the description, too."""
    unsummed(directory)
    file = directory / "points.parquet"
    frame = pl.read_parquet(file)
    names = [name for name in frame.columns if name.startswith("path.")]
    frame = frame.with_columns(pl.col(names).reverse())
    rewritten(file, frame)
    for shard in directory.glob("runs/*") if rows_too else ():
        of = pl.read_parquet(shard)
        rewritten(shard, of.with_columns(frame[name].gather(of["point"]) for name in names))


def labels_of_points(directory: Path) -> None:
    labels(directory, rows_too=False)


def labels_everywhere(directory: Path) -> None:
    labels(directory, rows_too=True)


def other_number_of_a_label(directory: Path) -> None:
    unsummed(directory)
    file = directory / "points.parquet"
    rewritten(file, pl.read_parquet(file).with_columns(pl.col("path.buffer.value") + 1))


def other_axis(directory: Path) -> None:
    axis = {"key": "path.buffer", "values": ["1bdp", "3bdp"], "unit": "bdp"}
    resealed(directory / "sweep.json", axes=[axis])


def other_seeds(directory: Path) -> None:
    resealed(directory / "sweep.json", seeds=[1, 2])


class Damage(NamedTuple):
    """A damage: the kinds that it is done to, the change, the exit code of `verify`, and words of its output."""

    kinds: str
    change: Callable[[Path], object]
    code: int
    words: str


DAMAGES = {
    "other version": Damage("run sweep comparison check", version, 0, " equal"),
    "fewer numbers": Damage("run sweep check", fewer, 1, "retransmits is empty, and "),
    "fewer numbers, other build": Damage(
        "run sweep check", fewer_in_another_build, 0, "since only this build has them: "
    ),
    "another form of fingerprints": Damage(
        "sweep", other_fingerprints, 1, "fingerprint is 0000000000000000"
    ),
    "another form of fingerprints, other build": Damage(
        "sweep", other_fingerprints_in_another_build, 0, "4 of 4 equal"
    ),
    "no series": Damage("sweep comparison transfers", no_series, 1, "its trace is missing"),
    "no trace": Damage("run", no_tables, 1, "seed 7: its trace is missing"),
    "fewer tables": Damage(
        "run sweep comparison", fewer_tables, 1, "the table links of its trace is missing"
    ),
    "no table of flows": Damage(
        "sweep comparison", no_flows, 1, "the table flows of its trace is missing"
    ),
    "no transfers of a later seed": Damage(
        "transfers", no_later_transfers, 1, "seed 2: its trace is missing"
    ),
    "a trace without a level": Damage(
        "sweep", one_trace_without_level, 1, "row 0 of the trace flows: inflight is "
    ),
    "a trace without a level, said": Damage(
        "sweep",
        one_trace_without_level,
        1,
        "kept: 1 trace is not compared: the interval is not kept",
    ),
    "no part alone": Damage("comparison", without("alone"), 1, "kept: alone/sweep.json is missing"),
    "no part together": Damage(
        "comparison", without("together"), 1, "kept: together/sweep.json is missing"
    ),
    "no part at all": Damage(
        "comparison", without("alone", "together"), 1, "of 2: kept: alone/sweep.json is missing"
    ),
    "no criterion": Damage(
        "evaluation", without("criteria"), 1, "kept: criteria/use/sweep.json is missing"
    ),
    "no worst cell": Damage("evaluation", without("worst"), 1, "/metrics.json is missing"),
    "no rows": Damage(
        "sweep comparison evaluation",
        without("**/runs"),
        1,
        "runs/ with its rows is missing",
    ),
    "no points": Damage("sweep comparison", without("**/points.parquet"), 1, "parquet: missing"),
    "no runs of a study": Damage("study", without("runs.parquet"), 1, "runs.parquet: missing"),
    "no table": Damage("study", without("table.json"), 1, "kept/table.json: missing"),
    "no metrics": Damage("run", without("metrics.json"), 1, "kept/metrics.json: missing"),
    "no rows of a check": Damage("check", without("0.parquet"), 1, "kept/0.parquet: missing"),
    "other scenario": Damage(
        "run sweep comparison evaluation",
        changed("**/scenario.toml"),
        1,
        "scenario.toml: damaged: its checksum is another",
    ),
    "other study": Damage(
        "study", changed("scenarios/*.toml"), 1, "_reno.toml: damaged: its checksum is another"
    ),
    "other picture": Damage(
        "run study", changed("**/*.png"), 1, ".png: damaged: its checksum is another"
    ),
    "other rows": Damage(
        "sweep comparison evaluation study check",
        changed("**/*.parquet"),
        1,
        ".parquet: damaged: its checksum is another",
    ),
    "other description": Damage(
        "sweep check",
        changed("*.json"),
        1,
        ".json: ",
    ),
    "other checksums": Damage(
        "run sweep comparison check study", changed("**/SHA256SUMS"), 1, "first difference"
    ),
    "other fingerprints": Damage("sweep", unsealed, 1, "first difference of 2: kept, point 0 "),
    "a run less": Damage("sweep", fewer_runs, 1, "it has 3 runs, and 4 by its description"),
    "labels of points": Damage(
        "sweep",
        labels_of_points,
        1,
        "path.buffer in a row of point 0, seed 7, is 1bdp, and 2bdp by its points",
    ),
    "labels everywhere": Damage(
        "sweep",
        labels_everywhere,
        1,
        "kept, point 0: its label is path.buffer=2bdp, and its scenario has 1bdp",
    ),
    "number of a label": Damage(
        "sweep",
        other_number_of_a_label,
        1,
        "path.buffer.value of point 0 in points.parquet is 2.0, and 1.0 by its points",
    ),
    "axis": Damage(
        "sweep",
        other_axis,
        1,
        "the axis path.buffer of sweep.json is 1bdp, 3bdp (bdp), and 1bdp, 2bdp (bdp) by its points",
    ),
    "seeds": Damage(
        "sweep", other_seeds, 1, "seeds in sweep.json is [1, 2], and [7, 8] by its points"
    ),
    "conditions": Damage("check", nothing, 0, "kept: its conditions are not compared"),
    "table and page": Damage(
        "evaluation", nothing, 0, "kept: its table, its page and its pictures "
    ),
}


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """Returns the results of a kind, which are made once."""
    made: dict[str, Path] = {}

    def original(kind: str) -> Path:
        if kind not in made:
            place = tmp_path_factory.mktemp(kind)
            (place / "base.toml").write_text(
                SCENARIO.replace("seed", 'expect = ["flow.*.goodput >= 1kbit"]\nseed', 1)
            )
            (place / "small.toml").write_text(GOOD)
            (place / "suite.toml").write_text(SMALL)
            done = called(place, *shlex.split(KINDS[kind]))
            assert done[0] in (0, 1, 3), done
            made[kind] = place / "kept"
        return made[kind]

    yield original


def called(place: Path, *words: str) -> tuple[int, str]:
    done = served.call(list(words), place, {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"})
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


CASES = [(kind, name) for name, of in DAMAGES.items() for kind in of.kinds.split()]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=map(" ".join, CASES))
def test_damage_is_found_and_named(
    originals: Callable[[str], Path], tmp_path: Path, kind: str, name: str
) -> None:
    shutil.copytree(originals(kind), tmp_path / "kept")
    damage = DAMAGES[name]
    damage.change(tmp_path / "kept")
    code, said = called(tmp_path, "verify", "kept")
    assert (code, damage.words in said) == (damage.code, True), said


def test_verdicts_of_a_sampled_study_are_not_compared_and_it_says_so(
    originals: Callable[[str], Path], tmp_path: Path
) -> None:
    shutil.copytree(originals("study"), tmp_path / "kept")
    _, said = called(tmp_path, "verify", "kept", "--sample", "1")
    assert "kept: its verdicts are not compared: only a sample of its runs was repeated" in said
