//! The state machine (§4), and its reaction to signs of congestion (§5.5).

use fullpipe_units::{Bytes, Span};

use super::declared::State;
use super::signs::{Kind, Sign};
use super::{C4, Cycle, Era};
use crate::{Ack, Context, Transition};

/// §4.1: rates of the states in nominal rates; those of the other states are parameters.
pub(super) const INITIAL_ALPHA: f64 = 2.0;
const RECOVERY_ALPHA: f64 = 15.0 / 16.0;
const CRUISING_ALPHA: f64 = 1.0;
/// §4.2: eras without an increase after which Initial ends, and after which it may end by delay or
/// marks.
const FLAT_ERAS: u32 = 3;
const FLAT_ERAS_WITH_SIGN: u32 = 2;
/// picoquic `c4_growth_evaluate`: an era of Initial counts as an increase if the nominal rate has
/// grown by a quarter of the excess that was sent.
const GROWTH: f64 = 1.0 + (INITIAL_ALPHA - 1.0) / 4.0;
/// §4.2: losses end Initial only after more than this number of packets.
const PACKETS_BEFORE_LOSS: u64 = 20;
/// §4.3.
const RESUMING_ERAS: u32 = 2;
/// §4.7: minimum growth in an era of Pushing, and eras after which further growth leads to Initial.
const SUFFICIENT_GROWTH: f64 = 19.0 / 16.0;
const PUSHING_ERAS: u32 = 3;

impl C4 {
    /// §4.2: the window grows by the acknowledged data, and more slowly once the nominal rate does
    /// not increase.
    pub(super) fn grow(&mut self, ack: &Ack) {
        if !ack.rate.app_limited {
            self.initial.cwnd += Bytes::new(ack.newly_acked.get() >> (3 * self.initial.flat_eras));
        }
        self.initial.acked += ack.newly_acked;
    }

    /// Ends an era: updates the RTTs (§3.2), and decides on the next state.
    pub(super) fn end_era(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let measured = self.era.rtts.filter(|_| self.alpha_previous <= 1.0);
        if let Some(rtts) = measured {
            self.cycle.drains |= self.nominal.follow(rtts, &self.params);
        }
        let is_limited = ack.rate.app_limited;
        self.era.ended += 1;
        match self.state {
            State::Initial => self.end_initial_era(cx),
            State::Resuming => {
                // §4.3: an application-limited first era lasts longer.
                if self.era.ended == 1 && is_limited {
                    self.era.ended = 0;
                }
                if self.era.ended >= RESUMING_ERAS {
                    return self.enter_recovery(cx, "eras of the seed over");
                }
            }
            State::Recovery => return self.end_recovery(cx, measured.is_some()),
            State::Cruising => {
                // §4.5; §4: not while the application limits the flow.
                if self.era.ended >= self.params.cruise_eras && !is_limited {
                    self.cycle.probe_rate = self.nominal.rate;
                    self.cycle.is_full = false;
                    let excess = self.params.probe_alpha - 1.0;
                    // §4.6.
                    let share = if self.signs.has_marks { 0.5 } else { 1.0 };
                    return self.enter(cx, State::Probing, 1.0 + excess * share, "time to probe");
                }
            }
            State::Probing => return self.enter_recovery(cx, "one era of probing"),
            State::Pushing => return self.end_pushing_era(cx),
        }
        if self.state != State::Recovery {
            self.begin_era();
        }
    }

    /// §4.2: Initial ends after three successive eras without an increase; eras in which the
    /// application limited the flow do not count.
    fn end_initial_era(&mut self, cx: &mut Context<'_>) {
        if self.nominal.rate >= self.era.rate * GROWTH {
            self.initial.flat_eras = 0;
        } else if self.era.is_full {
            self.initial.flat_eras += 1;
        }
        if self.initial.flat_eras >= FLAT_ERAS {
            self.exit_initial(cx, "no increase in three eras");
        }
    }

    /// §4.2: the nominal max RTT is half of the last window per nominal rate.
    fn exit_initial(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        self.ssthresh = self.cwnd / 2;
        if self.nominal.rate > 0.0 {
            let seconds = self.ssthresh.as_f64() / self.nominal.rate;
            let rtt = Span::from_secs_f64(seconds);
            self.nominal.set_max_rtt(rtt, &self.params);
        }
        self.cycle.drains = true;
        self.enter_recovery(cx, reason);
    }

    /// §4.7: after the first era, Pushing lasts as long as the rate grows sufficiently; after three
    /// eras, growth leads to Initial (§4).
    fn end_pushing_era(&mut self, cx: &mut Context<'_>) {
        let has_grown = self.nominal.rate >= self.era.rate * SUFFICIENT_GROWTH;
        match self.era.ended {
            1 => self.begin_era(),
            ended if has_grown && ended < PUSHING_ERAS => self.begin_era(),
            _ if has_grown => self.enter_initial(cx, "growth in three eras of pushing"),
            _ => {
                self.cycle.drains = true;
                self.enter_recovery(cx, "no further growth");
            }
        }
    }

    /// The end of Recovery (§4.4), with the reaction to persistent congestion (§5.5.2) and the trim
    /// of an overestimated rate (§5.6).
    fn end_recovery(&mut self, cx: &mut Context<'_>, measured: bool) {
        let cycle = self.cycle;
        let has_probed =
            cycle.was_probed && !cycle.is_congested && self.nominal.rate > cycle.probe_rate;
        if cycle.is_congested {
            self.congestions += 1;
            if self.congestions > 1 && cycle.max_rate > 0.0 {
                self.nominal.rate = self.nominal.rate.min(cycle.max_rate);
            }
        } else {
            self.congestions = 0;
            if self.nominal.rate <= cycle.rate && cycle.is_full && cycle.max_rate > 0.0 {
                self.nominal.rate = (self.nominal.rate + cycle.max_rate) / 2.0;
            }
        }
        self.cycle = Cycle {
            rate: self.nominal.rate,
            ..Cycle::default()
        };
        self.signs.ecn_alpha = 0.0;
        if has_probed {
            let alpha = self.params.push_alpha;
            self.enter(cx, State::Pushing, alpha, "probing found more");
        } else if measured && self.nominal.has_high_jitter() {
            self.enter_initial(cx, "high jitter");
        } else {
            self.enter(cx, State::Cruising, CRUISING_ALPHA, "recovered");
        }
    }

    /// §4.2.1.
    fn enter_initial(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        let rtt = self.nominal.max_rtt.unwrap_or_default();
        self.initial.cwnd = Bytes::from_f64(self.nominal.rate * rtt.as_secs_f64());
        self.initial.acked = Bytes::ZERO;
        self.initial.flat_eras = 0;
        self.enter(cx, State::Initial, INITIAL_ALPHA, reason);
    }

    /// §4.4.
    fn enter_recovery(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        self.cycle.was_probed = self.state == State::Probing;
        let alpha = if self.cycle.drains {
            self.params.drain_alpha
        } else {
            RECOVERY_ALPHA
        };
        self.enter(cx, State::Recovery, alpha, reason);
    }

    /// §4.3: begins with the remembered window, once the RTT is known.
    pub(super) fn resume(&mut self, cx: &mut Context<'_>) {
        let (Some((cwnd, _)), Some(rtt)) = (self.seed, self.nominal.max_rtt) else {
            return;
        };
        if self.state == State::Initial {
            self.seed = Some((cwnd, Some(cwnd.as_f64() / rtt.as_secs_f64())));
            self.enter(cx, State::Resuming, INITIAL_ALPHA, "window remembered");
        }
    }

    fn enter(&mut self, cx: &mut Context<'_>, state: State, alpha: f64, reason: &'static str) {
        let (from, to) = (self.state.name(), state.name());
        self.era.ended = 0;
        self.era.round.restart(cx.conn.delivered);
        self.begin_era();
        self.state = state;
        self.alpha = alpha;
        cx.observer
            .transition(cx.now, Transition { from, to, reason });
    }

    fn begin_era(&mut self) {
        self.alpha_previous = self.alpha;
        self.era = Era {
            rtts: None,
            rate: self.nominal.rate,
            is_full: false,
            ..self.era
        };
    }

    /// Reacts to a sign of congestion (§5.5). It is ignored in Recovery, except that it counts
    /// (§4.4), and it reduces the nominal rate in Cruising only.
    pub(super) fn on_sign(&mut self, cx: &mut Context<'_>, sign: Sign) {
        match self.state {
            State::Initial => {
                // §4.2.
                let ends = match sign.kind {
                    Kind::Delay | Kind::Ecn => self.initial.flat_eras >= FLAT_ERAS_WITH_SIGN,
                    Kind::Loss => self.initial.acked > self.smss * PACKETS_BEFORE_LOSS,
                };
                if !ends {
                    return;
                }
                self.exit_initial(cx, sign.kind.name());
            }
            State::Recovery => {}
            State::Cruising => {
                self.nominal.rate *= 1.0 - sign.beta;
                if sign.kind == Kind::Loss {
                    self.reduce_max_rtt(sign.beta);
                }
                self.enter_recovery(cx, sign.kind.name());
            }
            State::Pushing => {
                self.cycle.drains = true;
                self.enter_recovery(cx, sign.kind.name());
            }
            State::Resuming | State::Probing => self.enter_recovery(cx, sign.kind.name()),
        }
        self.cycle.is_congested = true;
    }

    /// picoquic `c4_notify_congestion`: after losses the nominal max RTT decreases, too.
    fn reduce_max_rtt(&mut self, beta: f64) {
        if let Some(rtt) = self.nominal.max_rtt {
            self.nominal
                .set_max_rtt(rtt.mul_f64(1.0 - beta), &self.params);
        }
    }
}
