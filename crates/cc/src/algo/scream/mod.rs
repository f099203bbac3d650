//! SCReAMv2: congestion control for real-time media (draft-ietf-ccwg-rfc8298bis-screamv2-01).
//!
//! Sections are those of the draft. It sets a reference window, which is a measure of the rate
//! rather than a limit: the encoder's rate is the window per round trip, and more data than the
//! window may be in flight.
//! - `queue_delay`: the queueing delay and its target (§4.2.1.4, §4.5.4).
//! - `marks`: the share of marked packets (§4.2.1.3).
//! - `rate`: the encoder's rate, and pacing (§4.3.2, §4.4).

mod declared;
mod marks;
mod queue_delay;
mod rate;

use fullpipe_units::{Bytes, EcnCodepoint, Rate, Span, Time};

pub use self::declared::DESCRIPTOR;
use self::declared::Params;
use self::marks::MarkedShare;
use self::queue_delay::Queue;
use self::rate::MediaRate;
use crate::{
    Ack, Config, Context, Controller, Decision, Frame, Lost, PathChange, Recovery, Snapshot,
};

/// The SCReAMv2 controller.
#[derive(Debug)]
pub struct Scream {
    params: Params,
    mss: f64,
    ref_wnd: f64,
    ref_wnd_i: f64,
    ref_wnd_i_update_allowed: bool,
    queue: Queue,
    marks: MarkedShare,
    rate: MediaRate,
    flight: InFlight,
    /// Losses or marks since the last reaction.
    loss_detected: bool,
    data_units_marked: bool,
    last_congestion_detected: Option<Time>,
    last_reaction: Option<Time>,
    /// bytes_newly_acked without the marked ones, since the last increase.
    newly_acked_minus_ce: f64,
    updated: Time,
    srtt: Span,
}

/// bytes_in_flight and its maxima (§4.1.1): from the highest acknowledged byte to the last one
/// sent, whatever was lost in between.
#[derive(Debug, Default)]
struct InFlight {
    /// Numbers of the last packet that was sent, and of the highest that was acknowledged.
    sent: u64,
    acked: u64,
    /// Maxima of the current and the previous round trip.
    max: f64,
    max_prev: f64,
    round_began: Time,
    /// Whether a packet was lost in the current round trip.
    lossy: bool,
}

impl InFlight {
    fn note_max(&mut self) {
        self.max = self.max.max((self.sent - self.acked) as f64);
    }
}

/// A reason to reduce the window.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Congestion {
    Loss,
    Ce,
    /// The queueing delay, with l4s_alpha_v.
    VirtualCe(f64),
}

impl Scream {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Scream {
        let params = Params::read(config);
        Scream {
            mss: config.smss.as_f64(),
            ref_wnd: params.min_ref_wnd,
            ref_wnd_i: 1.0,
            ref_wnd_i_update_allowed: true,
            queue: Queue::new(&params),
            marks: MarkedShare::default(),
            rate: MediaRate::new(config.source),
            flight: InFlight::default(),
            loss_detected: false,
            data_units_marked: false,
            last_congestion_detected: None,
            last_reaction: None,
            newly_acked_minus_ce: 0.0,
            updated: Time::ZERO,
            srtt: Span::ZERO,
            params,
        }
    }

    /// Returns min(VIRTUAL_RTT, s_rtt): the shortest time between two reactions.
    fn interval(&self) -> Span {
        self.params.virtual_rtt.min(self.srtt)
    }

    /// Returns max(VIRTUAL_RTT, s_rtt) in seconds.
    fn longer_rtt(&self) -> f64 {
        self.params.virtual_rtt.max(self.srtt).as_secs_f64()
    }

    /// Returns s_rtt / VIRTUAL_RTT.
    fn rtt_ratio(&self) -> f64 {
        self.srtt.as_secs_f64() / self.params.virtual_rtt.as_secs_f64()
    }

    /// Returns scl_t: less than 1 close to the last known maximum (§4.2.2.1).
    fn scale(&self) -> f64 {
        let distance = 8.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        (distance * distance).clamp(0.1, 1.0)
    }

    /// Updates the reference window after a report (§4.2.2).
    fn update_ref_wnd(&mut self, now: Time) {
        let scale = self.scale();
        if self.loss_detected || self.data_units_marked {
            self.last_congestion_detected = Some(now);
        }
        let congestion = self.congestion(now);
        if let Some(congestion) = congestion {
            self.reduce(now, congestion, scale);
        } else if now < self.updated + self.interval() {
            return;
        }
        self.increase(now, scale);
        self.updated = now;
    }

    /// Returns the reason to react now, if any; at most once in min(VIRTUAL_RTT, s_rtt).
    fn congestion(&self, now: Time) -> Option<Congestion> {
        if self
            .last_reaction
            .is_some_and(|last| now < last + self.interval())
        {
            return None;
        }
        let half = self.queue.target() / 2.0;
        if self.loss_detected {
            Some(Congestion::Loss)
        } else if self.data_units_marked {
            Some(Congestion::Ce)
        } else if self.queue.average > half {
            let alpha = (self.queue.average - half) / half;
            Some(Congestion::VirtualCe(alpha.clamp(0.0, 1.0)))
        } else {
            None
        }
    }

    /// Reduces the reference window (§4.2.2.1).
    fn reduce(&mut self, now: Time, congestion: Congestion, scale: f64) {
        if self.ref_wnd_i_update_allowed {
            self.ref_wnd_i = self.ref_wnd;
            self.ref_wnd_i_update_allowed = false;
        }
        // The backoff is scaled down at a high RTT, since it may occur several times in it.
        let per_rtt = 1.0 / self.rtt_ratio().max(1.0);
        match congestion {
            Congestion::Loss => self.ref_wnd *= self.params.beta_loss,
            Congestion::Ce if self.params.is_l4s => {
                let mut backoff = self.marks.alpha / 2.0 * per_rtt;
                if self.queue.qdelay < self.queue.target() * 0.25 {
                    backoff *= scale.max(0.25) * self.queue.scale().max(0.25);
                }
                let long = Span::from_secs_f64(100.0 * self.longer_rtt());
                if self.last_reaction.is_none_or(|last| now > last + long) {
                    // The window may have grown far above the data in flight.
                    self.ref_wnd = self.ref_wnd.min(self.flight.max_prev);
                }
                self.ref_wnd *= 1.0 - backoff;
            }
            Congestion::Ce => self.ref_wnd *= self.params.beta_ecn,
            Congestion::VirtualCe(alpha) => self.ref_wnd *= 1.0 - alpha / 2.0 * per_rtt,
        }
        self.ref_wnd = self.ref_wnd.max(self.params.min_ref_wnd);
        self.last_reaction = Some(now);
        (self.loss_detected, self.data_units_marked) = (false, false);
    }

    /// Increases the reference window (§4.2.2.2).
    fn increase(&mut self, now: Time, scale: f64) {
        let post_congestion = self.last_congestion_detected.map_or(1.0, |last| {
            let cautious = self.params.post_congestion_delay_rtt * self.longer_rtt();
            ((now - last).as_secs_f64() / cautious).min(1.0)
        });
        let acked = core::mem::take(&mut self.newly_acked_minus_ce);
        let mut increment = acked * (self.mss / self.ref_wnd).min(1.0);
        increment *= self.rtt_ratio().min(1.0);
        increment *= scale.max(0.25);
        increment *= self.queue.scale().max(0.1);
        // ref_wnd_scale_factor, limited after congestion and close to the last known maximum.
        let multiplicative = self.params.mul_increase_factor * self.ref_wnd / self.mss;
        increment *= 1.0 + multiplicative * post_congestion * scale;
        let most = self.mss
            + self.flight.max.max(self.flight.max_prev) * self.params.bytes_in_flight_head_room;
        if increment > 0.0 && self.ref_wnd + increment <= most && self.rate.target < self.rate.max()
        {
            self.ref_wnd += increment;
            self.ref_wnd_i_update_allowed = true;
        }
    }

    /// Begins another round trip, once s_rtt has passed.
    fn note_round(&mut self, now: Time) {
        if now < self.flight.round_began + self.srtt {
            return;
        }
        self.queue.end_round(self.flight.lossy);
        self.flight.max_prev = core::mem::take(&mut self.flight.max);
        self.flight.lossy = false;
        self.flight.round_began = now;
    }
}

impl Controller for Scream {
    fn on_sent(&mut self, _: &mut Context<'_>, packet: &Snapshot) -> bool {
        self.flight.sent = packet.number();
        self.flight.note_max();
        false
    }

    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {
        self.loss_detected = true;
        self.flight.lossy = true;
    }

    fn on_acked(&mut self, _: &mut Context<'_>, _: &Snapshot) {
        self.marks.on_delivered();
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let now = cx.now;
        self.srtt = cx.conn.srtt;
        self.note_round(now);
        self.flight.note_max();
        // §4.1.2: the bytes up to the highest acknowledged packet, lost ones included.
        let highest = ack.newest.number().max(self.flight.acked);
        let newly_acked = highest - self.flight.acked;
        self.flight.acked = highest;
        let marked = ack.ecn.ce_bytes.unwrap_or(Bytes::ZERO);
        self.newly_acked_minus_ce += (Bytes::new(newly_acked).saturating_sub(marked)).as_f64();
        self.data_units_marked |= ack.ece;
        if let Some(one_way) = ack.one_way {
            self.queue
                .sample(now, one_way, self.interval(), &self.params);
        }
        self.marks
            .on_report(now, ack.ecn.ce_packets, self.srtt, &self.params);
        self.update_ref_wnd(now);
        self.rate.update(self.ref_wnd, self.mss, self.srtt);
    }

    fn on_recovery(&mut self, _: &mut Context<'_>, change: Recovery) {
        if let Recovery::Timeout { .. } = change {
            // Nothing is in flight any more.
            self.flight.acked = self.flight.sent;
        }
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        if change == PathChange::Mtu {
            self.mss = cx.conn.smss.as_f64();
        }
    }

    fn on_frame(&mut self, _: &mut Context<'_>, frame: &Frame) {
        self.rate.on_frame(frame, &self.params);
        self.rate.update(self.ref_wnd, self.mss, self.srtt);
    }

    fn decision(&self) -> Decision {
        let Params {
            ref_wnd_overhead_min: min,
            ref_wnd_overhead_max: max,
            ..
        } = self.params;
        // §4.3.1.
        let overhead = min + (max - min) * self.queue.scale();
        let cwnd = Bytes::from_f64((self.ref_wnd * overhead).max(self.mss));
        Decision {
            pacing_rate: Some(self.rate.pacing_rate(&self.params)),
            // §4.3.2: t_pace is the interval between two packets.
            send_quantum: Bytes::new(1),
            ecn: if self.params.is_l4s {
                EcnCodepoint::Ect1
            } else {
                EcnCodepoint::NotEct
            },
            source_rate: Some(Rate::from_bps_f64(self.rate.target)),
            ..Decision::window(cwnd, Bytes::MAX)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
