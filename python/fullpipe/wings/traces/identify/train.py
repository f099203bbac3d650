"""Simulates the recipe's flows, and keeps their features in the user's cache."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.base.progress import counting
from fullpipe.errors import UserError
from fullpipe.results import disk, kept
from fullpipe.run import run
from fullpipe.wings.traces.behavior.observed import LacksError
from fullpipe.wings.traces.behavior.source import of_run
from fullpipe.wings.traces.identify import recipe
from fullpipe.wings.traces.identify.classify import Classifier, Thresholds
from fullpipe.wings.traces.identify.features import FEATURES, features

if TYPE_CHECKING:
    from fullpipe.wings.traces.behavior.observed import Values
    from fullpipe.wings.traces.identify.classify import Table


def folder() -> Path:
    """Returns the directory of this recipe's features in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "fullpipe" / "identify" / recipe.digest(FEATURES)


def is_trained() -> bool:
    """Returns whether the features of all algorithms are there."""
    return all(_file(name).is_file() for name in recipe.ALGORITHMS)


def train(*, again: bool = False) -> Table:
    """Returns the features of the recipe's flows; simulates the algorithms that are not in the cache.

    An algorithm whose flows are done is kept, so that an interrupted training goes on.

    Raises:
        OSError: When the cache can't be written.
    """
    missing = [name for name in recipe.ALGORITHMS if again or not _file(name).is_file()]
    with counting() as bar:
        task = bar.add_task("simulating", total=len(missing) * recipe.FLOWS)
        for name in missing:
            rows = []
            for scenario in recipe.draws(name):
                rows.append(simulated(scenario))
                bar.advance(task)
            _keep(name, np.array([row for row in rows if row is not None]))
    return load()


def classifier() -> Classifier:
    """Returns the classifier of the kept features; computes its thresholds once.

    Raises:
        MissingExtraError: When scikit-learn is not installed.
        OSError: When the cache can't be read or written.
    """
    file = folder() / "thresholds.json"
    if file.is_file():
        try:
            return Classifier(load(), Thresholds(**kept.read_json(file, dict)))
        except TypeError:
            raise _damaged(file) from None
    made = Classifier(load())
    disk.write(file, json.dumps(asdict(made.thresholds)) + "\n")
    return made


def load() -> Table:
    """Returns the kept features."""
    values, names = [], []
    for name in recipe.ALGORITHMS:
        try:
            with _file(name).open("rb") as file:
                rows = np.load(file, allow_pickle=False)
        except (ValueError, EOFError):
            raise _damaged(_file(name)) from None
        values.append(rows)
        names += [name] * len(rows)
    return np.concatenate(values), names


def simulated(scenario: dict[str, object]) -> Values | None:
    """Returns the features of a scenario's first flow; None if the run is too short to have them."""
    try:
        return features(of_run(run(scenario, trace=recipe.STEP)))
    except LacksError:
        return None


def _damaged(file: Path) -> UserError:
    return UserError(f"{file}: damaged\n  fix: delete it, and run fullpipe trace identify --train")


def _file(name: str) -> Path:
    return folder() / f"{name}.npy"


def _keep(name: str, rows: Values) -> None:
    disk.make_folder(folder())
    with disk.hidden(_file(name), folder=False) as aside:
        with disk.NewFile(aside) as file:
            np.save(file, rows)
        disk.place(aside, _file(name))
