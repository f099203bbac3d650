//! The model of a scenario after it is read: quantities with units, defaults filled in, one entry
//! per flow.

use std::collections::BTreeMap;
use std::fmt;

use fullpipe_path::{DelayTrace, RatePattern};
use fullpipe_units::{Bytes, ParamValue, Rate, Rng, Span};
use fullpipe_workload::Peak;

use crate::app::App;
use crate::error::Error;
use crate::host::{Host, Quic};
use crate::path_keys::{Change, Link, Path};
use crate::profile::Applied;
use crate::program::Program;
use crate::source::Source;
use crate::stack::{FlowStack, Stack};
use crate::workload::Workload;

/// Usual size of an IP packet with a full segment.
pub const PACKET: Bytes = Bytes::new(1500);
/// TCP payload of such a packet.
pub const PAYLOAD: Bytes = Bytes::new(1448);
/// Size of the headers of a packet.
pub(crate) const HEADER: Bytes = Bytes::new(PACKET.get() - PAYLOAD.get());

/// RTTs with full buffers until flows have their shares: CUBIC, Reno and BBR in pairs take 50 to 200
/// (docs/reference/statistics.md#warm-up).
const WARM_UP_RTTS: u64 = 100;
/// Least warm-up, unless the run is short: BBR's minimum filters have their length.
const WARM_UP_LEAST: Span = Span::from_secs(10);

/// The name of the link in `[path]`.
pub(crate) const BOTTLENECK: &str = "bottleneck";

/// The `cc` of a flow that sends at its `app_rate` and does not react to losses or marks.
pub const UNRESPONSIVE: &str = "none";

/// One experiment, with all values valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Lines of the file's first comment that are not empty: the title, then its description.
    pub comment: Vec<String>,
    /// Profile of the path, if any; the other fields contain its values.
    pub profile: Option<Applied>,
    /// Length of the run.
    pub duration: Span,
    /// End of the warm-up, which metrics exclude.
    pub measure_from: Span,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Longest random delay of the start of each of [`Scenario::flows`], drawn uniformly.
    pub start_jitter: Span,
    /// Longest random delay of each data packet before the first link, drawn uniformly; packets
    /// stay in order.
    pub send_jitter: Span,
    /// Conditions that every run must meet, as written; see [`Scenario::expectations`].
    pub expect: Vec<String>,
    /// Bottleneck and path that the flows share.
    pub path: Path,
    /// Further links; see [`Scenario::links`].
    pub(crate) more_links: Vec<Link>,
    /// TCP whose defaults the flows have.
    pub stack: Stack,
    /// CPU costs and wake-up times of the endpoints; `None` if they take no time.
    pub host: Option<Host>,
    /// Settings of real QUIC in real time.
    pub quic: Quic,
    /// Size of the largest packet of any flow, in which buffers are counted.
    pub packet: Bytes,
    /// Flows, one entry each: every `count` is expanded.
    pub flows: Vec<Flow>,
    /// Workloads, whose flows arrive during the run.
    pub workloads: Vec<Workload>,
    pub(crate) written: Written<Source>,
}

/// A link's treatment of the ECN field of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnField {
    /// Leaves the field unchanged.
    Keep,
    /// Clears the field: the packet is neither ECN-capable nor marked.
    Strip,
}

/// One sender and its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Name of the congestion control, or [`UNRESPONSIVE`].
    pub cc: String,
    /// The same as written, with the parameters behind it: its name in results.
    pub called: String,
    /// Parameters of the congestion control that are set.
    pub params: BTreeMap<String, ParamValue>,
    /// Whether lost data is sent again.
    pub transport: Transport,
    /// Time at which the flow starts.
    pub start: Span,
    /// Bytes to transfer; `None` for an unlimited flow.
    pub bytes: Option<Bytes>,
    /// Application that writes with pauses; `None` if it writes all the time.
    pub app: Option<App>,
    /// Rate at which the application writes data; `None` for unlimited.
    pub app_rate: Option<Rate>,
    /// Changes of `app_rate`: times of the run, in order, each with the rate from then on, `None`
    /// for unlimited.
    pub app_schedule: Vec<(Span, Option<Rate>)>,
    /// ECN codepoint of the data packets.
    pub ecn: EcnSetting,
    /// Feedback of the receiver on ECN marks.
    pub ecn_feedback: EcnFeedback,
    /// Links that data packets cross, in order, as indices into [`Scenario::links`]; at least one.
    pub route: Vec<usize>,
    /// Links that ACKs cross, in order, as indices into [`Scenario::links`]; may be empty.
    pub reverse_route: Vec<usize>,
    /// Two-way propagation delay in addition to those of the path and the links.
    pub extra_rtt: Span,
    /// Name of the group whose state its congestion control may share; `None` for a flow of a
    /// workload.
    pub group: Option<String>,
    /// Whether packets are paced.
    pub pacing: Pacing,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Initial congestion window, in segments.
    pub initial_window: u32,
    /// Name of the receiver's algorithm, if it has one.
    pub receiver: Option<String>,
    /// Parameters of the receiver's algorithm that are set.
    pub receiver_params: BTreeMap<String, ParamValue>,
    /// Receive window; `None` for the default, see [`Scenario::receive_window`].
    pub receive_window: Option<ReceiveWindow>,
    /// Number of segments that the receiver acknowledges with one ACK.
    pub delayed_ack: u32,
    /// Number of ACKs at the start of the connection that acknowledge one segment each.
    pub quick_acks: u32,
    /// Longest time that an ACK waits for more segments.
    pub ack_delay: Span,
    /// Time within which arriving segments are merged into one before they reach the receiver;
    /// zero turns merging off.
    pub gro: Span,
    /// Time by which the receiver acknowledges data before they arrive; zero for an honest receiver.
    pub optimistic_acks: Span,
    /// Keys whose defaults depend on [`Scenario::stack`].
    pub stack: FlowStack,
    /// Programs that make the transfer, instead of a TCP of the runner.
    pub program: Option<Program>,
    pub(crate) table: Written<Table>,
}

/// The table in which a flow was written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Table {
    /// The `[[flow]]` of this index.
    Flow(usize),
    /// The `[[workload]]` of this index.
    Workload(usize),
    /// The `[[program]]` of this index.
    Program(usize),
}

impl Table {
    /// Returns the dotted key of `name` in the table.
    pub(crate) fn key(self, name: &str) -> String {
        match self {
            Table::Flow(i) => format!("flow.{i}.{name}"),
            Table::Workload(i) => format!("workload.{i}.{name}"),
            Table::Program(i) => format!("program.{i}.{name}"),
        }
    }
}

/// The window that a receiver advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// A constant window.
    Fixed(Bytes),
    /// A window tuned as Linux does.
    Auto {
        /// Largest size of the buffer (Linux: tcp_rmem\[2\]).
        max: Bytes,
    },
}

impl ReceiveWindow {
    /// Returns the largest advertised window. With auto-tuning it is half of the buffer (Linux:
    /// tcp_adv_win_scale = 1), since a kernel needs the rest for its overhead.
    pub fn most(self) -> Bytes {
        match self {
            ReceiveWindow::Fixed(window) => window,
            ReceiveWindow::Auto { max } => max / 2,
        }
    }
}

/// The feedback of a receiver on ECN marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnFeedback {
    /// Exact counts, as with AccECN (RFC 9768).
    Accurate,
    /// The ECE flag until the sender has reduced its window (RFC 3168).
    Classic,
    /// The ECE flag for marked packets only (RFC 8257).
    Dctcp,
    /// No report: the receiver conceals marks.
    Concealed,
}

/// The ECN codepoint of data packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnSetting {
    /// The choice of the congestion control; without one, packets are not ECN-capable.
    Auto,
    /// Not ECN-capable.
    Off,
    /// ECT(0), classic (RFC 3168).
    Ect0,
    /// ECT(1), L4S (RFC 9331).
    Ect1,
}

/// The transport of a flow with a congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// TCP: a reliable stream.
    #[default]
    Tcp,
    /// Datagrams: lost data is not sent again, and the receiver reports each packet (RFC 8888).
    Datagram,
}

/// Whether packets are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// If the congestion control sets a pacing rate.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The place where a value was written. It is not part of the value, so all places are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written<T>(pub(crate) T);

impl<T> PartialEq for Written<T> {
    fn eq(&self, _: &Written<T>) -> bool {
        true
    }
}

impl Scenario {
    /// Returns an error about `key`, such as `path.queue` or a [`Flow::key`], at the place where it
    /// was written.
    ///
    /// `value` is shown unchanged; put text in quotes (`format_args!("{text:?}")`).
    pub fn error(
        &self,
        key: &str,
        value: impl fmt::Display,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Error {
        self.written.0.error(key, value, problem, fix)
    }

    /// Returns all links, the bottleneck first.
    pub fn links(&self) -> impl Iterator<Item = &Link> + Clone {
        std::iter::once(&self.path.link).chain(&self.more_links)
    }

    /// Returns the links of a route.
    pub fn route(&self, route: &[usize]) -> impl Iterator<Item = &Link> {
        route.iter().map(|index| self.link(*index))
    }

    /// Returns the link with an index of a route.
    pub(crate) fn link(&self, index: usize) -> &Link {
        match index {
            0 => &self.path.link,
            further => &self.more_links[further - 1],
        }
    }

    /// Returns the fastest rate of any link at any time.
    pub fn fastest(&self) -> Rate {
        self.more_links
            .iter()
            .map(Link::fastest)
            .fold(self.path.fastest(), Rate::max)
    }

    /// Returns the time at which `flow` starts in a run with this seed, including jitter.
    pub fn start(&self, flow: &Flow) -> Span {
        let jitter = match self.start_jitter.as_nanos() {
            0 => 0,
            most => Rng::stream(self.seed, &flow.name, "start").below(most + 1),
        };
        flow.start + Span::from_nanos(jitter)
    }

    /// Returns the two-way propagation delay of `flow` at the start of the run.
    pub fn rtt(&self, flow: &Flow) -> Span {
        let delays = self
            .route(&flow.route)
            .chain(self.route(&flow.reverse_route))
            .map(|link| link.delay);
        delays.fold(self.path.rtt + flow.extra_rtt, |sum, delay| sum + delay)
    }

    /// Returns the usual warm-up: [`WARM_UP_RTTS`] RTTs of the flow that has the longest with full buffers, at least
    /// [`WARM_UP_LEAST`], and at most half of the run.
    pub(crate) fn usual_warm_up(&self) -> Span {
        let flows = self
            .flows
            .iter()
            .chain(self.workloads.iter().map(|workload| &workload.flow));
        let longest = flows.map(|flow| self.full_rtt(flow)).max();
        (longest.unwrap_or(Span::ZERO) * WARM_UP_RTTS)
            .max(WARM_UP_LEAST)
            .min(self.duration / 2)
    }

    /// Returns the RTT of `flow` at the start of the run when the buffers of its routes are full. An AQM keeps its
    /// buffer from filling: it counts as empty.
    fn full_rtt(&self, flow: &Flow) -> Span {
        self.route(&flow.route)
            .chain(self.route(&flow.reverse_route))
            .filter(|link| !link.queue.descriptor().aqm)
            .fold(self.rtt(flow), |sum, link| sum + self.full_wait(link))
    }

    /// Returns how long a full buffer takes to empty at the start of the run.
    fn full_wait(&self, link: &Link) -> Span {
        link.sustained().time_for(self.buffer(link))
    }

    /// Returns the largest receive window of `flow`: the given one, or 2 x (BDP + buffers of its
    /// route) at the start of the run. The BDP uses the slowest link of the route and the flow's
    /// own RTT with full queues on the reverse route.
    pub fn receive_window(&self, flow: &Flow) -> Bytes {
        flow.receive_window
            .map(ReceiveWindow::most)
            .unwrap_or_else(|| {
                let slowest = self
                    .route(&flow.route)
                    .map(Link::sustained)
                    .min()
                    .expect("a route has a link");
                let rtt = self
                    .route(&flow.reverse_route)
                    .fold(self.rtt(flow), |sum, link| sum + self.full_wait(link));
                let buffers: Bytes = self
                    .route(&flow.route)
                    .map(|link| self.buffer(link))
                    .fold(Bytes::ZERO, |a, b| a + b);
                (slowest.bytes_in(rtt) + buffers) * 2
            })
    }

    /// Returns the capacity of a link's buffer at the start of the run.
    pub fn buffer(&self, link: &Link) -> Bytes {
        link.limit.bytes(self.packet)
    }
}

impl Path {
    /// Returns the changes of one property, each with its time:
    /// `path.schedule(|change| change.rate)`.
    pub fn schedule<'a, T>(
        &'a self,
        of: impl Fn(&Change) -> Option<T> + 'a,
    ) -> impl Iterator<Item = (Span, T)> + 'a {
        self.changes
            .iter()
            .filter_map(move |change| Some((change.at, of(change)?)))
    }

    /// Returns the lowest propagation delays, of data and of ACKs, that the path has in the run, without those of
    /// its links.
    pub(crate) fn lowest_delays(&self) -> (Span, Span) {
        let rtts = self.schedule(|change| change.rtt).map(|(_, rtt)| rtt);
        let rtt = rtts.fold(self.rtt, Span::min);
        let traced = |trace: &Option<DelayTrace>| trace.as_ref().map(DelayTrace::shortest);
        (
            traced(&self.delay_trace).unwrap_or(rtt / 2),
            traced(&self.reverse_delay_trace).unwrap_or(rtt.saturating_sub(rtt / 2)),
        )
    }

    /// Returns the most that the bottleneck ever sends.
    pub(crate) fn peak(&self) -> Peak {
        let mut most = Peak {
            peak: self.fastest(),
            ..self.link.peak()
        };
        most.rate = most.rate.min(most.peak);
        let shapers = || {
            let later = self.schedule(|change| change.shaper);
            std::iter::once(self.link.shaper).chain(later.map(|(_, shaper)| shaper))
        };
        if shapers().any(|shaper| shaper.is_none()) {
            most.rate = most.peak;
        } else {
            for shaper in shapers().flatten() {
                most.rate = most.rate.max(shaper.rate).min(most.peak);
                most.burst = most.burst.max(shaper.burst);
            }
        }
        most
    }

    /// Returns the fastest rate of the bottleneck at any time.
    pub fn fastest(&self) -> Rate {
        self.schedule(|change| change.rate)
            .map(|(_, rate)| rate)
            .fold(self.link.fastest(), Rate::max)
    }
}

impl Link {
    /// Returns the dotted key of `name` in the table of this link, for [`Scenario::error`].
    pub fn key(&self, name: &str) -> String {
        match self.table {
            Some(Written(i)) => format!("link.{i}.{name}"),
            None => format!("path.{name}"),
        }
    }

    /// Returns the most that the link ever sends, without changes of the path.
    pub(crate) fn peak(&self) -> Peak {
        let peak = self.fastest();
        match (&self.rate_pattern, self.shaper) {
            // The packets of a millisecond leave at once.
            (Some(RatePattern::Mahimahi(..)), _) => Peak {
                rate: peak,
                burst: peak.bytes_in(Span::from_millis(1)),
                peak: Rate::MAX,
            },
            (_, Some(shaper)) => Peak {
                rate: shaper.rate.min(peak),
                burst: shaper.burst,
                peak,
            },
            (_, None) => Peak {
                rate: peak,
                burst: Bytes::ZERO,
                peak,
            },
        }
    }

    /// Returns the fastest rate of the link at any time, without changes of the path.
    pub fn fastest(&self) -> Rate {
        self.rate_pattern
            .as_ref()
            .map_or(self.rate, RatePattern::fastest)
    }

    /// Returns the rate that the link sustains: its own, or the shaper's if that is lower.
    pub fn sustained(&self) -> Rate {
        self.shaper
            .map_or(self.rate, |shaper| shaper.rate.min(self.rate))
    }
}

impl Flow {
    /// Returns whether the flow ignores losses and marks.
    pub fn is_unresponsive(&self) -> bool {
        self.cc == UNRESPONSIVE
    }

    /// Returns whether the flow sends datagrams under a congestion control.
    pub fn is_datagram(&self) -> bool {
        self.transport == Transport::Datagram
    }

    /// Returns the size of a packet with a full segment.
    pub fn packet(&self) -> Bytes {
        self.mss + HEADER
    }

    /// Returns the dotted key of `name` in the table of this flow, for [`Scenario::error`].
    pub fn key(&self, name: &str) -> String {
        self.table.0.key(name)
    }
}
