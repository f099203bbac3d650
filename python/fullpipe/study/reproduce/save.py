"""Saves a study: its tables, runs, scenarios and figures."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Literal

from fullpipe.results import disk, write_parquet
from fullpipe.runners import is_simulator
from fullpipe.stats.steady import summary
from fullpipe.study.reproduce import show, show_claims
from fullpipe.study.reproduce.measures.link import lost
from fullpipe.study.reproduce.pictures import BRIEF
from fullpipe.study.verdicts.judged import records, write_table
from fullpipe.study.verdicts.show import sums

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import polars as pl

    from fullpipe.base.metrics import Distribution, Metrics
    from fullpipe.results.made import StudyAbout
    from fullpipe.study.repeated import Setup
    from fullpipe.study.reproduce.pictures import Picture
    from fullpipe.study.reproduce.published import Published
    from fullpipe.study.reproduce.runner import Again
    from fullpipe.study.reproduce.study import StudyOutcome


def save(published: Published, study: StudyOutcome, directory: Path, about: StudyAbout) -> None:
    """Writes everything except figures; `about` has the options of the study.

    Raises:
        OSError: When a file can't be written.
    """
    disk.copy(published.file, directory / "published.toml")
    write_table(directory, _markdown(published, study), records(study.judged), about)
    disk.make_folder(directory / "scenarios")
    for point in (*study.samples, *(outcome.case.point for outcome in study.outcomes)):
        disk.write(directory / "scenarios" / f"{_file(point.name)}.toml", point.setup.written())
    runs = frame(study)
    write_parquet(runs, directory / "runs.parquet")
    disk.write(directory / "runs.csv", runs.write_csv())
    disk.write(directory / "numbers.csv", numbers(study).write_csv())


def drawings(
    published: Published, study: StudyOutcome, again: Again
) -> dict[str, Callable[[Path], object]]:
    """Returns calls that each draw a figure into a new file, by its name in the directory.

    On other runners than the simulator, there are only figures without long runs.
    """
    if not is_simulator(again.runner):
        return _pictures(
            [
                each
                for each in published.pictures
                if each.draw in BRIEF and study.samples.keys() >= set(each.points)
            ],
            study,
            again,
        )
    calls: dict[str, Callable[[Path], object]] = {}
    if study.outcomes:
        calls["overview.png"] = partial(_overview, published, study)
    # Rows with the same scenario share the figure of the first one.
    cases = {
        case.point.setup.text: case
        for case in reversed([o.case for o in study.outcomes if not o.skipped])
    }
    for case in reversed(cases.values()):
        calls[f"cases/{case.name}.png"] = partial(_case, case.point.setup)
    return calls | _pictures(published.pictures, study, again)


def draw(name: str, call: Callable[[Path], object], directory: Path) -> None:
    """Draws a figure into a directory, unless it is there already; it appears complete.

    Raises:
        OSError: When it can't be written.
    """
    final = directory / name
    if not final.exists():
        disk.make_folder(final.parent)
        with disk.hidden(final, folder=False) as aside:
            call(aside)
            disk.place(aside, final)


def _pictures(
    pictures: Sequence[Picture], study: StudyOutcome, again: Again
) -> dict[str, Callable[[Path], object]]:
    return {
        f"pictures/{picture.file}.png": partial(_picture, picture, study, again)
        for picture in pictures
    }


def _overview(published: Published, study: StudyOutcome, file: Path) -> None:
    from fullpipe.study.reproduce.pictures.overview import overview

    with disk.NewFile(file) as out:
        overview(published, study.outcomes).savefig(out, format="png")


def _case(setup: Setup, file: Path) -> None:
    figure = setup.run(trace="ack").plot()
    with disk.NewFile(file) as out:
        figure.savefig(out, format="png")


def _picture(picture: Picture, study: StudyOutcome, again: Again, file: Path) -> None:
    from fullpipe.study.reproduce.pictures.draw import draw

    with disk.NewFile(file) as out:
        draw(picture, study.samples, again).savefig(out, format="png")


def save_variants(rows: Sequence[tuple[str, StudyOutcome]], directory: Path) -> None:
    """Writes the cells of each variant.

    Raises:
        OSError: When the file can't be written.
    """
    cells = [
        {"variant": name, **record} for name, study in rows for record in records(study.judged)
    ]
    disk.write(directory / "variants.json", json.dumps(cells, indent=1) + "\n")


def _markdown(published: Published, study: StudyOutcome) -> str:
    lines = [f"# {published.title}", "", f"Source: {published.source}.", ""]
    lines += [sums(study.judged) + ".", ""]
    if study.outcomes:
        lines += show.markdown(study.outcomes)
    if study.claims:
        lines += show_claims.markdown(study.claims)
    for each in summary(study.steadiness, "points"):
        lines += [f"- {each}", ""]
    return "\n".join(lines)


def _file(name: str) -> str:
    """Replaces characters that are unsuitable in file names."""
    return name.replace("/", "-").replace(" ", "_")


def numbers(study: StudyOutcome) -> pl.DataFrame:
    """Returns every measured number as a row, in the unit of its measure."""
    import polars as pl

    return pl.DataFrame(
        [
            {
                "case": point.name,
                "seed": each.metrics["seed"],
                "measure": measure,
                "flow": flow + 1,
                "value": value,
            }
            for point, samples in study.samples.items()
            for each in samples
            for (measure, flow), value in sorted(each.values.items())
        ],
        schema_overrides={"value": pl.Float64},
        infer_schema_length=None,
    )


def frame(study: StudyOutcome) -> pl.DataFrame:
    """Returns a row per flow or workload of each run: rates in bit/s, delays in s, counts in data packets.

    `link_lost` counts packets of all flows dropped by queues and policers or lost randomly; queueing
    delays are those of the link. Without a link, as on a loopback, these columns are null.
    """
    import polars as pl

    def queue(run: Metrics, quantile: Literal["p50", "p99"]) -> float | None:
        return run["links"][0]["queue_delay_s"][quantile] if run["links"] else None

    return pl.DataFrame(
        [
            {
                "case": point.name,
                "seed": run["seed"],
                "flow": number,
                "cc": flow["cc"],
                "goodput_bps": flow["goodput_bps"],
                "rtt_mean_s": flow["rtt_s"]["mean"],
                "completion_s": _completion(flow["completion_s"]),
                "sent": flow["sent"],
                "retransmits": flow["retransmits"],
                "link_lost": sum(lost(link) for link in run["links"]),
                "utilization": run["links"][0]["utilization"] if run["links"] else None,
                "queue_p50_s": queue(run, "p50"),
                "queue_p99_s": queue(run, "p99"),
                "jain": run["jain"],
            }
            for point, samples in study.samples.items()
            for run in (each.metrics for each in samples)
            for number, flow in enumerate([*run["flows"], *run.get("workloads", [])], 1)
        ],
        schema_overrides=dict.fromkeys(
            ("completion_s", "rtt_mean_s", "utilization", "queue_p50_s", "queue_p99_s", "jain"),
            pl.Float64,
        ),
        infer_schema_length=None,
    )


def _completion(known: Distribution | float | None) -> float | None:
    """Returns the completion time of a flow, or the mean of a workload's."""
    return known["mean"] if isinstance(known, dict) else known
