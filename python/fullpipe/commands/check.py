"""`fullpipe check`."""

from pathlib import Path
from typing import Annotated

from fullpipe.algorithms import resolve
from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    ENGINE,
    FIRST_SEED,
    ON,
    PLUGIN,
    PROGRAMS,
    RECIPE,
    SETTING,
    THREADS,
    Place,
    allow_programs,
    load_plugins,
    load_recipes,
    new_place,
    path_options,
    percentage,
    repeat_option,
    seed_option,
    set_option,
    setting,
)
from fullpipe.commands.shared import shares
from fullpipe.errors import fail, user_errors
from fullpipe.runners import chosen
from fullpipe.study.engine import Engine


@shares()
@path_options(instead="the scenario's")
def command(
    paths: Annotated[
        list[Path],
        Argument(
            metavar="PATH",
            complete=("scenarios", "files"),
            help="Scenarios as TOML files, or directories of them.",
        ),
    ],
    *,
    path: list[tuple[str, str]],
    repeat: Annotated[
        int,
        repeat_option("Number of runs of each scenario, each with another seed."),
    ] = 5,
    seed: Annotated[
        int | None,
        seed_option(f"{FIRST_SEED} (default: the scenario's seed)."),
    ] = None,
    set_: Annotated[list[str] | None, set_option(SETTING)] = None,
    cc: Annotated[
        str | None,
        Option(
            metavar="NAME",
            complete=("algorithms",),
            help="Algorithm of each scenario's first flow, from `fullpipe list algorithms`, or a Python class, "
            "like mine.py:Mine.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        Option(metavar="FILE", help="File to also write the results to as JUnit XML, for CI."),
    ] = None,
    on: Annotated[str, Option(metavar="RUNNER,RUNNER", help=ON, complete=("runners",))] = "sim",
    out: Annotated[
        str | None,
        Option(
            metavar="DIR|URL",
            parser=new_place,
            help="New directory or s3://BUCKET/PREFIX for the results, for a later --against. An interrupted check "
            "resumes there. Scenarios without conditions run, too.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        Option(
            metavar="DIR|URL",
            help="Directory or URL of a check of another version, made with --out, to compare with. Scenarios without "
            "conditions run, too.",
        ),
    ] = None,
    markdown: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="File for the comparison of --against as Markdown, - for standard output.",
        ),
    ] = None,
    limit: Annotated[
        str | None,
        Option(
            metavar="PERCENT",
            help="Least change that --against counts, if it is significant (default: 5%).",
        ),
    ] = None,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    recipe: Annotated[list[Path] | None, RECIPE] = None,
    programs: Annotated[bool, PROGRAMS] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print the conditions as a JSON list, and nothing else.")
    ] = False,
) -> None:
    """Test scenarios against their `expect` conditions.

    A scenario's key `expect` lists conditions like "flow.*.goodput >= 5mbit". The command prints
    each with the measured values, and for a missed one the command that runs it again. Exit code 1
    when a condition is missed. With --against also when a number got significantly worse, compared
    seed by seed with the results of another version.

    Examples:
        fullpipe check scenarios/dualpi2.toml
        fullpipe check scenarios --repeat 10 --junit check.xml
        fullpipe check cubic-vs-bbr1 --cc mine.py:Mine
        fullpipe check scenarios --out results/main
        fullpipe check scenarios --against results/main --markdown change.md
    """
    from fullpipe.study.checks.against import LIMIT
    from fullpipe.study.checks.command import Report, check_all
    from fullpipe.study.checks.run import Given

    if against is None:
        for name, value in (("--markdown", markdown), ("--limit", limit)):
            if value is not None:
                fail(f"{name} belongs to a comparison\n  fix: add --against DIR")
    if as_json and markdown == "-":
        fail("--json and --markdown - both use standard output\n  fix: write one to a file")
    written = [*path, *(each.partition("=")[::2] for each in set_ or [])]
    written += [("flow.0.cc", cc)] if cc is not None else []
    report = Report(paths, written, junit, as_json)
    with user_errors(), report.told():
        load_plugins(plugin)
        load_recipes(recipe)
        allow_programs(programs)
        settings = dict(path) | dict(setting(each) for each in set_ or [])
        if cc is not None:
            settings["flow.0.cc"] = resolve.name_of(cc)
        loads = [
            *(word for each in recipe or [] for word in ("--recipe", str(each))),
            *(["--programs"] if programs else []),
        ]
        met = check_all(
            paths,
            repeat=repeat,
            seed=seed,
            junit=junit,
            runners=chosen(on),
            as_json=as_json,
            out=out,
            kept=against,
            markdown=markdown,
            limit=LIMIT if limit is None else percentage(limit, "--limit"),
            engine=Engine(engine.value, threads),
            given=Given([*settings.items()], written, loads),
            report=report,
        )
    raise SystemExit(0 if met else 1)
