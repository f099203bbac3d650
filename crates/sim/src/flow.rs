//! A flow: its endpoints, and its packets in flight between them.

use fullpipe_cc::{AnyController, Observer, Transition};
use fullpipe_tcp::{
    AckOutcome, DatagramSender, LIMITS, Limit, LimitClock, Receiver, Segment, Sender, Unresponsive,
};
use fullpipe_trace::{FlowMeter, TransitionRow};
use fullpipe_units::{Bytes, Span, Time};

use crate::arrivals::Arrived;
use crate::event_queue::{EventQueue, FlowKey};
use crate::flow_path::FlowPath;
use crate::forward_path::ForwardPath;
use crate::host::SendingHost;
use crate::lazy_timer::LazyTimer;
use crate::link::NetworkLink;
use crate::packet_log::PacketLog;
use crate::prefetch::{prefetch, prefetch_at};

/// The sending end of a flow.
#[derive(Debug)]
pub(crate) enum AnySender {
    Tcp(Sender<AnyController>),
    /// A TCP sender on a host whose processing takes time.
    Hosted(Box<SendingHost>),
    Unresponsive(Unresponsive),
    /// A sender of datagrams; their receiver is in the flow's path.
    Datagram(Box<DatagramSender<AnyController>>),
    /// A sender of an arrived flow that has finished.
    Closed(Sender<AnyController>),
    /// The flow has ended and its state was freed.
    Gone,
}

/// A data packet between two hops, with its waiting time in queues so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketInTransit {
    pub(crate) segment: Segment,
    pub(crate) waited: Span,
}

/// A flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) key: FlowKey,
    pub(crate) source: AnySender,
    pub(crate) receiver: Receiver,
    pub(crate) path: FlowPath,
    pub(crate) meter: FlowMeter,
    /// Deadlines of the valid events; other events of the same class are stale.
    pub(crate) timer: LazyTimer,
    pub(crate) departure: LazyTimer,
    /// Bytes that the receiver needs in order for the transfer, or the answer, to be complete;
    /// `None` for an unlimited flow.
    pub(crate) total: Option<Bytes>,
    pub(crate) transitions: Transitions,
    /// Groups of trace columns of the sender's and the receiver's algorithm.
    pub(crate) group: usize,
    pub(crate) window_group: Option<usize>,
    pub(crate) last: AckOutcome,
    /// Whether its last row is in the trace.
    pub(crate) finished: bool,
    /// Whether its ACKs are watched, for the trace or for the end of an arrived flow.
    pub(crate) watched: bool,
    /// Whether its packets are logged, for the trace.
    pub(crate) logged: bool,
    /// Arrival index, for a flow of a workload.
    pub(crate) arrived: Option<Arrived>,
    /// Time at which the connection closed.
    pub(crate) closed: Option<Time>,
    /// Whether the close was processed.
    pub(crate) settled: bool,
}

/// Borrows of a flow's parts, to change them side by side.
pub(crate) struct Parts<'a> {
    pub(crate) source: &'a mut AnySender,
    pub(crate) transitions: &'a mut Transitions,
    pub(crate) last: &'a mut AckOutcome,
    /// The path of a packet after the sender.
    pub(crate) path: ForwardPath<'a>,
}

/// Collects transitions, if they are wanted.
#[derive(Debug)]
pub(crate) struct Transitions {
    pub(crate) flow: u32,
    pub(crate) wanted: bool,
    pub(crate) rows: Vec<TransitionRow>,
}

impl Observer for Transitions {
    fn transition(&mut self, time: Time, Transition { from, to, reason }: Transition) {
        if self.wanted {
            self.rows.push(TransitionRow {
                time,
                flow: self.flow,
                from,
                to,
                reason,
            });
        }
    }
}

/// State shared by all flows, which any step may change.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) event_queue: EventQueue,
    pub(crate) links: Vec<NetworkLink>,
    pub(crate) events: u64,
    /// The log of packets, if the trace has one.
    pub(crate) packets: Option<Box<PacketLog>>,
}

impl AnySender {
    /// Returns the TCP sender, if there is one.
    pub(crate) fn tcp(&mut self) -> Option<&mut Sender<AnyController>> {
        match self {
            AnySender::Tcp(sender) => Some(sender),
            AnySender::Hosted(host) => Some(&mut host.sender),
            AnySender::Unresponsive(_)
            | AnySender::Datagram(_)
            | AnySender::Closed(_)
            | AnySender::Gone => None,
        }
    }

    /// Returns the clock of the limits, if the sender has limits.
    fn limits(&mut self) -> Option<&mut LimitClock> {
        match self {
            AnySender::Datagram(sender) => Some(sender.limits()),
            source => source.tcp().map(Sender::limits),
        }
    }

    /// Returns whether the sender reacts to congestion.
    pub(crate) fn is_responsive(&mut self) -> bool {
        self.limits().is_some()
    }
}

impl Flow {
    /// Creates a flow that the trace does not know yet.
    pub(crate) fn new(
        key: FlowKey,
        (source, receiver): (AnySender, Receiver),
        path: FlowPath,
        meter: FlowMeter,
        total: Option<Bytes>,
    ) -> Flow {
        Flow {
            key,
            source,
            receiver,
            path,
            meter,
            timer: LazyTimer::default(),
            departure: LazyTimer::default(),
            total,
            transitions: Transitions {
                flow: 0,
                wanted: false,
                rows: Vec::new(),
            },
            group: 0,
            window_group: None,
            last: AckOutcome::default(),
            finished: false,
            watched: false,
            logged: false,
            arrived: None,
            closed: None,
            settled: false,
        }
    }

    /// Returns the path of a packet after the sender.
    #[inline]
    pub(crate) fn forward_path(&mut self) -> ForwardPath<'_> {
        self.parts().path
    }

    /// Returns the sender and its surroundings, all mutable.
    #[inline]
    pub(crate) fn parts(&mut self) -> Parts<'_> {
        let is_tcp = matches!(self.source, AnySender::Tcp(_));
        Parts {
            source: &mut self.source,
            transitions: &mut self.transitions,
            last: &mut self.last,
            path: ForwardPath {
                key: self.key,
                path: &mut self.path,
                receiver: &mut self.receiver,
                meter: &mut self.meter,
                total: &mut self.total,
                is_plain: is_tcp && !self.logged,
                is_tcp,
            },
        }
    }

    /// Returns the time for which each limit held the sender back, until `end` or the end of the
    /// flow.
    pub(crate) fn limits_held(&mut self, end: Time) -> [Span; LIMITS.len()] {
        let until = self.meter.ended().unwrap_or(end);
        match self.source.limits() {
            Some(limits) => limits.held(until),
            None => {
                let mut held = [Span::ZERO; LIMITS.len()];
                held[Limit::Application as usize] = self.meter.active();
                held
            }
        }
    }

    /// Prefetches the memory that the next ACK needs and that the flow only points to.
    #[inline]
    pub(crate) fn prefetch_rings(&self) {
        if let AnySender::Tcp(sender) = &self.source {
            sender.rings().into_iter().for_each(prefetch_at);
        }
        self.path.in_flights[0].ends().for_each(prefetch);
        self.path.acks_in_flight[0].ends().for_each(prefetch);
        if let Some(block) = self.path.blocks[0].front() {
            prefetch(block);
        }
    }
}
