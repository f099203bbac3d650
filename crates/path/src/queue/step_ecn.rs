//! `step_ecn`: marks every packet beyond a threshold, as DCTCP requires (RFC 8257 §3.1).

use fullpipe_units::{Bytes, Rate, Rng, Time};

use super::descriptor::{Config, Depth, Descriptor, Domain, Param, no_check};
use super::packet::{Fifo, Packet};
use super::{Discipline, Dropped};
use crate::Limit;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    name: "step_ecn",
    purpose: "Marks every ECN-capable packet that finds the queue above a threshold, as switches do for DCTCP.",
    specifications: &[
        ("RFC 8257 §3.1", "the mark"),
        (
            "Alizadeh et al. 2010 §3.1",
            "the threshold K for the instantaneous queue, 65 packets at 10 Gbit/s",
        ),
    ],
    limit: None,
    in_bytes: false,
    params: &[
        Param {
            name: "threshold",
            domain: Domain::Depth(Depth::Packets(65)),
            otherwise: "",
            purpose: "queue length above which packets are marked; a time is compared with a packet's waiting time when it leaves",
            section: "RFC 8257 §3.1",
        },
        Param {
            name: "drop_not_ect",
            domain: Domain::Flag(false),
            otherwise: "",
            purpose: "drop packets beyond the threshold that are not ECN-capable, as a switch's RED profile does",
            section: "RFC 8257 §5",
        },
    ],
    aqm: true,
    random: false,
    check: no_check,
};

/// The state of a `step_ecn` queue.
#[derive(Clone, Debug)]
pub(super) struct StepEcn<P> {
    limit: Limit,
    threshold: Depth,
    drop_not_ect: bool,
    fifo: Fifo<P>,
}

impl<P: Copy> Discipline<P> for StepEcn<P> {
    fn new(config: &Config, limit: Limit, _rate: Rate, _rng: Rng) -> StepEcn<P> {
        let (threshold, drop_not_ect) = (config.depth("threshold"), config.flag("drop_not_ect"));
        StepEcn {
            limit,
            threshold,
            drop_not_ect,
            fifo: Fifo::default(),
        }
    }

    #[inline]
    fn enqueue(&mut self, _now: Time, mut packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        let (packets, bytes): (u64, Bytes) = (self.fifo.packets(), self.fifo.bytes());
        let beyond = match self.threshold {
            Depth::Packets(most) => packets > most,
            Depth::Bytes(most) => bytes > most,
            Depth::Time(_) => false,
        };
        let dies = beyond && !packet.mark() && self.drop_not_ect;
        if dies || !self.limit.has_room(packets, bytes, packet.size) {
            return dropped(packet);
        }
        self.fifo.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        while let Some(mut packet) = self.fifo.pop() {
            let beyond = matches!(self.threshold, Depth::Time(most) if now - packet.arrived > most);
            if !beyond || packet.mark() || !self.drop_not_ect {
                return Some(packet);
            }
            dropped(packet);
        }
        None
    }

    #[inline]
    fn backlog(&self) -> (u64, Bytes) {
        (self.fifo.packets(), self.fifo.bytes())
    }

    fn limit(&mut self) -> &mut Limit {
        &mut self.limit
    }
}
