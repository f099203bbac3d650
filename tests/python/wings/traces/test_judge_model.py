"""`fullpipe trace judge`: the bound of the losses, which are those of a model of the same path."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import fullpipe
import served
from fullpipe.errors import UNEVALUATED
from fullpipe.study.verdicts.judged import Verdict
from fullpipe.wings.traces.behavior.conditions.loss import loss_rate
from fullpipe.wings.traces.behavior.judge import judge
from fullpipe.wings.traces.behavior.model import Model
from fullpipe.wings.traces.behavior.rules import Rules
from fullpipe.wings.traces.behavior.source import of_run
from judged_senders import Endless, Greedy, Reno


@pytest.mark.parametrize(
    ("sender", "verdict"), [(Reno, "met"), (Greedy, "not met"), (Endless, "not met")]
)
def test_losses_are_bound_by_those_of_the_model(
    sender: type[Reno], verdict: str, tmp_path: Path
) -> None:
    path = {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp"}
    scenario = {"duration": "40s", "path": path, "flow": [{"cc": "own"}]}
    run = fullpipe.run(scenario, trace="ack", controllers={"own": sender})
    run.qlog(tmp_path / "own.qlog")
    words = ("--rate", "10mbit", "--rtt", "40ms", "--buffer", "1bdp", "--json")
    done = served.command("trace", "judge", tmp_path / "own.qlog", "--as", "newreno", *words)
    found = {each["condition"]: each for each in json.loads(done.stdout)["conditions"]}["loss-rate"]
    assert (found["verdict"], found["unit"]) == (verdict, "%")


def test_a_bound_that_no_loss_can_miss_is_not_evaluated() -> None:
    """A full pipe is more than all packets of a short trace."""
    short = Path(__file__).parents[2] / "short.qlog"
    words = ("--rate", "20mbit", "--rtt", "40ms", "--buffer", "1bdp", "--json")
    done = served.command("trace", "judge", short, "--as", "cubic", *words)
    found = {each["condition"]: each for each in json.loads(done.stdout)["conditions"]}["loss-rate"]
    assert found["verdict"] == "not evaluated"
    assert "and all may be lost: a full pipe of the model is" in found["reason"]


def test_a_model_on_a_fast_path_has_a_trace() -> None:
    short = Path(__file__).parents[2] / "short.qlog"
    done = served.command(
        "trace",
        "judge",
        short,
        "--as",
        "cubic",
        "--rate",
        "20gbit",
        "--rtt",
        "40ms",
        "--buffer=1bdp",
    )
    assert done.returncode in (0, 1, 3), done.stderr


@pytest.mark.parametrize("algorithm", ["newreno", "cubic", "bbr3"])
def test_losses_of_other_stacks_with_the_same_rules_are_within_the_bound(algorithm: str) -> None:
    """Other packet sizes, ACKs, pacing and starts, on drawn paths."""
    draw = random.Random(algorithm)
    paced: list[dict[str, Any]] = (
        [] if algorithm == "bbr3" else [{"pacing": "off"}, {"pacing": "on"}]
    )
    for number in range(3):
        rate, rtt = draw.uniform(4, 60) * 1e6, draw.uniform(0.01, 0.12)
        path = {
            "rate": f"{rate:.0f}bit",
            "rtt": f"{rtt * 1e6:.0f}us",
            "buffer": f"{draw.uniform(0.5, 4):.2f}bdp",
            **({"loss": "0.5%"} if number == 2 else {}),
        }
        scenario = {"duration": "15s", "path": path, "flow": [{"cc": algorithm}]}
        model = Model(scenario, {}, rate, rtt, 15.0)
        bound = loss_rate(algorithm, [of_run(model.run(seed)) for seed in range(1, 6)])
        for more in (
            *paced,
            {"mss": "1200B"},
            {"delayed_ack": 1},
            {"initial_window": 32},
            {"tso": "on"},
        ):
            run = fullpipe.run(
                scenario | {"flow": [{"cc": algorithm, **more}]}, trace="ack", seed=77
            )
            [*_, found] = judge(of_run(run), Rules(algorithm, {}), [bound])
            assert found.verdict is Verdict.MET, (path, more, found.difference)


def test_the_model_of_a_transfer_runs_as_long_as_the_transfer(tmp_path: Path) -> None:
    scenario = {
        "duration": "12s",
        "path": {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"},
        "flow": [{"cc": "newreno", "bytes": "10MB"}],
    }
    fullpipe.run(scenario, trace="10ms").qlog(tmp_path / "transfer.qlog")
    words = ("--as", "newreno", "--rate", "20mbit", "--rtt", "40ms", "--seeds", 2)
    out = tmp_path / "judged"
    done = served.command("trace", "judge", tmp_path / "transfer.qlog", *words, "--out", out)
    assert done.returncode == UNEVALUATED, done.stdout  # one loss, at the end of slow start
    metrics = json.loads((out / "model" / "metrics.json").read_text())
    assert metrics["duration_s"] == pytest.approx(4.4)
    # 10 MB of segments of 1,448 bytes: Reno adds one of them in a round trip.
    growth = json.loads((out / "judge.json").read_text())["conditions"][2]
    assert growth["condition"] == "reno-growth"
    assert growth["measured"] == pytest.approx(1.0, abs=0.05)
