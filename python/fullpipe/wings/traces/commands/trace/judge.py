"""`fullpipe trace judge`."""

import sys
from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    ALLOW_UNEVALUATED,
    AS_JSON,
    PARAMETER,
    PLUGIN,
    end_judged,
    load_plugins,
    new_directory,
    parameter,
    path_options,
    stack_option,
    stack_setting,
)
from fullpipe.errors import printing, user_errors


@path_options(instead="that of a kept run's scenario", without=("stack", "duration"))
def command(
    trace: Annotated[
        Path,
        Argument(
            metavar="TRACE",
            help="A qlog, a packet capture, a listing of ss, or the directory of a run with a trace, or with the "
            "qlog of a program.",
        ),
    ],
    *,
    as_: Annotated[
        str,
        Option(
            "--as",
            metavar="ALGORITHM",
            complete=("algorithms",),
            help="Algorithm that the flow should follow, from `fullpipe list algorithms`.",
        ),
    ],
    set_: Annotated[list[str] | None, PARAMETER] = None,
    path: list[tuple[str, str]],
    stack: Annotated[
        str | None, stack_option("that of a kept run's scenario, rfc for QUIC")
    ] = None,
    scenario: Annotated[
        Path | None,
        Option(
            "--path",
            metavar="SCENARIO.toml",
            help="Scenario with the path; its program or first flow is the judged one, other flows share the path.",
        ),
    ] = None,
    flow: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Flow to judge, or a part of its name (default: the program of a run that wrote a qlog, else the "
            "largest).",
        ),
    ] = None,
    seeds: Annotated[
        int,
        Option(
            min=0,
            metavar="N",
            help="Runs of the model with other starts, whose losses bound those of the trace; with fewer than 2 "
            "they do not.",
        ),
    ] = 5,
    allow_unevaluated: Annotated[
        bool, Option("--allow-unevaluated", help=ALLOW_UNEVALUATED)
    ] = False,
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            parser=new_directory,
            help="New directory for a page, the table as Markdown and JSON, and both runs.",
        ),
    ] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    """Judge a flow in a trace by an algorithm's rules.

    Runs the model of the algorithm over the path that you state, and evaluates rules of the
    specification on the trace: each is met, not met, or not evaluated because the trace lacks a
    column or an occasion. The exit code is 1 if one is not met, else 3 if one was not evaluated.

    Examples:
        fullpipe trace judge server.qlog --as bbr3 --rate 20mbit --rtt 40ms
        fullpipe trace judge flow.pcapng --as cubic --path path.toml --out judged
        fullpipe trace judge results/run --as bbr3 --set profile=linux
    """
    with user_errors():
        load_plugins(plugin)
        from fullpipe.algorithms.resolve import bare, params_of
        from fullpipe.wings.traces.behavior.command import judge_trace

        params = {**params_of(as_), **dict(map(parameter, set_ or []))}

        judged = judge_trace(
            trace,
            bare(as_),
            params,
            path=[*path, *stack_setting(stack)],
            scenario=scenario,
            flow=flow,
            seeds=seeds,
            out=out,
        )
        for warning in judged.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        with printing():
            if as_json:
                from fullpipe.wings.traces.behavior.show import as_json as record

                print(record(judged))
            else:
                from fullpipe.base import terminal
                from fullpipe.wings.traces.behavior.show import show

                console = terminal.console()
                show(judged, console)
                if out:
                    kept = f"kept in {out}: report.html, judge.md, judge.json, and the runs"
                    console.print(kept, markup=False, soft_wrap=True)
    end_judged(missed=judged.missed, unevaluated=judged.unevaluated and not allow_unevaluated)
