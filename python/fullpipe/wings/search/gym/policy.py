"""Files of trained policies, for `--cc policy:FILE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe.errors import refusal
from fullpipe.results.disk import put

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from fullpipe.wings.search.gym.declaration import Declaration


class Layer(NamedTuple):
    """A layer of a network: outputs are activation(bias + weights @ inputs).

    Attributes:
        weights: One row per output, one column per input.
        bias: One number per output.
        activation: `linear`, `tanh` or `relu`.
    """

    weights: ArrayLike
    bias: ArrayLike
    activation: str = "linear"


def save_policy(
    file: str | os.PathLike[str],
    declaration: Declaration,
    layers: Sequence[Layer],
    *,
    shift: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    clip: float = 10.0,
    about: dict[str, Any] | None = None,
) -> None:
    """Writes or replaces a policy's file: from then on, `--cc policy:FILE` names it.

    The network gets (observation - shift) x scale, clipped to `clip`. The last layer has one output, the action; it is
    clipped to the declaration's actions.

    Args:
        file: The file to write.
        declaration: The environment in which the policy was trained.
        layers: The network.
        shift: One number per value of the observation; None for 0.
        scale: One number per value of the observation; None for 1.
        clip: Distance from zero to which the network's inputs are clipped.
        about: Notes for people, like seeds and figures of the training; fullpipe does not read them.

    Raises:
        ScenarioError: When the policy observes columns of the trace, which a sender does not see.
        OSError: When the file can't be written.
    """
    import numpy as np

    if declaration.columns:
        raise refusal(
            "a sender does not see columns of the trace",
            "train with features of intervals only",
            key="observation",
            value=declaration.columns[0],
        )
    width = len(declaration.features) * declaration.history

    def numbers(values: ArrayLike) -> Any:  # noqa: ANN401  (lists of lists)
        return np.asarray(values, float).tolist()

    action = declaration.action
    policy = {
        "fullpipe-policy": 1,
        "about": about or {},
        "features": declaration.features,
        "history": declaration.history,
        "interval": declaration.interval,
        "warm_up": declaration.warm_up,
        "action": {
            "quantity": action.quantity,
            "form": action.form,
            "scale": action.scale,
            "actions": list(action.actions),
            "limits": list(action.numbers),
        },
        "network": {
            "shift": numbers(np.zeros(width) if shift is None else shift),
            "scale": numbers(np.ones(width) if scale is None else scale),
            "clip": clip,
            "layers": [
                {
                    "weights": numbers(layer.weights),
                    "bias": numbers(layer.bias),
                    "activation": layer.activation,
                }
                for layer in layers
            ],
        },
    }
    put(Path(file), json.dumps(policy) + "\n")
