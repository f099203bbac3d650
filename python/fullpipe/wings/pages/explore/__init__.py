"""The page of `fullpipe explore`: the simulator itself in a browser, offline, in one file."""

from fullpipe.wings.pages.explore.page import (
    DEFAULT,
    POLICY,
    EngineError,
    Lesson,
    Step,
    again,
    explorer,
    inside,
    lessons,
    names,
    outsiders,
    runs_in_pages,
)

__all__ = [
    "DEFAULT",
    "POLICY",
    "EngineError",
    "Lesson",
    "Step",
    "again",
    "explorer",
    "inside",
    "lessons",
    "names",
    "outsiders",
    "runs_in_pages",
]
