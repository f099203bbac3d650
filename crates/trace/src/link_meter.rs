//! What is measured on a link while a run goes on.

use fullpipe_units::{Span, Time};

use crate::{Histogram, MeasuredTime};

/// One link's measurements.
#[derive(Clone, Debug)]
pub struct LinkMeter {
    window: MeasuredTime,
    /// Waiting times, weighted by how long their packets were being sent.
    pub(crate) queue: Histogram,
    busy: Span,
    held: Span,
    offered: Span,
    /// The path's, without queues.
    rtt: Span,
    /// How long packets were being sent, or held back to be sent next, that had waited longer than
    /// one `rtt`, and than two.
    beyond: [Span; 2],
    pub(crate) drops: u64,
    pub(crate) losses: u64,
    pub(crate) policed: u64,
    pub(crate) duplicates: u64,
    pub(crate) marks: u64,
    /// Data packets that left in the whole run.
    pub(crate) packets: u64,
    pub(crate) acks: u64,
    pub(crate) ack_drops: u64,
    pub(crate) acks_filtered: u64,
}

impl LinkMeter {
    /// Nothing measured yet of a link on a path of `rtt`, which can send for a time of `offered`
    /// within the window: all of it, unless it has another measure of sending.
    pub fn new(window: MeasuredTime, offered: Span, rtt: Span) -> LinkMeter {
        LinkMeter {
            window,
            queue: Histogram::default(),
            busy: Span::ZERO,
            held: Span::ZERO,
            offered,
            rtt,
            beyond: [Span::ZERO; 2],
            drops: 0,
            losses: 0,
            policed: 0,
            duplicates: 0,
            marks: 0,
            packets: 0,
            acks: 0,
            ack_drops: 0,
            acks_filtered: 0,
        }
    }

    /// Counts nothing of what comes but packets.
    pub fn stop(&mut self) {
        self.window.from = Time::MAX;
    }

    /// The same measurements, of a link that could send for a time of `offered`: known at the end
    /// of a run that was open.
    #[must_use]
    pub fn with_offered(self, offered: Span) -> LinkMeter {
        LinkMeter { offered, ..self }
    }

    /// A packet, of data or not, that waited so long is being sent from `start` to `end`.
    #[inline]
    pub fn on_transmission(&mut self, waited: Span, start: Time, end: Time, data: bool) {
        self.packets += u64::from(data && end <= self.window.to);
        let held = end.min(self.window.to).since(start.max(self.window.from));
        self.busy += held;
        self.on_wait(waited, held);
    }

    /// A packet that waited so long was held back at the head of the queue from `since` to `until`,
    /// by a shaper.
    #[cold]
    pub fn on_held(&mut self, waited: Span, since: Time, until: Time) {
        let held = until.min(self.window.to).since(since.max(self.window.from));
        self.held += held;
        self.on_wait(waited, held);
    }

    #[inline(always)] // a part of what each packet costs
    fn on_wait(&mut self, waited: Span, held: Span) {
        self.queue.add_weighted(waited, held.as_nanos());
        if waited > self.rtt {
            self.on_long_wait(waited, held);
        }
    }

    #[inline(never)]
    fn on_long_wait(&mut self, waited: Span, held: Span) {
        let [one, two] = &mut self.beyond;
        *one += held;
        *two += if waited > self.rtt * 2 {
            held
        } else {
            Span::ZERO
        };
    }

    /// The queue had no room for a data packet.
    pub fn on_drop(&mut self, now: Time) {
        self.drops += u64::from(self.window.holds(now));
    }

    /// A data packet was lost by chance.
    pub fn on_loss(&mut self, now: Time) {
        self.losses += u64::from(self.window.holds(now));
    }

    /// A policer dropped a data packet.
    pub fn on_policed(&mut self, now: Time) {
        self.policed += u64::from(self.window.holds(now));
    }

    /// The link sends an ACK until `end`: what is more than a
    /// [transmission](LinkMeter::on_transmission), if it is no SYN-ACK.
    pub fn on_ack_transmission(&mut self, end: Time, data: bool) {
        self.acks += u64::from(data && end <= self.window.to);
    }

    /// Queue, policer or chance dropped an ACK.
    pub fn on_ack_drop(&mut self, now: Time) {
        self.ack_drops += u64::from(self.window.holds(now));
    }

    /// An ACK took the place of one that waited.
    pub fn on_ack_filtered(&mut self, now: Time) {
        self.acks_filtered += u64::from(self.window.holds(now));
    }

    /// A copy of a data packet came.
    pub fn on_duplicate(&mut self, now: Time) {
        self.duplicates += u64::from(self.window.holds(now));
    }

    /// The queue marked a data packet.
    pub fn on_mark(&mut self, now: Time) {
        self.marks += u64::from(self.window.holds(now));
    }

    /// Data packets that left in the whole run.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The share of what was offered in which the link was sending; none of nothing.
    pub fn utilization(&self) -> f64 {
        if self.offered == Span::ZERO {
            0.0
        } else {
            self.busy.as_secs_f64() / self.offered.as_secs_f64()
        }
    }

    /// The time-weighted waiting time: at each instant that of the packet being sent, or held back
    /// to be sent next; zero when there is none.
    pub fn queue_delay(&self) -> Histogram {
        let mut queue = self.queue.clone();
        queue.add_weighted(Span::ZERO, self.idle().as_nanos());
        queue
    }

    /// The shares of that time in which the waiting time is one RTT of the path at most, and two;
    /// none of no time.
    pub fn within_rtts(&self) -> Option<[f64; 2]> {
        let whole = self.busy + self.held + self.idle();
        let share = |beyond: Span| (whole - beyond).as_nanos() as f64 / whole.as_nanos() as f64;
        (whole > Span::ZERO).then(|| self.beyond.map(share))
    }

    fn idle(&self) -> Span {
        self.offered.saturating_sub(self.busy + self.held)
    }
}
