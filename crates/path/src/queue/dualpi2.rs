//! `dualpi2`: the coupled dual queue for L4S (RFC 9332), as implemented in Linux.

use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::descriptor::{Config, Depth, Descriptor, Domain, Param, no_check};
use super::packet::{Fifo, Packet};
use super::{Discipline, Dropped, EcnCodepoint, PACKET};
use crate::Limit;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    name: "dualpi2",
    purpose: "Two coupled queues: L4S traffic waits for about a millisecond, classic traffic for about the target, at similar rates.",
    specifications: &[
        (
            "RFC 9332",
            "classifier, coupling, squared probability, overload",
        ),
        (
            "Linux net/sched/sch_dualpi2.c",
            "options, defaults, step marking, weighted round robin",
        ),
    ],
    limit: Some(10_000),
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
            purpose: "target delay of the classic queue",
            section: "RFC 9332 A.1",
        },
        Param {
            name: "tupdate",
            domain: Domain::Time(
                Some(Span::from_millis(16)),
                Span::from_micros(1),
                Span::from_secs(100),
            ),
            otherwise: "",
            purpose: "time between updates of the probability",
            section: "RFC 9332 A.1",
        },
        Param {
            name: "alpha",
            domain: Domain::Number(Some(41.0 / 256.0), 0.0, 1e6),
            otherwise: "",
            purpose: "integral gain: weight of the distance to target, in Hz",
            section: "RFC 9332 A.1",
        },
        Param {
            name: "beta",
            domain: Domain::Number(Some(819.0 / 256.0), 0.0, 1e6),
            otherwise: "",
            purpose: "proportional gain: weight of the change of the delay, in Hz",
            section: "RFC 9332 A.1",
        },
        Param {
            name: "coupling_factor",
            domain: Domain::Number(Some(2.0), 1.0, 255.0),
            otherwise: "",
            purpose: "k: L4S packets are marked with k times the base probability, classic packets with its square",
            section: "RFC 9332 §2.1",
        },
        Param {
            name: "step_thresh",
            domain: Domain::Depth(Depth::Time(Span::from_millis(1))),
            otherwise: "",
            purpose: "mark all L4S packets beyond this threshold",
            section: "RFC 9332 A.1, Linux",
        },
        Param {
            name: "min_qlen_step",
            domain: Domain::Count(Some(0), 0, 1_000_000),
            otherwise: "",
            purpose: "exempt L4S packets that find fewer L4S packets waiting from the step threshold; 1 exempts a lone packet, for slow links",
            section: "RFC 9332 A.2 Th_len, Linux",
        },
        Param {
            name: "classic_protection",
            domain: Domain::Number(Some(10.0), 0.0, 100.0),
            otherwise: "",
            purpose: "minimum share of the link for the classic queue, in percent",
            section: "RFC 9332 §4.2.2, Linux",
        },
        Param {
            name: "drop_on_overload",
            domain: Domain::Flag(true),
            otherwise: "",
            purpose: "also drop L4S packets when marking all of them is not enough; otherwise the queue grows to its limit",
            section: "RFC 9332 §4.2.3",
        },
        Param {
            name: "any_ect",
            domain: Domain::Flag(false),
            otherwise: "",
            purpose: "put every ECN-capable packet into the L4S queue, not only ECT(1) and CE",
            section: "RFC 9332 §2.3, Linux",
        },
    ],
    aqm: true,
    random: true,
    check: no_check,
};

/// The state of a `dualpi2` queue.
#[derive(Clone, Debug)]
pub(super) struct DualPi2<P> {
    limit: Limit,
    target: Span,
    tupdate: Span,
    alpha: f64,
    beta: f64,
    coupling: f64,
    step: Depth,
    min_step: u64,
    weight: i64,
    drop_on_overload: bool,
    any_ect: bool,
    /// Base probability p', from which the other probabilities follow.
    base: f64,
    delay_before: Span,
    next_update: Time,
    /// Credit of the round robin: the classic queue's turn if positive, otherwise the L4S queue's.
    credit: i64,
    rng: Rng,
    classic: Fifo<P>,
    l4s: Fifo<P>,
}

impl<P: Copy> Discipline<P> for DualPi2<P> {
    fn new(config: &Config, limit: Limit, _rate: Rate, rng: Rng) -> DualPi2<P> {
        let tupdate = config.some_time("tupdate");
        let mut queue = DualPi2 {
            limit,
            target: config.some_time("target"),
            tupdate,
            alpha: config.number("alpha"),
            beta: config.number("beta"),
            coupling: config.number("coupling_factor"),
            step: config.depth("step_thresh"),
            min_step: config.some_count("min_qlen_step"),
            weight: config.number("classic_protection") as i64,
            drop_on_overload: config.flag("drop_on_overload"),
            any_ect: config.flag("any_ect"),
            base: 0.0,
            delay_before: Span::ZERO,
            next_update: Time::ZERO + tupdate,
            credit: 0,
            rng,
            classic: Fifo::default(),
            l4s: Fifo::default(),
        };
        queue.reset_credit();
        queue
    }

    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        self.catch_up(now);
        let (packets, bytes) = self.backlog();
        if !self.limit.has_room(packets, bytes, packet.size) {
            return dropped(packet);
        }
        if self.is_l4s(packet.ecn) {
            // A.2: decided on arrival, since otherwise the last packet of a burst would be exempt.
            packet.exempt = self.l4s.packets() < self.min_step;
            self.l4s.push(packet);
        } else {
            self.classic.push(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        self.catch_up(now);
        loop {
            let waiting = (self.l4s.packets() > 0, self.classic.packets() > 0);
            // Weighted round robin while packets wait in both queues (Linux): L4S has its turn up
            // to a credit of zero.
            let from_l4s = match waiting {
                (false, false) => {
                    self.reset_credit();
                    return None;
                }
                (l4s, classic) => l4s && (!classic || self.credit <= 0),
            };
            let mut packet = if from_l4s {
                self.l4s.pop()
            } else {
                self.classic.pop()
            }?;
            if self.must_drop(&mut packet, from_l4s)
                || (from_l4s && self.steps_out(now, &mut packet))
            {
                dropped(packet);
                continue;
            }
            let other = if from_l4s { &self.classic } else { &self.l4s };
            if other.packets() > 0 {
                let weight = if from_l4s {
                    self.weight
                } else {
                    self.weight - 100
                };
                self.credit += weight * packet.size.get() as i64;
            }
            return Some(packet);
        }
    }

    #[inline]
    fn backlog(&self) -> (u64, Bytes) {
        (
            self.classic.packets() + self.l4s.packets(),
            self.classic.bytes() + self.l4s.bytes(),
        )
    }

    fn limit(&mut self) -> &mut Limit {
        &mut self.limit
    }
}

impl<P: Copy> DualPi2<P> {
    /// RFC 9332 A.2, `dualpi2_update`: proportional and integral control of the longer delay.
    fn update(&mut self, now: Time) {
        let waited = |head: Option<Time>| head.map_or(Span::ZERO, |arrived| now.since(arrived));
        let delay = waited(self.classic.head()).max(waited(self.l4s.head()));
        let seconds = |span: Span| span.as_secs_f64();
        self.base += self.alpha * (seconds(delay) - seconds(self.target))
            + self.beta * (seconds(delay) - seconds(self.delay_before));
        let most = if self.drop_on_overload {
            1.0
        } else {
            1.0 / self.coupling
        };
        self.base = self.base.clamp(0.0, most);
        self.delay_before = delay;
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            self.update(self.next_update);
            self.next_update += self.tupdate;
            let at_rest =
                self.base == 0.0 && self.delay_before == Span::ZERO && self.backlog().0 == 0;
            if self.next_update <= now && at_rest {
                let late = now - self.next_update;
                self.next_update += self.tupdate * (late.as_nanos() / self.tupdate.as_nanos());
            }
        }
    }

    /// RFC 9332 §2.3 and RFC 9331 §5.1: L4S packets carry ECT(1) or CE.
    #[inline]
    fn is_l4s(&self, ecn: EcnCodepoint) -> bool {
        match ecn {
            EcnCodepoint::Ect1 | EcnCodepoint::Ce => true,
            EcnCodepoint::Ect0 => self.any_ect,
            EcnCodepoint::NotEct => false,
        }
    }

    fn reset_credit(&mut self) {
        self.credit = PACKET.get() as i64 * (2 * self.weight - 100);
    }

    /// Marks a packet with the probability of its queue; returns true if it must be dropped
    /// instead.
    #[inline]
    fn must_drop(&mut self, packet: &mut Packet<P>, is_l4s: bool) -> bool {
        if self.backlog().1 < PACKET * 2 {
            return false;
        }
        // RFC 9332 A.1: p_C = p'^2, p_CL = k p'.
        let coupled = self.base * self.coupling;
        let overload = coupled > 1.0;
        if !is_l4s {
            return self.squared() && (overload || !packet.mark());
        }
        if overload {
            // §4.2.3: on overload, L4S packets are dropped like classic packets, before they are
            // marked.
            let drop = self.drop_on_overload && self.squared();
            return drop || !packet.mark();
        }
        self.rng.chance(coupled) && !packet.mark()
    }

    /// True with probability p'^2: two draws, no product (RFC 9332 A.1).
    #[inline]
    fn squared(&mut self) -> bool {
        self.rng.chance(self.base) && self.rng.chance(self.base)
    }

    /// Applies the L4S queue's step threshold; returns true if a packet beyond it cannot be marked.
    #[inline]
    fn steps_out(&self, now: Time, packet: &mut Packet<P>) -> bool {
        let beyond = match self.step {
            Depth::Packets(most) => self.l4s.packets() > most,
            Depth::Bytes(most) => self.l4s.bytes() > most,
            Depth::Time(most) => now - packet.arrived > most,
        };
        beyond && !packet.exempt && !packet.mark()
    }
}
