//! LEDBAT: RFC 6817, for comparison with its successors.

use fullpipe_units::Bytes;

use crate::common::delay::{BASE_HISTORY, CURRENT_FILTER, QueueDelay};
use crate::common::window::{self, Classic, Episode, FlightSize, state};
use crate::{
    Ack, AnyController, Config, Context, Controller, Decision, Descriptor, Field, Lost, Marks,
    Param, PathChange, Recovery, RecoveryCause, RecoveryOwner, Signals, Specification, fields,
    params,
};

/// Descriptor of LEDBAT.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "ledbat",
    purpose: "For background traffic: keeps the queueing delay at a target, and yields to flows that increase it.",
    specifications: &[Specification {
        name: "RFC 6817",
        note: "implemented, except the optional slow start",
    }],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Ledbat::FIELDS,
    recovery: RecoveryOwner::Prr,
    needs: Signals::TIMESTAMPS,
    marks: |_| Marks::Answered,
    random: false,
    build: |config| AnyController::Ledbat(Ledbat::new(config)),
};

params! {
    /// The parameters.
    struct Params {
        target: f64 = Param::number(100.0, 1.0..=100.0).unit("ms")
            .says("TARGET: queueing delay to aim at", "RFC 6817 §2.5"),
        gain: f64 = Param::number(1.0, 0.001..=1.0).says(
            "GAIN: window increase per round trip without queueing, and decrease at twice the target, in segments",
            "RFC 6817 §2.5",
        ),
        allowed_increase: f64 = Param::number(1.0, 1.0..=100.0).unit("segments").says(
            "ALLOWED_INCREASE: maximum excess of the window over the data in flight",
            "RFC 6817 §2.5",
        ),
        current_filter: usize = CURRENT_FILTER.says(
            "CURRENT_FILTER: number of samples whose minimum is the current delay",
            "RFC 6817 §2.5",
        ),
        base_history: usize = BASE_HISTORY,
    }
}

/// State of the controller.
const STATES: &[&str] = &["congestion_avoidance", "recovery"];

fields! {
    impl Ledbat as cc {
        state: Field::state(STATES, "State of the controller")
            => cc.episode == Episode::Recovery,
        base_delay: Field::value(
            "s",
            "One-way base delay, including the offset of the clocks; 0 before the first sample",
        )
            => cc.delay.base(),
        queue_delay: Field::value("s", "Queueing delay: filtered one-way delay less base delay")
            => cc.delay.queueing(),
    }
}

/// MIN_CWND and INIT_CWND (RFC 6817 §2.5).
const MIN_SEGMENTS: u64 = 2;

/// The LEDBAT controller.
#[derive(Debug)]
pub struct Ledbat {
    /// In seconds.
    target: f64,
    gain: f64,
    allowed_increase: f64,
    /// In bytes, with a fraction: the increase per ACK is small.
    cwnd: f64,
    ssthresh: Bytes,
    delay: QueueDelay,
    flight: FlightSize,
    episode: Episode,
    /// `cwnd` and `ssthresh` before the last reduction, for undo.
    saved: Option<(f64, Bytes)>,
}

impl Ledbat {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Ledbat {
        let params = Params::read(config);
        Ledbat {
            target: params.target / 1e3,
            gain: params.gain,
            allowed_increase: params.allowed_increase,
            cwnd: (config.smss * MIN_SEGMENTS).as_f64(),
            ssthresh: Bytes::MAX,
            delay: QueueDelay::new(params.current_filter, params.base_history),
            flight: FlightSize::default(),
            episode: Episode::None,
            saved: None,
        }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes::from_f64(self.cwnd)
    }
}

impl Classic for Ledbat {
    fn episode(&mut self) -> &mut Episode {
        &mut self.episode
    }

    fn state(&self) -> &'static str {
        state(self.episode, false, false)
    }

    /// RFC 6817 §2.4.2, on data loss: halves the window. §1.3: a mark counts as a loss.
    fn reduce(&mut self, cx: &Context<'_>, _: RecoveryCause) {
        self.saved = Some((self.cwnd, self.ssthresh));
        self.ssthresh =
            (self.flight.at_event(cx.conn, self.cwnd()) / 2).max(cx.conn.smss * MIN_SEGMENTS);
        self.cwnd = self.cwnd.min(self.ssthresh.as_f64());
    }

    /// §2.4.2, after a congestion timeout: one segment.
    fn collapse(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.as_f64();
    }

    fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.saved.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }
}

impl Controller for Ledbat {
    fn on_lost(&mut self, _: &mut Context<'_>, lost: &Lost) {
        self.flight.on_lost(lost);
    }

    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.flight.on_ack();
        if let Some(delay) = ack.one_way {
            self.delay.sample(cx.now, delay);
        }
        let Some(queueing) = self.delay.queueing().filter(|_| !cx.conn.in_recovery()) else {
            return;
        };
        // RFC 6817 §2.4.2, on acknowledgment.
        let smss = cx.conn.smss.as_f64();
        let off_target = (self.target - queueing.as_secs_f64()) / self.target;
        self.cwnd += self.gain * off_target * ack.newly_acked.as_f64() * smss / self.cwnd;
        let allowed = ack.prior_inflight.as_f64() + self.allowed_increase * smss;
        self.cwnd = self
            .cwnd
            .min(allowed)
            .max((cx.conn.smss * MIN_SEGMENTS).as_f64());
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        window::on_recovery(self, cx, change);
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => self.cwnd = self.cwnd.max((cx.conn.smss * MIN_SEGMENTS).as_f64()),
            PathChange::EcnFailed | PathChange::Seed { .. } | PathChange::Threshold { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision::window(self.cwnd(), self.ssthresh)
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
