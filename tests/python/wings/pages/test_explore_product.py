"""Every control of `fullpipe explore` that replaces or removes keys, on a page of every origin: each ends in a run."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import fullpipe as api
from browser import built_engine, observed
from fullpipe.wings.pages import explore
from served import command

if TYPE_CHECKING:
    from pathlib import Path

_HAND = """path = { rate = "20mbit", rtt = "40ms", queue = { kind = "codel", target = "10ms" }, buffer = "100packets" }
duration = "1s"
expect = [
  "flow.cubic.goodput >= 1mbit", # the first
  "jain >= 0.1",
]

[[flow]]
cc = "cubic"
params.beta = 0.8
params.c = 0.5

[[flow]] # the second
cc = "bbr3"

[flow.params]
beta = 0.6
"""
_DOTTED = """path.rate = "20mbit"
path.rtt = "40ms"
path.queue.kind = "red"
path.buffer = "100packets"
duration = "1s"

[[flow]]
name = "bbr3"
cc = "bbr3"

[[flow]]
name = "cubic-2"
cc = "cubic"
"""


def _text_of(page: Path) -> str:
    data = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert data
    text: str = json.loads(data[1])["explore"]["text"]
    return text


@pytest.fixture(scope="module")
def origins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The text of a page of each origin, of a second each."""
    built_engine()
    place = tmp_path_factory.mktemp("origins")

    def made(name: str, *arguments: str) -> str:
        out = place / f"{name}.html"
        done = command("explore", *arguments, "--out", out)
        assert done.returncode == 0, done.stderr
        return _text_of(out)

    short = ("--duration", "1s")
    run = place / "run"
    options = ("cubic", "bbr3", "--rate", "20mbit", *short)
    assert command("run", *options, "--out", run).returncode == 0
    (lesson,) = (each for each in explore.lessons() if each["name"] == "bufferbloat")
    return {
        "options": made("options", *options),
        "a profile": made("profile", "cubic", "--profile", "leo", *short),
        "a queue's options": made("queue", "codel", *short, "--set", "path.queue.target=10ms"),
        "a seed": made("seed", "workload", "--seed", "7", *short),
        "a report": (run / "resolved.toml").read_text(encoding="utf-8"),
        "links": api.load("lia-two-links", duration="1s").to_toml(),
        "a lesson": re.sub("(?m)^duration = .*", 'duration = "1s"', lesson["scenario"]),
        "a hand": _HAND,
        "dotted keys": _DOTTED,
    }


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, origins: dict[str, str]) -> dict[str, Any]:
    """Observations on the page in a browser."""
    built_engine()
    place = tmp_path_factory.mktemp("product")
    page, texts = place / "explore.html", place / "texts.json"
    page.write_text(explore.explorer(explore.DEFAULT, "explore"), encoding="utf-8")
    texts.write_text(json.dumps(origins), encoding="utf-8")
    return observed("explore-product.mjs", page, texts)


def test_every_control_on_every_page_leads_to_a_run(
    seen: dict[str, Any], origins: dict[str, str]
) -> None:
    assert seen["refused"] == {}
    assert seen["ran"] >= 12 * len(origins)


def test_a_page_of_options_keeps_what_follows_algorithm_and_path_open(
    origins: dict[str, str],
) -> None:
    for name in ("options", "a profile", "a queue's options", "a seed"):
        assert "receive_window" not in origins[name], name
        assert "[flow.params]" not in origins[name], name
    assert "[flow.params]" in origins["a report"]
