"""Puts the simulator, a scenario and the catalog of algorithms into one page."""

from __future__ import annotations

import base64
import gzip
import json
import re
import tomllib
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from fullpipe import _core
from fullpipe.algorithms import resolve
from fullpipe.algorithms.plugins import built_in
from fullpipe.errors import UserError
from fullpipe.runs.view.colors import COLORS, DASHES, ON_DARK, color_of
from fullpipe.runs.view.document import document
from fullpipe.scenario import origin

if TYPE_CHECKING:
    from collections.abc import Sequence

ENGINE = "engine.wasm.gz"
DEFAULT = """# CUBIC against BBRv3
duration = "30s"

[path]
rate = "20mbit"
rtt = "40ms"
buffer = "default"

[[flow]]
cc = "cubic"

[[flow]]
cc = "bbr3"
"""
"""The scenario of a page for which none is named: a change of it is drawn within a tenth of a second."""
_BUILD = "make wasm"
_OWN_STATES = 6
"""Number of colors for the states of a reader's class."""
_UNREADABLE = "/no such directory/scenario"
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; "
    "worker-src blob:; img-src data:; connect-src 'none'"
)
"""The content security policy of the page, and of pages that open it: it inherits theirs."""


class EngineError(UserError):
    """The simulator for pages is not built, or lacks what the scenario needs."""


def explorer(text: str, file: str, lesson: str | None = None) -> str:
    """Returns a page that runs a scenario in the browser and lets a reader change it.

    Args:
        text: The scenario in TOML.
        file: The name of its file, for errors and as the place of files that it names.
        lesson: The name of the lesson to begin with.

    Raises:
        EngineError: When the simulator for pages is not built, or lacks an algorithm of the scenario.
        ScenarioError: When the scenario is wrong.
    """
    text, file = _alone(text, file), origin.shown(file)
    if others := outsiders(text):
        problem, fix = resolve.IN_PAGE["explore"]
        raise EngineError(f"{problem}, and not {', '.join(sorted(others))}\n  fix: {fix}")
    try:
        engine = _asset(ENGINE)
    except FileNotFoundError:
        message = f"the simulator for pages is not built\n  fix: run `{_BUILD}` in the repository of fullpipe"
        raise EngineError(message) from None
    data = {
        "colors": list(COLORS),
        "onDark": list(ON_DARK),
        "dashes": [list(each) for each in DASHES],
        "explore": {"name": file, "text": text, "lesson": lesson, **_catalogue()},
    }
    coded = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    script, worker, styles, own = (
        _asset(name).decode() for name in ("main.js", "worker.js", "main.css", "own.js")
    )
    body = f"""{_BODY.format(own=escape(own))}
<script type="application/json" id="data">{coded}</script>
<script type="text/plain" id="worker">{worker}</script>
<script type="text/plain" id="engine">{base64.b64encode(engine).decode()}</script>
<script>{script}</script>"""
    return document(f"{file} · fullpipe explore", body, styles, POLICY)


_BODY = """<a class="skip" href="#results">To the results</a>
<header><h1 id="title">fullpipe explore</h1></header>
<main class="explore">
<section aria-label="Scenario"><h2>Scenario</h2><div id="controls"></div>
<details open><summary>As text</summary>
<textarea id="toml" spellcheck="false" aria-label="Scenario in TOML" aria-describedby="problem"></textarea></details>
</section>
<div class="results">
<div id="actions"></div>
<section id="lesson" aria-label="Lesson" hidden></section>
<p id="problem" role="alert"></p>
<p class="note"><span id="status" role="status">loading the simulator</span> · trace hash <code id="hash">–</code></p>
<section aria-label="Charts" id="charts"></section>
<section aria-label="The path at one time"><h2>The path at <span id="time">0.000 s</span></h2>
<div id="steps"></div>
<canvas id="pipe" role="img" aria-label="The path"></canvas>
<p class="note" id="under-way"></p><ul id="states"></ul></section>
<section id="results" aria-label="Results"></section>
<pre id="command"></pre>
<details><summary>Your own algorithm</summary>
<p class="note">A class in JavaScript with the methods and arguments of a Python class
(docs/reference/controller.md). It runs in this page only: no link contains it.</p>
<textarea id="own" spellcheck="false" aria-label="Your own algorithm in JavaScript"
aria-describedby="own-problem">{own}</textarea>
<div id="own-actions"></div><p id="own-problem" role="alert"></p></details>
</div>
</main>
<footer><p>The simulator of fullpipe <span id="version"></span> runs in this page, without network.
Charts: uPlot, MIT, © Leon Sorokin.</p></footer>"""


def inside() -> str | None:
    """Returns the script elements with which another page opens the explorer; None without its simulator.

    They go behind the page's buttons of the class `again`, as :func:`again` makes them.
    """
    try:
        page = explorer(DEFAULT, "scenario")
    except EngineError:
        return None
    packed = base64.b64encode(gzip.compress(page.encode(), 9, mtime=0)).decode()
    script = _asset("again.js").decode()
    return f'<script type="text/plain" id="explorer">{packed}</script>\n<script>{script}</script>'


def again(scenarios: Sequence[tuple[str, str]]) -> str:
    """Returns the controls that open one of the scenarios in the explorer.

    Args:
        scenarios: The label and the text of each.
    """
    texts = json.dumps([text for _, text in scenarios]).replace("<", "\\u003c")
    options = "".join(f"<option>{escape(label)}</option>" for label, _ in scenarios)
    hidden = " hidden" if len(scenarios) == 1 else ""
    return (
        f'<p class="again"><select aria-label="Run to change"{hidden}>{options}</select> '
        '<button type="button">Change and run again</button>'
        f'<script type="application/json">{texts}</script></p>'
    )


def runs_in_pages(text: str) -> bool:
    """Returns whether a scenario needs neither files nor algorithms outside of the simulator."""
    try:
        if _names_a_file(tomllib.loads(text)) or outsiders(text):
            return False
        _core.Scenario.parse(text, _UNREADABLE, [])
    except (_core.ScenarioError, tomllib.TOMLDecodeError):
        return False
    return True


def _names_a_file(value: object, key: str = "") -> bool:
    """Returns whether a value of a scenario names a file, like "mahimahi file lte.trace" or a workload's source."""
    if isinstance(value, dict):
        return any(_names_a_file(of, name) for name, of in value.items())
    if isinstance(value, list):
        return any(_names_a_file(of, key) for of in value)
    return isinstance(value, str) and (key == "source" or re.search(r"\bfile ", value) is not None)


def outsiders(text: str) -> set[str]:
    """Returns the algorithms of a scenario that the simulator in a page lacks: classes, libraries and policies."""
    kinds = {name: resolve.kind_of(name) for name in _core.algorithm_names(text)}
    return {name for name, kind in kinds.items() if kind is None or "explore" in kind.holes}


def _asset(name: str) -> bytes:
    return files("fullpipe.wings.pages.explore").joinpath("assets", name).read_bytes()


def _alone(text: str, file: str) -> str:
    """Returns the text, or if it names files, the whole scenario with their contents.

    Raises:
        ScenarioError: When the scenario is wrong.
    """
    scenario = _core.Scenario.parse(text, file, [])
    if _names_a_file(tomllib.loads(text)):
        return scenario.to_toml_to_change()
    try:
        _core.Scenario.parse(text, _UNREADABLE, [])
    except _core.ScenarioError:
        return scenario.to_toml_to_change()
    return text


def _state_colors() -> dict[str, Any]:
    """Returns the colors of states as pictures of runs have them: on white, and on a dark page."""
    from fullpipe.runs.view import states

    fields = [field for each in _core.algorithms() for field in each["fields"]]
    named = [label for field in fields if field["name"] == "state" for label in field["labels"]]
    # Controllers with finer states of their own report these two to a trace's transitions.
    known = ["recovery", "congestion_avoidance", *named]
    unknown = [f"state {number} of a class" for number in range(_OWN_STATES)]

    def colors(names: Sequence[str]) -> dict[str, tuple[str, str]]:
        light, dark = states.colors(names), states.colors(names, dark=True)
        return {name: (light[name], dark[name]) for name in light}

    return {"states": colors(known), "otherStates": list(colors(unknown).values())}


def _catalogue() -> dict[str, Any]:
    """Returns what the controls offer."""
    params = ("name", "unit", "default", "range", "choices", "purpose")
    return {
        "algorithms": [
            {
                "name": each["name"],
                "purpose": each["purpose"],
                "color": color_of(each["name"]),
                "params": [
                    {key: value for key, value in param.items() if key in params}
                    for param in each["params"]
                ],
            }
            for each in _core.algorithms()
            if each["name"] in built_in()
        ],
        "queues": [
            {
                "name": each["name"],
                "purpose": each["purpose"],
                "needs_buffer": each["limit"] is None,
            }
            for each in _core.queues()
        ],
        "profiles": [{key: each[key] for key in ("name", "purpose")} for each in _core.profiles()],
        "scenarios": dict(_examples()),
        **_state_colors(),
        "lessons": [dict(each) for each in lessons()],
    }


class Step(TypedDict):
    """A change of a lesson's scenario."""

    say: str
    """Its effect, in words."""
    set: dict[str, str]
    """The changed keys with their values."""
    expect: list[str]
    """The effect as conditions, as in a scenario."""


class Lesson(TypedDict):
    """A claim that a reader sees by changing a scenario."""

    name: str
    title: str
    claim: str
    question: str
    answer: str
    code: NotRequired[str]
    """A class that answers the question, for a lesson in which the reader writes one."""
    sources: list[str]
    scenario: str
    say: NotRequired[str]
    """The scenario before any step, in words."""
    expect: list[str]
    step: list[Step]


def lessons() -> list[Lesson]:
    """Returns the lessons of the package, in their order."""
    found = []
    for file in sorted(
        files("fullpipe.wings.pages.explore").joinpath("lessons").iterdir(), key=str
    ):
        lesson: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        lesson["scenario"] = lesson["scenario"].lstrip()
        name = file.name.partition("-")[2].removesuffix(".toml")
        found.append(cast("Lesson", {"name": name, **lesson}))
    return found


def names() -> list[tuple[str, str]]:
    """Returns name and title of each lesson."""
    return [(each["name"], each["title"]) for each in lessons()]


def _examples() -> list[tuple[str, str]]:
    """Returns name and text of each packaged scenario that needs no file."""
    texts = []
    for file in sorted(origin.packaged()):
        text = file.read_text(encoding="utf-8")
        try:
            _core.Scenario.parse(text, _UNREADABLE, [])
        except _core.ScenarioError:
            continue
        texts.append((file.stem, text))
    return texts
