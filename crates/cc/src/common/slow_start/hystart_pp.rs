//! HyStart++: RFC 9406.

use fullpipe_units::{Bytes, Span};

use super::{SlowStart, Step};
use crate::common::round::RoundCounter;
use crate::{Ack, Context, Transition};

// Constants named and set by RFC 9406 §4.3.
const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// L for unpaced packets; it is infinite for paced ones.
const L_UNPACED: u64 = 8;

/// When the RTT grows, slow start continues at a quarter of its growth for some rounds, to check
/// whether the RTT remains high.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    round: RoundCounter,
    last_round_min_rtt: Span,
    current_round_min_rtt: Span,
    rtt_sample_count: u32,
    css: Option<Css>,
    initial: bool,
}

/// Conservative Slow Start.
#[derive(Clone, Copy, Debug)]
struct Css {
    baseline_min_rtt: Span,
    rounds: u32,
}

impl Default for HyStartPlusPlus {
    fn default() -> HyStartPlusPlus {
        HyStartPlusPlus {
            round: RoundCounter::default(),
            last_round_min_rtt: Span::MAX,
            current_round_min_rtt: Span::MAX,
            rtt_sample_count: 0,
            css: None,
            initial: true,
        }
    }
}

impl HyStartPlusPlus {
    fn new_round(&mut self) {
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = Span::MAX;
        self.rtt_sample_count = 0;
        if let Some(css) = &mut self.css {
            // The partial round in which CSS began counts as a round.
            css.rounds += 1;
        }
    }

    /// RFC 9406 §4.2: enters CSS when the RTT has grown, and leaves it if that proves wrong.
    fn judge_delay(&mut self, cx: &mut Context<'_>) {
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        match self.css {
            None if self.last_round_min_rtt != Span::MAX => {
                let thresh = (self.last_round_min_rtt / MIN_RTT_DIVISOR)
                    .clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.current_round_min_rtt >= self.last_round_min_rtt + thresh {
                    self.css = Some(Css {
                        baseline_min_rtt: self.current_round_min_rtt,
                        rounds: 0,
                    });
                    let reason = "round's minimum RTT grew by RttThresh";
                    cx.observer.transition(
                        cx.now,
                        Transition {
                            from: "slow_start",
                            to: "css",
                            reason,
                        },
                    );
                }
            }
            Some(css) if self.current_round_min_rtt < css.baseline_min_rtt => {
                self.css = None;
                let reason = "RTT fell below the baseline: entered CSS too early";
                cx.observer.transition(
                    cx.now,
                    Transition {
                        from: "css",
                        to: "slow_start",
                        reason,
                    },
                );
            }
            None | Some(_) => {}
        }
    }
}

impl SlowStart for HyStartPlusPlus {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack, counted: Bytes, _: [Bytes; 2]) -> Step {
        let counted = if cx.conn.paced {
            counted
        } else {
            counted.min(cx.conn.smss * L_UNPACED)
        };
        // §4.3: for the initial slow start only.
        if !self.initial {
            return Step::Grow(counted);
        }
        if self.round.on_ack(ack.newest.delivered, cx.conn.delivered) {
            self.new_round();
            if self.css.is_some_and(|css| css.rounds >= CSS_ROUNDS) {
                return Step::Exit("CSS_ROUNDS rounds of conservative slow start");
            }
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt.raw);
            self.rtt_sample_count += 1;
            self.judge_delay(cx);
        }
        Step::Grow(if self.css.is_some() {
            counted / CSS_GROWTH_DIVISOR
        } else {
            counted
        })
    }

    fn on_congestion(&mut self) {
        self.initial = false;
        self.css = None;
    }

    fn is_css(&self) -> bool {
        self.css.is_some()
    }
}
