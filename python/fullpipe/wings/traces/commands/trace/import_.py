"""`fullpipe trace import`."""

import sys
from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import new_directory
from fullpipe.errors import user_errors


def command(
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE...",
            help="Results of iperf3 --json, a .flent.gz, listings of ss -tin, a packet capture, or a qlog.",
        ),
    ],
    out: Annotated[
        Path,
        Option(metavar="DIR", parser=new_directory, help="New directory for the run."),
    ],
) -> None:
    """Make a run of measurements of other programs.

    Recognizes each file by its content. `fullpipe report DIR` shows the run, like a run of
    `fullpipe run --out`. All files begin at 0 s.

    Examples:
        fullpipe trace import iperf3.json --out results/measured
        fullpipe trace import sender.pcapng server.qlog --out results/measured
    """
    import shlex
    from functools import reduce

    from fullpipe.results import fresh_directory
    from fullpipe.results.total import Total
    from fullpipe.wings.traces.foreign.kept import save
    from fullpipe.wings.traces.foreign.kinds import read

    with user_errors():
        found = [read(file, "trace import") for file in files]
        with fresh_directory(out, called=f"--out {out}") as aside:
            flows = [flow for each in found for flow in each.flows]
            warnings = [warning for each in found for warning in each.warnings]
            totals = [each.total for each in found if each.total]
            total = reduce(Total.plus, totals) if totals and len(totals) == len(found) else None
            save(
                aside,
                flows,
                runner=" and ".join(dict.fromkeys(each.kind for each in found)),
                title=f"Measured: {', '.join(file.name for file in files)}",
                command=f"fullpipe trace import {shlex.join(map(str, files))} --out {shlex.quote(str(out))}",
                warnings=warnings,
                total=total,
            )
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
        for each in totals:
            if each.facts():
                print(each)
        print(f"{len(flows)} flow{'s' if len(flows) > 1 else ''} kept in {out}")
