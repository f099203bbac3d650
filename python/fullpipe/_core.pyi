"""The compiled core: bindings of the Rust crates, without logic of their own.

Users call :mod:`fullpipe`, which is built on this module.
"""

from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Ack",
    "CapturePackets",
    "CaptureRun",
    "Config",
    "Conn",
    "Container",
    "Content",
    "Context",
    "Decision",
    "FleetReader",
    "FleetSampler",
    "GymBatch",
    "LinkRun",
    "Lost",
    "MachineError",
    "Plugin",
    "Policy",
    "PopulationPlan",
    "Recovery",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "Snapshot",
    "SweepPlan",
    "SweepRun",
    "TextReader",
    "__sources__",
    "__version__",
    "agent",
    "agent_plan",
    "algorithm_keys",
    "algorithm_names",
    "algorithms",
    "capture",
    "check_contract",
    "check_kernel",
    "check_simulated",
    "check_simulator",
    "confinement_refused",
    "conformance_case",
    "conformance_cases",
    "connect",
    "contain",
    "contain_further",
    "containment_refused",
    "content_head",
    "drift_limits",
    "end_with",
    "fleet_begin",
    "fleet_is_listing",
    "fleet_variables",
    "forget",
    "gym_agent",
    "gym_columns",
    "gym_features",
    "gym_info",
    "handed_over",
    "impairments",
    "judged",
    "kernel_bpf",
    "kernel_place",
    "levels",
    "limit_calls",
    "limits",
    "link",
    "load_plugin",
    "load_policy",
    "measured",
    "memory_needed",
    "metrics",
    "namespaces_refused",
    "nearest",
    "plugins",
    "policies",
    "populations",
    "profiles",
    "quantity",
    "queues",
    "refuse_to_serve",
    "repeats",
    "rows",
    "run",
    "run_kernel",
    "scenario_error",
    "scenario_keys",
    "schema",
    "serve",
    "simulate",
    "simulated",
    "synonym",
    "trace_columns",
    "trend_p",
    "uml_topology",
    "watch_signals",
    "with_params",
]

__sources__: str
"""A fingerprint of the sources from which this module was built, and of the crates that these use."""
__version__: str

_Numbers: TypeAlias = NDArray[np.float32] | NDArray[np.uint64] | NDArray[np.uint32]
_Labels: TypeAlias = tuple[NDArray[np.uint8] | NDArray[np.uint32], list[str]]
_Rows: TypeAlias = dict[
    str, NDArray[np.float64] | NDArray[np.uint64] | tuple[NDArray[np.uint32], list[str]]
]

# Name, unit, purpose, default, minimum, maximum, choices.
_ParamAbout: TypeAlias = tuple[str, str, str, float | bool | str, float, float, list[str]]
# Purpose, parameters, fields (name, unit, purpose, labels), whether the algorithm sets the window
# during recovery itself, whether it uses random numbers.
_About: TypeAlias = tuple[str, list[_ParamAbout], list[tuple[str, str, str, list[str]]], bool, bool]
# An algorithm in Python: its name, its class, and the description of the class.
_GivenController: TypeAlias = tuple[str, type, _About]

@type_check_only
class Specification(TypedDict):
    """A document that an algorithm follows; `note` describes the parts followed and the deviations."""

    name: str
    note: str

@type_check_only
class Param(TypedDict):
    """A parameter of an algorithm. `range` is for a number, with both ends included; `choices` is for a word.

    `profiles` has the defaults that differ in another `profile`.
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
    """A column that an algorithm adds to the trace. `labels` are the names of a state; empty for a number."""

    name: str
    unit: str
    purpose: str
    labels: list[str]

@type_check_only
class Algorithm(TypedDict):
    """An algorithm as described by its descriptor.

    `recovery` is the owner of the window during recovery, "sender" for an algorithm of the receiver;
    `needs` names the required signals; `marks` is whether it responds to CE marks by default. `color` is the index of
    its color in charts, None for an algorithm that is not built in; `ssthresh` whether the slow-start threshold binds
    it; `background` whether it yields to other traffic.
    """

    name: str
    purpose: str
    specifications: list[Specification]
    params: list[Param]
    fields: list[Field]
    recovery: Literal["prr", "own", "sender"]
    needs: list[str]
    marks: bool
    color: int | None
    ssthresh: bool
    background: bool

@type_check_only
class Limit(TypedDict):
    """A limit of a flow's sending: its short name, itself as the object of a sentence, and its condition."""

    name: str
    short: str
    words: str
    condition: str

@type_check_only
class QueueOption(TypedDict):
    """An option of a queue. `default` is as written in a scenario, or a description."""

    name: str
    default: str
    range: str
    purpose: str
    section: str

@type_check_only
class Queue(TypedDict):
    """A queue that a link may have. `limit` is tc's default in packets, if any.

    `aqm` tells whether it drops or marks before it is full.
    """

    name: str
    purpose: str
    specifications: list[Specification]
    options: list[QueueOption]
    limit: int | None
    in_bytes: bool
    aqm: bool

@type_check_only
class Part(TypedDict):
    """A part of an impairment's value. `named` tells whether its name is written before it.

    `default` is as written in a scenario, or a description; None for a required part.
    """

    name: str
    named: bool
    unit: str
    default: str | None
    purpose: str

@type_check_only
class Impairment(TypedDict):
    """An impairment of a path: a value of one of `keys`, which begins with the name if `named`."""

    name: str
    purpose: str
    keys: list[str]
    named: bool
    parts: list[Part]
    example: str
    source: str

@type_check_only
class Given(TypedDict):
    """A value of a profile, as TOML, with its source and the reason; `declared` is the key as in :class:`Key`."""

    key: str
    declared: str
    value: str
    source: str
    why: str

@type_check_only
class Profile(TypedDict):
    """A named path. `references` are the short names of sources, each with its full form.

    `toml` is the profile written out as a scenario without its duration.
    """

    name: str
    purpose: str
    about: str
    values: list[Given]
    references: list[tuple[str, str]]
    toml: str

@type_check_only
class Key(TypedDict):
    """A dotted key of a scenario; N is the number of a `[[flow]]`. `default` and `examples` are TOML."""

    key: str
    kind: str
    required: bool
    default: str | None
    examples: list[str]
    meaning: str

@type_check_only
class Metric(TypedDict):
    """A metric of a `run`, a `flow`, a `workload` or a `link`.

    `kind` is its type in Rust; `form` is `fact`, `one`, `distribution`, `slowdowns` or `shares`;
    `statistics` names its values; `better` is 1 if more is better, -1 if less is better, otherwise 0;
    `shown` lists the views that show it by default, each with the statistic.
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
class TraceColumn(TypedDict):
    """A column of a table of a trace, with its unit in :meth:`fullpipe.Run.trace`; empty for words and counts."""

    table: str
    name: str
    unit: str
    meaning: str

@type_check_only
class Condition(TypedDict):
    """A condition of a test case, in its unit. `because` is its source, `why` the reason for a missing value.

    `least` and `most` are the bounds, None without such a bound; `shown` and `demanded` are short texts.
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
    """A run of a test case: a name usable as a file name, its scenario as TOML, and its conditions."""

    name: str
    scenario: str
    conditions: list[Condition]

@type_check_only
class ConformanceCase(TypedDict):
    """The result of a test case of the BBR draft."""

    case: str
    title: str
    note: str
    verdict: Literal["met", "missed", "skipped"]
    scenes: list[Scene]

class MachineError(OSError):
    """An operation that this machine does not permit, or that failed. The text names the fix."""

    problem: str
    fix: str

class ScenarioError(ValueError):
    """An invalid scenario or run setting. The text names the file, the key, the value and the fix."""

    file: str
    line: int | None
    key: str
    value: str
    problem: str
    fix: str

@final
class Conn:
    """The state of the connection, as the transport keeps it."""

    @property
    def smss(self) -> int:
        """Payload of a full segment."""
    @property
    def initial_cwnd(self) -> int:
        """Initial congestion window."""
    @property
    def inflight(self) -> int:
        """Bytes sent and neither acknowledged nor declared lost."""
    @property
    def unsent(self) -> int:
        """Bytes that the application handed over and that were not sent; 0 without transport = "datagram"."""
    @property
    def delivered(self) -> int:
        """Bytes acknowledged so far."""
    @property
    def delivered_ce(self) -> int:
        """Acknowledged bytes that arrived with a CE mark; with classic feedback, all bytes of ACKs with ECE."""
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
        """Whether the application has too little data to fill the window."""
    @property
    def cwnd_limited(self) -> bool:
        """Whether the window was fully used by the flight that is being acknowledged."""
    @property
    def state(self) -> Literal["open", "reduced", "recovery", "loss"]:
        """State of loss recovery: "reduced" follows a mark, "loss" a timeout."""
    @property
    def in_recovery(self) -> bool:
        """Whether `state` is "reduced" or "recovery": with `recovery = "prr"`, PRR sets the window."""
    @property
    def reordering_seen(self) -> bool:
        """Whether a segment arrived more than three segments late."""
    @property
    def next_departure(self) -> float:
        """Time at which the pacer allows the next packet."""
    @property
    def paced(self) -> bool:
        """Whether packets are paced."""
    @property
    def pacing_rate(self) -> int | None:
        """Current pacing rate; None if unpaced."""

@final
class Snapshot:
    """The state of the connection when a packet was sent."""

    @property
    def number(self) -> int:
        """Number of the packet: grows from each packet of the connection to the next."""
    @property
    def sent(self) -> float:
        """Time at which the packet left."""
    @property
    def first_sent(self) -> float:
        """Sending time of the packet that started the sampled flight."""
    @property
    def delivered_at(self) -> float:
        """Time at which `delivered` last grew."""
    @property
    def delivered(self) -> int:
        """Bytes acknowledged by then."""
    @property
    def delivered_ce(self) -> int:
        """Bytes acknowledged with a CE mark by then."""
    @property
    def lost(self) -> int:
        """Bytes declared lost by then."""
    @property
    def inflight(self) -> int:
        """Bytes in flight, including this packet."""
    @property
    def size(self) -> int:
        """Size of the payload in bytes."""
    @property
    def app_limited(self) -> bool:
        """Whether the connection was application-limited."""
    @property
    def retransmit(self) -> bool:
        """Whether the packet is a retransmission."""
    @property
    def ecn(self) -> Literal["off", "ect0", "ect1"]:
        """ECN codepoint of the packet."""

@final
class Lost:
    """One lost packet."""

    @property
    def packet(self) -> Snapshot:
        """State of the connection when the packet was sent."""
    @property
    def lost_since_sent(self) -> int:
        """Bytes lost since the packet was sent, including the packet."""
    @property
    def new_range(self) -> bool:
        """Whether the packet begins a new range of lost packets."""
    @property
    def cause(self) -> str:
        """Cause of the loss: "rack" or "rto"."""

@final
class Ack:
    """One ACK."""

    @property
    def newest(self) -> Snapshot:
        """The most recently sent of the newly acknowledged packets."""
    @property
    def newly_acked(self) -> int:
        """Bytes newly acknowledged, cumulatively or selectively."""
    @property
    def advanced(self) -> bool:
        """Whether SND.UNA advanced."""
    @property
    def cumulative(self) -> int:
        """Bytes by which SND.UNA advanced, including those that were SACKed earlier."""
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
    def rtt_local(self) -> float:
        """The part of the RTT that this host took; 0 without [host]."""
    @property
    def rtt_remote(self) -> float:
        """The part of the RTT that the peer's host took; 0 without [host]."""
    @property
    def one_way(self) -> float | None:
        """Time from sending the packet to the peer's sending of this ACK; only differences are meaningful."""
    @property
    def rate(self) -> int | None:
        """The delivery-rate sample; None without one."""
    @property
    def rate_interval(self) -> float:
        """Interval that the rate sample covers."""
    @property
    def rate_delivered(self) -> int:
        """Bytes delivered during the rate sample."""
    @property
    def rate_lost(self) -> int:
        """Bytes lost since the newest acknowledged packet was sent."""
    @property
    def rate_delivered_ce(self) -> int:
        """Bytes delivered with a CE mark during the rate sample."""
    @property
    def rate_app_limited(self) -> bool:
        """Whether the rate sample may understate the path, since the application limited it."""
    @property
    def ce_packets(self) -> int:
        """Packets newly reported as marked."""
    @property
    def ece(self) -> bool:
        """Whether this ACK reports congestion, by the ECE flag or by counts."""
    @property
    def feedback(self) -> int | None:
        """Value of the receiver's algorithm; None without one."""
    @property
    def tlp_repair(self) -> bool:
        """Whether this ACK shows that a tail loss probe repaired a loss."""

@final
class Recovery:
    """A change in the transport's recovery."""

    @property
    def kind(self) -> str:
        """One of "enter", "exit", "spurious", "timeout" or "persistent"."""
    @property
    def cause(self) -> str | None:
        """Cause of an "enter": "loss" or "ecn"; None for other kinds."""
    @property
    def again(self) -> bool:
        """Whether this "timeout" follows another one without an acknowledgment in between."""

@final
class Config:
    """Arguments of an algorithm's constructor: the connection's constants, and every parameter."""

    @property
    def smss(self) -> int: ...
    @property
    def initial_cwnd(self) -> int: ...
    @property
    def source(self) -> tuple[float, float, float] | None:
        """Minimum and maximum rate of the media source, and its frame period; None without one."""
    @property
    def params(self) -> dict[str, float | bool | str]: ...
    @property
    def group(self) -> dict[Any, Any]: ...

@final
class Context:
    """The context of a call. It is the same object for every call, and valid only during the call."""

    @property
    def now(self) -> float:
        """Time of this event, in seconds since the run began."""
    @property
    def conn(self) -> Conn:
        """The connection at this event."""
    def random(self) -> float:
        """Returns a uniform random number in [0, 1), from the flow's own stream, which the seed determines."""
    def transition(self, from_: str, to: str, reason: str) -> None:
        """Reports a transition from one state to another, with its reason."""

@final
class Decision:
    """The algorithm's instructions to the transport, until the next decision."""

    def __new__(
        cls,
        cwnd: float,
        ssthresh: float | None = None,
        *,
        pacing_rate: float | None = None,
        send_quantum: float = 0,
        ecn: str = "off",
        source_rate: float | None = None,
        mark_app_limited: bool = False,
        wake_at: float | None = None,
    ) -> Decision:
        """Creates a decision from a window and further limits.

        Args:
            cwnd: Congestion window in bytes: a packet may leave only if the data in flight,
                including it, do not exceed this.
            ssthresh: Bytes to which PRR reduces the window in recovery. None before the first
                congestion.
            pacing_rate: In bit/s; None for no pacing.
            send_quantum: Bytes that may leave back to back; 0 leaves it to the transport.
            ecn: "off", "ect0" or "ect1".
            source_rate: Rate in bit/s at which a media source encodes; None for its maximum.
            mark_app_limited: Whether to treat the connection as limited by the application.
            wake_at: Time at which to call `on_timer`, in seconds. After that call it must be later, or None.

        Raises:
            ValueError: When an argument is invalid.
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
            file: Name of the file in error messages.
            overrides: Dotted keys with values that override the file's: `("path.rate", "20mbit")`.
            seed: Overrides the file's seed.
            controllers: Algorithms in Python.

        Raises:
            ScenarioError: When the scenario is invalid.
        """
    @property
    def source(self) -> str:
        """The text from which it was read."""
    @property
    def file(self) -> str:
        """Name of the file in error messages."""
    @property
    def folder(self) -> Path:
        """The current folder when it was read, to which the name of its file is relative."""

    @property
    def settings(self) -> list[tuple[str, str]]:
        """The (key, value) pairs that override the text's."""
    @property
    def controllers(self) -> list[tuple[str, type]]:
        """(name, class) of each algorithm in Python."""
    @property
    def title(self) -> str | None:
        """The first comment line; None without a comment."""
    @property
    def profile(self) -> tuple[str, list[tuple[str, str]]] | None:
        """Name of the path's profile and the (key, value as TOML) pairs that it provides; None without one."""

    @property
    def seed(self) -> int:
        """Seed of the run."""
    @property
    def duration_s(self) -> float:
        """Duration of the run, in seconds of virtual time."""
    @property
    def rate_bps(self) -> int:
        """Rate of the bottleneck in bit/s, at the start if it changes."""
    @property
    def links(self) -> list[tuple[str, int]]:
        """(name, rate in bit/s at the start) of every link, the bottleneck first."""
    @property
    def varying_links(self) -> list[str]:
        """Links whose rate follows a pattern; their rate in `links` is the mean."""
    @property
    def changes(self) -> list[tuple[float, int]]:
        """(time in seconds, rate of the bottleneck from then on in bit/s) of every change of the path."""
    def rate_over_time(self, bins: int) -> list[tuple[float, int]]:
        """Returns (time in seconds, rate in bit/s at which the bottleneck can send from then on).

        There is one entry for every change of the path. A rate that follows a pattern is the mean of
        each of `bins` equal parts of the run. A shaper's rate is included.
        """
    @property
    def rtt_s(self) -> float:
        """Two-way propagation delay of the path, in seconds."""
    @property
    def flows(self) -> list[tuple[str, str]]:
        """(name, cc) of every flow, in the order of the trace's flow numbers. Names are unique."""
    @property
    def programs(
        self,
    ) -> list[
        tuple[
            tuple[int, str],
            tuple[str, str],
            list[str | None],
            list[tuple[str, float | bool | str]],
            int | None,
            float,
        ]
    ]:
        """Every flow that is a program.

        Each has (index, name); (the key that makes it one, that key's value); [recipe, server's command line, client's,
        pattern of files to keep]; (name, value) of each parameter of the recipe; bytes to transfer; and the seconds
        that are left at its start.
        """
    @property
    def workloads(self) -> list[tuple[str, str]]:
        """(name, cc) of every workload, in the order of the trace's workload numbers."""
    @property
    def is_random(self) -> bool:
        """Whether another seed can change the result of the run."""
    def expectations(
        self,
    ) -> list[tuple[str, float | None, str, list[tuple[int | None, str, float, str]]]]:
        """Returns the conditions that its runs must meet.

        Each is (text, quantile, comparison, [(flow, column, bound, unit)]). A quantile of None means
        that every repetition must meet the condition, a flow of None that the value does not belong
        to a flow.

        Raises:
            ScenarioError: When a condition is invalid, or refers to something that does not exist.
        """
    def to_toml(self) -> str:
        """Returns the scenario as TOML, with all flows and all defaults, including those of the algorithms."""
    def to_toml_to_change(self) -> str:
        """Returns the scenario as TOML, without parameters and receive windows that it does not give.

        Their defaults depend on the algorithm and the path, which a reader of the text may change.
        """
    def _repr_html_(self) -> str: ...
    def _repr_png_(self) -> bytes: ...

@final
class Plugin:
    """A loaded library with an algorithm."""

    @property
    def name(self) -> str:
        """The name by which scenarios call the algorithm."""
    @property
    def file(self) -> Path:
        """The library."""
    @property
    def content(self) -> bytes:
        """The contents of the library when it was loaded."""

def repeats(name: str, controllers: Sequence[_GivenController], sequences: int) -> bool | None:
    """Returns whether two instances of an algorithm decide the same at the same calls; None without an algorithm.

    Args:
        name: Name of the algorithm.
        controllers: Algorithms in Python.
        sequences: Number of random sequences of calls.
    """

def check_contract(
    name: str, controllers: Sequence[_GivenController], sequences: int
) -> str | None:
    """Tests the contract of an algorithm, and returns a description of the first breach; None without one.

    Args:
        name: Name of the algorithm.
        controllers: Algorithms in Python.
        sequences: Number of sequences for each transport and set of parameters.

    Raises:
        ScenarioError: When there is no such algorithm.
    """

@final
class RunResult:
    """A finished run: its metrics, and its trace if one was recorded."""

    def metrics_json(self) -> str:
        """Returns the metrics as one JSON object."""
    @property
    def trace_hash(self) -> str | None:
        """A fingerprint of every value of the trace, 16 hexadecimal digits; None without a trace."""
    @property
    def tables(self) -> list[str]:
        """Names of the recorded tables."""
    def table(self, name: str) -> dict[str, _Numbers | _Labels]:
        """Returns the columns of a table, all of the same length.

        A column of labels is the pair (codes, labels). Codes are `uint8`, or `uint32` with 256 or more
        labels; the largest code means no label. A missing float is NaN. The arrays own the memory that
        the recorder filled: nothing is copied, and each call returns the same arrays.

        Raises:
            KeyError: When no table of that name was recorded.
        """
    def units(self, name: str) -> dict[str, str]:
        """Returns the unit of each column of a table; empty for names, labels and counts.

        Raises:
            KeyError: When no table of that name was recorded.
        """

@final
class LinkRun:
    """A program that runs behind a path. Linux only."""

    def hear(self) -> str | None:
        """Returns the next message, one JSON object; empty if a signal arrived first, None at the end."""
    def stop(self) -> None:
        """Asks the program to terminate."""
    def end(self) -> None:
        """Waits until all its processes have ended."""

def link(
    scenario: Scenario,
    command: Sequence[str],
    far: Sequence[Sequence[str]],
    *,
    cc: str | None = None,
    far_cc: str | None = None,
    upload: bool = False,
    uplink: bool = False,
    unconfined: bool = False,
    live: bool = False,
    captures: str | PathLike[str] | None = None,
) -> LinkRun:
    """Starts a program behind a scenario's path, in its own namespaces. Linux only.

    Args:
        scenario: Its path; all packets take the path of its first flow.
        command: The program with its arguments.
        far: Programs that run at the far end until the first program ends.
        cc: Congestion control of the first program's connections (default: the machine's), by the
            kernel's name or fullpipe's.
        far_cc: Congestion control of connections at the far end.
        upload: The program sends the scenario's data instead of receiving them.
        uplink: Gives access to the outside, through a proxy at the far end.
        unconfined: Lets the programs use the machine's devices, shared memory, set-user-ID programs
            and all system calls.
        live: Report the progress every second.
        captures: A directory for captures of both ends.

    Raises:
        ScenarioError: When the scenario requires control over the endpoints.
        OSError: When a process can't be started.
    """

@final
class Container:
    """A contained program."""

    def refused(self) -> tuple[str, str] | None:
        """Returns the problem and its fix, if the program could not be started; waits until it is started, or not."""
    def end(self) -> None:
        """Ends the program at once, and waits for its end."""

def limit_calls(exits: int | None = None, seconds: float = 10.0) -> None:
    """Lets a call of an algorithm that keeps the interpreter and does not return end this process.

    Args:
        exits: Descriptor to which the exit code is written first.
        seconds: Time after which a call of any class counts as endless.
    """

def watch_signals(pipe: int, numbers: bytes, exits: int | None = None) -> None:
    """Ends the process a second after a signal, unless the interpreter has handled it by then. Linux only.

    Args:
        pipe: The end to read of a pipe with the numbers of signals as they arrive, and 0 for each one that is handled.
            It is closed here. Without writers it ends the watch.
        numbers: The signals; others are left out.
        exits: The end to write of a pipe that takes the exit code.
    """

def end_with(parent: int) -> None:
    """Ends this process when its parent ends, also by a kill. Linux only.

    Args:
        parent: The number of the parent, which may have ended already.
    """

def contain(
    command: Sequence[str],
    socket: int,
    *,
    environment: Sequence[str],
    places: Sequence[str | PathLike[str]],
    files: Sequence[tuple[str | PathLike[str], bytes]],
    memory: int,
    cpu_s: int,
) -> Container:
    """Starts a program that does not reach the machine. Linux only.

    It gets the socket as its descriptor 3. Its output is lost. It may fork: its processes are contained after
    :func:`contain_further`.

    Args:
        command: Its absolute name, and its arguments.
        socket: Descriptor of a socket, which is handed over.
        environment: All variables of its environment, as `NAME=VALUE`.
        places: Folders and files that it may read, none inside another; missing ones are left out.
        files: Further files with their contents, by their absolute names.
        memory: Most address space, in bytes.
        cpu_s: Most processor time.

    Raises:
        MachineError: When a process can't be started.
    """

def contain_further() -> None:
    """Contains this process, which a contained program has forked: it starts no process or thread from now on.

    Linux only.

    Raises:
        MachineError: When the machine does not allow it.
    """

def containment_refused() -> tuple[str, str] | None:
    """Tests whether programs can be contained here. Linux only.

    Returns:
        The problem and its fix; None if they can be contained.

    Raises:
        OSError: When a process can't be started.
    """

def connect(name: str, parent: int, patience_s: float) -> None:
    """Makes an algorithm in other processes one of this process: one for each run. Not on Windows.

    Args:
        name: Its name in scenarios.
        parent: Descriptor of a socket, which is handed over. For each socket that the other side receives over it,
            it starts a process that serves the algorithm there.
        patience_s: Most time for an answer.

    Raises:
        ScenarioError: When a process has no algorithm to serve.
    """

def forget(name: str) -> None:
    """Forgets the algorithms of other processes that have this name. Not on Windows."""

def serve(socket: int, name: str, controllers: Sequence[_GivenController]) -> None:
    """Serves an algorithm over a socket, until the other side ends. Not on Windows.

    Args:
        socket: Descriptor, which is handed over.
        name: Name of the algorithm.
        controllers: Algorithms in Python.

    Raises:
        ScenarioError: When there is no such algorithm.
        OSError: When the other side can't be reached.
    """

def refuse_to_serve(socket: int, words: str) -> None:
    """Tells the other side of a socket why there is no algorithm to serve. Not on Windows.

    Args:
        socket: Descriptor, which is handed over.
        words: The reason.

    Raises:
        OSError: When the other side can't be reached.
    """

def confinement_refused() -> tuple[str, str] | None:
    """Tests whether the programs of `fullpipe link` can be confined here. Linux only.

    Returns:
        The problem and its fix; None if they can be confined.

    Raises:
        OSError: When a process can't be started.
    """

def namespaces_refused() -> tuple[str, str] | None:
    """Tests whether network namespaces can be created here. Linux only.

    Returns:
        The problem and its fix; None if namespaces can be created.

    Raises:
        OSError: When a process can't be started.
    """

def run(
    scenario: Scenario, trace: str, progress: Callable[[float, float, int], object] | None = None
) -> RunResult:
    """Runs a scenario with the GIL released.

    Args:
        scenario: The scenario to run.
        trace: `off`, `ack` for a row at every ACK, or the interval between two rows, like `10ms`.
        progress: Called about a hundred times a second with the seconds completed, the total
            seconds, and the events processed. An exception that it raises ends the run.

    Raises:
        ScenarioError: When the scenario can't run (an algorithm's parameter, memory) or `trace` is
            neither a level nor an interval.
        KeyboardInterrupt: On Ctrl-C, within about ten milliseconds.
    """

@final
class GymBatch:
    """Environments for reinforcement learning with one declaration; :mod:`fullpipe.gym` is built on it."""

    @staticmethod
    def make(
        text: str,
        file: str,
        *,
        prior: Sequence[tuple[str, str]],
        features: Sequence[str],
        history: int,
        columns: Sequence[str],
        action: tuple[str, str, float, tuple[float, float], tuple[float, float]],
        interval: float,
        warm_up: float,
        reward: tuple[float, float, float] | None,
        max_steps: int | None,
        start: str | None,
        count: int,
        threads: int,
        restarts: bool,
        controllers: Sequence[_GivenController] = ...,
    ) -> GymBatch:
        """Checks a declaration and creates its environments.

        Args:
            text: TOML of the scenario; flows with `cc = "agent"` are steered.
            file: Name of the file in error messages.
            prior: Keys with the text after the `=` of a `--set`.
            features: Features of intervals that agents observe.
            history: Number of intervals in an observation.
            columns: Columns of the trace that agents observe.
            action: Quantity, form, scale, (least, most) action, (least, most) bit/s or packets.
            interval: Length of an interval in mean RTTs.
            warm_up: Length of the first interval in RTTs.
            reward: Weights of packets per second, mean RTT in seconds and loss ratio; None for power.
            max_steps: Number of steps after which an episode is cut.
            start: First rate as a share of the bottleneck's, a number or a range.
            count: Number of environments.
            threads: Number of threads that step them.
            restarts: Whether the step after the end of an episode begins the next one.
            controllers: Algorithms in Python.

        Raises:
            ScenarioError: When a scenario or an option is refused.
        """
    @property
    def agents(self) -> list[str]:
        """Names of the agents' flows."""
    @property
    def observed(self) -> int:
        """Number of values in an agent's observation."""
    def settings(self, seed: int) -> list[tuple[str, str]]:
        """Returns the (key, value) pairs that an episode's seed draws, as `--set` takes them."""
    def reset(self, chosen: Sequence[tuple[int, int | None]]) -> None:
        """Begins episodes, without the GIL: (environment, seed), or None for the environment's next seed.

        Raises:
            ScenarioError: When drawn settings do not fit each other.
        """
    def step(self, actions: NDArray[np.float32]) -> None:
        """Makes a step in all environments, without the GIL.

        Args:
            actions: One per agent: those of the first environment, then those of the second.

        Raises:
            ScenarioError: When the drawn settings of a next episode do not fit each other.
        """
    def read(
        self,
    ) -> tuple[
        NDArray[np.float32],
        NDArray[np.float64],
        NDArray[np.bool_],
        NDArray[np.bool_],
        NDArray[np.float64],
        NDArray[np.uint64],
    ]:
        """Returns the results of the last reset or step, in new arrays.

        Returns:
            Observations, rewards and terminated, with a row or value per agent; truncated, one per environment;
            the numbers of `gym_info` about the intervals, with a row per agent; seeds of the episodes.
        """

@final
class SweepPlan:
    """The checked points of a sweep. The number of a run is (seed - first seed) x points + point."""

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
        whole: Sequence[str] = ...,
        controllers: Sequence[_GivenController] = ...,
    ) -> SweepPlan:
        """Creates the points of a scenario's text, and checks each.

        Args:
            text: TOML; its `[sweep]` may declare the varied keys.
            file: Name of the file in error messages.
            fixed: Keys with one value each, for every point.
            axes: Keys with their values, or with one range each.
            given: Keys with the text after the `=` of a `--set`; commas separate several values.
            together: Keys that vary together; empty for those of the file.
            sample: Number of points to draw.
            repeat: Runs of each point.
            seed: Seed of the first run of each point.
            points: The points themselves, instead of axes.
            whole: The complete scenarios of the points, as :meth:`scenarios` returned them once; the settings only
                name them. Empty to make the scenarios from the text and the settings.
            controllers: Algorithms in Python.

        Raises:
            ScenarioError: When a point is invalid.
        """
    @property
    def axes(self) -> list[tuple[str, list[str]]]:
        """(key, values) of the varied keys; values of a range are already drawn."""
    @property
    def mode(self) -> Literal["cartesian", "zip", "sample", "callable"]:
        """Way in which the axes combine into points."""
    @property
    def points(self) -> int:
        """Number of points."""
    @property
    def runs(self) -> int:
        """Number of runs."""
    @property
    def seeds(self) -> tuple[int, int]:
        """Seed of each point's first run, and the number of consecutive seeds."""
    @property
    def added_jitter(self) -> list[tuple[str, str, str]]:
        """(key, minimum, maximum) of the jitter added so that repetitions differ."""
    @property
    def memory(self) -> tuple[int, int]:
        """Memory in bytes of the run that needs the most, and the point of that run."""
    def simulated(self) -> None:
        """Checks that the simulator can run each point.

        Raises:
            ScenarioError: When a flow is a program, which only other runners have.
        """
    def settings(self, point: int) -> list[tuple[str, str]]:
        """Returns the (key, value) pairs that a point sets, as `--set` takes them."""
    def places(self, axis: int) -> list[int | None]:
        """Returns, for each point, the index of its value on an axis; None if it does not set that key."""
    def scenarios(self, first: int, last: int) -> list[str]:
        """Returns the scenarios of a range of points as TOML, with every default and the first seed."""
    def start(self, ranges: Sequence[tuple[int, int]], threads: int, shard_s: float) -> SweepRun:
        """Starts running ranges of run numbers on `threads` threads, in shards of about `shard_s` seconds.

        Args:
            ranges: First run of each range, and one past its last.
            threads: Number of threads.
            shard_s: Duration of a shard in seconds.

        Raises:
            ScenarioError: When a point has a program, or an algorithm that the simulator lacks.
        """

@final
class Policy:
    """A trained policy that was read from a file."""

    @property
    def name(self) -> str:
        """The name by which scenarios call it."""
    @property
    def file(self) -> Path:
        """The file."""
    @property
    def text(self) -> str:
        """The text of the file when it was read."""
    def action(self, observation: NDArray[np.float32]) -> float:
        """Returns the action for an observation."""

@final
class PopulationPlan:
    """A number of paths of a population, under each arm.

    A run is one path under all arms; its number is that of the path.
    """

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
            file: Name of the file in error messages.
            arms: Arms of the file, or algorithms.
            paths: Number of paths.
            seed: Seed of everything that is drawn.
            changes: Keys of the scenario with the distribution that replaces theirs, in all classes.

        Raises:
            ScenarioError: When the population is invalid.
        """
    @property
    def title(self) -> str:
        """Title of the population, in one line."""
    @property
    def runs(self) -> int:
        """Number of paths."""
    def scenario(self, path: int, arm: int) -> str:
        """Returns the scenario of a path under an arm, both given by number, as TOML with every default."""
    def paths(self, first: int, last: int) -> _Rows:
        """Returns one row per path: its number as `pair`, its class, the seed of its runs, and the drawn values."""
    def start(self, ranges: Sequence[tuple[int, int]], threads: int, shard_s: float) -> SweepRun:
        """Starts running ranges of path numbers on `threads` threads, in shards of about `shard_s` seconds.

        Args:
            ranges: First path of each range, and one past its last.
            threads: Number of threads.
            shard_s: Duration of a shard in seconds.
        """

def levels(values: NDArray[np.float64]) -> list[NDArray[np.uint32]]:
    """Returns levels of detail of a line, with the GIL released.

    Args:
        values: The values in order of time, contiguous, of the shape (points,).

    Returns:
        Indices of the points of each level, from the finest to the coarsest, which has at most 2048.
        The finest level omits values that are not finite, and those in the middle of equal values.
        Each further level keeps the minimum and the maximum of every eight points.
    """

def policies() -> list[Policy]:
    """Returns the policies of this process, the latest of each name."""

def populations() -> list[tuple[str, str]]:
    """Returns (name, text) of the populations included in the program."""

@final
class SweepRun:
    """Threads that run parts of a plan."""

    def next(self, patience_s: float) -> tuple[int, int, _Rows] | Literal[False] | None:
        """Waits for the next shard with the GIL released, for at most `patience_s` seconds.

        Returns:
            (number of its first run, one past the number of its last run, columns); None after a
            timeout; False when all runs are done. A column of words is the pair (codes, labels); a
            missing measure is NaN.

        Raises:
            RuntimeError: When a run panicked.
        """
    @property
    def runs(self) -> int:
        """Number of completed runs."""
    @property
    def packets(self) -> int:
        """Number of data packets that the runs have moved."""
    def stop(self, patience_s: float) -> bool:
        """Stops all runs, usually within ten milliseconds.

        Args:
            patience_s: Most time to wait for an algorithm, in seconds.

        Returns:
            False if an algorithm did not return within that time; its thread is left to itself unless this is called
            again.
        """

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
    """Reads the files of one host, one after the other, and returns rows of a fleet directory's tables.

    `key` has 16 bytes: with it, addresses become tokens, and the text of bad lines is omitted.
    """

    @staticmethod
    def ss(host: str, samples: bool, key: bytes | None) -> FleetReader:
        """Creates a reader of `ss` output: connections, and each sample if requested."""
    @staticmethod
    def series() -> FleetReader:
        """Creates a reader of `ss` output as the table `series`: a row for each sample, as it is printed.

        `time_ns` has nanoseconds since the first time in the file, the least number without one; `ends` the addresses.
        """
    @staticmethod
    def nginx(format: str, keep: Sequence[str], key: bytes | None) -> FleetReader:  # noqa: A002
        """Creates a reader of nginx logs in a format, with further variables to keep.

        Raises:
            ValueError: When the format can't be parsed; its arguments are the problem and the fix.
        """
    @staticmethod
    def counters(silent: bool) -> FleetReader:
        """Creates a reader of /proc/net/snmp and similar files; `silent` omits the text of bad lines."""
    @staticmethod
    def histograms(silent: bool) -> FleetReader:
        """Creates a reader of bpftrace histograms."""
    def begin(self, path: str | PathLike[str]) -> None:
        """Opens the next file: plain, gzip or zstd.

        Raises:
            OSError: When it can't be read.
        """
    def read(self, rows: int, bytes: int) -> bool:  # noqa: A002
        """Reads on until `rows` rows are complete or `bytes` bytes of text are read, with the GIL released.

        Returns:
            False at the end of the file.

        Raises:
            OSError: When reading fails; the data read so far are kept, and the file is closed.
        """
    @property
    def position(self) -> int:
        """Bytes read of the last opened file, before decompression."""
    @property
    def rows(self) -> int:
        """Number of complete rows."""
    def take(self) -> _FleetTables:
        """Takes the complete rows.

        Returns:
            Tables by name, with their columns. A missing number is NaN, times are in microseconds, a
            column of words is the pair (codes, labels), and a missing text is empty.
        """
    def open(self) -> _FleetTables:
        """Returns the rows that may continue in a further file."""
    def take_bad(self) -> list[tuple[int, str, str]]:
        """Takes the bad lines since the last call: (line number, problem, beginning of the line)."""
    @property
    def counts(self) -> list[tuple[str, int]]:
        """Number of items read, by kind."""
    def state(self) -> str:
        """Returns the state needed to continue with a further file."""
    def resume(self, state: str) -> bool:
        """Continues from a state; false if the state is of another version."""

@final
class FleetSampler:
    """The connections of a live host; Linux only."""

    def __new__(
        cls,
        states: Sequence[str],
        sport: tuple[int, int] | None = None,
        dport: tuple[int, int] | None = None,
        src: tuple[IPv4Address | IPv6Address, int] | None = None,
        dst: tuple[IPv4Address | IPv6Address, int] | None = None,
    ) -> FleetSampler:
        """Creates a sampler of connections with the given states, ports and addresses.

        Args:
            states: States of the connections; by default all that may carry data.
            sport: Range of source ports.
            dport: Range of destination ports.
            src: Network of the source address, with its prefix length.
            dst: Network of the destination address, with its prefix length.

        Raises:
            ValueError: When a state does not exist; its argument lists the existing ones.
            OSError: When the kernel has no sock_diag.
        """
    def list(self) -> tuple[bytes, int, bool]:
        """Lists the current connections.

        Returns:
            Lines as printed by ss, the number of connections, and whether the table changed meanwhile.

        Raises:
            OSError: When the kernel refuses the request.
        """

def fleet_begin(path: str | PathLike[str]) -> int:
    """Returns the time at which a file begins, in microseconds since 1970.

    The time comes from the file's content, its name, or its modification time.

    Raises:
        OSError: When the file can't be read.
    """

def fleet_is_listing(head: bytes) -> bool:
    """Returns whether a text that begins so is a listing of `ss`."""

def fleet_variables(format: str) -> list[str]:  # noqa: A002
    """Returns the variables of a log format.

    Raises:
        ValueError: As for :meth:`FleetReader.nginx`.
    """

@final
class CaptureRun:
    """Captures that are being read."""

    def next(self, patience_s: float) -> dict[str, Any] | str | None:
        """Waits for flows with the GIL released, for at most `patience_s` seconds.

        Returns:
            Columns of finished flows; None after a timeout; the report as JSON at the end.
        """
    @property
    def progress(self) -> tuple[int, int, int, int]:
        """Bytes of the files read, packets read, finished flows, and open flows."""
    def stop(self) -> None:
        """Stops reading soon."""

def capture(
    files: Sequence[str | PathLike[str]],
    *,
    idle_s: float,
    pause_s: float,
    udp: bool,
    addresses: bool,
) -> CaptureRun:
    """Starts reading captures, one after the other.

    Args:
        files: Pcap or pcapng files, plain or compressed.
        idle_s: Seconds without a packet after which a flow is over.
        pause_s: Seconds of pause after which payload begins a new chunk.
        udp: Whether UDP datagrams make flows, too.
        addresses: Whether to return the columns `client` and `server`.
    """

@final
class CapturePackets:
    """The TCP segments and UDP datagrams of a capture that is being read."""

    def __new__(cls, file: str | PathLike[str]) -> CapturePackets:
        """Opens a capture.

        Raises:
            ValueError: When the file is not a capture; the text has the fix.
            OSError: When the file can't be read.
        """

    def next(
        self, most: int
    ) -> list[
        tuple[
            int,
            tuple[bytes, int],
            tuple[bytes, int],
            int,
            bool,
            int,
            int,
            int,
            int | None,
            int | None,
            int | None,
            int | None,
            tuple[tuple[int, int], ...],
            bytes,
        ]
    ]:
        """Returns the next packets, at most `most`; none at the end.

        Each has its time in nanoseconds since 1970, and then the values of
        :class:`fullpipe.wings.traces.foreign.capture.Segment`.
        """

    def report(self) -> tuple[str | None, int, int, list[str], list[tuple[str, int]]]:
        """Ends the reading.

        Returns:
            The damage in words, the numbers of packets without a time and of links that are not read, the links, and
            the numbers of packets that are not IP, by their kind.

        Raises:
            RuntimeError: When it was called before.
        """

    @property
    def position(self) -> int:
        """Bytes of the content read, decompressed."""

@final
class Content:
    """The content of a file, plain or compressed, in pieces of bytes."""

    def __new__(cls, file: str | PathLike[str]) -> Content:
        """Opens a file.

        Raises:
            OSError: When the file can't be read, or its compression is of another kind than gzip and zstd.
        """

    def next(self) -> bytes | None:
        """Returns the next bytes, decompressed; None at the end.

        Raises:
            OSError: When the rest of the file can't be read; without a number where the compression is damaged.
        """

@final
class TextReader:
    """The text of a file, plain or compressed, in pieces of whole lines."""

    def __new__(cls, file: str | PathLike[str], separator: str | None = None) -> TextReader:
        """Opens a file; with a separator of fields, a line break between double quotes belongs to its line.

        Raises:
            OSError: When the file can't be read.
        """

    def next(self) -> tuple[bytes, int, list[int]] | None:
        """Returns about 8 MB of lines, the number of the first one, and those of lines left out; None at the end.

        Lines of more than a megabyte are left out.

        Raises:
            OSError: When the rest of the file can't be read.
        """

    @property
    def position(self) -> int:
        """Bytes of the file read, before decompression."""

def content_head(file: str | PathLike[str], most: int) -> bytes:
    """Returns the first bytes of a file's content, at most `most`, decompressed.

    Raises:
        OSError: When the file can't be read.
    """

def quantity(text: str) -> tuple[float, Literal["s", "B", "bit/s", "bdp", "packets", ""]] | None:
    """Returns (number, unit) of a value as `--set` takes it; None for a word."""

def synonym(word: str, known: Sequence[str]) -> str | None:
    """Returns the name in `known` that stands for a word of other programs, like "rate" for "bandwidth"."""

def rows(runs: Sequence[tuple[int, str]]) -> _Rows:
    """Returns rows of runs, with the names and types of a sweep's shards.

    Args:
        runs: The point and the :meth:`RunResult.metrics_json` of each run.

    Raises:
        ValueError: When an element is not the metrics of a run.
    """

def judged(
    scenario: Scenario,
    values: Callable[[int | None, str], Sequence[tuple[int, float | None]]],
) -> str:
    """Judges the repetitions of a scenario, and returns the verdicts as JSON: a list, in the order of its conditions.

    Args:
        scenario: The scenario with the conditions.
        values: A function that returns (seed, value) of each repetition, for the index of a flow (None for the run
            or a link) and the column of a metric.
    """

def memory_needed(scenario: Scenario, trace: str) -> int:
    """Returns an upper estimate of the memory that a run uses at once, in bytes.

    Args:
        scenario: The scenario of the run.
        trace: As for :func:`run`.

    Raises:
        ScenarioError: When `trace` is neither a level nor an interval.
    """

def gym_agent() -> str:
    """Returns the name of the algorithm of a steered flow."""

def gym_columns() -> list[str]:
    """Returns the names of the trace's columns that agents can observe."""

def gym_features() -> list[tuple[str, str, float, float, str]]:
    """Returns (name, unit, least, most, meaning) of each feature of an interval."""

def gym_info() -> list[str]:
    """Returns the names of the numbers about an interval."""

def handed_over(path: str | PathLike[str], repeatable: bool) -> RunResult:
    """Reads the results that a runner in another process wrote to a file.

    Args:
        path: The file.
        repeatable: Whether the same scenario and seed give the same trace; only such a trace has a
            fingerprint.

    Raises:
        OSError: When the file can't be read, or has no results.
    """

def algorithms() -> list[Algorithm]:
    """Returns the congestion-control algorithms, sorted by name."""

def impairments() -> list[Impairment]:
    """Returns the impairments of a path."""

def metrics() -> list[Metric]:
    """Returns the metrics of a run, of flows, workloads and links, in the order of `docs/reference/metrics.md`."""

def load_plugin(
    file: str | PathLike[str], name: str | None = None, replaces: bool = False
) -> Plugin:
    """Loads a library: from now on, its algorithm is one of this process.

    Args:
        file: The library. Its code runs with the rights of the process.
        name: Another name than that which the library gives its algorithm.
        replaces: Whether it may replace an algorithm of another library.

    Raises:
        ScenarioError: When it is no library for this machine and version, or its name belongs to another algorithm.
    """

def load_policy(file: str | PathLike[str], name: str) -> Policy:
    """Reads a policy: from now on, it is the algorithm `name` of this process.

    Raises:
        ScenarioError: When the file can't be read, or is no policy of this version.
    """

def plugins() -> list[Plugin]:
    """Returns the loaded libraries, the latest of each name."""

def nearest(name: str, known: list[str]) -> str | None:
    """Returns the name of `known` that a mistyped one stands for, or None; signs, separators and case do not matter."""

def profiles() -> list[Profile]:
    """Returns the named paths."""

def queues() -> list[Queue]:
    """Returns the queues that a link may have."""

def algorithm_names(text: str, settings: Sequence[tuple[str, str]] = ...) -> list[str]:
    """Returns the names of algorithms in a scenario's text and in settings as `--set` takes them.

    The names are as they are written, without parameters and repetition. A text that can't be read has none.
    """

def with_params(text: str) -> tuple[str, str]:
    """Returns the name of an algorithm without the parameters behind it, and these, empty without any."""

def algorithm_keys(scenario: Scenario) -> list[tuple[str, str, str, bool]]:
    """Returns (key, value as TOML, cc, whether it is a program) of every flow and workload of a scenario.

    The key names its algorithm, or makes it a program.
    """

def scenario_error(
    scenario: Scenario, key: str, value: str, problem: str, fix: str
) -> ScenarioError:
    """Returns the error about a key of a scenario, with its place in the file."""

def scenario_keys() -> list[Key]:
    """Returns every key of a scenario, in the order of writing."""

def schema() -> str:
    """Returns the JSON schema of a scenario, as text."""

def limits() -> list[Limit]:
    """Returns the limits of a flow, in the order in which they are tested."""

def drift_limits() -> dict[str, float]:
    """Returns the level and the least differences of the tests for drift: `level`, `warm_up`, `of_all`, `loss`."""

def trend_p(tau: float) -> float:
    """Returns the probability of a Kendall's tau of twelve batch means that is at least as far from zero."""

def trace_columns() -> list[TraceColumn]:
    """Returns the columns of a trace's tables, in the order of `docs/reference/metrics.md`."""

def conformance_cases() -> list[str]:
    """Returns the numbers of the BBR draft's test cases: A.1 to A.22."""

def conformance_case(
    case: str,
    cc: str,
    params: Sequence[tuple[str, str]],
    seed: int,
    controllers: Sequence[_GivenController] = ...,
) -> ConformanceCase:
    """Runs a test case of the BBR draft with the GIL released.

    Args:
        case: Number of the test case.
        cc: Name of the algorithm.
        params: Parameters of the algorithm, with values as `--set` takes them.
        seed: Seed of everything random.
        controllers: Algorithms in Python.

    Raises:
        KeyError: When the test case does not exist.
        ScenarioError: When the algorithm or a parameter does not exist.
    """

def agent_plan(
    scenario: Scenario,
    trace: str,
    receiver: str,
    first_port: int,
    runner: str,
    offered: Sequence[str] | None = None,
) -> str:
    """Returns the agents' plan for a run of a scenario, as JSON.

    Raises:
        ScenarioError: When the scenario has a key that a kernel does not support.
    """

def measured(scenario: Scenario, trace: str, folder: str | PathLike[str], facts: str) -> RunResult:
    """Reconstructs metrics and trace from the files that agents wrote to a folder.

    The files are `send`, `receive`, `tap-sender`, `tap-in` and `tap-out`.

    Args:
        scenario: The scenario of the run.
        trace: `off`, or the interval between two rows of a link; `ack` means 1 ms.
        folder: The folder with the files.
        facts: JSON: `runner`; `first_port`; `paced`, whether the sender's device paces every flow;
            `departs`, `first` or `last`, the bit of a packet that leaves when `tap-out` records it;
            `host` and `warnings` of the metrics.

    Raises:
        RuntimeError: When a file is missing or incomplete, or a flow failed.
    """

def check_kernel(scenario: Scenario, loadable: Sequence[str] = ...) -> None:
    """Refuses a scenario with a key that a run on this machine's TCP does not support.

    Args:
        scenario: The scenario.
        loadable: The kernel's names of algorithms that are loaded before the run.

    Raises:
        ScenarioError: When the scenario has such a key.
    """

def check_simulator(scenario: Scenario) -> None:
    """Refuses a scenario with a flow that the simulator does not support; programs are left out.

    Raises:
        ScenarioError: When the scenario has such a flow.
    """

def kernel_bpf(scenario: Scenario) -> list[tuple[str, str, bool, list[tuple[str, str]]]]:
    """Returns the algorithms of a scenario that this machine's own kernel lacks.

    Each has its name in scenarios, and as BPF in the kernel; whether it is loaded; and its parameters, as text.

    Raises:
        ScenarioError: When flows of one algorithm give it different parameters.
    """

def kernel_place() -> tuple[str, int]:
    """Returns the address of the senders of a run on this machine's TCP, and the port of the first flow."""

def run_kernel(
    scenario: Scenario,
    trace: str,
    programs: Sequence[tuple[int, Sequence[str], Sequence[str], str | None, Path]],
    progress: Callable[[float, float, int], object] | None = None,
    interval_of: Callable[[str, float, float, tuple[int, int, int]], object] | None = None,
) -> RunResult:
    """Runs a scenario on this machine's TCP, in real time.

    Args:
        scenario: The scenario to run.
        trace: `off`, or the interval between two rows; `ack` means 1 ms.
        programs: For each flow that is a program its index, the server and the client with their arguments, the
            congestion control of the server's TCP (None for the machine's), and the directory in which both run.
        progress: Called about ten times a second with the seconds completed, the total seconds, and 0.
        interval_of: Called about once a second for each flow, but for arriving ones, with its name, the interval's
            ends in seconds, and within it the bytes acknowledged, the packets sent again, and the congestion window in
            bytes at its end.

    Raises:
        ScenarioError: When the scenario has a key that a kernel does not support, or exceeds the rate
            that this machine can pace.
        OSError: When this machine does not permit the run; the text names the fix.
        RuntimeError: When the run was ended from outside, or a recording is incomplete.
        KeyboardInterrupt: On Ctrl-C, after removing everything that the run created.
    """

def agent(arguments: Sequence[str]) -> int:
    """Runs the program `fullpipe-agent` with these arguments. Returns its exit code."""

def check_simulated(scenario: Scenario, runner: str, offered: Sequence[str]) -> None:
    """Refuses a scenario that the emulator inside user-mode Linux can't run.

    Args:
        scenario: The scenario.
        runner: The name of the runner, for errors.
        offered: The algorithms of its kernel.

    Raises:
        ScenarioError: When the scenario has a key that it does not support.
    """

def simulate(
    scenario: Scenario,
    trace: str,
    programs: Sequence[tuple[int, Sequence[str], Sequence[str], str | None, Path]],
    folder: Path,
    progress: Callable[[float], object],
) -> None:
    """Runs a scenario inside user-mode Linux, and writes the recordings into a folder.

    Args:
        scenario: The scenario to run.
        trace: `off`, or the interval between two rows; `ack` means 1 ms.
        programs: As for `run_kernel`.
        folder: The folder of the recordings.
        progress: Called ten times per simulated second with the seconds completed.

    Raises:
        ScenarioError: When this kernel does not support a key.
        MachineError: When the run fails.
    """

def simulated(
    scenario: Scenario, trace: str, runner: str, offered: Sequence[str], folder: Path
) -> RunResult:
    """Reconstructs metrics and trace from the recordings of `simulate`.

    Raises:
        ScenarioError: When the kernel does not support a key.
        RuntimeError: When a recording is incomplete.
    """

def uml_topology(scenario: Scenario) -> str:
    """Returns the path of a scenario as Linux's queueing disciplines, as JSON: `nodes`, `tc`, `departs_first`.

    Raises:
        ScenarioError: When the path has a feature that the disciplines lack.
    """
