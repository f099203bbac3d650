"""`fullpipe fleet ingest`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Option
from fullpipe.commands.options import AS_JSON, new_directory
from fullpipe.errors import user_errors


def command(
    out: Annotated[
        Path,
        Option(
            "-o",
            "--out",
            metavar="DIR",
            parser=new_directory,
            help="Fleet directory to make. An interrupted command resumes there.",
        ),
    ],
    arm: Annotated[
        list[str] | None,
        Option(
            "--arm",
            metavar="ARM=FILES",
            help="Outputs of ss on the hosts of an arm, like 'cubic=hosts/{host}/*.ss.gz'; {host} stands for the "
            "host's name; repeatable.",
        ),
    ] = None,
    nginx: Annotated[
        list[str] | None,
        Option(
            metavar="[ARM=]FILES",
            help="Access logs of nginx; repeatable. Without ARM= they belong to the arm of their host.",
        ),
    ] = None,
    log_format: Annotated[
        str | None,
        Option(
            metavar="FORMAT",
            help="Format of the access logs, as log_format in nginx.conf, or json (default: combined).",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        Option(
            metavar="VAR,VAR", help="Further variables of the access logs to keep, like request_id."
        ),
    ] = None,
    snmp: Annotated[
        list[str] | None,
        Option(
            metavar="[ARM=]FILES",
            help="Counters over time: /proc/net/snmp, /proc/net/netstat and /proc/stat, or outputs of netstat -s; "
            "repeatable.",
        ),
    ] = None,
    hist: Annotated[
        list[str] | None,
        Option(metavar="[ARM=]FILES", help="Histograms that bpftrace printed; repeatable."),
    ] = None,
    samples: Annotated[
        bool,
        Option(
            "--samples",
            help="Also keep each sample of each connection, in addition to one row per connection.",
        ),
    ] = False,
    anonymize: Annotated[
        Path | None,
        Option(
            metavar="KEYFILE",
            help="File with the key that replaces addresses by tokens; a missing file is created.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    r"""Read the outputs and logs of hosts into tables.

    The tables are Parquet files in a fleet directory, which `fullpipe fleet compare` reads. Exit
    code 1 when a file could not be read to its end, or no line of a host's files could be read.

    Examples:
        fullpipe fleet ingest --arm 'cubic=a/{host}/*.ss.gz' \
            --arm 'bbr=b/{host}/*.ss.gz' --out fleet
    """
    from fullpipe.wings.fleet.command import ingest

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
        raise SystemExit(1)
