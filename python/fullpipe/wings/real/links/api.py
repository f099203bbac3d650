"""`fullpipe.link`: runs a program behind an emulated path, and returns the measurements."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

from fullpipe.base.arguments import checked
from fullpipe.base.frame import flattened
from fullpipe.base.toml import as_set
from fullpipe.report.kept import Kept
from fullpipe.scenario.path_options import keyed
from fullpipe.wings.real.links.path import path as scenario_of_path
from fullpipe.wings.real.links.run import execute, refuse

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from fullpipe._core import Scenario
    from fullpipe.base.metrics import Metrics
    from fullpipe.base.toml import Setting
    from fullpipe.runs.given import ScenarioLike
    from fullpipe.runs.view.figure import Picture

_WAYS = ("down", "up")


@checked
def link(
    command: str | Sequence[str],
    scenario: ScenarioLike | None = None,
    *,
    rate: Setting | None = None,
    rtt: Setting | None = None,
    buffer: Setting | None = None,
    queue: Setting | None = None,
    loss: Setting | None = None,
    profile: str | None = None,
    up: str | None = None,
    set: Mapping[str, Setting] | None = None,  # noqa: A002  (the same word as --set)
    server: str | Sequence[str] = (),
    cc: str | None = None,
    server_cc: str | None = None,
    upload: bool = False,
    uplink: bool = False,
    unconfined: bool = False,
    each_second: Callable[[dict[str, Any]], object] | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Link:
    """Runs a program behind an emulated path, in real time, with this machine's TCP; Linux only.

    The options have the names and the syntax of `fullpipe link`.

        >>> done = fullpipe.link("ping -c 1 100.64.0.1", rtt="40ms", rate="20mbit")  # doctest: +SKIP
        >>> done.exit_code  # doctest: +SKIP
        0

    Args:
        command: The program with its arguments, as a list, or as text with a shell's quotes.
        scenario: A scenario, in one of the forms of :func:`fullpipe.run`: all packets take the path of its first
            flow. None for a path from the options, with the same values in both directions.
        rate: Capacity in each direction, like `"20mbit"`.
        rtt: Round-trip time without queueing, like `"40ms"`.
        buffer: Buffer in each direction, like `"2bdp"`.
        queue: Queue in each direction, like `"fq_codel"`.
        loss: Random loss in each direction, like `"1%"`.
        profile: Named path, like `"lte"`.
        up: Capacity for the data that the program sends; None for `rate`.
        set: Any other key of the scenario, `{"path.jitter": "5ms"}`.
        server: Programs to run at the far end of the path, address 100.64.0.1, like `"iperf3 -s"`.
        cc: Congestion control of both ends, like `"cubic"`, by the kernel's name or fullpipe's; None for the machine's.
        server_cc: Congestion control at the far end, if it differs.
        upload: Whether the data that the program sends take the data path of `scenario`, and the data that it
            receives the path of the ACKs.
        uplink: Whether the program can reach the Internet, through a proxy that programs find in ALL_PROXY.
        unconfined: Whether the program can use this machine's devices, shared memory, set-user-ID programs and all
            system calls.
        each_second: Called each second with a mapping: `at_s` (seconds since the start), and for `down` and `up`
            another one with `rate_bps` (bit/s), `queue_s` (seconds), `queue_packets` and `dropped`.
        out: A new directory for the results and the captures of both ends; None for one that disappears with the
            returned object.

    Returns:
        The measurements. The program may have failed: see :attr:`Link.exit_code`.

    Raises:
        LinkError: When this machine can't run the program behind a path.
        OptionError: When `up` is given with a path that has its own upstream link.
        ScenarioError: When a value is refused.
        FileExistsError: When `out` exists and is not empty.
        OSError: When the machine does not allow it, or `out` can't be written.
        KeyboardInterrupt: On Ctrl-C, after the program has ended. An exit code of 130 alone does not raise it.
    """
    from fullpipe.results import fresh_directory

    refuse()
    options = {
        "rate": rate,
        "rtt": rtt,
        "buffer": buffer,
        "queue": queue,
        "loss": loss,
        "profile": profile,
    }
    path = scenario_of_path(
        {key: as_set(value) for key, value in keyed(options).items()},
        {key: as_set(value) for key, value in (set or {}).items()},
        up=up,
        file=scenario,
    )
    program = shlex.split(command) if isinstance(command, str) else list(command)
    servers = [server] if isinstance(server, str) else list(server)
    place = Path(mkdtemp(prefix="fullpipe-link-") if out is None else out)
    try:
        with fresh_directory(place) as aside:
            outcome = execute(
                path,
                program,
                [shlex.split(each) for each in servers],
                cc=cc,
                server_cc=server_cc or cc,
                upload=upload,
                uplink=uplink,
                unconfined=unconfined,
                each_second=each_second,
                aside=aside,
                called=f"fullpipe.link({command!r})",
            )
        if outcome.interrupted:
            raise KeyboardInterrupt
    except BaseException:
        if out is None:
            rmtree(place, ignore_errors=True)
        raise
    done = Link(place, path)
    if out is None:
        finalize(done, rmtree, place, ignore_errors=True)
    return done


class Link(Kept):
    """The measurements of :func:`fullpipe.link`; a notebook shows the table of `fullpipe link`, with a picture.

    Attributes:
        directory: The directory with `near.pcapng` and `far.pcapng`, `link.json`, the metrics and the trace.
        scenario: The scenario whose path the packets took.
        summary: The contents of `link.json`: both directions, and how punctual packets were.
    """

    scenario: Scenario
    summary: dict[str, Any]

    def __init__(self, directory: Path, scenario: Scenario) -> None:
        from fullpipe.results.kept import read_text

        self.directory, self.scenario = directory, scenario
        self.summary = json.loads(read_text(directory / "link.json"))

    def __repr__(self) -> str:
        rates = ", ".join(
            f"{way} {self.summary[way]['rate_bps'] / 1e6:.3g} Mbit/s" for way in _WAYS
        )
        return f"<Link: {rates}, {self.summary['elapsed_s']:.1f} s, exit code {self.exit_code}>"

    @property
    def exit_code(self) -> int:
        """The exit code of the program; 128 + n if signal n ended it."""
        return int(self.summary["exit_code"])

    @property
    def doubts(self) -> list[str]:
        """Reasons why the timing of packets is not trustworthy; empty if it is."""
        return list(self.summary["timeliness"]["doubts"])

    @property
    def directions(self) -> pl.DataFrame:
        """A row for `down` and one for `up`, with `rate_bps` (bit/s), `packets`, `dropped` and `marked`."""
        ways = [{"direction": way, **self.summary[way]} for way in _WAYS]
        plain = [{key: of for key, of in way.items() if key != "links"} for way in ways]
        return flattened(plain, {})

    @property
    def links(self) -> pl.DataFrame:
        """A row for each emulated link, with the columns of :attr:`fullpipe.Run.links`."""
        return flattened(self.summary["links"], {"name": "link"})

    @property
    def flows(self) -> pl.DataFrame:
        """A row for each TCP connection or UDP flow that crossed the path, from the captures at both ends.

        Columns are those of :attr:`fullpipe.Run.flows`; null stands for what a capture does not show.
        """
        return flattened(self._metrics()["flows"], {"name": "flow"})

    def trace(self, table: str = "flows") -> pl.DataFrame:
        """Returns the measurements over time, with the columns of :meth:`fullpipe.Run.trace`.

        Args:
            table: `"flows"`, `"links"` or `"transitions"`.

        Raises:
            ValueError: When there is no such table, as after a program that sent nothing.
        """
        from fullpipe.results import read_parquet
        from fullpipe.results.model import table_file

        file = table_file(self.directory, table)
        if not file.exists():
            raise ValueError(f"no table {table!r}")
        return read_parquet(file)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        panels: Sequence[str] | None = None,
    ) -> Picture:
        """Draws connections and queues over time; the arguments are those of :meth:`fullpipe.Run.plot`.

        Raises:
            ValueError: When nothing crossed the path.
            PanelError: When there is no such panel, or the captures have no data of it.
            OSError: When `path` can't be written.
        """
        return self._over_time(path, panels)

    def _metrics(self) -> Metrics:
        from fullpipe.results.kept import read_measured

        return read_measured(self.directory / "metrics.json")

    def _repr_html_(self) -> str:
        from fullpipe.runs.view.html import Page
        from fullpipe.wings.real.links.show import show

        page = Page()
        show(self.summary, page)
        page.add_png(self._repr_png_())
        return page.html()

    def _repr_png_(self) -> bytes | None:
        if self._png is None and self._metrics()["flows"]:
            self._png = self.plot().png()
        return self._png
