//! Window growth per ACK in congestion avoidance, by RFC 9438 and by Linux.

use fullpipe_units::Time;

use super::descriptor::{CubicProfile, Params};
use super::epoch::{Epoch, seconds};
use crate::Conn;

/// The rules of congestion avoidance, which are constant for a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowFunction {
    pub profile: CubicProfile,
    pub c: f64,
    pub beta: f64,
    pub fast_convergence: bool,
    /// Slope of the Reno-friendly window, in segments per window.
    alpha: f64,
}

impl WindowFunction {
    pub(super) fn new(params: &Params) -> WindowFunction {
        let Params {
            profile,
            c,
            beta,
            fast_convergence,
            ..
        } = *params;
        // RFC 9438 §4.3: the slope that gives AIMD(alpha, beta) the average of AIMD(1, 1/2).
        let slope = 3.0 * (1.0 - beta) / (1.0 + beta);
        let alpha = match profile {
            CubicProfile::Rfc9438 => slope,
            // Linux rounds the reciprocal down to an eighth: `beta_scale`, 15/8 by default.
            CubicProfile::Linux => 8.0 / f64::from((8.0 / slope) as u32),
        };
        WindowFunction {
            profile,
            c,
            beta,
            fast_convergence,
            alpha,
        }
    }

    /// Returns W_max after congestion at window `cwnd`.
    pub(super) fn w_max_after(&self, cwnd: f64, w_max: f64) -> f64 {
        // RFC 9438 §4.7: below the last maximum, release bandwidth to other flows.
        if self.fast_convergence && cwnd < w_max {
            self.whole(cwnd * (1.0 + self.beta) * 0.5)
        } else {
            cwnd
        }
    }

    /// Rounds down to whole segments for Linux, which counts windows in them. This matters for
    /// comparisons: losses at 214.5 and 214.4 segments are at the same window in Linux, and don't
    /// trigger fast convergence.
    pub(super) fn whole(&self, segments: f64) -> f64 {
        match self.profile {
            CubicProfile::Rfc9438 => segments,
            // Windows converted from bytes may be slightly below their exact value.
            CubicProfile::Linux => (segments + 1e-6) as i64 as f64,
        }
    }

    /// Returns the window after `acked` more segments.
    #[inline]
    pub(super) fn grow(
        &self,
        epoch: &mut Epoch,
        now: Time,
        conn: &Conn,
        acked: f64,
        before: &Before,
    ) -> f64 {
        // The only division per ACK.
        let share = acked / before.cwnd;
        match self.profile {
            CubicProfile::Rfc9438 => {
                self.grow_rfc9438(epoch, epoch.age(now), seconds(conn.srtt), share, before)
            }
            CubicProfile::Linux => {
                self.grow_linux(epoch, epoch.age(now), seconds(conn.min_rtt), share, before)
            }
        }
    }

    #[inline]
    fn grow_rfc9438(
        &self,
        epoch: &mut Epoch,
        t: f64,
        rtt: f64,
        share: f64,
        before: &Before,
    ) -> f64 {
        let cwnd = before.cwnd;
        // §4.3, figure 4; alpha is 1 once W_est has reached the window before the congestion.
        epoch.w_est += if epoch.w_est < before.cwnd_prior {
            self.alpha * share
        } else {
            share
        };
        if epoch.w_cubic(t) < epoch.w_est {
            // §4.3; an ACK never reduces the window, although rounding may leave W_est slightly
            // below it.
            return cwnd.max(epoch.w_est);
        }
        // §4.2: growth by at most half a window per RTT. §4.4 and §4.5: concave and convex growth.
        let target = epoch.w_cubic(t + rtt).clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) * share
    }

    /// Linux computes `cnt`, the number of ACKs per additional segment; this function computes
    /// `cwnd / cnt`, the number of additional segments per window of ACKs.
    #[inline]
    fn grow_linux(
        &self,
        epoch: &mut Epoch,
        t: f64,
        delay_min: f64,
        share: f64,
        before: &Before,
    ) -> f64 {
        let cwnd = self.whole(before.cwnd);
        // Linux looks ahead by the minimum RTT, and always grows at least a little: cnt = 100 cwnd.
        // It rounds down the distance of the cubic function from its plateau, so the plateau begins
        // early: 1.4 s before K.
        let target = epoch.origin - self.whole(epoch.origin - epoch.w_cubic(t + delay_min));
        let mut increase = (target - cwnd).max(0.01);
        if before.w_max == 0.0 {
            // No congestion since the start or a timeout: cnt <= 20, which is at least 5 % per RTT.
            increase = increase.max(cwnd * 0.05);
        }
        // The slope remains alpha where RFC 9438 §4.3 changes it to 1, and the window follows W_est
        // with a delay of one RTT.
        epoch.w_est += self.alpha * share;
        increase = increase.max(self.whole(epoch.w_est) - cwnd);
        // cnt >= 2.
        before.cwnd + increase.min(0.5 * cwnd) * share
    }
}

/// Inputs of the function other than the epoch. Windows in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    /// The window before this ACK.
    pub cwnd: f64,
    /// The window before the last congestion: `cwnd_prior`.
    pub cwnd_prior: f64,
    /// W_max; zero before the first congestion and after a timeout.
    pub w_max: f64,
}
