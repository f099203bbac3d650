"""A user's algorithms in Python: the declarations of a class, and its import by name.

`docs/tutorial/python-algorithm.md` has the contract and a complete example.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fullpipe import _core, programs
from fullpipe.algorithms import policies
from fullpipe.algorithms.guard import admit
from fullpipe.algorithms.plugins import give, is_library, load_plugin
from fullpipe.errors import CONTROLLER, Stopped, refusal
from fullpipe.origin import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Controllers = Mapping[str, type]
    Given: TypeAlias = list[_core._GivenController]

_IMPORTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_MAY_NAME = re.compile(r"\w:[A-Za-z_]|policy:")
METHODS = (
    "on_ack",
    "on_acked",
    "on_end",
    "on_frame",
    "on_lost",
    "on_path",
    "on_recovery",
    "on_sent",
    "on_timer",
    "on_unused",
)
"""The methods of an algorithm that events call."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True)
class Param:
    """A parameter of an algorithm, as `params = { beta = 0.8 }` sets it in a scenario.

    Attributes:
        default: A number, True or False, or a word.
        least: The smallest number allowed.
        most: The largest number allowed.
        choices: The words allowed, the default first.
        unit: The unit of a number.
        purpose: Its effect, in a sentence.
    """

    default: float | bool | str
    least: float = float("-inf")
    most: float = float("inf")
    choices: Sequence[str] = ()
    unit: str = ""
    purpose: str = ""


@dataclass(frozen=True)
class Field:
    """A column of the trace.

    Attributes:
        unit: The unit of the number.
        purpose: The meaning of the column, in a sentence.
        labels: The names behind 0, 1, 2 of a state.
    """

    unit: str = ""
    purpose: str = ""
    labels: Sequence[str] = ()


def given(names: Iterable[str], controllers: Controllers | None = None) -> Given:
    """Describes classes for the core: those that `names` has as `module:Class`, and those in `controllers`.

    Reads the policies that `names` has as `policy:FILE`.

    Raises:
        ScenarioError: When there is no such module, class or policy, or the class is not an algorithm.
    """
    found: dict[str, type] = dict(controllers or {})
    for name in names:
        if programs.is_program(name):
            continue
        if policies.is_policy(name):
            policies.load(name)
        elif name not in found and _IMPORTED.fullmatch(name):
            admit()
            found[name] = _imported(name)
    return [_described(name, made) for name, made in found.items()]


def named(text: str, settings: Iterable[tuple[str, str]] = ()) -> Iterator[str]:
    """Yields the names of algorithms to import in a scenario's text, and in settings as `--set` takes them."""
    if _MAY_NAME.search(text):  # else the text needs no second parser besides the core's
        import tomllib

        try:
            table = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):  # the core reports the error
            table = {}
        yield from _words(table.get("flow"))
        yield from _words(table.get("sweep"))
    for key, value in settings:
        if key.endswith(".cc"):
            yield from (part.strip(" \"'") for part in value.split(","))


def of_file(name: str) -> str:
    """Returns the name of an algorithm that a user names by its file.

    A class in a file is one to import, `my/mine.py:Mine` becomes `mine:Mine`: the file's directory is added to Python's
    path. A library or a crate is loaded, and a policy is read. Other names are returned as they are.

    Raises:
        ScenarioError: When there is no such file, the name lacks the class, or the library can't be loaded.
        UserError: When the crate can't be built.
    """
    if is_library(name):
        return load_plugin(name)
    if programs.is_program(name):
        return name
    if policies.is_policy(name):
        return policies.load(name).name
    file, colon, made = name.rpartition(":") if ":" in name else (name, "", "")
    if not file.endswith(".py"):
        if is_imported(name):
            admit()
        return name
    path = Path(file)
    if not path.is_file():
        raise refusal(
            "no such file", "name a Python file and its class, like mine.py:Mine", place=name
        )
    if not colon:
        classes = re.findall(r"^class (\w+)", text_of(path), re.MULTILINE)
        fix = " or ".join(f"{file}:{each}" for each in classes) or f"{file}:Mine"
        raise refusal("a file, and its class is missing", f"write {fix}", place=name)
    admit()
    directory = path.parent.resolve()
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))
    found = f"{path.stem}:{made}"
    if directory != Path.cwd():
        give(found, name)
    return found


def is_imported(name: str) -> bool:
    """Whether a name is that of a class to import: `my.module:Mine`."""
    other = programs.is_program(name) or policies.is_policy(name)
    return not other and _IMPORTED.fullmatch(name) is not None


def sources(classes: Given) -> bytes:
    """Returns the source text of the classes' modules, as far as it can be found: results depend on it."""
    texts = []
    for _, made, _ in classes:
        file = getattr(sys.modules.get(made.__module__), "__file__", None)
        if file:
            with open(file, "rb") as source:  # noqa: PTH123  (as it was imported)
                texts.append(source.read())
    return b"".join(texts)


def _words(value: Any) -> Iterator[str]:  # noqa: ANN401  (whatever TOML has)
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)


def _imported(name: str) -> type:
    module_name, _, class_name = name.partition(":")
    if os.getcwd() not in sys.path:  # noqa: PTH109
        sys.path.insert(0, os.getcwd())  # noqa: PTH109  (only `python -m` has it there, an installed command has not)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise _noted(error, name) from None  # a module that the user's module imports
        file = f"{module_name.partition('.')[0]}.py"
        fix = (
            f"run the command in the directory of {file}, name the file by --plugin DIR/{file}:{class_name}, "
            "or install the module"
        )
        raise _refused(name, f"there is no module {error.name}", fix) from None
    except (Exception, SystemExit) as error:
        if isinstance(error, Stopped):
            raise
        raise _noted(error, name) from None
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        classes = [
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and hasattr(value, "decision")
        ]
        fix = (
            f"name one that it has: {', '.join(classes)}"
            if classes
            else "write one; docs/tutorial/python-algorithm.md shows how"
        )
        raise _refused(name, f"{module_name} has no class {class_name}", fix)
    return made


def _noted(error: BaseException, name: str) -> BaseException:
    error.add_note(f"{CONTROLLER}{name} can't be imported")
    return error


def _described(name: str, made: type) -> _core._GivenController:
    if not (_NAME.fullmatch(name) or _IMPORTED.fullmatch(name)):
        raise _refused(name, "not a valid name", 'use letters, digits, "-", "_" and "."')
    for method in ("on_ack", "decision"):
        if not callable(getattr(made, method, None)):
            raise _refused(
                name,
                f"{made.__qualname__} has no method {method}",
                "add it: every algorithm needs on_ack and decision",
            )
    for method in dir(made):
        if method.startswith("on_") and method not in METHODS and callable(getattr(made, method)):
            near = get_close_matches(method, METHODS, n=1)
            fix = f"did you mean {near[0]}?" if near else f"use one of {', '.join(METHODS)}"
            problem = f"{made.__qualname__} has a method {method}, which nothing calls"
            raise _refused(name, problem, f"{fix} A method of your own needs a name without on_")
    recovery = getattr(made, "recovery", "prr")
    if recovery not in ("prr", "own"):
        raise _refused(name, f"recovery = {recovery!r}", 'write "prr" or "own"')
    fields: Mapping[str, Field] = getattr(made, "fields", {})
    if fields and not callable(getattr(made, "observe", None)):
        raise _refused(
            name,
            f"{made.__qualname__} has fields but no method observe",
            "add it: observe() returns their values",
        )
    params: Mapping[str, Param] = getattr(made, "params", {})
    purpose = (made.__doc__ or f"{made.__qualname__}, in Python.").strip().partition("\n")[0]
    about = (
        purpose,
        [_param(name, key, param) for key, param in params.items()],
        [(key, field.unit, field.purpose, list(field.labels)) for key, field in fields.items()],
        recovery == "own",
        bool(getattr(made, "random", False)),
    )
    return name, made, about


def _param(name: str, key: str, param: Param) -> _core._ParamAbout:
    default, least, most = param.default, param.least, param.most
    choices = list(param.choices) or ([default] if isinstance(default, str) else [])
    if isinstance(default, str):
        if default != choices[0]:
            raise _refused(
                name, f"the default of {key} is not the first of its choices", "list it first"
            )
    elif not isinstance(default, bool) and not least <= default <= most:
        raise _refused(
            name, f"the default of {key} is not from {least} to {most}", "choose one in that range"
        )
    return key, param.unit, param.purpose, default, least, most, choices


def _refused(name: str, problem: str, fix: str) -> _core.ScenarioError:
    return refusal(problem, fix, key="cc", value=name, place=f'cc = "{name}"')


def similar(name: str) -> str:
    """Returns the fix for an unknown algorithm: the versions of that name, or the most similar name."""
    known = [str(each["name"]) for each in _core.algorithms()]
    versions = [each for each in known if re.fullmatch(rf"{re.escape(name)}\d", each)]
    near = versions or get_close_matches(name, known, n=1)
    return (
        f"did you mean {' or '.join(near)}?" if near else "`fullpipe list algorithms` has the names"
    )
