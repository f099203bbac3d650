"""Algorithms in libraries: every command takes them, errors name them, and a scenario loads none."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fullpipe as package
from conftest import SCENARIO
from fullpipe.algorithms.plugins import used
from fullpipe.algorithms.plugins.crate import sources
from fullpipe.algorithms.resolve import kind_of
from fullpipe.study.shipped import Unpacked, pack
from fullpipe.study.spec import SweepSpec

if TYPE_CHECKING:
    from conftest import Fullpipe

ROOT = Path(__file__).parents[3]
IN_C = ROOT / "examples/c-controller/newreno.c"
MINE = SCENARIO.replace('cc = "cubic"', 'cc = "creno"').replace('cc = "bbr1"', 'cc = "newreno"')
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="compiles with cc")


def compiled(source: Path, library: Path, *words: str) -> Path:
    """Compiles a library in C."""
    header = ["-I", str(sources() / "include")]
    command = [os.environ.get("CC", "cc"), "-std=c99", "-O2", "-shared", "-fPIC", *header, *words]
    subprocess.run([*command, str(source), "-o", str(library)], check=True)
    return library


@pytest.fixture(scope="module")
def creno(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in C."""
    return compiled(IN_C, tmp_path_factory.mktemp("c") / "libcreno.so")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, creno: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the library and a scenario into the test's directory, where commands start."""
    shutil.copy(creno, tmp_path)
    (tmp_path / "mine.toml").write_text(MINE)
    monkeypatch.chdir(tmp_path)


def test_run_shows_the_algorithms_own_name(fullpipe: Fullpipe) -> None:
    for words in (
        ["./libcreno.so", "newreno", "--rate", "20mbit", "--duration", "4s"],
        ["mine.toml", "--plugin", "libcreno.so"],
        ["mine.toml", "--cc", "libcreno.so"],
        ["mine.toml", "--set", "flow.0.cc=./libcreno.so"],
    ):
        done = fullpipe("run", *words, "--json")
        assert done.returncode == 0, done.stderr
        flow = json.loads(done.stdout)["flows"][0]
        assert (flow["cc"], flow["name"]) == ("creno", "creno")
    shown = fullpipe("run", "./libcreno.so", "--duration", "2s")
    assert re.search(r"^creno +\d+\.\d+", shown.stdout, re.MULTILINE), shown.stdout
    assert "libcreno" not in shown.stdout


def test_newreno_in_c_has_the_results_of_the_built_in_one(fullpipe: Fullpipe) -> None:
    options = ["--rate", "20mbit", "--rtt", "40ms", "--loss", "0.1%", "--duration", "20s", "--json"]
    options += ["--stack", "rfc"]
    flows = []
    for name in ("./libcreno.so", "newreno"):
        done = fullpipe("run", name, *options, "--set", "flow.0.name=flow")
        flows.append(json.loads(done.stdout)["flows"][0])
    ours, theirs = flows
    assert theirs["retransmits"] > 0
    assert {**ours, "cc": ""} == {**theirs, "cc": ""}


def test_compare_sweep_and_report(fullpipe: Fullpipe, tmp_path: Path) -> None:
    path = ["--rate", "10mbit", "--rtt", "20ms", "--duration", "2s"]
    done = fullpipe(
        "compare", "cubic", "./libcreno.so", *path, "--repeat", "2", "--out", "compared"
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^alone +cubic .*\n +creno ", done.stdout, re.MULTILINE), done.stdout
    swept = fullpipe(
        *["sweep", "mine.toml", "--set", "flow.0.cc=newreno,./libcreno.so", "--repeat", "2"],
        *["--out", "swept", "--json"],
    )
    assert swept.returncode == 0, swept.stderr
    assert {row["cc"] for row in json.loads(swept.stdout)} == {"creno", "newreno"}
    run = fullpipe("run", "mine.toml", "--plugin", "libcreno.so", "--out", "run")
    assert run.returncode == 0, run.stderr
    for results in ("compared", "swept", "run"):
        report = fullpipe("report", results, "--out", f"{results}.html")
        assert report.returncode == 0, report.stderr
        page = (tmp_path / f"{results}.html").read_text()
        assert "creno" in page
        assert "libcreno" not in page.replace("./libcreno.so", "").replace("libcreno.so", "")


def test_a_sweep_belongs_to_the_contents_of_the_library(fullpipe: Fullpipe, tmp_path: Path) -> None:
    words = ["sweep", "mine.toml", "--plugin", "libcreno.so", "--repeat", "2", "--out", "swept"]
    assert fullpipe(*words).returncode == 0
    again = fullpipe(*words)
    assert again.returncode == 0, again.stderr
    changed = tmp_path / "changed.c"
    changed.write_text(IN_C.read_text().replace("2 * conn->smss", "4 * conn->smss"))
    (tmp_path / "libcreno.so").unlink()
    compiled(changed, tmp_path / "libcreno.so")
    other = fullpipe(*words)
    assert other.returncode == 2, other.stdout


def test_check(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('expect = ["flow.creno.goodput >= 1mbit"]\n' + MINE)
    done = fullpipe("check", "mine.toml", "--plugin", "libcreno.so", "--repeat", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["verdict"] == "met"
    unknown = fullpipe("check", "mine.toml", "--repeat", "2")
    assert unknown.returncode == 2
    assert "creno" in unknown.stderr


POSING = """\
#include <fullpipe.h>
static const struct fullpipe_text labels[] = {
    FULLPIPE_TEXT("startup"), FULLPIPE_TEXT("probe_bw_up"), FULLPIPE_TEXT("probe_rtt")};
static const struct fullpipe_field fields[] = {
    {.name = FULLPIPE_TEXT("state"), .labels = FULLPIPE_LIST(labels)}};
#define FIELDS .fields = FULLPIPE_LIST(fields), .observe = observe,
static int32_t observe(void *it, double *values) { (void)it; values[0] = 1; return 0; }
"""


def test_evaluate_judges_an_algorithm_with_states_of_bbr(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    suite = ["--suite", "bbr-draft", "--json"]
    refused = fullpipe("evaluate", "./libcreno.so", *suite)
    assert refused.returncode == 2
    assert "creno is no version of BBR" in refused.stderr
    source = tmp_path / "posing.c"
    text = IN_C.read_text().replace("#include <fullpipe.h>", POSING)
    source.write_text(text.replace(".create = create,", "FIELDS .create = create,"))
    compiled(source, tmp_path / "libposing.so")
    done = fullpipe("evaluate", "./libposing.so", *suite)
    assert done.returncode == 1, done.stderr
    assert {row["verdict"] for row in json.loads(done.stdout)} >= {"missed"}


def test_list_and_explain_know_it(fullpipe: Fullpipe) -> None:
    done = fullpipe("explain", "./libcreno.so")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("creno")
    assert "NewReno in C." in done.stdout


def test_python_takes_libraries(tmp_path: Path) -> None:
    library = str(tmp_path / "libcreno.so")
    run = package.run(["newreno", library], rate="10mbit", rtt="20ms", duration="2s", trace="10ms")
    assert [flow["cc"] for flow in run.flow_metrics] == ["newreno", "creno"]
    name = package.load_plugin(library)
    assert name == "creno"
    assert package.run(MINE).flow_metrics[0]["cc"] == "creno"
    alone = package.run(MINE, cc=library)
    assert alone.flow_metrics[0]["cc"] == "creno"
    sweep = package.sweep(MINE, {"flow.0.cc": ["cubic", name]}, repeat=2, out="swept")
    assert set(sweep.frame()["cc"]) == {"cubic", "creno", "newreno"}
    compared = package.compare(
        "cubic", library, rate="10mbit", rtt="20ms", duration="2s", repeat=2, out="compared"
    )
    assert list(compared.algorithms) == ["cubic", "creno"]


@pytest.mark.parametrize("value", ["./libevil.so", "/tmp/libevil.so", "libevil.so", "./crate"])
@pytest.mark.parametrize(
    "words", [["run"], ["sweep", "--repeat", "2"], ["check"], ["run", "--plugin", "libcreno.so"]]
)
def test_a_scenario_of_unknown_origin_loads_no_library(
    value: str, words: list[str], fullpipe: Fullpipe, tmp_path: Path
) -> None:
    evil = tmp_path / "evil.c"
    evil.write_text(
        "#include <stdio.h>\n"
        f'__attribute__((constructor)) static void run(void) {{ fopen("{tmp_path}/ran", "w"); }}\n'
    )
    compiled(evil, tmp_path / "libevil.so")
    text = 'expect = ["flow.creno.goodput >= 1mbit"]\n' + MINE.replace('"newreno"', f'"{value}"')
    (tmp_path / "theirs.toml").write_text(text)
    done = fullpipe(words[0], "theirs.toml", *words[1:])
    assert done.returncode == 2
    assert f'cc = "{value}": a scenario can\'t load a library' in done.stderr
    assert f"load it yourself if you trust it: --plugin {value}" in done.stderr
    with pytest.raises(package.ScenarioError, match="a scenario can't load a library"):
        package.run(text)
    with pytest.raises(package.ScenarioError, match="a scenario can't load a library"):
        package.sweep(MINE, {"flow.0.cc": [value]}, repeat=2, out="swept")
    assert not (tmp_path / "ran").exists()
    # The library would have run its code.
    loading = fullpipe("run", "./libevil.so")
    assert "exports no function fullpipe_plugin" in loading.stderr
    assert (tmp_path / "ran").exists()


def test_a_text_of_a_scenario_is_no_name_of_a_library() -> None:
    remark = f"# {'more and more: ' * 30} 1/8 of a BDP\n"
    path = "[path]\nrate = '8mbit'\nrtt = '20ms'\nbuffer = '1bdp'\n"
    text = f"{remark}duration = '1s'\n{path}[[flow]]\ncc = 'cubic'\n"
    assert package.run(text).metrics["flows"][0]["cc"] == "cubic"
    assert kind_of(remark.strip()) is None
    assert kind_of("a/\0") is None


def test_names_are_told_apart(fullpipe: Fullpipe, tmp_path: Path) -> None:
    source = tmp_path / "other.c"
    source.write_text(IN_C.read_text().replace("/ 2, 2 * conn", "* 9 / 10, 2 * conn"))
    compiled(source, tmp_path / "libother.so")
    twice = fullpipe("run", "./libcreno.so", "./libother.so", "--duration", "2s")
    assert twice.returncode == 2
    assert "libcreno.so has an algorithm creno, too" in twice.stderr
    assert "fix: give it a name of its own: --plugin NAME=" in twice.stderr
    apart = fullpipe(
        *["run", "creno", "gentle", "--plugin", "libcreno.so", "--plugin", "gentle=libother.so"],
        *["--duration", "20s", "--json"],
    )
    assert apart.returncode == 0, apart.stderr
    flows = json.loads(apart.stdout)["flows"]
    assert [flow["cc"] for flow in flows] == ["creno", "gentle"]
    assert flows[1]["goodput_bps"] > 1.2 * flows[0]["goodput_bps"]
    built_in = fullpipe("run", "cubic", "--plugin", "cubic=libcreno.so")
    assert built_in.returncode == 2
    assert "cubic is the name of a built-in algorithm" in built_in.stderr


def test_a_refused_library_is_not_what_a_later_build_runs(tmp_path: Path) -> None:
    library, source = tmp_path / "libturns.so", tmp_path / "turns.c"
    path: dict[str, Any] = {"rate": "10mbit", "rtt": "20ms", "duration": "2s", "stack": "rfc"}

    def build_of(name: str, window: str) -> None:
        text = IN_C.read_text().replace('FULLPIPE_TEXT("creno")', f'FULLPIPE_TEXT("{name}")')
        source.write_text(text.replace("/ 2, 2 * conn", window))
        library.unlink(missing_ok=True)
        compiled(source, library)

    build_of("cubic", "* 9 / 10, 2 * conn")
    with pytest.raises(package.ScenarioError, match="built-in algorithm"):
        package.load_plugin(library)
    again = package.load_plugin(library, "taken")  # the same library under another name
    build_of("turned", "/ 2, 2 * conn")
    assert package.load_plugin(library) == "turned"
    goodput = [
        package.run([cc], **path).metrics["flows"][0]["goodput_bps"]
        for cc in (again, "turned", "newreno")
    ]
    assert goodput[1] == goodput[2] != goodput[0]


@pytest.mark.parametrize(
    ("profile", "word", "problem"),
    [
        ("gentle", "much", "a profile sets mode to a value that it can't have"),
        ("rough", "some", "has a profile rough, which is no keyword of its parameter profile"),
        ("gentle", "some", None),
    ],
)
def test_the_defaults_of_a_profile_are_checked(
    profile: str, word: str, problem: str | None, tmp_path: Path
) -> None:
    tables = f"""
static const struct fullpipe_text profile_words[] = {{{{"usual", 5}}, {{"gentle", 6}}}};
static const struct fullpipe_text mode_words[] = {{{{"all", 3}}, {{"some", 4}}}};
static const struct fullpipe_param params[] = {{
    {{.name = {{"profile", 7}}, .kind = FULLPIPE_WORDS, .words = {{profile_words, 2}}}},
    {{.name = {{"mode", 4}}, .kind = FULLPIPE_WORDS, .words = {{mode_words, 2}}}},
}};
static const struct fullpipe_default usual[] = {{{{{{"mode", 4}}, 0, {{"{word}", 4}}}}}};
static const struct fullpipe_profile profiles[] = {{{{{{"{profile}", {len(profile)}}}, {{usual, 1}}}}}};
"""
    table = "static const struct fullpipe_plugin table = {"
    source = tmp_path / "profiled.c"
    text = IN_C.read_text().replace(
        table, f"{tables}{table} .params = {{params, 2}}, .profiles = {{profiles, 1}},"
    )
    source.write_text(text.replace('FULLPIPE_TEXT("creno")', 'FULLPIPE_TEXT("profiled")'))
    library = compiled(source, tmp_path / f"libprofiled-{profile}-{word}.so")
    if problem is None:
        package.load_plugin(library)
        flow = {"cc": "profiled", "params": {"profile": "gentle"}}
        path = {"rate": "10mbit", "rtt": "20ms", "buffer": "1bdp"}
        package.run({"duration": "1s", "path": path, "flow": [flow]})
    else:
        with pytest.raises(package.ScenarioError, match=problem):
            package.load_plugin(library)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"text", "is no library"),
        (b"!<arch>\n", "is a static library"),
        (None, "can't be read: No such file"),
    ],
)
def test_a_file_that_is_no_library_is_an_error(
    content: bytes | None, problem: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "bad.so").write_bytes(content)
    for words in (["run", "./bad.so"], ["plugin", "check", "bad.so"]):
        done = fullpipe(*words)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert f"bad.so: {problem}" in done.stderr
        assert "\n  fix: " in done.stderr


def test_a_canned_test_loads_libraries(fullpipe: Fullpipe) -> None:
    path = ["--rate", "20mbit", "--duration", "5s", "--json"]
    by_name = fullpipe("test", "download", "--plugin", "libcreno.so", "--cc", "creno", *path)
    by_file = fullpipe("test", "download", "--cc", "./libcreno.so", *path)
    assert by_name.returncode == by_file.returncode == 0, by_name.stderr + by_file.stderr
    assert by_name.stdout == by_file.stdout
    refused = fullpipe("test", "program", "--plugin", "libcreno.so", "--", "true")
    assert refused.stderr.startswith("error: --plugin: the load of the test program is COMMAND")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["run", "./libcreno.so", "--on", "quic"],
            'cc = "creno": a shared library runs within the simulator\n  fix: run it with --on sim\n',
        ),
        (
            ["run", "./libcreno.so", "--on", "kernel"],
            'cc = "creno": a shared library runs within the simulator\n  fix: run it with --on sim\n',
        ),
        (
            ["fleet", "simulate", "--cc", "cubic,./libcreno.so", "--out", "fleet"],
            "--cc ./libcreno.so: fleet simulate runs fullpipe's own algorithms\n  fix: ",
        ),
    ],
)
def test_what_runs_no_library_says_so(words: list[str], problem: str, fullpipe: Fullpipe) -> None:
    if "quic" in words and not shutil.which("fullpipe-quic", path=str(Path(sys.executable).parent)):
        pytest.skip("make quic has not been run")
    done = fullpipe(*words)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "modprobe" not in done.stderr


def failing(tmp_path: Path, name: str, words: str) -> Path:
    """Compiles the example with an error in `on_ack` after 100 ms."""
    source = tmp_path / "failing.c"
    text = IN_C.read_text().replace('FULLPIPE_TEXT("creno")', f'FULLPIPE_TEXT("{name}")')
    text = text.replace(
        "    reno->just_lost = 0;\n",
        f"    reno->just_lost = 0;\n    if (cx->now > 100000000) {words}\n",
        1,
    )
    text = text.replace(".create = create,", ".create = create, .error = error,")
    said = (
        "static struct fullpipe_text error(void *it) {\n"
        '    struct fullpipe_text text = FULLPIPE_TEXT("out of ideas");\n    (void)it;\n    return text;\n}\n'
    )
    source.write_text(
        text.replace(
            "static const struct fullpipe_plugin", said + "static const struct fullpipe_plugin"
        )
    )
    return compiled(source, tmp_path / "libfailing.so")


@pytest.mark.parametrize(
    ("name", "words", "problem"),
    [
        ("failing", "return 1;", r"on_ack at 0\.1\d* s failed: out of ideas"),
        (
            "breaking",
            "{ reno->cwnd = 0; return 0; }",
            r"after on_ack at 0\.1\d* s, the window is 0",
        ),
    ],
)
def test_a_failure_ends_the_run_and_names_the_algorithm(
    name: str, words: str, problem: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    failing(tmp_path, name, words)
    path = ["--rate", "10mbit", "--rtt", "20ms", "--duration", "2s"]
    for command in (
        ["run", "./libfailing.so", *path],
        ["compare", "cubic", "./libfailing.so", *path, "--repeat", "2", "--out", "compared"],
        ["sweep", "./libfailing.so", *path, "--repeat", "2", "--out", "swept"],
    ):
        done = fullpipe(*command)
        assert done.returncode == 2, done.stdout
        assert re.search(rf"^error: .*{name}.*{problem}", done.stderr, re.MULTILINE), done.stderr
        assert "\n  fix: " in done.stderr
        assert "Traceback" not in done.stderr
    with pytest.raises(package.ScenarioError, match=problem):
        package.run([str(tmp_path / "libfailing.so")], duration="2s")


def test_plugin_check_speaks(fullpipe: Fullpipe, tmp_path: Path) -> None:
    kept = fullpipe("plugin", "check", "libcreno.so", "--sequences", "20")
    assert kept.returncode == 0, kept.stderr
    assert kept.stdout == "creno keeps the contract: no breach in 20 sequences\n"
    source = tmp_path / "rigid.c"
    source.write_text(IN_C.read_text().replace("    .on_path = on_path,\n", "    .on_end = 0,\n"))
    compiled(source, tmp_path / "librigid.so", "-Wno-unused-function")
    broken = fullpipe("plugin", "check", "librigid.so")
    assert broken.returncode == 1
    assert re.match(
        r"creno: after Path\(Mtu\) at .* the window is below one segment \(\d+ of \d+ bytes\): "
        r"implement on_path: raise the window to at least conn\.smss\nsteps that show it:\n",
        broken.stdout,
    ), broken.stdout


def test_the_header_is_found(fullpipe: Fullpipe) -> None:
    done = fullpipe("plugin", "header")
    assert (Path(done.stdout.strip()) / "fullpipe.h").is_file()


def test_a_worker_of_a_cluster_gets_the_library(creno: Path, tmp_path: Path) -> None:
    package.load_plugin(creno, "shipped")
    file = tmp_path / "theirs.toml"
    file.write_text(MINE.replace('"creno"', '"shipped"'))
    spec = SweepSpec(file.read_text(), str(file), repeat=2)
    assert [each.name for each in spec.plugins] == ["shipped"]
    import pickle

    shipment = pack(spec, pickle.dumps)
    ((name, library, content),) = shipment.plugins
    assert (name, library, content) == ("shipped", "libcreno.so", creno.read_bytes())
    unpacked = Unpacked(shipment, pickle.loads)
    assert not unpacked.problem
    assert unpacked.spec.plan.runs == 2
    unpacked._folder.cleanup()
    elsewhere = content[:18] + b"\x16" + content[19:]
    other = replace(shipment, plugins=(("shipped", "libcreno.so", elsewhere),))
    refused = Unpacked(other, pickle.loads)
    assert "no use for libcreno.so, which is a library for Linux on another" in refused.problem
    assert refused.fix == "build the library on a machine like the nodes"


def test_only_libraries_that_a_scenario_names_are_used(creno: Path) -> None:
    package.load_plugin(creno, "one.1")
    assert [each.name for each in used(["one.1"])] == ["one.1"]
    assert used(["one.12", "one", "cone.1"]) == []
