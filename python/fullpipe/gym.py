"""Environments for reinforcement learning: the public names of `fullpipe.wings.search.gym`, which registers them."""

from fullpipe.wings.search.gym import *  # noqa: F403
from fullpipe.wings.search.gym import IDS as IDS
from fullpipe.wings.search.gym import __all__  # noqa: F401
