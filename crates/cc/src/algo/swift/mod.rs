//! Swift: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
//! Datacenter", SIGCOMM 2020.

mod declared;

use fullpipe_units::{Bytes, Rate, Span, Time};

pub use self::declared::DESCRIPTOR;
use self::declared::Params;
use crate::{Ack, Config, Context, Controller, Decision, Lost, Recovery, RecoveryCause};

/// The Swift controller.
#[derive(Debug)]
pub struct Swift {
    params: Params,
    /// Flow scaling: α and β of §3.5, in seconds.
    scaling: (f64, f64),
    /// fcwnd and ecwnd (§3.4).
    fabric: Window,
    endpoint: Window,
    /// The latest target of the fabric, in seconds.
    target: f64,
    /// retransmit_cnt.
    timeouts: u32,
    smss: Bytes,
    srtt: Span,
}

/// A window with its own delay.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// In segments.
    cwnd: f64,
    /// t_last_decrease.
    decreased: Option<Time>,
    /// The latest delay, in seconds.
    delay: f64,
}

impl Window {
    /// Returns can_decrease: whether a round trip has passed since the last decrease.
    fn can_decrease(&self, now: Time, rtt: Span) -> bool {
        self.decreased.is_none_or(|at| now.since(at) >= rtt)
    }

    /// Algorithm 1, on an ACK of `acked` segments with `delay` seconds.
    fn on_ack(&mut self, p: &Params, acked: f64, delay: f64, target: f64, can_decrease: bool) {
        self.delay = delay;
        if delay < target {
            self.cwnd += if self.cwnd >= 1.0 {
                p.ai / self.cwnd * acked
            } else {
                p.ai * acked
            };
        } else if can_decrease {
            self.cwnd *= (1.0 - p.beta * (delay - target) / delay).max(1.0 - p.max_mdf);
        }
    }

    /// Enforces the bounds, and notes a decrease from `before`.
    fn bound(&mut self, p: &Params, before: f64, now: Time) {
        self.cwnd = self.cwnd.clamp(p.min_cwnd, p.max_cwnd);
        if self.cwnd < before {
            self.decreased = Some(now);
        }
    }
}

impl Swift {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Swift {
        let params = Params::read(config);
        let window = Window {
            cwnd: config.initial_cwnd.as_f64() / config.smss.as_f64(),
            decreased: None,
            delay: 0.0,
        };
        // §3.5: α = fs_range / (1/√fs_min_cwnd − 1/√fs_max_cwnd), β = −α / √fs_max_cwnd.
        let [min, max] = [params.fs_min_cwnd, params.fs_max_cwnd].map(|cwnd| 1.0 / cwnd.sqrt());
        let alpha = if min > max {
            params.fs_range / 1e6 / (min - max)
        } else {
            0.0
        };
        let mut swift = Swift {
            scaling: (alpha, -alpha * max),
            fabric: window,
            endpoint: window,
            target: 0.0,
            timeouts: 0,
            smss: config.smss,
            srtt: Span::ZERO,
            params,
        };
        swift.target = swift.target_delay();
        swift
    }

    /// Returns the window in force, in segments (§3.4).
    fn cwnd(&self) -> f64 {
        self.fabric.cwnd.min(self.endpoint.cwnd)
    }

    /// §3.5: the target delay of the fabric, in seconds.
    fn target_delay(&self) -> f64 {
        let p = &self.params;
        let (alpha, beta) = self.scaling;
        let scaled = (alpha / self.fabric.cwnd.sqrt() + beta).clamp(0.0, p.fs_range / 1e6);
        (p.base_target + p.hops * p.hop_scaling) / 1e6 + scaled
    }

    /// Changes both windows, and notes decreases.
    fn change(&mut self, now: Time, mut with: impl FnMut(&mut Window, bool)) {
        for window in [&mut self.fabric, &mut self.endpoint] {
            let before = window.cwnd;
            let can_decrease = window.can_decrease(now, self.srtt);
            with(window, can_decrease);
            window.bound(&self.params, before, now);
        }
    }

    /// Reduces both windows by the largest factor: after a loss or a timeout.
    fn reduce(&mut self, now: Time) {
        let factor = 1.0 - self.params.max_mdf;
        self.change(now, |window, can_decrease| {
            if can_decrease {
                window.cwnd *= factor;
            }
        });
    }
}

impl Controller for Swift {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.smss = cx.conn.smss;
        self.srtt = cx.conn.srtt;
        self.timeouts = 0;
        let Some(rtt) = ack.rtt else {
            return;
        };
        let acked = ack.newly_acked.as_f64() / self.smss.as_f64();
        let hosts = rtt.local + rtt.remote;
        let fabric = (rtt.raw - hosts).as_secs_f64();
        self.target = self.target_delay();
        let params = self.params;
        let targets = [
            (fabric, self.target),
            (hosts.as_secs_f64(), params.endpoint_target / 1e6),
        ];
        let mut targets = targets.into_iter();
        self.change(cx.now, |window, can_decrease| {
            let (delay, target) = targets.next().unwrap_or_default();
            window.on_ack(&params, acked, delay, target, can_decrease);
        });
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        match change {
            // Algorithm 1, on fast recovery.
            Recovery::Enter(RecoveryCause::Loss) => {
                self.timeouts = 0;
                self.reduce(cx.now);
            }
            // Algorithm 1, on a retransmission timeout.
            Recovery::Timeout { .. } => {
                self.timeouts += 1;
                if self.timeouts >= self.params.retx_reset_threshold {
                    let min_cwnd = self.params.min_cwnd;
                    self.change(cx.now, |window, _| window.cwnd = min_cwnd);
                } else {
                    self.reduce(cx.now);
                }
            }
            Recovery::Enter(RecoveryCause::Ecn)
            | Recovery::Exit
            | Recovery::Spurious
            | Recovery::Persistent => {}
        }
    }

    fn decision(&self) -> Decision {
        let cwnd = self.cwnd();
        let window = self.smss.mul_f64(cwnd.max(1.0));
        // §3.3: below one packet, one packet each rtt/cwnd.
        let paced = cwnd < 1.0 && self.srtt > Span::ZERO;
        let bits = self.smss.as_f64() * 8.0;
        let rate = || Rate::from_bps((bits * cwnd / self.srtt.as_secs_f64()).max(1.0) as u64);
        Decision {
            pacing_rate: paced.then(rate),
            send_quantum: if paced { self.smss } else { Bytes::ZERO },
            ..Decision::window(window, Bytes::MAX)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
