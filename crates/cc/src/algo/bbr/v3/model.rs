//! The model of the path: bandwidth, RTT, and their product.

use fullpipe_units::{Bytes, Span, Time};

use super::Bbr;
use super::rules::Flight;
use crate::algo::bbr::{greater, lesser};
use crate::{Ack, Conn, Context};

/// Longest window of the bandwidth filter, in cycles.
pub(super) const MAX_CYCLES: usize = 4;

/// `BBR.max_bw`: the maximum over the current cycle of ProbeBW and previous ones (§5.5.5, §5.5.6).
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxBw {
    /// In B/s, beginning with the current cycle.
    cycles: [f64; MAX_CYCLES],
    len: u8,
    max: f64,
}

impl MaxBw {
    pub(super) fn new(cycles: usize) -> MaxBw {
        MaxBw {
            cycles: [0.0; MAX_CYCLES],
            len: cycles.clamp(1, MAX_CYCLES) as u8,
            max: 0.0,
        }
    }

    #[inline]
    pub(super) fn max(&self) -> f64 {
        self.max
    }

    #[inline]
    pub(super) fn take(&mut self, bw: f64) {
        self.cycles[0] = greater(self.cycles[0], bw);
        self.max = greater(self.max, bw);
    }

    /// `AdvanceMaxBwFilter`. A cycle without a sample does not count: an estimate must remain.
    pub(super) fn advance(&mut self) {
        if self.cycles[0] == 0.0 {
            return;
        }
        let len = usize::from(self.len);
        self.cycles.copy_within(0..len - 1, 1);
        if len > 1 {
            self.cycles[0] = 0.0;
        }
        self.max = self.cycles[..len].iter().copied().fold(0.0, f64::max);
    }
}

/// Times at which the filters that count cycles and rounds last advanced: `filter_time` sets a
/// minimum between two advances.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filters {
    max_bw: Time,
    extra_acked: Time,
}

impl Bbr {
    /// Returns whether the bandwidth filter may advance by a cycle.
    pub(super) fn is_time_to_forget_bw(&mut self, now: Time) -> bool {
        is_time(&mut self.filters.max_bw, now, self.params.filter_time)
    }

    /// Returns whether the ACK-aggregation filter may advance by a round.
    #[inline]
    pub(super) fn is_time_to_forget_bursts(&mut self, now: Time) -> bool {
        is_time(
            &mut self.filters.extra_acked,
            now,
            self.params.filter_time / self.params.extra_acked_window,
        )
    }

    /// `BBR.bw` (BoundBWForModel).
    #[inline]
    pub(super) fn bw(&self) -> f64 {
        lesser(
            self.max_bw.max(),
            self.bounds.bw_shortterm.unwrap_or(f64::INFINITY),
        )
    }

    /// Returns the data that `bw` delivers in `span`, in bytes.
    #[inline]
    pub(super) fn bytes_in(bw: f64, span: Span) -> f64 {
        bw * (span.as_nanos() as f64 * 1e-9)
    }

    /// UpdateRound (§5.5.1), `bbr_update_round_start`; also sets the ACK's bandwidth sample.
    #[inline]
    pub(super) fn update_round(&mut self, conn: &Conn, ack: &Ack) {
        self.sample_bw = ack.rate.rate.map_or(0.0, |rate| rate.as_f64() * 0.125);
        self.core.round_start =
            self.is_valid(ack) && self.core.round.on_ack(ack.newest.delivered, conn.delivered);
        if self.core.round_start {
            self.probe.rounds_since_up = self.probe.rounds_since_up.saturating_add(1);
        }
    }

    /// Returns whether the ACK has valid information on rates and rounds.
    #[inline]
    pub(super) fn is_valid(&self, ack: &Ack) -> bool {
        ack.rate.rate.is_some() || !self.rules.rounds_need_interval
    }

    /// UpdateMaxBw (§5.5.5): an application-limited sample counts only if it is not below the
    /// current estimate.
    #[inline]
    pub(super) fn update_max_bw(&mut self, ack: &Ack) {
        if self.sample_bw > 0.0 && (self.sample_bw >= self.max_bw.max() || !ack.rate.app_limited) {
            self.max_bw.take(self.sample_bw);
        }
    }

    /// BDPMultiple (§5.6.4.2), `bbr_bdp`.
    #[inline]
    pub(super) fn bdp(&self, conn: &Conn, bw: f64, gain: f64) -> f64 {
        if self.core.min_rtt.rtt == Span::MAX {
            return conn.initial_cwnd.as_f64();
        }
        let bytes = Self::bytes_in(bw, self.core.min_rtt.rtt) * gain;
        if self.rules.whole_segments {
            self.core.segment.round_up(bytes)
        } else {
            bytes
        }
    }

    /// Inflight (§5.6.4.2), `bbr_inflight`.
    #[inline]
    pub(super) fn inflight(&self, conn: &Conn, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(conn, self.bdp(conn, bw, gain))
    }

    /// Returns the BDP from which bounds are derived.
    #[inline]
    fn bounding_bdp(&self, conn: &Conn, bw: f64) -> f64 {
        if self.rules.bounds_hold_quanta {
            self.inflight(conn, bw, 1.0)
        } else {
            self.bdp(conn, bw, 1.0)
        }
    }

    /// Returns the bound that Startup leaves when it ends by loss: the BDP (§5.3.1.3),
    /// `bbr_handle_queue_too_high_in_startup`.
    pub(super) fn startup_bound(&self, conn: &Conn) -> Bytes {
        let bw = if self.rules.drain_by_max_bw {
            self.max_bw.max()
        } else {
            self.bw()
        };
        Bytes::from_f64(self.bounding_bdp(conn, bw))
    }

    /// TargetInflight (§5.3.3.8): the BDP, or the window if congestion has made it smaller.
    #[inline]
    pub(super) fn target_inflight(&self, conn: &Conn) -> f64 {
        lesser(
            self.bounding_bdp(conn, self.bw()),
            self.core.window.cwnd.as_f64(),
        )
    }

    /// Returns the inflight at which the queue counts as drained: the BDP.
    #[inline]
    pub(super) fn drained(&self, conn: &Conn) -> f64 {
        let bw = if self.rules.drain_by_max_bw {
            self.max_bw.max()
        } else {
            self.bw()
        };
        self.inflight(conn, bw, 1.0)
    }

    /// Returns the data in flight, as the state machine sees it: now (the draft), or when the pacer
    /// releases the next burst (`bbr_packets_in_net_at_edt`); that burst is included only while
    /// probing (gain above 1).
    #[inline]
    pub(super) fn flight(&self, cx: &Context<'_>, linux: Bytes) -> f64 {
        match self.rules.flight {
            Flight::Now => cx.conn.inflight.as_f64(),
            Flight::AtNextDeparture => {
                let departing = if self.core.pacing_gain > 1.0 {
                    self.core.pacing.quantum
                } else {
                    Bytes::ZERO
                };
                let delivered = Self::bytes_in(self.bw(), cx.conn.next_departure.since(cx.now));
                greater(
                    (linux + departing).as_f64() - self.core.segment.round_down(delivered),
                    0.0,
                )
            }
        }
    }
}

#[inline]
fn is_time(moved: &mut Time, now: Time, least: Span) -> bool {
    let due = now.since(*moved) >= least;
    if due {
        *moved = now;
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bandwidth_lasts_for_this_cycle_and_the_next() {
        let mut filter = MaxBw::new(2);
        filter.take(100.0);
        filter.advance();
        filter.take(50.0);
        assert_eq!(filter.max(), 100.0);
        filter.advance();
        assert_eq!(filter.max(), 50.0);
    }

    #[test]
    fn a_cycle_without_a_sample_doesnt_count() {
        let mut filter = MaxBw::new(2);
        filter.take(100.0);
        for _ in 0..5 {
            filter.advance();
        }
        assert_eq!(filter.max(), 100.0);
    }
}
