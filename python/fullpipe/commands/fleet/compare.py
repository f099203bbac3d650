"""`fullpipe fleet compare`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import new_directory
from fullpipe.errors import user_errors
from fullpipe.report import Form


def command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A fleet directory.")],
    min_bytes: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="Leave out connections and requests that transferred less."
        ),
    ] = "1MB",
    by: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="Look at its values one by one, too: country, mss_bytes …"
        ),
    ] = "rtt",
    against: Annotated[
        str | None,
        typer.Option(
            metavar="ARM", help="Compare the others with it; cubic, or the first, if not given."
        ),
    ] = None,
    cluster: Annotated[
        str,
        typer.Option(
            metavar="UNIT",
            help="What is independent of each other: auto, pair, host, net, client, connection.",
        ),
    ] = "auto",
    effect: Annotated[
        str, typer.Option(metavar="SHARE", help="The difference that matters.")
    ] = "5%",
    ratio: Annotated[
        str | None,
        typer.Option(
            metavar="ARM=PART,…",
            help="How connections should be divided; as hosts are, if not given.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", parser=new_directory, help="Make a report there, and compare.json."
        ),
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="Of the report.")] = Form.HTML,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and nothing else.")
    ] = False,
) -> None:
    """Compare the arms of a fleet: effects with intervals, what may be wrong with them, and a verdict in words.

    For example: fullpipe fleet compare fleet/ --by country --out results/fleet
    """
    from fullpipe.fleet.compare.command import compare
    from fullpipe.fleet.compare.options import read

    with user_errors():
        options = read(
            directory,
            min_bytes=min_bytes,
            by=by,
            against=against,
            unit=cluster,
            effect=effect,
            ratio=ratio,
        )
        compare(options, out=out, form=form, as_json=as_json)
