"""Environments for reinforcement learning: their interfaces, and what their results depend on."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, VectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import parallel_api_test

import fullpipe
import fullpipe.gym
import served
from fullpipe.gym import Action, Declaration, Env, Layer, ParallelEnv, save_policy
from fullpipe.gym import VectorEnv as Environments
from fullpipe.wings.quic.runners._quic import Quic

SHORT: dict[str, Any] = {"max_steps": 20}


@pytest.mark.parametrize("name", fullpipe.gym.IDS)
def test_gymnasiums_checker_accepts_each_environment(name: str) -> None:
    env = gymnasium.make(name).unwrapped
    with warnings.catch_warnings():
        # Aurora's actions have no limits; its rates have.
        warnings.filterwarnings("ignore", ".*symmetric and normalized space.*")
        check_env(env)


def test_the_vector_has_gymnasiums_interface() -> None:
    environments = gymnasium.make_vec("fullpipe/Rate-v0", num_envs=3, **SHORT)
    assert isinstance(environments, VectorEnv)
    assert environments.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    observations, infos = environments.reset(seed=1)
    assert environments.observation_space.contains(observations)
    assert environments.single_action_space.contains(np.zeros(1, np.float32))
    assert infos["seed"].tolist() == [1, 2, 3]
    for step in range(1, 21):
        _, _, _, truncated, _ = environments.step(environments.action_space.sample())
        assert truncated.tolist() == [step == 20] * 3
    _, rewards, _, truncated, infos = environments.step(environments.action_space.sample())
    assert rewards.tolist() == [0.0] * 3
    assert not truncated.any()
    assert len({*infos["seed"].tolist(), 1, 2, 3}) == 6


def test_a_reset_mask_leaves_the_others_where_they_are() -> None:
    environments = Environments(3, **SHORT)
    environments.reset(seed=1)
    environments.step(np.zeros((3, 1), np.float32))
    before = environments._batch.read()[4]
    _, infos = environments.reset(options={"reset_mask": np.array([False, True, False])})
    assert infos["time_s"][[0, 2]].tolist() == before[[0, 2], 0].tolist()
    assert infos["time_s"][1] != before[1, 0]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_seed_gives_the_same_episode_whatever_the_number_of_threads(threads: int) -> None:
    prior = {
        "path.loss": ["0%", "1%"],
        "path.rate_pattern": "sine 4mbit..20mbit every 2s",
        "flow.1.cc": ["cubic", "bbr3"],
    }
    scenario = {
        "duration": "30s",
        "path": {"rate": "10mbit", "rtt": "20ms", "buffer": "2bdp"},
        "flow": [{"name": "mine", "cc": "agent"}, {"name": "cross", "cc": "cubic"}],
    }
    environments = Environments(6, scenario=scenario, prior=prior, threads=threads, **SHORT)
    random = np.random.default_rng(1)
    digest = hashlib.sha256()
    observations, _ = environments.reset(seed=5)
    for _ in range(50):
        digest.update(observations.tobytes())
        actions = random.uniform(-1, 1, (6, 1)).astype(np.float32)
        observations, rewards, _, _, infos = environments.step(actions)
        digest.update(rewards.tobytes() + infos["throughput_bps"].tobytes())
    _HASHES.add(digest.hexdigest())
    one = Environments(6, scenario=scenario, prior=prior, threads=1, **SHORT)
    first, _ = one.reset(seed=5)
    again, _ = environments.reset(seed=5)
    assert first.tobytes() == again.tobytes()
    assert len(_HASHES) == 1


_HASHES: set[str] = set()


def test_an_environment_alone_is_the_one_of_a_vector() -> None:
    environments, alone = Environments(2, **SHORT), Env(**SHORT)
    many, _ = environments.reset(seed=6)
    one, info = alone.reset(seed=7)
    assert many[1].tobytes() == one.tobytes()
    assert info["settings"] == environments.settings(7)
    for _ in range(19):
        many, rewards, _, _, _ = environments.step(np.full((2, 1), 0.2, np.float32))
        one, reward, *_ = alone.step(np.array([0.2], np.float32))
        assert (many[1].tobytes(), rewards[1]) == (one.tobytes(), reward)


def test_an_episode_has_the_settings_of_a_sweeps_first_point() -> None:
    prior = {"path.rate": "4mbit..50mbit log", "path.rtt": "10ms..100ms log"}
    _, info = Env(prior=prior, **SHORT).reset(seed=11)
    swept = fullpipe.sweep("cubic", prior, sample=1, seed=11, duration="1s")
    row = swept.flows.row(0, named=True)
    assert {key: row[key] for key in prior} == info["settings"]


def test_termination_is_apart_from_truncation() -> None:
    env = Env(prior={"flow.0.bytes": "50kB"}, max_steps=None)
    env.reset(seed=1)
    done = [env.step(np.ones(1, np.float32))[2:4] for _ in range(8)]
    assert (True, False) in done
    cut = Env(prior={"duration": "500ms"}, max_steps=None)
    cut.reset(seed=1)
    ends = [cut.step(np.zeros(1, np.float32))[2:] for _ in range(60)]
    terminated, truncated, info = ends[-1]
    assert (terminated, truncated, info["time_s"]) == (False, True, 0.5)


def test_several_agents_have_pettingzoos_interface() -> None:
    scenario = {
        "duration": "60s",
        "path": {"rate": "20mbit", "rtt": "20ms", "buffer": "2bdp"},
        "flow": [{"name": "a", "cc": "agent"}, {"name": "b", "cc": "agent", "start": "300ms"}],
    }
    env = ParallelEnv(scenario, max_steps=60, team=0.5)
    parallel_api_test(env, num_cycles=200)
    env.reset(seed=1)
    for _ in range(59):
        _, rewards, _, _, infos = env.step({agent: np.zeros(1) for agent in env.agents})
    assert env.agents == ["a", "b"]
    assert {infos[agent]["interval_s"] for agent in env.agents} == {infos["a"]["interval_s"]}
    env.step({})
    assert env.agents == []
    own = ParallelEnv(scenario, max_steps=60)
    own.reset(seed=1)
    env.reset(seed=1)
    for _ in range(40):
        _, alone, *_ = own.step({agent: np.zeros(1) for agent in own.agents})
        _, rewards, *_ = env.step({agent: np.zeros(1) for agent in env.agents})
    mean = sum(alone.values()) / 2
    assert rewards == pytest.approx({key: (value + mean) / 2 for key, value in alone.items()})


def test_columns_of_the_trace_follow_the_features() -> None:
    columns = ["flows.cwnd", "flows.ssthresh", "links.queue_bytes", "flows.cwnd@cross"]
    scenario = {
        "duration": "20s",
        "path": {"rate": "10mbit", "rtt": "20ms", "buffer": "2bdp"},
        "flow": [{"name": "mine", "cc": "agent"}, {"name": "cross", "cc": "cubic"}],
    }
    env = Env(scenario=scenario, prior={}, observation=["loss-ratio", *columns], history=2)
    env.reset(seed=1)
    for _ in range(30):
        observation, _, _, _, info = env.step(np.zeros(1, np.float32))
        assert env.observation_space.contains(observation)
    _, _, cwnd, ssthresh, queue, cross = observation.tolist()
    assert (cwnd, ssthresh) == (np.float32(info["cwnd_bytes"]), -1.0)
    assert queue > 0
    assert cross > 1448


def test_auroras_reward_is_that_of_its_environment() -> None:
    env = Env(fullpipe.gym.AURORA)
    env.reset(seed=3)
    for _ in range(20):
        _, reward, _, _, info = env.step(np.zeros(1, np.float32))
        rate, delay, loss = info["throughput_bps"], info["mean_rtt_s"], info["loss_ratio"]
        packets = rate / 8 / 1448 - 1 / info["interval_s"]
        assert reward == pytest.approx(0.001 * (10 * packets - 1000 * delay - 2000 * loss))


def test_the_reward_of_power_is_zero_at_best() -> None:
    env = Env(prior={"path.rate": "10mbit", "path.rtt": "40ms"}, action=Action(scale=0.1))
    env.reset(seed=1)
    rewards = [env.step(np.array([0.5 if step < 40 else 0.0]))[1] for step in range(100)]
    assert max(rewards) < 0.02
    assert max(rewards) > -0.4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prior": {"path.rate": "9mbit..1mbit"}}, "9mbit is not below 1mbit"),
        ({"prior": {"path.rat": "9mbit"}}, "path.rat"),
        ({"scenario": ["cubic"]}, 'no flow has the algorithm "agent"'),
        ({"scenario": ["agent", "agent"]}, "use fullpipe.gym.ParallelEnv"),
        ({"observation": ["latency-ration"]}, 'did you mean "latency-ratio"?'),
        ({"observation": ["flows.cwmd"]}, 'did you mean "flows.cwnd"?'),
        ({"action": Action(quantity="speed")}, 'write "rate" or "window"'),
        ({"action": Action(limits=("1ms", "2ms"))}, 'write a rate, like "100kbit"'),
        ({"reward": "fame"}, 'write "power", "aurora"'),
        ({"history": 0}, "give a number of intervals from 1"),
        ({"interval": 0.0}, "give a number of RTTs"),
        ({"start": "fast"}, "share of the bottleneck's rate"),
        ({"histroy": 2}, "no option of an environment"),
    ],
)
def test_an_error_names_its_fix(options: dict[str, Any], words: str) -> None:
    with pytest.raises(fullpipe.ScenarioError, match=r"(?s)fix: ") as error:
        Env(**options)
    assert words in str(error.value)


def test_without_gymnasium_the_import_names_the_extra() -> None:
    for package in ("gymnasium", "pettingzoo"):
        code = f"import sys; sys.modules[{package!r}] = None; import fullpipe.gym"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 1
        assert f"fullpipe.gym needs {package}, which is an extra" in done.stderr
        assert "pip install '.[gym]'" in done.stderr


@given(
    actions=st.lists(st.floats(width=32, allow_nan=True), min_size=10, max_size=10),
    seed=st.integers(0, 2**40),
    window=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_any_action_gives_an_observation_of_the_space(
    actions: list[float], seed: int, window: bool
) -> None:
    declaration = fullpipe.gym.WINDOW if window else fullpipe.gym.RATE
    limits: tuple[float, float] = (2, 2000) if window else (1e5, 1e8)
    quantity = declaration.action.quantity
    env = Env(declaration, action=Action(quantity=quantity, limits=limits))
    env.reset(seed=seed)
    for action in actions:
        observation, reward, _, _, _ = env.step(np.array([action], np.float32))
        assert env.observation_space.contains(observation)
        assert np.isfinite(reward)


DECLARATION = Declaration(
    scenario={
        "duration": "8s",
        "path": {"rate": "10mbit", "rtt": "30ms", "buffer": "2bdp", "loss": "0.3%"},
        "flow": [{"name": "mine", "cc": "agent"}],
    },
    max_steps=None,
)
WEIGHTS = [[-2.0, -0.6, -0.2, -3.0]]


def _saved(folder: Path) -> Path:
    file = folder / "mine.json"
    save_policy(file, DECLARATION, [Layer(WEIGHTS, [0.9], "tanh")], about={"seed": 1})
    return file


def test_a_policy_makes_the_run_of_its_environment(tmp_path: Path) -> None:
    file = _saved(tmp_path)
    policy = fullpipe._core.load_policy(file, f"policy:{file}")
    env = Env(DECLARATION)
    observation, _ = env.reset(seed=4)
    times, windows, over = [], [], False
    while not over:
        observation, _, _, over, info = env.step([policy.action(observation)])
        times.append(info["time_s"])
        windows.append(info["cwnd_bytes"])
    assert isinstance(DECLARATION.scenario, dict)
    run = fullpipe.run(DECLARATION.scenario, cc=f"policy:{file}", seed=4, trace="ack")
    trace = run.trace().select("time", "cwnd")
    # The window before each pause is that of the last ACK before it.
    place = np.searchsorted(trace["time"].to_numpy(), times[:-1], side="right") - 1
    assert trace["cwnd"].to_numpy()[place].tolist() == windows[:-1]
    assert len(times) > 100


def test_a_policy_is_an_algorithm_of_commands(tmp_path: Path) -> None:
    file = _saved(tmp_path)
    path = ["--rate", "10mbit", "--rtt", "30ms", "--duration", "4s", "--repeat", "2"]
    done = served.command("compare", f"cubic,policy:{file}", "--json", *path)
    assert done.returncode == 0, done.stderr
    assert f"policy:{file}" in done.stdout
    done = served.command("explain", f"policy:{file}")
    assert "A trained policy" in done.stdout
    wrong = tmp_path / "wrong.json"
    content = json.loads(file.read_text())
    content["network"]["layers"][0]["bias"] = [1, 2]
    wrong.write_text(json.dumps(content))
    for name, words in [
        (wrong, "network.layers.0: weights and bias do not fit"),
        (tmp_path / "none.json", "can't be read"),
    ]:
        done = served.command("run", "--cc", f"policy:{name}")
        assert done.returncode == 2
        assert words in done.stderr
        assert "fix: " in done.stderr


def test_a_policy_that_sees_columns_is_not_saved(tmp_path: Path) -> None:
    declaration = DECLARATION.but(observation=["loss-ratio", "links.queue_bytes"])
    with pytest.raises(fullpipe.ScenarioError, match="a sender does not see columns"):
        save_policy(tmp_path / "x.json", declaration, [Layer([[1.0]], [0.0])])


def test_a_policy_that_is_trained_for_seconds_is_better_than_before(tmp_path: Path) -> None:
    examples = str(Path(__file__).parents[4] / "examples/policy")
    train = [
        sys.executable,
        "-W",
        "error",
        f"{examples}/train.py",
        "--updates",
        "15",
        "--out",
        "p.json",
    ]
    done = subprocess.run(train, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, last = map(float, re.findall(r"reward (\S+) -> (\S+)", done.stdout)[0])
    assert last > first + 0.5
    evaluate = [sys.executable, f"{examples}/evaluate.py", "p.json", "--paths", "5"]
    done = subprocess.run(evaluate, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"on \d+ of 5 paths \(\d+% \[\d+%–\d+%\]\)", done.stdout)


@pytest.mark.skipif(
    Quic("quic", "", real_time=True).missing() is not None,
    reason="fullpipe-quic is not built; make quic does that",
)
def test_a_policy_drives_quic(tmp_path: Path) -> None:
    policy = _saved(tmp_path)
    run = fullpipe.run(
        f"policy:{policy}", rate="10mbit", rtt="30ms", duration="5s", on="quic-virtual", trace="ack"
    )
    # The action depends on what QUIC measures: windows differ, and are not the initial one.
    windows = run.trace()["cwnd"].unique()
    assert len(windows) > 10
    assert run.flows["goodput_bps"][0] > 2e6
