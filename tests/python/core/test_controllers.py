"""Algorithms in Python: the same results as in Rust, in every command, and errors with their place."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import fullpipe as package
from fullpipe.algorithms.resolve import described

if TYPE_CHECKING:
    from conftest import Fullpipe
    from fullpipe._core import Ack, Config, Context, Recovery, Snapshot

EXAMPLE = Path(__file__).parents[3] / "examples" / "python-controller"
BASE = """\
# A flow alone, with loss
stack = "rfc"
duration = "4s"
[path]
rate = "20mbit"
rtt = "20ms"
buffer = "1bdp"
loss = "0.2%"
[[flow]]
name = "a"
cc = "newreno"
"""
POSING = """\
import fullpipe, reno

class Posing(reno.Reno):
    \"\"\"NewReno whose states have names of BBR's.\"\"\"

    fields = {
        **reno.Reno.fields,
        "state": fullpipe.Field(purpose="state", labels=("startup", "probe_bw_up", "probe_rtt")),
    }
"""


@pytest.fixture(autouse=True)
def _example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies the example's module to the test's directory."""
    for module in ("reno", "lia"):
        shutil.copy(EXAMPLE / f"{module}.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("reno", "lia"):
        monkeypatch.delitem(sys.modules, module, raising=False)


def renamed(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Removes the differences of the two: the columns' prefix, and labels that only one of them has."""
    frame = frame.rename({column: column.removeprefix(f"{name}.") for column in frame.columns})
    return frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))


@pytest.mark.parametrize("loss", ["0%", "0.2%", "2%"])
@pytest.mark.parametrize("reverse", ["0ms", "hold 10ms"])
def test_newreno_in_python_is_the_built_in_one_to_the_bit(loss: str, reverse: str) -> None:
    text = BASE.replace('"0.2%"', f'"{loss}"\nreverse_jitter = "{reverse}"')
    rust = package.run(text, trace="ack", set={"flow.0.params.slow_start": "classic"})
    python = package.run(text, trace="ack", set={"flow.0.cc": "reno:Reno"})
    assert python.flow_metrics[0] == {**rust.flow_metrics[0], "cc": "reno:Reno"}
    for table in ("flows", "transitions", "links"):
        assert_frame_equal(
            renamed(python.trace(table), "reno:Reno"), renamed(rust.trace(table), "newreno")
        )
    assert rust.trace("transitions").height > 0


def test_a_class_by_any_name_and_in_a_flow_of_its_own_name() -> None:
    reno = described(["reno:Reno"])[0][1]

    text = BASE.replace('name = "a"\n', "").replace('"newreno"', '"mine"\nparams = { beta = 0.8 }')
    run = package.run(text, controllers={"mine": reno}, trace="10ms")
    assert run.flow_metrics[0]["name"] == "mine"
    assert "mine.bytes_acked" in run.trace().columns
    unnamed = package.load(text.replace("mine", "reno:Reno"))
    assert unnamed.flows == [("Reno", "reno:Reno")]
    halved = package.run(text.replace("0.8", "0.5"), controllers={"mine": reno})
    assert halved.flow_metrics[0]["goodput_bps"] < run.flow_metrics[0]["goodput_bps"]
    with pytest.raises(package.ScenarioError, match="no parameter"):
        package.run(text.replace("beta", "bta"), controllers={"mine": reno})


def test_the_command_finds_it_in_the_folder_that_it_is_started_in(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "base.toml").write_text(BASE)
    done = fullpipe("run", "base.toml", "--cc", "reno:Reno", "--json")
    assert json.loads(done.stdout)["flows"][0]["cc"] == "reno:Reno"
    for name, said in [
        ("reno:Rano", "name one that it has: Reno"),
        ("rano:Reno", "there is no module rano"),
        ("a b:C", "not a class of a"),
    ]:
        refused = fullpipe("run", "base.toml", "--cc", name)
        assert refused.returncode == 2
        assert said in refused.stderr


def test_it_runs_in_sweeps_on_threads_and_in_compare_and_in_check(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    sweep = package.sweep(
        BASE, {"flow.0.cc": ["newreno", "reno:Reno"]}, repeat=2, set={"duration": "2s"}, out="swept"
    )
    rust, python = (
        sweep.frame().filter(point=point).drop("point", "cc", "flow.0.cc", "fingerprint")
        for point in (0, 1)
    )
    assert_frame_equal(rust, python)
    # With a different text of the module it is a different sweep.
    (tmp_path / "reno.py").write_text((tmp_path / "reno.py").read_text().replace("beta", "part"))
    again = fullpipe(
        "sweep",
        "swept/scenario.toml",
        "--set",
        "flow.0.cc=newreno,reno:Reno",
        "--set",
        "duration=2s",
        "--repeat",
        "2",
        "--out",
        "swept",
    )
    assert again.returncode == 2
    compared = fullpipe(
        "compare",
        "cubic",
        "reno:Reno",
        "--rate",
        "5mbit",
        "--duration",
        "11s",
        "--repeat",
        "2",
        "--out",
        "kept",
    )
    assert compared.returncode == 0, compared.stderr
    assert "together Reno" in compared.stdout.replace("  ", " ") or "Reno" in compared.stdout
    (tmp_path / "base.toml").write_text(
        BASE.replace("[path]", 'expect = ["flow.a.goodput > 1mbit"]\n[path]', 1).replace(
            "newreno", "reno:Reno"
        )
    )
    assert fullpipe("check", "base.toml", "--repeat", "2").returncode == 0


TWO_PATHS = """\
# A connection over two links, whose second subflow ends, next to another connection
stack = "rfc"
duration = "8s"
start_jitter = "50ms"
[path]
rate = "20mbit"
rtt = "20ms"
buffer = "1bdp"
loss = "0.1%"
[[link]]
name = "second"
rate = "10mbit"
buffer = "1bdp"
loss = "0.2%"
[[flow]]
name = "a"
cc = "lia"
group = "phone"
[[flow]]
name = "b"
cc = "lia"
group = "phone"
route = ["second"]
rtt = "+30ms"
start = "1s"
bytes = "3MB"
[[flow]]
name = "c"
cc = "lia"
group = "laptop"
"""
IN_PYTHON = {f"flow.{flow}.cc": "lia:Lia" for flow in range(3)}


def test_coupled_flows_in_python_are_the_built_in_ones_to_the_bit() -> None:
    rust = package.run(TWO_PATHS, trace="ack")
    python = package.run(TWO_PATHS, trace="ack", set=IN_PYTHON)
    for table in ("flows", "transitions", "links"):
        assert_frame_equal(
            renamed(python.trace(table), "lia:Lia"), renamed(rust.trace(table), "lia")
        )
    subflows = rust.trace().filter(flow="a")["lia.subflows"]
    assert subflows.unique(maintain_order=True).to_list() == [1, 2]
    assert subflows[-1] == 1
    assert rust.trace().filter(flow="c")["lia.alpha"].unique().to_list() == [1]


def test_a_groups_state_belongs_to_its_run_also_on_threads() -> None:
    frames = {}
    for workers in (1, 4):
        for name, classes in (("rust", {}), ("python", IN_PYTHON)):
            sweep = package.sweep(
                TWO_PATHS,
                {"path.loss": ["0.1%", "0.5%"], "duration": ["3s"]},
                repeat=4,
                set=classes,
                out=f"{name}-{workers}",
                threads=workers,
            )
            frames[name, workers] = sweep.frame().drop("cc", "fingerprint")
    first = frames.pop(("rust", 1))
    assert first["goodput_bps"].n_unique() == first.height
    for frame in frames.values():
        assert_frame_equal(frame, first)


class Counting:
    """Counts the flows of its group; their windows are that many times ten segments."""

    def __init__(self, config: Config) -> None:
        self.group, self.smss = config.group, config.smss
        self.group["flows"] = self.group.get("flows", 0) + 1

    def on_ack(self, cx: Context, ack: Ack) -> None:
        pass

    def decision(self) -> package.Decision:
        return package.Decision(10 * self.smss * self.group["flows"])


def test_flows_of_other_groups_classes_and_none_share_nothing() -> None:
    flow = '[[flow]]\nname = "{}"\ncc = "mine"\n{}\n'
    groups = {"a": "phone", "b": "phone", "c": "laptop", "d": "", "e": ""}
    flows = (
        flow.format(name, f'group = "{group}"' if group else "") for name, group in groups.items()
    )
    text = BASE.partition("[[flow]]")[0].replace("20mbit", "1gbit") + "".join(flows)
    run = package.run(text, controllers={"mine": Counting}, trace="100ms")
    windows = run.trace().group_by("flow").agg(pl.col("cwnd").last() / 14480)
    assert dict(windows.sort("flow").rows()) == {"a": 2, "b": 2, "c": 1, "d": 1, "e": 1}


class Broken:
    """An algorithm that fails at its tenth ACK."""

    def __init__(self, config: Config) -> None:
        self.acks = 0

    def on_ack(self, cx: Context, ack: Ack) -> None:
        self.acks += 1
        if self.acks == 10:
            raise ZeroDivisionError("my own mistake")

    def decision(self) -> package.Decision:
        return package.Decision(20_000)


def test_what_it_raises_ends_the_run_with_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError, match="my own mistake") as raised:
        package.run(BASE, set={"flow.0.cc": "broken"}, controllers={"broken": Broken})
    assert raised.traceback[-1].name == "on_ack"
    with pytest.raises(ZeroDivisionError) as in_sweep:
        package.sweep(
            BASE, {"flow.0.cc": ["broken"]}, repeat=2, controllers={"broken": Broken}, out="out"
        )
    assert "the run of point 0 with seed" in str(in_sweep.value.__notes__)
    # Later runs are not affected.
    assert package.run(BASE).flow_metrics[0]["goodput_bps"] > 0


class Returns:
    """An algorithm whose methods return what a test sets."""

    fields = {"x": package.Field(purpose="x"), "y": package.Field(purpose="y")}
    values: ClassVar[object] = [1, 2]
    decided: ClassVar[object] = package.Decision(20_000)

    def __init__(self, config: Config) -> None:
        pass

    def on_ack(self, cx: Context, ack: Ack) -> None:
        pass

    def decision(self) -> object:
        return self.decided

    def observe(self) -> object:
        return self.values


@pytest.mark.parametrize("values", [[1], [1, 2, 3], None, "ab", 1.0, [1, "x"]])
def test_a_wrong_number_of_fields_is_refused(values: object) -> None:
    wrong = type("Wrong", (Returns,), {"values": values})
    with pytest.raises(package.ScenarioError) as refused:
        package.run(BASE, set={"flow.0.cc": "wrong"}, controllers={"wrong": wrong}, trace="ack")
    error = refused.value
    assert (error.key, error.value) == ("cc", "wrong")
    assert error.problem == f"observe() returned {values}"
    assert error.fix == "return a list of 2 numbers, one for each of `fields`"


def test_what_is_no_decision_is_refused() -> None:
    wrong = type("Wrong", (Returns,), {"decided": 20_000})
    with pytest.raises(package.ScenarioError, match=r"decision\(\) returned 20000"):
        package.run(BASE, set={"flow.0.cc": "wrong"}, controllers={"wrong": wrong})


def test_a_window_may_be_a_float() -> None:
    goodputs = []
    for decided in (package.Decision(20_000), package.Decision(20_000.9)):
        made = type("Made", (Returns,), {"decided": decided})
        ran = package.run(BASE, set={"flow.0.cc": "made"}, controllers={"made": made})
        goodputs.append(ran.metrics["flows"][0]["goodput_bps"])
    assert goodputs[0] == goodputs[1]
    with pytest.raises(ValueError, match=r"cwnd = nan: give a number of bytes"):
        package.Decision(float("nan"))
    with pytest.raises(ValueError, match=r"ssthresh = -1\.5: give a number of bytes"):
        package.Decision(7240, ssthresh=-1.5)


class Timed:
    """An algorithm that wakes up every 10 ms, draws a random number, and paces."""

    random = True
    recovery = "own"
    fields = {"draw": package.Field(purpose="drawn last")}

    def __init__(self, config: Config) -> None:
        self.wake, self.drawn, self.sent = 0.01, 0.0, 0

    def on_sent(self, cx: Context, packet: Snapshot) -> None:
        self.sent += packet.size

    def on_ack(self, cx: Context, ack: Ack) -> None:
        assert cx.conn.delivered >= ack.newly_acked
        assert ack.rtt is None or ack.rtt >= 0.02

    def on_timer(self, cx: Context) -> None:
        self.wake, self.drawn = cx.now + 0.01, cx.random()

    def decision(self) -> package.Decision:
        return package.Decision(100_000, pacing_rate=5e6 + 1e6 * self.drawn, wake_at=self.wake)

    def observe(self) -> list[float]:
        return [self.drawn]


def test_timers_pacing_and_random_numbers_are_as_in_rust() -> None:
    def of(seed: int) -> package.Run:
        return package.run(
            BASE, set={"flow.0.cc": "timed"}, seed=seed, trace="10ms", controllers={"timed": Timed}
        )

    one, same, other = of(1), of(1), of(2)
    assert one.trace_hash == same.trace_hash != other.trace_hash
    assert 4.5e6 < one.flow_metrics[0]["goodput_bps"] < 6e6
    draws = one.trace()["timed.draw"]
    assert draws.n_unique() > 300
    assert draws.is_between(0, 1).all()


class Watching:
    """Half a window after a loss or a mark; ECN from the third second on; collects its arguments."""

    seen: ClassVar[set[object]] = set()

    def __init__(self, config: Config) -> None:
        self.cwnd, self.smss, self.ecn = config.initial_cwnd, config.smss, "off"

    def on_sent(self, cx: Context, packet: Snapshot) -> None:
        self.seen.add(("sent", packet.ecn))

    def on_ack(self, cx: Context, ack: Ack) -> None:
        assert ack.advanced == (ack.cumulative > 0)
        assert cx.conn.in_recovery == (cx.conn.state in ("reduced", "recovery"))
        self.seen.update({cx.conn.state, ("advanced", ack.advanced), ("ece", ack.ece)})
        self.ecn = "ect0" if cx.now > 3 else "off"
        if ack.advanced and not cx.conn.in_recovery:
            self.cwnd += self.smss * ack.newly_acked // self.cwnd

    def on_recovery(self, cx: Context, change: Recovery) -> None:
        if change.kind == "enter":
            assert cx.conn.state == {"loss": "recovery", "ecn": "reduced"}[str(change.cause)]
            self.cwnd = max(self.cwnd // 2, 2 * self.smss)

    def decision(self) -> package.Decision:
        return package.Decision(self.cwnd, self.cwnd, ecn=self.ecn)


def test_it_sees_the_state_of_recovery_and_turns_ecn_on() -> None:
    Watching.seen.clear()
    marking = {
        "path.loss": "0%",
        "flow.0.cc": "watching",
        "duration": "10s",
    }
    text = BASE.replace("[path]\n", '[path]\nqueue = { kind = "codel", ecn = true }\n')
    run = package.run(text, set=marking, controllers={"watching": Watching})
    assert run.link_metrics[0]["marks"] > 0
    assert Watching.seen >= {"open", "reduced", "recovery", ("sent", "off"), ("sent", "ect0")}
    assert Watching.seen >= {("advanced", False), ("ece", True), ("ece", False)}


class Throttled:
    """An algorithm that decides two segments when a packet leaves, and twenty at an ACK."""

    most = 0

    def __init__(self, config: Config) -> None:
        self.smss, self.segments = config.smss, 20

    def on_sent(self, cx: Context, packet: Snapshot) -> None:
        type(self).most = max(self.most, packet.inflight // self.smss)
        self.segments = 2

    def on_ack(self, cx: Context, ack: Ack) -> None:
        self.segments = 20

    def decision(self) -> package.Decision:
        return package.Decision(self.segments * self.smss)


def test_a_decision_when_a_packet_leaves_holds_the_next() -> None:
    run = package.run(
        BASE,
        set={"flow.0.cc": "throttled", "path.loss": "0%"},
        controllers={"throttled": Throttled},
    )
    assert run.flow_metrics[0]["goodput_bps"] > 0
    # Each ACK lets one packet leave, whose decision holds the next one.
    assert Throttled.most <= 3


@pytest.mark.parametrize("at", [0.0, 1.0])
@pytest.mark.parametrize("methods", [{}, {"on_timer": lambda *_: None}])
def test_a_timer_that_would_fire_forever_is_refused(at: float, methods: dict[str, object]) -> None:
    def decision(_: object) -> package.Decision:
        return package.Decision(100_000, wake_at=at)

    nothing = dict.fromkeys(("__init__", "on_ack"), lambda *_: None)
    made = type("Stuck", (), {**nothing, "decision": decision, **methods})
    with pytest.raises(ValueError, match="the timer would fire forever\n  fix: let on_timer set"):
        package.run(BASE, set={"flow.0.cc": "stuck"}, controllers={"stuck": made})


class Talkative:
    """An algorithm with a constant window, and a new state and reason at each of its first 300 ACKs."""

    fields = {"state": package.Field(labels=[f"state {n}" for n in range(300)])}

    def __init__(self, config: Config) -> None:
        self.cwnd = config.initial_cwnd
        self.acks = 0

    def on_ack(self, cx: Context, ack: Ack) -> None:
        if self.acks < 299:
            cx.transition(f"state {self.acks}", f"state {self.acks + 1}", f"reason {self.acks}")
            self.acks += 1

    def decision(self) -> package.Decision:
        return package.Decision(self.cwnd)

    def observe(self) -> list[float]:
        return [float(self.acks)]


def test_states_and_reasons_may_be_more_than_a_byte_tells_apart(tmp_path: Path) -> None:
    run = package.run(
        BASE,
        set={"flow.0.cc": "talkative", "path.loss": "0%"},
        trace="ack",
        controllers={"talkative": Talkative},
    )
    transitions = run.trace("transitions")
    assert transitions["reason"].to_list() == [f"reason {n}" for n in range(299)]
    assert transitions["to"].to_list() == [f"state {n + 1}" for n in range(299)]
    states = run.trace()["talkative.state"].to_list()
    assert states[:300] == [f"state {n}" for n in range(300)]
    assert set(states[300:]) == {"state 299"}
    codes, labels = run.columns("transitions")["reason"]
    assert [labels[code] for code in codes] == transitions["reason"].to_list()
    columns = run.columns()
    assert columns["limited_by"][0].dtype.itemsize == 1, "few labels need one byte each"
    transitions.write_parquet(tmp_path / "transitions.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "transitions.parquet"), transitions)


class Numbering(Talkative):
    """An algorithm with a unique number in each of its reasons."""

    def on_ack(self, cx: Context, ack: Ack) -> None:
        for _ in range(1000):
            self.acks += 1
            cx.transition("state 0", "state 0", f"number {self.acks}")


def test_reasons_without_end_are_refused() -> None:
    with pytest.raises(ValueError, match="exceeds the limit of 65536 states and reasons"):
        package.run(BASE, set={"flow.0.cc": "numbering"}, controllers={"numbering": Numbering})


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (type("NoDecision", (), {"on_ack": lambda *_: None}), "no method decision"),
        (type("Bad", (Broken,), {"recovery": "mine"}), "recovery = 'mine'"),
        (
            type("Bad", (Broken,), {"params": {"beta": 0.8}}),
            r"Bad.params\['beta'\] is no fullpipe.Param",
        ),
        (type("Bad", (Broken,), {"params": ["beta"]}), "Bad.params is no dict"),
        (type("Bad", (Broken,), {"fields": {"w": "B"}}), r"Bad.fields\['w'\] is no fullpipe.Field"),
        (
            type("Bad", (Broken,), {"fields": {1: package.Field("B")}}),
            r"Bad.fields\[1\] is no fullpipe.Field",
        ),
        (type("Bad", (Broken,), {"fields": {"x": package.Field()}}), "no method observe"),
        (
            type("Bad", (Broken,), {"params": {"x": package.Param(2.0, 0.0, 1.0)}}),
            "the default of x is not from 0.0 to 1.0",
        ),
    ],
)
def test_a_class_that_is_none_is_refused_before_the_run(made: type, said: str) -> None:
    with pytest.raises(package.ScenarioError, match=said):
        package.run(BASE, set={"flow.0.cc": "bad"}, controllers={"bad": made})


def test_a_decision_that_cannot_be_meant_says_so() -> None:
    with pytest.raises(ValueError, match="cwnd = 0"):
        package.Decision(0)
    with pytest.raises(ValueError, match='ecn = "on"'):
        package.Decision(1, ecn="on")


def test_the_drafts_cases_judge_a_class_with_states_of_bbr_and_refuse_others(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    refused = fullpipe("evaluate", "--suite", "bbr-draft", "reno:Reno")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "reno:Reno is no version of BBR: it has none of the states" in refused.stderr
    (tmp_path / "posing.py").write_text(POSING, encoding="utf-8")
    done = fullpipe("evaluate", "--suite", "bbr-draft", "posing:Posing", "--json")
    assert done.returncode == 1, done.stderr
    verdicts = {case["verdict"] for case in json.loads(done.stdout)}
    assert verdicts >= {"missed", "skipped"}


class InSegments:
    """A window in segments, where bytes are meant."""

    def __init__(self, config: Config) -> None:
        self.cwnd = 10

    def on_ack(self, cx: Context, ack: Ack) -> None: ...

    def decision(self) -> package.Decision:
        return package.Decision(cwnd=self.cwnd)


def test_a_window_in_segments_is_refused() -> None:
    with pytest.raises(package.ScenarioError) as refused:
        package.run(["cubic", InSegments], rate="5mbit", rtt="20ms", duration="2s")
    assert refused.value.problem == (
        "the window is below one segment (10 of 1448 bytes) after __init__ at 0.000 s"
    )
    assert refused.value.fix == "windows are in bytes: write 10 * config.smss for 10 segments"
