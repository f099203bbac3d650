"""Every command tells the mistakes of a class in Python, before or in its first run, with a fix."""

from __future__ import annotations

import functools
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import fullpipe as package
from fullpipe.algorithms.classes import described
from plain_class import PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Fullpipe
    from fullpipe._core import Ack, Config, Context

PATH = ("--rate", "5mbit", "--rtt", "20ms")
SHORT = {"duration": "2s", "measure_from": "200ms"}
LONG = ("--duration", "11s")


class Plain:
    """A fixed window; the base of all classes below."""

    def __init__(self, config: Config) -> None:
        self.cwnd: Any = config.initial_cwnd

    def on_ack(self, cx: Context, ack: Ack) -> None: ...

    def decision(self) -> package.Decision:
        return package.Decision(self.cwnd)


BAD = (
    PLAIN
    + """\
class Segments(Plain):
    def __init__(self, config):
        self.cwnd = 10

class Misspelled(Plain):
    def on_loss(self, cx, lost): ...

class Missing(Plain):
    def on_ack(self, cx, ack):
        self.cwnd += ack.acked

class NoNumber(Plain):
    def on_ack(self, cx, ack):
        self.cwnd = float("nan")

class Stateful(Plain):
    acks = 0

    def on_ack(self, cx, ack):
        Stateful.acks += 1
        self.cwnd = 20_000 + Stateful.acks
"""
)
SAID = {
    "Segments": ["below one segment (10 of 1448 bytes)", "windows are in bytes"],
    "Misspelled": ["a method on_loss, which nothing calls", "did you mean on_lost?"],
    "Missing": ["no attribute 'acked'", "did you mean newly_acked?"],
    "NoNumber": ["cwnd = nan: give a number of bytes"],
    "Stateful": ["Stateful.acks outlives the run", "keep all state in self"],
}


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
    text = 'duration = "2s"\nexpect = ["link.bottleneck.utilization > 1%"]\n'
    path = '[path]\nrate = "5mbit"\nrtt = "20ms"\nbuffer = "1bdp"\n[[flow]]\ncc = "cubic"\n'
    (tmp_path / "plain.toml").write_text(text + path, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


DOORS: dict[str, tuple[str, ...]] = {
    "run": ("run", "bad:{}", *PATH, "--duration", "2s"),
    "sweep": ("sweep", "bad:{}", *PATH, *LONG, "--repeat", "2", "--out", "swept"),
    "compare": ("compare", "cubic", "bad:{}", *PATH, *LONG, "--repeat", "2", "--out", "kept"),
    "check": ("check", "plain.toml", "--cc", "bad:{}", "--repeat", "2"),
    "plugin check": ("plugin", "check", "bad:{}"),
    "evaluate": ("evaluate", "bad:{}", "--out", "judged"),
    "a file": ("run", "bad.py:{}", *PATH, "--duration", "2s"),
}


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("door", DOORS)
def test_every_command_tells_the_mistake(fullpipe: Fullpipe, door: str, name: str) -> None:
    done = fullpipe(*(part.format(name) for part in DOORS[door]))
    said = done.stdout + done.stderr
    assert done.returncode == (1 if door == "plugin check" and name != "Misspelled" else 2), said
    if door == "plugin check" and name == "Stateful":
        assert "the same calls lead to other decisions" in said
        return
    for words in SAID[name]:
        assert words in said
    if name in ("Missing", "NoNumber") and door != "plugin check":
        assert f'File "{Path.cwd() / "bad.py"}", line' in done.stderr, "the class's own line"


@pytest.mark.parametrize("name", ["Segments", "Missing", "Stateful"])
def test_a_worker_of_a_cluster_tells_the_mistake(fullpipe: Fullpipe, name: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed; `make setup-all` installs it")
    done = fullpipe(*(part.format(name) for part in DOORS["sweep"]), "--engine", "ray")
    assert done.returncode == 2
    for words in SAID[name]:
        assert words in done.stderr


@pytest.mark.parametrize("name", SAID)
def test_the_api_raises_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path.cwd())
    monkeypatch.delitem(sys.modules, "bad", raising=False)
    calls: list[Callable[[], object]] = [
        lambda: package.run([f"bad:{name}"], rate="5mbit", rtt="20ms", duration="2s"),
        lambda: package.sweep(
            f"bad:{name}", {"path.rtt": ["20ms"]}, set=SHORT, repeat=2, out="swept"
        ),
        lambda: package.compare("cubic", f"bad:{name}", rate="5mbit", duration="11s", repeat=2),
    ]
    for call in calls:
        monkeypatch.delitem(sys.modules, "bad", raising=False)  # another class each time
        with pytest.raises((ValueError, AttributeError)) as raised:
            call()
        said = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", ())])
        for words in SAID[name]:
            assert words in said


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("on_loss", "did you mean on_lost?"),
        ("onLost", "did you mean on_lost?"),
        ("OnSent", "did you mean on_sent?"),
        ("on_start", "the methods that are called: on_ack"),
        ("Observe", "did you mean observe?"),
    ],
)
def test_a_method_like_one_of_the_contract_is_refused(method: str, said: str) -> None:
    made = type("Mine", (Plain,), {method: lambda *_: None})
    with pytest.raises(package.ScenarioError, match="which nothing calls") as refused:
        described("mine", made)
    assert said in refused.value.fix


class Whole(Plain):
    """Has each method of the contract."""

    observe = on_lost = on_recovery = on_sent = lambda *_: ()


@pytest.mark.parametrize(
    ("method", "meant"),
    [
        ("onAck", "on_ack"),
        ("onRecovery", "on_recovery"),
        ("On_Ack", "on_ack"),
        ("onLoss", "on_lost"),
        ("on_recover", "on_recovery"),
        ("Decision", "decision"),
        ("decisions", "decision"),
        ("obsrve", "observe"),
    ],
)
@pytest.mark.parametrize("place", ["class", "base"])
def test_a_misspelled_method_beside_the_right_one_is_refused(
    method: str, meant: str, place: str
) -> None:
    """A class that overrides a method of a skeleton would be judged by the skeleton's."""
    made = type("Mine", (Whole,), {method: lambda *_: None})
    if place == "base":
        made = type("Mine", (made,), {})
    with pytest.raises(package.ScenarioError, match=f"a method {method}, which nothing calls"):
        described("mine", made)
    with pytest.raises(package.ScenarioError, match=rf"did you mean {meant}\?"):
        described("mine", made)


def test_methods_of_fullpipes_own_bases_are_not_judged() -> None:
    base = type("Base", (Plain,), {"on_shown": lambda *_: None, "__module__": "fullpipe.some"})
    assert described("mine", type("Mine", (base,), {}))[0] == "mine"


def test_helpers_with_other_names_are_fine() -> None:
    class Helped(Plain):
        def grow(self) -> None: ...

        def acked(self) -> None: ...

        def once(self) -> None: ...

        def decide(self) -> None: ...

        def _on_loss(self) -> None: ...

        def on_loss(self) -> None: ...

        def on_lost(self, *_: object) -> None:
            self.on_loss()

    assert described("mine", Helped)[0] == "mine"


def wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def outside(*args: object) -> Any:  # noqa: ANN401
        return method(*args)

    return outside


class WrappedInAClass:
    """A decorator that is a class."""

    def __init__(self, method: Callable[..., Any]) -> None:
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, of: object, _: type) -> Callable[..., Any]:
        return functools.partial(self.__wrapped__, of)  # type: ignore[attr-defined]


class _InAComprehension(Plain):
    def on_lost(self, *_: object) -> None:
        [self.on_loss() for _ in range(2)]  # type: ignore[attr-defined]


class _InALambda(Plain):
    def on_lost(self, *_: object) -> None:
        (lambda: (lambda: self.on_loss())())()  # type: ignore[attr-defined]


class _InAProperty(Plain):
    @property
    def lost(self) -> None:
        self.on_loss()  # type: ignore[attr-defined]


class _InACachedProperty(Plain):
    @functools.cached_property
    def lost(self) -> None:
        self.on_loss()  # type: ignore[attr-defined]


class _InADecorated(Plain):
    @wrapped
    def on_lost(self, *_: object) -> None:
        self.on_loss()  # type: ignore[attr-defined]


class _InADecoratedByAClass(Plain):
    @WrappedInAClass
    def on_lost(self, *_: object) -> None:
        self.on_loss()  # type: ignore[attr-defined]


class _InAClassMethod(Plain):
    @classmethod
    def lost(cls, of: Any) -> None:  # noqa: ANN401
        of.on_loss()


class _InAPartial(Plain):
    @staticmethod
    def _lost(of: Any, _: int) -> None:  # noqa: ANN401
        of.on_loss()

    lost = functools.partialmethod(_lost, 1)


class _ByItsText(Plain):
    def on_lost(self, *_: object) -> None:
        getattr(self, "on_loss")()  # noqa: B009


class _ByOneOfTexts(Plain):
    def on_lost(self, *_: object) -> None:
        for name in ("on_loss", "grow"):
            getattr(self, name)()


@pytest.mark.parametrize(
    "user",
    [
        _InAComprehension,
        _InALambda,
        _InAProperty,
        _InACachedProperty,
        _InADecorated,
        _InADecoratedByAClass,
        _InAClassMethod,
        _InAPartial,
        _ByItsText,
        _ByOneOfTexts,
    ],
)
def test_a_method_that_another_uses_is_a_helper(user: type) -> None:
    assert described("mine", type("Mine", (user,), {"on_loss": lambda _: None}))[0] == "mine"


def test_a_method_that_calls_itself_alone_is_no_helper() -> None:
    class Mine(Plain):
        def on_loss(self) -> None:
            """Handles a loss, it says."""
            self.on_loss()

    with pytest.raises(package.ScenarioError, match="a method on_loss, which nothing calls"):
        described("mine", Mine)


def test_a_decision_named_otherwise_is_missed() -> None:
    made = type("Mine", (), {"on_ack": lambda *_: None, "decisions": lambda *_: None})
    with pytest.raises(package.ScenarioError, match="did you mean decision"):
        described("mine", made)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cwnd": -5}, "cwnd = -5: give a number of bytes"),
        ({"cwnd": "big"}, "cwnd = big: give a number of bytes"),
        ({"cwnd": float("inf")}, "cwnd = inf: give a number of bytes"),
        ({"ssthresh": float("nan")}, "ssthresh = nan: give a number of bytes"),
        ({"send_quantum": -1}, "send_quantum = -1: give a number of bytes"),
        ({"pacing_rate": float("nan")}, "pacing_rate = NaN: give at least 1 bit/s"),
        ({"wake_at": -1.0}, "wake_at = -1: give a time in seconds"),
    ],
)
def test_values_that_are_no_numbers_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        package.Decision(**{"cwnd": 20_000, **given})


class Shrinks(Plain):
    """A window that only falls."""

    def on_ack(self, cx: Context, ack: Ack) -> None:
        self.cwnd -= 100


def test_a_window_that_falls_below_a_segment_names_call_and_time() -> None:
    with pytest.raises(package.ScenarioError) as refused:
        package.run([Shrinks], rate="5mbit", rtt="20ms", duration="20s")
    assert "after on_ack at " in refused.value.problem
    assert refused.value.fix == "windows are in bytes: keep it at config.smss or above"


def run(made: type) -> package.Run:
    return package.run([made], rate="5mbit", rtt="20ms", duration="2s")


SEEN: list[float] = []


class InTheModule(Plain):
    """Its state is a variable of the module."""

    def on_ack(self, cx: Context, ack: Ack) -> None:
        SEEN.append(cx.now)
        self.cwnd = 20_000 + len(SEEN)


class InADefault(Plain):
    """Its state is a default of an argument."""

    def on_ack(self, cx: Context, ack: Ack, seen: list[int] = []) -> None:  # noqa: B006
        seen.append(1)
        self.cwnd = 20_000 + len(seen)


class InAClass(Plain):
    """Its state is an attribute of the class."""

    seen: ClassVar[list[int]] = []

    def on_ack(self, cx: Context, ack: Ack) -> None:
        self.seen.append(1)
        self.cwnd = 20_000 + len(self.seen)


class Dice(Plain):
    """Draws from the generator of the process."""

    def on_ack(self, cx: Context, ack: Ack) -> None:
        self.cwnd = random.randint(20_000, 40_000)


class Clock(Plain):
    """Reads a clock."""

    def on_ack(self, cx: Context, ack: Ack) -> None:
        self.cwnd = 20_000 + time.perf_counter_ns() % 1000


def around() -> type:
    seen: list[int] = []

    class Inner(Plain):
        def on_ack(self, cx: Context, ack: Ack) -> None:
            seen.append(1)
            self.cwnd = 20_000 + len(seen)

    return Inner


@pytest.mark.parametrize(
    ("made", "left"),
    [
        (InTheModule, f"SEEN of the module {__name__}"),
        (InADefault, "a default of InADefault.on_ack"),
        (InAClass, "InAClass.seen"),
        (Dice, "the generator of the module random"),
        (Clock, "a clock is read"),
        (around(), "seen around around.<locals>.Inner.on_ack"),
    ],
)
def test_state_that_outlives_a_run_is_named(made: type, left: str) -> None:
    for _ in range(2):  # a cell of a notebook is run again
        with pytest.raises(package.ScenarioError) as refused:
            run(made)
        assert left in str(refused.value)


def test_a_class_that_is_mended_in_place_is_judged_again() -> None:
    mended = type("Mended", (Clock,), {})
    with pytest.raises(package.ScenarioError):
        run(mended)
    mended.on_ack = Plain.on_ack  # type: ignore[attr-defined]
    assert run(mended).metrics["jain"] == 1


class Notes(Plain):
    """Its notes change no decision."""

    notes: ClassVar[list[float]] = []

    def on_ack(self, cx: Context, ack: Ack) -> None:
        self.notes.append(cx.now)
        print("noted")


def test_notes_of_a_class_are_those_of_the_run_alone(capfd: pytest.CaptureFixture[str]) -> None:
    Notes.notes.clear()
    run(Notes)
    once = [*Notes.notes]
    assert once == sorted(once)
    assert capfd.readouterr().out.count("noted") == len(once) > 0


@pytest.mark.parametrize("name", ["reno:Reno", "lia:Lia"])
def test_the_examples_keep_the_contract_of_the_tcp_that_they_run_on(
    fullpipe: Fullpipe, name: str
) -> None:
    example = Path(__file__).parents[3] / "examples" / "python-controller"
    module = name.partition(":")[0]
    done = fullpipe("plugin", "check", f"{example / module}.py:{name.partition(':')[2]}")
    assert done.returncode == 0, done.stdout + done.stderr
