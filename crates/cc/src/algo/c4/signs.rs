//! The signs of congestion: delay, losses and marks (§5).

use fullpipe_units::{Bytes, Span};

use super::declared::Params;
use super::nominal::Nominal;

/// §5.3, §5.4: weight of the latest packet in the smoothed loss rate, and of the latest ACK in
/// `ecn_alpha`.
const GAIN: f64 = 1.0 / 16.0;
/// §5.2: limit of the delay threshold.
const MAX_DELAY_THRESHOLD: Span = Span::from_millis(25);
/// §5.4: an ACK with at least this fraction of marks sets `ecn_alpha`.
const BURST_OF_MARKS: f64 = 0.5;
/// Loss rates below this are zero.
const NO_LOSS: f64 = 1e-9;

/// The kind of a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Delay,
    Loss,
    Ecn,
}

impl Kind {
    /// Returns the reason of a transition.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Delay => "delay",
            Kind::Loss => "loss",
            Kind::Ecn => "marks",
        }
    }
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sign {
    pub(super) kind: Kind,
    /// Reduction of the nominal rate that it calls for.
    pub(super) beta: f64,
}

/// The smoothed rates of losses and marks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signs {
    pub(super) loss_rate: f64,
    pub(super) ecn_alpha: f64,
    /// Whether a mark was ever reported.
    pub(super) has_marks: bool,
    /// [`Conn::delivered_ce`](crate::Conn::delivered_ce) at the last ACK.
    delivered_ce: Bytes,
}

impl Signs {
    /// §5.3: counts a lost packet. Returns a sign if the loss rate is above its threshold.
    pub(super) fn on_lost(&mut self, nominal: &Nominal, params: &Params) -> Option<Sign> {
        self.loss_rate += (1.0 - self.loss_rate) * GAIN;
        let threshold = 0.02 + 0.5 * (1.0 - nominal.sensitivity());
        (self.loss_rate > threshold).then_some(Sign {
            kind: Kind::Loss,
            beta: params.beta,
        })
    }

    /// §5.3: counts packets that arrived.
    #[inline]
    pub(super) fn on_delivered(&mut self, acked: Bytes, smss: Bytes) {
        let mut left = acked;
        while self.loss_rate > 0.0 && left > Bytes::ZERO {
            self.loss_rate -= self.loss_rate * GAIN;
            if self.loss_rate < NO_LOSS {
                self.loss_rate = 0.0;
            }
            left = left.saturating_sub(smss);
        }
    }

    /// §5.4: takes the marks among `acked` bytes, by the count of marked bytes so far. Returns a
    /// sign if their average is above its threshold.
    #[inline]
    pub(super) fn on_marks(
        &mut self,
        delivered_ce: Bytes,
        acked: Bytes,
        nominal: &Nominal,
        params: &Params,
    ) -> Option<Sign> {
        let marked = delivered_ce - self.delivered_ce;
        self.delivered_ce = delivered_ce;
        if acked == Bytes::ZERO || (marked == Bytes::ZERO && self.ecn_alpha == 0.0) {
            return None;
        }
        self.has_marks = true;
        let fraction = (marked.as_f64() / acked.as_f64()).min(1.0);
        if fraction >= BURST_OF_MARKS {
            self.ecn_alpha = fraction;
        } else {
            self.ecn_alpha += (fraction - self.ecn_alpha) * GAIN;
        }
        let threshold = (2.0 - nominal.sensitivity()) * (3.0 / 32.0);
        let excess = (self.ecn_alpha - threshold) / threshold;
        (excess > 0.0).then(|| Sign {
            kind: Kind::Ecn,
            beta: excess.min(params.beta),
        })
    }
}

/// §5.2: returns a sign if `rtt` is above the nominal max RTT by more than the delay threshold.
#[inline]
pub(super) fn delay(rtt: Span, nominal: &Nominal, params: &Params) -> Option<Sign> {
    let max_rtt = nominal.max_rtt?;
    let excess = rtt.saturating_sub(max_rtt);
    if excess == Span::ZERO {
        return None;
    }
    let fraction = (1.0 + 3.0 * (1.0 - nominal.sensitivity())) / 16.0;
    let threshold = max_rtt.mul_f64(fraction).min(MAX_DELAY_THRESHOLD);
    (excess > threshold).then(|| Sign {
        kind: Kind::Delay,
        beta: (excess.as_secs_f64() / threshold.as_secs_f64() - 1.0).min(params.beta),
    })
}
