//! Estimators that all versions share: minimum RTT, full pipe, ACK aggregation.

use fullpipe_units::{Span, Time};

use super::{greater, lesser};
use crate::common::max_filter::MaxFilter;
use crate::{Ack, Conn};

/// Minimum-RTT filter: the smallest RTT sample within a time window.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    /// [`Span::MAX`] before the first sample.
    pub(super) rtt: Span,
    stamp: Option<Time>,
    window: Span,
    renewed_by_equal: bool,
}

impl MinRtt {
    /// Creates a filter without a sample. `renewed_by_equal`: a sample equal to the minimum renews
    /// it.
    pub(super) fn new(window: Span, renewed_by_equal: bool) -> MinRtt {
        MinRtt {
            rtt: Span::MAX,
            stamp: None,
            window,
            renewed_by_equal,
        }
    }

    /// Takes the ACK's RTT sample. Returns true if the minimum was older than the window. In that
    /// case any sample replaces it, except, if `beware`, one that the receiver may have delayed.
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

    /// Follows `recent`, a filter with a shorter window: takes its minimum and timestamp if the
    /// minimum is lower, if it is equal and `equal` is set, or if this filter's window has expired.
    /// Returns true if the minimum changed.
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

    /// Takes the connection's minimum RTT when the first RTT is known.
    pub(super) fn seed(&mut self, now: Time, rtt: Span) {
        if rtt < self.rtt {
            self.rtt = rtt;
            self.stamp = Some(now);
        }
    }

    /// Returns the minimum; `None` before the first sample.
    pub(super) fn get(&self) -> Option<Span> {
        (self.rtt != Span::MAX).then_some(self.rtt)
    }

    /// Renews the minimum for a whole window, after ProbeRTT.
    pub(super) fn renew(&mut self, now: Time) {
        self.stamp = Some(now);
    }
}

/// Returns whether the receiver may have delayed this ACK, because it acknowledges a lone packet
/// smaller than a segment (Linux: `FLAG_ACK_MAYBE_DELAYED`).
fn maybe_delayed(conn: &Conn, ack: &Ack) -> bool {
    ack.newly_acked < conn.smss && ack.newest.delivered + ack.newly_acked == conn.delivered
}

/// Progress of ProbeRTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRttDwell {
    /// `probe_rtt_done_stamp`: set once the data in flight is small enough.
    done_at: Option<Time>,
    /// `probe_rtt_round_done`: whether a whole round has passed with the small amount of data in
    /// flight.
    round_done: bool,
}

/// Result of an ACK for the dwell in ProbeRTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DwellStep {
    /// No change.
    Wait,
    /// The data in flight has become small enough: the dwell time and a round begin now.
    Bottom,
    /// A round has passed; ProbeRTT ends when the dwell time has also passed.
    RoundDone,
}

impl ProbeRttDwell {
    /// Processes an ACK in ProbeRTT.
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

    /// Returns whether the dwell time has passed.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.done_at.is_some_and(|done_at| now > done_at)
    }
}

/// The ACKs on which bandwidth growth is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// The ACK that begins a round (v1, v2, the draft).
    AtRoundStart,
    /// Every ACK (Linux v3); rounds without growth are counted per round nevertheless.
    AtEveryAck,
}

/// Detector of a bandwidth plateau, which indicates a full pipe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Bandwidth at the last significant growth, in B/s: `full_bw`.
    pub(super) bw: f64,
    /// Rounds since that growth: `full_bw_cnt`.
    pub(super) count: u32,
    /// Whether the bandwidth has reached a plateau since the last reset: `full_bw_now`.
    pub(super) now: bool,
    /// Whether the bandwidth has ever reached a plateau: `full_bw_reached`.
    pub(super) reached: bool,
}

impl FullPipe {
    /// Takes a bandwidth sample that was not limited by the application. A value of at least
    /// `growth` times the last one is growth, and `rounds` without growth are a plateau. The usual
    /// number is three: one round for the receive window to grow, one for the sender to fill it,
    /// one for the higher rate to be measured.
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

    /// Restarts the search for a plateau: `bbr_reset_full_bw`.
    pub(super) fn reset(&mut self) {
        *self = FullPipe {
            reached: self.reached,
            ..FullPipe::default()
        };
    }

    /// Restarts the search for a plateau, with `bw` as the baseline for growth.
    pub(super) fn reset_to(&mut self, bw: f64) {
        *self = FullPipe {
            bw,
            reached: self.reached,
            ..FullPipe::default()
        };
    }
}

/// A filter of the maximum over the last rounds.
#[derive(Clone, Copy, Debug)]
enum Filter {
    /// Linux: maxima of the current half of the window and of the previous one; a sample therefore
    /// lasts for one to two halves.
    Halves { max: [f64; 2], rounds: u32 },
    /// The draft: a sliding window.
    Sliding { max: MaxFilter, round: u64 },
}

/// Inputs from one ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    /// Bytes newly acknowledged.
    pub(super) bytes: f64,
    /// The expected rate of acknowledgment, in B/s.
    pub(super) bw: f64,
    /// Congestion window in bytes, the upper limit of a sample.
    pub(super) cwnd: f64,
    /// Whether the ACK begins a round.
    pub(super) round_start: bool,
    /// Rounds for which a sample counts; with a window in two halves, up to twice as many.
    pub(super) window: u64,
    /// Bytes after which an epoch is too long to be meaningful: `bbr_ack_epoch_acked_reset_thresh`.
    pub(super) epoch_max: f64,
}

/// Estimator of ACK aggregation: the maximum data acknowledged in excess of bandwidth times time.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckAggregation {
    epoch_start: Time,
    /// Bytes acknowledged in the epoch.
    epoch_acked: f64,
    filter: Filter,
}

impl AckAggregation {
    /// `bbr_ack_epoch_acked_reset_thresh`, in segments.
    pub(super) const EPOCH_SEGMENTS: f64 = (1_u64 << 20) as f64;

    /// Creates an estimator with a window in two halves.
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

    /// Creates an estimator with a sliding window.
    pub(super) fn sliding() -> AckAggregation {
        AckAggregation {
            filter: Filter::Sliding {
                max: MaxFilter::new(1),
                round: 0,
            },
            ..AckAggregation::in_halves()
        }
    }

    /// Begins a new epoch after idle, when no ACKs were due.
    pub(super) fn restart(&mut self, now: Time) {
        self.epoch_start = now;
        self.epoch_acked = 0.0;
    }

    /// Processes an ACK.
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
        // ACKs that arrive no faster than expected end an epoch: they were not aggregated.
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

    /// Returns the maximum, in bytes.
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

    /// Acknowledges 1000 bytes per millisecond at 1 MB/s in rounds of 10 ms; the first round ends
    /// with a burst of ten segments and then a pause.
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
