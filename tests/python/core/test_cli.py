"""The command: its output, its files, and its errors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fullpipe as package
from conftest import LONG, SCENARIO, interrupt
from fullpipe import _core
from fullpipe.about.catalogue import names
from fullpipe.algorithms.plugins import built_in
from fullpipe.runs.view.table import short

if TYPE_CHECKING:
    from conftest import Fullpipe

ROOT = Path(__file__).parents[3]


def test_help_needs_nothing_slow() -> None:
    slow = {"numpy", "polars", "matplotlib", "rich"}
    check = f"import sys, fullpipe.commands; found = {slow!r} & set(sys.modules); sys.exit(str(found) if found else 0)"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_help_and_version(fullpipe: Fullpipe) -> None:
    assert "run" in fullpipe("--help").stdout
    assert fullpipe("--version").stdout.startswith(f"fullpipe {package.__version__}, commit ")


def test_json_is_one_object_of_the_agreed_shape(fullpipe: Fullpipe, scenario: Path) -> None:
    done = fullpipe("run", scenario.name, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    metrics = json.loads(done.stdout)
    assert {
        "seed",
        "duration_s",
        "flows",
        "links",
        "jain",
        "packets",
        "events",
        "trace_hash",
    } <= set(metrics)
    flow, link = metrics["flows"][0], metrics["links"][0]
    assert {
        *(
            "name",
            "cc",
            "goodput_bps",
            "rtt_s",
            "queue_delay_s",
            "retransmits",
            "loss_fraction",
            "completion_s",
        ),
        "limited_by",
    } <= set(flow)
    assert {"min", "mean", "p50", "p95", "p99", "max"} <= set(flow["rtt_s"])
    assert {"mean", "p50", "p95", "p99", "max"} <= set(flow["queue_delay_s"])
    assert sum(flow["limited_by"].values()) == pytest.approx(1)
    assert {"name", "utilization", "queue_delay_s", "drops", "marks"} <= set(link)
    assert metrics == package.run(scenario).metrics


def test_json_names_the_trace(fullpipe: Fullpipe, scenario: Path) -> None:
    assert json.loads(fullpipe("run", scenario.name, "--json").stdout)["trace_hash"] is None
    traced = json.loads(fullpipe("run", scenario.name, "--json", "--trace", "10ms").stdout)
    assert traced["trace_hash"] == package.run(scenario, trace="10ms").trace_hash


def test_a_table_fits_80_columns_and_names_the_seed(fullpipe: Fullpipe, scenario: Path) -> None:
    for flows in ("1", "30"):
        done = fullpipe("run", scenario.name, "--seed", "5", "--set", f"flow.1.count={flows}")
        assert done.returncode == 0, done.stderr
        assert max(len(line) for line in done.stdout.splitlines()) <= 80
        assert "seed 5" in done.stdout
        assert "cubic" in done.stdout
        assert "bottleneck" in done.stdout
        assert "Two flows" in done.stdout


def test_a_long_class_is_not_broken_within_its_name(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "sluggish.py").write_text(
        "import fullpipe\n\nclass Deliberate:\n    def __init__(self, config): ...\n"
        "    def on_ack(self, cx, ack): ...\n"
        "    def decision(self):\n        return fullpipe.Decision(30_000)\n"
    )
    done = fullpipe("run", "sluggish:Deliberate", "--rate", "5mbit", "--duration", "2s")
    assert done.returncode == 0, done.stderr
    assert "\nsluggish:" in done.stdout
    assert "\nDeliberate " in done.stdout


def test_the_path_of_a_long_trace_is_a_line(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "up.trace").write_text("".join(f"{at}\n" for at in range(1, 2_001)))
    paths = ["--rtt", "40ms", "--buffer", "50packets", "--duration", "1s"]
    paths += ["--set", "path.rate_pattern=mahimahi file up.trace from random"]
    paths += ["--set", "path.loss=list 2, 3, 5, 7, 11, 13, 17, 19, 23"]
    done = fullpipe("run", "cubic", *paths)
    assert done.returncode == 0, done.stderr
    assert " ".join(done.stdout.splitlines()[1:4]).startswith(
        "mahimahi 1, 2, 3, … 1,996 more …, 2000 from random, RTT 40ms, loss list 2, 3, 5, … 5 more …, 23, pfifo"
    )


@pytest.mark.parametrize("columns", [40, 50, 60, 70])
@pytest.mark.parametrize(
    ("settings", "flows"),
    [
        ([], ["cubic", "bbr1"]),
        (["flow.1.count=30", "flow.1.bytes=9kB"], ["1 × cubic", "30 × bbr1"]),
    ],
)
def test_a_narrow_terminal_leaves_out_columns_not_names(
    command: list[str], scenario: Path, columns: int, settings: list[str], flows: list[str]
) -> None:
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
    sets = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run(
        [*command, "run", scenario.name, *sets],
        cwd=scenario.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert max(len(line) for line in done.stdout.splitlines()) <= columns
    words = done.stdout.split()
    assert set(" ".join(flows).split()) | {"bottleneck", "limited", "utilization", "drops"} <= set(
        words
    )
    assert "some columns do not fit and are left out" in " ".join(words)


def test_out_keeps_scenario_metrics_trace_and_picture(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    done = fullpipe("run", scenario.name, "--out", "kept", "--set", "path.rate=5mbit", "--json")
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "kept"
    metrics = json.loads((kept / "metrics.json").read_text())
    assert metrics == json.loads(done.stdout)
    assert len(metrics["trace_hash"]) == 16
    assert (kept / "scenario.toml").read_text() == SCENARIO
    assert 'rate = "5mbit"' in (kept / "resolved.toml").read_text()
    assert (kept / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert (kept / "trace.parquet").stat().st_size > 1000


def test_out_without_trace_keeps_the_metrics(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()  # an empty directory may be used
    assert fullpipe("run", scenario.name, "--out", "kept", "--trace", "off").returncode == 0
    assert {file.name for file in (tmp_path / "kept").iterdir()} == {
        "scenario.toml",
        "resolved.toml",
        "metrics.json",
        "made.json",
        "SHA256SUMS",
    }


def test_results_are_never_overwritten(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "precious").write_text("mine")
    done = fullpipe("run", "long.toml", "--out", "kept")  # fails at once: the run would take long
    assert done.returncode == 2
    assert "error: --out kept exists already; name a new directory" in done.stderr
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["precious"]


def test_an_unwritable_directory_is_seen_before_the_run(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    (tmp_path / "file").write_text("")
    done = fullpipe("run", "long.toml", "--out", "file/kept")
    assert done.returncode == 2
    assert "--out file/kept can't be written" in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run", "nothing.toml"], "error: nothing.toml: no such file\n  fix: name a TOML file"),
        (["run", "shor.toml"], "did you mean short.toml?"),
        (["run", "short"], "did you mean short.toml?"),
        (["run", "."], ".: a directory\n  fix: name a scenario in it, as ./NAME.toml"),
        (["run", "short.toml", "--set", "path.rate=0mbit"], "path.rate"),
        (["run", "short.toml", "--set", "path.rate=20"], "--set path.rate=20"),
        (["run", "short.toml", "--set", "path.rates=20mbit"], "did you mean path.rate?"),
        (["run", "short.toml", "--set", "flow.0.cc=cubik"], 'did you mean "cubic"'),
        (["run", "short.toml", "--set", "flow.0.params.betta=0.5"], "beta"),
        (["run", "short.toml", "--set", "rate"], "KEY=VALUE"),
        (["run", "short.toml", "--seed", "-1"], "--seed"),
        (["run", "short.toml", "--trace", "often"], '"10ms"'),
        (["run", "short.toml", "--trace", "0ms"], "greater than zero"),
        (["run", "short.toml", "--out", ""], "--out '': no name\n  fix: name a directory"),
        (["reproduce", "short.toml", "--out", " "], "--out ' ': no name\n  fix: name a directory"),
        (["run", "short.toml", "--trace", "1ns", "--set", "duration=1000s"], "GB of memory"),
        (["list", "nonsense"], "algorithms"),
        (["explain", "cubik"], "did you mean cubic?"),
        (["nonsense"], "nonsense"),
    ],
)
def test_what_a_user_gets_wrong_is_explained(
    fullpipe: Fullpipe, scenario: Path, args: list[str], said: str, tmp_path: Path
) -> None:
    done = fullpipe(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [scenario]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("out", ["kept", "deep/er/kept"])
def test_a_signal_ends_a_run_and_leaves_nothing(
    command: list[str], tmp_path: Path, sent: signal.Signals, out: str
) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    code, said = interrupt(
        [*command, "run", "long.toml", "--out", out, "--trace", "off"], tmp_path, sent
    )
    assert code == 128 + sent
    assert re.fullmatch(r"interrupted at [0-9]+\.[0-9] of 5000 s; nothing kept\n", said)
    assert [file.name for file in tmp_path.iterdir()] == ["long.toml"]


def test_a_signal_leaves_directories_that_others_use(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    (tmp_path / "deep").mkdir()
    interrupt(
        [*command, "run", "long.toml", "--out", "deep/er/kept", "--trace", "off"],
        tmp_path,
        signal.SIGTERM,
    )
    assert list((tmp_path / "deep").iterdir()) == []


def test_an_ignored_signal_stays_ignored(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    deaf = [
        "env",
        "--ignore-signal=HUP",
        *command,
        "run",
        "long.toml",
        "--out",
        "kept",
        "--trace",
        "off",
    ]
    assert interrupt(deaf, tmp_path, signal.SIGHUP, signal.SIGTERM)[0] == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    "args",
    [
        *(
            ["run", "short.toml"],
            ["run", "short.toml", "--json"],
            ["list", "queues"],
            ["explain", "cubic"],
            ["explain", "--schema"],
        ),
        ["--help"],
    ],
)
def test_a_full_disk_is_said(command: list[str], scenario: Path, args: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, *args],
            cwd=scenario.parent,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "error: standard output: No space left on device\n",
    )


@pytest.mark.parametrize("blocks", [0, 4])
def test_a_disk_too_full_for_results_is_said(
    command: list[str], scenario: Path, blocks: int
) -> None:
    script = f'ulimit -f {blocks}; exec "$@"'
    done = subprocess.run(
        [
            "bash",
            "-c",
            script,
            "-",
            *command,
            "run",
            "short.toml",
            "--out",
            "deep/kept",
            "--trace",
            "1ms",
        ],
        cwd=scenario.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --out deep/kept can't be written: File too large")
    assert list(scenario.parent.iterdir()) == [scenario]


@pytest.mark.parametrize(
    "args", [["run", "short.toml"], ["run", "short.toml", "--json"], ["explain", "scenario"]]
)
def test_a_reader_that_went_away_is_no_error(
    command: list[str], scenario: Path, args: list[str]
) -> None:
    with subprocess.Popen(
        [*command, *args],
        cwd=scenario.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=30) == -signal.SIGPIPE


def test_lists_begin_with_the_name(fullpipe: Fullpipe) -> None:
    listed = [line.split()[0] for line in fullpipe("list", "algorithms").stdout.splitlines()]
    # Another test of this process may have loaded a library or a policy.
    known = [algorithm["name"] for algorithm in _core.algorithms()]
    assert listed == [name for name in known if name in built_in()]
    assert {"bbr1", "cubic", "newreno"} <= set(listed)
    assert fullpipe("list", "queues").stdout.split()[0] == "pfifo"
    profiles = [line.split()[0] for line in fullpipe("list", "profiles").stdout.splitlines()]
    assert profiles == ["lte", "5g", "leo", "geo", "dsl", "cable", "wifi", "datacenter", "loopback"]


@pytest.mark.parametrize(
    "impairment", _core.impairments(), ids=lambda impairment: impairment["name"]
)
def test_every_impairment_is_listed_explains_itself_and_its_example_runs(
    fullpipe: Fullpipe, impairment: _core.Impairment, scenario: Path
) -> None:
    listed = [line.split()[0] for line in fullpipe("list", "impairments").stdout.splitlines()]
    assert impairment["name"] in listed
    words = " ".join(fullpipe("explain", impairment["name"]).stdout.split())
    assert impairment["purpose"] in words
    for part in impairment["parts"]:
        assert part["name"] in words
        assert part["purpose"] in words
    assert f'"{impairment["example"]}"' in words
    for key in impairment["keys"]:
        assert key in words
        package.run(scenario, set={"duration": "200ms", key: impairment["example"]})


@pytest.mark.parametrize("profile", _core.profiles(), ids=lambda profile: profile["name"])
def test_a_profile_explains_itself_and_what_it_shows_runs_as_it(
    fullpipe: Fullpipe, profile: _core.Profile, tmp_path: Path
) -> None:
    text = fullpipe("explain", profile["name"]).stdout
    words = " ".join(text.split())
    assert profile["purpose"] in words
    for given in profile["values"]:
        assert given["why"] in words
        assert given["source"] in words
    shown = text.split(", stands for\n")[1]
    assert [line for line in shown.splitlines() if line and not line.startswith("  ")] == []
    (tmp_path / "shown.toml").write_text(shown.replace('duration = "60s"', 'duration = "200ms"'))
    (tmp_path / "named.toml").write_text(
        f'duration = "200ms"\n[path]\nprofile = "{profile["name"]}"\n[[flow]]\ncc = "cubic"\n'
    )
    # With this duration the changes of a path come too late, which is an error except in a profile.
    shown_run, named_run = (
        package.run(
            tmp_path / file, trace="10ms", set={"duration": "200s"} if "change" in shown else {}
        )
        for file in ("shown.toml", "named.toml")
    )
    assert shown_run.trace_hash == named_run.trace_hash


def test_a_profile_of_the_command_line_is_the_path(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    done = fullpipe(
        "run", scenario.name, "--profile", "dsl", "--set", "path.rtt=30ms", "--out", "kept"
    )
    assert done.returncode == 0, done.stderr
    assert "profile dsl: rate 50mbit, buffer 250ms, flow.reverse_route" in done.stdout
    resolved = (tmp_path / "kept" / "resolved.toml").read_text()
    assert "# The path is the profile dsl." in resolved
    assert 'rate = "50mbit"' in resolved
    assert 'rtt = "30ms"' in resolved
    again = fullpipe("run", "kept/resolved.toml", "--json", "--trace", "10ms")
    by_set = fullpipe(
        "run",
        scenario.name,
        *("--set", "path.rtt=30ms"),
        *("--set", "path.profile=dsl"),
        "--json",
        "--trace",
        "10ms",
    )
    assert json.loads(again.stdout)["trace_hash"] == json.loads(by_set.stdout)["trace_hash"]
    wrong = fullpipe("run", scenario.name, "--profile", "wlan")
    assert wrong.returncode == 2
    assert "with --profile " in wrong.stderr
    assert '"wifi"' in wrong.stderr


@pytest.mark.parametrize("algorithm", _core.algorithms(), ids=lambda algorithm: algorithm["name"])
def test_every_algorithm_explains_itself(fullpipe: Fullpipe, algorithm: _core.Algorithm) -> None:
    text = fullpipe("explain", algorithm["name"]).stdout
    words = " ".join(text.split())
    assert algorithm["purpose"] in words
    for part in (*algorithm["params"], *algorithm["fields"]):
        assert part["name"] in words
        assert part["purpose"] in words


def test_every_key_of_a_scenario_is_explained(fullpipe: Fullpipe) -> None:
    text = fullpipe("explain", "scenario").stdout
    for key in _core.scenario_keys():
        if not key["kind"].startswith("table"):
            assert key["key"] in text
    assert "default" in fullpipe("explain", "path.queue").stdout
    assert "drop-tail" in fullpipe("explain", "pfifo").stdout


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize(
    "name",
    ["cubic", "bbr1", "scenario", "path.rate", "pfifo", "lte", "leo", "gilbert-elliott", "hold"],
)
def test_explanations_fit_and_have_no_padding(command: list[str], columns: int, name: str) -> None:
    environment = {**os.environ, "COLUMNS": str(columns)}
    done = subprocess.run(
        [*command, "explain", name], env=environment, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{name}: ")
    assert max(len(line) for line in lines) <= columns
    assert [line for line in lines if line != line.rstrip()] == []
    assert "e+0" not in done.stdout


def test_a_list_is_broken_where_a_terminal_ends() -> None:
    text = names(_core.algorithms(), 60)
    assert max(len(line) for line in text.splitlines()) <= 60
    assert [line.split()[0] for line in text.splitlines() if not line.startswith(" ")] == [
        algorithm["name"] for algorithm in _core.algorithms()
    ]


def test_the_committed_schema_is_the_one_of_the_code(fullpipe: Fullpipe) -> None:
    assert (
        fullpipe("explain", "--schema").stdout
        == (ROOT / "crates/scenario/scenario.schema.json").read_text()
    )


def test_a_single_run_starts_without_the_library_of_data_frames(scenario: Path) -> None:
    # It takes as long to import as all else together.
    code = (
        "import runpy, sys\n"
        f"sys.argv = ['fullpipe', 'run', {str(scenario)!r}, '--json']\n"
        "try:\n    runpy.run_module('fullpipe', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "assert 'polars' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_list_of_commands_imports_no_command() -> None:
    code = (
        "import runpy, sys\n"
        "sys.argv = ['fullpipe', '--help']\n"
        "try:\n    runpy.run_module('fullpipe', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "late = {'fullpipe.commands.run', 'fullpipe.runners', 'numpy', 'polars', 'rich', 'tomllib'}\n"
        "assert not late & {*sys.modules}, late & {*sys.modules}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Experiments:" in done.stdout


def test_saving_writes_what_the_command_keeps(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    changed = {"path.rate": "5mbit", "flow.1.cc": "bbr3"}
    settings = [word for key, value in changed.items() for word in ("--set", f"{key}={value}")]
    done = fullpipe(
        "run", scenario.name, "--seed", "3", *settings, "--trace", "10ms", "--out", "by-command"
    )
    assert done.returncode == 0, done.stderr
    package.run(scenario, seed=3, set=changed, trace="10ms").save(tmp_path / "by-python")
    one, other = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()}
        for name in ("by-command", "by-python")
    )
    assert one == other


@pytest.mark.parametrize(
    ("former", "now"),
    [(["schema"], ["explain", "--schema"]), (["qlog", "--help"], ["trace", "qlog", "--help"])],
)
def test_a_former_name_works_with_a_warning(
    fullpipe: Fullpipe, former: list[str], now: list[str]
) -> None:
    done, same = fullpipe(*former), fullpipe(*now)
    assert (done.returncode, done.stdout) == (0, same.stdout)
    words = " ".join(word for word in now if word != "--help")
    assert done.stderr == f"warning: `fullpipe {former[0]}` is now `fullpipe {words}`\n"
    assert former[0] not in fullpipe("--help").stdout.split()


def test_list_without_a_kind_lists_the_kinds(fullpipe: Fullpipe) -> None:
    done = fullpipe("list")
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert fullpipe("list", line.split()[0]).returncode == 0
    kinds = json.loads(fullpipe("list", "--json").stdout)
    assert [each["name"] for each in kinds] == [
        line.split()[0] for line in done.stdout.splitlines()
    ]
    queues = json.loads(fullpipe("list", "queues", "--json").stdout)
    assert queues[0].keys() == {"name", "purpose"}


def test_commands_that_install_programs_are_in_the_json_alone(fullpipe: Fullpipe) -> None:
    lines = fullpipe("list", "programs").stdout.splitlines()
    assert max(map(len, lines)) < 200
    assert not any("install --" in line or "apt install" in line for line in lines)
    listed = json.loads(fullpipe("list", "programs", "--json").stdout)
    assert [each["name"] for each in listed] == [line.split()[0] for line in lines]
    assert any("apt install" in line for each in listed for line in each["install"].values())


def test_whole_digits_are_written_out() -> None:
    numbers = (0.5, 12.34, 151, 999.6, 1250.4, 12_345_678)
    assert [short(each) for each in numbers] == [
        "0.5",
        "12.3",
        "151",
        "1,000",
        "1,250",
        "12,345,678",
    ]
    assert [short(each, 2) for each in (9.96, 99.6, 123)] == ["10", "100", "123"]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("check", "lossy", "--cc", "cubic", "--cc", "bbr1"), "--cc"),
        (("check", "lossy", "--cc", "cubic", "--cc=bbr1"), "--cc"),
    ],
)
def test_two_algorithms_where_one_is_expected_are_refused(
    words: tuple[str, ...], option: str, fullpipe: Fullpipe
) -> None:
    done = fullpipe(*words)
    assert done.returncode == 2
    assert done.stderr == (
        f"error: {option}: it is given more than once, and has one value\n"
        "  fix: write it once, with the value that counts\n"
    )
