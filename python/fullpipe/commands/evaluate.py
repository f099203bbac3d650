"""`fullpipe evaluate`."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from fullpipe.algorithms import resolve
from fullpipe.base.toml import value_of
from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    ALGORITHM,
    ALLOW_UNEVALUATED,
    ENGINE,
    ON_ONE,
    PLUGIN,
    PROGRAMS,
    RECIPE,
    THREADS,
    Place,
    algorithms_of,
    allow_programs,
    end_judged,
    load_plugins,
    load_recipes,
    new_place,
    parameter,
    queue_of,
    repeat_option,
    seed_option,
    stack_option,
)
from fullpipe.commands.shared import PATH, shares
from fullpipe.errors import fail, user_errors
from fullpipe.runners import SIMULATOR, runner
from fullpipe.study.engine import Engine

BBR_DRAFT = "bbr-draft"


@shares(
    (
        "the suite has the scenarios; `--set` sets a parameter of the algorithm or queue",
        [PATH, "--duration", "--set"],
    ),
    ("its argument is the algorithm or queue", ["--cc"]),
)
def command(
    algorithm: Annotated[
        str,
        Argument(
            metavar="ALGORITHM",
            complete=("algorithms",),
            help=f"{ALGORITHM}; with --suite aqm a queue, from `fullpipe list queues`.",
        ),
    ],
    suite: Annotated[
        str,
        Option(
            metavar="NAME|FILE",
            help="Criteria: rfc9743 has those of RFC 9743, aqm those of RFC 7928 for queues, prudentia pairs of flows "
            "in deep buffers, stack those of a real stack next to the kernel's CUBIC, bbr-draft the 22 test cases of "
            "the BBR draft; or a file of your own.",
        ),
    ] = "rfc9743",
    criterion: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Evaluate this criterion only; repeatable (default: all)."),
    ] = None,
    axis: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=A,B",
            help="Values of an axis instead of the suite's, like rate=10mbit,300mbit, in every criterion that has "
            "it; repeatable.",
        ),
    ] = None,
    stack: Annotated[str | None, stack_option("the suite's")] = None,
    quick: Annotated[
        bool,
        Option("--quick", help="Evaluate the ends of each axis only."),
    ] = False,
    seeds: Annotated[
        int | None,
        repeat_option(
            "Number of seeds of each cell (default: 30; 5 with --quick or --on).",
            usual="--seeds",
            least=3,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the algorithm or queue, from `fullpipe explain`; repeatable.",
        ),
    ] = None,
    seed: Annotated[
        int,
        seed_option("First seed; each further run uses the next number."),
    ] = 1,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR|URL",
            parser=new_place,
            help="Directory or s3://BUCKET/PREFIX for runs and dossier, in which the same command resumes (default: "
            "results/SUITE-ALGORITHM-…); for bbr-draft a new one (default: none).",
        ),
    ] = None,
    on: Annotated[str, Option(metavar="RUNNER", help=ON_ONE, complete=("runners",))] = "sim",
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    recipe: Annotated[list[Path] | None, RECIPE] = None,
    programs: Annotated[bool, PROGRAMS] = False,
    allow_unevaluated: Annotated[
        bool, Option("--allow-unevaluated", help=ALLOW_UNEVALUATED)
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print the verdicts as a JSON list, and nothing else.")
    ] = False,
) -> None:
    """Judge an algorithm or a queue by a suite of criteria.

    The suite rfc9743 has the criteria of RFC 9743 for new congestion controls, as simulated
    scenarios, next to Reno, CUBIC and BBRv3. Each is met, not met, to be argued or not evaluated;
    the dossier is a page and Markdown. The suite aqm evaluates a queue by the scenarios of RFC
    7928, and prudentia has the two paths of the fairness watchdog Prudentia. The suite stack asks
    whether a real stack, with --on uml or kernel, is right alone and fair to the kernel's CUBIC.
    The suite bbr-draft has the test cases of draft-ietf-ccwg-bbr-06, Appendix A. Conditions on
    states or fields that the algorithm does not have are skipped; an algorithm that has none of
    them is refused. Exit code 1 when a criterion is not met, or a condition is missed, else 3
    when a criterion was not evaluated whose scenarios the suite has, or a condition was skipped.

    Examples:
        fullpipe evaluate bbr3
        fullpipe evaluate mine.py:Mine --quick
        fullpipe evaluate cubic --criterion fairness --seeds 10
        fullpipe evaluate fq_codel --suite aqm --set target=10ms
        fullpipe evaluate bbr3 --suite bbr-draft --set profile=linux
        fullpipe evaluate program:quinn:bbr --suite stack --on uml --seeds 3
    """
    params = dict(map(parameter, set_ or []))
    with user_errors():
        load_plugins(plugin)
        load_recipes(recipe)
        allow_programs(programs)
        if suite == BBR_DRAFT:
            for option, given in (
                ("--criterion", criterion),
                ("--quick", quick),
                ("--seeds", seeds),
                ("--engine", engine is not Place.LOCAL),
                ("--threads", threads),
                ("--axis", axis),
                ("--on", on != SIMULATOR),
            ):
                if given:
                    fail(f"{option}: not for --suite {BBR_DRAFT}\n  fix: leave it out")
            if stack:
                fail(
                    f"--stack {stack}: not for --suite {BBR_DRAFT}, whose cases have the stack of the draft, rfc\n"
                    "  fix: leave it out"
                )
            name = resolve.name_of(algorithm)
            params = {**resolve.params_of(name), **params}
            verdicts = _draft(resolve.bare(name), params, seed, out, as_json=as_json)
            missed, unevaluated = "missed" in verdicts, "skipped" in verdicts
        else:
            from fullpipe.study.evaluation.command import Asked, evaluate
            from fullpipe.study.evaluation.suite import axes_of
            from fullpipe.study.evaluation.suite import suite as suite_of
            from fullpipe.study.question import Contender

            criteria = suite_of(suite, stack).with_axes(axes_of(axis or ()), criterion or ())
            [name] = (
                [queue_of(algorithm)] if criteria.subject == "queue" else algorithms_of([algorithm])
            )
            tested = Contender(name, {key: value_of(text) for key, text in params.items()})
            asked = Asked(
                criterion or (),
                quick,
                seeds,
                seed,
                out,
                Engine(engine.value, threads),
                as_json,
                runner(on),
            )
            outcomes = evaluate(tested, criteria, asked)
            missed = any(each.missed for each in outcomes)
            unevaluated = any(each.unevaluated for each in outcomes)
    end_judged(missed=missed, unevaluated=unevaluated and not allow_unevaluated)


def _draft(
    algorithm: str, params: dict[str, str], seed: int, out: str | None, *, as_json: bool
) -> set[str]:
    from fullpipe.results.objects import writable
    from fullpipe.study.evaluation.conformance import RefusedError, conformance

    try:
        with writable(out) if out else nullcontext((None, None)) as (directory, _):
            cases = conformance(algorithm, params=params, seed=seed, out=directory, as_json=as_json)
        return {
            each["verdict"]
            for case in cases
            for scene in case["scenes"]
            for each in scene["conditions"]
        }
    except RefusedError as error:
        fail(error)
