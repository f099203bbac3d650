//! The estimators that all versions have: the minimum RTT, a full pipe, and aggregated ACKs.

use fullpipe_units::{Span, Time};

use super::{greater, lesser};
use crate::common::max_filter::MaxFilter;
use crate::{Ack, Conn};

/// The least RTT since it was last renewed, good for a window of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    /// [`Span::MAX`] before the first sample.
    pub(super) rtt: Span,
    stamp: Option<Time>,
    window: Span,
    renewed_by_equal: bool,
}

impl MinRtt {
    /// No sample yet; one equal to the minimum renews it, or doesn't.
    pub(super) fn new(window: Span, renewed_by_equal: bool) -> MinRtt {
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
    pub(super) fn update(&mut self, now: Time, conn: &Conn, ack: &Ack, beware: bool) -> bool {
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
    pub(super) fn follow(&mut self, now: Time, recent: &MinRtt, equal: bool) -> bool {
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
    pub(super) fn seed(&mut self, now: Time, rtt: Span) {
        if rtt < self.rtt {
            self.rtt = rtt;
            self.stamp = Some(now);
        }
    }

    /// The minimum; none before the first sample.
    pub(super) fn get(&self) -> Option<Span> {
        (self.rtt != Span::MAX).then_some(self.rtt)
    }

    /// The minimum was just probed for: good for a whole window.
    pub(super) fn renew(&mut self, now: Time) {
        self.stamp = Some(now);
    }
}

/// The receiver may have delayed this ACK: it is for a lone small packet (Linux:
/// `FLAG_ACK_MAYBE_DELAYED`).
fn maybe_delayed(conn: &Conn, ack: &Ack) -> bool {
    ack.newly_acked < conn.smss && ack.newest.delivered + ack.newly_acked == conn.delivered
}

/// How far ProbeRTT has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRttDwell {
    /// `probe_rtt_done_stamp`: set once the flight is small enough.
    done_at: Option<Time>,
    /// `probe_rtt_round_done`: a whole round went by with the small flight.
    round_done: bool,
}

/// What an ACK does to the dwell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DwellStep {
    /// Nothing yet.
    Wait,
    /// The flight has become small enough: the time counts from now, and a round begins.
    Bottom,
    /// A round has gone by; ProbeRTT is over when the time is.
    RoundDone,
}

impl ProbeRttDwell {
    /// One ACK in ProbeRTT.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        small_enough: bool,
        round_start: bool,
        duration: Span,
    ) -> DwellStep {
        if self.done_at.is_none() {
            if !small_enough {
                return DwellStep::Wait;
            }
            *self = ProbeRttDwell {
                done_at: Some(now + duration),
                round_done: false,
            };
            return DwellStep::Bottom;
        }
        self.round_done |= round_start;
        if self.round_done {
            DwellStep::RoundDone
        } else {
            DwellStep::Wait
        }
    }

    /// The flight has been small for the whole time.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.done_at.is_some_and(|done_at| now > done_at)
    }
}

/// When growth is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// With the ACK that begins a round (v1, v2, the draft).
    AtRoundStart,
    /// With every ACK (Linux v3); what is counted are rounds all the same.
    AtEveryAck,
}

/// The estimator of a plateau.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Bandwidth at the last real growth, B/s: `full_bw`.
    pub(super) bw: f64,
    /// Rounds since: `full_bw_cnt`.
    pub(super) count: u32,
    /// Since the last reset there was a plateau: `full_bw_now`.
    pub(super) now: bool,
    /// There has been one: `full_bw_reached`.
    pub(super) reached: bool,
}

impl FullPipe {
    /// Takes a bandwidth that the application did not limit; `growth` times the last is growth, and
    /// `rounds` without it are a plateau. Three, because the receive window takes one to grow, the
    /// sender one to fill it, and the rate one to show.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        bw: f64,
        round_start: bool,
        noticed: Growth,
        growth: f64,
        rounds: u32,
    ) {
        if self.now || !(round_start || noticed == Growth::AtEveryAck) {
            return;
        }
        if bw >= self.bw * growth {
            self.bw = bw;
            self.count = 0;
        } else if round_start {
            self.count += 1;
            self.now = self.count >= rounds;
            self.reached |= self.now;
        }
    }

    /// Looks for a plateau anew: `bbr_reset_full_bw`.
    pub(super) fn reset(&mut self) {
        *self = FullPipe {
            reached: self.reached,
            ..FullPipe::default()
        };
    }

    /// Looks for growth beyond `bw` from now on.
    pub(super) fn reset_to(&mut self, bw: f64) {
        *self = FullPipe {
            bw,
            reached: self.reached,
            ..FullPipe::default()
        };
    }
}

/// The maximum over the last rounds.
#[derive(Clone, Copy, Debug)]
enum Filter {
    /// Linux: maxima of this half of the window and of the one before, so that the window is one to
    /// two times as long.
    Halves { max: [f64; 2], rounds: u32 },
    /// The draft: a window that slides.
    Sliding { max: MaxFilter, round: u64 },
}

/// What one ACK tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    /// Bytes newly acknowledged.
    pub(super) bytes: f64,
    /// The bandwidth at which ACKs are expected, B/s.
    pub(super) bw: f64,
    /// No sample is larger than the window, bytes.
    pub(super) cwnd: f64,
    /// The ACK begins a round.
    pub(super) round_start: bool,
    /// How many rounds a sample counts, twice as many at most where the window has two halves.
    pub(super) window: u64,
    /// Bytes after which an epoch is too long to mean anything: `bbr_ack_epoch_acked_reset_thresh`.
    pub(super) epoch_max: f64,
}

/// The most data acknowledged beyond bandwidth times time.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckAggregation {
    epoch_start: Time,
    /// Bytes acknowledged in the epoch.
    epoch_acked: f64,
    filter: Filter,
}

impl AckAggregation {
    /// `bbr_ack_epoch_acked_reset_thresh`, segments.
    pub(super) const EPOCH_SEGMENTS: f64 = (1_u64 << 20) as f64;

    /// Over a window in two halves.
    pub(super) fn in_halves() -> AckAggregation {
        let filter = Filter::Halves {
            max: [0.0; 2],
            rounds: 0,
        };
        AckAggregation {
            epoch_start: Time::ZERO,
            epoch_acked: 0.0,
            filter,
        }
    }

    /// Over a window that slides.
    pub(super) fn sliding() -> AckAggregation {
        AckAggregation {
            filter: Filter::Sliding {
                max: MaxFilter::new(1),
                round: 0,
            },
            ..AckAggregation::in_halves()
        }
    }

    /// Starts from idle: no ACKs were due.
    pub(super) fn restart(&mut self, now: Time) {
        self.epoch_start = now;
        self.epoch_acked = 0.0;
    }

    /// Takes an ACK.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, acked: Acked) {
        if acked.round_start {
            match &mut self.filter {
                Filter::Halves { max, rounds } => {
                    *rounds += 1;
                    if u64::from(*rounds) >= acked.window {
                        *rounds = 0;
                        *max = [0.0, max[0]];
                    }
                }
                Filter::Sliding { round, .. } => *round += 1,
            }
        }
        let mut expected = acked.bw * (now.since(self.epoch_start).as_nanos() as f64 * 1e-9);
        // ACKs that come no faster than expected end an epoch: nothing has been held back.
        if self.epoch_acked <= expected || self.epoch_acked + acked.bytes >= acked.epoch_max {
            self.restart(now);
            expected = 0.0;
        }
        self.epoch_acked += acked.bytes;
        let extra = lesser(self.epoch_acked - expected, acked.cwnd);
        match &mut self.filter {
            Filter::Halves { max, .. } => max[0] = greater(max[0], extra),
            Filter::Sliding { max, round } => {
                max.set_window(acked.window);
                max.update(*round, extra);
            }
        }
    }

    /// The maximum, bytes.
    #[inline]
    pub(super) fn extra_acked(&self) -> f64 {
        match &self.filter {
            Filter::Halves {
                max: [this, last], ..
            } => greater(*this, *last),
            Filter::Sliding { max, .. } => max.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ACKs of 1000 bytes a millisecond at 1 MB/s, but a burst of ten and then a silence in the
    /// first round of 10 ms.
    fn rounds_that_a_burst_counts(mut aggregation: AckAggregation, window: u64) -> u64 {
        let mut now = Time::ZERO;
        for round in 0..40_u64 {
            for ack in 0..10 {
                now += Span::from_millis(1);
                let bytes = if round == 0 && ack == 9 {
                    10_000.0
                } else {
                    1_000.0
                };
                let acked = Acked {
                    bytes,
                    bw: 1e6,
                    cwnd: 1e9,
                    round_start: ack == 0,
                    window,
                    epoch_max: f64::INFINITY,
                };
                aggregation.on_ack(now, acked);
            }
            now += if round == 0 {
                Span::from_millis(20)
            } else {
                Span::ZERO
            };
            if aggregation.extra_acked() < 5_000.0 {
                return round;
            }
        }
        40
    }

    #[test]
    fn a_burst_counts_for_the_window() {
        assert_eq!(
            rounds_that_a_burst_counts(AckAggregation::sliding(), 10),
            11
        );
        let halves = rounds_that_a_burst_counts(AckAggregation::in_halves(), 5);
        assert!((5..=10).contains(&halves), "{halves} rounds");
    }

    #[test]
    fn growth_within_a_round_counts_where_every_ack_is_looked_at() {
        for (noticed, full) in [(Growth::AtRoundStart, true), (Growth::AtEveryAck, false)] {
            let mut pipe = FullPipe::default();
            pipe.on_ack(100.0, true, noticed, 1.25, 3);
            for round in 0..3 {
                pipe.on_ack(100.0, true, noticed, 1.25, 3);
                if round == 1 {
                    pipe.on_ack(130.0, false, noticed, 1.25, 3);
                }
            }
            assert_eq!((pipe.now, pipe.reached), (full, full), "{noticed:?}");
        }
    }

    #[test]
    fn a_reset_forgets_the_plateau_but_not_that_there_was_one() {
        let mut pipe = FullPipe::default();
        for _ in 0..4 {
            pipe.on_ack(100.0, true, Growth::AtRoundStart, 1.25, 3);
        }
        pipe.reset_to(100.0);
        assert_eq!(
            (pipe.now, pipe.reached, pipe.count, pipe.bw),
            (false, true, 0, 100.0)
        );
    }
}
