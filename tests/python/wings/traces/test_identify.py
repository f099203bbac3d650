"""`fullpipe trace identify`: a small recipe, flows of other paths, and of an algorithm that was left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

import fullpipe
import served
from fullpipe.commands import app
from fullpipe.wings.traces.behavior.observed import LacksError, Observed
from fullpipe.wings.traces.behavior.source import of_run
from fullpipe.wings.traces.identify import recipe
from fullpipe.wings.traces.identify import train as training
from fullpipe.wings.traces.identify.features import FEATURES, features

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("sklearn", reason="scikit-learn is not installed; `make setup-all` installs it")
from fullpipe.wings.traces.identify.classify import UNKNOWN, Classifier

KNOWN = ("newreno", "cubic", "bbr1")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Classifier]:
    """A classifier of three algorithms, from the first 16 of the recipe's draws, in a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(recipe, "ALGORITHMS", {name: recipe.ALGORITHMS[name] for name in KNOWN})
        patch.setattr(recipe, "FLOWS", 16)
        table = training.train()
        assert len(table[0]) == 48
        again = training.load()
        assert np.array_equal(again[0], table[0]) and again[1] == table[1]
        yield Classifier(again)


def _flow(algorithm: str, number: int) -> tuple[Any, Observed]:
    """Returns the features and the trace of a flow on a path that the recipe does not have."""
    path = {"rate": f"{8 + 5 * number}mbit", "rtt": f"{30 + 9 * number}ms", "buffer": "1.3bdp"}
    scenario = {"duration": "20s", "path": path, "flow": [{"cc": algorithm}]}
    trace = of_run(fullpipe.run(scenario, trace="10ms"))
    return features(trace), trace


def test_flows_of_other_paths_are_named(classifier: Classifier) -> None:
    named = {
        name: [classifier.identify(*_flow(name, number)).name for number in range(4)]
        for name in KNOWN
    }
    assert sum(each == name for name in KNOWN for each in named[name]) >= 11, named
    assert not any(each in KNOWN and each != name for name in KNOWN for each in named[name])


def test_an_algorithm_that_was_left_out_breaks_a_rule_of_the_nearest_one(
    classifier: Classifier,
) -> None:
    without = classifier.without("cubic")
    found = [without.identify(*_flow("cubic", number)) for number in range(4)]
    assert [each.name for each in found].count(UNKNOWN) >= 3
    told = [each.reason for each in found if "but" in each.reason]
    assert told
    assert all("most like newreno, but window after / before losses" in each for each in told)
    assert all("RFC 5681 §3.1" in each for each in told)


def test_a_capture_of_a_known_algorithm_is_named_by_the_command(
    classifier: Classifier, tmp_path: Path
) -> None:
    """The command takes the classifier of the fixture's cache."""
    path = {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"}
    for name in KNOWN:
        scenario = {"duration": "20s", "path": path, "flow": [{"cc": name}]}
        fullpipe.run(scenario, trace="ack packets").save(tmp_path / name)
        capture = tmp_path / f"{name}.pcapng"
        done = CliRunner().invoke(app, ["trace", "packets", str(tmp_path / name), str(capture)])
        assert done.exit_code == 0, done.output
        done = CliRunner().invoke(app, ["trace", "identify", str(capture), "--json"])
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert found["algorithm"] == name, found


def test_features_are_finite_and_do_not_depend_on_the_time_of_the_start() -> None:
    scenario: dict[str, Any] = {
        "duration": "25s",
        "path": {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"},
        "flow": [{"cc": "newreno"}],
    }
    early = features(of_run(fullpipe.run(scenario, trace="10ms")))
    scenario["flow"][0]["start"] = "3s"
    scenario["duration"] = "28s"
    late = features(of_run(fullpipe.run(scenario, trace="10ms")))
    assert np.isfinite(early).all()
    names = ("backoff", "growth", "epoch_rtts")
    for name in names:
        at = FEATURES.index(name)
        assert late[at] == pytest.approx(early[at], rel=0.1), name
    assert early[FEATURES.index("backoff")] == pytest.approx(0.55, abs=0.1)
    assert early[FEATURES.index("growth")] == pytest.approx(1.0, abs=0.2)


def test_a_short_trace_has_no_features() -> None:
    run = fullpipe.run(["cubic"], duration="4s", trace="10ms", rate="20mbit")
    with pytest.raises(LacksError, match="shorter than 8 s"):
        features(of_run(run))


def test_without_training_the_error_names_the_command(tmp_path: Path) -> None:
    fullpipe.run(["cubic"], duration="9s", trace="10ms", rate="9mbit").save(tmp_path / "run")

    def call(*words: object) -> subprocess.CompletedProcess[str]:
        environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
        return served.command("trace", "identify", *words, environment=environment)

    done = call(tmp_path / "run", "--json")
    assert done.returncode == 2
    assert "fix: run fullpipe trace identify --train" in done.stderr
    done = call()
    assert done.returncode == 2
    assert "error: name a trace" in done.stderr
    assert json.dumps(done.stdout) == '""'
