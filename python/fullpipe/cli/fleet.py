"""`fullpipe fleet`: each of its commands."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.cli.options import new_directory, seconds
from fullpipe.cli.population import path_command, simulate_command
from fullpipe.errors import user_errors
from fullpipe.report import Form

fleet = typer.Typer(
    help="What the hosts of a fleet measured: from ss, nginx and /proc to a decision.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@fleet.command("ingest")
def ingest_command(
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


@fleet.command("sample")
def sample_command(
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="DIR", parser=new_directory, help="Where the files go."
        ),
    ],
    interval: Annotated[
        str, typer.Option(metavar="TIME", help="From one sample to the next.")
    ] = "10s",
    sport: Annotated[
        str | None,
        typer.Option(metavar="PORT", help="Local ports, like 443 or 8000-8999; all if not given."),
    ] = None,
    dport: Annotated[str | None, typer.Option(metavar="PORT", help="Remote ports.")] = None,
    src: Annotated[
        str | None, typer.Option(metavar="NET", help="Local addresses, like 10.0.0.0/8.")
    ] = None,
    dst: Annotated[str | None, typer.Option(metavar="NET", help="Remote addresses.")] = None,
    state: Annotated[
        str | None,
        typer.Option(metavar="STATE,STATE", help="As ss names them; those that may carry data."),
    ] = None,
    rotate: Annotated[
        str, typer.Option(metavar="TIME", help="Begin new files so often.")
    ] = "3600s",
    keep: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="No more files than so many.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="End after so many samples.")
    ] = None,
) -> None:
    """Sample this host's connections as ss would, by netlink, and its counters, into files for `ingest`.

    For example: fullpipe fleet sample --sport 443 --interval 10s --keep 48 -o /var/tmp/samples
    """
    from fullpipe.fleet.sample import Filter, sample

    with user_errors():
        states = [name.strip() for name in (state or "").split(",") if name.strip()]
        sample(
            out,
            Filter(states, sport, dport, src, dst),
            interval_s=seconds(interval, "--interval"),
            rotate_s=seconds(rotate, "--rotate"),
            keep=keep,
            count=count,
        )


@fleet.command("compare")
def compare_command(
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
    from fullpipe.fleet.compare.wish import read

    with user_errors():
        wish = read(
            directory,
            min_bytes=min_bytes,
            by=by,
            against=against,
            unit=cluster,
            effect=effect,
            ratio=ratio,
        )
        compare(wish, out=out, form=form, as_json=as_json)


fleet.command("simulate")(simulate_command)
fleet.command("path")(path_command)
