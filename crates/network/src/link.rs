//! A link with meters for its metrics.

use fullpipe_path::{AnyLink, Measured, Packet, Verdict};
use fullpipe_trace::{LinkMeter, LinkSummary, MeasuredTime};
use fullpipe_units::{Bytes, Span, Time};

/// Kind of packet for the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A data packet.
    Data,
    /// A pure ACK.
    Ack,
    /// Neither: a packet that opens or closes a connection. Such a packet takes time and queue
    /// space but is not counted.
    Other,
}

/// The reason why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// Random or scheduled loss.
    Loss,
    /// A full queue, or the decision of an AQM.
    Queue,
    /// A policer without tokens.
    Policer,
}

/// A packet as a queue holds it.
pub trait Counted: Copy {
    /// Returns the kind of packet for the counters.
    fn kind(&self) -> PacketKind;
}

/// Departure of a packet from a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Waiting time until its first bit leaves.
    pub waited: Span,
    /// Time at which its last bit is at the far end.
    pub at: Time,
}

/// Outcome for a packet that arrives at a link with an AQM queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The policer dropped it.
    Policed,
    /// The queue holds the packet, and the link can [send](MeteredLink::send) at once.
    Ready,
    /// The queue holds the packet or has dropped it. The caller must call the link to send at the
    /// given time. With `None`, an earlier call is already due, or no packet waits.
    Queued(Option<Time>),
}

/// A link, its meter, and the propagation delay behind it.
#[derive(Debug)]
pub struct MeteredLink<P> {
    name: String,
    link: AnyLink<P>,
    meter: LinkMeter,
    propagation: Span,
    /// Whether the caller knows when to call the link to send.
    armed: bool,
    last_wait: Span,
    drops: u64,
    marks: u64,
}

impl<P: Counted> MeteredLink<P> {
    /// Creates an idle link on a path of `rtt`, with packets at the far end `propagation` after
    /// their last bit was sent.
    pub fn new(
        name: String,
        link: AnyLink<P>,
        propagation: Span,
        window: MeasuredTime,
        rtt: Span,
    ) -> MeteredLink<P> {
        MeteredLink {
            name,
            link,
            // The time in which the link could have sent is known only at the end of the run.
            meter: LinkMeter::new(window, Span::ZERO, rtt),
            propagation,
            armed: false,
            last_wait: Span::ZERO,
            drops: 0,
            marks: 0,
        }
    }

    /// Returns whether it has an AQM queue, to which packets are [offered](MeteredLink::offer).
    #[inline]
    pub fn is_managed(&self) -> bool {
        matches!(self.link, AnyLink::Managed(_))
    }

    /// Returns the time at which the last bit left of a packet that is at the far end at `at`.
    pub fn left_at(&self, at: Time) -> Time {
        at - self.propagation
    }

    /// Handles the arrival of a packet; returns its departure, which is known at once, or the
    /// reason why it was dropped.
    ///
    /// # Panics If the link has an AQM queue.
    #[inline(always)] // once for each packet
    pub fn arrive(
        &mut self,
        now: Time,
        size: Bytes,
        kind: PacketKind,
    ) -> Result<Departure, DropCause> {
        match &mut self.link {
            AnyLink::Constant(link) => {
                let verdict = link.arrive(now, size);
                self.conclude(now, verdict, None, kind)
            }
            AnyLink::Varying(_) => self.arrive_varying(now, size, kind),
            AnyLink::Managed(_) => unreachable!("packets are offered to a link with an AQM queue"),
        }
    }

    /// Separate from the common case, which it must not slow down.
    #[inline(never)]
    fn arrive_varying(
        &mut self,
        now: Time,
        size: Bytes,
        kind: PacketKind,
    ) -> Result<Departure, DropCause> {
        let AnyLink::Varying(link) = &mut self.link else {
            unreachable!("called for a varying link alone")
        };
        let verdict = link.arrive(now, size);
        let measured = link.measured();
        self.conclude(now, verdict, Some(measured), kind)
    }

    /// Counts a verdict. Without `measured`, a packet counts from its first bit to its last.
    // inline in both callers: a verdict that goes through memory costs them a percent of a run
    #[inline(always)]
    fn conclude(
        &mut self,
        now: Time,
        verdict: Verdict,
        measured: Option<Measured>,
        kind: PacketKind,
    ) -> Result<Departure, DropCause> {
        let cause = match verdict {
            Verdict::Departs { start, end } => {
                return Ok(self.passes(now, start, end, measured, kind));
            }
            Verdict::Dropped => DropCause::Queue,
            Verdict::Policed => DropCause::Policer,
        };
        self.count_drop(now, kind, cause);
        Err(cause)
    }

    #[inline(always)] // as above
    fn passes(
        &mut self,
        arrived: Time,
        start: Time,
        end: Time,
        measured: Option<Measured>,
        kind: PacketKind,
    ) -> Departure {
        let waited = start - arrived;
        self.last_wait = waited;
        let sent_from = measured.map_or(start, |measured| measured.sent_from);
        self.meter
            .on_transmission(waited, sent_from, end, kind == PacketKind::Data);
        if kind == PacketKind::Ack {
            self.meter.on_ack_transmission(end, true);
        }
        if let Some(Measured {
            held_since, start, ..
        }) = measured.filter(|it| it.held_since < it.start)
        {
            self.meter.on_held(waited, held_since, start);
        }
        Departure {
            waited,
            at: end + self.propagation,
        }
    }

    /// Handles the arrival of a packet at an AQM queue. Calls `dropped` for each packet that the
    /// queue drops.
    ///
    /// # Panics If the link has no AQM queue.
    #[inline]
    pub fn offer(&mut self, packet: Packet<P>, dropped: &mut impl FnMut(P)) -> Admission {
        let MeteredLink {
            link: AnyLink::Managed(link),
            meter,
            drops,
            armed,
            ..
        } = self
        else {
            unreachable!("packets are offered only to a link with an AQM queue")
        };
        let (now, kind) = (packet.arrived, packet.payload.kind());
        let mut on_drop = |packet: Packet<P>| {
            count_drop(now, packet.payload.kind(), DropCause::Queue, meter, drops);
            dropped(packet.payload);
        };
        if !link.arrive(packet, &mut on_drop) {
            self.count_drop(now, kind, DropCause::Policer);
            return Admission::Policed;
        }
        if *armed {
            return Admission::Queued(None);
        }
        match link.ready_at() {
            Some(at) if at <= now => Admission::Ready,
            at => {
                *armed = at.is_some();
                Admission::Queued(at)
            }
        }
    }

    /// Sends a packet that the queue chooses, and returns it with its departure; `None` if the
    /// waiting packets were dropped, or may not leave yet.
    ///
    /// # Panics If the link has no AQM queue.
    #[inline]
    pub fn send(
        &mut self,
        now: Time,
        dropped: &mut impl FnMut(P),
    ) -> Option<(Packet<P>, Departure)> {
        let MeteredLink {
            link: AnyLink::Managed(link),
            meter,
            drops,
            ..
        } = self
        else {
            unreachable!("only a link with an AQM queue is called to send")
        };
        let mut on_drop = |packet: Packet<P>| {
            count_drop(now, packet.payload.kind(), DropCause::Queue, meter, drops);
            dropped(packet.payload);
        };
        let (packet, end) = link.send(now, &mut on_drop)?;
        let (measured, kind) = (link.measured(), packet.payload.kind());
        let departure = self.passes(packet.arrived, now, end, Some(measured), kind);
        if packet.marked && kind == PacketKind::Data {
            self.meter.on_mark(now);
            self.marks += 1;
        }
        Some((packet, departure))
    }

    /// Returns the time at which the caller must call `send` again after it has called it, if
    /// packets wait.
    #[inline]
    pub fn call_again_at(&mut self) -> Option<Time> {
        let AnyLink::Managed(link) = &self.link else {
            return None;
        };
        let at = link.ready_at();
        self.armed = at.is_some();
        at
    }

    /// Counts the loss of a packet in front of the link.
    pub fn lose(&mut self, now: Time, kind: PacketKind) {
        self.count_drop(now, kind, DropCause::Loss);
    }

    /// Counts the duplication of a packet.
    pub fn duplicate(&mut self, now: Time, kind: PacketKind) {
        if kind == PacketKind::Data {
            self.meter.on_duplicate(now);
        }
    }

    /// Counts the replacement of a waiting ACK by a new one.
    pub fn filter_ack(&mut self, now: Time) {
        self.meter.on_ack_filtered(now);
    }

    #[cold]
    fn count_drop(&mut self, now: Time, kind: PacketKind, cause: DropCause) {
        count_drop(now, kind, cause, &mut self.meter, &mut self.drops);
    }

    /// Stops the metrics; from now on the link only counts packets.
    pub fn stop_counting(&mut self) {
        self.meter.stop();
    }

    /// Returns the numbers of packets and bytes that wait, and the waiting time of the packet that
    /// left last.
    pub fn backlog(&mut self, now: Time) -> (u64, Bytes, Span) {
        let (packets, bytes) = self.link.backlog(now);
        let sojourn = if packets == 0 {
            Span::ZERO
        } else {
            self.last_wait
        };
        (packets, bytes, sojourn)
    }

    /// Returns the packets in a drop-tail queue after its latest arrival, each with the time at which it begins
    /// to leave and its size.
    pub fn waiting(&self) -> Vec<(Time, Bytes)> {
        self.link.waiting()
    }

    /// Returns the number of data packets dropped by queue or policer, and those marked by the
    /// queue, over the whole run.
    pub fn drops_and_marks(&self) -> (u64, u64) {
        (self.drops, self.marks)
    }

    /// Returns the number of data packets that left, over the whole run.
    pub fn packets(&self) -> u64 {
        self.meter.packets()
    }

    /// Returns the metrics of the link within `window`.
    pub fn summary(&self, window: MeasuredTime) -> LinkSummary {
        let offered = self.link.offered(window.from, window.to);
        LinkSummary::new(self.name.clone(), &self.meter.clone().with_offered(offered))
    }
}

#[cold]
fn count_drop(
    now: Time,
    kind: PacketKind,
    cause: DropCause,
    meter: &mut LinkMeter,
    drops: &mut u64,
) {
    match (kind, cause) {
        (PacketKind::Other, _) => {}
        (PacketKind::Ack, _) => meter.on_ack_drop(now),
        (PacketKind::Data, DropCause::Loss) => meter.on_loss(now),
        (PacketKind::Data, DropCause::Queue) => {
            meter.on_drop(now);
            *drops += 1;
        }
        (PacketKind::Data, DropCause::Policer) => {
            meter.on_policed(now);
            *drops += 1;
        }
    }
}
