"""A :class:`ScenarioError` that Python raises: the same text and attributes as the core's."""

from __future__ import annotations

from fullpipe._core import ScenarioError


def refusal(
    problem: str, fix: str, *, file: str = "", key: str = "", value: str = "", place: str = ""
) -> ScenarioError:
    """The error; it begins with `place`, or with the file, key and value that there are."""
    if not place:
        where = f"{key} = {value}" if key and value else key
        place = ": ".join(part for part in (file, where) if part)
    error = ScenarioError(f"{place}: {problem}\n  fix: {fix}")
    error.file, error.line, error.key, error.value, error.problem, error.fix = (
        file,
        None,
        key,
        value,
        problem,
        fix,
    )
    return error
