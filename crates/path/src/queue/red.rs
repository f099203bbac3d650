//! `red`: random early detection (Floyd and Jacobson 1993), as implemented in Linux.

use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::descriptor::{Config, Descriptor, Domain, Param, Refusal};
use super::packet::{Fifo, Packet};
use super::{Discipline, Dropped};
use crate::Limit;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    name: "red",
    purpose: "Drops or marks arrivals at random, with a probability that grows with the average queue length.",
    specifications: &[
        (
            "Floyd, Jacobson 1993",
            "average, probability, evenly spread drops, decay of the average while idle",
        ),
        (
            "tc-red(8), Linux include/net/red.h",
            "options, defaults, weights as powers of two",
        ),
    ],
    limit: None,
    in_bytes: true,
    params: &[
        Param {
            name: "min",
            domain: Domain::Size(None, Bytes::new(1), Bytes::new(1_000_000_000_000)),
            otherwise: "max / 3",
            purpose: "average queue length from which on arrivals may be marked",
            section: "1993 §4, tc-red(8)",
        },
        Param {
            name: "max",
            domain: Domain::Size(None, Bytes::new(1), Bytes::new(1_000_000_000_000)),
            otherwise: "limit / 4",
            purpose: "average queue length from which on all arrivals are marked",
            section: "1993 §4, tc-red(8)",
        },
        Param {
            name: "probability",
            domain: Domain::Number(Some(0.02), 0.0, 1.0),
            otherwise: "",
            purpose: "marking probability when the average approaches max",
            section: "1993 §4, tc-red(8)",
        },
        Param {
            name: "avpkt",
            domain: Domain::Size(Some(Bytes::new(1_000)), Bytes::new(40), Bytes::new(65_536)),
            otherwise: "",
            purpose: "size of an average packet, for burst and for the decay while idle",
            section: "tc-red(8)",
        },
        Param {
            name: "burst",
            domain: Domain::Count(None, 1, 1_000_000),
            otherwise: "(2 min + max) / (3 avpkt)",
            purpose: "packets that may arrive at once without lifting the average above min; sets the weight of the average",
            section: "1993 §6, tc-red(8)",
        },
        Param {
            name: "ecn",
            domain: Domain::Flag(false),
            otherwise: "",
            purpose: "mark ECN-capable packets instead of dropping them",
            section: "RFC 3168 §5, tc-red(8)",
        },
        Param {
            name: "harddrop",
            domain: Domain::Flag(false),
            otherwise: "",
            purpose: "drop even ECN-capable packets when the average is above max",
            section: "tc-red(8)",
        },
    ],
    aqm: true,
    random: true,
    check,
};

/// Thresholds that result from the options.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    min: Bytes,
    max: Bytes,
    burst: u64,
    avpkt: Bytes,
}

impl Thresholds {
    /// Thresholds as in tc-red(8), which follows Floyd's advice.
    fn new(config: &Config, limit: Bytes) -> Thresholds {
        let max = config.size("max").unwrap_or(limit / 4);
        let min = config.size("min").unwrap_or(max / 3);
        let avpkt = config.some_size("avpkt");
        let burst = config
            .count("burst")
            .unwrap_or((min * 2 + max).get() / (avpkt * 3).get());
        Thresholds {
            min,
            max,
            burst,
            avpkt,
        }
    }

    /// Returns the weight w = 2^-n for the smallest n at which a burst does not lift the average
    /// above min (1993 §6, equation 3): burst + 1 - min/avpkt <= (1 - (1 - w)^burst) / w.
    fn weight(&self) -> Option<f64> {
        let needed = self.burst as f64 + 1.0 - self.min.as_f64() / self.avpkt.as_f64();
        if needed < 1.0 {
            return None;
        }
        let mut weight = 1.0;
        (1..32).find_map(|_| {
            weight /= 2.0;
            (needed <= (1.0 - power(1.0 - weight, self.burst)) / weight).then_some(weight)
        })
    }
}

/// Returns `base` to the power of a whole number.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

fn check(config: &Config, limit: Bytes) -> Result<(), Refusal> {
    let refuse = |name, problem: String, fix: &str| {
        Err(Refusal {
            name,
            problem,
            fix: fix.to_owned(),
        })
    };
    let thresholds = Thresholds::new(config, limit);
    let Thresholds {
        min,
        max,
        burst,
        avpkt,
    } = thresholds;
    if max > limit {
        return refuse(
            "max",
            format!("{max} is more than the limit of {limit}"),
            "give a smaller max, or a larger buffer",
        );
    }
    if min >= max {
        return refuse(
            "min",
            format!("{min} is not less than max, {max}"),
            "give at most half of max",
        );
    }
    if thresholds.weight().is_none() {
        let problem =
            format!("a burst of {burst} packets of {avpkt} is too small to fill min, {min}");
        return refuse("burst", problem, "give a larger burst, or omit it");
    }
    Ok(())
}

/// The state of a `red` queue.
#[derive(Clone, Debug)]
pub(super) struct Red<P> {
    limit: Limit,
    ecn: bool,
    harddrop: bool,
    min: f64,
    max: f64,
    probability: f64,
    weight: f64,
    /// Transmission time of an average packet.
    packet_time: Span,
    average: f64,
    idle_since: Option<Time>,
    /// Arrivals since the last mark, and the uniform draw that places the next mark.
    count: u64,
    next_mark: Option<f64>,
    rng: Rng,
    fifo: Fifo<P>,
}

enum Action {
    Pass,
    Early,
    Hard,
}

impl<P: Copy> Discipline<P> for Red<P> {
    fn new(config: &Config, limit: Limit, rate: Rate, rng: Rng) -> Red<P> {
        let thresholds = Thresholds::new(config, limit.bytes(super::PACKET));
        Red {
            limit,
            ecn: config.flag("ecn"),
            harddrop: config.flag("harddrop"),
            min: thresholds.min.as_f64(),
            max: thresholds.max.as_f64(),
            probability: config.number("probability"),
            weight: thresholds
                .weight()
                .expect("options without a weight are refused"),
            packet_time: rate.time_for(thresholds.avpkt),
            average: 0.0,
            idle_since: Some(Time::ZERO),
            count: 0,
            next_mark: None,
            rng,
            fifo: Fifo::default(),
        }
    }

    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        self.average_at(now);
        let passes = match self.action() {
            Action::Pass => true,
            Action::Early => self.ecn && packet.mark(),
            Action::Hard => self.ecn && !self.harddrop && packet.mark(),
        };
        if passes
            && self
                .limit
                .has_room(self.fifo.packets(), self.fifo.bytes(), packet.size)
        {
            self.fifo.push(packet);
        } else {
            dropped(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        let packet = self.fifo.pop();
        if packet.is_none() && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        packet
    }

    #[inline]
    fn backlog(&self) -> (u64, Bytes) {
        (self.fifo.packets(), self.fifo.bytes())
    }

    fn limit(&mut self) -> &mut Limit {
        &mut self.limit
    }
}

impl<P: Copy> Red<P> {
    /// 1993 §4 and §11: updates the average with the queue that an arrival finds. After an idle
    /// time it decays as if small packets had left.
    #[inline]
    fn average_at(&mut self, now: Time) {
        match self.idle_since.take() {
            None => self.average += self.weight * (self.fifo.bytes().as_f64() - self.average),
            Some(since) => {
                let packets = now.since(since).as_nanos() / self.packet_time.as_nanos().max(1);
                self.average *= power(1.0 - self.weight, packets);
            }
        }
    }

    /// 1993 §4: p_b, which depends on the average alone.
    fn early(&self) -> f64 {
        self.probability * (self.average - self.min) / (self.max - self.min)
    }

    /// 1993 §7, method 2: the number of arrivals from one mark to the next is uniform in 1 to
    /// 1/p_b.
    #[inline]
    fn action(&mut self) -> Action {
        if self.average < self.min {
            self.next_mark = None;
            return Action::Pass;
        }
        if self.average >= self.max {
            self.next_mark = None;
            return Action::Hard;
        }
        let Some(share) = self.next_mark else {
            self.count = 0;
            self.next_mark = Some(self.rng.unit());
            return Action::Pass;
        };
        self.count += 1;
        if (self.count as f64) * self.early() < share {
            return Action::Pass;
        }
        self.count = 0;
        self.next_mark = Some(self.rng.unit());
        Action::Early
    }
}
