//! The estimates of the path: nominal rate, nominal max RTT and running min RTT (§3).

use fullpipe_units::Span;

use super::declared::Params;

/// §3.2: weight of the previous value where an RTT estimate follows a lower or higher sample.
const KEEP: u64 = 7;

/// RTTs measured in an era (§3.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct EraRtts {
    pub(super) max: Span,
    pub(super) min: Span,
}

/// The estimates; an RTT is `None` before its first sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nominal {
    /// Nominal rate, in bytes per second; 0 before the first sample.
    pub(super) rate: f64,
    /// Nominal max RTT.
    pub(super) max_rtt: Option<Span>,
    /// Running min RTT.
    pub(super) min_rtt: Option<Span>,
}

impl Nominal {
    /// Sets both RTTs to the first sample (§4.2; design, "Initial Phase and Max RTT").
    pub(super) fn start(&mut self, rtt: Span, params: &Params) {
        self.min_rtt = Some(rtt);
        self.set_max_rtt(rtt, params);
    }

    /// Sets the nominal max RTT, at least `rtt_floor` (§6.3).
    pub(super) fn set_max_rtt(&mut self, rtt: Span, params: &Params) {
        self.max_rtt = Some(rtt.max(params.rtt_floor));
    }

    /// §3.2, at the end of an era, for packets that were sent at most at the nominal rate. Returns
    /// whether the nominal max RTT decreased.
    pub(super) fn follow(&mut self, era: EraRtts, params: &Params) -> bool {
        let (Some(min), Some(max)) = (self.min_rtt, self.max_rtt) else {
            return false;
        };
        let min = if era.min < min {
            era.min
        } else {
            blend(min, era.min)
        };
        self.min_rtt = Some(min);
        let sample = era.max.min(min + params.max_jitter);
        let next = if sample > max {
            sample
        } else {
            blend(max, sample)
        };
        self.set_max_rtt(next, params);
        self.max_rtt < Some(max)
    }

    /// §4.4.1: whether the jitter is so high that Initial may have ended too early.
    pub(super) fn has_high_jitter(&self) -> bool {
        self.min_rtt
            .zip(self.max_rtt)
            .is_some_and(|(min, max)| min * 5 < max * 2)
    }

    /// §5.1: 0 up to 50 kB/s, 0.92 at 1 MB/s, 1 from 10 MB/s on, and linear in between.
    pub(super) fn sensitivity(&self) -> f64 {
        match self.rate {
            rate if rate < 50e3 => 0.0,
            rate if rate < 1e6 => (rate - 50e3) * (0.92 / 950e3),
            rate if rate < 10e6 => 0.92 + (rate - 1e6) * (0.08 / 9e6),
            _ => 1.0,
        }
    }
}

fn blend(previous: Span, sample: Span) -> Span {
    (previous * KEEP + sample) / (KEEP + 1)
}
