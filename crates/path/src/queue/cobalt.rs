//! COBALT: CoDel and BLUE side by side, one for flows that answer and one for those that do not;
//! cake's control of a flow.

use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::MTU;
use super::packet::Packet;

/// What BLUE's probability grows by when the queue is full, and shrinks by when it is empty.
const UP: f64 = 1.0 / 256.0;
const DOWN: f64 = 1.0 / 4096.0;

/// How a flow's delay is controlled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    target: Span,
    interval: Span,
    /// Four full packets' time at the shaper's rate: below that no delay is too long.
    least: Span,
}

impl Law {
    /// For an RTT, and a shaper of that rate if there is one: at low rates a packet takes its time.
    pub(super) fn new(rtt: Span, rate: Option<Rate>) -> Law {
        let wanted = rtt / 20;
        let packet = rate.map_or(Span::ZERO, |rate| rate.time_for(MTU));
        let target = wanted.max(packet * 3 / 2);
        Law {
            target,
            interval: (rtt + (target - wanted)).max(target * 2),
            least: packet * 4,
        }
    }

    /// As CoDel's, but that one drop and none are the same.
    fn next(&self, from: Time, count: u32) -> Time {
        from + self.interval.mul_f64(1.0 / f64::from(count.max(1)).sqrt())
    }
}

/// The state of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    count: u32,
    dropping: bool,
    /// Without drops to come: until when this flow is not forgotten.
    drop_next: Time,
    /// BLUE: the probability of a drop, and when it changed.
    probability: f64,
    changed: Time,
}

impl Control {
    /// Whether a packet that is about to be sent is dropped; it may be marked instead.
    #[inline]
    pub(super) fn drops<P>(
        &mut self,
        law: &Law,
        now: Time,
        packet: &mut Packet<P>,
        rng: &mut Rng,
    ) -> bool {
        let sojourn = now - packet.arrived;
        let mut due = self.count > 0 && now >= self.drop_next;
        let mut late = now > self.drop_next;
        self.dropping = if sojourn > law.target && sojourn > law.least {
            if !self.dropping {
                self.drop_next = law.next(now, self.count);
            }
            self.count = self.count.max(1);
            true
        } else {
            false
        };
        let mut drops = false;
        if due && self.dropping {
            drops = !packet.mark();
            self.count = self.count.saturating_add(1);
            self.drop_next = law.next(self.drop_next, self.count);
            late = now > self.drop_next;
        } else {
            // The rate of drops decays as it grew.
            while due {
                self.count -= 1;
                self.drop_next = law.next(self.drop_next, self.count);
                late = now > self.drop_next;
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        // BLUE knows no marks: who does not answer would not answer to them.
        drops |= self.probability > 0.0 && rng.chance(self.probability);
        if self.count == 0 {
            self.drop_next = now + law.interval;
        } else if late && !drops {
            self.drop_next = now;
        }
        drops
    }

    /// A packet of the flow was dropped because everything is full.
    pub(super) fn overflows(&mut self, law: &Law, now: Time) {
        if now.since(self.changed) > law.target {
            self.probability = (self.probability + UP).min(1.0);
            self.changed = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// It was the flow's turn, and nothing waited.
    pub(super) fn finds_none(&mut self, law: &Law, now: Time) {
        if self.probability > 0.0 && now.since(self.changed) > law.target {
            self.probability = (self.probability - DOWN).max(0.0);
            self.changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = law.next(self.drop_next, self.count);
        }
    }

    /// There is nothing left to remember.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.drop_next
    }
}

/// A shaper by deficit: each packet moves the time of the next one, so that no burst builds up
/// while idle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    rate: Rate,
    next: Time,
    /// The same at two thirds of the rate: the later of the two never holds a packet back.
    failsafe: Time,
}

impl Shaper {
    pub(super) fn new(rate: Rate) -> Shaper {
        Shaper {
            rate,
            next: Time::ZERO,
            failsafe: Time::ZERO,
        }
    }

    /// When it lets the next packet through.
    #[inline]
    pub(super) fn opens_at(&self) -> Time {
        self.next.min(self.failsafe)
    }

    /// A packet comes and nothing waits.
    #[inline]
    pub(super) fn wake(&mut self, now: Time) {
        if self.next < now {
            (self.next, self.failsafe) = (now, now);
        }
    }

    /// A packet was let through.
    #[inline]
    pub(super) fn charge(&mut self, size: Bytes) {
        let time = self.rate.time_for(size);
        self.next += time;
        self.failsafe += time * 3 / 2;
    }
}
