//! Delivery-rate samples joined until they cover a minimum time, as in a user-space transport.

use fullpipe_cc::RateSample;
use fullpipe_units::{Bytes, Rate, Span, Time};

/// Gives one rate sample per `least` time; in between it repeats the last one (picoquic:
/// picoquic_estimate_path_bandwidth).
#[derive(Debug)]
pub struct RateAggregator {
    least: Span,
    /// State at the last sample: sending time of the newest acknowledged segment, arrival time of
    /// its ACK, and bytes delivered.
    since: Option<(Time, Time, Bytes)>,
    last: Option<Rate>,
}

impl RateAggregator {
    /// Creates an aggregator without samples. With a `least` of zero, each sample is used as it is.
    pub fn new(least: Span) -> RateAggregator {
        RateAggregator {
            least,
            since: None,
            last: None,
        }
    }

    /// Returns the joined sample for an ACK that arrives at `now`, of a segment sent at `sent`,
    /// with `delivered` bytes in total; `sample` is the ACK's own sample.
    pub fn join(
        &mut self,
        now: Time,
        sent: Time,
        delivered: Bytes,
        sample: RateSample,
    ) -> RateSample {
        let Some((sent_then, then, delivered_then)) = self.since else {
            self.since = Some((sent, now, delivered));
            return sample;
        };
        let rate = if sample.interval >= self.least {
            sample.rate
        } else if now - then > self.least {
            let interval = (now - then).max(sent.since(sent_then));
            Some(Rate::from_delivery(delivered - delivered_then, interval))
        } else {
            return RateSample {
                rate: self.last.or(sample.rate),
                ..sample
            };
        };
        self.since = Some((sent, now, delivered));
        self.last = rate;
        RateSample { rate, ..sample }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_covers_the_least_time_and_is_repeated_until_the_next() {
        let at = |us: u64| Time::ZERO + Span::from_micros(us);
        let own = |us: u64| RateSample {
            rate: Some(Rate::from_mbps(1)),
            interval: Span::from_micros(us),
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            delivered_ce: Bytes::ZERO,
            app_limited: false,
        };
        let mut joined = RateAggregator::new(Span::from_millis(1));
        let mut rate = |now: u64, kb: u64, interval: u64| {
            joined
                .join(at(now), at(now - 50), Bytes::new(kb * 1_000), own(interval))
                .rate
                .expect("a rate")
                .as_bps()
        };
        assert_eq!(
            rate(100, 10, 50),
            1_000_000,
            "the first samples are used as they are"
        );
        assert_eq!(rate(600, 60, 50), 1_000_000);
        assert_eq!(rate(1_350, 135, 50), 800_000_000, "125 kB in 1.25 ms");
        assert_eq!(rate(1_400, 500, 50), 800_000_000, "repeated");
        assert_eq!(
            rate(1_500, 900, 2_000),
            1_000_000,
            "a sample that covers more time is used as it is"
        );
    }
}
