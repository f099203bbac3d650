"""`fullpipe sweep`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fullpipe.commands.declare import Option
from fullpipe.commands.options import (
    ENGINE,
    FIRST_SEED,
    ON,
    PLUGIN,
    PROGRAMS,
    RECIPE,
    SHOW,
    THREADS,
    Place,
    allow_programs,
    known_metrics,
    load_plugins,
    load_recipes,
    new_place,
    path_options,
    repeat_option,
    scenario_argument,
    scenario_of,
    seed_option,
    setting,
)
from fullpipe.commands.shared import shares
from fullpipe.errors import fail, user_errors
from fullpipe.runners import SIMULATOR, chosen, load
from fullpipe.runs.lengths import RULE as STEADY
from fullpipe.scenario import origin
from fullpipe.study.engine import Engine

if TYPE_CHECKING:
    from fullpipe.study.sweeps.until import Until


@shares()
@path_options(instead="the scenario's", lists=True)
def command(
    scenario: Annotated[
        list[str],
        scenario_argument(
            "Scenario: a TOML file, whose table [sweep] may define what varies, - for standard input, or a "
            "name from `fullpipe list scenarios`. Or algorithms: a flow of each on one path. Or a kept sweep, "
            "a directory or URL, whose missing runs are made.",
        ),
    ],
    *,
    path: list[tuple[str, str]],
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=A,B",
            complete=("settings",),
            help="Values of a key to run with, like path.rtt=10ms,50ms; one value applies to every point; repeatable.",
        ),
    ] = None,
    cc: Annotated[
        str | None,
        Option(
            metavar="NAME,NAME",
            complete=("algorithms",),
            help="Algorithms of the first flow to run with; one applies to every point.",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        repeat_option(
            "Number of runs of each point, each with another seed (default: 1; 10 with --until)."
        ),
    ] = None,
    until: Annotated[
        str | None,
        Option(
            metavar="RULE",
            help="Add runs, --repeat at a time, until RULE holds for every flow at every point. "
            '"ci(goodput) < 2%" asks for 95 % intervals within 2 % of the mean. '
            "Exit code 1 if --max-repeat comes first. Or steady: prolong the runs until no number drifts, as in run.",
        ),
    ] = None,
    max_repeat: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="Largest number of runs of each point with --until (default: 1000).",
        ),
    ] = None,
    zip_: Annotated[
        str | None,
        Option(
            "--zip",
            metavar="KEY,KEY",
            help="Keys that vary together: their first values make one point, their second values another. "
            "Without --zip every combination is a point.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="Draw N random points instead of every combination; a key may have a range, "
            'like path.rtt="1ms..1s log".',
        ),
    ] = None,
    seed: Annotated[
        int | None,
        seed_option(f"{FIRST_SEED} (default: the scenario's seed). Also the seed of --sample."),
    ] = None,
    trace: Annotated[
        str | None,
        Option(
            metavar="off|10ms|ack|transfers",
            help="Interval between trace samples of each point's first seed, or ack for a sample at each ACK. "
            "On by default up to 12 points. transfers, alone or as '10ms transfers', also keeps the transfers of "
            "workloads in every run, which takes each run twice.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR|URL",
            parser=new_place,
            help="Directory or s3://BUCKET/PREFIX for the data set (default: a name in results/). An interrupted "
            "sweep resumes there.",
        ),
    ] = None,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    on: Annotated[str, Option(metavar="RUNNER,RUNNER", help=ON, complete=("runners",))] = "sim",
    show: Annotated[
        str | None, Option(metavar="METRIC,METRIC", help=SHOW, complete=("metrics",))
    ] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    recipe: Annotated[list[Path] | None, RECIPE] = None,
    programs: Annotated[bool, PROGRAMS] = False,
    as_json: Annotated[
        bool,
        Option("--json", help="Print the table as a JSON list in SI units, and nothing else."),
    ] = False,
) -> None:
    r"""Run a scenario with many values and seeds.

    Prints the median and quartiles of each flow at each point (a combination of values), and keeps
    one row per flow and run in a directory of Parquet files. The same command resumes an
    interrupted sweep, and so does `fullpipe sweep DIR`: finished runs are not repeated.

    Examples:
        fullpipe sweep cubic bbr3 --buffer 0.5bdp,1bdp,4bdp --repeat 10
        fullpipe sweep ten-cubic --set flow.0.count=2,10 --repeat 30
        fullpipe sweep cubic-vs-bbr1 --rate 10mbit,100mbit --rtt 10ms,100ms \
            --zip path.rate,path.rtt
        fullpipe sweep lossy --rtt '1ms..1s log' --sample 200
        fullpipe sweep request-response --queue pfifo,fq_codel --show response.p95
        fullpipe sweep ten-cubic --until 'ci(goodput) < 2%'
        fullpipe sweep results/fig3
    """
    from fullpipe.study.spec import SweepSpec
    from fullpipe.study.sweeps.command import again, is_kept, sweep

    if max_repeat is not None and until is None:
        fail(
            '--max-repeat needs --until\n  fix: add --until "ci(goodput) < 2%", or use --repeat instead'
        )
    from fullpipe.stats import RuleError
    from fullpipe.study.sweeps.until import asked

    with user_errors():
        asked_metrics = known_metrics(show)
        load_plugins(plugin)
        load_recipes(recipe)
        allow_programs(programs)
        if len(scenario) == 1 and is_kept(scenario[0]):
            _refuse_changes(
                scenario[0],
                {
                    **{f"the option of {key}": value for key, value in path},
                    "--set": set_,
                    "--cc": cc,
                    "--until": until,
                    "--max-repeat": max_repeat,
                    "--zip": zip_,
                    "--sample": sample,
                    "--seed": seed,
                    "--out": out,
                },
            )
            again(
                scenario[0],
                repeat=repeat,
                trace=trace,
                engine=Engine(engine.value, threads),
                as_json=as_json,
                asked=asked_metrics,
                loaded=load(on, scenario[0]) if on != SIMULATOR else (),
            )
            return
        text, file = scenario_of(scenario)
        algorithms = [] if cc is None else [setting(f"flow.0.cc={cc}")]
        settings = [*path, *(setting(each) for each in set_ or []), *algorithms]
        shorter = origin.warm_up(text, settings)
        spec = SweepSpec(
            text,
            file,
            given=[*settings, *([shorter] if shorter else [])],
            together=[key.strip() for key in (zip_ or "").split(",") if key.strip()],
            sample=sample,
            repeat=repeat,
            seed=seed,
        )
        try:
            rule: Until | str | None = None
            if until == STEADY:
                if max_repeat is not None:
                    fail(f"--max-repeat: --until {STEADY} adds no runs\n  fix: leave it out")
                rule = until
            elif until is not None:
                rule = asked(until, spec, max_repeat)
            holds = sweep(
                spec,
                out=out,
                trace=trace,
                engine=Engine(engine.value, threads),
                until=rule,
                runners=chosen(on),
                as_json=as_json,
                asked=asked_metrics,
            )
        except RuleError as error:
            fail(f"--until: {error}")
    if not holds:
        raise SystemExit(1)


def _refuse_changes(place: str, given: dict[str, object]) -> None:
    """Refuses options that would change a kept sweep."""
    if name := next((name for name, value in given.items() if value is not None), None):
        fail(
            f"{name}: {place} is a kept sweep, which has its points already\n"
            "  fix: leave the option out, or name the scenario instead of the directory"
        )
