"""Measures how often `fullpipe score` errs, and writes docs/evidence/score-bbr3.md about a search.

    python benches/score.py races             # 2,000 simulated races of 100 equal candidates, for each kind of points
    python benches/score.py alarms            # 100 suites for each candidate that does not know the shown cells
    python benches/score.py tuned             # 10 suites: candidates that are fitted to 20 shown cells
    python benches/score.py sets --sets 1000  # sets of parameters of BBRv3, for --candidates, the defaults first
    python benches/score.py page RESULT       # the page, from the JSON of `fullpipe score --candidates … --json`

Suites have a tenth of the cells of `general`, 20, and hold-outs of 40. Values are kept in --out, so that a command
resumes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from fullpipe.wings.search.score import holdout, race
from fullpipe.wings.search.score.candidate import candidate
from fullpipe.wings.search.score.command import Asked, measured
from fullpipe.wings.search.score.suite import suite

GENERAL = Path(__file__).parents[1] / "python/fullpipe/wings/search/score/suites/general.toml"
SETS = {
    "startup_pacing_gain": (1.5, 4),
    "up_pacing_gain": (1.05, 1.6),
    "down_pacing_gain": (0.6, 0.98),
    "cwnd_gain": (1.2, 3),
    "loss_threshold": (0.005, 0.2),
    "beta": (0.4, 0.95),
    "headroom": (0, 0.4),
}
"""Ranges of BBRv3's parameters in a search."""

# It knows the RTT, rate and buffer of each shown cell: on these it sends a BDP, elsewhere it is Reno.
FITTED = """\
import fullpipe

SEEN = {seen!r}  # RTT in seconds, window in bytes


class Fitted:
    def __init__(self, config):
        self.mss, self.cwnd, self.limit, self.known = config.smss, config.initial_cwnd, 1 << 40, -1

    def on_ack(self, cx, ack):
        if self.known < 0 and ack.rtt:
            near = min(SEEN, key=lambda each: abs(each[0] - ack.rtt))
            self.known = near[1] if abs(near[0] - ack.rtt) < 0.002 else 0
        if self.known > 0:
            self.cwnd = max(self.known, 2 * self.mss)
        elif not cx.conn.in_recovery:
            grows = ack.newly_acked
            self.cwnd += grows if self.cwnd < self.limit else self.mss * grows // self.cwnd

    def on_recovery(self, cx, change):
        if self.known <= 0 and change.kind in ("enter", "timeout"):
            self.limit = max(cx.conn.inflight // 2, 2 * self.mss)
            self.cwnd = self.limit if change.kind == "enter" else self.mss

    def decision(self):
        return fullpipe.Decision(cwnd=self.cwnd, ssthresh=self.limit)
"""


def small(folder: Path, seed: int) -> Path:
    """Returns a suite with 20 cells of its own."""
    text = GENERAL.read_text(encoding="utf-8")
    for cells, few in ((70, 7), (40, 4), (25, 3)):
        text = text.replace(f"cells = {cells}\n", f"cells = {few}\n")
    text = text.replace("[[part]]", f"seed = {seed}\nholdout = 2\n\n[[part]]", 1)
    file = folder / f"suite-{seed}.toml"
    file.write_text(text, encoding="utf-8")
    return file


def parameters(seed: int) -> dict[str, float]:
    """Returns a set of parameters of BBRv3."""
    drawn = random.Random(seed)
    return {name: round(drawn.uniform(low, high), 4) for name, (low, high) in SETS.items()}


def sets_of(count: int) -> None:
    """Prints sets of parameters, the defaults first."""
    print(json.dumps({"candidate": "bbr3", "name": "defaults"}))
    for seed in range(1, count):
        print(json.dumps({"candidate": "bbr3", "name": f"set {seed}", "params": parameters(seed)}))


def share(hits: int, of: int) -> str:
    """Formats a share with Clopper's and Pearson's interval."""
    found = binomtest(hits, of).proportion_ci(0.95)
    return f"{hits} of {of}, {hits / of:.1%} [{found.low:.1%}, {found.high:.1%}]"


def races(count: int, candidates: int) -> None:
    """Prints how often equal candidates stop, and one that would have won on all cells."""
    drawn = np.random.default_rng(1)
    ends = race.stages(200)
    for kind in ("normal", "skewed", "common"):
        first = winner = cells = 0
        for _ in range(count):
            points = drawn.normal(size=(candidates, 200))
            if kind == "skewed":
                points = np.exp(1.2 * points)
            elif kind == "common":
                points = 0.2 * points + 2 * drawn.normal(size=200)
            stop = race.raced(points, ends)
            first += stop[0] < ends[-1]
            winner += stop[points.mean(axis=1).argmax()] < ends[-1]
            cells += stop.mean()
        print(
            f"{kind}: the first of {candidates} equal candidates stopped in {share(first, count)}"
        )
        print(
            f"  the winner on all cells in {share(winner, count)}; {cells / count:.0f} of 200 cells"
        )


def alarms(folder: Path, suites: int, sets: int) -> None:
    """Prints how often candidates raise an alarm that do not know the shown cells.

    A suite has 20 of the 200 cells of `general`, and a hold-out of 40 others. The difference of the means of two
    samples without a common cell has the variance of independent ones.
    """
    asked = Asked(folder=folder / "cache", holdout=False, as_json=True)
    general = suite("general")
    cells = general.cells()
    names = [("newreno", {}), ("copa", {}), ("bbr3", {})]
    those = [candidate(name, params) for name, params in names]
    those += [candidate("bbr3", parameters(seed)) for seed in range(1, sets + 1)]
    points = {}
    for each in those:
        [found] = measured([each], asked).all
        points[each.name] = found.points
    drawn = random.Random(1)
    hits = of = 0
    for each in those:
        if each.name == "bbr3":
            continue  # the control itself, which has no points beyond it
        control = points["bbr3"]
        raised = 0
        for _ in range(suites):
            shown, hidden = [], []
            for number in range(len(general.parts)):
                there = [cell for cell in cells if cell.part == number]
                drawn.shuffle(there)
                few = max(len(there) // 10, 2)
                shown += there[:few]
                hidden += there[few : 3 * few]
            both = [
                holdout.Tried(
                    some, {cell.key: points[each.name][cell.key] for cell in some}, control
                )
                for some in (shown, hidden)
            ]
            raised += holdout.alarm(general, both[0], both[1]) < holdout.ALARM
        hits, of = hits + raised, of + suites
        print(f"{each.name}: alarms in {share(raised, suites)}", flush=True)
    print(f"all: {share(hits, of)}")


def fitted(folder: Path, file: Path) -> Path:
    """Returns a candidate that knows the shown cells of a suite."""
    seen = []
    made = suite(str(file))
    for cell in made.cells():
        keys = dict(cell.settings)
        rtt = float(keys["path.rtt"].removesuffix("ms")) / 1e3
        rate = float(keys["path.rate"].removesuffix("mbit")) * 1e6
        seen.append((rtt + 12_000 / rate, int(1.05 * rate * rtt / 8) + 3000))
    place = folder / f"fitted_{file.stem.replace('-', '_')}.py"
    place.write_text(FITTED.format(seen=seen), encoding="utf-8")
    return place


def tuned(folder: Path, suites: int, sets: int) -> None:
    """Prints how often candidates raise an alarm that are fitted to the shown cells, and their scores."""
    raised = chosen = 0
    for seed in range(1, suites + 1):
        file = small(folder, seed)
        asked = Asked(suite=str(file), folder=folder / "cache", alpha=0.05, as_json=True)
        code = measured([candidate(f"{fitted(folder, file)}:Fitted")], asked)
        assert code.hidden is not None, code.all[0].failed
        assert code.all[0].score is not None
        raised += code.hidden.alarm
        every = [candidate("bbr3", parameters(1000 * seed + each)) for each in range(sets)]
        best = measured(every, asked)
        assert best.hidden is not None
        assert best.all[0].score is not None
        chosen += best.hidden.alarm
        print(
            f"suite {seed}: fitted {code.all[0].score.mean:+.2f} shown, {code.hidden.score.mean:+.2f} hold-out, "
            f"p {code.hidden.probability:.1e}; best of {sets} sets {best.all[0].score.mean:+.2f}, "
            f"{best.hidden.score.mean:+.2f}, p {best.hidden.probability:.2f}",
            flush=True,
        )
    print(f"candidates that know the shown cells: alarms in {share(raised, suites)}")
    print(f"the best of {sets} sets of BBRv3 on 20 cells: alarms in {share(chosen, suites)}")


PAGE = """\
# A search of BBRv3's parameters

**Claim.** `fullpipe score` compares 1,000 sets of parameters over 200 cells within an hour on two cores, and
tells how far to trust the winner.

**Method.** {count:,} sets of BBRv3 (profile "draft"), the defaults and sets that are uniformly drawn from
{ranges}. They race over
the 200 cells of the suite `general` ([Score](../reference/score.md)): points are binary logarithms of each
metric over CUBIC's on the same cell, so
+1 is twice as good. Those that are worse than the leader stop early; the best one stops by mistake with a
probability of at most
{alpha:.0%}. The winner also runs on a hold-out of {hidden} secret cells.

```sh
python benches/score.py sets --sets {count} > sets.jsonl
fullpipe score --candidates sets.jsonl --json > result.json
fullpipe score bbr3 --no-holdout --json > defaults.json
python benches/score.py page result.json --defaults defaults.json
```

**Result.** {runs:,} runs instead of {all:,}, {seconds:.0f} s{load}. {ended} sets ran to the end, {stopped}
stopped early, {first} of
them at the first look, after {look} cells. {whole}The hold-out raised {alarm}.

| | Score [95 %] | {parts} |
|---|--:|{dashes}
{rows}

The best set: {best}.

**Where it is worse than the defaults.** Mean points of each metric, the best set's minus the defaults':

| Part | Metric | Difference |
|---|---|--:|
{differences}

{losses}

**Limits.** The score is about this suite: its paths, its weights, and CUBIC as the unit. A weight of another
size for a metric gives another
winner. The winner's own score is that of the luckiest of many; sets near the top do not differ significantly.
This page is not a
recommendation to change BBRv3's parameters.

**Errors of the method**, measured with equal or known candidates (`python benches/score.py races`, `alarms`,
`tuned`):

{errors}
"""


def page(file: Path, defaults: Path, errors: str, load: str, cpu_s: float) -> None:
    """Prints the page of a search."""
    result = json.loads(file.read_text(encoding="utf-8"))
    every = result["candidates"]
    best = every[0]
    [usual] = json.loads(defaults.read_text(encoding="utf-8"))["candidates"]  # on all cells
    usual["name"] = "defaults"
    stops = Counter(each["stopped"] for each in every if each["stopped"])
    parts = list(best["parts"])
    few = [*(each for each in every[:5] if each["params"]), usual]
    gaps = [
        (part, metric, best["parts"][part]["metrics"][metric] - value)
        for part in parts
        for metric, value in usual["parts"][part]["metrics"].items()
    ]
    worse = [
        f"{metric} in `{part}` ({gap:+.2f})"
        for part, metric, gap in sorted(gaps, key=lambda it: it[2])
        if gap < 0
    ]
    count = len(every)
    wall_s = cpu_s * 1000 / count / 2
    whole = f"The processor's time was {cpu_s:.0f} s: 1,000 sets take about {wall_s:.0f} s on two idle cores. "
    print(
        _wrapped(
            PAGE.format(
                count=count,
                ranges=", ".join(
                    f"`{name}` {low:g} to {high:g}" for name, (low, high) in SETS.items()
                ),
                alpha=result["alpha"],
                hidden=result["holdout"]["cells"],
                runs=result["runs"],
                all=count * result["cells"],
                seconds=result["seconds"],
                load=load,
                ended=count - sum(stops.values()),
                stopped=sum(stops.values()),
                first=stops[min(stops)],
                look=min(stops),
                whole=whole,
                alarm="an alarm" if result["holdout"]["alarm"] else "no alarm",
                parts=" | ".join(f"`{part}`" for part in parts),
                dashes="--:|" * len(parts),
                rows="\n".join(_row(each, parts) for each in few),
                best=", ".join(f"`{name}` {value:g}" for name, value in best["params"].items())
                or "the defaults",
                differences="\n".join(
                    f"| `{part}` | {metric} | {gap:+.2f} |" for part, metric, gap in gaps
                ),
                losses=f"It is worse in {', '.join(worse)}."
                if worse
                else "It is worse in none of these means.",
                errors=errors,
            )
        ),
        end="",
    )


def _wrapped(text: str) -> str:
    """Fills the paragraphs of a page."""
    blocks = text.split("\n\n")
    plain = [not block.startswith(("|", "#", "```")) for block in blocks]
    return (
        "\n\n".join(
            "\n".join(
                textwrap.wrap(
                    " ".join(block.split()), 120, break_long_words=False, break_on_hyphens=False
                )
            )
            if is_plain
            else block
            for block, is_plain in zip(blocks, plain, strict=True)
        ).rstrip()
        + "\n"
    )


def _row(each: dict[str, Any], parts: list[str]) -> str:
    low, high = each["interval"]
    cells = f" ({each['cells']} cells)" if each["stopped"] else ""
    values = " | ".join(f"{each['parts'][part]['score']:+.2f}" for part in parts)
    return f"| {each['name']}{cells} | {each['score']:+.3f} [{low:+.3f}, {high:+.3f}] | {values} |"


def main() -> None:
    """Measures what the command names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["races", "alarms", "tuned", "sets", "page"])
    parser.add_argument("result", type=Path, nargs="?")
    parser.add_argument("--errors", type=Path, help="text of the page about the measured errors")
    parser.add_argument(
        "--load", default="", help="words of the page about the load of the machine"
    )
    parser.add_argument("--out", type=Path, default=Path("target/score-errors"))
    parser.add_argument("--races", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--suites", type=int)
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument(
        "--cpu", type=float, default=0.0, help="processor's seconds of the search, for the page"
    )
    parser.add_argument("--defaults", type=Path, help="JSON of the defaults on all cells")
    given = parser.parse_args()
    if given.what == "sets":
        sets_of(given.sets)
        return
    if given.what == "page":
        errors = (
            given.errors.read_text(encoding="utf-8").strip() if given.errors else "not measured"
        )
        page(given.result, given.defaults, errors, given.load, given.cpu)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_STATE_HOME"] = str((given.out / "state").resolve())
    if given.what == "races":
        races(given.races, given.candidates)
    elif given.what == "alarms":
        alarms(given.out, given.suites or 100, min(given.sets, 10))
    else:
        tuned(given.out, given.suites or 10, given.sets)


if __name__ == "__main__":
    main()
