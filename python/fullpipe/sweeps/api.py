"""`fullpipe.sweep`: runs a scenario at many points, with many seeds, into a directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.batch.spec import SweepSpec
from fullpipe.origin import read
from fullpipe.results import objects
from fullpipe.run import toml_value
from fullpipe.runners import SIMULATOR, chosen
from fullpipe.sweeps.dataset import Sweep
from fullpipe.sweeps.execute import Execution

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fullpipe.controllers import Controllers
    from fullpipe.run import Setting

    Axes = Mapping[str, Sequence[Setting] | str] | Callable[[], Iterable[Mapping[str, Setting]]]


def sweep(
    scenario: str | os.PathLike[str],
    axes: Axes | None = None,
    *,
    repeat: int | None = None,
    until: str | None = None,
    max_repeat: int | None = None,
    zip: Sequence[str] = (),  # noqa: A002  (the same word as --zip)
    sample: int | None = None,
    seed: int | None = None,
    set: Mapping[str, Setting] | None = None,  # noqa: A002  (the same word as --set)
    out: str | os.PathLike[str] | None = None,
    trace: str | None = None,
    engine: str = "local",
    threads: int | None = None,
    controllers: Controllers | None = None,
    on: str | Sequence[str] = SIMULATOR,
) -> Sweep:
    """Runs a scenario at many points, each with many seeds, on all cores; finished runs are not repeated.

    Args:
        scenario: The path of a TOML file, or its text (any string with a line break). Arguments override its `[sweep]`.
        axes: Keys with their values, `{"path.buffer": ["1bdp", "8bdp"], "flow.0.cc": ["cubic", "bbr1"]}`, or with a
            range to draw from, `"1ms..1s log"`. Or a function that returns the points, each a mapping of keys to
            values.
        repeat: Runs of each point, each with another seed. Above one, `start_jitter` and `send_jitter` are set to one
            RTT and one packet's time unless the scenario sets them: without noise every seed would give the same
            result.
        until: A rule like `"ci(goodput) < 2%"`: repetitions are added until it holds for every flow at every point;
            `repeat` is the number to add at a time. :meth:`Sweep.misses` lists the flows that miss the rule if
            `max_repeat` came first.
        max_repeat: The largest number of repetitions; None for 1000.
        zip: Keys that vary together instead of in every combination.
        sample: The number of points to draw at random, instead of every combination.
        seed: The seed of the first run of each point, and of the drawn points; further runs use the next numbers.
        set: Keys with one value, for every point.
        out: The directory, or the URL of an object store, `"s3://bucket/prefix"`; None for a directory in `results/`,
            named after scenario and points.
        trace: Records the first seed of each point over time: `"10ms"`, `"ack"`, or `"off"`; None for a suitable
            interval with up to 12 points, and no trace with more.
        engine: `"local"`, or `"ray"`.
        threads: The number of runs at a time; None for one per core.
        controllers: Algorithms of your own by name, as for :func:`fullpipe.run`.
        on: The runners: `"sim"`, or others of :func:`fullpipe.runners.names`, as `"sim,kernel"` or a list. In real
            time runs execute one at a time, in an order that is shuffled in each repetition.

    Returns:
        The data set.

    Raises:
        ScenarioError: When a point is refused, before the first run.
        RunnerError: When a runner is not installed.
        RuleError: When `until` is not a rule, or the runs do not have its metric.
        FileExistsError: When `out` has other contents.
        OSError: When the scenario can't be read or `out` can't be written.
        ClusterError: When the Ray cluster can't execute the runs; finished runs are kept.
        ObjectsError: When the object store can't be read or written.
        KeyboardInterrupt: On Ctrl-C; finished runs are kept, and the same call resumes.
    """
    from fullpipe.progress import Counter
    from fullpipe.sweeps.until import asked

    if max_repeat is not None and until is None:
        raise ValueError("max_repeat needs until")
    runners = chosen(on)
    text, file = read(scenario)
    points = None
    if callable(axes):
        points = [[(key, toml_value(value)) for key, value in point.items()] for point in axes()]
        axes = None
    spec = SweepSpec(
        text,
        file,
        fixed=[(key, toml_value(value)) for key, value in (set or {}).items()],
        axes=[(key, _values(values)) for key, values in (axes or {}).items()],
        together=list(zip),
        sample=sample,
        repeat=repeat,
        seed=seed,
        points=points,
        controllers=controllers or {},
    )
    rule = asked(until, spec, max_repeat) if until is not None else None
    place = out if out is not None else usual_directory(rule.first(spec) if rule else spec)
    with Counter(silent=True) as counter, objects.writable(place) as (directory, push):
        Execution(
            directory,
            counter,
            "fullpipe.sweep()",
            trace=trace,
            engine=engine,
            threads=threads,
            until=rule,
            runners=runners,
            push=push,
        ).run(spec)
    return Sweep(directory, called=str(place))


def usual_directory(spec: SweepSpec) -> Path:
    """Returns the directory of a sweep without `out`: the same one for the same sweep."""
    name = "text" if spec.file == "<text>" else Path(spec.file).stem
    return Path("results") / f"{name}-{spec.identity[:8]}"


def _values(values: Sequence[Setting] | str) -> list[str]:
    return [values] if isinstance(values, str) else [toml_value(value) for value in values]
