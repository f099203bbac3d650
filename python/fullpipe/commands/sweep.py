"""`fullpipe sweep`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import (
    ENGINE,
    FIRST_SEED,
    ON,
    THREADS,
    Engine,
    new_place,
    no_such_file,
    seed_option,
    setting,
)
from fullpipe.errors import fail, user_errors
from fullpipe.runners import chosen


def command(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO",
            help="Scenario as a TOML file; its table [sweep] may define what varies.",
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=A,B",
            help="Values of a key to run with, like path.rtt=10ms,50ms; one value applies to every point; repeatable.",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of runs of each point, each with another seed (default: 1; 10 with"
            " --until).",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Add runs, --repeat at a time, until RULE holds for every flow at every point. "
            '"ci(goodput) < 2%" asks for 95 % intervals within 2 % of the mean. '
            "Exit code 1 if --max-repeat comes first.",
        ),
    ] = None,
    max_repeat: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Largest number of runs of each point with --until (default: 1000).",
        ),
    ] = None,
    zip_: Annotated[
        str | None,
        typer.Option(
            "--zip",
            metavar="KEY,KEY",
            help="Keys that vary together: their first values make one point, their second values another. "
            "Without --zip every combination is a point.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
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
        typer.Option(
            metavar="off|10ms|ack",
            help="Interval between trace samples of each point's first seed, or ack for a sample at each ACK. "
            "On by default up to 12 points.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|URL",
            parser=new_place,
            help="Directory or s3://BUCKET/PREFIX for the data set (default: a name in results/). An interrupted "
            "sweep resumes there.",
        ),
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(help=ENGINE),
    ] = Engine.LOCAL,
    threads: Annotated[int | None, typer.Option(min=1, metavar="N", help=THREADS)] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=ON)] = "sim",
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print the table as a JSON list in SI units, and nothing else."
        ),
    ] = False,
) -> None:
    r"""Run a scenario with many values and seeds.

    Prints the median and quartiles of each flow at each point (a combination of values), and keeps
    one row per flow and run in a directory of Parquet files. The same command resumes an
    interrupted sweep: finished runs are not repeated.

    Examples:
        fullpipe sweep scenarios/ten-cubic.toml --set path.buffer=1bdp,8bdp --repeat 30
        fullpipe sweep scenarios/cubic-vs-bbr1.toml --set path.rate=10mbit,100mbit \
            --set path.rtt=10ms,100ms --zip path.rate,path.rtt
        fullpipe sweep scenarios/lossy.toml --set path.rtt='1ms..1s log' --sample 200
        fullpipe sweep scenarios/ten-cubic.toml --until 'ci(goodput) < 2%' --repeat 10
    """
    from fullpipe.batch.spec import SweepSpec
    from fullpipe.run import read
    from fullpipe.sweeps.command import sweep

    if max_repeat is not None and until is None:
        fail(
            '--max-repeat needs --until\n  fix: add --until "ci(goodput) < 2%", or use --repeat instead'
        )
    from fullpipe.stats import RuleError
    from fullpipe.sweeps.until import asked

    with user_errors():
        try:
            text, file = read(scenario)
        except FileNotFoundError:
            fail(no_such_file(scenario))
        spec = SweepSpec(
            text,
            file,
            given=[setting(text) for text in set_ or []],
            together=[key.strip() for key in (zip_ or "").split(",") if key.strip()],
            sample=sample,
            repeat=repeat,
            seed=seed,
        )
        try:
            rule = asked(until, spec, max_repeat) if until is not None else None
            holds = sweep(
                spec,
                out=out,
                trace=trace,
                engine=engine.value,
                threads=threads,
                until=rule,
                runners=chosen(on),
                as_json=as_json,
            )
        except RuleError as error:
            fail(f"--until: {error}")
    if not holds:
        raise typer.Exit(1)
