"""`fullpipe.sweep`: runs a scenario at many points, with many seeds, into a directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe.base.arguments import checked
from fullpipe.base.toml import as_set
from fullpipe.results import objects
from fullpipe.runners import SIMULATOR, chosen
from fullpipe.runs.given import given, name_of
from fullpipe.runs.lengths import RULE as STEADY
from fullpipe.runs.lengths import is_drifting, lengths
from fullpipe.scenario.origin import TIMES, warm_up
from fullpipe.scenario.path_options import keyed
from fullpipe.study.engine import Engine
from fullpipe.study.spec import SweepSpec
from fullpipe.study.sweeps.dataset import Sweep
from fullpipe.study.sweeps.execute import Execution

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from fullpipe.algorithms.classes import Controllers
    from fullpipe.base.toml import Setting
    from fullpipe.runners import Runner
    from fullpipe.runs.given import Algorithm, ScenarioLike
    from fullpipe.study.sweeps.until import Until

    Values = Setting | Sequence[Setting]
    Axes = Mapping[str, Sequence[Setting] | str] | Callable[[], Iterable[Mapping[str, Setting]]]


@checked
def sweep(
    scenario: ScenarioLike,
    axes: Axes | None = None,
    *,
    cc: Algorithm | Sequence[Algorithm] | None = None,
    rate: Values | None = None,
    rtt: Values | None = None,
    buffer: Values | None = None,
    queue: Values | None = None,
    loss: Values | None = None,
    profile: str | Sequence[str] | None = None,
    stack: str | Sequence[str] | None = None,
    duration: Values | None = None,
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

    The options have the names and the syntax of `fullpipe sweep`; a list has the values of several points.

        >>> sweep = fullpipe.sweep(["cubic", "bbr3"], buffer=["1bdp", "4bdp"], duration="3s", repeat=2)
        >>> sweep.flows.shape[0]  # two points, two seeds, two flows
        8

    Args:
        scenario: A scenario in one of the forms of :func:`fullpipe.run`. Arguments override its `[sweep]`.
        axes: Keys with their values, `{"path.buffer": ["1bdp", "8bdp"], "flow.0.cc": ["cubic", "bbr1"]}`, or with a
            range to draw from, `"1ms..1s log"`. Or a function that returns the points, each a mapping of keys to
            values.
        cc: The algorithm of the first flow, or a list of names.
        rate: Rate of the bottleneck, like `"20mbit"`, or a list.
        rtt: Round-trip time without queueing, like `"40ms"`, or a list.
        buffer: Buffer of the bottleneck, like `"2bdp"`, or a list.
        queue: Queue of the bottleneck, like `"fq_codel"`, or a list.
        loss: Random loss, like `"1%"`, or a list.
        profile: Named path, like `"lte"`, or a list.
        stack: TCP at both ends of every flow: `"rfc"`, `"linux"` or `"linux-fq"`, or a list.
        duration: Length of each run, like `"30s"`, or a list.
        repeat: Runs of each point, each with another seed. Above one, `start_jitter` and `send_jitter` are set to one
            RTT and one packet's time unless the scenario sets them: without noise every seed would give the same
            result.
        until: A rule like `"ci(goodput) < 2%"`: repetitions are added until it holds for every flow at every point;
            `repeat` is the number to add at a time. :meth:`Sweep.misses` lists the flows that miss the rule if
            `max_repeat` came first. Or `"steady"`: the runs are prolonged until no number drifts, as in
            :func:`fullpipe.run`; `out` then has a directory for each length.
        max_repeat: The largest number of repetitions; None for 1000.
        zip: Keys that vary together instead of in every combination.
        sample: The number of points to draw at random, instead of every combination.
        seed: The seed of the first run of each point, and of the drawn points; further runs use the next numbers.
        set: Keys with one value, for every point.
        out: The directory, or the URL of an object store, `"s3://bucket/prefix"`; None for a directory in `results/`,
            named after scenario and points.
        trace: Records the first seed of each point over time: `"10ms"`, `"ack"`, or `"off"`; None for a suitable
            interval with up to 12 points, and no trace with more. `"transfers"`, alone or as `"10ms transfers"`, keeps
            the transfers of workloads in every run.
        engine: `"local"`, or `"ray"`.
        threads: The number of runs at a time; None for one per core.
        controllers: Algorithms of your own by name, as for :func:`fullpipe.run`.
        on: The runners: `"sim"`, or others of :func:`fullpipe.runners.names`, as `"sim,kernel"` or a list. In real
            time runs execute one at a time, in an order that is shuffled in each repetition.

    Returns:
        The data set.

    Raises:
        ScenarioError: When a point is refused, before the first run.
        RunnerError: When a runner is not installed, or its runs can't execute there.
        FailedRunsError: When runs failed on a runner other than the simulator, at the end or after three in a row;
            finished runs are kept, and the same call makes the others.
        RuleError: When `until` is not a rule, or the runs do not have its metric.
        FileExistsError: When `out` has other contents.
        OSError: When the scenario can't be read or `out` can't be written.
        ClusterError: When the Ray cluster can't execute the runs; finished runs are kept.
        ObjectsError: When the object store can't be read or written.
        KeyboardInterrupt: On Ctrl-C; finished runs are kept, and the same call resumes.
    """
    from fullpipe.study.sweeps.show import steadiness
    from fullpipe.study.sweeps.until import asked

    if max_repeat is not None and until is None:
        raise ValueError("max_repeat needs until")
    runners = chosen(on)
    options = {
        "rate": rate,
        "rtt": rtt,
        "buffer": buffer,
        "queue": queue,
        "loss": loss,
        "profile": profile,
        "stack": stack,
        "duration": duration,
    }
    several = {name: of for name, of in options.items() if _is_list(of)}
    one = {name: of for name, of in options.items() if name not in several}
    lists: dict[str, Any] = keyed(several)
    algorithm = cc
    if cc is not None and not isinstance(cc, str | type):
        lists, algorithm = {"flow.0.cc": cc, **lists}, None
    # A text may have several values, as on the command line.
    got = given(scenario, cc=algorithm, options=one, controllers=controllers)  # type: ignore[arg-type]
    if "flow.0.cc" in lists:
        lists["flow.0.cc"] = [name_of(each, got.controllers) for each in lists["flow.0.cc"]]
    points = None
    if callable(axes):
        points = [[(key, as_set(value)) for key, value in point.items()] for point in axes()]
        axes = None
    every = [(key, _values(values)) for key, values in {**lists, **(axes or {})}.items()]
    also = [(key, as_set(value)) for key, value in (set or {}).items()]
    lasting = [(key, ",".join(values)) for key, values in every if key in TIMES]
    shorter = warm_up(got.text, [*got.pairs, *also, *lasting])
    spec = SweepSpec(
        got.text,
        got.file,
        given=[(key, value) for key, value in got.settings.items() if isinstance(value, str)],
        fixed=[(key, value) for key, value in got.pairs if not isinstance(got.settings[key], str)]
        + also
        + ([shorter] if shorter else []),
        axes=every,
        together=list(zip),
        sample=sample,
        repeat=repeat,
        seed=seed,
        points=points,
        controllers=got.controllers,
    )
    where = Engine(engine, threads)
    if until == STEADY:
        if max_repeat is not None:
            raise ValueError(f"max_repeat: until={STEADY!r} adds no runs")
        for length in lengths(spec.scenarios(), until):
            keys = dict(length.settings)
            fixed = [pair for pair in spec.fixed if pair[0] not in keys]
            longer = replace(spec, given=length.over(spec.given), fixed=fixed)
            inside = length.inside(str(out)) if out is not None else usual_directory(longer)
            made = _executed(longer, inside, trace, where, None, runners)
            if not is_drifting(list(steadiness(made).values())):
                break
        return made
    rule = asked(until, spec, max_repeat) if until is not None else None
    place = out if out is not None else usual_directory(rule.first(spec) if rule else spec)
    return _executed(spec, place, trace, where, rule, runners)


def _executed(
    spec: SweepSpec,
    place: str | os.PathLike[str],
    trace: str | None,
    engine: Engine,
    until: Until | None,
    runners: Sequence[Runner],
) -> Sweep:
    """Executes the missing runs of a sweep."""
    from fullpipe.base.progress import Counter

    with Counter(silent=True) as counter, objects.writable(place) as (directory, push):
        Execution(
            directory,
            counter,
            "fullpipe.sweep()",
            trace=trace,
            engine=engine,
            until=until,
            runners=runners,
            push=push,
        ).run(spec)
    return Sweep(directory, called=str(place))


def usual_directory(spec: SweepSpec) -> Path:
    """Returns the directory of a sweep without `out`: the same one for the same sweep."""
    name = Path(spec.file).stem.strip("<>")
    return Path("results") / f"{name}-{spec.identity[:8]}"


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _values(values: Sequence[Setting] | str) -> list[str]:
    return [values] if isinstance(values, str) else [as_set(value) for value in values]
