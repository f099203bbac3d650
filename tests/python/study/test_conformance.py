"""`fullpipe evaluate --suite bbr-draft`: the BBR draft's test cases, the printed verdicts and the files."""

from __future__ import annotations

import io
import json
import signal
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import pytest

import fullpipe as package
from conftest import interrupt
from fullpipe import _core
from fullpipe.report.build import build
from fullpipe.report.model import Code, Table, Timeline
from fullpipe.results.sums import is_whole_directory
from fullpipe.study.evaluation.conformance import conformance, markdown, records, sums

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe


def test_the_draft_meets_all_of_its_cases(fullpipe: Fullpipe) -> None:
    done = fullpipe("evaluate", "--suite", "bbr-draft", "bbr3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "22 of 22 cases met, 0 missed, 0 skipped" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    for number in range(1, 23):
        assert f"A.{number} " in done.stdout


def test_a_missed_condition_is_exit_code_1(fullpipe: Fullpipe) -> None:
    done = fullpipe(
        "evaluate",
        "--suite",
        "bbr-draft",
        "bbr3",
        "--set",
        "profile=linux",
        "--set",
        "drain_pacing_gain=0.4",
    )
    assert done.returncode == 1
    assert done.stdout.startswith(
        "bbr3, profile = linux, drain_pacing_gain = 0.4: draft-ietf-ccwg-bbr-06"
    )
    (line,) = (line for line in done.stdout.splitlines() if "pacing_gain in Drain" in line)
    assert line.split()[-3:] == ["0.4", "0.5", "missed"]


def test_json_is_a_list_of_conditions(fullpipe: Fullpipe) -> None:
    done = fullpipe("evaluate", "--suite", "bbr-draft", "bbr1", "--json")
    assert done.returncode == 1
    conditions = json.loads(done.stdout)
    keys = {"case", "condition", "unit", "measured", "tolerance", "verdict", "because"}
    assert all(set(condition) == keys for condition in conditions)
    assert {condition["verdict"] for condition in conditions} == {
        "met",
        "missed",
        "report",
        "skipped",
    }
    first = next(c for c in conditions if c["condition"] == "max_bw / bottleneck at the exit")
    assert (first["case"], first["tolerance"], first["verdict"]) == ("A.01", [0.98, 1.02], "met")
    assert abs(first["measured"] - 1) < 0.02
    skipped = [condition for condition in conditions if condition["verdict"] == "skipped"]
    assert {condition["measured"] for condition in skipped} == {None}


def test_another_seed_is_another_run() -> None:
    one, again, other = (_core.conformance_case("A.9", "bbr3", [], seed) for seed in (1, 1, 2))
    assert one == again
    assert one["scenes"][0]["scenario"] != other["scenes"][0]["scenario"]
    assert one["verdict"] == other["verdict"] == "met"


def test_the_table_has_the_reason_of_each_condition() -> None:
    cases = [_core.conformance_case(section, "bbr2", [], 1) for section in ("A.4", "A.5")]
    text = markdown("bbr2", {}, cases)
    assert "0 of 2 cases met, 2 missed, 0 skipped." in text
    assert "## A.5 Exiting ProbeBW_UP on bandwidth plateau: missed" in text
    assert "`A.04-half`" in text
    assert "| rounds in UP | 0 rounds | 3 – 4 | missed | step 4" in text
    assert sums(cases) in text
    assert len(records(cases)) == 4 + 6


def test_every_line_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    conformance("bbr3", params={"profile": "linux"})
    said = capsys.readouterr().out.splitlines()
    assert "met" not in said, "a verdict has the line of its condition"
    verdicts = [line for line in said if line.endswith(("  met", "  missed"))]
    assert len(verdicts) > 60
    assert max(map(len, verdicts)) <= 80


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kept suite."""
    folder: Path = tmp_path_factory.mktemp("suite") / "kept"
    said = io.StringIO()
    with redirect_stdout(said):
        conformance("bbr1", out=folder)
    assert " of 22 cases met" in said.getvalue()
    return folder


def test_what_is_kept_can_be_run_again(kept: Path) -> None:
    assert {"table.md", "table.json", "A.01", "A.04-half", "A.04-tenth", "A.22"} <= {
        p.name for p in kept.iterdir()
    }
    assert len(list(kept.iterdir())) == 4 + 24
    assert {"scenario.toml", "picture.png", "trace.parquet"} <= {
        p.name for p in (kept / "A.12").iterdir()
    }
    again = package.run(kept / "A.12" / "scenario.toml")
    assert (
        again.scenario.title
        == "A.12 Achieving expected Startup bandwidth on a link with aggregation"
    )
    assert again.scenario.flows == [("bbr1", "bbr1")]


def test_a_report_has_each_condition_with_its_reason_and_each_run(kept: Path) -> None:
    report = build(kept)
    assert report.title == "bbr1: draft-ietf-ccwg-bbr-06, Appendix A"
    conditions = json.loads((kept / "table.json").read_text(encoding="utf-8"))
    sections = {section.title: section.blocks for section in report.sections}
    (results,) = (each for each in sections["Published and our values"] if isinstance(each, Table))
    assert [(row[0], row[2]) for row in results.rows] == [
        (each["case"], each["because"]) for each in conditions
    ]
    verdicts = {str(row[5]).split()[1] for row in results.rows}
    assert verdicts == {"met", "missed", "report", "skipped"}
    runs = sorted(file.name for file in kept.iterdir() if file.is_dir())
    (seeds,) = (each for each in sections["Scenarios and seeds"] if isinstance(each, Table))
    assert [str(row[1]).split()[0] for row in seeds.rows] == runs
    command = seeds.rows[0][3]
    assert isinstance(command, Code)
    assert command.text == f"fullpipe run {kept}/{runs[0]}/resolved.toml --seed 1"
    (over_time,) = (each for each in sections["Over time"] if isinstance(each, Timeline))
    assert len(over_time.runs) == len(runs)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bbr4"], "error: no algorithm is called 'bbr4'\n  fix: did you mean 'bbr3'?"),
        (["none"], "error: no algorithm is called 'none'\n  fix: use one of bbr1, bbr2"),
        (
            ["bbr3", "--set", "profle=linux"],
            'error: --set profle=linux: bbr3 has no parameter "profle"\n  fix: ',
        ),
        (["bbr3", "--set", "profile=lynux"], "error: --set profile=lynux: "),
        (["bbr3", "--set", "beta=7"], "error: --set beta=7: "),
        (["bbr3", "--set", "profile"], "not KEY=VALUE"),
        (["cubic"], "error: cubic is no version of BBR: it has none of the states"),
        (["cubic", "--out", "new"], "fix: use one of bbr1, bbr2, bbr3"),
        (["bbr3", "--seed", "-1"], "--seed"),
        (["bbr3", "--out", "there"], "error: --out there exists already; name a new directory"),
    ],
)
def test_wrong_use_is_exit_code_2(
    fullpipe: Fullpipe, tmp_path: Path, arguments: list[str], words: str
) -> None:
    (tmp_path / "there").write_text("")
    done = fullpipe("evaluate", "--suite", "bbr-draft", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_signal_ends_it_and_leaves_what_is_finished(command: list[str], tmp_path: Path) -> None:
    code, said = interrupt(
        [*command, "evaluate", "--suite", "bbr-draft", "bbr3", "--out", "kept"],
        tmp_path,
        signal.SIGINT,
    )
    assert code == 128 + signal.SIGINT
    if said.endswith("0 of them saved; nothing kept\n"):
        assert not list(tmp_path.iterdir())
    else:
        kept = "finished runs are kept in kept.unfinished; the same command resumes there\n"
        assert said.endswith(f"of them saved; {kept}")
        assert [file.name for file in tmp_path.iterdir()] == ["kept.unfinished"]


def test_it_resumes_with_the_runs_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, sections = tmp_path / "kept", _core.conformance_cases()[:4]
    monkeypatch.setattr(_core, "conformance_cases", lambda: sections)
    made: list[str] = []
    save = package.Run.save

    def stopping(most: int) -> None:
        def saved(self: package.Run, directory: Path) -> Path:
            if len(made) == most:
                raise KeyboardInterrupt
            made.append(directory.name)
            return save(self, directory)

        monkeypatch.setattr(package.Run, "save", saved)

    stopping(2)
    with pytest.raises(SystemExit) as ended:
        conformance("bbr3", out=out)
    assert ended.value.code == 130
    kept = tmp_path / "kept.unfinished" / "runs"
    assert [file.name for file in sorted(kept.iterdir())] == sorted(made)
    (kept / made[0] / "metrics.json").write_text("{}")  # damaged: it is made again
    stopping(1000)
    conformance("bbr3", out=out)
    assert made[2] == made[0] and len(made) == len({*made}) + 1
    assert {file.name for file in out.iterdir()} == {
        *made,
        "SHA256SUMS",
        "made.json",
        "table.json",
        "table.md",
    }
    assert all(map(is_whole_directory, (out, *(out / name for name in made))))
    assert not kept.exists()
    # Another algorithm would mix its runs with these.
    stopping(len(made) + 1)
    with pytest.raises(SystemExit):
        conformance("bbr3", out=tmp_path / "other")
    with pytest.raises(FileExistsError, match="the algorithm was bbr3, not bbr2"):
        conformance("bbr2", out=tmp_path / "other")
