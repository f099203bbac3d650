"""One environment with one agent: gymnasium's `Env`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fullpipe.errors import refusal
from fullpipe.wings.search.gym.declaration import AGENT, INFO, RATE, Declaration


class Env(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A flow on a path whose rate or window an agent sets, once per monitor interval.

        >>> import fullpipe.gym
        >>> env = fullpipe.gym.Env(prior={"path.rate": "10mbit", "path.rtt": "20ms..80ms"})
        >>> observation, info = env.reset(seed=1)
        >>> observation, reward, terminated, truncated, info = env.step([0.5])

    `info` has the numbers of the last interval: `time_s`, `interval_s`, `throughput_bps`, `mean_rtt_s`, `loss_ratio`,
    `packets` (sent), `rate_bps` (0 if the window is steered) and `cwnd_bytes`. After a reset it also has `seed`, the
    episode's, and `settings`, the drawn values.

    Args:
        declaration: The environment.
        **options: Values of :class:`Declaration` that replace the declaration's.

    Raises:
        ScenarioError: When a scenario of the prior, or an option, has an error.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (as the base class declares it)

    def __init__(
        self,
        declaration: Declaration = RATE,
        render_mode: str | None = None,
        **options: Any,  # noqa: ANN401  (checked by Declaration)
    ) -> None:
        self.declaration = declaration.but(**options)
        self.render_mode = render_mode
        self._batch = self.declaration.batch(1, 1, restarts=False)
        check_one_agent(self._batch.agents)
        self.observation_space = self.declaration.observation_space()
        self.action_space = self.declaration.action_space()
        self._seeded = False

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode.

        Args:
            seed: Seed of this episode, and of the sequence of those that follow.
            options: Not used.
        """
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**31))
        self._seeded = True
        self._batch.reset([(0, seed)])
        observations, _, _, _, info, seeds = self._batch.read()
        drawn = self._batch.settings(int(seeds[0]))
        return observations[0], {
            **dict(zip(INFO, info[0].tolist(), strict=True)),
            "seed": int(seeds[0]),
            "settings": dict(drawn),
        }

    def step(
        self, action: ArrayLike
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Gives the action and runs to the end of the interval that it begins.

        Returns:
            Observation, reward, whether all data was delivered, whether the episode was cut, and numbers about the
            interval.

        Raises:
            ResetNeeded: When no episode has begun.
        """
        if not self._seeded:
            raise gymnasium.error.ResetNeeded("call reset before step")
        self._batch.step(np.asarray(action, np.float32).reshape(-1))
        observations, rewards, terminated, truncated, info, _ = self._batch.read()
        numbers = dict(zip(INFO, info[0].tolist(), strict=True))
        return (
            observations[0],
            float(rewards[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            numbers,
        )


def check_one_agent(agents: list[str]) -> None:
    """Refuses a scenario with several agents.

    Raises:
        ScenarioError: When there is more than one.
    """
    if len(agents) > 1:
        raise refusal(
            f"{len(agents)} flows have cc = {AGENT!r}, and this environment has one agent",
            "use fullpipe.gym.ParallelEnv, or give the other flows an algorithm",
            key="flow",
        )
