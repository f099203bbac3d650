//! A congestion-avoidance stage: the cubic function and its clock.

use fullpipe_units::{Span, Time};

/// One stage of congestion avoidance, with windows in segments and times in seconds, the units of
/// RFC 9438 §4.1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    /// `epoch_start`, postponed by the time that does not count.
    pub start: Time,
    /// The plateau: W_max, or the window at the start of the epoch if it is above W_max.
    pub origin: f64,
    /// K.
    pub k: f64,
    /// W_est.
    pub w_est: f64,
    /// C.
    pub c: f64,
}

impl Epoch {
    /// Begins a stage now at window `cwnd` (`cwnd_epoch`), with the plateau at `w_max`.
    pub(super) fn begin(now: Time, c: f64, cwnd: f64, w_max: f64) -> Epoch {
        // RFC 9438 §4.2, figure 2. K = 0 and W_max = cwnd if the previous maximum is not above the
        // window (§4.8, §4.10).
        let origin = w_max.max(cwnd);
        Epoch {
            start: now,
            origin,
            k: libm::cbrt((origin - cwnd) / c),
            w_est: cwnd,
            c,
        }
    }

    /// t.
    #[inline]
    pub(super) fn age(&self, now: Time) -> f64 {
        seconds(now.since(self.start))
    }

    /// W_cubic(t): RFC 9438 §4.2, figure 1.
    #[inline]
    pub(super) fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        self.c * (d * d * d) + self.origin
    }

    /// Excludes `gap` from the age of the stage.
    pub(super) fn exclude(&mut self, gap: Span, now: Time) {
        self.start = (self.start + gap).min(now);
    }
}

/// Converts to seconds by multiplication: a division would make this step of each ACK several times
/// as expensive.
#[inline]
pub(super) fn seconds(span: Span) -> f64 {
    span.as_nanos_f64() * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_loss(w_max: f64) -> Epoch {
        Epoch::begin(Time::ZERO, 0.4, 0.7 * w_max, w_max)
    }

    #[test]
    fn reference_numbers_of_the_cubic_function() {
        let epoch = after_loss(100.0);
        assert!((epoch.k - 4.217).abs() < 5e-4);
        for (t, window) in [
            (0.0, 70.0),
            (1.0, 86.68),
            (epoch.k, 100.0),
            (epoch.k + 1.0, 100.4),
            (2.0 * epoch.k, 130.0),
        ] {
            assert!(
                (epoch.w_cubic(t) - window).abs() < 5e-3,
                "W({t}) = {}",
                epoch.w_cubic(t)
            );
        }
    }

    #[test]
    fn reference_numbers_of_k() {
        for (w_max, k, tolerance) in [
            (417.0, 6.788, 5e-4),
            (833.0, 8.549, 5e-4),
            (8333.0, 18.42, 5e-3),
        ] {
            assert!(
                (after_loss(w_max).k - k).abs() < tolerance,
                "K({w_max}) = {}",
                after_loss(w_max).k
            );
        }
    }

    #[test]
    fn a_window_above_the_last_maximum_is_a_plateau_of_its_own() {
        let epoch = Epoch::begin(Time::ZERO, 0.4, 120.0, 100.0);
        assert_eq!((epoch.k, epoch.origin), (0.0, 120.0));
    }

    #[test]
    fn excluded_time_never_makes_an_epoch_begin_in_the_future() {
        let mut epoch = after_loss(100.0);
        epoch.exclude(Span::from_secs(5), Time::from_nanos(1_000));
        assert_eq!(epoch.age(Time::from_nanos(1_000)), 0.0);
    }
}
