"""The pages of docs/reference of public names in Python, `python.md` and `gym.md`, from docstrings."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[1] / "python/fullpipe"

PARTS = {
    "Runs": ["run", "load", "Run", "Scenario", "ScenarioError", "plot_runs", "load_plugin"],
    "Sweeps": ["sweep", "Sweep"],
    "Comparisons": ["compare", "Comparison"],
    "Real programs": ["link", "Link"],
    "Controllers": [
        "Param",
        "Field",
        "Decision",
        "Config",
        "Context",
        "Conn",
        "Ack",
        "Snapshot",
        "Lost",
        "Recovery",
    ],
}
"""The names of `fullpipe`, and the types that a controller's methods receive."""

SOURCES = (
    "run.py",
    "runs/data.py",
    "report/plots.py",
    "report/kept.py",
    "study/sweeps/api.py",
    "study/sweeps/dataset.py",
    "study/comparison/api.py",
    "wings/real/links/api.py",
    "algorithms/classes.py",
    "_core.pyi",
)


def python() -> str:
    """The public names of the package, with signatures and docstrings."""
    lines = [
        "# Python API",
        "",
        "The public names of `import fullpipe`, generated from their docstrings. Sizes are in bytes, rates in",
        "bit/s and times in seconds unless a name says otherwise. [The Rust API](rust.md) has the same engine.",
        "",
    ]
    for heading, names in PARTS.items():
        lines += [f"## {heading}", ""]
        for name in names:
            lines += _definition(*_find(name))
    return "\n".join(lines).rstrip() + "\n"


GYM = {
    "Declare an environment": ["Declaration", "Action", "Feature", "features"],
    "Use it": ["Env", "VectorEnv", "ParallelEnv"],
    "Save a policy": ["save_policy", "Layer"],
}
"""The names of `fullpipe.gym`."""

GYM_SOURCES = tuple(
    f"wings/search/gym/{name}.py" for name in ("declaration", "env", "vector", "parallel", "policy")
)


def gym() -> str:
    """The public names of `fullpipe.gym`, with the features and columns that can be observed."""
    lines = [
        "# Environments",
        "",
        "The public names of `fullpipe.gym`, generated from their docstrings. [Guide](../guide/gym.md).",
        "",
        "## Features of an interval",
        "",
        "| Feature | Unit | Range | Meaning |",
        "|---|---|---|---|",
    ]
    for name, unit, least, most, meaning in _core.gym_features():
        lines.append(f"| `{name}` | {unit} | {least:g} to {most:g} | {_row(meaning)} |")
    columns = ", ".join(f"`{name}`" for name in _core.gym_columns())
    lines += ["", f"Columns of the trace that can be observed: {columns}.", ""]
    for heading, names in GYM.items():
        lines += [f"## {heading}", ""]
        for name in names:
            lines += _definition(*_find(name, GYM_SOURCES), module="fullpipe.gym")
    return "\n".join(lines).rstrip() + "\n"


def _find(
    name: str, sources: tuple[str, ...] = SOURCES
) -> tuple[ast.FunctionDef | ast.ClassDef, list[ast.ClassDef]]:
    """The definition of a public name, and those of its base classes that fullpipe defines."""
    known: dict[str, ast.FunctionDef | ast.ClassDef] = {}
    for file in reversed(sources):
        for node in ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                known[node.name] = node
    found = known[name]
    bases = (
        []
        if isinstance(found, ast.FunctionDef)
        else [known.get(ast.unparse(base)) for base in found.bases]
    )
    return found, [base for base in bases if isinstance(base, ast.ClassDef)]


def _definition(
    node: ast.FunctionDef | ast.ClassDef, bases: list[ast.ClassDef], module: str = "fullpipe"
) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [
            f"### `{node.name}`",
            "",
            *_signature(node, f"{module}.{node.name}"),
            *_docstring(node),
        ]
    lines = [f"### `{node.name}`", "", *_docstring(node)]
    attributes, methods = [], []
    for member in [member for each in [node, *bases] for member in _members(each)]:
        name = ast.unparse(member.target) if isinstance(member, ast.AnnAssign) else member.name
        if isinstance(member, ast.AnnAssign) or _is_property(member):
            kind = member.annotation if isinstance(member, ast.AnnAssign) else member.returns
            text = (
                " ".join(_docstring(member))
                if not isinstance(member, ast.AnnAssign)
                else _after(member, [node, *bases])
            )
            kind_text = ast.unparse(kind).replace(" | ", " \\| ") if kind else ""
            attributes.append(f"| `{name}` | `{kind_text}` | {_row(text)} |")
        else:
            methods += [
                f"#### `{node.name}.{name}`",
                "",
                *_signature(member, name),
                *_docstring(member),
            ]
    if attributes:
        lines += ["| Attribute | Type | Meaning |", "|---|---|---|", *attributes, ""]
    return lines + methods


def _members(node: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AnnAssign]:
    for member in node.body:
        if (isinstance(member, ast.FunctionDef) and not member.name.startswith("_")) or (
            isinstance(member, ast.AnnAssign)
            and isinstance(member.target, ast.Name)
            and not member.target.id.startswith("_")
        ):
            yield member


def _is_property(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(each) in ("property", "cached_property") for each in node.decorator_list)


def _after(member: ast.AnnAssign, classes: list[ast.ClassDef]) -> str:
    """The string below an attribute, which is its docstring."""
    body = next(each.body for each in classes if member in each.body)
    after = body[body.index(member) + 1 :][:1]
    if after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant):
        return " ".join(str(after[0].value.value).split())
    return ""


def _signature(node: ast.FunctionDef, name: str) -> list[str]:
    node.args.args = [each for each in node.args.args if each.arg not in ("self", "cls")]
    given = ast.unparse(node.args)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    text = f"{name}({given}){returns}"
    if len(text) > 88:
        inner = "".join(f"    {part},\n" for part in _split(given))
        text = f"{name}(\n{inner}){returns}"
    return ["```python", text, "```", ""]


def _split(arguments: str) -> list[str]:
    """Arguments at their commas, but not at those inside of brackets."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "[({") - (letter in "])}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


_SECTION = re.compile(r"(Args|Returns|Raises|Yields|Attributes):\n((?:[ \t]+.*\n?|\n)+)")


def _docstring(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    text = re.sub(
        r":(?:class|func|meth|attr|mod):`~?([^`]+)`", r"`\1`", ast.get_docstring(node) or ""
    )
    text = _SECTION.sub(lambda found: f"**{found[1]}**\n\n{_items(found[2], found[1])}\n", text)
    return [text.strip(), ""] if text else []


def _items(text: str, section: str) -> str:
    """The entries of a section of a docstring as a list."""
    entries = re.split(r"\n(?=\S)", textwrap.dedent(text).strip())
    if section in ("Returns", "Yields"):
        return " ".join(textwrap.dedent(text).split()) + "\n"
    rows = []
    for entry in entries:
        name, _, meaning = entry.partition(":")
        rows.append(f"- `{name.strip()}`: {' '.join(meaning.split())}")
    return "\n".join(rows) + "\n"


def _row(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
