//! The values that a connection leaves to later ones between the same hosts (Linux: tcp_metrics.c).

use std::sync::{Arc, Mutex, PoisonError};

use fullpipe_units::{Span, Time};

/// Time after which the values are forgotten (Linux: TCP_METRICS_TIMEOUT).
const LIFETIME: Span = Span::from_secs(60 * 60);
/// Degree of reordering that every connection starts with, and the largest that is kept, in segments
/// (Linux: tcp_reordering, tcp_max_reordering).
const REORDERING: u64 = 3;
const MOST_REORDERING: u64 = 300;

/// The values that are kept (Linux: tcp_metrics_block).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metrics {
    /// Smoothed RTT; zero if unknown.
    pub(crate) rtt: Span,
    /// Slow-start threshold in segments; zero if unknown.
    pub(crate) ssthresh: u64,
    /// Degree of reordering in segments; zero if it was never above the usual one.
    pub(crate) reordering: u64,
    /// Time of the last change.
    changed: Time,
}

/// A sender at its end. Windows are in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    pub(crate) now: Time,
    pub(crate) srtt: Span,
    pub(crate) cwnd: u64,
    /// The slow-start threshold; `None` before the first congestion.
    pub(crate) ssthresh: Option<u64>,
    /// Whether no loss is being repaired and no mark answered.
    pub(crate) open: bool,
    /// Largest number of segments by which one was late.
    pub(crate) reordering: u64,
}

/// The cache that all connections between two hosts share.
#[derive(Clone, Debug, Default)]
pub struct MetricsCache {
    metrics: Arc<Mutex<Metrics>>,
    /// Whether slow-start thresholds are kept (Linux: tcp_no_ssthresh_metrics_save = 0).
    thresholds: bool,
}

impl MetricsCache {
    /// Returns the same cache for a connection that also uses and leaves a slow-start threshold.
    #[must_use]
    pub fn with_thresholds(&self) -> MetricsCache {
        MetricsCache {
            metrics: Arc::clone(&self.metrics),
            thresholds: true,
        }
    }

    /// Returns the values for a connection that is established at `now` (`tcp_init_metrics`).
    pub(crate) fn read(&self, now: Time) -> Metrics {
        let known = self.change(now, |_| ());
        Metrics {
            ssthresh: if self.thresholds { known.ssthresh } else { 0 },
            ..known
        }
    }

    /// Takes over the values of a connection that ends (`tcp_update_metrics`).
    pub(crate) fn write(&self, closing: &Closing) {
        self.change(closing.now, |metrics| {
            metrics.changed = closing.now;
            metrics.note_rtt(closing.srtt);
            if self.thresholds {
                metrics.note_threshold(closing);
            }
            if closing.is_limited() {
                metrics.note_reordering(closing.reordering);
            }
        });
    }

    fn change(&self, now: Time, change: impl FnOnce(&mut Metrics)) -> Metrics {
        // A run has one thread; another that panicked has left whole values.
        let mut metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        if now.since(metrics.changed) > LIFETIME {
            *metrics = Metrics::default();
        }
        change(&mut metrics);
        *metrics
    }
}

impl Metrics {
    /// A longer RTT counts at once, a shorter one with a weight of 1/8.
    fn note_rtt(&mut self, srtt: Span) {
        self.rtt = match self.rtt.saturating_sub(srtt) {
            Span::ZERO => srtt,
            shorter => self.rtt - shorter / 8,
        };
    }

    fn note_threshold(&mut self, closing: &Closing) {
        let half = closing.cwnd / 2;
        match closing.ssthresh {
            // Slow start has not ended: a known threshold can only rise.
            None if self.ssthresh > 0 => self.ssthresh = self.ssthresh.max(half),
            None => {}
            Some(ssthresh) if closing.grows_beyond(ssthresh) => self.ssthresh = half.max(ssthresh),
            Some(ssthresh) if self.ssthresh > 0 => self.ssthresh = self.ssthresh.max(ssthresh),
            Some(_) => {}
        }
    }

    fn note_reordering(&mut self, degree: u64) {
        if degree > REORDERING {
            self.reordering = self.reordering.max(degree.min(MOST_REORDERING));
        }
    }
}

impl Closing {
    /// Returns whether the window grows in congestion avoidance.
    fn grows_beyond(&self, ssthresh: u64) -> bool {
        self.cwnd > ssthresh && self.open
    }

    /// Returns whether the connection ends in slow start after congestion, or in recovery: only
    /// then is the degree of reordering kept.
    fn is_limited(&self) -> bool {
        self.ssthresh
            .is_some_and(|ssthresh| !self.grows_beyond(ssthresh))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Time = Time::from_nanos(1_000_000_000);

    fn closing(cwnd: u64, ssthresh: Option<u64>) -> Closing {
        Closing {
            now: AT,
            srtt: Span::from_millis(80),
            cwnd,
            ssthresh,
            open: true,
            reordering: 0,
        }
    }

    #[test]
    fn the_rtt_rises_at_once_and_falls_by_an_eighth() {
        let cache = MetricsCache::default();
        let after = |srtt| {
            let srtt = Span::from_millis(srtt);
            cache.write(&Closing {
                srtt,
                ..closing(10, None)
            });
            cache.read(AT).rtt
        };
        assert_eq!(after(80), Span::from_millis(80));
        assert_eq!(after(120), Span::from_millis(120));
        assert_eq!(after(40), Span::from_millis(110));
        let late = AT + LIFETIME + Span::from_nanos(1);
        assert_eq!(cache.read(AT + LIFETIME).rtt, Span::from_millis(110));
        assert_eq!(cache.read(late), Metrics::default(), "after an hour");
    }

    #[test]
    fn thresholds_follow_the_phase_in_which_the_connection_ends() {
        let cache = MetricsCache::default().with_thresholds();
        let after = |closing: Closing| {
            cache.write(&closing);
            cache.read(AT).ssthresh
        };
        assert_eq!(after(closing(100, None)), 0, "nothing known, nothing kept");
        assert_eq!(after(closing(20, Some(30))), 0, "slow start again");
        assert_eq!(after(closing(50, Some(30))), 30, "congestion avoidance");
        assert_eq!(after(closing(50, Some(20))), 25, "half of the window");
        assert_eq!(after(closing(40, None)), 25);
        assert_eq!(after(closing(60, None)), 30, "only higher");
        let repairing = Closing {
            open: false,
            ..closing(50, Some(28))
        };
        assert_eq!(after(repairing), 30);
        let plain = MetricsCache {
            thresholds: false,
            ..cache.clone()
        };
        assert_eq!(plain.read(AT).ssthresh, 0, "tcp_no_ssthresh_metrics_save");
    }

    #[test]
    fn reordering_is_kept_outside_congestion_avoidance() {
        let cache = MetricsCache::default();
        let after = |ssthresh, reordering| {
            cache.write(&Closing {
                reordering,
                ..closing(20, ssthresh)
            });
            cache.read(AT).reordering
        };
        assert_eq!(after(Some(30), 3), 0, "the usual degree");
        assert_eq!(after(None, 9), 0);
        assert_eq!(after(Some(10), 9), 0);
        assert_eq!(after(Some(30), 9), 9);
        assert_eq!(after(Some(30), 5), 9);
        assert_eq!(after(Some(30), 999), 300);
    }
}
