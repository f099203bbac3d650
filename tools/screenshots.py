"""Makes the pictures of report pages in docs/images with Chromium: `make screenshots`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from PIL import Image

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
_COLORS = 250
_MOST_BYTES = 150_000


class Shot(NamedTuple):
    """A picture: its name, the commands whose last one makes page.html, and the part of the page at its top."""

    name: str
    commands: tuple[str, ...]
    at: str = "body"
    width: int = 1200
    height: int = 760
    scheme: str = "light"


_LTE = "run scenarios/request-response.toml --set path.profile=lte --set duration=30s"
_SHARES = "scenarios/cubic-vs-bbr1.toml --set duration=30s"
SHOTS = (
    Shot(
        "report-run",
        (
            "run scenarios/cubic-vs-bbr1.toml --out OUT/two",
            "report OUT/two --out OUT/page.html",
        ),
        '[data-panel="rate"]',
    ),
    Shot(
        "report-side-by-side",
        (
            f"{_LTE} --out OUT/pfifo",
            f"{_LTE} --set path.queue=fq_codel --out OUT/fq_codel",
            "report OUT/pfifo OUT/fq_codel --out OUT/page.html",
        ),
        '[data-panel="limits"]',
    ),
    Shot(
        "report-curves",
        (
            f"sweep {_SHARES} --set path.buffer=0.5bdp,1bdp,2bdp,4bdp,8bdp --set flow.0.cc=cubic,bbr3 --repeat 6 "
            "--out OUT/buffers",
            "report OUT/buffers --out OUT/page.html",
        ),
        "h2:has-text('Curves')",
    ),
    Shot(
        "report-map",
        (
            f"sweep {_SHARES} --set path.buffer=0.5bdp,1bdp,2bdp,4bdp --set path.rtt=10ms,20ms,50ms,100ms --repeat 3 "
            "--out OUT/map",
            "report OUT/map --out OUT/page.html",
        ),
        "h2:has-text('Maps')",
        height=560,
    ),
    Shot(
        "report-differences",
        (
            f"sweep {_LTE.removeprefix('run ')} --set path.queue=pfifo,fq_codel --repeat 10 --out OUT/queues",
            "report OUT/queues --out OUT/page.html",
        ),
        "#summary",
        height=860,
    ),
    Shot(
        "report-phone",
        (
            "run scenarios/bbr3-deep-buffer.toml --out OUT/one",
            "report OUT/one --out OUT/page.html",
        ),
        '[data-panel="rate"]',
        400,
        800,
        "dark",
    ),
)


def main() -> None:
    """Makes each picture anew."""
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if chromium is None or not (ROOT / "web/node_modules/playwright-core").is_dir():
        sys.exit("no Chromium or no playwright-core: `make browser` installs them")
    with tempfile.TemporaryDirectory() as folder:
        listed = []
        for shot in SHOTS:
            out = Path(folder) / shot.name
            for command in shot.commands:
                words = command.replace("OUT", str(out)).split()
                subprocess.run(
                    [sys.executable, "-m", "fullpipe", *words],
                    cwd=ROOT,
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
            listed.append(
                {
                    "page": f"{out}/page.html",
                    "out": f"{out}.png",
                    "width": shot.width,
                    "height": shot.height,
                    "scheme": shot.scheme,
                    "at": shot.at,
                }
            )
        (Path(folder) / "shots.json").write_text(json.dumps(listed), encoding="utf-8")
        taking = ["node", str(ROOT / "web/shot.mjs"), chromium, f"{folder}/shots.json"]
        subprocess.run(taking, check=True)
        for shot in SHOTS:
            target = IMAGES / f"{shot.name}.png"
            with Image.open(f"{folder}/{shot.name}.png") as picture:
                picture.convert("RGB").quantize(_COLORS).save(target, optimize=True)
            if target.stat().st_size > _MOST_BYTES:
                sys.exit(
                    f"{target}: {target.stat().st_size} bytes; at most {_MOST_BYTES} are allowed"
                )


if __name__ == "__main__":
    main()
