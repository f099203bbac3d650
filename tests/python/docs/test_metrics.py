"""Types, pages and columns of metrics and traces agree with the declarations in crates/trace/src.

FULLPIPE_BLESS=1 writes the types and the tables of the page.
"""

import os
import re
import textwrap
from pathlib import Path

import pytest

import fullpipe
from fullpipe import _core, stats
from fullpipe.results.model import TABLES

ROOT = Path(__file__).parents[3]
TYPES = ROOT / "python/fullpipe/base/metrics.py"
PAGE = ROOT / "docs/reference/metrics.md"
MARK = "# The rest is written by tests/python/docs/test_metrics.py"
CLASSES = {
    "flow": ("FlowMetrics", "The metrics of one flow."),
    "workload": ("WorkloadMetrics", "The metrics of one workload: of all its flows together."),
    "link": ("LinkMetrics", "The metrics of one link."),
    "run": ("Metrics", "The metrics of a run."),
}
PYTHON = {
    "String": "str",
    "&'static str": "str",
    "u64": "int",
    "f64": "float",
    "Option<f64>": "float | None",
    "Distribution": "Distribution",
    "Slowdowns": "SlowdownsMetrics",
    "BTreeMap<&'static str, f64>": "dict[str, float]",
    "BTreeMap<String, String>": "dict[str, str]",
    "Vec<String>": "list[str]",
    "Vec<FlowSummary>": "list[FlowMetrics]",
    "Vec<WorkloadSummary>": "NotRequired[list[WorkloadMetrics]]",
    "Vec<LinkSummary>": "list[LinkMetrics]",
    "FlowDrift": "NotRequired[FlowDriftMetrics]",
    "WorkloadDrift": "NotRequired[WorkloadDriftMetrics]",
    "LinkDrift": "NotRequired[LinkDriftMetrics]",
    "Steadiness": "NotRequired[SteadinessMetrics]",
}
TRACE_HASH = "Fingerprint of the trace, 16 hexadecimal digits, see [below](#the-trace); `null` without a trace."


def blessed(file: Path, text: str) -> None:
    """Compares the file's text with `text`, or writes it."""
    if os.environ.get("FULLPIPE_BLESS"):
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text, (
        f"{file.name} differs from the declarations; write it with FULLPIPE_BLESS=1"
    )


def docstring(definition: str) -> str:
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", definition).replace("`null`", "None")
    lines = textwrap.wrap(plain, 94)
    if len(lines) == 1:
        return f'    """{lines[0]}"""\n'
    return "".join(
        ('    """' if n == 0 else "    ") + line + "\n" for n, line in enumerate(lines)
    ) + ('    """\n')


def test_the_types_follow() -> None:
    by_hand = TYPES.read_text(encoding="utf-8").split(MARK)[0]
    text = by_hand + MARK + " from the rows in crates/trace/src/metrics.rs.\n"
    for of, (name, what) in CLASSES.items():
        text += f'\n\nclass {name}(TypedDict):\n    """{what}"""\n\n'
        for metric in _core.metrics():
            if metric["of"] == of:
                kind = " ".join(metric["kind"].split()).replace("& 'static", "&'static")
                text += f"    {metric['name']}: {PYTHON[kind]}\n{docstring(metric['definition'])}"
        if of == "run":
            text += f"    trace_hash: str | None\n{docstring(TRACE_HASH)}"
    blessed(TYPES, text)


def test_the_page_follows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for of in CLASSES:
        rows = [
            f"| `{metric['name']}` | {metric['unit']} | {metric['definition']} |"
            for metric in _core.metrics()
            if metric["of"] == of
        ]
        if of == "run":
            rows.append(f"| `trace_hash` | | {TRACE_HASH} |")
        table = "| Name | Unit | Definition |\n|---|---|---|\n" + "\n".join(rows).replace(
            "|  |", "| |"
        )
        heading = re.escape(f"\n## {of.capitalize()}\n")
        found = re.search(rf"{heading}.*?\n(\| Name \|.*?)\n\n", text, re.DOTALL)
        assert found, f"docs/reference/metrics.md has no table of {of}"
        text = text[: found.start(1)] + table + text[found.end(1) :]
    blessed(PAGE, text)


def test_the_tables_of_the_trace_follow() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for of in TABLES:
        rows = [
            f"| `{column['name']}` | {column['unit']} | {column['meaning']} |"
            for column in _core.trace_columns()
            if column["table"] == of
        ]
        table = "| Column | Unit | Meaning |\n|---|---|---|\n" + "\n".join(rows)
        paragraph = rf"\n`{of}`[^\n]*(?:\n[^\n]+)*:\n\n"
        found = re.search(rf"{paragraph}(\| Column \|.*?)\n\n", text, re.DOTALL)
        assert found, f"docs/reference/metrics.md has no table {of}"
        text = text[: found.start(1)] + table + text[found.end(1) :]
    blessed(PAGE, text)


def test_a_trace_has_the_declared_columns() -> None:
    run = fullpipe.run(ROOT / "scenarios/transfer.toml", trace="100ms")
    for table in run.tables:
        declared = {
            column["name"]: column["unit"]
            for column in _core.trace_columns()
            if column["table"] == table
        }
        own = {name: unit for name, unit in run.units(table).items() if "." not in name}
        assert own == declared


@pytest.mark.parametrize("view", ["report", "spread", "maps", "differences", "compare", "sweep"])
def test_a_view_shows_columns_that_exist(view: str) -> None:
    columns = stats.columns_shown(view)
    assert "goodput_bps" in columns
    for column in columns:
        assert stats.quantity(column) is not None
    for column in stats.columns_shown(view, links=True):
        assert stats.quantity(f"link.a.b.{column}") is not None, "a link's name may have points"


def test_every_metric_that_judges_is_a_quantity_in_words() -> None:
    for metric in _core.metrics():
        column = metric["name"] if metric["of"] != "link" else f"link.bottleneck.{metric['name']}"
        known = stats.quantity(column)
        if metric["form"] == "one":
            assert known is not None and known.words.startswith(metric["words"]), column
        elif metric["form"] == "fact":
            assert known is None, column
        else:
            assert metric["words"], column
    assert stats.quantity("slowdown.all.flows.mean") == (
        "slowdown.all.flows.mean", "mean slowdown", "", 1.0, -1
    )  # fmt: skip
    assert stats.quantity("link.bottleneck.queue_delay_s.p95") == (
        "link.bottleneck.queue_delay_s.p95", "p95 queueing delay at bottleneck", "ms", 1e3, -1
    )  # fmt: skip
    assert stats.quantity("link..drops") is None
