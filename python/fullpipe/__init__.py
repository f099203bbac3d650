"""fullpipe: a laboratory for congestion control.

    >>> import fullpipe
    >>> run = fullpipe.run("scenarios/cubic-deep-buffer.toml", trace="10ms")
    >>> run.flows[0]["goodput_bps"]  # doctest: +SKIP
    95143216.0
    >>> run.plot("picture.png")  # doctest: +SKIP

`import fullpipe` is quick: it loads polars, matplotlib and the modules of sweeps only when they are used.
"""

from typing import TYPE_CHECKING

from fullpipe._core import Decision, Scenario, ScenarioError, __version__
from fullpipe.controllers import Field, Param
from fullpipe.run import Run, load, run

if TYPE_CHECKING:
    from fullpipe.sweeps.api import sweep
    from fullpipe.sweeps.dataset import Sweep

__all__ = [
    "Decision",
    "Field",
    "Param",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "__version__",
    "load",
    "run",
    "sweep",
]


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any attribute

    def __getattr__(name: str) -> object:
        if name == "sweep":
            from fullpipe.sweeps.api import sweep

            return sweep
        if name == "Sweep":
            from fullpipe.sweeps.dataset import Sweep

            return Sweep
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
