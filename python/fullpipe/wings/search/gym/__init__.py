"""Environments for reinforcement learning, stepped by the simulator without the GIL.

    >>> import gymnasium
    >>> import fullpipe.gym  # registers the environments
    >>> environments = gymnasium.make_vec("fullpipe/Aurora-v0", num_envs=64)
    >>> observations, infos = environments.reset(seed=1)
    >>> observations.shape
    (64, 30)

The extra `fullpipe[gym]` brings gymnasium and PettingZoo. Aurora is Jay et al., "A Deep Reinforcement Learning
Perspective on Internet Congestion Control", ICML 2019; docs/guide/gym.md has differences.
"""

from __future__ import annotations

from fullpipe.errors import MissingExtraError

try:
    import gymnasium
    from gymnasium.envs.registration import register

    from fullpipe.wings.search.gym.declaration import (
        AURORA,
        RATE,
        WINDOW,
        Action,
        Declaration,
        Feature,
        features,
    )
    from fullpipe.wings.search.gym.env import Env
    from fullpipe.wings.search.gym.parallel import ParallelEnv
    from fullpipe.wings.search.gym.policy import Layer, save_policy
    from fullpipe.wings.search.gym.vector import VectorEnv
except ModuleNotFoundError as _error:
    if _error.name not in ("gymnasium", "pettingzoo"):
        raise
    raise MissingExtraError("fullpipe.gym", _error.name, "gym") from None

__all__ = [
    "AURORA",
    "RATE",
    "WINDOW",
    "Action",
    "Declaration",
    "Env",
    "Feature",
    "Layer",
    "ParallelEnv",
    "VectorEnv",
    "features",
    "save_policy",
]

IDS = {
    "fullpipe/Aurora-v0": AURORA,
    "fullpipe/Rate-v0": RATE,
    "fullpipe/Window-v0": WINDOW,
}
"""The registered environments."""

for _name, _declaration in IDS.items():
    if _name not in gymnasium.registry:
        register(
            id=_name,
            entry_point="fullpipe.wings.search.gym.env:Env",
            vector_entry_point="fullpipe.wings.search.gym.vector:VectorEnv",
            kwargs={"declaration": _declaration},
        )
