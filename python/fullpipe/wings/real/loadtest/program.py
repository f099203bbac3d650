"""`fullpipe test program`: a program behind a link is the load, and probes measure the latency of its path."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from fullpipe.base import terminal
from fullpipe.errors import UserError, printing, stoppable
from fullpipe.results import disk, objects
from fullpipe.results.about import TEST
from fullpipe.results.kept import read_parquet
from fullpipe.wings.real.links.run import execute, refuse
from fullpipe.wings.real.links.show import deaf, left_out
from fullpipe.wings.real.loadtest.measure import PHASES, WAYS, goodput, latencies, responsiveness
from fullpipe.wings.real.loadtest.plan import INTERVAL_S
from fullpipe.wings.real.loadtest.show import Outcome, about, record, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from fullpipe.wings.real.loadtest.echo import Record, Spec
    from fullpipe.wings.real.loadtest.measure import Numbers
    from fullpipe.wings.real.loadtest.plan import Plan

_FAR = "100.64.0.1:"
_ENDS = [sys.executable, "-m", "fullpipe.wings.real.loadtest.echo"]


class ProgramError(UserError):
    """The program gave nothing to measure; the text has the fix."""


def test_program(
    plan: Plan,
    program: Sequence[str],
    servers: Sequence[Sequence[str]],
    *,
    cc: str | None,
    out: str | None,
    as_json: bool,
) -> int:
    """Runs a program behind the path with probes next to it, and prints the results.

    Args:
        plan: The test's path and times.
        program: The program with its arguments.
        servers: Programs for the far end.
        cc: Congestion control of both ends; None for the machine's.
        out: A new directory, or the URL of an object store, for the results.
        as_json: Whether to print one JSON object instead of tables; the program then prints on standard error.

    Returns:
        The exit code of the program; 0 if the end of the test ended it.

    Raises:
        LinkError: When this machine can't run a program behind a path.
        ProgramError: When the program did not start, or ended before anything was measured.
        ScenarioError: When the path can't be emulated.
        OSError: When the machine does not allow it, or `out` can't be written.
    """
    refuse()
    with _directory(out) as aside, TemporaryDirectory(prefix="fullpipe-test-") as scratch:
        file = Path(scratch) / "record.json"
        spec: Spec = {
            "probes": plan.test.probes,
            "pause_s": INTERVAL_S,
            "start_s": plan.idle_s,
            "end_s": plan.scenario.duration_s,
            "quiet": as_json,
        }
        near = [*_ENDS, "near", str(file), json.dumps(spec), *program]
        with stoppable(lambda: "while the program ran", "it was ended and left nothing behind"):
            report, interrupted = execute(
                plan.scenario,
                near,
                [[*_ENDS, "far"], *servers],
                cc=cc,
                server_cc=cc,
                upload=False,
                uplink=False,
                unconfined=False,
                each_second=None,
                aside=aside,
                called=shlex.join(["fullpipe", *sys.argv[1:]]),
                named=program,
            )
        if interrupted:
            raise KeyboardInterrupt
        for line in deaf(report):
            print(line, file=sys.stderr)
        made = _record(file, int(report["exit_code"]))
        roles = _roles(aside)
        numbers = _numbers(plan, made, report, aside, roles)
        outcome = Outcome(plan, "link", cc or "", [1], [numbers])
        disk.write(aside / TEST, json.dumps({**about(outcome), "roles": roles}, indent=1) + "\n")
    with printing():
        if as_json:
            terminal.print_alone(record(outcome))
        else:
            _print(outcome, report, program, out)
    return made["code"]


@contextmanager
def _directory(out: str | None) -> Iterator[Path]:
    """Yields the new directory of the results, or one that is deleted at the end."""
    if out:
        with objects.fresh(out) as aside:
            yield aside
    else:
        with TemporaryDirectory(prefix="fullpipe-test-") as aside:
            yield Path(aside)


def _record(file: Path, code: int) -> Record:
    """Returns the times that the near end wrote.

    Raises:
        ProgramError: When it wrote none, or could not do its part.
    """
    if not file.exists():
        raise ProgramError(
            f"the probes ended with exit code {code} and measured nothing\n"
            "  fix: run the program alone, by fullpipe link, to see its output"
        )
    made: Record = json.loads(file.read_text(encoding="utf-8"))
    if made["error"]:
        raise ProgramError(f"{made['error']}\n  fix: check the program behind --")
    return made


def _roles(directory: Path) -> dict[str, str]:
    """Returns the direction of each flow of the program; those below 10 kB, as the probes', do not count."""
    with suppress(FileNotFoundError):
        flows = read_parquet(directory / "trace.parquet", ["flow"])["flow"].unique(
            maintain_order=True
        )
        return {
            name: WAYS["down" if name.split(" ")[1].startswith(_FAR) else "up"]
            for name in map(str, flows)
        }
    return {}


def _numbers(
    plan: Plan, made: Record, report: dict[str, Any], directory: Path, roles: dict[str, str]
) -> Numbers:
    """Returns the numbers of a test.

    Raises:
        ProgramError: When the program ended before the measured time.
    """
    import polars as pl

    begin, end = plan.measured_s, made["end_s"]
    if end <= begin:
        raise ProgramError(
            f"the program ended after {end - plan.idle_s:.1f} s, within the warm-up of {begin - plan.idle_s:.3g} s\n"
            "  fix: let it transfer for longer, or give a shorter --duration, which shortens the warm-up too"
        )
    if not roles:
        raise ProgramError(
            "the program sent nothing through the path\n"
            "  fix: let it transfer from or to 100.64.0.1, where the programs of --server listen"
        )
    responses = pl.DataFrame(
        {
            "start": [each[0] for each in made["responses"]],
            "end": [each[1] for each in made["responses"]],
            "flow": [f"{each[2]}" for each in made["responses"]],
        },
        schema={"start": pl.Float64, "end": pl.Float64, "flow": pl.String},
    )
    # The captures begin with the link, the record with the near end.
    shift = report["began_s"] - made["began_s"]
    flows = read_parquet(directory / "trace.parquet").with_columns(pl.col("time") + shift)
    links = read_parquet(directory / "links.parquet").with_columns(pl.col("time") + shift)
    found: Numbers = {}
    for way, role in WAYS.items():
        names = [name for name, each in roles.items() if each == role]
        load = _way(plan, way, flows, links, names, (begin, end))
        found |= {f"{way}.{key}": value for key, value in load}
    found |= latencies(responses, {PHASES[0]: (0.0, plan.idle_s), PHASES[1]: (begin, end)})
    return found | responsiveness(flows, roles, responses, begin, end)


def _way(
    plan: Plan,
    way: str,
    flows: pl.DataFrame,
    links: pl.DataFrame,
    names: Sequence[str],
    span: tuple[float, float],
) -> Iterator[tuple[str, float | None]]:
    """Yields the numbers of a direction: its flows, and the samples of its link's queue."""
    import numpy as np
    import polars as pl

    waits = links.filter(
        (pl.col("link").cast(pl.String) == plan.link(way)) & pl.col("time").is_between(*span)
    )["sojourn"].cast(pl.Float64)
    yield "flows", float(len(names))
    yield "queue_mean_s", float(waits.mean()) if len(waits) else None  # type: ignore[arg-type]
    yield (
        "queue_p95_s",
        float(np.quantile(waits.to_numpy(), 0.95, method="inverted_cdf")) if len(waits) else None,
    )
    if names:
        each = [flows.filter(pl.col("flow").cast(pl.String) == name) for name in names]
        yield "goodput_bps", 8 * sum(goodput(one, *span) for one in each)


def _print(
    outcome: Outcome, report: dict[str, Any], program: Sequence[str], out: str | None
) -> None:
    from fullpipe.runs.view.path import path_line

    console = terminal.console()
    console.print(f"program: {shlex.join(program)}", style="bold", markup=False)
    console.print(path_line(outcome.plan.scenario.to_toml()), markup=False, highlight=False)
    show(outcome, console)
    for line in left_out(report):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for doubt in report["timeliness"]["doubts"]:
        console.print(f"not trustworthy: {doubt}", style="yellow", markup=False, soft_wrap=True)
    if out:
        console.print(
            f"results and captures kept in {out}; for a report: fullpipe report {out}",
            markup=False,
            soft_wrap=True,
        )
