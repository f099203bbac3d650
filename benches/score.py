"""Measures how often `fullpipe score` errs: races that lose the best candidate, and alarms of the hold-out.

    python benches/score.py races             # 2,000 simulated races of 100 equal candidates, for each kind of points
    python benches/score.py alarms            # 100 suites: candidates that do not know the shown cells
    python benches/score.py tuned             # 10 suites: candidates that are fitted to 20 shown cells

Suites are those of `general` with a tenth of its cells, 20, each with another seed, and hold-outs of 40 cells. Values
are kept in --out, so that a command resumes.
"""

from __future__ import annotations

import argparse
import os
import random
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from fullpipe.score import race
from fullpipe.score.candidate import candidate
from fullpipe.score.command import Asked, measured
from fullpipe.score.suite import suite

GENERAL = Path(__file__).parents[1] / "python/fullpipe/score/suites/general.toml"
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
        self.mss, self.cwnd, self.limit, self.known = config.smss, config.initial_cwnd, 1 << 40, None

    def on_ack(self, cx, ack):
        if self.known is None and ack.rtt is not None:
            near = min(SEEN, key=lambda each: abs(each[0] - ack.rtt))
            self.known = near[1] if abs(near[0] - ack.rtt) < 0.002 else 0
        if self.known:
            self.cwnd = max(self.known, 2 * self.mss)
        elif not cx.conn.in_recovery:
            grows = ack.newly_acked
            self.cwnd += grows if self.cwnd < self.limit else self.mss * grows // self.cwnd

    def on_recovery(self, cx, change):
        if not self.known and change.kind in ("enter", "timeout"):
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


def alarms(folder: Path, suites: int) -> None:
    """Prints how often candidates raise an alarm that do not know the shown cells."""
    for name in ("newreno", "bbr3"):
        raised = []
        for seed in range(1, suites + 1):
            params = parameters(seed) if name == "bbr3" else {}
            asked = Asked(suite=str(small(folder, seed)), folder=folder / "cache", as_json=True)
            hidden = measured([candidate(name, params)], asked).hidden
            assert hidden is not None
            raised.append(hidden.probability)
        hits = sum(each < 0.02 for each in raised)
        print(
            f"{name}: alarms in {share(hits, suites)}; p below 0.05 in {sum(p < 0.05 for p in raised)}"
        )


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


def main() -> None:
    """Measures what the command names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["races", "alarms", "tuned"])
    parser.add_argument("--out", type=Path, default=Path("target/score-errors"))
    parser.add_argument("--races", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--suites", type=int)
    parser.add_argument("--sets", type=int, default=50)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_STATE_HOME"] = str((given.out / "state").resolve())
    if given.what == "races":
        races(given.races, given.candidates)
    elif given.what == "alarms":
        alarms(given.out, given.suites or 100)
    else:
        tuned(given.out, given.suites or 10, given.sets)


if __name__ == "__main__":
    main()
