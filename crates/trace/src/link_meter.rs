//! Measurements on a link during a run.

use fullpipe_units::{Span, Time};

use crate::drift::{Drift, LinkDrift, Ratio};
use crate::series::Series;
use crate::{Histogram, MeasuredTime};

/// Work of a link since `measure_from`.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    busy: Span,
    /// Sum of the queueing delays weighted by time, in ns².
    waited: u128,
}

/// Measurements of one link.
#[derive(Clone, Debug)]
pub struct LinkMeter {
    window: MeasuredTime,
    /// The next edge of `done`.
    next: Time,
    done: Option<Series<Done>>,
    /// Queueing delays, weighted by the transmission times of their packets.
    pub(crate) queue: Histogram,
    busy: Span,
    held: Span,
    offered: Span,
    /// The path's RTT without queueing.
    rtt: Span,
    twice: Span,
    /// Transmission time, plus time at the head of the queue behind a shaper, of the packets that
    /// waited longer than one `rtt`, and longer than two.
    beyond: [Span; 2],
    pub(crate) drops: u64,
    pub(crate) losses: u64,
    pub(crate) policed: u64,
    pub(crate) duplicates: u64,
    pub(crate) marks: u64,
    /// Data packets that left during the whole run.
    pub(crate) packets: u64,
    pub(crate) acks: u64,
    pub(crate) ack_drops: u64,
    pub(crate) acks_filtered: u64,
}

impl LinkMeter {
    /// Creates an empty meter for a link on a path with round-trip time `rtt`. `offered` is the
    /// time within the window for which the link can send: all of it, except for links whose
    /// capacity is not measured in time.
    pub fn new(window: MeasuredTime, offered: Span, rtt: Span) -> LinkMeter {
        let done = Series::new(window, false);
        LinkMeter {
            window,
            next: done.as_ref().map_or(Time::MAX, Series::next),
            done,
            queue: Histogram::default(),
            busy: Span::ZERO,
            held: Span::ZERO,
            offered,
            rtt,
            twice: rtt * 2,
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

    /// Excludes everything that happens from now on, except the count of packets that left.
    pub fn stop(&mut self) {
        self.window.from = Time::MAX;
    }

    /// Replaces `offered`, which is known only at the end of a run without a fixed length.
    #[must_use]
    pub fn with_offered(self, offered: Span) -> LinkMeter {
        LinkMeter { offered, ..self }
    }

    /// Records that a packet, which waited for `waited`, is being sent from `start` to `end`.
    /// `data` is false for a packet without payload.
    #[inline(always)] // on the path of every packet, like its parts
    pub fn on_transmission(&mut self, waited: Span, start: Time, end: Time, data: bool) {
        if end >= self.next {
            self.pass(end);
        }
        self.packets += u64::from(data && end <= self.window.to);
        let held = end.min(self.window.to).since(start.max(self.window.from));
        self.busy += held;
        self.on_wait(waited, held);
    }

    #[cold]
    fn pass(&mut self, now: Time) {
        let total = self.total();
        if let Some(done) = &mut self.done {
            self.next = done.pass(now, total);
        }
    }

    fn total(&self) -> Done {
        Done {
            busy: self.busy,
            waited: self.queue.sum(),
        }
    }

    /// Returns the course of the share of time in which the link was sending, and of the queueing delay.
    pub(crate) fn drifts(&self) -> LinkDrift {
        let Some(done) = &self.done else {
            return LinkDrift::default();
        };
        let part = done.part().as_secs_f64();
        let totals = done.finish(self.total());
        let parts = |sum: fn(&Done, &Done) -> f64| -> Vec<Ratio> {
            let pairs = totals.windows(2);
            let ratio = |pair: &[Done]| Ratio {
                sum: sum(&pair[0], &pair[1]),
                of: part,
            };
            pairs.map(ratio).collect()
        };
        let busy = parts(|from, to| (to.busy - from.busy).as_secs_f64());
        let waited = parts(|from, to| (to.waited - from.waited) as f64 / 1e18);
        LinkDrift {
            utilization: Drift::of(&busy[done.tested()]),
            queue_delay_s: Drift::of(&waited[done.tested()]),
        }
    }

    /// Records that a shaper held a packet, which waited for `waited`, at the head of the queue
    /// from `since` to `until`.
    #[cold]
    pub fn on_held(&mut self, waited: Span, since: Time, until: Time) {
        let held = until.min(self.window.to).since(since.max(self.window.from));
        self.held += held;
        self.on_wait(waited, held);
    }

    #[inline(always)] // on the path of every packet
    fn on_wait(&mut self, waited: Span, held: Span) {
        self.queue.add_weighted(waited, held.as_nanos());
        if waited > self.rtt {
            let [one, two] = &mut self.beyond;
            *one += held;
            if waited > self.twice {
                *two += held;
            }
        }
    }

    /// Records that the queue had no room for a data packet.
    pub fn on_drop(&mut self, now: Time) {
        self.drops += u64::from(self.window.holds(now));
    }

    /// Records that a data packet was lost randomly.
    pub fn on_loss(&mut self, now: Time) {
        self.losses += u64::from(self.window.holds(now));
    }

    /// Records that a policer dropped a data packet.
    pub fn on_policed(&mut self, now: Time) {
        self.policed += u64::from(self.window.holds(now));
    }

    /// Records that the link sends an ACK until `end`; call it in addition to
    /// [`on_transmission`](LinkMeter::on_transmission). `data` is false for a SYN-ACK, which is not
    /// counted.
    pub fn on_ack_transmission(&mut self, end: Time, data: bool) {
        self.acks += u64::from(data && end <= self.window.to);
    }

    /// Records that the queue, the policer or random loss dropped an ACK.
    pub fn on_ack_drop(&mut self, now: Time) {
        self.ack_drops += u64::from(self.window.holds(now));
    }

    /// Records that a later ACK replaced one in the queue.
    pub fn on_ack_filtered(&mut self, now: Time) {
        self.acks_filtered += u64::from(self.window.holds(now));
    }

    /// Records that a duplicate of a data packet arrived.
    pub fn on_duplicate(&mut self, now: Time) {
        self.duplicates += u64::from(self.window.holds(now));
    }

    /// Records that the queue marked a data packet.
    pub fn on_mark(&mut self, now: Time) {
        self.marks += u64::from(self.window.holds(now));
    }

    /// Returns the number of data packets that left during the whole run.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the share of the offered time in which the link was sending; 0 if no time was
    /// offered.
    pub fn utilization(&self) -> f64 {
        if self.offered == Span::ZERO {
            0.0
        } else {
            self.busy.as_secs_f64() / self.offered.as_secs_f64()
        }
    }

    /// Returns the time-weighted queueing delay: at each instant, the time that the packet being
    /// sent, or held by a shaper at the head of the queue, has waited; zero when the link is idle.
    pub fn queue_delay(&self) -> Histogram {
        let mut queue = self.queue.clone();
        queue.add_weighted(Span::ZERO, self.idle().as_nanos());
        queue
    }

    /// Shares of the time in which the queueing delay is at most one RTT of the path, and at most
    /// two; `None` if no time was offered.
    pub fn within_rtts(&self) -> Option<[f64; 2]> {
        let whole = self.busy + self.held + self.idle();
        let share = |beyond: Span| (whole - beyond).as_nanos() as f64 / whole.as_nanos() as f64;
        (whole > Span::ZERO).then(|| self.beyond.map(share))
    }

    fn idle(&self) -> Span {
        self.offered.saturating_sub(self.busy + self.held)
    }
}
