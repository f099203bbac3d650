"""The texts of `fullpipe explain`."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fullpipe import _core
from fullpipe.algorithms import programs as recipes
from fullpipe.algorithms.resolve import CLASS, described, kind_of, recipe_of
from fullpipe.scenario import canned
from fullpipe.stats.quantity import known_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from fullpipe._core import (
        Algorithm,
        Field,
        Impairment,
        Key,
        Limit,
        Metric,
        Param,
        Part,
        Profile,
        Queue,
        QueueOption,
        Specification,
        TraceColumn,
    )
    from fullpipe.scenario.canned import Canned


_HEADS = {
    "bdp": "path.buffer",
    "limited by": "limited_by",
    "re-sent": "retransmits",
    "resent": "retransmits",
}
"""Words of the tables, and a unit of many keys, with the names that explain them."""


class UnknownNameError(LookupError):
    """Nothing has the name; the text has the fix."""


def explain(name: str) -> Iterator[RenderableType]:
    """Returns the paragraphs about a name, from each list that has it.

    The lists are algorithms, queues, impairments, profiles, canned tests, recipes of programs, scenario keys, metrics,
    columns of the trace, limits of a flow, and classes that can be imported (`my.module:Mine` or `mine.py:Mine`);
    `scenario` stands for all keys, and `program:NAME` for a recipe.

    Raises:
        UnknownNameError: When nothing has that name; the text has the most similar one.
        ScenarioError: When there is no such class.
    """
    name = _HEADS.get(name.lower(), name)
    if kind_of(name) is CLASS:
        return _class(name)
    if recipe := recipe_of(name):
        return _program(recipes.named(recipe[0]))
    keys = {key["key"]: key for key in _core.scenario_keys()}
    explanations = _explanations(keys)
    key = re.sub(r"\.\d+(?=\.|$)", ".N", name)
    spelled = dict.fromkeys((name, key))
    found = [made[each]() for made in explanations for each in spelled if each in made]
    if found:
        return _joined(found)
    ended = [each for each in keys if each.endswith(f".{key}")]
    if len(ended) == 1:
        return explain(ended[0])
    known = [each for made in explanations for each in made]
    written = [
        each
        for each, key in keys.items()
        if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", " ".join(map(str, key["examples"])))
    ]
    if len(written) == 1:
        return explain(written[0])
    near = ended or written[:3] or list(dict.fromkeys(get_close_matches(name, known, n=3)))
    if near:
        hint = f"did you mean {words_or(near)}?"
    else:
        hint = "`fullpipe list` has names, `fullpipe explain scenario` all keys"
    raise UnknownNameError(f"{name}: no name or key\n  fix: {hint}")


def known() -> list[str]:
    """Returns all names that :func:`explain` explains, but classes."""
    keys = {key["key"]: key for key in _core.scenario_keys()}
    return list(dict.fromkeys(name for made in _explanations(keys) for name in made))


def words_or(names: Sequence[str]) -> str:
    """Returns names as `a, b or c`."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _joined(parts: Iterable[Iterator[RenderableType]]) -> Iterator[RenderableType]:
    for number, part in enumerate(parts):
        if number:
            yield Text("")
        yield from part


def _explanations(keys: dict[str, Key]) -> list[dict[str, Callable[[], Iterator[RenderableType]]]]:
    """Returns the explanation of each name, by list."""
    metrics: dict[str, list[Metric]] = {}
    for metric in _core.metrics():
        bare = re.sub(r"_(bps|s|fraction)$", "", metric["name"])
        for each in dict.fromkeys((metric["name"], bare)):
            metrics.setdefault(each, []).append(metric)
    columns: dict[str, list[TraceColumn]] = {}
    for column in _core.trace_columns():
        columns.setdefault(column["name"], []).append(column)
    return [
        {each["name"]: partial(_algorithm, each) for each in _core.algorithms()},
        {each["name"]: partial(_queue, each) for each in _core.queues()},
        {each["name"]: partial(_impairment, each) for each in _core.impairments()},
        {each["name"]: partial(_profile, each, keys) for each in _core.profiles()},
        {each.name: partial(_canned, each) for each in canned.every()},
        {each.name: partial(_program, each) for each in recipes.every()},
        {"scenario": partial(_scenario, list(keys.values()))},
        {name: partial(_key, key) for name, key in keys.items()},
        {name: partial(_metric, name, those) for name, those in metrics.items()},
        {
            name: partial(_metric, name, metrics[name.partition(".")[0]])
            for name in known_names()
            if "." in name and name.partition(".")[0] in metrics
        },
        {name: partial(_column, name, those) for name, those in columns.items()},
        {each["name"]: partial(_limit, each) for each in _core.limits()},
        {"limits": _limits},
    ]


def _metric(name: str, metrics: Sequence[Metric]) -> Iterator[RenderableType]:
    for number, metric in enumerate(metrics):
        if number:
            yield Text("")
        definition = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", metric["definition"])
        yield _title(f"{name}, metric of a {metric['of']}", definition.replace("**", ""))
        unit = metric["unit"] if metric["unit"] not in ("", "1") else "no unit"
        facts = [f"{metric['name']} in metrics.json, {unit}"]
        if metric["form"] == "distribution":
            facts.append(f"distribution with {', '.join(dict.fromkeys(metric['statistics']))}")
        if name in known_names():
            facts.append(f"--show {name}")
        facts.append("docs/reference/metrics.md")
        yield _indent(Text("; ".join(facts), style="dim"))


def _column(name: str, columns: Sequence[TraceColumn]) -> Iterator[RenderableType]:
    for number, column in enumerate(columns):
        if number:
            yield Text("")
        meaning = column["meaning"] or "see the table's description"
        yield _title(f"{name}, column of the trace's {column['table']}", f"{meaning}.")
        yield _indent(
            Text(f"{column['unit'] or 'no unit'}; docs/reference/metrics.md", style="dim")
        )


def _limit(limit: Limit) -> Iterator[RenderableType]:
    yield _title(f"{limit['name']}, limit of a flow", f"it holds if {limit['condition']}.")
    order = ", ".join(each["name"] for each in _core.limits())
    yield _indent(
        Text(
            f"Values of limited_by; tested in this order: {order}. docs/reference/metrics.md",
            style="dim",
        )
    )


def _limits() -> Iterator[RenderableType]:
    yield _title(
        "limits",
        "Causes for which a flow sends nothing more now, in the order in which they are tested.",
    )
    grid = _grid(wide=1)
    for limit in _core.limits():
        grid.add_row(Text(limit["name"], style="bold"), Text(limit["condition"]))
    yield _indent(grid)


def _class(name: str) -> Iterator[RenderableType]:
    ((name, made, about),) = described([name])
    purpose, params, fields, own, random = about
    yield _title(name, purpose)
    file = getattr(sys.modules.get(made.__module__), "__file__", None)
    yield _indent(Text(f"{file or made.__module__}", style="dim"))
    yield _head("Parameters; in a flow: params = { name = value }")
    grid = _grid(wide=1)
    for key, unit, meaning, default, least, most, choices in params:
        text = Text(meaning)
        limits = f"one of {', '.join(choices)}" if choices else f"from {least:g} to {most:g} {unit}"
        shown = _value(default)
        text.append(
            f"\ndefault {shown}{'' if isinstance(default, bool) else f', {limits}'.rstrip()}",
            style="dim",
        )
        grid.add_row(Text(key, style="bold"), text)
    yield _or_none(grid)
    yield _head(f"Trace fields; columns {name}.<field>")
    grid = _grid(wide=1)
    for key, unit, meaning, labels in fields:
        text = Text(meaning)
        if labels or unit:
            words = f"one of {', '.join(labels)}" if labels else unit
            text.append(f" ({words})", style="dim")
        grid.add_row(Text(key, style="bold"), text)
    yield _or_none(grid)
    yield _head("In the connection")
    methods = [
        each
        for each in dir(made)
        if each.startswith("on_") or (each in ("decision", "observe") and hasattr(made, each))
    ]
    recovery = "the class itself" if own else "the transport, by PRR (RFC 9937),"
    drawn = " It draws random numbers." if random else ""
    yield _indent(
        Text(
            f"It has {', '.join(methods)}. During loss recovery {recovery} sets the window.{drawn} "
            "docs/reference/controller.md has the contract."
        )
    )


def _algorithm(algorithm: Algorithm) -> Iterator[RenderableType]:
    yield _title(algorithm["name"], algorithm["purpose"])
    yield _head("Specification")
    yield _specifications(algorithm["specifications"])
    yield _head("Parameters; in a flow: params = { name = value }")
    yield _params(algorithm["params"])
    yield _head(f"Trace fields; columns {algorithm['name']}.<field>")
    yield _fields(algorithm["fields"])
    name = algorithm["name"]
    needs = ", ".join(algorithm["needs"]) or "no signals beyond ACKs and losses"
    connection = {
        "prr": "During loss recovery the transport sets the window, by PRR (RFC 9937).",
        "own": "During loss recovery the algorithm itself sets the window.",
        "sender": f'It runs in the receiver: receiver = "{name}" goes with any cc of the sender, and takes its '
        f'parameters from receiver_params = {{ name = value }}; cc = "{name}" is short for it with cubic as the '
        "sender's algorithm.",
    }[algorithm["recovery"]]
    yield _head("In the connection")
    marks = "It responds to CE marks." if algorithm["marks"] else "By default it ignores CE marks."
    if algorithm["recovery"] == "sender":
        marks = "CE marks concern the sender's algorithm."
    yield _indent(Text(f"{connection} It needs {needs}. {marks}"))


def _queue(queue: Queue) -> Iterator[RenderableType]:
    name = queue["name"]
    yield _title(name, queue["purpose"])
    yield _head("Specification")
    yield _specifications(queue["specifications"])
    yield _head(f'Options; in a path or link: queue = {{ kind = "{name}", name = value }}')
    yield _options(queue["options"])
    yield _head("In a scenario")
    limit = (
        f" by default {queue['limit']}packets, as in tc"
        if queue["limit"]
        else " which must be given"
    )
    counts = "; it is counted in bytes" if queue["in_bytes"] else ""
    yield _indent(Text(f'path.queue = "{name}". Its limit is path.buffer,{limit}{counts}.'))


def _impairment(impairment: Impairment) -> Iterator[RenderableType]:
    yield _title(impairment["name"], impairment["purpose"])
    yield _head("Syntax")
    examples = "".join(f'\n{key} = "{impairment["example"]}"' for key in impairment["keys"])
    yield _indent(Text(f"{_syntax(impairment)}{examples}"))
    yield _head("Parts, in any order; a part without a name comes first")
    grid = _grid(wide=1)
    for part in impairment["parts"]:
        text = Text(part["purpose"])
        default = "must be given" if part["default"] is None else f"default {part['default']}"
        text.append(f"\n{part['unit']}; {default}", style="dim")
        grid.add_row(Text(part["name"], style="bold"), text)
    yield _or_none(grid)
    yield _head("Specification")
    yield _indent(Text(f"{impairment['source'] or 'fullpipe'}; docs/reference/models/path.md"))


def _syntax(impairment: Impairment) -> str:
    """Returns the syntax, with optional parts in brackets: `hold TIME [every TIME]`."""
    words = [impairment["name"]] if impairment["named"] else []
    return " ".join([*words, *map(_part, impairment["parts"])])


def _part(part: Part) -> str:
    alone = part["unit"] == "keyword without a value"
    words = [part["name"]] if part["named"] or alone else []
    if not alone:
        words.append(
            part["name"].upper() if not part["named"] else part["unit"].upper().replace(" ", "-")
        )
    text = " ".join(words)
    return text if part["default"] is None else f"[{text}]"


def _profile(profile: Profile, keys: dict[str, Key]) -> Iterator[RenderableType]:
    yield _title(profile["name"], profile["purpose"])
    yield Text("")
    yield _indent(Text(profile["about"].strip()))
    yield _head("Values")
    grid = _grid(wide=2)
    for each in profile["values"]:
        text = Text(each["why"])
        text.append(
            f"\n{each['source']}. {_first_sentence(keys[each['declared']]['meaning'])}",
            style="dim",
        )
        grid.add_row(
            Text(each["key"].replace(".N", ""), style="bold"), each["value"].strip('"'), text
        )
    yield _indent(grid)
    yield _head("Sources")
    yield _specifications([{"name": name, "note": note} for name, note in profile["references"]])
    name = profile["name"]
    yield _head(f'profile = "{name}" in [path], or --profile {name}, stands for')
    yield _indent(Text(f'duration = "60s"\n\n{profile["toml"].rstrip()}'))


def _program(recipe: recipes.Recipe) -> Iterator[RenderableType]:
    yield _title(f"{recipe.name}, recipe of programs", f"{recipe.about} ({recipe.language})")
    yield _head("Command lines")
    grid = _grid(wide=1)
    for name, line in (("server", recipe.server), ("client", recipe.client)):
        grid.add_row(Text(name, style="bold"), Text(line))
    yield _indent(grid)
    yield _head("Parameters")
    grid = _grid(wide=1)
    for name, param in recipe.params.items():
        text = Text(param.about)
        default = f'default "{param.default}"' if param.default else "no default"
        one_of = f", one of {', '.join(param.choices)}" if param.choices else ""
        text.append(f"\n{default}{one_of}", style="dim")
        grid.add_row(Text(name, style="bold"), text)
    yield _or_none(grid)
    yield _head("Installation")
    grid = _grid(wide=1)
    for source, line in recipe.installs():
        grid.add_row(Text(source, style="bold"), Text(line))
    yield _indent(grid)


def _canned(test: Canned) -> Iterator[RenderableType]:
    yield _title(f"{test.name}, canned test", test.purpose)
    yield Text("")
    yield _indent(Text(test.about))
    yield _head("Flows")
    counts = {
        "downloads": test.down,
        "uploads": test.up,
        "connections with a request of one byte each 100 ms": test.probes,
        "calls, with voice in both directions": test.calls,
    }
    grid = _grid(wide=1)
    for what, count in counts.items():
        if count:
            grid.add_row(Text(f"{count}", style="bold"), what)
    yield _indent(grid)
    yield _head("In flent")
    yield _indent(Text(", ".join(test.flent) or "no such test"))
    yield _head("Run it")
    yield _indent(Text(f"fullpipe test {test.name} --profile lte; docs/guide/test.md"))


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].removesuffix(".") + "."


def _options(options: Iterable[QueueOption]) -> RenderableType:
    grid = _grid(wide=1)
    for option in options:
        text = Text(option["purpose"])
        text.append(
            f"\ndefault {option['default']}; {option['range']}; {option['section']}", style="dim"
        )
        grid.add_row(Text(option["name"], style="bold"), text)
    return _or_none(grid)


def _scenario(keys: list[Key]) -> Iterator[RenderableType]:
    yield _title("scenario", "One experiment as a TOML file.")
    for heading, those in sections(keys):
        yield _head(heading)
        yield _keys(those)


def sections(keys: Iterable[Key]) -> list[tuple[str, list[Key]]]:
    """The keys of a scenario by their table, with a heading each, in the order of `fullpipe explain scenario`."""
    headings = {
        "": "Top level",
        "path": "[path]",
        "link": "[[link]]; --set numbers them from 0: link.0.rate",
        "path.change": "[[path.change]]; --set numbers them from 0: path.change.0.at",
        "host": "[host]",
        "quic": "[quic]",
        "flow": "[[flow]]; --set numbers them from 0: flow.0.cc",
        "program": "[[program]]; --set numbers them from 0: program.0.start",
        "workload": "[[workload]]; --set numbers them from 0: workload.0.load",
        "sweep": "[sweep], in addition to the keys that it varies",
    }
    of: dict[str, list[Key]] = {table: [] for table in headings}
    for key in keys:
        name = key["key"]
        table = "path.change" if name.startswith("path.change.") else name.partition(".")[0]
        if "." in name:
            of[table].append(key)
        elif not key["kind"].startswith("table"):
            of[""].append(key)
    return [(heading, of[table]) for table, heading in headings.items()]


def _key(key: Key) -> Iterator[RenderableType]:
    yield _title(key["key"], key["meaning"])
    yield _indent(Text(_kind(key), style="dim"))


def _keys(keys: Iterable[Key]) -> RenderableType:
    grid = _grid(wide=1)
    for key in keys:
        text = Text(key["meaning"])
        text.append(f"\n{_kind(key)}", style="dim")
        grid.add_row(Text(key["key"], style="bold"), text)
    return _indent(grid)


def _kind(key: Key) -> str:
    default = "must be given" if key["required"] else f"default {key['default']}"
    example = f", like {' or '.join(key['examples'])}" if key["examples"] else ""
    return f"{key['kind']}{example}; {default}"


def _specifications(specifications: Iterable[Specification]) -> RenderableType:
    grid = _grid(wide=0)
    for specification in specifications:
        text = Text(specification["name"], style="bold")
        if specification["note"]:
            text.append(f": {specification['note']}", style="not bold")
        grid.add_row(text)
    return _or_none(grid)


def _params(params: Iterable[Param]) -> RenderableType:
    grid = _grid(wide=1)
    for param in params:
        text = Text(param["purpose"])
        text.append(f"\n{_domain(param)}", style="dim")
        if param["section"]:
            text.append(f"; {param['section']}", style="dim")
        grid.add_row(Text(param["name"], style="bold"), text)
    return _or_none(grid)


def _domain(param: Param) -> str:
    unit = f" {param['unit']}" if param["unit"] else ""
    others = "".join(
        f", {_value(value)}{unit} with {profile}" for profile, value in param["profiles"]
    )
    default = f"default {_value(param['default'])}"
    if param["range"] is not None:
        low, high = param["range"]
        return f"{default}{unit}{others}, from {_number(low)} to {_number(high)}{unit}"
    if param["choices"] is not None:
        words = ", ".join(f'"{word}"' for word in param["choices"])
        return f"{default}{others}, one of {words}"
    return f"{default}{others}, true or false"


def _value(value: float | bool | str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:g}"


def _fields(fields: Iterable[Field]) -> RenderableType:
    grid = _grid(wide=1)
    for field in fields:
        about = f"one of {', '.join(field['labels'])}" if field["labels"] else field["unit"]
        text = Text(field["purpose"])
        if about:
            text.append(f" ({about})", style="dim")
        grid.add_row(Text(field["name"], style="bold"), text)
    return _or_none(grid)


def _title(name: str, purpose: str) -> Text:
    return Text.assemble((name, "bold"), f": {purpose}" if purpose else "")


def _head(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _grid(wide: int) -> Table:
    """Returns a table without lines, whose column number `wide` takes the remaining width."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(wide):
        grid.add_column(no_wrap=True)
    grid.add_column()
    return grid


def _or_none(grid: Table) -> RenderableType:
    return _indent(grid if grid.row_count else Text("none"))


def _indent(content: RenderableType) -> Padding:
    return Padding(content, (0, 0, 0, 2))
