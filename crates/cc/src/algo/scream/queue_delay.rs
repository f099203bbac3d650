//! The queueing delay, its averages and its target (§4.2.1.4, §4.5.4).

use std::collections::VecDeque;

use fullpipe_units::{Span, Time};

use super::declared::Params;
use crate::common::delay::QueueDelay;

/// QDELAY_MIN_MAX_AVG_G, QDELAY_DEV_AVG_G and QDELAY_DEV_THRESHOLD (§4.2.1.4).
const MIN_MAX_AVG_G: f64 = 1.0 / 16.0;
const DEV_AVG_G: f64 = 1.0 / 32.0;
const DEV_THRESHOLD: f64 = 0.01;

/// The queueing delay, in seconds.
#[derive(Debug)]
pub(super) struct Queue {
    delay: QueueDelay,
    pub(super) qdelay: f64,
    /// qdelay_avg.
    pub(super) average: f64,
    updated: Time,
    target: Target,
    jitter: Option<Jitter>,
}

impl Queue {
    pub(super) fn new(params: &Params) -> Queue {
        Queue {
            delay: QueueDelay::new(1, params.base_history),
            qdelay: 0.0,
            average: 0.0,
            updated: Time::ZERO,
            target: Target::new(params),
            jitter: params.reduce_jitter.then(|| Jitter::new(params)),
        }
    }

    /// Returns qdelay_target.
    pub(super) fn target(&self) -> f64 {
        self.target.target
    }

    /// Returns ref_wnd_delay_scale.
    pub(super) fn scale(&self) -> f64 {
        self.jitter.as_ref().map_or(1.0, |jitter| jitter.scale)
    }

    /// Takes the one-way delay of a report. `interval` is min(VIRTUAL_RTT, s_rtt).
    pub(super) fn sample(&mut self, now: Time, one_way: Span, interval: Span, params: &Params) {
        // RFC 6817 §2.4.2.
        self.delay.sample(now, one_way);
        self.qdelay = self.delay.queueing().map_or(0.0, Span::as_secs_f64);
        if let Some(jitter) = &mut self.jitter {
            jitter.sample(self.qdelay, self.target.target);
        }
        if now >= self.updated + interval {
            self.average = if self.qdelay < self.average {
                self.qdelay
            } else {
                params.qdelay_avg_g * self.qdelay + (1.0 - params.qdelay_avg_g) * self.average
            };
            if let Some(jitter) = &mut self.jitter {
                jitter.update();
            }
            self.updated = now;
        }
        if params.competing_flows {
            self.target.sample(now, self.qdelay, params);
        }
    }

    /// Notes the end of a round trip, with or without a loss.
    pub(super) fn end_round(&mut self, lossy: bool) {
        let rate = &mut self.target.loss_event_rate;
        *rate = (1.0 - LOSS_EVENT_GAIN) * *rate + if lossy { LOSS_EVENT_GAIN } else { 0.0 };
    }
}

/// The variation of the queueing delay (§4.2.1.4, REDUCE_JITTER).
#[derive(Debug)]
struct Jitter {
    max: f64,
    min: f64,
    deviation: f64,
    scale: f64,
}

impl Jitter {
    fn new(params: &Params) -> Jitter {
        Jitter {
            max: params.qdelay_target_lo,
            min: 0.0,
            deviation: 0.0,
            scale: 1.0,
        }
    }

    fn sample(&mut self, qdelay: f64, target: f64) {
        self.max = target.min(self.max.max(qdelay));
        self.min = self.min.min(qdelay);
    }

    /// calculate_ref_wnd_delay_scale().
    fn update(&mut self) {
        self.max *= 1.0 - MIN_MAX_AVG_G;
        self.min = self.min * (1.0 - MIN_MAX_AVG_G) + self.max * MIN_MAX_AVG_G;
        self.deviation = (1.0 - DEV_AVG_G) * self.deviation + DEV_AVG_G * (self.max - self.min);
        self.scale = (1.0 - self.deviation / DEV_THRESHOLD).clamp(0.0, 1.0);
    }
}

/// Lengths of the histories of §4.5.4, and their interval (ScreamV2Tx.cpp).
const LONG: usize = 200;
const SHORT: usize = 50;
const SAMPLE_INTERVAL: Span = Span::from_millis(50);
/// Gain of loss_event_rate, per round trip (ScreamV2Tx.cpp).
const LOSS_EVENT_GAIN: f64 = 0.02;

/// qdelay_target, which competing flows raise (§4.5.4).
#[derive(Debug)]
struct Target {
    target: f64,
    /// qdelay_norm_history, newest last.
    history: VecDeque<f64>,
    sampled: Time,
    loss_event_rate: f64,
}

impl Target {
    fn new(params: &Params) -> Target {
        Target {
            target: params.qdelay_target_lo,
            history: VecDeque::from([0.0; LONG]),
            sampled: Time::ZERO,
            loss_event_rate: 0.0,
        }
    }

    /// adjust_qdelay_target().
    fn sample(&mut self, now: Time, qdelay: f64, params: &Params) {
        if now < self.sampled + SAMPLE_INTERVAL {
            return;
        }
        self.sampled = now;
        let low = params.qdelay_target_lo;
        self.history.pop_front();
        self.history.push_back(qdelay / low);
        let mean = self.history.iter().sum::<f64>() / LONG as f64;
        let variance = self
            .history
            .iter()
            .map(|norm| (norm - mean) * (norm - mean))
            .sum::<f64>()
            / LONG as f64;
        let short: f64 = self.history.iter().rev().take(SHORT).sum::<f64>() / SHORT as f64;
        let new = (short + variance.sqrt()) * low;
        self.target = if self.loss_event_rate > 0.002 {
            1.5 * new
        } else if variance < 0.2 {
            new
        } else if new < low {
            new.max(self.target * 0.5)
        } else {
            self.target * 0.9
        };
        self.target = self.target.min(params.qdelay_target_hi).max(low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn params() -> Params {
        Params::read(&Config::defaults(&super::super::DESCRIPTOR))
    }

    /// §4.2.1.4: the average rises by a quarter of the difference, and falls at once.
    #[test]
    fn the_average_attacks_slowly_and_decays_fast() {
        let (params, ms) = (params(), Span::from_millis);
        let mut queue = Queue::new(&params);
        let mut at = Time::ZERO;
        let mut averages = Vec::new();
        for delay in [20, 60, 60, 60, 30] {
            at += ms(25);
            queue.sample(at, ms(delay), ms(25), &params);
            averages.push((queue.average * 1e3 * 64.0).round() / 64.0);
        }
        // 40/4; 10 + 30/4; 17.5 + 22.5/4; then 10.
        assert_eq!(averages, [0.0, 10.0, 17.5, 23.125, 10.0]);
    }

    /// §4.5.4: a standing queue of 90 ms, 1.5 times the low target, raises the target to it.
    #[test]
    fn a_standing_queue_raises_the_target_and_its_end_lowers_it() {
        let (params, ms) = (params(), Span::from_millis);
        let mut queue = Queue::new(&params);
        let mut at = Time::ZERO;
        let mut run = |queue: &mut Queue, delay: u64, samples: u32| {
            for _ in 0..samples {
                at += ms(50);
                queue.sample(at, ms(delay), ms(25), &params);
            }
            queue.target()
        };
        assert_eq!(run(&mut queue, 20, 1), 0.06);
        let high = run(&mut queue, 110, 250);
        assert!((high - 0.09).abs() < 1e-9, "no variance is left: {high}");
        let low = run(&mut queue, 20, 250);
        assert!((low - 0.06).abs() < 1e-9, "{low}");
    }

    /// §4.5.4: with losses the target is 1.5 times the new one, at most QDELAY_TARGET_HI.
    #[test]
    fn losses_raise_the_target_further_up_to_its_maximum() {
        let (params, ms) = (params(), Span::from_millis);
        let mut queue = Queue::new(&params);
        let mut at = Time::ZERO;
        for (delay, expected) in [(20, 0.06), (120, 0.15), (320, 0.4)] {
            for _ in 0..250 {
                at += ms(50);
                queue.end_round(true);
                queue.sample(at, ms(delay), ms(25), &params);
            }
            let target = queue.target();
            assert!((target - expected).abs() < 1e-9, "{target} for {delay} ms");
        }
    }
}
