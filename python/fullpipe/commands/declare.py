"""Commands from functions: the annotation of a parameter declares its option or argument.

    def command(
        file: Annotated[Path, Argument(metavar="FILE", help="Scenario to run.")],
        seed: Annotated[int | None, Option(metavar="N", min=0, help="Seed of everything random.")] = None,
    ) -> None:

The parameter's type gives the value's type, its default the option's. The docstring is the help.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import click

WORDS = "fullpipe.words"
"""The key of the command's words in click's context."""
WIDTH = 80
"""The most columns of a help text."""


class Declared:
    """The help of an option or argument, and limits on its value.

    Attributes:
        names: The names of an option, like `--out` and `-o`; `--` and the parameter's name if empty.
        help: The text of `--help`.
        metavar: The value's name in `--help`.
        least: The smallest number.
        most: The largest number.
        parser: The function that makes the value of the text; a ValueError or `click.BadParameter` refuses it.
        complete: The kinds of names that a shell completes, from `KINDS` of `commands/complete.py`.
    """

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002  (click's word)
        metavar: str | None = None,
        min: float | None = None,  # noqa: A002  (click's word)
        max: float | None = None,  # noqa: A002
        parser: Callable[[str], object] | None = None,
        complete: Sequence[str] = (),
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.least = min
        self.most = max
        self.parser = parser
        self.complete = complete


class Option(Declared):
    """A parameter with a name, like `--out DIR`; a bool is a flag."""


class Argument(Declared):
    """A parameter without a name."""


class Words(click.Choice[str]):
    """The values of a StrEnum."""

    def __init__(self, of: type[Enum]) -> None:
        super().__init__([each.value for each in of])
        self._of = of

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:  # noqa: ANN401
        """Returns the member; a wrong word names the nearest one."""
        if isinstance(value, self._of):
            return value
        if value not in self.choices:
            from difflib import get_close_matches

            near = get_close_matches(str(value), self.choices, n=1)
            fix = f"did you mean {near[0]}?" if near else f"write one of {', '.join(self.choices)}"
            raise wrong(value, "unknown", fix)
        return self._of(value)


class Number(click.ParamType[float]):
    """A number between limits."""

    def __init__(
        self, kind: type[int] | type[float], least: float | None, most: float | None
    ) -> None:
        self.name = "number"
        self._kind = kind
        self._least = least
        self._most = most

    def convert(
        self,
        value: Any,  # noqa: ANN401  (click's)
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Returns the number; refuses other text, and numbers beyond a limit."""
        try:
            number = self._kind(value)
        except ValueError:
            kind = "whole number" if self._kind is int else "number"
            raise wrong(value, f"not a {kind}", f"write a {kind}, like {self._like()}") from None
        if self._least is not None and number < self._least:
            raise wrong(value, "too small", f"write {self._least} or more")
        if self._most is not None and number > self._most:
            raise wrong(value, "too large", f"write {self._most} or less")
        if number != number:
            raise wrong(value, "not a number", f"write a number, like {self._like()}")
        return number

    def _like(self) -> str:
        return f"{max(self._least or 0, 1)}"


def wrong(value: object, problem: str, fix: str, option: str | None = None) -> click.BadParameter:
    """Returns the error about a value of an option; `option` is only needed outside of its parser."""
    text = f"{value if str(value).strip() else repr(value)}: {problem}\n  fix: {fix}"
    return click.BadParameter(text, param_hint=option)


class _Argument(click.Argument):
    """An argument with help, which `--help` shows as its metavar."""

    def __init__(self, *given: Any, text: str, **more: Any) -> None:  # noqa: ANN401  (click's arguments)
        super().__init__(*given, **more)
        self.help = text

    def make_metavar(self, ctx: click.Context) -> str:
        """Returns the name for the usage line: in brackets if it is not required."""
        name = self._shown()
        return name if self.required else f"[{name}]"

    def _shown(self) -> str:
        name = self.metavar or self.name.upper()
        return f"{name}..." if self.nargs == -1 and not name.endswith("...") else name

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Returns the row of `--help`."""
        return self._shown(), self.help or ""


class Command(click.Command):
    """A command whose help describes the arguments before the options.

    Attributes:
        holes: The reasons by the title of a shared option that it lacks, see `commands/shared.py`; None for a command
            that runs no experiments.
    """

    holes: Mapping[str, str] | None = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the words; every error has the command and its words."""
        ctx.meta[WORDS] = list(args)
        try:
            if not ctx.resilient_parsing:  # of a completion
                self._refuse_twice(ctx, args)
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def _refuse_twice(self, ctx: click.Context, args: list[str]) -> None:
        """Refuses two algorithms where one is expected: click would take the last, and be silent.

        Of other options the last one counts, as with other programs: a script adds its own behind a default.
        """
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for param in order:
            single = isinstance(param, click.Option) and param.name == "cc" and not param.multiple
            if single and order.count(param) > 1:
                raise click.BadParameter(
                    "it is given more than once, and has one value\n  fix: write it once, with the value that counts",
                    param_hint=f"{max(param.opts, key=len)}:",
                )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the arguments and the options."""
        for title, kind in (("Arguments", click.Argument), ("Options", click.Option)):
            params = [param for param in self.get_params(ctx) if isinstance(param, kind)]
            rows = [row for param in params if (row := param.get_help_record(ctx))]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes nothing: `format_options` has written the arguments."""


def command_of(function: Callable[..., None], name: str, summary: str = "") -> Command:
    """Returns the command that calls a function.

    Args:
        function: The function; all its parameters are annotated with an :class:`Option` or :class:`Argument`.
        name: The command's name.
        summary: The text of the group's list.
    """
    params = [_param(each) for each in inspect.signature(function).parameters.values()]
    lists = {
        param.name: declared.default
        for param, declared in zip(
            params, inspect.signature(function).parameters.values(), strict=True
        )
        if param.multiple or param.nargs == -1
    }

    def call(**given: Any) -> None:  # noqa: ANN401  (the values of the options)
        for key, default in lists.items():
            given[key] = list(given[key]) or (None if default is None else [])
        function(**given)

    command = Command(
        name,
        params=params,
        callback=call,
        help=unwrapped(inspect.getdoc(function) or ""),
        short_help=summary or None,
    )
    command.holes = getattr(function, "holes", None)
    return command


def _param(parameter: inspect.Parameter) -> click.Parameter:
    annotation, declared = get_args(parameter.annotation)
    if get_origin(annotation) is UnionType:
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
    several = get_origin(annotation) is list
    kind = get_args(annotation)[0] if several else annotation
    required = parameter.default is inspect.Parameter.empty
    given: dict[str, Any] = {"type": _type(kind, declared), "metavar": declared.metavar}
    if declared.complete:
        given["shell_complete"] = _completing(declared.complete)
    if not required and parameter.default is not None:
        default = parameter.default
        given["default"] = default.value if isinstance(default, Enum) else default
    if isinstance(declared, Argument):
        return _Argument(
            [parameter.name],
            required=required,
            nargs=-1 if several else 1,
            text=declared.help,
            **given,
        )
    names = declared.names or (f"--{parameter.name.replace('_', '-')}",)
    if kind is bool:
        given = {"is_flag": True, "default": False}
    return click.Option(
        [parameter.name, *names],
        required=required,
        multiple=several,
        help=declared.help,
        show_default=True,
        **given,
    )


def _completing(kinds: Sequence[str]) -> Callable[..., Any]:
    def complete(ctx: click.Context, param: click.Parameter, word: str) -> Any:  # noqa: ANN401  (click's)
        from fullpipe.commands.complete import completer

        return completer(kinds)(ctx, param, word)

    return complete


def _type(kind: type, declared: Declared) -> click.ParamType[Any]:
    if declared.parser is not None:
        return click.types.FuncParamType(declared.parser)
    if issubclass(kind, Enum):
        return Words(kind)
    if kind is int or kind is float:
        return Number(kind, declared.least, declared.most)
    return click.Path(path_type=Path) if kind is Path else click.types.convert_type(kind)


def unwrapped(text: str) -> str:
    """Marks sections like `Examples:`, whose lines are indented, so that click does not wrap them."""
    return re.sub(r"\n\n(?=\w+:\n )", "\n\n\b\n", text)
