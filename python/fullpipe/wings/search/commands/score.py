"""`fullpipe score`."""

from pathlib import Path
from typing import Annotated

from fullpipe._core import ScenarioError
from fullpipe.base.toml import value_of
from fullpipe.commands.declare import Argument, Option, wrong
from fullpipe.commands.options import ENGINE, THREADS, Place, parameter, seconds, stack_option
from fullpipe.commands.shared import PATH, STORE, shares
from fullpipe.errors import fail, user_errors
from fullpipe.study.engine import Engine


@shares(
    (
        "the suite has the scenarios and their seeds; `--set` sets a parameter of the candidates",
        [PATH, "--duration", "--set", "--repeat", "--seed"],
    ),
    (
        "its arguments are the candidates: names, libraries, classes or policies",
        ["--cc", "--plugin"],
    ),
    (
        "a candidate runs in simulated time, in a process of its own without others",
        ["--recipe", "--programs", "--on"],
    ),
    ("it prints one table; finished cells are in `--cache`", ["--out", STORE]),
)
def command(
    candidate: Annotated[
        list[str] | None,
        Argument(
            metavar="[CANDIDATE]...",
            complete=("algorithms", "files"),
            help="Algorithm, from `fullpipe list algorithms`, a policy:FILE, a class in a Python file, like "
            "mine.py:Mine, or a library.",
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help='File with a candidate per line: {"candidate": "bbr3", "params": {"beta": 0.8}}.',
        ),
    ] = None,
    suite: Annotated[
        str,
        Option(
            metavar="NAME|FILE",
            help="Scenarios, metrics and weights: general has 200 cells; or a file of your own.",
        ),
    ] = "general",
    stack: Annotated[str | None, stack_option("the suite's")] = None,
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of each CANDIDATE, from `fullpipe explain`; repeatable.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help="End after this time, like 60s; finished cells count (default: all).",
        ),
    ] = None,
    alpha: Annotated[
        float,
        Option(
            metavar="SHARE",
            help="Probability with which the best of several candidates may stop early by mistake.",
        ),
    ] = 0.05,
    no_holdout: Annotated[
        bool, Option("--no-holdout", help="Leave out the hold-out, as inside of a search.")
    ] = False,
    reveal: Annotated[
        bool,
        Option(
            "--reveal",
            help="Print score and scenarios of the hold-out, and draw others from now on.",
        ),
    ] = False,
    uncontained: Annotated[
        bool,
        Option(
            "--uncontained",
            help="Run the code of candidates with your rights, without containment.",
        ),
    ] = False,
    cache: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Directory for the values of finished cells (default: the user's cache).",
        ),
    ] = None,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print the result as one JSON object, and nothing else.")
    ] = False,
) -> None:
    """Score candidates over drawn scenarios, for a search.

    The score is a number without a unit: 1 is twice as good as the suite's baseline, in the mean
    over metrics and scenarios. Several candidates race on common scenarios and seeds: those that
    can't win stop early. The winner also runs on a hold-out, scenarios that are drawn with a secret;
    an alarm tells that its score falls behind there. The code of a candidate runs in a process
    without files, network or other processes. Finished cells are kept, so the same command resumes.
    Exit code 1 with an alarm, or without a candidate that has a score.

    Examples:
        fullpipe score bbr3
        fullpipe score bbr3 --set beta=0.8 --budget 60s
        fullpipe score mine.py:Mine cubic --json
        fullpipe score --candidates sets.jsonl --suite mine.toml
    """
    from fullpipe.study.spec import for_one
    from fullpipe.wings.search.score.candidate import candidate as candidate_of
    from fullpipe.wings.search.score.candidate import listed
    from fullpipe.wings.search.score.command import Asked, score

    texts = dict(map(parameter, set_ or []))
    params = {key: value_of(text) for key, text in texts.items()}
    if not 0 < alpha < 1:
        raise wrong(str(alpha), "not a probability", "write one, like 0.05", "--alpha")
    limit = seconds(budget, "--budget") if budget else None
    if set_ and candidates:
        fail(
            f"--set {set_[0]}: it reaches no candidate of {candidates}\n"
            "  fix: write the parameter into each line of the file that it is for"
        )
    with user_errors():
        those = [candidate_of(each, params) for each in candidate or []]
        if candidates:
            those += listed(candidates)
        if not those:
            fail(
                "no candidate\n  fix: name one, like bbr3 or mine.py:Mine, or a file: --candidates FILE"
            )
        asked = Asked(
            suite=suite,
            stack=stack,
            budget_s=limit,
            alpha=alpha,
            holdout=not no_holdout,
            reveal=reveal,
            contained=not uncontained,
            engine=Engine(engine.value, threads),
            folder=cache,
            as_json=as_json,
        )
        try:
            well = score(those, asked)
        except ScenarioError as error:
            name = error.key.removeprefix("flow.0.params.")
            words = zip(candidate or [], those, strict=False)
            names = [word for word, each in words if not each.is_code]
            raise for_one(error, names, name, texts.get(name, "")) from None
    if not well:
        raise SystemExit(1)
