//! How much more than expected is acknowledged at once: `bbr_update_ack_aggregation`,
//! draft-ietf-ccwg-bbr-06 §5.5.9.

use fullpipe_units::Time;

use crate::common::float::{greater, lesser};
use crate::common::max_filter::MaxFilter;

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
pub struct Acked {
    /// Bytes newly acknowledged.
    pub bytes: f64,
    /// The bandwidth at which ACKs are expected, B/s.
    pub bw: f64,
    /// No sample is larger than the window, bytes.
    pub cwnd: f64,
    /// The ACK begins a round.
    pub round_start: bool,
    /// How many rounds a sample counts, twice as many at most where the window has two halves.
    pub window: u64,
    /// Bytes after which an epoch is too long to mean anything: `bbr_ack_epoch_acked_reset_thresh`.
    pub epoch_max: f64,
}

/// The most data acknowledged beyond bandwidth times time.
#[derive(Clone, Copy, Debug)]
pub struct AckAggregation {
    epoch_start: Time,
    /// Bytes acknowledged in the epoch.
    epoch_acked: f64,
    filter: Filter,
}

impl AckAggregation {
    /// `bbr_ack_epoch_acked_reset_thresh`, segments.
    pub const EPOCH_SEGMENTS: f64 = (1_u64 << 20) as f64;

    /// Over a window in two halves.
    pub fn in_halves() -> AckAggregation {
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
    pub fn sliding() -> AckAggregation {
        AckAggregation {
            filter: Filter::Sliding {
                max: MaxFilter::new(1),
                round: 0,
            },
            ..AckAggregation::in_halves()
        }
    }

    /// Starts from idle: no ACKs were due.
    pub fn restart(&mut self, now: Time) {
        self.epoch_start = now;
        self.epoch_acked = 0.0;
    }

    /// Takes an ACK.
    #[inline]
    pub fn on_ack(&mut self, now: Time, acked: Acked) {
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
    pub fn extra_acked(&self) -> f64 {
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
    use fullpipe_units::Span;

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
}
