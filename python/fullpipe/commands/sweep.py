"""`fullpipe sweep`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import ON, Engine, new_directory, no_such_file, setting
from fullpipe.errors import fail, user_errors
from fullpipe.runners import chosen


def command(
    scenario: Annotated[
        Path,
        typer.Argument(metavar="SCENARIO", help="A TOML file; its [sweep] may say what varies."),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=A,B",
            help="Values to run with, or one for all, or a range; repeatable.",
        ),
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs of each point, a seed each.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help='Repeat until "ci(goodput) < 2%" or so, --repeat at a time; else exit code 1.',
        ),
    ] = None,
    max_repeat: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --until: no more runs of each point; 1000."),
    ] = None,
    zip_: Annotated[
        str | None,
        typer.Option(
            "--zip", metavar="KEY,KEY", help="Vary these together, not in every combination."
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Draw so many points, from ranges like 1ms..1s log too."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="The first seed.")] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="off|10ms|ack",
            help="Record each point's first seed; by itself for 12 points at most.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="Keep all in this directory, or go on with what it has.",
        ),
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(help="Threads here, or a Ray cluster: RAY_ADDRESS, or one on this machine."),
    ] = Engine.LOCAL,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs side by side; a core each.")
    ] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=ON)] = "sim",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the table as a list, SI units, and nothing else.")
    ] = False,
) -> None:
    """Run a scenario at many points, with many seeds, into a data set; what is there already is not run again.

    For example: fullpipe sweep scenarios/ten-cubic.toml --set path.buffer=0.25bdp,1bdp,8bdp --repeat 30
    """
    from fullpipe.batch.spec import SweepSpec
    from fullpipe.run import read
    from fullpipe.sweeps.command import sweep

    if max_repeat is not None and until is None:
        fail(
            '--max-repeat is for --until\n  fix: say --until "ci(goodput) < 2%" too, or --repeat instead'
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
