//! COBALT, cake's control of a flow: CoDel for flows that respond to drops, combined with BLUE for
//! flows that do not.

use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::PACKET;
use super::packet::Packet;

/// Increment of BLUE's probability when the queue is full, and decrement when it is empty.
const UP: f64 = 1.0 / 256.0;
const DOWN: f64 = 1.0 / 4096.0;

/// Parameters of the control of a flow's delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    target: Span,
    interval: Span,
    /// Time of four full packets at the shaper's rate; shorter delays are never too long.
    least: Span,
}

impl Law {
    /// Returns the parameters for an RTT and, if there is a shaper, its rate: at low rates a packet
    /// takes long.
    pub(super) fn new(rtt: Span, rate: Option<Rate>) -> Law {
        let wanted = rtt / 20;
        let packet = rate.map_or(Span::ZERO, |rate| rate.time_for(PACKET));
        let target = wanted.max(packet * 3 / 2);
        Law {
            target,
            interval: (rtt + (target - wanted)).max(target * 2),
            least: packet * 4,
        }
    }

    /// As in CoDel, but a count of zero counts as one.
    fn next(&self, from: Time, count: u32) -> Time {
        from + self.interval.mul_f64(1.0 / f64::from(count.max(1)).sqrt())
    }
}

/// The state of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    count: u32,
    dropping: bool,
    /// Time of the next drop. With a count of zero, time until which this flow is remembered.
    drop_next: Time,
    /// BLUE: the probability of a drop, and when it last changed.
    probability: f64,
    changed: Time,
}

impl Control {
    /// Returns whether a packet that is about to be sent is dropped; it may be marked instead.
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
            // The drop rate decays in the way it grew.
            while due {
                self.count -= 1;
                self.drop_next = law.next(self.drop_next, self.count);
                late = now > self.drop_next;
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        // BLUE never marks: a flow that does not respond to drops would not respond to marks.
        drops |= self.probability > 0.0 && rng.chance(self.probability);
        if self.count == 0 {
            self.drop_next = now + law.interval;
        } else if late && !drops {
            self.drop_next = now;
        }
        drops
    }

    /// Handles the drop of a packet of the flow because the whole queue is full.
    pub(super) fn overflows(&mut self, law: &Law, now: Time) {
        if now.since(self.changed) > law.target {
            self.probability = (self.probability + UP).min(1.0);
            self.changed = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Handles a turn of the flow without a waiting packet.
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

    /// Returns whether the flow can be forgotten.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.drop_next
    }
}

/// A shaper by deficit: each packet delays the next one's time, so that no burst builds up while
/// idle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    rate: Rate,
    next: Time,
    /// The same time at two thirds of the rate; a packet may leave at the earlier of the two.
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

    /// Returns the time at which the controller lets the next packet pass.
    #[inline]
    pub(super) fn opens_at(&self) -> Time {
        self.next.min(self.failsafe)
    }

    /// Handles the arrival of a packet when nothing waits.
    #[inline]
    pub(super) fn wake(&mut self, now: Time) {
        if self.next < now {
            (self.next, self.failsafe) = (now, now);
        }
    }

    /// Handles the departure of a packet.
    #[inline]
    pub(super) fn charge(&mut self, size: Bytes) {
        let time = self.rate.time_for(size);
        self.next += time;
        self.failsafe += time * 3 / 2;
    }
}
