"""The texts of `fullpipe list` and `fullpipe explain`."""

from __future__ import annotations

from difflib import get_close_matches
from textwrap import fill
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fullpipe import _core, origin
from fullpipe.results.words import first_comment
from fullpipe.stats.quantity import known_names, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias, TypedDict

    from rich.console import RenderableType

    from fullpipe._core import (
        Algorithm,
        Field,
        Impairment,
        Key,
        Param,
        Part,
        Profile,
        Queue,
        QueueOption,
        Specification,
    )

    Entry: TypeAlias = Algorithm | Queue | Impairment | Profile

    class Listed(TypedDict):
        """A metric or a scenario in a list."""

        name: str
        purpose: str

    Named: TypeAlias = Entry | Listed


class UnknownNameError(LookupError):
    """The name is not that of an algorithm, a queue, an impairment, a profile or a key."""


def metrics() -> list[Listed]:
    """Returns the metrics that views can show, by their short names."""
    found: list[Listed] = []
    for name, column in known_names().items():
        known = quantity(column) or quantity(f"link.bottleneck.{column}")
        if known is not None:
            words = known.words.removesuffix(" at bottleneck")
            of = "" if known.column == column else "of each link: "
            unit = f", {known.unit}" if known.unit and not words.endswith(known.unit) else ""
            found.append({"name": name, "purpose": f"{of}{words}{unit}"})
    return found


def scenarios() -> list[Listed]:
    """Returns the scenarios of the package, with the first comment line of each."""
    return [
        {"name": file.stem, "purpose": first_comment(file.read_text(encoding="utf-8"))[0]}
        for file in origin.packaged()
    ]


def names(entries: Iterable[Named], width: int | None = None) -> str:
    """Returns a line per entry: its name and its purpose; with a `width`, wrapped to `width` characters."""
    listed = list(entries)
    indent = max(len(entry["name"]) for entry in listed) + 2
    lines = [f"{entry['name']:{indent}}{entry['purpose']}".rstrip() for entry in listed]
    if width is None:
        return "\n".join(lines)
    return "\n".join(
        fill(line, max(width, 2 * indent), subsequent_indent=" " * indent) for line in lines
    )


def explain(name: str) -> Iterator[RenderableType]:
    """Returns the paragraphs about an algorithm, a queue, an impairment, a profile, `scenario`, or a scenario key.

    Raises:
        UnknownNameError: When nothing has that name; the text has the most similar one.
    """
    algorithms = {algorithm["name"]: algorithm for algorithm in _core.algorithms()}
    queues = {queue["name"]: queue for queue in _core.queues()}
    impairments = {impairment["name"]: impairment for impairment in _core.impairments()}
    profiles = {profile["name"]: profile for profile in _core.profiles()}
    keys = {key["key"]: key for key in _core.scenario_keys()}
    if name in algorithms:
        return _algorithm(algorithms[name])
    if name in queues:
        return _queue(queues[name])
    if name in impairments:
        return _impairment(impairments[name])
    if name in profiles:
        return _profile(profiles[name], keys)
    if name == "scenario":
        return _scenario(list(keys.values()))
    if name in keys:
        return _key(keys[name])
    named = [*algorithms, *queues, *impairments, *profiles, "scenario"]
    known = [*named, *keys]
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"the names are {', '.join(named)}"
    raise UnknownNameError(f"no name or key {name!r}; {hint}")


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
    for given in profile["values"]:
        text = Text(given["why"])
        text.append(
            f"\n{given['source']}. {_first_sentence(keys[given['declared']]['meaning'])}",
            style="dim",
        )
        grid.add_row(
            Text(given["key"].replace(".N", ""), style="bold"), given["value"].strip('"'), text
        )
    yield _indent(grid)
    yield _head("Sources")
    yield _specifications([{"name": name, "note": note} for name, note in profile["references"]])
    name = profile["name"]
    yield _head(f'profile = "{name}" in [path], or --profile {name}, stands for')
    yield _indent(Text(f'duration = "60s"\n\n{profile["toml"].rstrip()}'))


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
