//! `codel`: controlled delay (RFC 8289), as implemented in Linux.

use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::descriptor::{Config, Descriptor, Domain, Param, no_check};
use super::packet::{Fifo, Packet};
use super::{Discipline, Dropped, PACKET};
use crate::Limit;

/// Parameters of the control of a queue's delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    target: Span,
    interval: Span,
    ecn: bool,
    ce_threshold: Option<Span>,
}

impl Law {
    pub(super) fn new(config: &Config) -> Law {
        Law {
            target: config.some_time("target"),
            interval: config.some_time("interval"),
            ecn: config.flag("ecn"),
            ce_threshold: config.time("ce_threshold"),
        }
    }

    /// RFC 8289 §3.3: the next drop follows after an interval divided by the square root of the
    /// number of drops so far.
    #[inline]
    fn next(&self, from: Time, root: InverseRoot) -> Time {
        let share = u128::from(self.interval.as_nanos()) * u128::from(root.0);
        from + Span::from_nanos((share >> 16) as u64)
    }
}

/// 1/√count in units of 2^-16 (Linux: `rec_inv_sqrt`). One Newton step follows each change of the
/// count, so the values of small counts are inexact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct InverseRoot(u16);

impl InverseRoot {
    const ONE: InverseRoot = InverseRoot(u16::MAX);

    /// Returns the value after one step (Linux: codel_Newton_step): x · (3 - count · x²) / 2.
    #[inline]
    fn step(self, count: u32) -> InverseRoot {
        let x = u64::from(self.0) << 16;
        let squared = (x * x) >> 32;
        // Wraps, as Linux does, after drops that added many to the count at once.
        let bracket = (3_u64 << 32).wrapping_sub(u64::from(count) * squared);
        InverseRoot(((bracket >> 2).wrapping_mul(x) >> 31 >> 16) as u16)
    }
}

/// The state of one controlled queue (RFC 8289 §5.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    /// Time at which the delay will have been above target for an interval.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Count of drops that sets the drop rate, and its value when dropping last began.
    pub(super) count: u32,
    last_count: u32,
    root: InverseRoot,
}

impl Control {
    /// RFC 8289 §5.6: whether the delay has stayed above target for an interval, and more than one
    /// packet waits.
    #[inline]
    fn may_drop<P>(&mut self, law: &Law, now: Time, packet: &Packet<P>, backlog: Bytes) -> bool {
        if now.since(packet.arrived) < law.target || backlog <= PACKET {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + law.interval);
                false
            }
            Some(at) => now > at,
        }
    }

    /// Takes the next packet to send (RFC 8289 §5.5). `pop` returns the first packet with the bytes
    /// behind it.
    #[inline]
    pub(super) fn dequeue<P>(
        &mut self,
        law: &Law,
        now: Time,
        mut pop: impl FnMut() -> Option<(Packet<P>, Bytes)>,
        dropped: &mut impl Dropped<P>,
    ) -> Option<Packet<P>> {
        let mut next = self.take(law, now, &mut pop);
        let Some((_, may_drop)) = next else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                // A marked packet counts as dropped but is sent, so at most one is marked.
                self.count += 1;
                self.root = self.root.step(self.count);
                let (mut packet, _) = next.take()?;
                let marked = law.ecn && packet.mark();
                if marked {
                    next = Some((packet, true));
                } else {
                    dropped(packet);
                    next = self.take(law, now, &mut pop);
                    self.dropping = next.as_ref().is_some_and(|(_, may_drop)| *may_drop);
                }
                if self.dropping {
                    self.drop_next = law.next(self.drop_next, self.root);
                }
                if marked {
                    break;
                }
            }
        } else if may_drop {
            let (mut packet, _) = next.take()?;
            if law.ecn && packet.mark() {
                next = Some((packet, true));
            } else {
                dropped(packet);
                next = self.take(law, now, &mut pop);
            }
            self.dropping = true;
            // §5.5: the count resumes at the drops added last time, if dropping ended recently. Before the
            // first time it did not: Linux' `drop_next` is 0 then, and its clock runs since boot.
            let drops = self.count.wrapping_sub(self.last_count);
            let recent = self.last_count > 0 && now.since(self.drop_next) < law.interval * 16;
            (self.count, self.root) = if drops > 1 && recent {
                (drops, self.root.step(drops))
            } else {
                (1, InverseRoot::ONE)
            };
            self.last_count = self.count;
            self.drop_next = law.next(now, self.root);
        }
        let (mut packet, _) = next?;
        if law
            .ce_threshold
            .is_some_and(|threshold| now.since(packet.arrived) > threshold)
        {
            packet.mark();
        }
        Some(packet)
    }

    #[inline]
    fn take<P>(
        &mut self,
        law: &Law,
        now: Time,
        pop: &mut impl FnMut() -> Option<(Packet<P>, Bytes)>,
    ) -> Option<(Packet<P>, bool)> {
        let Some((packet, backlog)) = pop() else {
            self.first_above = None;
            return None;
        };
        let may_drop = self.may_drop(law, now, &packet, backlog);
        Some((packet, may_drop))
    }
}

/// The options of CoDel, shared by all queues that use it.
pub(super) const TARGET: Param = Param {
    name: "target",
    domain: Domain::Time(
        Some(Span::from_millis(5)),
        Span::from_nanos(1),
        Span::from_secs(100),
    ),
    otherwise: "",
    purpose: "acceptable standing delay: dropping starts when the delay stays above it for an interval",
    section: "RFC 8289 §3.2",
};
pub(super) const INTERVAL: Param = Param {
    name: "interval",
    domain: Domain::Time(
        Some(Span::from_millis(100)),
        Span::from_nanos(1),
        Span::from_secs(100),
    ),
    otherwise: "",
    purpose: "time that the delay may stay above target before the first drop",
    section: "RFC 8289 §3.1",
};
pub(super) const CE_THRESHOLD: Param = Param {
    name: "ce_threshold",
    domain: Domain::Time(None, Span::ZERO, Span::from_secs(100)),
    otherwise: "off",
    purpose: "in addition, mark ECN-capable packets that waited longer than this",
    section: "tc-codel(8)",
};
/// Declares whether the queue marks ECN-capable packets.
pub(super) const fn ecn(default: bool) -> Param {
    Param {
        name: "ecn",
        domain: Domain::Flag(default),
        otherwise: "",
        purpose: "mark ECN-capable packets instead of dropping them",
        section: "RFC 8290 §5.2.6, tc-codel(8)",
    }
}

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    name: "codel",
    purpose: "Drops packets at the head, at an increasing rate, when all packets of an interval have waited longer than target.",
    specifications: &[
        ("RFC 8289", "the controller"),
        (
            "Linux net/sched/sch_codel.c",
            "the square root, options, defaults, marks, and how dropping resumes",
        ),
    ],
    limit: Some(1_000),
    in_bytes: false,
    params: &[TARGET, INTERVAL, ecn(false), CE_THRESHOLD],
    aqm: true,
    random: false,
    check: no_check,
};

/// The state of a `codel` queue.
#[derive(Clone, Debug)]
pub(super) struct Codel<P> {
    limit: Limit,
    law: Law,
    control: Control,
    fifo: Fifo<P>,
}

impl<P: Copy> Discipline<P> for Codel<P> {
    fn new(config: &Config, limit: Limit, _rate: Rate, _rng: Rng) -> Codel<P> {
        Codel {
            limit,
            law: Law::new(config),
            control: Control::default(),
            fifo: Fifo::default(),
        }
    }

    #[inline]
    fn enqueue(&mut self, _now: Time, packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        if self
            .limit
            .has_room(self.fifo.packets(), self.fifo.bytes(), packet.size)
        {
            self.fifo.push(packet);
        } else {
            dropped(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        let Codel {
            law, control, fifo, ..
        } = self;
        control.dequeue(
            law,
            now,
            || fifo.pop().map(|packet| (packet, fifo.bytes())),
            dropped,
        )
    }

    #[inline]
    fn backlog(&self) -> (u64, Bytes) {
        (self.fifo.packets(), self.fifo.bytes())
    }

    fn limit(&mut self) -> &mut Limit {
        &mut self.limit
    }
}
