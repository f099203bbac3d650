//! Linux's arithmetic: whole segments, ACKs counted toward the next segment, times in ticks.

use fullpipe_units::{Span, Time};

use super::epoch::Epoch;

/// Linux's ticks per second, `HZ`.
const HZ: u64 = 1_000;
/// Units per second of K and of the epoch's age, 2^`BICTCP_HZ`.
const PER_SECOND: u64 = 1 << 10;
/// Denominator of C and beta, `BICTCP_BETA_SCALE`.
const SCALE: u64 = 1 << 10;
/// Least time between two evaluations at the same window.
const LEAST_TICKS: u64 = HZ / 32;
/// Age of an epoch until which RTT samples do not count: the queue is from before the reduction.
const UNRELIABLE: Span = Span::from_secs(1);

/// The constants and counters of `struct bictcp`. Windows are in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bictcp {
    /// C times 1024: `cube_rtt_scale`.
    c: u64,
    /// beta times 1024.
    beta: u64,
    /// Acknowledged segments per segment of the Reno-friendly window, times 8: `beta_scale`.
    friendly: u64,
    /// Acknowledged segments per additional segment of the window.
    cnt: u64,
    /// Window and tick of the last evaluation.
    last: (u64, u64),
    /// Acknowledged segments that count toward the next segment of the Reno-friendly window.
    ack_cnt: u64,
    /// Acknowledged segments that count toward the next segment of the window: `snd_cwnd_cnt`.
    cwnd_cnt: u64,
    /// Minimum RTT; `None` before the first sample and after a timeout.
    delay_min: Option<Span>,
}

impl Bictcp {
    pub(super) fn new(c: f64, beta: f64) -> Bictcp {
        let beta = scaled(beta);
        Bictcp {
            c: scaled(c).max(1),
            beta,
            friendly: 8 * (SCALE + beta) / 3 / (SCALE - beta),
            cnt: 0,
            last: (0, 0),
            ack_cnt: 0,
            cwnd_cnt: 0,
            delay_min: None,
        }
    }

    /// Processes an RTT sample (Linux: cubictcp_acked).
    #[inline]
    pub(super) fn on_rtt(&mut self, rtt: Span, epoch: Option<&Epoch>, now: Time) {
        if epoch.is_none_or(|epoch| now.since(epoch.start) >= UNRELIABLE) {
            self.delay_min = Some(self.delay_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// Returns W_max and the window after congestion at window `cwnd`, if `beta` remains (Linux:
    /// cubictcp_recalc_ssthresh).
    pub(super) fn reduced(
        &mut self,
        cwnd: u64,
        w_max: f64,
        beta: f64,
        fast_convergence: bool,
    ) -> (f64, f64) {
        self.cwnd_cnt = 0;
        let w_max = if fast_convergence && (cwnd as f64) < w_max {
            cwnd * (SCALE + self.beta) / (2 * SCALE)
        } else {
            cwnd
        };
        (w_max as f64, (cwnd * scaled(beta) / SCALE) as f64)
    }

    /// Forgets everything after a timeout (Linux: bictcp_reset).
    pub(super) fn reset(&mut self) {
        *self = Bictcp {
            cnt: 0,
            last: (0, 0),
            ack_cnt: 0,
            cwnd_cnt: 0,
            delay_min: None,
            ..*self
        };
    }

    /// Returns the window after `acked` more segments (Linux: tcp_cong_avoid_ai).
    #[inline]
    pub(super) fn grow(
        &mut self,
        epoch: &mut Option<Epoch>,
        now: Time,
        mut cwnd: u64,
        w_max: u64,
        acked: u64,
    ) -> u64 {
        self.update(epoch, ticks(now), cwnd, w_max, acked);
        // More was counted than the slope now requires.
        if self.cwnd_cnt >= self.cnt {
            self.cwnd_cnt = 0;
            cwnd += 1;
        }
        self.cwnd_cnt += acked;
        cwnd += self.cwnd_cnt / self.cnt;
        self.cwnd_cnt %= self.cnt;
        cwnd
    }

    /// Updates the slope (Linux: bictcp_update).
    #[inline]
    fn update(&mut self, epoch: &mut Option<Epoch>, tick: u64, cwnd: u64, w_max: u64, acked: u64) {
        self.ack_cnt += acked;
        if self.last.0 == cwnd && tick - self.last.1 <= LEAST_TICKS {
            return;
        }
        let known = epoch.is_some();
        let epoch = epoch.get_or_insert_with(|| self.begin(tick, cwnd, w_max));
        if !known {
            self.ack_cnt = acked;
        }
        if !(known && tick == self.last.1) {
            self.last = (cwnd, tick);
            self.cnt = self.slope(epoch, tick, cwnd, w_max);
        }
        let per_segment = cwnd * self.friendly / 8;
        while self.ack_cnt > per_segment {
            self.ack_cnt -= per_segment;
            epoch.w_est += 1.0;
        }
        let friendly = epoch.w_est as u64;
        if friendly > cwnd {
            self.cnt = self.cnt.min(cwnd / (friendly - cwnd));
        }
        // At most one segment for two that are acknowledged.
        self.cnt = self.cnt.max(2);
    }

    fn begin(&self, tick: u64, cwnd: u64, w_max: u64) -> Epoch {
        // K = cbrt((W_max - cwnd) / C), in units of 1/1024 s.
        let below = u128::from(w_max.saturating_sub(cwnd));
        let k = cube_root(below * ((1 << 40) / u128::from(self.c)));
        Epoch {
            start: Time::ZERO + Span::from_millis(tick * 1_000 / HZ),
            origin: w_max.max(cwnd) as f64,
            k: k as f64 / PER_SECOND as f64,
            w_est: cwnd as f64,
            c: self.c as f64 / SCALE as f64,
        }
    }

    /// Returns the acknowledged segments per additional segment, by the cubic function.
    fn slope(&self, epoch: &Epoch, tick: u64, cwnd: u64, w_max: u64) -> u64 {
        let ahead = self
            .delay_min
            .map_or(0, |delay| delay.as_nanos().div_ceil(1_000_000_000 / HZ));
        let t = (tick - ticks(epoch.start) + ahead) * PER_SECOND / HZ;
        let k = (epoch.k * PER_SECOND as f64) as u64;
        let distance = u128::from(t.abs_diff(k));
        let delta = (u128::from(self.c) * distance * distance * distance) >> 40;
        let (origin, delta) = (
            epoch.origin as u64,
            u64::try_from(delta).unwrap_or(u64::MAX),
        );
        let target = if t < k {
            origin.saturating_sub(delta)
        } else {
            origin.saturating_add(delta)
        };
        let cnt = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        // Before any loss, at least 5 % a round.
        if w_max == 0 { cnt.min(20) } else { cnt }
    }
}

fn scaled(value: f64) -> u64 {
    (value * SCALE as f64 + 0.5) as u64
}

/// Returns Linux's clock.
pub(super) fn ticks(time: Time) -> u64 {
    time.as_nanos() / (1_000_000_000 / HZ)
}

/// Returns the cube root, rounded down.
fn cube_root(value: u128) -> u64 {
    let mut root = libm::cbrt(value as f64) as u64;
    let cube = |root: u64| u128::from(root) * u128::from(root) * u128::from(root);
    while cube(root) > value {
        root -= 1;
    }
    while cube(root + 1) <= value {
        root += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_those_of_the_kernel() {
        let linux = Bictcp::new(0.4, 0.7);
        assert_eq!((linux.c, linux.beta, linux.friendly), (410, 717, 15));
    }

    #[test]
    fn cube_roots_are_rounded_down() {
        for (value, root) in [(0, 0), (7, 1), (8, 2), (26, 2), (27, 3), (1 << 60, 1 << 20)] {
            assert_eq!(cube_root(value), root);
        }
    }
}
