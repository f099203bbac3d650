//! Window growth per ACK in congestion avoidance, by RFC 9438.

use fullpipe_units::Time;

use super::descriptor::Params;
use super::epoch::{Epoch, seconds};
use crate::Conn;

/// The rules of congestion avoidance, which are constant for a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowFunction {
    pub c: f64,
    pub beta: f64,
    pub fast_convergence: bool,
    /// Slope of the Reno-friendly window, in segments per window.
    alpha: f64,
}

impl WindowFunction {
    pub(super) fn new(params: &Params) -> WindowFunction {
        let Params {
            c,
            beta,
            fast_convergence,
            ..
        } = *params;
        // RFC 9438 §4.3: the slope that gives AIMD(alpha, beta) the average of AIMD(1, 1/2).
        let alpha = 3.0 * (1.0 - beta) / (1.0 + beta);
        WindowFunction {
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
            cwnd * (1.0 + self.beta) * 0.5
        } else {
            cwnd
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
        self.grow_at(epoch, epoch.age(now), seconds(conn.srtt), share, before)
    }

    #[inline]
    fn grow_at(&self, epoch: &mut Epoch, t: f64, rtt: f64, share: f64, before: &Before) -> f64 {
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
}

/// Inputs of the function other than the epoch. Windows in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    /// The window before this ACK.
    pub cwnd: f64,
    /// The window before the last congestion: `cwnd_prior`.
    pub cwnd_prior: f64,
}
