//! A link with what is measured on it.

use fullpipe_path::{AnyLink, Measured, Packet, Verdict};
use fullpipe_trace::{LinkMeter, LinkSummary, MeasuredTime};
use fullpipe_units::{Bytes, Span, Time};

/// What a packet counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Data.
    Data,
    /// An ACK without data.
    Ack,
    /// Neither: what begins or ends a connection. It takes its time and its place, but no part in
    /// the counts.
    Other,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// By chance, or by a list.
    Loss,
    /// The queue had no room, or decided it.
    Queue,
    /// The policer had no tokens.
    Policer,
}

/// What a queue holds of a packet.
pub trait Counted: Copy {
    /// What it counts as.
    fn kind(&self) -> PacketKind;
}

/// How a packet passes a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// How long it waits until its first bit leaves.
    pub waited: Span,
    /// When its last bit is at the far end.
    pub at: Time,
}

/// What becomes of a packet that arrives at a link whose queue decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The policer dropped it.
    Policed,
    /// The queue has it, and the link can [send](MeteredLink::send) at once.
    Ready,
    /// The queue has it, or dropped it. The link is to be called to send at that time, unless it
    /// was to be called before.
    Queued(Option<Time>),
}

/// A link, its meter, and the propagation delay behind it.
#[derive(Debug)]
pub struct MeteredLink<P> {
    name: String,
    link: AnyLink<P>,
    meter: LinkMeter,
    propagation: Span,
    /// Its caller knows when to call it to send.
    armed: bool,
    last_wait: Span,
    drops: u64,
    marks: u64,
}

impl<P: Counted> MeteredLink<P> {
    /// An idle link on a path of `rtt`, whose packets are at the far end `propagation` after their
    /// last bit was sent.
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
            // What it could send is known at the end.
            meter: LinkMeter::new(window, Span::ZERO, rtt),
            propagation,
            armed: false,
            last_wait: Span::ZERO,
            drops: 0,
            marks: 0,
        }
    }

    /// Whether its queue decides: then packets are [offered](MeteredLink::offer) to it.
    #[inline]
    pub fn is_managed(&self) -> bool {
        matches!(self.link, AnyLink::Managed(_))
    }

    /// When the last bit left of a packet that is at the far end at `at`.
    pub fn left_at(&self, at: Time) -> Time {
        at - self.propagation
    }

    /// A packet arrives: when it is sent, which is known at once, or why it was dropped.
    ///
    /// # Panics
    /// If the queue decides.
    #[inline]
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
            AnyLink::Managed(_) => unreachable!("a link whose queue decides is offered packets"),
        }
    }

    /// Apart from the usual case, which it must not slow down.
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

    /// Counts what a verdict means. If nothing else is measured, a packet counts from its first bit
    /// to its last.
    // both callers are worth it: a verdict that goes through memory costs them a percent of a run
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

    /// A packet arrives at a queue that decides. `dropped` is told of each packet that the queue
    /// drops.
    ///
    /// # Panics
    /// If the queue does not decide.
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
            unreachable!("only a link whose queue decides is offered packets")
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

    /// The queue chooses a packet to send, and this is how it passes the link; none if what waited
    /// was dropped, or may not leave yet.
    ///
    /// # Panics
    /// If the queue does not decide.
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
            unreachable!("only a link whose queue decides is called to send")
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

    /// When it is to be called again after it was called to send, if something waits.
    #[inline]
    pub fn call_again_at(&mut self) -> Option<Time> {
        let AnyLink::Managed(link) = &self.link else {
            return None;
        };
        let at = link.ready_at();
        self.armed = at.is_some();
        at
    }

    /// Chance drops a packet in front of it.
    pub fn lose(&mut self, now: Time, kind: PacketKind) {
        self.count_drop(now, kind, DropCause::Loss);
    }

    /// A packet comes twice.
    pub fn duplicate(&mut self, now: Time, kind: PacketKind) {
        if kind == PacketKind::Data {
            self.meter.on_duplicate(now);
        }
    }

    /// An ACK took the place of one that waited.
    pub fn filter_ack(&mut self, now: Time) {
        self.meter.on_ack_filtered(now);
    }

    #[cold]
    fn count_drop(&mut self, now: Time, kind: PacketKind, cause: DropCause) {
        count_drop(now, kind, cause, &mut self.meter, &mut self.drops);
    }

    /// Its metrics count nothing of what comes but packets.
    pub fn stop_counting(&mut self) {
        self.meter.stop();
    }

    /// Packets and bytes that wait, and how long the one that left last had waited.
    pub fn backlog(&mut self, now: Time) -> (u64, Bytes, Span) {
        let (packets, bytes) = self.link.backlog(now);
        let sojourn = if packets == 0 {
            Span::ZERO
        } else {
            self.last_wait
        };
        (packets, bytes, sojourn)
    }

    /// Data packets that its queue or policer dropped, and that its queue marked, in the whole run.
    pub fn drops_and_marks(&self) -> (u64, u64) {
        (self.drops, self.marks)
    }

    /// Data packets that left in the whole run.
    pub fn packets(&self) -> u64 {
        self.meter.packets()
    }

    /// Its metrics within `window`.
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
