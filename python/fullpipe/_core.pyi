"""The compiled core: bindings of the Rust crates, with no logic of their own.

Users call :mod:`fullpipe`; this module is what it stands on.
"""

from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from os import PathLike
from typing import Any, Literal, TypeAlias, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Ack",
    "CaptureRun",
    "Config",
    "Conn",
    "Context",
    "Decision",
    "FleetReader",
    "FleetSampler",
    "LinkRun",
    "Lost",
    "MachineError",
    "PopulationPlan",
    "Recovery",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "Snapshot",
    "SweepPlan",
    "SweepRun",
    "__version__",
    "agent",
    "agent_plan",
    "algorithms",
    "capture",
    "capture_head",
    "check_kernel",
    "conformance_case",
    "conformance_cases",
    "fleet_begin",
    "fleet_variables",
    "handed_over",
    "impairments",
    "link",
    "measured",
    "memory_needed",
    "metrics",
    "namespaces_refused",
    "populations",
    "profiles",
    "quantity",
    "queues",
    "rows",
    "run",
    "run_kernel",
    "scenario_keys",
    "schema",
    "uml_topology",
]

__version__: str

_Numbers: TypeAlias = NDArray[np.float32] | NDArray[np.uint64] | NDArray[np.uint32]
_Labels: TypeAlias = tuple[NDArray[np.uint8] | NDArray[np.uint32], list[str]]
_Rows: TypeAlias = dict[
    str, NDArray[np.float64] | NDArray[np.uint64] | tuple[NDArray[np.uint32], list[str]]
]

# Name, unit, purpose, default, least, most, choices.
_ParamAbout: TypeAlias = tuple[str, str, str, float | bool | str, float, float, list[str]]
# Purpose, parameters, fields (name, unit, purpose, labels), whether it owns the window in recovery,
# whether it draws.
_About: TypeAlias = tuple[str, list[_ParamAbout], list[tuple[str, str, str, list[str]]], bool, bool]
# An algorithm in Python: its name, its class, and what the class says of itself.
_GivenController: TypeAlias = tuple[str, type, _About]

@type_check_only
class Specification(TypedDict):
    """A document that an algorithm follows, with what of it is followed or departed from."""

    name: str
    note: str

@type_check_only
class Param(TypedDict):
    """A parameter of an algorithm; `range` is that of a number, both ends included, `choices` are those of a word.

    `profiles` has the defaults that are others with another `profile`.
    """

    name: str
    unit: str
    default: float | bool | str
    profiles: list[tuple[str, float | bool | str]]
    range: tuple[float, float] | None
    choices: list[str] | None
    purpose: str
    section: str

@type_check_only
class Field(TypedDict):
    """A column that an algorithm adds to the trace; `labels` are a state's names, empty for a number."""

    name: str
    unit: str
    purpose: str
    labels: list[str]

@type_check_only
class Algorithm(TypedDict):
    """What an algorithm says of itself.

    `recovery` is who moves the window in recovery, "sender" for one that runs in the receiver;
    `needs` names signals.
    """

    name: str
    purpose: str
    specifications: list[Specification]
    params: list[Param]
    fields: list[Field]
    recovery: Literal["prr", "own", "sender"]
    needs: list[str]

@type_check_only
class QueueOption(TypedDict):
    """An option of a queue. `default` is as one writes it, or in words."""

    name: str
    default: str
    range: str
    purpose: str
    section: str

@type_check_only
class Queue(TypedDict):
    """A queue that a link may have. `limit` is tc's default in packets, if it has one."""

    name: str
    purpose: str
    specifications: list[Specification]
    options: list[QueueOption]
    limit: int | None
    in_bytes: bool

@type_check_only
class Part(TypedDict):
    """A part of what is written for an impairment. `named` is whether its name stands in front of it.

    `default` is as one writes it, or in words; None for what must be given.
    """

    name: str
    named: bool
    unit: str
    default: str | None
    purpose: str

@type_check_only
class Impairment(TypedDict):
    """What a path may do to packets: a value of one of `keys`, which begins with the name if `named`."""

    name: str
    purpose: str
    keys: list[str]
    named: bool
    parts: list[Part]
    example: str
    source: str

@type_check_only
class Given(TypedDict):
    """A value of a profile, as TOML, with its source and what that says; `declared` is the key as in :class:`Key`."""

    key: str
    declared: str
    value: str
    source: str
    why: str

@type_check_only
class Profile(TypedDict):
    """A path that has a name. `references` are the short names of sources and what they stand for.

    `toml` is what the profile stands for, as a scenario without its duration.
    """

    name: str
    purpose: str
    about: str
    values: list[Given]
    references: list[tuple[str, str]]
    toml: str

@type_check_only
class Key(TypedDict):
    """A key of a scenario, dotted; N stands for the number of a `[[flow]]`. `default` and `examples` are TOML."""

    key: str
    kind: str
    required: bool
    default: str | None
    examples: list[str]
    meaning: str

@type_check_only
class Metric(TypedDict):
    """A metric of a `run`, a `flow`, a `workload` or a `link`.

    `kind` is its type in Rust; `form` is `fact`, `one`, `distribution`, `slowdowns` or `shares`, with
    the names of its values in `statistics`; `better` is 1 where more is better, -1 where less is,
    else 0; `shown` has each view that shows it by default, with the statistic.
    """

    of: str
    name: str
    kind: str
    unit: str
    dimension: str
    form: str
    statistics: list[str]
    words: str
    better: int
    shown: list[tuple[str, str]]
    definition: str

@type_check_only
class Condition(TypedDict):
    """A condition of a test case, in its unit; `because` is where it comes from, `why` why nothing could be measured.

    `least` and `most` are what is allowed, None without such a bound; `shown` and `demanded` are short texts.
    """

    condition: str
    unit: str
    measured: float | None
    least: float | None
    most: float | None
    shown: str
    demanded: str
    verdict: Literal["met", "missed", "report", "skipped"]
    because: str
    why: str

@type_check_only
class Scene(TypedDict):
    """A run of a test case: a name fit for files, its scenario as TOML, and what is demanded of it."""

    name: str
    scenario: str
    conditions: list[Condition]

@type_check_only
class ConformanceCase(TypedDict):
    """A test case of the BBR draft that was run."""

    case: str
    title: str
    note: str
    verdict: Literal["met", "missed", "skipped"]
    scenes: list[Scene]

class MachineError(OSError):
    """What this machine does not allow, or what failed on it. Its text names the fix."""

    problem: str
    fix: str

class ScenarioError(ValueError):
    """A scenario, or a setting of a run, that was refused. Its text names the file, the key, the value and the fix."""

    file: str
    line: int | None
    key: str
    value: str
    problem: str
    fix: str

@final
class Conn:
    """The connection, as the transport keeps it."""

    @property
    def smss(self) -> int:
        """Payload of a full segment."""
    @property
    def initial_cwnd(self) -> int:
        """The initial window."""
    @property
    def inflight(self) -> int:
        """Bytes sent and neither acknowledged nor declared lost."""
    @property
    def delivered(self) -> int:
        """Bytes acknowledged so far."""
    @property
    def delivered_ce(self) -> int:
        """Of these, bytes that arrived with a CE mark."""
    @property
    def lost(self) -> int:
        """Bytes declared lost so far."""
    @property
    def srtt(self) -> float | None:
        """Smoothed RTT; None before the first sample."""
    @property
    def min_rtt(self) -> float | None:
        """Smallest RTT; None before the first sample."""
    @property
    def app_limited(self) -> bool:
        """There was too little to send."""
    @property
    def cwnd_limited(self) -> bool:
        """The window was fully used by the flight that is being acknowledged."""
    @property
    def in_recovery(self) -> bool:
        """Fast recovery is under way."""
    @property
    def next_departure(self) -> float:
        """When the pacer will let the next packet go."""
    @property
    def paced(self) -> bool:
        """Packets are paced."""
    @property
    def pacing_rate(self) -> int | None:
        """The pacing rate in force."""

@final
class Snapshot:
    """The state of the connection when a packet was sent."""

    @property
    def sent(self) -> float:
        """When the packet left."""
    @property
    def first_sent(self) -> float:
        """Send time of the packet that started the flight sampled."""
    @property
    def delivered_at(self) -> float:
        """When `delivered` last grew."""
    @property
    def delivered(self) -> int:
        """Bytes that were acknowledged then."""
    @property
    def delivered_ce(self) -> int:
        """Of these, bytes with a CE mark."""
    @property
    def lost(self) -> int:
        """Bytes that were declared lost then."""
    @property
    def inflight(self) -> int:
        """Bytes in flight with this packet."""
    @property
    def size(self) -> int:
        """Its payload."""
    @property
    def app_limited(self) -> bool:
        """Sent in an application-limited phase."""
    @property
    def retransmit(self) -> bool:
        """A retransmission."""

@final
class Lost:
    """One lost packet."""

    @property
    def packet(self) -> Snapshot:
        """The state when it was sent."""
    @property
    def lost_since_sent(self) -> int:
        """Bytes lost since it was sent, itself included."""
    @property
    def new_range(self) -> bool:
        """A new hole begins."""
    @property
    def cause(self) -> str:
        """Why: "rack" or "rto"."""

@final
class Ack:
    """One ACK."""

    @property
    def newest(self) -> Snapshot:
        """The most recently sent of the packets newly acknowledged."""
    @property
    def newly_acked(self) -> int:
        """Bytes newly acknowledged."""
    @property
    def newly_lost(self) -> int:
        """Bytes newly declared lost while this ACK was processed."""
    @property
    def prior_inflight(self) -> int:
        """Bytes in flight before this ACK."""
    @property
    def rtt(self) -> float | None:
        """The RTT sample; None without one."""
    @property
    def one_way(self) -> float | None:
        """From sending to the peer's sending of this ACK: only differences mean something."""
    @property
    def rate(self) -> int | None:
        """The delivery-rate sample; None without one."""
    @property
    def rate_interval(self) -> float:
        """The interval that it covers."""
    @property
    def rate_delivered(self) -> int:
        """Bytes delivered over it."""
    @property
    def rate_lost(self) -> int:
        """Bytes lost since the newest acknowledged packet was sent."""
    @property
    def rate_delivered_ce(self) -> int:
        """Bytes delivered with a CE mark over it."""
    @property
    def rate_app_limited(self) -> bool:
        """It may understate the path."""
    @property
    def ce_packets(self) -> int:
        """Packets newly reported as marked."""
    @property
    def tlp_repair(self) -> bool:
        """This ACK shows that a tail loss probe repaired a loss."""

@final
class Recovery:
    """A change of the transport's recovery."""

    @property
    def kind(self) -> str:
        """One of "enter", "exit", "spurious", "timeout" or "persistent"."""
    @property
    def cause(self) -> str | None:
        """Of "enter": "loss" or "ecn"; else None."""
    @property
    def again(self) -> bool:
        """Of "timeout": nothing was acknowledged since the last one."""

@final
class Config:
    """What an algorithm is made for: the connection's constants, and every parameter."""

    @property
    def smss(self) -> int: ...
    @property
    def initial_cwnd(self) -> int: ...
    @property
    def params(self) -> dict[str, float | bool | str]: ...

@final
class Context:
    """What comes with every call. The same object each time: it is true during the call."""

    @property
    def now(self) -> float:
        """The time of this event, in seconds since the run began."""
    @property
    def conn(self) -> Conn:
        """The connection as it stands at this event."""
    def random(self) -> float:
        """Uniform in [0, 1), from the flow's own stream: the same seed gives the same numbers."""
    def transition(self, from_: str, to: str, reason: str) -> None:
        """Says that the algorithm went from one state to another, and why."""

@final
class Decision:
    """What the transport shall do from now on."""

    def __new__(
        cls,
        cwnd: int,
        ssthresh: int | None = None,
        *,
        pacing_rate: float | None = None,
        send_quantum: int = 0,
        ecn: str = "off",
        mark_app_limited: bool = False,
        wake_at: float | None = None,
    ) -> Decision:
        """A window, and what else there is to decide.

        Args:
            cwnd: A packet may leave iff what is in flight and it are at most so many bytes.
            ssthresh: Bytes; where PRR runs the window to in recovery. None before the first
                congestion.
            pacing_rate: In bit/s; None for no pacing.
            send_quantum: Bytes that may leave back to back; 0 leaves it to the transport.
            ecn: "off", "ect0" or "ect1".
            mark_app_limited: The connection counts as limited by the application.
            wake_at: When `on_timer` shall be called, in seconds.

        Raises:
            ValueError: When one of them can't be meant.
        """

@final
class Scenario:
    """A checked scenario."""

    @staticmethod
    def parse(
        text: str,
        file: str,
        overrides: Sequence[tuple[str, str]],
        seed: int | None = None,
        controllers: Sequence[_GivenController] = ...,
    ) -> Scenario:
        """Reads and checks a scenario.

        Args:
            text: TOML.
            file: What errors call it.
            overrides: Dotted keys with values that count as written in the file: `("path.rate",
                "20mbit")`.
            seed: Counts as the file's seed.
            controllers: Algorithms in Python.

        Raises:
            ScenarioError: When something is wrong with it.
        """
    @property
    def source(self) -> str:
        """The text that it was read from."""
    @property
    def file(self) -> str:
        """What errors call it."""
    @property
    def title(self) -> str | None:
        """The first comment line, or None."""
    @property
    def profile(self) -> tuple[str, list[tuple[str, str]]] | None:
        """The name of its path's profile, and (key, value as TOML) of what it gave; or None."""

    @property
    def seed(self) -> int:
        """The seed of the run."""
    @property
    def duration_s(self) -> float:
        """How long the run lasts, in seconds of virtual time."""
    @property
    def rate_bps(self) -> int:
        """The rate of the bottleneck, in bit/s; that of the start, if it changes."""
    @property
    def links(self) -> list[tuple[str, int]]:
        """(name, rate in bit/s at the start) of every link, the bottleneck first."""
    @property
    def varying_links(self) -> list[str]:
        """The links whose rate varies by a pattern: the rate of `links` is its mean."""
    @property
    def changes(self) -> list[tuple[float, int]]:
        """(time in seconds, rate of the bottleneck from then on in bit/s) of every change of the path."""
    def rate_over_time(self, bins: int) -> list[tuple[float, int]]:
        """(time in seconds, rate in bit/s at which the bottleneck can send from then on).

        At every change of the path, and of a rate that varies by a pattern the mean of each of
        `bins` equal parts of the run. A shaper counts.
        """
    @property
    def rtt_s(self) -> float:
        """The path's two-way propagation delay, in seconds."""
    @property
    def flows(self) -> list[tuple[str, str]]:
        """(name, cc) of every flow, in the order of the trace's flow numbers. No two have the same name."""
    @property
    def workloads(self) -> list[tuple[str, str]]:
        """(name, cc) of every workload, in the order of the trace's workload numbers."""
    @property
    def is_random(self) -> bool:
        """Whether another seed can give another result."""
    def expectations(
        self,
    ) -> list[tuple[str, float | None, str, list[tuple[int | None, str, float, str]]]]:
        """What its runs shall come to, each as (text, quantile, comparison, [(flow, column, bound, unit)]).

        `quantile` is None for every repetition, `flow` None for what is no flow's.

        Raises:
            ScenarioError: When a condition is none, or is about something that is not there.
        """
    def to_toml(self) -> str:
        """The scenario as TOML, with every default, those of the algorithms too, and every flow written out."""

@final
class RunResult:
    """A finished run: its metrics, and its trace if one was recorded."""

    def metrics_json(self) -> str:
        """The metrics as one JSON object."""
    @property
    def trace_hash(self) -> str | None:
        """A fingerprint of every value of the trace, 16 hexadecimal digits; None without a trace."""
    @property
    def tables(self) -> list[str]:
        """The names of the recorded tables."""
    def table(self, name: str) -> dict[str, _Numbers | _Labels]:
        """The columns of a table, all of one length.

        A column of labels is the pair (codes, labels); codes are bytes, four of them from the 256th
        label on, and the largest stands for none. A float's none is NaN. The arrays own the memory
        that the recorder filled: nothing is copied, and each call gives the same arrays.

        Raises:
            KeyError: When no table of that name was recorded.
        """
    def units(self, name: str) -> dict[str, str]:
        """The unit of each column of a table; empty for names, labels and counts.

        Raises:
            KeyError: When no table of that name was recorded.
        """

@final
class LinkRun:
    """A program that runs behind a path. Linux only."""

    def hear(self) -> str | None:
        """What is said next, one JSON object; empty when a signal came meanwhile, None when all has been said."""
    def stop(self) -> None:
        """Asks the program to end."""
    def end(self) -> None:
        """Waits until nothing is left of it."""

def link(
    scenario: Scenario,
    command: Sequence[str],
    far: Sequence[Sequence[str]],
    *,
    upload: bool = False,
    uplink: bool = False,
    live: bool = False,
    captures: str | PathLike[str] | None = None,
) -> LinkRun:
    """Begins to run a program behind a scenario's path, in namespaces of its own. Linux only.

    Args:
        scenario: Its first flow's way is that of all packets.
        command: The program with its arguments.
        far: Programs that run at the far end until the first one ends.
        upload: The scenario's data are what the program sends, not what it gets.
        uplink: The outside can be reached, through a proxy at the far end.
        live: Say every second how it is going.
        captures: A directory for captures of both ends.

    Raises:
        ScenarioError: When the scenario asks for what needs a look into the endpoints.
        OSError: When no process can be started.
    """

def namespaces_refused() -> tuple[str, str] | None:
    """Tries whether network namespaces may be made here. Linux only.

    Returns:
        What is refused, and who may allow it how; None when nothing is.

    Raises:
        OSError: When no process can be started.
    """

def run(
    scenario: Scenario, trace: str, progress: Callable[[float, float, int], object] | None = None
) -> RunResult:
    """Runs a scenario with the GIL released.

    Args:
        scenario: What to run.
        trace: `off`, `ack` for a row at every ACK, or the interval between two rows, like `10ms`.
        progress: Called some hundred times a second with seconds done, seconds in all, and events
            done. What it raises ends the run.

    Raises:
        ScenarioError: When the scenario can't run (an algorithm's parameter, memory) or `trace` is
            neither.
        KeyboardInterrupt: On Ctrl-C, within some ten milliseconds.
    """

@final
class SweepPlan:
    """The points of a sweep, all checked. A run's number is (seed - first seed) x points + point."""

    @staticmethod
    def make(
        text: str,
        file: str,
        *,
        fixed: Sequence[tuple[str, str]],
        axes: Sequence[tuple[str, Sequence[str]]],
        given: Sequence[tuple[str, str]],
        together: Sequence[str],
        sample: int | None,
        repeat: int | None,
        seed: int | None,
        points: Sequence[Sequence[tuple[str, str]]] | None,
        controllers: Sequence[_GivenController] = ...,
    ) -> SweepPlan:
        """Makes the points of a scenario's text, and checks each.

        Args:
            text: TOML, in which `[sweep]` may say what is varied.
            file: What errors call it.
            fixed: Keys with one value each, for every point.
            axes: Keys with their values, or with one range each.
            given: Keys with what stands behind the `=` of a `--set`: several values have commas
                between.
            together: Keys that are varied together; empty for those of the file.
            sample: How many points are drawn.
            repeat: Runs of each point.
            seed: Of the first run of each point.
            points: The points themselves, in the place of axes.
            controllers: Algorithms in Python.

        Raises:
            ScenarioError: When something is wrong, in any point.
        """
    @property
    def axes(self) -> list[tuple[str, list[str]]]:
        """(key, its values) of what is varied; those of a range have been drawn."""
    @property
    def mode(self) -> Literal["cartesian", "zip", "sample", "callable"]:
        """How the axes come to points."""
    @property
    def points(self) -> int:
        """How many points there are."""
    @property
    def runs(self) -> int:
        """How many runs there are."""
    @property
    def seeds(self) -> tuple[int, int]:
        """The seed of the first run of each point, and how many seeds follow each other."""
    @property
    def added_jitter(self) -> list[tuple[str, str, str]]:
        """(key, least, most) of what was added so that repetitions differ."""
    @property
    def memory(self) -> tuple[int, int]:
        """The most memory that one run needs, in bytes, and the point that it is a run of."""
    def settings(self, point: int) -> list[tuple[str, str]]:
        """(key, value) of what a point sets, as `--set` takes it."""
    def places(self, axis: int) -> list[int | None]:
        """Of each point the number of its value on an axis, or None where it does not set that key."""
    def scenarios(self, first: int, last: int) -> list[str]:
        """The scenario of each of some points as TOML, every default written out, with the first seed."""
    def start(self, ranges: Sequence[tuple[int, int]], threads: int, shard_s: float) -> SweepRun:
        """Begins to run ranges of run numbers, each with the number behind its last, in shards of about so long."""

@final
class PopulationPlan:
    """So many paths of a population, under each arm. A run is a path, under all arms; its number is the path's."""

    @staticmethod
    def make(
        text: str,
        file: str,
        *,
        arms: Sequence[str],
        paths: int,
        seed: int,
        changes: Sequence[tuple[str, str]],
    ) -> PopulationPlan:
        """Reads a population.

        Args:
            text: TOML.
            file: What errors call it.
            arms: Arms of the file, or algorithms.
            paths: How many.
            seed: Of all that is drawn.
            changes: Keys of the scenario with what is drawn instead, in all classes.

        Raises:
            ScenarioError: When something is wrong.
        """
    @property
    def title(self) -> str:
        """What the population is, in one line."""
    @property
    def runs(self) -> int:
        """How many paths there are."""
    def scenario(self, path: int, arm: int) -> str:
        """The scenario of a path under an arm, by their numbers, as TOML with every default written out."""
    def paths(self, first: int, last: int) -> _Rows:
        """A row a path: its number as `pair`, its class, the seed of its runs, and what was drawn."""
    def start(self, ranges: Sequence[tuple[int, int]], threads: int, shard_s: float) -> SweepRun:
        """Begins to run ranges of path numbers, each with the number behind its last, in shards of about so long."""

def populations() -> list[tuple[str, str]]:
    """(name, text) of the populations that come with the program."""

@final
class SweepRun:
    """Threads that run parts of a plan."""

    def next(self, patience_s: float) -> tuple[int, int, _Rows] | Literal[False] | None:
        """Waits for the next shard with the GIL released, for some seconds at most.

        Returns:
            (number of its first run, that behind its last, columns); None when it took longer;
            False when all is done. A column of words is the pair (codes, labels); a measure's none
            is NaN.

        Raises:
            RuntimeError: When a run panicked.
        """
    @property
    def runs(self) -> int:
        """How many runs are done."""
    @property
    def packets(self) -> int:
        """How many data packets they have moved."""
    def stop(self) -> None:
        """Ends all runs, within some ten milliseconds."""

_FleetTables: TypeAlias = list[
    tuple[
        str,
        dict[
            str,
            NDArray[np.float64]
            | NDArray[np.int64]
            | tuple[NDArray[np.uint32], list[str]]
            | list[str],
        ],
    ]
]

@final
class FleetReader:
    """Reads the files of one host, one after the other, and gives rows of a fleet directory's tables.

    `key` is of 16 bytes: with it, addresses become tokens, and bad lines are not quoted.
    """

    @staticmethod
    def ss(host: str, samples: bool, key: bytes | None) -> FleetReader:
        """Of `ss`: connections, and each sample if asked for."""
    @staticmethod
    def nginx(format: str, keep: Sequence[str], key: bytes | None) -> FleetReader:  # noqa: A002
        """Of nginx's logs in a format, with further variables to keep.

        Raises:
            ValueError: When the format can't be read; its arguments are what is wrong, and what
                helps.
        """
    @staticmethod
    def counters(silent: bool) -> FleetReader:
        """Of /proc/net/snmp and the like; bad lines are not quoted when `silent`."""
    @staticmethod
    def histograms(silent: bool) -> FleetReader:
        """Of bpftrace's histograms."""
    def begin(self, path: str | PathLike[str]) -> None:
        """Opens the next file: plain, gzip or zstd.

        Raises:
            OSError: When it can't be read.
        """
    def read(self, rows: int, bytes: int) -> bool:  # noqa: A002
        """Reads on until so many rows can be taken or so many bytes of text are read, with the GIL released.

        Returns:
            False when the file has ended.

        Raises:
            OSError: When it can't be read on; what was read until there counts, and the file has ended.
        """
    @property
    def position(self) -> int:
        """How many bytes of the open file, as it lies there, have been read."""
    @property
    def rows(self) -> int:
        """How many rows can be taken."""
    def take(self) -> _FleetTables:
        """Takes the rows that are complete.

        Returns:
            Tables by name, with their columns. Numbers have NaN where there is none, times are in
            microseconds, a column of words is the pair (codes, labels), and a text that is not
            there is empty.
        """
    def open(self) -> _FleetTables:
        """Rows of what may go on in a further file."""
    def take_bad(self) -> list[tuple[int, str, str]]:
        """Takes the bad lines since the last call: (number, what is wrong, its beginning)."""
    @property
    def counts(self) -> list[tuple[str, int]]:
        """How many of what have been read."""
    def state(self) -> str:
        """What is needed to go on with a further file."""
    def resume(self, state: str) -> bool:
        """Goes on from a state; false when that is of another version."""

@final
class FleetSampler:
    """A live host's connections; Linux only."""

    def __new__(
        cls,
        states: Sequence[str],
        sport: tuple[int, int] | None = None,
        dport: tuple[int, int] | None = None,
        src: tuple[IPv4Address | IPv6Address, int] | None = None,
        dst: tuple[IPv4Address | IPv6Address, int] | None = None,
    ) -> FleetSampler:
        """Of connections in some states (else all that may carry data), with ports in ranges, addresses in networks.

        Raises:
            ValueError: When there is no such state; those that there are are its argument.
            OSError: When the kernel has no sock_diag.
        """
    def list(self) -> tuple[bytes, int, bool]:
        """The connections that there are now.

        Returns:
            Lines as ss prints them, how many, and whether the table changed meanwhile.

        Raises:
            OSError: When the kernel refuses.
        """

def fleet_begin(path: str | PathLike[str]) -> int:
    """When a file begins, in microseconds since 1970, by what is in it, its name, or when it was written.

    Raises:
        OSError: When it can't be read.
    """

def fleet_variables(format: str) -> list[str]:  # noqa: A002
    """The variables of a log's format.

    Raises:
        ValueError: As for :meth:`FleetReader.nginx`.
    """

@final
class CaptureRun:
    """Captures that are being read."""

    def next(self, patience_s: float) -> dict[str, Any] | str | None:
        """Waits for flows with the GIL released, for some seconds at most.

        Returns:
            Columns of flows that are over; None when it took longer; the report as JSON when all is
            read.
        """
    @property
    def progress(self) -> tuple[int, int, int, int]:
        """Bytes read of the files, packets seen, flows that are over, flows that are open."""
    def stop(self) -> None:
        """Ends it soon."""

def capture(
    files: Sequence[str | PathLike[str]],
    *,
    idle_s: float,
    pause_s: float,
    udp: bool,
    addresses: bool,
) -> CaptureRun:
    """Begins to read captures, one after the other.

    Args:
        files: Pcap or pcapng, perhaps compressed.
        idle_s: A flow without a packet for longer is over.
        pause_s: Payload after a longer pause begins a new chunk.
        udp: Datagrams make flows, too.
        addresses: Columns `client` and `server`.
    """

def capture_head(file: str | PathLike[str], most: int) -> bytes:
    """The first bytes of a file's content, at most so many, decompressed.

    Raises:
        OSError: When it can't be read.
    """

def quantity(text: str) -> tuple[float, Literal["s", "B", "bit/s", "bdp", "packets", ""]] | None:
    """(number, unit) of a value as `--set` takes it, or None for a word."""

def rows(runs: Sequence[tuple[int, str]]) -> _Rows:
    """Rows of runs, named and typed as those of a sweep's shards.

    Args:
        runs: The point and :meth:`RunResult.metrics_json` of each.

    Raises:
        ValueError: When one is not the metrics of a run.
    """

def memory_needed(scenario: Scenario, trace: str) -> int:
    """An upper estimate of the memory that a run holds at once, in bytes; `trace` is that of :func:`run`.

    Raises:
        ScenarioError: When `trace` is no level.
    """

def handed_over(path: str | PathLike[str], repeatable: bool) -> RunResult:
    """The results that a runner in another process wrote to a file.

    Args:
        path: The file.
        repeatable: The same scenario and seed give the same trace, so that its fingerprint means
            something.

    Raises:
        OSError: When it can't be read, or has no results.
    """

def algorithms() -> list[Algorithm]:
    """The congestion-control algorithms, sorted by name."""

def impairments() -> list[Impairment]:
    """What a path may do to packets, besides queueing and carrying them."""

def metrics() -> list[Metric]:
    """The metrics of a run, of flows, workloads and links, in the order of `docs/reference/metrics.md`."""

def profiles() -> list[Profile]:
    """The paths that have a name."""

def queues() -> list[Queue]:
    """The queues that a link may have."""

def scenario_keys() -> list[Key]:
    """Every key of a scenario, in the order in which one writes them."""

def schema() -> str:
    """The JSON schema of a scenario, as text."""

def conformance_cases() -> list[str]:
    """The numbers of the BBR draft's test cases: A.1 to A.22."""

def conformance_case(
    case: str,
    cc: str,
    params: Sequence[tuple[str, str]],
    seed: int,
    controllers: Sequence[_GivenController] = ...,
) -> ConformanceCase:
    """Runs a test case of the BBR draft with the GIL released.

    Args:
        case: Its number.
        cc: The algorithm.
        params: Parameters of it, with values as `--set` takes them.
        seed: The seed of everything random.
        controllers: Algorithms in Python.

    Raises:
        KeyError: When there is no such case.
        ScenarioError: When there is no such algorithm or parameter.
    """

def agent_plan(
    scenario: Scenario,
    trace: str,
    receiver: str,
    first_port: int,
    runner: str,
    offered: Sequence[str] | None = None,
) -> str:
    """What agents do in a run of a scenario, as JSON; refuses by its key what a kernel has not got."""

def measured(scenario: Scenario, trace: str, folder: str | PathLike[str], facts: str) -> RunResult:
    """Metrics and trace of what agents wrote down in a folder: `send`, `receive`, `tap-sender`, `tap-in`, `tap-out`.

    Args:
        scenario: What was run.
        trace: `off`, or the interval between two rows of a link; `ack` is 1 ms.
        folder: Where the files are.
        facts: JSON: `runner`; `first_port`; `paced`, whether the sender's device paces every flow; `departs`, which
            bit of a packet is out when `tap-out` sees it, `first` or `last`; `host` and `warnings` of the metrics.

    Raises:
        RuntimeError: When a file is missing or breaks off, or a flow failed.
    """

def check_kernel(scenario: Scenario) -> None:
    """Refuses by its key what a run on this machine's TCP can't be given.

    Raises:
        ScenarioError: When there is something of the kind.
    """

def run_kernel(
    scenario: Scenario, trace: str, progress: Callable[[float, float, int], object] | None = None
) -> RunResult:
    """Runs a scenario on this machine's TCP, in real time.

    Args:
        scenario: What to run.
        trace: `off`, or the interval between two rows; `ack` is 1 ms.
        progress: Called some ten times a second with the seconds done, the seconds in all, and 0.

    Raises:
        ScenarioError: When it asks for what a kernel has not got, or for more than this machine can
            pace.
        OSError: When this machine does not allow it; the text says what to do.
        RuntimeError: When it was ended from outside, or a recording breaks off.
        KeyboardInterrupt: On Ctrl-C; nothing is left of the run.
    """

def agent(arguments: Sequence[str]) -> int:
    """Runs the program `fullpipe-agent` with these arguments; gives its exit code."""

def uml_topology(scenario: Scenario) -> str:
    """The path of a scenario as Linux's queueing disciplines, as JSON: `nodes`, `tc`, `departs_first`.

    Raises:
        ScenarioError: When it asks for what they do not do.
    """
