"""`fullpipe run`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe import Scenario, Sweep, load
from fullpipe.commands.options import ON, new_directory, no_such_file, setting
from fullpipe.errors import fail, user_errors
from fullpipe.runners import chosen


def command(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO", help="A TOML file; see `explain scenario`. Or a sweep's directory."
        ),
    ],
    point: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Of a sweep's directory, this point.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="Instead of the scenario's seed.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Instead of a value of the scenario; repeatable."
        ),
    ] = None,
    cc: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of the first flow: an algorithm, or a class of yours as my.module:Mine.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A named path in the place of the scenario's; see `list profiles`."
        ),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="off|10ms|ack",
            help="Record every so often, or at every ACK. By itself with --out or --qlog.",
        ),
    ] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=ON)] = "sim",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="Keep metrics, trace and a picture in a new directory.",
        ),
    ] = None,
    qlog: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the trace for qvis: .qlog is JSON, .sqlog is JSON-SEQ."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, SI units, and nothing else.")
    ] = False,
) -> None:
    """Run a scenario, in virtual time if no runner is named, and print what came of it.

    For example: fullpipe run scenarios/cubic-deep-buffer.toml --set path.rate=20mbit --out
    results/first
    """
    from fullpipe.runcommand import run

    settings = dict(setting(text) for text in set_ or [])
    if profile is not None:
        settings["path.profile"] = profile
    if cc is not None:
        settings["flow.0.cc"] = cc
    with user_errors():
        runners = chosen(on)
        simulated = all(runner.name == "sim" for runner in runners)
        loaded = _loaded(scenario, point, seed, settings, simulated)
        run(loaded, runners, trace=trace, out=out, qlog=qlog, as_json=as_json)


def _loaded(
    scenario: Path, point: int | None, seed: int | None, settings: dict[str, str], simulated: bool
) -> Scenario:
    """A file's scenario, or that of a sweep's point; a real sender is not given the jitter that the sweep has added."""
    if (scenario / "sweep.json").exists():
        if point is None:
            fail(f"{scenario} holds a sweep: say which of its points, like --point 0")
        try:
            sweep = Sweep(scenario)
            added = (
                {}
                if simulated or "send_jitter" not in sweep.about["added_jitter"]
                else {"send_jitter": "0s"}
            )
            return sweep.load(point, seed=seed, set={**added, **settings})
        except IndexError as error:
            fail(error)
    if point is not None:
        fail(f"--point {point} is for the directory of a sweep, and {scenario} is none")
    try:
        return load(scenario, seed=seed, set=settings)
    except FileNotFoundError:
        fail(no_such_file(scenario))
