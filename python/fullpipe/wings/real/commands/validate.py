"""`fullpipe validate`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Option
from fullpipe.commands.options import (
    ENGINE,
    THREADS,
    Place,
    named_file,
    new_directory,
    repeat_option,
    seed_option,
)
from fullpipe.commands.shared import PATH, STORE, shares
from fullpipe.errors import fail, user_errors
from fullpipe.runners import runner as one_runner
from fullpipe.study.engine import Engine


@shares(
    (
        "a cell is the one whose results of Linux are recorded",
        [PATH, "--stack", "--duration", "--set", "--cc", "--plugin", "--recipe", "--programs"],
    ),
    ("its results are one file, and drawn scenarios need this machine's Linux", [STORE]),
)
def command(
    cell: Annotated[
        list[str] | None,
        Option(
            metavar="PATTERN",
            help="Cells to run, by name or pattern, like 'bbr-*', or '*-nofq' for stack linux (default: all); "
            "repeatable.",
        ),
    ] = None,
    on: Annotated[
        str,
        Option(
            metavar="RUNNER",
            help="Runner to compare with Linux; `fullpipe doctor` lists them. In real time only some cells run.",
        ),
    ] = "sim",
    seeds: Annotated[
        int | None,
        repeat_option(
            "Number of runs of each cell that uses random numbers (default: 10 simulated, 3 on other runners).",
            usual="--seeds",
        ),
    ] = None,
    random: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="Draw N scenarios instead of the cells, and run each on the simulator and on Linux "
            "(needs user-mode Linux: make oracle, and --out). Two hundred take about an hour.",
        ),
    ] = None,
    seed: Annotated[int | None, seed_option("Seed of the draws of --random (default: 1).")] = None,
    hours: Annotated[
        float | None,
        Option(
            min=0.01,
            max=1000,
            metavar="H",
            help="Size of the scenarios of --random: two hundred take about H hours on two cores (default: 1).",
        ),
    ] = None,
    acks: Annotated[
        int | None,
        Option(
            min=0,
            metavar="M",
            help="Number of further scenarios of --random, of one flow without chance, whose windows are compared "
            "ACK by ACK (default: a tenth of N).",
        ),
    ] = None,
    record: Annotated[
        bool,
        Option(
            "--record",
            help="Run Linux's TCP first and record its results anew (needs user-mode Linux: make oracle).",
        ),
    ] = False,
    traces: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            parser=new_directory,
            help="New directory for one page per cell with the traces of both sides (needs user-mode Linux: "
            "make oracle).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="PATH",
            parser=named_file,
            help="New Markdown file for all numbers, with intervals; with --random the directory that keeps "
            "scenarios and results as they come. The same command resumes there.",
        ),
    ] = None,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print the numbers as a JSON list, and nothing else.")
    ] = False,
) -> None:
    """Compare the simulator with Linux's TCP.

    A cell is a path with its flows and a stack, linux-fq or linux. The repository has the recorded
    results of Linux's own TCP for each cell. The command runs the cells, compares goodput, RTT,
    queueing delay, retransmissions and shares, and prints both numbers and a verdict in a table for
    each stack. Exit code 1 when fewer than 90 % of the cells of a stack are met.

    Examples:
        fullpipe validate
        fullpipe validate --cell 'cubic-*' --out cubic.md
        fullpipe validate --cell '*-nofq'
        fullpipe validate --on kernel
        fullpipe validate --random 200 --seed 1 --out results/random
    """
    from fullpipe.study.verdicts.reader import PublishedError
    from fullpipe.wings.real.validate.command import validate

    where = Engine(engine.value, threads)
    if random is None:
        _refuse({"--seed": seed, "--hours": hours, "--acks": acks}, "needs --random")
    else:
        _refuse(
            {"--cell": cell, "--record": record or None, "--traces": traces}, "is for the cells"
        )
        _random(random, seed, hours, acks, seeds, on, out, where, as_json)
        return
    try:
        with user_errors():
            enough = validate(
                cell or (),
                runner=one_runner(on),
                seeds=seeds,
                record=record,
                traces=traces,
                out=out,
                as_json=as_json,
                engine=where,
            )
    except PublishedError as error:
        fail(error)
    if not enough:
        raise SystemExit(1)


def _random(
    number: int,
    seed: int | None,
    hours: float | None,
    acks: int | None,
    seeds: int | None,
    on: str,
    out: Path | None,
    engine: Engine,
    as_json: bool,
) -> None:
    """Compares drawn scenarios; exit code 1 if fewer than 95 % are within tolerance."""
    from fullpipe.wings.real.validate.drawn.command import validate_random

    if on != "sim":
        fail(f"--on {on}: --random compares sim with uml\n  fix: omit --on")
    if out is None:
        fail(
            "--random needs a directory to keep its results\n  fix: name one: --out results/random"
        )
    with user_errors():
        enough = validate_random(
            number,
            seed=1 if seed is None else seed,
            hours=1.0 if hours is None else hours,
            acks=acks,
            seeds=10 if seeds is None else seeds,
            out=out,
            as_json=as_json,
            engine=engine,
        )
    if not enough:
        raise SystemExit(1)


def _refuse(given: dict[str, object], why: str) -> None:
    """Fails if one of the options is given."""
    for option, value in given.items():
        if value is not None and value != []:
            fix = "add --random N" if why.startswith("needs") else "omit it, or omit --random"
            fail(f"{option} {why}\n  fix: {fix}")
