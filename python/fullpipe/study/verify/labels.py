"""Compares the labels of a sweep, its settings by point, with the complete scenarios of its points."""

from __future__ import annotations

import tomllib
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe._core import ScenarioError
from fullpipe.errors import UserError
from fullpipe.study.spec import SweepSpec
from fullpipe.study.sweeps.store import axes_of, points_of
from fullpipe.study.verify import compare
from fullpipe.study.verify.compare import Difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.results.about import SweepAbout

_COUNT = ".count"
"""The end of the key that makes several flows of one, each a flow of its own in a complete scenario."""


def labels(
    place: str, spec: SweepSpec, about: SweepAbout, points: pl.DataFrame, rows: pl.DataFrame
) -> tuple[list[Difference], list[str]]:
    """Compares a sweep's description, its points and the labels of its rows; returns differences and notes.

    Args:
        place: The directory, as the user named it.
        spec: The kept sweep, with its settings and its complete scenarios.
        about: Its description.
        points: The contents of `points.parquet`.
        rows: Its rows.

    Raises:
        ScenarioError: When a complete scenario is refused.
        UserError: When an algorithm is not here.
    """
    found = [
        *_of_description(place, spec, about),
        *_of_points(place, spec, points),
        *_of_rows(place, points, rows),
    ]
    untold: dict[str, str] = {}
    for number, (text, settings) in enumerate(zip(spec.whole, spec.points or (), strict=True)):
        found += islice(_of_scenario(place, number, spec.file, text, settings, untold), 1)
    return found, [
        f"{place}: its labels {key} are not compared: {why}" for key, why in untold.items()
    ]


def _of_description(place: str, spec: SweepSpec, about: SweepAbout) -> Iterator[Difference]:
    """Yields entries of `sweep.json` that its points do not have."""
    first, count = spec.plan.seeds
    really: dict[str, object] = {
        "points": spec.plan.points,
        "seeds": list(range(first, first + count)),
        "runs": spec.plan.points * count * len(about["runners"]),
    }
    for key, value in really.items():
        if (kept := about[key]) != value:  # type: ignore[literal-required]
            yield _differs(place, f"{key} in sweep.json", kept, value)
    by_key = {each["key"]: each for each in axes_of(spec.plan)}
    for axis in about["axes"]:
        other = by_key.get(axis["key"])
        if other is None:
            yield _differs(place, "an axis of sweep.json", axis["key"], "missing")
        elif (set(axis["values"]), axis["unit"]) != (set(other["values"]), other["unit"]):
            name = f"the axis {axis['key']} of sweep.json"
            yield _differs(place, name, _axis(axis), _axis(other))


def _axis(axis: Any) -> str:  # noqa: ANN401  (an AxisAbout)
    return f"{', '.join(axis['values'])} ({axis['unit']})"


def _of_points(place: str, spec: SweepSpec, points: pl.DataFrame) -> Iterator[Difference]:
    """Yields the first value of `points.parquet` that is not that of its settings."""
    if cell := compare.tables(points.drop("scenario"), points_of(spec)):
        where = f" of point {cell.row['row']}" if cell.row else ""
        yield _differs(place, f"{cell.column}{where} in points.parquet", cell.kept, cell.again)


def _of_rows(place: str, points: pl.DataFrame, rows: pl.DataFrame) -> Iterator[Difference]:
    """Yields the labels of rows that are not those of their points, the first one of each column."""
    told = points.drop("scenario")
    for name in told.columns[1:]:
        if name not in rows.columns:
            yield Difference(place, problem=f"its rows have no column {name}")
            continue
        right = rows.select("point", "seed", kept=name).join(
            told.select("point", again=name), on="point", how="left"
        )
        wrong = right.filter(pl.col("kept").ne_missing(pl.col("again"))).sort("point", "seed")
        for row in wrong.head(1).iter_rows(named=True):
            where = f"{name} in a row of point {row['point']}, seed {row['seed']},"
            yield _differs(place, where, row["kept"], row["again"])


def _of_scenario(
    place: str,
    number: int,
    file: str,
    text: str,
    settings: Sequence[tuple[str, str]],
    untold: dict[str, str],
) -> Iterator[Difference]:
    """Yields the labels of a point that its complete scenario does not have; `untold` gets keys that it can't have."""
    kept = tomllib.loads(text)
    counted = any(key.endswith(_COUNT) for key, _ in settings)
    chosen = []
    for key, value in settings:
        if counted and key.startswith("flow."):
            untold[key] = "a complete scenario has a table for each flow"
        elif "file" in value.split():
            untold[key] = "a complete scenario has the contents of the file"
        elif _at(kept, key) is None:
            untold[key] = "a complete scenario has the values that it stands for"
        else:
            chosen.append((key, value))
    if not chosen:
        return
    try:
        [other] = SweepSpec(text, file, points=[chosen]).scenarios()
    except (ScenarioError, UserError) as error:
        problem = error.problem if isinstance(error, ScenarioError) else str(error).splitlines()[0]
        yield Difference(place, "", f"point {number}", problem=f"its labels are refused: {problem}")
        return
    if other == text:
        return
    again = tomllib.loads(other)
    for key, value in chosen:
        if _at(kept, key) != _at(again, key) or (
            key.endswith(".cc") and _params(kept, key) != _params(again, key)
        ):
            problem = f"its label is {key}={value}, and its scenario has {_at(kept, key)}"
            yield Difference(place, "", f"point {number}", problem=problem)


def _params(scenario: dict[str, Any], key: str) -> object:
    return _at(scenario, key.removesuffix("cc") + "params")


def _at(scenario: object, key: str) -> object:
    """Returns the value of a key of a scenario; None without it."""
    for word in key.split("."):
        if isinstance(scenario, list) and word.isdigit() and int(word) < len(scenario):
            scenario = scenario[int(word)]
        elif isinstance(scenario, dict):
            scenario = scenario.get(word)
        else:
            return None
    return scenario


def _differs(place: str, name: str, kept: object, really: object) -> Difference:
    return Difference(place, problem=f"{name} is {kept}, and {really} by its points")
