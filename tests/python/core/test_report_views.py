"""Pages of packets, requests, two runs, a comparison and a link in headless Chromium: what each shows at first."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

import fullpipe as library
import links
import served
from browser import WEB, browser
from fullpipe.report import write_report
from fullpipe.runs.view.colors import COLORS

if TYPE_CHECKING:
    from pathlib import Path


PATH = 'duration = "{0}"\nmeasure_from = "1s"\n[path]\nrate = "20mbit"\nrtt = "40ms"\nbuffer = "1bdp"\n'
PACKETS = PATH.format("4s") + '[[flow]]\ncc = "cubic"\n'
REQUESTS = PATH.format("8s") + (
    '[[flow]]\nname = "web"\ncc = "cubic"\napp = "request 100kB think 500ms"\n'
    '[[flow]]\nname = "bulk"\ncc = "bbr3"\n'
)
LINKS = PATH.format("6s") + (
    '[[link]]\nname = "uplink"\nrate = "25mbit"\nbuffer = "1bdp"\n'
    '[[flow]]\nname = "a"\ncc = "cubic"\nroute = ["uplink", "bottleneck"]\n'
    '[[flow]]\nname = "b"\ncc = "cubic"\n[[flow]]\ncc = "bbr3"\n'
)


def _run(*words: object) -> None:
    done = served.command(*words)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("views")


@pytest.fixture(scope="module")
def seen(place: Path) -> dict[str, Any]:
    """Observations on each page; see web/views.mjs."""
    chromium = browser()
    library.run(PACKETS, trace="10ms packets").save(place / "packets")
    library.run(REQUESTS, trace="10ms").save(place / "requests")
    library.run(LINKS, trace="10ms").save(place / "links")
    library.run(LINKS, set={"path.queue": "fq_codel"}, trace="10ms").save(place / "other")
    path = ("--rate", "10mbit", "--rtt", "20ms", "--duration", "3s")
    _run("compare", "cubic", "bbr3", *path, "--repeat", "6", "--out", place / "compare")
    pages = {
        name: write_report(place / name) for name in ("packets", "requests", "links", "compare")
    }
    pages["two"] = write_report([place / "links", place / "other"], out=place / "two.html")
    return _look(chromium, place, pages)


def _look(chromium: str, place: Path, pages: dict[str, Path]) -> dict[str, Any]:
    named = [f"{name}={file}" for name, file in pages.items()]
    command = ["node", str(WEB / "views.mjs"), chromium, str(place / "pictures"), *named]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    for name, page in found.items():
        assert page["errors"] == page["narrow"]["errors"] == [], name
        assert page["wide"] == page["narrow"]["wide"] == 0, f"{name} is wider than the window"
    return found


def _range(said: str) -> tuple[float, float]:
    low, _, high = said.removeprefix("time, s from ").partition(" to ")
    return float(low), float(high)


def _rgb(color: str) -> str:
    return ",".join(str(int(color[at : at + 2], 16)) for at in (1, 3, 5))


def test_packets_open_at_a_loss_and_a_button_shows_the_whole_run(seen: dict[str, Any]) -> None:
    page = seen["packets"]
    first, rtt, whole, delays, near, same, zoomed, all_ = map(_range, page["ranges"])
    assert [rtt, whole, delays, same] == [(0, 4)] * 4
    assert first == near == _range(page["reset"])
    assert 0 < first[1] - first[0] < 0.5
    assert [zoomed, all_] == [(1, 3)] * 2, "a zoom is one of all charts"
    panel = page["panels"]["packets"]
    assert panel["buttons"] == ["Single packets", "Whole run"]
    names = [each.removeprefix("●").removeprefix("cubic") for each in panel["legend"]]
    assert names == [": Sent", ": Acknowledged", ": SACKed", ": Sent again", ": Dropped or lost"]
    colors = page["colors"]
    assert colors[_rgb(COLORS[0])] > 100, "packets sent"
    assert colors[_rgb(COLORS[3])] > 100, "packets sent again"
    early, late = page["packets"]
    sent = [
        float(found[1])
        for each in (early, late)
        if (found := re.search(r"cubic: Sent (\S+) MB", each))
    ]
    assert 0 < sent[0] < sent[1], "sequence numbers grow"


def test_requests_are_bars_of_the_flow_that_asked(seen: dict[str, Any], place: Path) -> None:
    page = seen["requests"]
    assert page["panels"]["requests"]["legend"] == ["web"]
    told = [re.search(r"web ([\d,]+) B in (\S+) ms", each) for each in page["requests"]]
    found = [each for each in told if each]
    assert len(found) > 3
    assert len(found) < len(told), "nothing shows between requests"
    metrics = json.loads((place / "requests" / "metrics.json").read_text())
    times = metrics["flows"][0]["response_s"]
    for each in found:
        assert each[1] == "100,000"
        assert times["min"] * 900 < float(each[2]) < times["max"] * 3000
    assert page["colors"][_rgb(COLORS[0])] > 1000, "in the color of CUBIC"
    assert any("responses took" in each for each in page["findings"])


def test_flows_of_one_algorithm_differ_and_drops_are_told_by_flow(seen: dict[str, Any]) -> None:
    page = seen["links"]
    buttons = {each["name"]: each["colors"] for each in page["flows"]}
    assert set(buttons) == {"a (cubic)", "b (cubic)", "bbr3"}
    assert len({each for colors in buttons.values() for each in colors}) == 3
    queue = page["panels"]["queue"]["legend"]
    assert {"bottleneck", "uplink", "bottleneck: Drops"} <= set(queue)
    assert {"a: Declared lost", "bbr3: Declared lost"} & set(queue)
    blocks = page["panels"]["queue"]["blocks"]
    of_algorithms = {f"rgb({_rgb(color).replace(',', ', ')})" for color in COLORS}
    assert blocks["bottleneck: Drops"] not in of_algorithms
    assert blocks["bbr3: Declared lost"] == buttons["bbr3"][0]
    assert len({*blocks.values()}) == len(blocks)
    # twelve lines are too many at first
    boxes = dict(page["panels"]["cwnd"]["boxes"])
    assert boxes == {"cwnd cwnd": True, "cwnd inflight": False, "cwnd ssthresh": False, "cwnd bdp": False}  # fmt: skip
    before, after = page["toggled"]
    assert "In flight" not in before
    assert "a: In flight" in after


def test_two_runs_are_readable(seen: dict[str, Any]) -> None:
    page = seen["two"]
    assert len(page["panels"]["cwnd"]["legend"]) == 6
    phases = page["panels"]["rate-rtt"]["legend"]
    assert [each[0] for each in phases] == ["■"] * 3 + ["×"] * 3
    blocks = page["panels"]["share"]["blocks"]
    assert len({*blocks.values()}) == len(blocks) == 3, "areas are those of one run"
    assert page["panels"]["states"]["blocks"] == {}, "colors there are those of states"
    assert re.search(r"than queue pfifo: \S+ against \S+", page["findings"][0])
    assert all("significant" not in each for each in page["findings"])


def test_a_comparison_lays_the_contenders_over_each_other(seen: dict[str, Any]) -> None:
    page = seen["compare"]
    assert [flow["name"] for flow in page["flows"]] == ["cubic", "bbr3"]
    assert page["panels"]["rate"]["legend"][:2] == ["cubic alone", "bbr3 alone"]
    assert len(page["commands"]) == 2
    assert "Distributions" in page["sections"]
    assert not any(
        "bbr3" in each and "ssthresh" in each for each in page["panels"]["cwnd"]["legend"]
    )
    assert any("alone: bbr3" in each for each in page["findings"]), page["findings"]


def test_a_link_has_sentences_and_no_seed(place: Path) -> None:
    chromium = browser()
    links.needed()
    client = [links.tool("iperf3"), "--client", links.FAR, "--time", "2", "--reverse"]
    server = ("--server", "iperf3 --server --one-off")
    done = links.run("--profile=lte", *server, "--out", str(place / "link"), "--", *client)
    assert done.returncode == 0, done.stderr
    page = _look(chromium, place, {"link": write_report(place / "link")})["link"]
    assert page["about"] == ["The path is the profile lte."]
    words = " ".join([*page["facts"], *page["sections"], *page["heads"], *page["findings"]])
    assert "seed" not in words.lower(), words
    assert any(" had a goodput of " in each and " RTT of " in each for each in page["findings"])
    assert {"rate", "rtt", "queue"} <= set(page["panels"])
    assert page["panels"]["cwnd"]["title"].startswith("Data in flight"), (
        "a measured flow has no window"
    )
    assert "uplink" in page["panels"]["queue"]["legend"]
