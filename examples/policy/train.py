"""Trains a policy with PPO and writes it for `--cc policy:FILE`.

    python examples/policy/train.py --out power.json

PPO (Schulman et al. 2017, arXiv 1707.06347) with a network of two hidden layers, in NumPy: at this size a framework
would take longer than the arithmetic. The environment is `fullpipe/Rate-v0`: an action per RTT, and the logarithm of
power as the reward.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np

import fullpipe.gym
from fullpipe.gym import Layer, save_policy

ENVIRONMENTS, STEPS = 64, 64  # of an update
GAMMA, LAMBDA, CLIP = 0.95, 0.9, 0.2
EPOCHS, BATCHES, LEARNING_RATE = 6, 8, 1e-3
ENTROPY = 0.002
HIDDEN = (32, 16)
LONGEST = 5.0  # normalized observations are clipped


class Network:
    """Layers of tanh and a linear one, with their gradients and Adam's moments."""

    def __init__(self, inputs: int, random: np.random.Generator, last: float):
        sizes = (inputs, *HIDDEN, 1)
        self.values = []
        for number, (n, m) in enumerate(pairwise(sizes)):
            scale = last if number == len(HIDDEN) else np.sqrt(1 / n)
            self.values += [random.normal(size=(m, n)) * scale, np.zeros(m)]
        self.values.append(np.array([-1.0]))  # logarithm of the actions' deviation
        self.moments = [(np.zeros_like(v), np.zeros_like(v)) for v in self.values]
        self.updates = 0

    def outputs(self, x):
        self.seen = [x]
        for layer in range(len(HIDDEN) + 1):
            x = x @ self.values[2 * layer].T + self.values[2 * layer + 1]
            if layer < len(HIDDEN):
                x = np.tanh(x)
            self.seen.append(x)
        return x[:, 0]

    def learn(self, gradient, deviation=0.0):
        """Takes a step of Adam against the gradients of the outputs and of the last value."""
        gradients, back = [np.array([deviation])], gradient[:, None]
        for layer in reversed(range(len(HIDDEN) + 1)):
            gradients[:0] = [back.T @ self.seen[layer], back.sum(0)]
            back = back @ self.values[2 * layer] * (1 - self.seen[layer] ** 2)
        size = np.sqrt(sum(float((g**2).sum()) for g in gradients))
        self.updates += 1
        for value, given, (first, second) in zip(self.values, gradients, self.moments, strict=True):
            g = given * min(1.0, 0.5 / (size + 1e-9))
            first += 0.1 * (g - first)
            second += 0.001 * (g * g - second)
            mean = first / (1 - 0.9**self.updates)
            value -= LEARNING_RATE * mean / (np.sqrt(second / (1 - 0.999**self.updates)) + 1e-8)


class Normal:
    """Mean and deviation of all rows so far."""

    def __init__(self, width):
        self.count, self.mean, self.square = 1e-4, np.zeros(width), np.ones(width) * 1e-4

    def add(self, rows):
        total = self.count + len(rows)
        shift = rows.mean(0) - self.mean
        self.square += ((rows - rows.mean(0)) ** 2).sum(0) + shift**2 * self.count * len(
            rows
        ) / total
        self.mean = self.mean + shift * len(rows) / total
        self.count = total

    @property
    def scale(self):
        return 1 / (np.sqrt(self.square / self.count) + 1e-3)

    def of(self, rows):
        return np.clip((rows - self.mean) * self.scale, -LONGEST, LONGEST)


def train(updates, seed, threads=None, report=print):
    """Returns the network, the normalization, and the mean reward of each update."""
    random = np.random.default_rng(seed)
    environments = gymnasium.make_vec("fullpipe/Rate-v0", num_envs=ENVIRONMENTS, threads=threads)
    width = environments.single_observation_space.shape[0]
    actor, critic = Network(width, random, 0.01), Network(width, random, 1.0)
    normal, means = Normal(width), []
    raw, _ = environments.reset(seed=seed)
    begins = np.zeros(ENVIRONMENTS, bool)  # whether the next step only begins an episode
    for update in range(updates):
        rows = [[] for _ in range(6)]
        normal.add(raw)
        for _ in range(STEPS):
            seen = normal.of(raw)
            mean, deviation = actor.outputs(seen), np.exp(actor.values[-1][0])
            action = mean + deviation * random.normal(size=ENVIRONMENTS)
            raw, reward, terminated, truncated, _ = environments.step(action[:, None])
            over = terminated | truncated
            for row, value in zip(rows, (seen, action, mean, reward, ~begins, over), strict=True):
                row.append(value)
            normal.add(raw)
            begins = over
        seen, action, mean, reward, valid, over = (np.array(row) for row in rows)
        means.append(reward[valid].mean())
        values = critic.outputs(seen.reshape(-1, width)).reshape(reward.shape)
        last = critic.outputs(normal.of(raw))
        # An episode that was cut has a future: the value of the observation at its end. The step that begins the
        # next episode counts as none.
        advantage, kept = np.zeros_like(reward), np.zeros(ENVIRONMENTS)
        for t in reversed(range(STEPS)):
            after = last if t == STEPS - 1 else values[t + 1]
            kept = (
                reward[t] + GAMMA * after - values[t] + GAMMA * LAMBDA * kept * ~over[t] * valid[t]
            )
            advantage[t] = kept
        chosen = valid.reshape(-1)
        seen, action, mean = (
            seen.reshape(-1, width)[chosen],
            action.reshape(-1)[chosen],
            mean.reshape(-1)[chosen],
        )
        returns = (advantage + values).reshape(-1)[chosen]
        advantage = advantage.reshape(-1)[chosen]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        before = -0.5 * ((action - mean) / deviation) ** 2 - np.log(deviation)
        for _ in range(EPOCHS):
            for part in np.array_split(random.permutation(len(action)), BATCHES):
                now, deviation = actor.outputs(seen[part]), np.exp(actor.values[-1][0])
                distance = (action[part] - now) / deviation
                ratio = np.exp(-0.5 * distance**2 - np.log(deviation) - before[part])
                good = advantage[part]
                open_ = np.where(good > 0, ratio < 1 + CLIP, ratio > 1 - CLIP)
                weight = ratio * good * open_ / len(part)
                actor.learn(
                    -weight * distance / deviation,
                    -float((weight * (distance**2 - 1)).sum()) - ENTROPY,
                )
                critic.learn((critic.outputs(seen[part]) - returns[part]) / len(part))
        if report and (update % 10 == 9 or update == 0):
            took = f"{time.process_time():.0f} s of CPU"
            report(
                f"update {update + 1}: reward {means[-1]:.3f}, deviation {deviation:.2f}, {took}"
            )
    return actor, normal, means


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("power.json"))
    parser.add_argument("--updates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    actor, normal, means = train(given.updates, given.seed)
    functions = ["tanh"] * len(HIDDEN) + ["linear"]
    layers = [
        Layer(np.round(w, 6), np.round(b, 6), f)
        for w, b, f in zip(actor.values[0::2], actor.values[1::2], functions, strict=False)
    ]
    steps = given.updates * STEPS * ENVIRONMENTS
    about = {
        "seed": given.seed,
        "steps": steps,
        "reward": round(float(means[-1]), 3),
        "version": fullpipe.__version__,
    }
    save_policy(
        given.out,
        fullpipe.gym.RATE,
        layers,
        shift=np.round(normal.mean, 6),
        scale=np.round(normal.scale, 6),
        clip=LONGEST,
        about=about,
    )
    print(
        f"{given.out}: {steps} steps, {time.process_time():.0f} s of CPU, reward {means[0]:.3f} -> {means[-1]:.3f}"
    )


if __name__ == "__main__":
    main()
