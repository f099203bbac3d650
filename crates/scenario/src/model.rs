//! What a scenario is once it is read: quantities with their units, defaults filled in, flows
//! counted out.

use std::collections::BTreeMap;
use std::fmt;

use fullpipe_path::RatePattern;
use fullpipe_units::{Bytes, ParamValue, Rate, Rng, Span};

use crate::app::App;
use crate::error::Error;
use crate::path_keys::{Change, Link, Path};
use crate::profile::Applied;
use crate::source::Source;
use crate::workload::Workload;

/// An IP packet with a full segment in it: what buffers are counted in.
pub const PACKET: Bytes = Bytes::new(1500);

/// The name of the link in `[path]`.
pub(crate) const BOTTLENECK: &str = "bottleneck";

/// The `cc` of a flow that sends at its `app_rate` whatever happens to its packets.
pub const UNRESPONSIVE: &str = "none";

/// One experiment, valid throughout.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The first comment line of the file.
    pub title: Option<String>,
    /// The profile that its path has, if any; it is written out in what follows.
    pub profile: Option<Applied>,
    /// How long the run lasts.
    pub duration: Span,
    /// Metrics leave out what is before.
    pub measure_from: Span,
    /// The seed of everything random.
    pub seed: u64,
    /// Each flow of [`Scenario::flows`] starts up to this much later, uniformly.
    pub start_jitter: Span,
    /// Each packet reaches the first link up to this much later, uniformly and in order.
    pub send_jitter: Span,
    /// What its runs shall come to, as it is written; see [`Scenario::expectations`].
    pub expect: Vec<String>,
    /// What the flows share.
    pub path: Path,
    /// Further links; see [`Scenario::links`].
    pub(crate) more_links: Vec<Link>,
    /// The machines at the flows' ends, if they take time.
    pub host: Option<Host>,
    /// How real QUIC is run in real time.
    pub quic: Quic,
    /// The flows, each `count` expanded.
    pub flows: Vec<Flow>,
    /// Flows that arrive.
    pub workloads: Vec<Workload>,
    pub(crate) written: Written<Source>,
}

/// What a link does to the ECN field of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnField {
    /// Nothing.
    Keep,
    /// Clears it: not ECN-capable, not marked.
    Strip,
}

/// A machine at a flow's end.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// CPU time of sending a data packet.
    pub send: Span,
    /// CPU time of receiving a data packet.
    pub receive: Span,
    /// CPU time of sending or receiving an ACK.
    pub ack: Span,
    /// CPU time of a system call, which sends or receives a batch.
    pub call: Span,
    /// Packets in a batch, at most.
    pub batch: u32,
    /// The least time that a delivery-rate sample covers.
    pub rate_interval: Span,
    /// How long it takes to wake up, if it takes any time.
    pub wake: Option<Wake>,
    /// How much a run's CPU times may differ from these, as a part of them.
    pub variation: f64,
}

/// How this machine runs real QUIC in real time, a thread a side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quic {
    /// The CPU that the servers' thread stays on, if it is told to.
    pub server_cpu: Option<u32>,
    /// The CPU that the clients' thread stays on.
    pub client_cpu: Option<u32>,
    /// The threads never sleep.
    pub busy_poll: bool,
}

/// How long it takes to wake up: a bounded Pareto distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wake {
    /// Shortest.
    pub min: Span,
    /// Half of them are shorter.
    pub median: Span,
    /// Longest.
    pub max: Span,
}

/// One sender and its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, unlike that of any other flow.
    pub name: String,
    /// Its congestion control, by name, or [`UNRESPONSIVE`].
    pub cc: String,
    /// What is set of the congestion control's parameters.
    pub params: BTreeMap<String, ParamValue>,
    /// When it starts.
    pub start: Span,
    /// How much it transfers; without end if not given.
    pub bytes: Option<Bytes>,
    /// What the application does over time, if it does not write all the time.
    pub app: Option<App>,
    /// The rate at which the application provides data; without limit if not given.
    pub app_rate: Option<Rate>,
    /// That rate from given times of the run on, in order; none for no limit.
    pub app_schedule: Vec<(Span, Option<Rate>)>,
    /// The ECN codepoint of its packets.
    pub ecn: EcnSetting,
    /// How its receiver reports marks.
    pub ecn_feedback: EcnFeedback,
    /// The links that its data packets meet, in order, by their number in [`Scenario::links`]; at
    /// least one.
    pub route: Vec<usize>,
    /// The same for its ACKs; may be none.
    pub reverse_route: Vec<usize>,
    /// What its RTT has on top of the path's and of the links' delays.
    pub extra_rtt: Span,
    /// Whether its packets are spread over time.
    pub pacing: Pacing,
    /// The receiver's algorithm, by name, if it has one.
    pub receiver: Option<String>,
    /// What is set of its parameters.
    pub receiver_params: BTreeMap<String, ParamValue>,
    /// The receive window, if not the default; see [`Scenario::receive_window`].
    pub receive_window: Option<ReceiveWindow>,
    /// Segments per ACK.
    pub delayed_ack: u32,
    /// How many of the first ACKs are for one segment each.
    pub quick_acks: u32,
    /// The longest that an ACK waits for more segments.
    pub ack_delay: Span,
    /// Segments that arrive within this much of each other reach the receiver as one; zero is off.
    pub gro: Span,
    pub(crate) table: Written<Table>,
}

/// The table that a flow was written in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Table {
    /// `[[flow]]` number so much.
    Flow(usize),
    /// `[[workload]]` number so much.
    Workload(usize),
}

impl Table {
    /// The dotted key of `name` in it.
    pub(crate) fn key(self, name: &str) -> String {
        match self {
            Table::Flow(i) => format!("flow.{i}.{name}"),
            Table::Workload(i) => format!("workload.{i}.{name}"),
        }
    }
}

/// What a receiver offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// Always the same.
    Fixed(Bytes),
    /// What Linux's auto-tuning makes of it.
    Auto {
        /// The most that the buffer becomes (Linux: tcp_rmem\[2\]).
        max: Bytes,
    },
}

impl ReceiveWindow {
    /// The most that is offered: of a buffer that is tuned, half (Linux: tcp_adv_win_scale = 1),
    /// since the rest is for what a kernel needs beside the data.
    pub fn most(self) -> Bytes {
        match self {
            ReceiveWindow::Fixed(window) => window,
            ReceiveWindow::Auto { max } => max / 2,
        }
    }
}

/// How the receiver reports marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnFeedback {
    /// Exact counts, as with AccECN (RFC 9768).
    Accurate,
    /// The ECE flag until the sender has reduced its window (RFC 3168).
    Classic,
    /// The ECE flag for what is marked (RFC 8257).
    Dctcp,
}

/// Whether packets are ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnSetting {
    /// As the congestion control wants it; without one they are not.
    Auto,
    /// They are not.
    Off,
    /// ECT(0), classic (RFC 3168).
    Ect0,
    /// ECT(1), L4S (RFC 9331).
    Ect1,
}

/// Whether packets are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// When the congestion control gives a rate.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// Where something was written, which is no part of what it says: all are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written<T>(pub(crate) T);

impl<T> PartialEq for Written<T> {
    fn eq(&self, _: &Written<T>) -> bool {
        true
    }
}

impl Scenario {
    /// An error about `key`, such as `path.queue` or a [`Flow::key`], at the place where it was
    /// written.
    ///
    /// `value` is shown as it is: quote text (`format_args!("{text:?}")`).
    pub fn error(
        &self,
        key: &str,
        value: impl fmt::Display,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Error {
        self.written.0.error(key, value, problem, fix)
    }

    /// Every link, the bottleneck first.
    pub fn links(&self) -> impl Iterator<Item = &Link> + Clone {
        std::iter::once(&self.path.link).chain(&self.more_links)
    }

    /// The links of a route.
    pub fn route(&self, route: &[usize]) -> impl Iterator<Item = &Link> {
        route.iter().map(|link| match link {
            0 => &self.path.link,
            further => &self.more_links[further - 1],
        })
    }

    /// The fastest rate of any link at any time.
    pub fn fastest(&self) -> Rate {
        self.more_links
            .iter()
            .map(Link::fastest)
            .fold(self.path.fastest(), Rate::max)
    }

    /// When `flow` starts in a run of this seed, jitter included.
    pub fn start(&self, flow: &Flow) -> Span {
        let jitter = match self.start_jitter.as_nanos() {
            0 => 0,
            most => Rng::stream(self.seed, &flow.name, "start").below(most + 1),
        };
        flow.start + Span::from_nanos(jitter)
    }

    /// The two-way propagation delay of `flow` at the start.
    pub fn rtt(&self, flow: &Flow) -> Span {
        let delays = self
            .route(&flow.route)
            .chain(self.route(&flow.reverse_route))
            .map(|link| link.delay);
        delays.fold(self.path.rtt + flow.extra_rtt, |sum, delay| sum + delay)
    }

    /// The receive window of `flow`, at its largest: given, or 2 x (BDP + buffers of its route) of
    /// the start. The BDP is that of the slowest link of the route and the flow's own RTT, with
    /// full queues on the way back.
    pub fn receive_window(&self, flow: &Flow) -> Bytes {
        flow.receive_window
            .map(ReceiveWindow::most)
            .unwrap_or_else(|| {
                let slowest = self
                    .route(&flow.route)
                    .map(Link::sustained)
                    .min()
                    .expect("a route has a link");
                let back = self
                    .route(&flow.reverse_route)
                    .map(|link| link.sustained().time_for(self.buffer(link)));
                let rtt = back.fold(self.rtt(flow), |sum, wait| sum + wait);
                let buffers: Bytes = self
                    .route(&flow.route)
                    .map(|link| self.buffer(link))
                    .fold(Bytes::ZERO, |a, b| a + b);
                (slowest.bytes_in(rtt) + buffers) * 2
            })
    }

    /// What a link's buffer holds at the start, at most.
    pub fn buffer(&self, link: &Link) -> Bytes {
        link.limit.bytes(PACKET)
    }
}

impl Path {
    /// What one of its properties is from each of these times on: `path.schedule(|change|
    /// change.rate)`.
    pub fn schedule<'a, T>(
        &'a self,
        of: impl Fn(&Change) -> Option<T> + 'a,
    ) -> impl Iterator<Item = (Span, T)> + 'a {
        self.changes
            .iter()
            .filter_map(move |change| Some((change.at, of(change)?)))
    }

    /// The bottleneck's fastest rate at any time.
    pub fn fastest(&self) -> Rate {
        self.schedule(|change| change.rate)
            .map(|(_, rate)| rate)
            .fold(self.link.fastest(), Rate::max)
    }
}

impl Link {
    /// The dotted key of `name` in the table that this link was written in, for
    /// [`Scenario::error`].
    pub fn key(&self, name: &str) -> String {
        match self.table {
            Some(Written(i)) => format!("link.{i}.{name}"),
            None => format!("path.{name}"),
        }
    }

    /// Its fastest rate at any time, but for changes of the path.
    pub fn fastest(&self) -> Rate {
        self.rate_pattern
            .as_ref()
            .map_or(self.rate, RatePattern::fastest)
    }

    /// What it carries in the long run: its rate, or its shaper's if that is lower.
    pub fn sustained(&self) -> Rate {
        self.shaper
            .map_or(self.rate, |shaper| shaper.rate.min(self.rate))
    }
}

impl Host {
    /// Whether another seed is another run by it.
    pub fn is_random(&self) -> bool {
        self.wake.is_some() || self.variation > 0.0
    }
}

impl Flow {
    /// Whether it ignores what happens to its packets.
    pub fn is_unresponsive(&self) -> bool {
        self.cc == UNRESPONSIVE
    }

    /// The dotted key of `name` in the table that this flow was written in, for
    /// [`Scenario::error`].
    pub fn key(&self, name: &str) -> String {
        self.table.0.key(name)
    }
}
