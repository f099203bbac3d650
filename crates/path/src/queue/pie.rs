//! `pie`: proportional integral controller enhanced (RFC 8033), as implemented in Linux.

use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::descriptor::{Config, Descriptor, Domain, Param, no_check};
use super::packet::{Fifo, Packet};
use super::{Discipline, Dropped, PACKET};
use crate::Limit;

/// RFC 8033 §4.4: time without drops after a period without congestion.
const MAX_BURST: Span = Span::from_millis(150);
/// Linux: above this delay the probability grows faster.
const HIGH_DELAY: Span = Span::from_millis(250);
/// §5.1: above this probability packets are dropped even if they are ECN-capable.
const MOST_MARKED: f64 = 0.1;
/// §5.4: accumulated probabilities below which no packet, and from which every packet is dropped.
const SURELY_NOT: f64 = 0.85;
const SURELY: f64 = 8.5;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    name: "pie",
    purpose: "Drops arrivals at random; a controller adjusts the probability to keep the delay at the target.",
    specifications: &[
        (
            "RFC 8033",
            "controller, scaling, burst allowance, derandomization of drops",
        ),
        (
            "Linux net/sched/sch_pie.c",
            "options, defaults, and the delay of the last departed packet as the measured delay",
        ),
    ],
    limit: Some(1_000),
    in_bytes: false,
    params: &[
        Param {
            name: "target",
            domain: Domain::Time(
                Some(Span::from_millis(15)),
                Span::from_nanos(1),
                Span::from_secs(100),
            ),
            otherwise: "",
            purpose: "target queueing delay",
            section: "RFC 8033 §4.2",
        },
        Param {
            name: "tupdate",
            domain: Domain::Time(
                Some(Span::from_millis(15)),
                Span::from_micros(1),
                Span::from_secs(100),
            ),
            otherwise: "",
            purpose: "time between updates of the probability",
            section: "RFC 8033 §4.2",
        },
        Param {
            name: "alpha",
            domain: Domain::Number(Some(2.0), 0.0, 32.0),
            otherwise: "",
            purpose: "integral gain: weight of the distance to target, in 1/16 Hz",
            section: "RFC 8033 §4.2, tc-pie(8)",
        },
        Param {
            name: "beta",
            domain: Domain::Number(Some(20.0), 0.0, 32.0),
            otherwise: "",
            purpose: "proportional gain: weight of the change of the delay, in 1/16 Hz",
            section: "RFC 8033 §4.2, tc-pie(8)",
        },
        Param {
            name: "ecn",
            domain: Domain::Flag(false),
            otherwise: "",
            purpose: "mark ECN-capable packets instead of dropping them, while the probability is at most 10 %",
            section: "RFC 8033 §5.1",
        },
        Param {
            name: "bytemode",
            domain: Domain::Flag(false),
            otherwise: "",
            purpose: "drop small packets with a lower probability",
            section: "tc-pie(8)",
        },
    ],
    aqm: true,
    random: true,
    check: no_check,
};

/// State of the controller.
#[derive(Clone, Debug)]
struct Controller {
    target: Span,
    /// Gains, in Hz.
    alpha: f64,
    beta: f64,
    probability: f64,
    accumulated: f64,
    /// Delay of the packet that left last, now and at the last update.
    delay: Span,
    delay_before: Span,
    /// Rest of [`MAX_BURST`].
    burst: Span,
    last_departure: Option<Time>,
}

impl Controller {
    /// RFC 8033 §4.2 and §5.5: updates the probability, once per `tupdate`.
    fn update(&mut self, backlog: Bytes) {
        let Controller {
            delay,
            delay_before,
            probability,
            ..
        } = *self;
        let integral = delay.as_secs_f64() - self.target.as_secs_f64();
        let proportional = delay.as_secs_f64() - delay_before.as_secs_f64();
        let mut step = (self.alpha * integral + self.beta * proportional) * scale(probability);
        if probability >= 0.1 {
            step = step.min(0.02);
        }
        if delay > HIGH_DELAY {
            step += 0.02;
        }
        self.probability = (probability + step).clamp(0.0, 1.0);
        // A delay of zero was not measured if packets wait, so ignore it.
        if delay == Span::ZERO && delay_before == Span::ZERO && backlog == Bytes::ZERO {
            self.probability -= self.probability / 64.0;
        }
        let quiet = delay < self.target / 2 && delay_before < self.target / 2;
        if quiet && self.probability == 0.0 {
            self.burst = MAX_BURST;
            self.accumulated = 0.0;
            self.last_departure = None;
        }
        self.delay_before = delay;
    }

    /// Returns whether an update would change nothing.
    fn at_rest(&self) -> bool {
        self.probability == 0.0
            && self.burst == MAX_BURST
            && (self.delay, self.delay_before) == (Span::ZERO, Span::ZERO)
    }

    /// RFC 8033 §4.1, §4.4 and §5.4: whether an arrival is dropped or marked.
    #[inline]
    fn drops(&mut self, backlog: Bytes, share: f64, rng: &mut Rng) -> bool {
        let harmless = self.delay < self.target / 2 && self.probability < 0.2;
        if self.burst > Span::ZERO || harmless || backlog < PACKET * 2 {
            return false;
        }
        let probability = self.probability * share;
        if probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += probability;
        let drops = self.accumulated >= SURELY_NOT
            && (self.accumulated >= SURELY || rng.chance(probability));
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }

    #[inline]
    fn departs(&mut self, now: Time, arrived: Time, backlog: Bytes) {
        self.delay = if backlog == Bytes::ZERO {
            Span::ZERO
        } else {
            now - arrived
        };
        if let Some(last) = self.last_departure {
            self.burst = self.burst.saturating_sub(now - last);
        }
        self.last_departure = Some(now);
    }
}

/// RFC 8033 §4.2: scales the gains down while the probability is low.
fn scale(probability: f64) -> f64 {
    const LADDER: [(f64, f64); 6] = [
        (0.000_001, 1.0 / 2048.0),
        (0.000_01, 1.0 / 512.0),
        (0.000_1, 1.0 / 128.0),
        (0.001, 1.0 / 32.0),
        (0.01, 1.0 / 8.0),
        (0.1, 1.0 / 2.0),
    ];
    LADDER
        .iter()
        .find(|(below, _)| probability < *below)
        .map_or(1.0, |(_, scale)| *scale)
}

/// The state of a `pie` queue.
#[derive(Clone, Debug)]
pub(super) struct Pie<P> {
    limit: Limit,
    ecn: bool,
    bytemode: bool,
    tupdate: Span,
    next_update: Time,
    controller: Controller,
    rng: Rng,
    fifo: Fifo<P>,
}

impl<P: Copy> Discipline<P> for Pie<P> {
    fn new(config: &Config, limit: Limit, _rate: Rate, rng: Rng) -> Pie<P> {
        let tupdate = config.some_time("tupdate");
        Pie {
            limit,
            ecn: config.flag("ecn"),
            bytemode: config.flag("bytemode"),
            tupdate,
            next_update: Time::ZERO + tupdate,
            controller: Controller {
                target: config.some_time("target"),
                alpha: config.number("alpha") / 16.0,
                beta: config.number("beta") / 16.0,
                probability: 0.0,
                accumulated: 0.0,
                delay: Span::ZERO,
                delay_before: Span::ZERO,
                burst: MAX_BURST,
                last_departure: None,
            },
            rng,
            fifo: Fifo::default(),
        }
    }

    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        self.catch_up(now);
        let Pie {
            limit,
            controller,
            fifo,
            ..
        } = self;
        if !limit.has_room(fifo.packets(), fifo.bytes(), packet.size) {
            controller.accumulated = 0.0;
            return dropped(packet);
        }
        let share = if self.bytemode {
            (packet.size.as_f64() / PACKET.as_f64()).min(1.0)
        } else {
            1.0
        };
        let drops = controller.drops(fifo.bytes(), share, &mut self.rng);
        if drops && !(self.ecn && controller.probability <= MOST_MARKED && packet.mark()) {
            return dropped(packet);
        }
        fifo.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        self.catch_up(now);
        let packet = self.fifo.pop()?;
        self.controller
            .departs(now, packet.arrived, self.fifo.bytes());
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> (u64, Bytes) {
        (self.fifo.packets(), self.fifo.bytes())
    }

    fn limit(&mut self) -> &mut Limit {
        &mut self.limit
    }
}

impl<P: Copy> Pie<P> {
    /// Catches up on updates that were due. Between two packets nothing changes except the time, so
    /// this is exact.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            self.controller.update(self.fifo.bytes());
            self.next_update += self.tupdate;
            if self.next_update <= now && self.controller.at_rest() {
                let late = now - self.next_update;
                self.next_update += self.tupdate * (late.as_nanos() / self.tupdate.as_nanos());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the step of the probability from `before`, with a delay in ms now and at the
    /// previous update.
    fn step(before: f64, delay: u64, delay_before: u64) -> f64 {
        let config = Config::new(&DESCRIPTOR);
        let mut controller = Pie::<()>::new(
            &config,
            Limit::Packets(1_000),
            Rate::from_mbps(12),
            Rng::stream(1, "", ""),
        )
        .controller;
        controller.probability = before;
        (controller.delay, controller.delay_before) =
            (Span::from_millis(delay), Span::from_millis(delay_before));
        controller.update(Bytes::new(100_000));
        controller.probability - before
    }

    /// RFC 8033 §4.2: 25 ms at a target of 15 ms give 0.125 Hz x 10 ms = 0.00125, scaled down for
    /// small probabilities.
    #[test]
    fn the_gain_climbs_a_ladder() {
        let rungs = [
            (0.0, 2048.0),
            (5e-6, 512.0),
            (5e-5, 128.0),
            (5e-4, 32.0),
            (5e-3, 8.0),
            (0.05, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ];
        for (probability, divisor) in rungs {
            let step = step(probability, 25, 25);
            assert!(
                (step - 0.00125 / divisor).abs() < 1e-12,
                "{step} at {probability}"
            );
        }
    }

    /// A delay that has grown by as much adds 1.25 Hz x 10 ms.
    #[test]
    fn growth_counts_tenfold_and_steps_have_a_limit() {
        assert!((step(0.05, 25, 15) - (0.00125 + 0.0125) / 2.0).abs() < 1e-12);
        assert!(
            (step(0.2, 200, 0) - 0.02).abs() < 1e-12,
            "§5.5: at most 2 % per step from a probability of 10 % on"
        );
        assert!(
            (step(0.2, 300, 0) - 0.04).abs() < 1e-12,
            "Linux adds 2 % above 250 ms"
        );
        assert!(
            (step(0.09, 200, 0) - 0.136_562_5).abs() < 1e-12,
            "below 10 % there is no limit"
        );
        assert_eq!(step(0.99, 300, 0), 1.0 - 0.99, "a probability");
    }
}
