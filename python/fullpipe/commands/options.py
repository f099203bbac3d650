"""Options that several commands share: their help texts and their parsers."""

import functools
import inspect
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import click

from fullpipe import _core
from fullpipe.algorithms import resolve
from fullpipe.commands.declare import WORDS, Argument, Option, wrong
from fullpipe.errors import UNEVALUATED, called, fail
from fullpipe.scenario import origin
from fullpipe.scenario.path_options import PATH_OPTIONS, STACK, PathOption
from fullpipe.study.engine import LOCAL, RAY

ON = (
    "Runners to use, separated by commas: sim is the simulator, `fullpipe doctor` lists the others."
)
ON_ONE = (
    "Runner to use: sim is the simulator, `fullpipe doctor` lists the others. Cases that the runner "
    "does not support are skipped."
)
SETTING = "Override a scenario key, like path.rate=20mbit; repeatable."
MORE_SETTINGS = "Set any other scenario key, like path.jitter=5ms; repeatable."
PLUGIN = Option(
    "--plugin",
    metavar="[NAME=]LIBRARY",
    help="Load an algorithm from a shared library or the directory of a crate, for use by its name or by NAME, or a "
    "class in a Python file, dir/mine.py:Mine, for use as mine:Mine; repeatable. Its code runs with your rights.",
)
PROGRAMS = Option(
    "--programs",
    help="Let the scenario run the command lines of its [[program]] tables, with your rights. Recipes from "
    "`fullpipe list programs` need no permission.",
)
UNTIL_STEADY = Option(
    metavar="steady",
    help="With steady, prolong the run until no number drifts: each is twice as long as the last and measured in its "
    "second half, at most four times. Exit code 1 if numbers still drift.",
)
RECIPE = Option(
    "--recipe",
    metavar="FILE",
    help="Load a recipe of your own, for use as program:NAME, NAME being the file's name without .toml; repeatable. "
    "Its programs run with your rights.",
)
PARAMETER = Option(
    "--set",
    metavar="NAME=VALUE",
    help="Set a parameter of the algorithm, from `fullpipe explain`; repeatable.",
)
ENGINE = Option(
    "--engine",
    help="Where runs execute: local threads, or a Ray cluster (at RAY_ADDRESS, or a new one on this machine).",
)
THREADS = Option(
    "--threads", min=1, metavar="N", help="Number of runs at a time (default: one per core)."
)
ALGORITHM = "Algorithm, from `fullpipe list algorithms`, or a Python class, like my.module:Mine, or a library"
CC = Option(
    metavar="NAME",
    complete=("algorithms",),
    help="Algorithm of the first flow, from `fullpipe list algorithms`, or a Python class, like my.module:Mine, or a "
    "trained policy, policy:FILE.",
)
FIRST_SEED = "Seed of the first run; each further run uses the next number"
SHOW = "Metrics to show, by name, instead of the usual ones; `fullpipe list metrics` lists them."
AS_JSON = "Print one JSON object, and nothing else."
ALLOW_UNEVALUATED = (
    "End with exit code 0, not 3, if something was not evaluated and nothing else is wrong."
)


def end_judged(*, missed: bool, unevaluated: bool) -> None:
    """Ends the command with exit code 1 if something is not met, else with 3 if something was not evaluated."""
    if missed:
        raise SystemExit(1)
    if unevaluated:
        raise SystemExit(UNEVALUATED)


def path_options(
    *,
    instead: str = "",
    lists: bool = False,
    where: str = "of the bottleneck",
    without: Collection[str] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of the path; its argument `path` gets the settings, as (key, value).

    Args:
        instead: Origin of values that no option sets, besides the usual ones; like "the scenario's".
        where: The place of the link's rate, buffer and queue.
        lists: Whether values may be lists, as of a sweep.
        without: The names of options that the command does not have.
    """
    options = [each for each in PATH_OPTIONS if each.name not in without]

    def described(option: PathOption) -> inspect.Parameter:
        usual = f"{instead}, or {option.usual}" if instead else option.usual
        made = Option(
            f"--{option.name}",
            metavar=f"{option.metavar},…" if lists else option.metavar,
            help=f"{_placed(option, where)} (default: {usual}).",
            complete=option.complete,
        )
        return inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[str | None, made],
        )

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        parameters = []
        for each in signature.parameters.values():
            if each.name == "path":
                parameters += [described(option) for option in options]
            else:
                parameters.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        @functools.wraps(command)
        def with_path(**given: object) -> None:
            settings = []
            for option in options:
                if (value := given.pop(option.name)) is not None:
                    text = str(value)
                    if "," in text and not lists:
                        fail(
                            f"--{option.name} {text}: several values are a sweep\n"
                            f"  fix: give one value, or sweep over them: {_as_sweep()}"
                        )
                    settings.append((option.key, text))
                    called[f"--set {option.key}={text}"] = f"--{option.name} {text}"
                elif usual := origin.usual(option.key):
                    called[usual[0]] = f"--{option.name} {usual[1]} (usual)"
            command(**given, path=settings)

        with_path.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_path.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_path

    return decorate


def _as_sweep() -> str:
    """Returns the present command as a sweep."""
    words: list[str] = click.get_current_context().meta.get(WORDS, [])
    return shlex.join(["fullpipe", "sweep", *words])


def _placed(option: PathOption, where: str) -> str:
    name, comma, rest = option.help.partition(",")
    of_link = option.name in ("rate", "buffer", "queue")
    return f"{name} {where}{comma}{rest}" if of_link else option.help


class Place(StrEnum):
    """The values of --engine."""

    LOCAL = LOCAL
    RAY = RAY


def set_option(purpose: str) -> Option:
    """Declares --set with its help, which is ``SETTING`` or ``MORE_SETTINGS``."""
    return Option("--set", metavar="KEY=VALUE", complete=("settings",), help=purpose)


def scenario_argument(purpose: str) -> Argument:
    """Declares the names that :func:`scenario_of` takes, with their help."""
    return Argument(
        metavar="SCENARIO|ALGORITHM...",
        complete=("algorithms", "scenarios", "files"),
        help=purpose,
    )


def seed_option(text: str) -> Option:
    """Returns the option --seed with this help."""
    return Option(min=0, max=2**63 - 1, metavar="N", help=text)


def stack_option(instead: str) -> Option:
    """Returns the option --stack of a command whose scenarios come from a file, like "the suite's"."""
    return Option(
        metavar=STACK.metavar,
        parser=_stack,
        help=f"{STACK.help} (default: {instead}, or {STACK.usual}).",
    )


def _stack(name: str) -> str:
    try:
        _core.Scenario.parse(origin.of_algorithms(["newreno"]), "", [(STACK.key, name)])
    except _core.ScenarioError as error:
        raise wrong(name, error.problem, error.fix) from None
    called[f"--set {STACK.key}={name}"] = f"--{STACK.name} {name}"
    return name


def stack_setting(name: str | None) -> list[tuple[str, str]]:
    """Returns the value of --stack as --set has it."""
    return [] if name is None else [(STACK.key, name)]


def repeat_option(
    text: str, *, usual: str = "--repeat", least: int = 1, most: int | None = None
) -> Option:
    """Declares the number of runs, each with another seed, by both of its names, the usual one of the command first."""
    names = sorted(("--repeat", "--seeds"), key=lambda name: name != usual)
    return Option(*names, min=least, max=most, metavar="N", help=text)


def new_directory(text: str) -> Path:
    """Parses the name of a directory."""
    if not text.strip():
        raise wrong(text, "no name", "name a directory that is new or empty")
    if "://" in text:
        raise wrong(text, "a URL", "name a directory of this machine")
    return Path(text)


def named_file(text: str) -> Path:
    """Parses the name of a file."""
    if not text.strip():
        raise wrong(text, "no name", "name a file")
    return Path(text)


def new_place(text: str) -> str:
    """Parses the name of a directory, or the URL of an object store."""
    if "://" not in text:
        return str(new_directory(text))
    from fullpipe.results.objects import SCHEMES, is_url

    if not is_url(text):
        raise wrong(
            text, "not a store", f"write a directory, or a URL with one of {', '.join(SCHEMES)}"
        )
    return text


def local(place: str) -> Path:
    """Returns the directory of results; for a URL a copy of this machine.

    Raises:
        ObjectsError: When the store can't be read, or has nothing there.
    """
    if "://" not in place:
        return Path(place)
    from fullpipe.results import objects

    return objects.local(place)


_OF_FLOW = re.compile(r"flow\.\d+\.params\.(\w+)")


def setting(text: str) -> tuple[str, str]:
    """Parses KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise wrong(text, "not KEY=VALUE", "write it like path.rate=20mbit", "--set")
    key, value = key.strip(), value.strip()
    if key.endswith(".cc"):
        value = ",".join(resolve.name_of(each) for each in value.split(","))
    return key, value


def parameter(text: str) -> tuple[str, str]:
    """Parses NAME=VALUE of a parameter of the algorithm that the command is about."""
    name, value = setting(text)
    if found := _OF_FLOW.fullmatch(name):
        raise wrong(text, "not the name of a parameter", f"write {found[1]}={value}", "--set")
    return name, value


def load_plugins(given: Sequence[str] | None) -> None:
    """Loads the libraries and the classes in files that `--plugin` names.

    Raises:
        ScenarioError: When one can't be loaded.
        UserError: When a crate can't be built.
    """
    for each in given or ():
        resolve.of_option(each)


def load_recipes(given: Sequence[Path] | None) -> None:
    """Loads the recipes that `--recipe` names.

    Raises:
        UserError: When one can't be read, or has an error.
    """
    from fullpipe.algorithms import programs

    for each in given or ():
        programs.load(each)


def allow_programs(yes: bool) -> None:
    """Lets scenarios run their own command lines, if `--programs` says so."""
    if yes:
        from fullpipe.algorithms import programs

        programs.allow()


def known_metrics(show: str | None) -> list[str]:
    """Parses the metrics of --show, which must be known; whether the runs have them shows later.

    Raises:
        MetricError: When a metric is unknown.
    """
    from fullpipe.stats.quantity import refuse_unknown

    names = [name.strip() for name in (show or "").split(",") if name.strip()]
    if show is not None and not names:
        raise wrong(show, "no metric", "name one, like goodput", "--show")
    refuse_unknown(names)
    return names


def seconds(text: str, option: str) -> float:
    """Parses a time like 10s."""
    from fullpipe import _core

    found = _core.quantity(text)
    if found is None or found[1] != "s" or found[0] <= 0:
        raise wrong(text, "not a time", "write one, like 10s or 500ms", option)
    return found[0]


def span(text: str, option: str) -> tuple[float, float]:
    """Parses a part of a run's time like 3s..5s."""
    from fullpipe import _core

    ends = [_core.quantity(part) for part in text.split("..")]
    match [each[0] for each in ends if each is not None and each[1] == "s"]:
        case [begin_s, end_s] if len(ends) == 2 and 0 <= begin_s < end_s:
            return begin_s, end_s
    raise wrong(text, "not a part of a run", "write its begin and its end, like 3s..5s", option)


def percentage(text: str, option: str) -> float:
    """Parses a percentage like 5% as a share of 1."""
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 10:
        raise wrong(text, "not a percentage", "write one, like 5%", option)
    return share


def _split(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns names in scenarios, of names which may have commas between them, and those that are not of algorithms."""
    parts = [part for name in names for part in name.split(",") if part]
    found = {part: resolve.resolve(part) for part in dict.fromkeys(parts)}
    split = [of.name if (of := found[part]) else part for part in parts]
    return split, [part for part, of in found.items() if of is None]


def algorithms_of(names: Sequence[str]) -> list[str]:
    """Returns the algorithms that names give; fails if one is unknown."""
    split, others = _split(names)
    if others:
        _refuse_unknown(others[0])
    return split


def _refuse_unknown(name: str) -> NoReturn:
    fix = resolve.similar(name)
    if name.endswith(".toml"):
        fix = "name it alone; --cc sets the algorithm of its first flow"
    fail(f"{name}: not an algorithm\n  fix: {fix}")


def queue_of(name: str) -> str:
    """Returns the queue of a name; fails if it is unknown."""
    known = [str(each["name"]) for each in _core.queues()]
    if name not in known:
        near = _core.nearest(name, known)
        fix = f"did you mean {near}?" if near else "`fullpipe list queues` has the names"
        fail(f"{name}: not a queue\n  fix: {fix}")
    return name


def scenario_of(names: Sequence[str]) -> tuple[str, str]:
    """Returns the text of the scenario that names give, and the name that errors use for it."""
    if not names:
        fail(
            "name a scenario or algorithms\n  fix: fullpipe run cubic bbr3 --rate 20mbit; "
            "`fullpipe list algorithms` and `fullpipe list scenarios` have the names"
        )
    split, others = _split(names)
    if not others:
        return origin.of_algorithms(split), origin.ALGORITHMS
    if len(names) > 1:
        _refuse_unknown(others[0])
    try:
        return origin.read(names[0])
    except (FileNotFoundError, IsADirectoryError):
        fail(no_such_file(Path(names[0])))


def no_such_file(path: Path) -> str:
    """Returns the error for a scenario that does not exist, with the most similar name that does."""
    if path.is_dir():
        return f"{path}: a directory\n  fix: name a scenario in it, as {path}/NAME.toml"
    there = [str(file) for file in sorted(path.parent.glob("*.toml"))]
    packaged = [file.stem for file in origin.packaged()]
    algorithms = [str(each["name"]) for each in _core.algorithms()]
    name = path.name.removesuffix(".toml")
    near = (
        resolve.versions(name)
        or get_close_matches(str(path), there, n=1)
        or [*filter(None, [_core.nearest(name, [*packaged, *algorithms])])]
    )
    fix = (
        f"did you mean {' or '.join(near)}?"
        if near
        else "name a TOML file, a scenario from `fullpipe list scenarios`, or algorithms from "
        "`fullpipe list algorithms`"
        + ("" if path.suffix else "; one of Linux alone is a cc in a file, for --on uml")
    )
    return f"{path}: no such file\n  fix: {fix}"
