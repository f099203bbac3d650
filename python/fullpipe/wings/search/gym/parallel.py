"""Several agents on one network: PettingZoo's parallel API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pettingzoo import ParallelEnv as Base

from fullpipe.wings.search.gym.declaration import INFO, RATE, Declaration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gymnasium.spaces import Space
    from numpy.typing import ArrayLike, NDArray


class ParallelEnv(Base):  # type: ignore[misc]  # PettingZoo has no types
    """Flows that share a network, each steered by an agent with the flow's name.

        >>> import fullpipe.gym
        >>> env = fullpipe.gym.ParallelEnv(["agent", "agent"])
        >>> observations, infos = env.reset(seed=1)
        >>> sorted(observations)
        ['agent', 'agent-2']

    All agents act at the same times: a step lasts as long as the longest interval of an agent. An agent whose flow has
    not begun has a neutral observation and a reward of 0, and its actions have no effect.

    Args:
        scenario: The scenario, with `cc = "agent"` in the flows of agents.
        declaration: The rest of the environment.
        team: Share of the mean reward of all agents in an agent's reward, from 0 to 1.
        **options: Values of :class:`Declaration` that replace the declaration's.

    Raises:
        ScenarioError: When a scenario of the prior, or an option, has an error.
    """

    metadata: dict[str, Any] = {"name": "fullpipe_v0", "render_modes": []}  # noqa: RUF012  (as PettingZoo's own)

    def __init__(
        self,
        scenario: Any,  # noqa: ANN401  (a ScenarioLike)
        declaration: Declaration = RATE,
        *,
        team: float = 0.0,
        render_mode: str | None = None,
        **options: Any,  # noqa: ANN401  (checked by Declaration)
    ) -> None:
        self.declaration = declaration.but(scenario=scenario, **options)
        self.render_mode = render_mode
        self.team = team
        self._batch = self.declaration.batch(1, 1, restarts=False)
        self.possible_agents = self._batch.agents
        self.agents: list[str] = []
        self._spaces = {
            agent: (self.declaration.observation_space(), self.declaration.action_space())
            for agent in self.possible_agents
        }
        self._random = np.random.default_rng()
        self._seeded = False

    def observation_space(self, agent: str) -> Space[NDArray[np.float32]]:
        """Returns the space of an agent's observation."""
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> Space[NDArray[np.float32]]:
        """Returns the space of an agent's action."""
        return self._spaces[agent][1]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, dict[str, Any]]]:
        """Begins an episode.

        Args:
            seed: Seed of this episode, and of the sequence of those that follow.
            options: Not used.
        """
        if seed is None and not self._seeded:
            seed = int(self._random.integers(2**31))
        self._seeded = True
        self._batch.reset([(0, seed)])
        self.agents = list(self.possible_agents)
        observations, _, _, _, info, seeds = self._batch.read()
        drawn = dict(self._batch.settings(int(seeds[0])))
        infos = self._infos(info)
        for each in infos.values():
            each |= {"seed": int(seeds[0]), "settings": drawn}
        return dict(zip(self.agents, observations, strict=True)), infos

    def step(
        self, actions: Mapping[str, ArrayLike]
    ) -> tuple[
        dict[str, NDArray[np.float32]],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Gives the agents' actions and runs to the end of the interval; one without an action keeps its rate."""
        given = [
            float(np.asarray(actions.get(agent, 0.0)).reshape(-1)[0])
            for agent in self.possible_agents
        ]
        self._batch.step(np.array(given, np.float32))
        observations, rewards, terminated, truncated, info, _ = self._batch.read()
        shared = (1.0 - self.team) * rewards + self.team * rewards.mean()
        here, cut = self.agents, bool(truncated[0])
        place = {agent: number for number, agent in enumerate(self.possible_agents)}
        infos = self._infos(info)
        done = {agent: bool(terminated[place[agent]]) for agent in here}
        self.agents = [] if cut else [agent for agent in here if not done[agent]]
        return (
            {agent: observations[place[agent]] for agent in here},
            {agent: float(shared[place[agent]]) for agent in here},
            done,
            dict.fromkeys(here, cut),
            {agent: infos[agent] for agent in here},
        )

    def render(self) -> None:
        """Draws nothing."""

    def close(self) -> None:
        """Frees nothing: the simulation goes with the object."""

    def _infos(self, info: NDArray[np.float64]) -> dict[str, dict[str, Any]]:
        return {
            agent: dict(zip(INFO, info[number].tolist(), strict=True))
            for number, agent in enumerate(self.possible_agents)
        }
