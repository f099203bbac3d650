"""fullpipe: a laboratory for congestion control.

    >>> import fullpipe
    >>> run = fullpipe.run("cubic-deep-buffer", trace="10ms")
    >>> run.flows["goodput_bps"].to_list()
    [96533473.0]
    >>> picture = run.plot("picture.png")

`import fullpipe` is quick: it loads polars, matplotlib and the modules of sweeps only when they are used.
"""

import fullpipe._begin  # isort: skip  # noqa: F401  (for a Ctrl-C during the other imports)
from importlib import import_module
from typing import TYPE_CHECKING

from fullpipe._core import Decision, Scenario, ScenarioError, __version__
from fullpipe.algorithms.classes import Field, Param
from fullpipe.algorithms.plugins import load_plugin
from fullpipe.run import Run, load, run

if TYPE_CHECKING:
    from fullpipe.report.plots import plot_runs
    from fullpipe.study.comparison.api import Comparison, compare
    from fullpipe.study.sweeps.api import sweep
    from fullpipe.study.sweeps.dataset import Sweep
    from fullpipe.wings.real.links.api import Link, link

__all__ = [
    "Comparison",
    "Decision",
    "Field",
    "Link",
    "Param",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "__version__",
    "compare",
    "link",
    "load",
    "load_plugin",
    "plot_runs",
    "run",
    "sweep",
]

_LATE = {
    "Comparison": "study.comparison.api",
    "Link": "wings.real.links.api",
    "Sweep": "study.sweeps.dataset",
    "compare": "study.comparison.api",
    "link": "wings.real.links.api",
    "plot_runs": "report.plots",
    "sweep": "study.sweeps.api",
}
"""Names that are imported when they are used, and their modules; no module has such a name, which would hide it."""


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any attribute

    def __getattr__(name: str) -> object:
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
