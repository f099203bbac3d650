"""`fullpipe fleet ingest`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import new_directory
from fullpipe.errors import user_errors


def command(
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="DIR", parser=new_directory, help="A new one, or go on with it."
        ),
    ],
    arm: Annotated[
        list[str] | None,
        typer.Option(
            "--arm",
            metavar="ARM=FILES",
            help="Outputs of ss, like 'cubic=hosts/{host}/*.ss.gz'; repeatable.",
        ),
    ] = None,
    nginx: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ARM=]FILES", help="Access logs of nginx. Without ARM, that of the host."
        ),
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="The log_format as in nginx.conf, or `json`; combined if not given.",
        ),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="VAR,VAR", help="Further variables of the logs to keep.")
    ] = None,
    snmp: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ARM=]FILES",
            help="Series of /proc/net/snmp, netstat, /proc/stat; or of netstat -s.",
        ),
    ] = None,
    hist: Annotated[
        list[str] | None,
        typer.Option(metavar="[ARM=]FILES", help="Histograms that bpftrace has printed."),
    ] = None,
    samples: Annotated[
        bool, typer.Option("--samples", help="Keep each sample of a connection, too.")
    ] = False,
    anonymize: Annotated[
        Path | None,
        typer.Option(
            metavar="KEYFILE",
            help="Addresses become tokens by this key, which is made if it isn't there.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and nothing else.")
    ] = False,
) -> None:
    """Read what hosts wrote into tables. Exit code 1 when a file could not be read to its end.

    For example: fullpipe fleet ingest --arm 'cubic=a/{host}/*.ss' --arm 'bbr=b/{host}/*.ss' -o
    fleet
    """
    from fullpipe.fleet.command import ingest

    with user_errors():
        whole = ingest(
            out,
            arms=arm or [],
            nginx=nginx or [],
            snmp=snmp or [],
            hist=hist or [],
            log_format=log_format,
            keep=[
                name.strip().removeprefix("$") for name in (keep or "").split(",") if name.strip()
            ],
            samples=samples,
            anonymize=anonymize,
            as_json=as_json,
        )
    if not whole:
        raise typer.Exit(1)
