"""`fullpipe fleet compare`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import AS_JSON, new_directory
from fullpipe.errors import user_errors
from fullpipe.report import Form


def command(
    directory: Annotated[
        str,
        Argument(
            metavar="DIR|URL",
            help="Fleet directory, from `fullpipe fleet ingest` or `simulate`, or its URL.",
        ),
    ],
    min_bytes: Annotated[
        str,
        Option(
            metavar="SIZE",
            help="Smallest transfer to count; connections and requests with fewer bytes are left out.",
        ),
    ] = "1MB",
    by: Annotated[
        str,
        Option(
            metavar="COLUMN",
            help="Column to also compare by, value by value: rtt, or another one, like country or mss_bytes.",
        ),
    ] = "rtt",
    against: Annotated[
        str | None,
        Option(
            metavar="ARM",
            help="Arm that the others are compared with (default: the one named cubic, or the first one).",
        ),
    ] = None,
    cluster: Annotated[
        str,
        Option(
            metavar="UNIT",
            help="Unit of independent observation: auto, pair, host, net, client or connection.",
        ),
    ] = "auto",
    effect: Annotated[
        str,
        Option(metavar="SHARE", help="Smallest relative difference that matters."),
    ] = "5%",
    ratio: Annotated[
        str | None,
        Option(
            metavar="ARM=PART,…",
            help="Intended division of connections among the arms, like cubic=1,bbr=1 (default: as the hosts are "
            "divided); a deviation is reported.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            parser=new_directory,
            help="New directory for a report and compare.json.",
        ),
    ] = None,
    form: Annotated[Form, Option("--format", help="Format of the report.")] = Form.HTML,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    """Compare the arms of a fleet and print a verdict.

    Prints for each metric its value in both arms, the effect with its 95 % interval, and a verdict:
    better, worse, same or undecided. It also prints what may be wrong with the comparison, such as
    arms that were observed at different times.

    Examples:
        fullpipe fleet compare fleet
        fullpipe fleet compare fleet --by country --out results/fleet
    """
    from fullpipe.results.kept import computing
    from fullpipe.results.objects import local
    from fullpipe.wings.fleet.compare.command import compare
    from fullpipe.wings.fleet.compare.options import read

    with user_errors():
        place = local(directory)
    with user_errors(), computing(place):
        options = read(
            place,
            min_bytes=min_bytes,
            by=by,
            against=against,
            unit=cluster,
            effect=effect,
            ratio=ratio,
        )
        compare(options, out=out, form=form, as_json=as_json)
