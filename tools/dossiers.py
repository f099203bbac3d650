"""Evaluates every algorithm by RFC 9743, and writes the dossiers and their overview to docs/evidence.

    tools/dossiers.py [--seeds 10] [--results results/dossiers] [ALGORITHM ...]
    tools/dossiers.py --whole results/rfc9743-bbr3

Each evaluation is kept in its directory and resumes there. The overview has the algorithms whose evaluation exists.
`--whole` copies the whole dossier of a kept evaluation, with its pictures, which Chromium converts.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image

from fullpipe import _core
from fullpipe.study.evaluation.suite import suite

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence"
SIGNS = {"met": "✓", "not met": "✗", "to be argued": "?", "not evaluated": "–"}
HEAD = """\
# All algorithms by RFC 9743

**Claim.** The table has the verdicts of [`fullpipe evaluate`](../guide/evaluate.md) on every built-in algorithm, with
{seeds} seeds per cell; a dossier with more says so.
[BBRv3's whole dossier](rfc9743-bbr3-dossier.md) also has every cell, the scenarios and pictures.

✓ met · ✗ not met · ? to be argued · – not evaluated. A name leads to the algorithm's dossier.
[Criteria](../reference/criteria.md#rfc9743) have the questions, bounds and reasons.

"""
TAIL = """
**Limits.** Algorithms for data centers (`dctcp`, `swift`), for background traffic (`ledbat`, `ledbat++`, `rledbat`)
and for media (`c4`, `scream`) are judged by criteria that were written for bulk traffic on the Internet: a "not met"
is a fact about such a path, not a fault of the algorithm. Results that come from a part of an algorithm that the
model leaves out have the words "by the model" in its dossier. The bounds are ours where no specification has a number.

**Repeat.** `.venv/bin/python tools/dossiers.py --seeds {seeds}`.
"""


def main() -> None:
    """Evaluates the algorithms, and writes the pages."""
    known = [str(each["name"]) for each in _core.algorithms()]
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("algorithms", nargs="*", metavar="ALGORITHM", choices=[*known, []])
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--results", type=Path, default=Path("results/dossiers"))
    options.add_argument("--whole", type=Path, metavar="DIR")
    asked = options.parse_args()
    if asked.whole:
        whole(asked.whole)
        return
    for algorithm in asked.algorithms or known:
        evaluate(algorithm, asked.seeds, asked.results / algorithm)
    done = [each for each in known if (asked.results / each / "table.json").exists()]
    verdicts = {}
    for algorithm in done:
        records = json.loads((asked.results / algorithm / "table.json").read_text(encoding="utf-8"))
        verdicts[algorithm] = {each["criterion"]: each["verdict"] for each in records}
        table = (asked.results / algorithm / "table.md").read_text(encoding="utf-8")
        page(algorithm).write_text(table, encoding="utf-8")
    (EVIDENCE / "rfc9743.md").write_text(overview(verdicts, asked.seeds), encoding="utf-8")


def evaluate(algorithm: str, seeds: int, place: Path) -> None:
    """Runs the command; a criterion that is not met is its exit code 1, one that was not evaluated is 3."""
    command = [sys.executable, "-m", "fullpipe", "evaluate", algorithm]
    done = subprocess.run([*command, "--seeds", str(seeds), "--out", str(place)], check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(done.returncode)


def whole(place: Path) -> None:
    """Copies a dossier: the text to a page, and each picture as PNG, which takes a fifth of the space."""
    text = (place / "dossier" / "report.md").read_text(encoding="utf-8")
    name = text.partition(":")[0].removeprefix("# ").replace("+", "p")
    for number, picture in enumerate(sorted((place / "dossier").glob("*.svg")), 1):
        png = EVIDENCE.parent / "notebook" / f"rfc9743-{name}-{number:02}.png"
        screenshot(picture, png)
        text = text.replace(
            f"![{picture.name}]({picture.name})",
            f"![The worst cell over time](../notebook/{png.name})",
        )
    text = text.replace(str(place), f"results/{place.name}")
    (EVIDENCE / f"rfc9743-{name}-dossier.md").write_text(text, encoding="utf-8")


def screenshot(picture: Path, png: Path) -> None:
    """Writes an SVG file, whose size is in points, as PNG."""
    head = picture.read_text(encoding="utf-8")[:1000]
    width, height = (
        round(float(each) * 4 / 3)
        for each in re.findall(r'(?:width|height)="([\d.]+)pt"', head)[:2]
    )
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    command = [browser, "--headless", "--no-sandbox", "--hide-scrollbars"]
    command += [f"--window-size={width},{height}", "--force-device-scale-factor=1.5"]
    subprocess.run(
        [*command, f"--screenshot={png}", picture.resolve().as_uri()],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    # This method keeps the colors of few pixels, such as those of a short state.
    few = (
        Image.open(png)
        .convert("RGB")
        .quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    few.save(png, optimize=True)


def page(algorithm: str) -> Path:
    """Returns the page of an algorithm."""
    return EVIDENCE / f"rfc9743-{algorithm.replace('+', 'p')}.md"


def overview(verdicts: dict[str, dict[str, str]], seeds: int) -> str:
    """Returns the table of all verdicts, a row for each criterion."""
    names = [f"[{each}]({page(each).name})" for each in verdicts]
    lines = [
        f"| § | Criterion | {' | '.join(names)} |",
        f"|---|---|{':-:|' * len(names)}",
    ]
    for each in suite("rfc9743").criteria:
        if each.skipped:
            continue
        signs = [SIGNS[verdicts[algorithm][each.name]] for algorithm in verdicts]
        lines.append(f"| {each.section} | {each.title} | {' | '.join(signs)} |")
    totals = [str(sum(of == "met" for of in each.values())) for each in verdicts.values()]
    lines.append(f"| | met | {' | '.join(totals)} |")
    return HEAD.format(seeds=seeds) + "\n".join(lines) + "\n" + TAIL.format(seeds=seeds)


if __name__ == "__main__":
    main()
