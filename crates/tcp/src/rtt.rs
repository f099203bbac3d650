//! Round-trip times and the retransmission timeout (RFC 6298, with Linux's minimum).

use fullpipe_units::Span;

/// Timeout before the first sample (RFC 6298 §2.1).
const INITIAL_RTO: Span = Span::from_secs(1);
/// Linux's TCP_RTO_MIN. RFC 6298 §2.4 requires a minimum RTO of one second. Here a minimum variance
/// replaces the far smaller clock granularity G of §2.3: RTO = srtt + max(200 ms, 4·rttvar).
const MIN_VARIANCE: Span = Span::from_millis(200);
/// Linux's TCP_RTO_MAX.
const MAX_RTO: Span = Span::from_secs(120);

/// Smoothed RTT, its variation, and the resulting timeout.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    pub(crate) srtt: Span,
    rttvar: Span,
    pub(crate) min: Span,
    rto: Span,
    backoff: u32,
}

impl RttEstimator {
    pub(crate) fn new() -> RttEstimator {
        RttEstimator {
            srtt: Span::ZERO,
            rttvar: Span::ZERO,
            min: Span::MAX,
            rto: INITIAL_RTO,
            backoff: 0,
        }
    }

    /// Adds a sample of a segment that was sent once (Karn's algorithm, RFC 6298 §3).
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Span) {
        self.min = self.min.min(rtt);
        if self.srtt == Span::ZERO {
            // RFC 6298 §2.2
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            // RFC 6298 §2.3: the variation first, with the old srtt.
            let (rtt, srtt) = (rtt.as_nanos(), self.srtt.as_nanos());
            self.rttvar = Span::from_nanos((3 * self.rttvar.as_nanos() + srtt.abs_diff(rtt)) / 4);
            self.srtt = Span::from_nanos((7 * srtt + rtt) / 8);
        }
        self.rto = (self.srtt + (self.rttvar * 4).max(MIN_VARIANCE)).min(MAX_RTO);
        self.backoff = 0;
    }

    /// Sets the timeout before the first sample of data by the RTT of an earlier connection, if that
    /// is longer than the handshake's (Linux: tcp_init_metrics).
    pub(crate) fn inherit(&mut self, earlier: Span) {
        if earlier > self.srtt {
            self.rto = (earlier + (earlier * 2).max(MIN_VARIANCE)).min(MAX_RTO);
        }
    }

    /// Updates only the minimum, with an RTT that must not enter the average, such as that of a
    /// SACK.
    #[inline]
    pub(crate) fn sample_min(&mut self, rtt: Span) {
        self.min = self.min.min(rtt);
    }

    /// Returns the retransmission timeout with its backoff (RFC 6298 §5.5).
    #[inline]
    pub(crate) fn rto(&self) -> Span {
        if self.backoff == 0 {
            self.rto
        } else {
            (self.rto * (1 << self.backoff)).min(MAX_RTO)
        }
    }

    /// Returns RTTVAR (RFC 6298 §2).
    pub(crate) fn variation(&self) -> Span {
        self.rttvar
    }

    /// Doubles the timeout after the timer fired.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_rfc_6298() {
        let ms = Span::from_millis;
        let mut rtt = RttEstimator::new();
        assert_eq!(rtt.rto(), ms(1_000));
        rtt.sample(ms(100));
        assert_eq!(
            (rtt.srtt, rtt.rttvar, rtt.rto()),
            (ms(100), ms(50), ms(300))
        );
        rtt.sample(ms(100));
        assert_eq!((rtt.srtt, rtt.rttvar), (ms(100), Span::from_micros(37_500)));
        assert_eq!(rtt.rto(), ms(300), "Linux's floor of 200 ms for 4 rttvar");
        rtt.sample(ms(500));
        assert_eq!(rtt.srtt, ms(150));
        assert_eq!(rtt.rttvar, Span::from_micros(128_125));
        assert_eq!(rtt.rto(), Span::from_micros(150_000 + 512_500));
    }

    #[test]
    fn backs_off_exponentially_to_two_minutes() {
        let mut rtt = RttEstimator::new();
        rtt.sample(Span::from_millis(100));
        let seen: Vec<u64> = (0..12)
            .map(|_| {
                let rto = rtt.rto().as_nanos() / 1_000_000;
                rtt.back_off();
                rto
            })
            .collect();
        assert_eq!(seen[..5], [300, 600, 1_200, 2_400, 4_800]);
        assert_eq!(seen[11], 120_000);
        rtt.sample(Span::from_millis(100));
        assert_eq!(
            rtt.rto(),
            Span::from_millis(300),
            "RFC 6298 §5.7: a sample ends the backoff"
        );
    }
}
