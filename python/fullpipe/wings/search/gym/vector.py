"""Many environments with one agent each: gymnasium's `VectorEnv`, stepped on threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as Base
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from fullpipe.wings.search.gym.declaration import INFO, RATE, Declaration, cores
from fullpipe.wings.search.gym.env import check_one_agent

if TYPE_CHECKING:
    from collections.abc import Sequence


class VectorEnv(Base[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]):
    """Environments that are stepped together, in Rust and without the GIL.

        >>> import gymnasium, fullpipe.gym
        >>> environments = gymnasium.make_vec("fullpipe/Rate-v0", num_envs=8)
        >>> observations, infos = environments.reset(seed=1)

    The step after the end of an episode ignores the action and begins the next episode
    (`AutoresetMode.NEXT_STEP`). Environment i begins with seed + i, and its episodes are those of an :class:`Env` with
    that seed, whatever the number of threads. Every step returns new arrays.

    Args:
        num_envs: Number of environments.
        declaration: The environment.
        threads: Number of threads; None for one per processor.
        **options: Values of :class:`Declaration` that replace the declaration's.

    Raises:
        ScenarioError: When a scenario of the prior, or an option, has an error.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (as the base class declares it)
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        declaration: Declaration = RATE,
        *,
        threads: int | None = None,
        render_mode: str | None = None,
        **options: Any,  # noqa: ANN401  (checked by Declaration)
    ) -> None:
        self.declaration = declaration.but(**options)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._batch = self.declaration.batch(num_envs, threads or cores(), restarts=True)
        check_one_agent(self._batch.agents)
        self.single_observation_space = self.declaration.observation_space()
        self.single_action_space = self.declaration.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._all = np.ones(num_envs, bool)
        self._seeded = False

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode in every environment.

        Args:
            seed: Seed of the first environment; those of the others follow. Or one for each, where None stands for the
                environment's next episode.
            options: `reset_mask`, an array with True for each environment to reset; the others stay as they are.

        Raises:
            ValueError: When the number of seeds is not that of the environments.
        """
        super().reset(seed=seed if isinstance(seed, int) else None)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**31))
        self._seeded = True
        seeds: list[int | None]
        if seed is None:
            seeds = [None] * self.num_envs
        elif isinstance(seed, int):
            seeds = [seed + place for place in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds for {self.num_envs} environments")
        mask = (options or {}).get("reset_mask", self._all)
        self._batch.reset([(place, seeds[place]) for place in np.flatnonzero(mask).tolist()])
        observations, _, _, _, info, episodes = self._batch.read()
        return observations, self._infos(info, episodes)

    def step(
        self, actions: ArrayLike
    ) -> tuple[
        NDArray[np.float32],
        NDArray[np.float64],
        NDArray[np.bool_],
        NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Makes a step in every environment; returns the same as :meth:`Env.step`, with a row or value for each."""
        self._batch.step(np.asarray(actions, np.float32).reshape(-1))
        observations, rewards, terminated, truncated, info, episodes = self._batch.read()
        return observations, rewards, terminated, truncated, self._infos(info, episodes)

    def settings(self, seed: int) -> dict[str, str]:
        """Returns the values that an episode's seed draws from the prior; `infos["seed"]` has the seeds."""
        return dict(self._batch.settings(seed))

    def _infos(self, info: NDArray[np.float64], seeds: NDArray[np.uint64]) -> dict[str, Any]:
        infos: dict[str, Any] = {"seed": seeds, "_seed": self._all}
        for place, name in enumerate(INFO):
            infos[name], infos[f"_{name}"] = info[:, place], self._all
        return infos
