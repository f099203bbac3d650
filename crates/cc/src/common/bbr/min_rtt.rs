//! The minimum RTT, and the dip that makes it show: `bbr_update_min_rtt`, draft-ietf-ccwg-bbr-06
//! §5.3.4.3.

use fullpipe_units::{Span, Time};

use crate::{Ack, Conn};

/// The least RTT since it was last renewed, good for a window of time.
#[derive(Clone, Copy, Debug)]
pub struct MinRtt {
    /// [`Span::MAX`] before the first sample.
    pub rtt: Span,
    stamp: Option<Time>,
    window: Span,
    renewed_by_equal: bool,
}

impl MinRtt {
    /// No sample yet; one equal to the minimum renews it, or doesn't.
    pub fn new(window: Span, renewed_by_equal: bool) -> MinRtt {
        MinRtt {
            rtt: Span::MAX,
            stamp: None,
            window,
            renewed_by_equal,
        }
    }

    /// Takes the ACK's sample; true when the minimum was older than its window. Then any sample
    /// replaces it, but not one that the receiver may have delayed, if `beware`.
    #[inline]
    pub fn update(&mut self, now: Time, conn: &Conn, ack: &Ack, beware: bool) -> bool {
        let stamp = *self.stamp.get_or_insert(now);
        let expired = now.since(stamp) > self.window;
        if let Some(rtt) = ack.rtt {
            let lower = rtt.raw < self.rtt || (self.renewed_by_equal && rtt.raw == self.rtt);
            if lower || (expired && !(beware && maybe_delayed(conn, ack))) {
                self.rtt = rtt.raw;
                self.stamp = Some(now);
            }
        }
        expired
    }

    /// Follows a shorter filter: takes its minimum, with its age, when that is less, or as little
    /// and `equal` counts, or this one's window is over. True when the value changed.
    #[inline]
    pub fn follow(&mut self, now: Time, recent: &MinRtt, equal: bool) -> bool {
        let expired = self
            .stamp
            .is_some_and(|stamp| now.since(stamp) > self.window);
        let lower = recent.rtt < self.rtt || (equal && recent.rtt == self.rtt);
        let changed = recent.rtt != self.rtt;
        if lower || expired {
            (self.rtt, self.stamp) = (recent.rtt, recent.stamp);
            return changed;
        }
        false
    }

    /// The connection's minimum RTT when the first is known.
    pub fn seed(&mut self, now: Time, rtt: Span) {
        if rtt < self.rtt {
            self.rtt = rtt;
            self.stamp = Some(now);
        }
    }

    /// The minimum was just probed for: good for a whole window.
    pub fn renew(&mut self, now: Time) {
        self.stamp = Some(now);
    }
}

/// The receiver may have delayed this ACK: it is for a lone small packet (Linux:
/// `FLAG_ACK_MAYBE_DELAYED`).
fn maybe_delayed(conn: &Conn, ack: &Ack) -> bool {
    ack.newly_acked < conn.smss && ack.newest.delivered + ack.newly_acked == conn.delivered
}

/// How far the dip has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeRttDwell {
    /// `probe_rtt_done_stamp`: set once the flight is small enough.
    done_at: Option<Time>,
    /// `probe_rtt_round_done`: a whole round went by with the small flight.
    round_done: bool,
}

/// What an ACK does to the dip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DipStep {
    /// Nothing yet.
    Wait,
    /// The flight has become small enough: the time counts from now, and a round begins.
    Bottom,
    /// A round has gone by; the dip is over when the time is.
    RoundDone,
}

impl ProbeRttDwell {
    /// One ACK in ProbeRTT.
    pub fn on_ack(
        &mut self,
        now: Time,
        small_enough: bool,
        round_start: bool,
        duration: Span,
    ) -> DipStep {
        if self.done_at.is_none() {
            if !small_enough {
                return DipStep::Wait;
            }
            *self = ProbeRttDwell {
                done_at: Some(now + duration),
                round_done: false,
            };
            return DipStep::Bottom;
        }
        self.round_done |= round_start;
        if self.round_done {
            DipStep::RoundDone
        } else {
            DipStep::Wait
        }
    }

    /// The flight has been small for the whole time.
    pub fn is_over(&self, now: Time) -> bool {
        self.done_at.is_some_and(|done_at| now > done_at)
    }
}
