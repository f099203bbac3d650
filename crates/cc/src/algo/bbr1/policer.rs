//! The long-term bandwidth: a token-bucket policer lets bursts pass and then drops what is above
//! its rate. Two intervals in a row with much loss and the same rate show one:
//! `bbr_lt_bw_sampling`.

use fullpipe_units::{Bytes, Span, Time};

use crate::{Ack, Conn};

/// `bbr_lt_intvl_min_rtts`: the least rounds of an interval; four times as many are the most.
const INTERVAL_ROUNDS: u32 = 4;
/// `bbr_lt_loss_thresh`: lost for each that is delivered.
const LOSS_THRESHOLD: f64 = 50.0 / 256.0;
/// `bbr_lt_bw_ratio`: rates that differ by less are the same.
const SAME_RATIO: f64 = 1.0 / 8.0;
/// `bbr_lt_bw_diff`: and so are those that differ by less than this, B/s.
const SAME_DIFFERENCE: f64 = 500.0;
/// `bbr_lt_bw_max_rtts`: rounds until the policer is looked for anew.
const USE_ROUNDS: u32 = 48;

/// The estimator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policer {
    enabled: bool,
    /// `lt_bw`, B/s: of the last interval, or the policer's; zero for none.
    bw: f64,
    /// `lt_use_bw`.
    pub is_policed: bool,
    /// `lt_is_sampling`.
    is_sampling: bool,
    /// `lt_rtt_cnt`.
    rounds: u32,
    since: Time,
    delivered: Bytes,
    lost: Bytes,
}

impl Policer {
    pub(super) fn new(enabled: bool) -> Policer {
        Policer {
            enabled,
            bw: 0.0,
            is_policed: false,
            is_sampling: false,
            rounds: 0,
            since: Time::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
        }
    }

    /// The policer's rate, if there is one.
    #[inline]
    pub(super) fn bw(&self) -> Option<f64> {
        self.is_policed.then_some(self.bw)
    }

    /// An ACK in PROBE_BW, or not; true when the rate has been used for long enough, so that the
    /// cycle begins anew.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        conn: &Conn,
        ack: &Ack,
        round_start: bool,
        in_probe_bw: bool,
    ) -> bool {
        if self.is_policed {
            self.rounds += u32::from(in_probe_bw && round_start);
            let over = self.rounds >= USE_ROUNDS;
            if over {
                self.reset(now, conn);
            }
            return over;
        }
        let has_lost = ack.newly_lost > Bytes::ZERO;
        if self.enabled && (self.is_sampling || has_lost) {
            self.sample(now, conn, has_lost, ack.rate.app_limited, round_start);
        }
        false
    }

    /// A timeout counts as a loss.
    pub(super) fn on_timeout(&mut self, now: Time, conn: &Conn) {
        if self.enabled && !self.is_policed {
            self.sample(now, conn, true, false, true);
        }
    }

    fn sample(
        &mut self,
        now: Time,
        conn: &Conn,
        has_lost: bool,
        app_limited: bool,
        round_start: bool,
    ) {
        if !self.is_sampling {
            // The tokens are spent with the first loss.
            self.begin(now, conn);
            self.is_sampling = true;
        }
        self.rounds += u32::from(round_start);
        // A flow with nothing to send shows too little; an interval without end shows nothing.
        if app_limited || self.rounds > 4 * INTERVAL_ROUNDS {
            return self.reset(now, conn);
        }
        let delivered = (conn.delivered - self.delivered).as_f64();
        let lost = (conn.lost - self.lost).as_f64();
        // It ends as it began, with a loss.
        if self.rounds < INTERVAL_ROUNDS
            || !has_lost
            || delivered == 0.0
            || lost < LOSS_THRESHOLD * delivered
        {
            return;
        }
        let length = now.since(self.since);
        if length >= Span::from_millis(1) {
            self.end(now, conn, delivered / length.as_secs_f64());
        }
    }

    /// `bbr_lt_bw_interval_done`.
    fn end(&mut self, now: Time, conn: &Conn, bw: f64) {
        let difference = (bw - self.bw).abs();
        if self.bw > 0.0 && (difference <= SAME_RATIO * self.bw || difference <= SAME_DIFFERENCE) {
            self.bw = 0.5 * (self.bw + bw);
            self.is_policed = true;
            self.rounds = 0;
        } else {
            self.bw = bw;
            self.begin(now, conn);
        }
    }

    /// `bbr_reset_lt_bw_sampling_interval`.
    fn begin(&mut self, now: Time, conn: &Conn) {
        (self.since, self.delivered, self.lost, self.rounds) = (now, conn.delivered, conn.lost, 0);
    }

    /// `bbr_reset_lt_bw_sampling`.
    pub(super) fn reset(&mut self, now: Time, conn: &Conn) {
        (self.bw, self.is_policed, self.is_sampling) = (0.0, false, false);
        self.begin(now, conn);
    }
}
