"""One page of all scenarios: purpose, command, picture and numbers of each. `fullpipe explore --gallery` opens it."""

from __future__ import annotations

import base64
import multiprocessing
import re
import signal
import tomllib
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe import _core
from fullpipe._core import __version__
from fullpipe.algorithms.plugins import built_in
from fullpipe.algorithms.resolve import POLICY, kind_of
from fullpipe.base.progress import Counter
from fullpipe.report.html import asset, document
from fullpipe.results import suited_interval
from fullpipe.results.rows import rows_of
from fullpipe.results.words import first_comment
from fullpipe.run import load, run
from fullpipe.runs.view.run import text
from fullpipe.study.checks.judge import judged
from fullpipe.wings.pages.explore import again, inside, runs_in_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from fullpipe._core import Impairment, Scenario
    from fullpipe.run import Run

ELEMENTS: dict[str, Callable[[], Iterable[Mapping[str, Any]]]] = {
    "Algorithms": lambda: [each for each in _core.algorithms() if each["name"] in built_in()],
    "Queues": _core.queues,
    "Impairments": _core.impairments,
    "Profiles": _core.profiles,
}
"""Kinds of elements that `fullpipe list` lists."""

KINDS = {
    "Topologies": ("one bottleneck", "several links", "ACKs over links"),
    "Flows": (
        *("unlimited", "transfer", "rate-limited", "with a schedule", "on and off"),
        *(
            "requests and responses",
            "media",
            "datagrams",
            "unresponsive",
            "arriving",
            "on a host",
            "with a receiver's algorithm",
            "with an auto-tuned window",
            "with a trained policy",
        ),
    ),
}
"""Further kinds, which it does not list."""

_MARKING = {"dualpi2", "step_ecn"}
# Enough colors for the lines of a picture; the file is a third of its size with all colors.
_COLORS = 128


class Entry(NamedTuple):
    """A scenario on the page."""

    name: str
    group: str
    title: str
    about: list[str]
    """The lines of the scenario's comment; an indented line is a paragraph of its own."""
    uses: dict[str, list[str]]
    picture: bytes
    """PNG."""
    size: tuple[int, int]
    numbers: str
    expected: list[tuple[str, str, bool]]
    """Conditions of its `expect`, each with the measured value and whether it is met."""
    scenario: str
    """Its text."""


def entries(files: list[Path]) -> list[Entry]:
    """Runs scenarios on all cores, and returns their entries in the order of the files."""
    made = []
    # A new interpreter for each worker: threads of this one do not survive a fork. Leaving the pool ends the workers.
    with (
        Counter(of="scenarios") as counter,
        multiprocessing.get_context("spawn").Pool(initializer=_ignore_interrupts) as pool,
    ):
        counter.begin(len(files), 0, "gallery")
        for entry in pool.imap(_entry, files):
            made.append(entry)
            counter.show(len(made), 0)
    return made


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def uses(scenario: Scenario) -> dict[str, list[str]]:
    """Returns the names of the elements that a scenario uses, by kind."""
    resolved = tomllib.loads(scenario.to_toml())
    path, links, flows = resolved["path"], resolved.get("link", []), resolved.get("flow", [])
    workloads = resolved.get("workload", [])
    responsive = [flow for flow in flows if flow["cc"] != "none"]
    places = [path, *links, *path.get("change", [])]
    queues = [place["queue"] for place in places if "queue" in place]
    return {
        "Algorithms": _known(
            [
                *(
                    flow["cc"]
                    for flow in [*responsive, *workloads]
                    if kind_of(flow["cc"]) is not POLICY
                ),
                *(flow.get("receiver") for flow in flows),
            ]
        ),
        "Queues": _known([queue if isinstance(queue, str) else queue["kind"] for queue in queues]),
        "Impairments": _known(
            _impairment(key, value)
            for place in places
            for key, value in place.items()
            if isinstance(value, str)
        ),
        "Profiles": _known([scenario.profile and scenario.profile[0]]),
        "Topologies": _known(
            [
                "several links" if links else "one bottleneck",
                "ACKs over links" if any(flow.get("reverse_route") for flow in flows) else None,
            ]
        ),
        "Flows": _known(
            [
                *("transfer" if "bytes" in flow else "unlimited" for flow in responsive),
                *("rate-limited" for flow in responsive if "app_rate" in flow),
                *("with a schedule" for flow in flows if "app_schedule" in flow),
                *("on and off" for flow in flows if flow.get("app", "").startswith("on ")),
                *(
                    "requests and responses"
                    for flow in flows
                    if flow.get("app", "").startswith("request ")
                ),
                *("media" for flow in flows if flow.get("app", "").startswith("media ")),
                *("datagrams" for flow in flows if flow.get("transport") == "datagram"),
                *(
                    "with an auto-tuned window"
                    for flow in flows
                    if f"{flow.get('receive_window')}".startswith("auto")
                ),
                *("with a trained policy" for flow in responsive if kind_of(flow["cc"]) is POLICY),
                *("unresponsive" for flow in flows if flow["cc"] == "none"),
                *("arriving" for _ in workloads),
                *("on a host" for _ in flows if "host" in resolved),
                *("with a receiver's algorithm" for flow in flows if "receiver" in flow),
            ]
        ),
    }


def _known(names: Iterable[str | None]) -> list[str]:
    """Sorts the names and removes None and duplicates."""
    return sorted({name for name in names if name})


def _impairment(key: str, value: str) -> str | None:
    """Returns the name of the impairment that a key's value has; None for no impairment."""
    if value in ("off", "0%", "keep"):
        return None
    of_key: list[Impairment] = [
        each for each in _core.impairments() if f"path.{key}" in each["keys"]
    ]
    first = value.split()[0]
    named = [each["name"] for each in of_key if each["named"] and each["name"] == first]
    return next(iter([*named, *(each["name"] for each in of_key if not each["named"])]), None)


def _entry(file: Path) -> Entry:
    scenario = load(file)
    used = uses(scenario)
    done = run(scenario, trace=suited_interval(scenario))
    title, *about = first_comment(scenario.source)
    picture, size = _picture(done)
    return Entry(
        file.stem,
        _group(used),
        title,
        about,
        used,
        picture,
        size,
        text(done),
        _expected(done),
        scenario.source,
    )


def _expected(done: Run) -> list[tuple[str, str, bool]]:
    return [
        (each.name, each.shown, each.met) for each in judged(done.scenario, rows_of(done.metrics))
    ]


def _picture(done: Run) -> tuple[bytes, tuple[int, int]]:
    from PIL import Image

    drawn, small = BytesIO(), BytesIO()
    done.plot().savefig(drawn)
    with Image.open(drawn) as image:
        # The method MAXCOVERAGE also keeps colors that only a few pixels have.
        few = image.convert("RGB").quantize(
            _COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        few.save(small, "png", optimize=True)
        return small.getvalue(), image.size


def _group(used: dict[str, list[str]]) -> str:
    """Returns the heading for a scenario: that of its most unusual element."""
    queues, algorithms = set(used["Queues"]), set(used["Algorithms"])
    background = {each["name"] for each in _core.algorithms() if each["background"]}
    plain = {"unlimited", "unresponsive", "with a trained policy"}
    rules = {
        "Paths by name": bool(used["Profiles"]),
        "Several links": "one bottleneck" not in used["Topologies"],
        "Hosts that take time": "on a host" in used["Flows"],
        "Marks: data centers and L4S": bool(queues & _MARKING),
        "Background transfers": bool(algorithms & background),
        "Queues": queues != {"pfifo"},
        "Impairments": bool(used["Impairments"]),
        "Applications": not set(used["Flows"]) <= plain,
    }
    return next((name for name, holds in rules.items() if holds), "Congestion control")


GROUPS = (
    *(
        "Congestion control",
        "Applications",
        "Queues",
        "Marks: data centers and L4S",
        "Background transfers",
    ),
    *("Impairments", "Several links", "Hosts that take time", "Paths by name"),
)


def page(entries: list[Entry]) -> str:
    """Returns the page as HTML."""
    names = {entry.name for entry in entries}
    simulator = inside()
    sections = [(group, [entry for entry in entries if entry.group == group]) for group in GROUPS]
    links = "".join(f'<a href="#{_anchor(group)}">{escape(group)}</a>' for group, _ in sections)
    body = "".join(
        f'<section id="{_anchor(group)}"><h2>{escape(group)}</h2>\n'
        f"{''.join(_article(entry, names, live=simulator is not None) for entry in those)}</section>\n"
        for group, those in sections
    )
    return document(
        "fullpipe: gallery",
        f"""<a class="skip" href="#elements">To the scenarios</a>
<header><h1>Gallery</h1>
<p>All {len(entries)} files of <code>scenarios/</code>, with the command that runs each, and its results.
Every algorithm, queue, impairment and profile is in at least one of them.</p></header>
<nav aria-label="Sections">{links}</nav>
<main>
<section id="elements"><details><summary>Scenarios by algorithm, queue, impairment …</summary>
{_index(entries)}</details></section>
{body}</main>
<footer><p>Made by fullpipe {__version__}. Same scenario, seed and version: same picture.</p></footer>
{simulator or ""}""",
        asset("page.css") + asset("gallery.css"),
        live=simulator is not None,
    )


def _index(entries: list[Entry]) -> str:
    """Returns a table of all elements with the scenarios that use them."""
    rows = ""
    for kind, names in everything().items():
        for name in names:
            where = [entry for entry in entries if name in entry.uses[kind]]
            links = ", ".join(
                f'<a href="#{entry.name}">{escape(entry.name)}</a>' for entry in where[:_FEW]
            )
            more = f" and {len(where) - _FEW} more" if len(where) > _FEW else ""
            head = (
                f'<th scope="rowgroup" rowspan="{len(names)}">{kind}</th>'
                if name == names[0]
                else ""
            )
            rows += f"<tr>{head}<td><code>{escape(name)}</code></td><td>{links}{more}</td></tr>"
    return f'<table class="index"><tbody>{rows}</tbody></table>'


_FEW = 6


def everything() -> dict[str, tuple[str, ...]]:
    """Returns the names of all elements by kind."""
    listed = {kind: tuple(each["name"] for each in listing()) for kind, listing in ELEMENTS.items()}
    return {**listed, **KINDS}


def _article(entry: Entry, names: set[str], *, live: bool) -> str:
    picture = base64.b64encode(entry.picture).decode("ascii")
    width, height = entry.size
    expected = "".join(
        f'<li><code>{escape(condition)}</code>: {escape(value)} <span class="{"better" if met else "worse"}">'
        f"{'✓ met' if met else '✗ missed'}</span></li>"
        for condition, value, met in entry.expected
    )
    return f"""<article id="{entry.name}"><h3>{escape(entry.title)}</h3>
<div class="said">{"".join(_paragraphs(entry.about, names))}
<p><code class="command">fullpipe run scenarios/{entry.name}.toml</code></p>
{again([(entry.name, entry.scenario)]) if live and runs_in_pages(entry.scenario) else ""}
<pre class="scroll" tabindex="0">{escape(entry.numbers.strip(chr(10)))}</pre>
{f"<p>Conditions of <code>expect</code>, and the measured values:</p><ul>{expected}</ul>" if expected else ""}</div>
<img src="data:image/png;base64,{picture}" width="{width}" height="{height}" loading="lazy" decoding="async"
 alt="{escape(entry.title)}: window, rate, states, round-trip time and queue over time">
</article>
"""


# Text to set as code: in backquotes, or an option with its value. And the name of a scenario's file.
_CODE = re.compile(r"`([^`]+)`|(--[\w-]+ [\w.]+=[^\s,;:)]*[^\s,;:).])")
_FILE = re.compile(r"\b([\w-]+)\.toml")


def _paragraphs(lines: list[str], names: set[str]) -> Iterator[str]:
    for setting, words in parts(lines):
        if setting:
            yield f"<p><code>{escape(setting)}</code> {escape(words)}</p>"
        else:
            marked = _CODE.sub(r"<code>\1\2</code>", escape(words, quote=False))
            yield f"<p>{_FILE.sub(lambda file: _link(file, names), marked)}</p>"


def parts(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yields the paragraphs of a scenario's comment, each with the setting that an indented line begins with, or ""."""
    for line in re.sub(r"(?<=\S)\n(?=\S)", " ", "\n".join(lines)).split("\n"):
        if line.startswith(" "):
            setting, _, purpose = re.sub(r"\s{2,}", "\n", line.strip()).partition("\n")
            yield setting, purpose
        elif line:
            yield "", line


def _link(file: re.Match[str], names: set[str]) -> str:
    return f'<a href="#{file[1]}">{file[0]}</a>' if file[1] in names else file[0]


def _anchor(group: str) -> str:
    return re.sub(r"\W+", "-", group.lower())
