"""The page of all scenarios."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import fullpipe
from fullpipe.wings.pages import gallery

if TYPE_CHECKING:
    from conftest import Fullpipe

ROOT = Path(__file__).parents[4]
FILES = sorted((ROOT / "scenarios").glob("*.toml"))


def test_all_that_is_listed_is_used_by_a_scenario() -> None:
    used: dict[str, set[str]] = {}
    for file in FILES:
        for kind, names in gallery.uses(fullpipe.load(file)).items():
            used.setdefault(kind, set()).update(names)
    for kind, elements in gallery.everything().items():
        assert set(elements) - used[kind] == set(), f"{kind} not used by any file of scenarios/"
        assert used[kind] <= set(elements)


def test_the_page_has_what_each_scenario_shows() -> None:
    names = ("transfer", "loopback", "congested-ack-path")
    page = gallery.page(gallery.entries([ROOT / f"scenarios/{name}.toml" for name in names]))
    articles = dict(re.findall(r'<article id="([\w-]+)">(.*?)</article>', page, re.DOTALL))
    assert set(articles) == set(names)
    for name, article in articles.items():
        title = fullpipe.load(ROOT / f"scenarios/{name}.toml").title
        assert f"<h3>{title}</h3>" in article
        assert f"fullpipe run scenarios/{name}.toml" in article
        assert 'src="data:image/png;base64,' in article
        assert "bottleneck" in article  # the table of links
    assert (
        "<p>Slow start determines the completion time of a short transfer" in articles["transfer"]
    )
    assert "<p><code>--set flow.0.cc=cubic</code> limited by the host</p>" in articles["loopback"]
    # An element's row links to its uses.
    assert re.search(r'<code>ACKs over links</code></td><td><a href="#congested-ack-path">', page)
    assert not re.search(r'(src|href)="(?!#|data:)', page), "it needs no network"


def test_the_gallery_has_no_choice_of_scenarios(fullpipe: Fullpipe) -> None:
    done = fullpipe("explore", "--gallery", "cubic", "--seed", "3")
    assert (done.returncode, done.stderr) == (
        2,
        "error: --gallery: it has all scenarios as they are\n  fix: leave out SCENARIO and --seed\n",
    )


def test_a_scenario_stands_where_it_is_most_special() -> None:
    groups = {file.stem: gallery._group(gallery.uses(fullpipe.load(file))) for file in FILES}
    assert groups["cubic-vs-bbr1"] == "Congestion control"
    assert groups["pie"] == "Queues"
    assert groups["prague-vs-cubic"] == "Marks: data centers and L4S"
    assert groups["rledbat-vs-cubic"] == "Background transfers"
    assert groups["profile-lte"] == "Paths by name"
    assert groups["parking-lot"] == "Several links"
    assert groups["transfer"] == "Applications"
    assert groups["lossy"] == "Impairments"
    assert groups["loopback"] == "Hosts that take time"
