//! A transport whose states and calls are those that TCP or QUIC can produce. It checks that the
//! controller keeps its side of the contract, and stops at the first breach.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_units::{Bytes, Rng, Span, Time};

use super::steps::{Arrival, Kind, Step};
use super::{Broken, rules};
use crate::replay::{Call, Event};
use crate::{
    AnyController, CaState, Config, Conn, Controller, Decision, Descriptor, LossCause, Lost,
    PathChange, Recovery, RecoveryOwner, Shared, Snapshot,
};

const SMSS: Bytes = Bytes::new(1_448);

/// A packet in flight, or a lost one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) number: u64,
    /// Place of its data in the sequence.
    pub(super) seq: u64,
    pub(super) snapshot: Snapshot,
}

impl Packet {
    pub(super) fn size(&self) -> Bytes {
        Bytes::new(self.snapshot.size.into())
    }
}

/// The transport of one flow, without a network: [`Step`]s take the network's place.
#[derive(Debug)]
pub struct Transport {
    pub(super) kind: Kind,
    pub(super) descriptor: &'static Descriptor,
    pub(super) cc: AnyController,
    pub(super) rng: Rng,
    pub(super) now: Time,
    pub(super) conn: Conn,
    pub(super) decision: Decision,
    /// Packets in flight, in the order of sending.
    pub(super) flight: VecDeque<Packet>,
    /// Lost data that was not sent again (TCP), and SACKed data, by place in the sequence.
    pub(super) lost: BTreeMap<u64, Packet>,
    pub(super) sacked: BTreeMap<u64, Bytes>,
    pub(super) una: u64,
    pub(super) next: u64,
    pub(super) next_number: u64,
    /// The episode lasts until the data before this place (TCP) or this packet (QUIC) is
    /// acknowledged.
    pub(super) point: u64,
    pub(super) can_undo: bool,
    /// SND.UNA at the last timeout.
    pub(super) timed_out: Option<u64>,
    pub(super) first_sent: Time,
    pub(super) delivered_at: Time,
    /// Every call, and the decision after it.
    pub(super) events: Vec<Event>,
    pub(super) decisions: Vec<Decision>,
    /// The place of the call that last left the window below a new segment size, and that window.
    outgrown: Option<(usize, Bytes)>,
    /// The first breach of the contract. Steps after it do nothing.
    pub(super) broken: Option<Broken>,
}

/// The random stream of every controller under test.
pub(super) fn rng() -> Rng {
    Rng::stream(1, "flow", "cc")
}

impl Transport {
    /// Builds the controller of a flow, for a transport of this kind.
    pub fn new(
        kind: Kind,
        descriptor: &'static Descriptor,
        config: &Config,
        shared: &mut Shared,
    ) -> Transport {
        let cc = (descriptor.build)(config, shared);
        let (decision, quic) = (cc.decision(), kind == Kind::Quic);
        let mut conn = Conn::new(Time::ZERO, SMSS, if quic { 1 } else { 3 });
        if !quic {
            // The handshake's.
            (conn.srtt, conn.min_rtt) = (Span::from_millis(20), Span::from_millis(20));
        }
        Transport {
            kind,
            descriptor,
            cc,
            rng: rng(),
            now: Time::ZERO,
            conn,
            decision,
            flight: VecDeque::new(),
            lost: BTreeMap::new(),
            sacked: BTreeMap::new(),
            una: 0,
            next: 0,
            next_number: 0,
            point: 0,
            can_undo: false,
            timed_out: None,
            first_sent: Time::ZERO,
            delivered_at: Time::ZERO,
            events: Vec::new(),
            decisions: Vec::new(),
            outgrown: None,
            broken: None,
        }
    }

    pub(super) fn is_quic(&self) -> bool {
        self.kind == Kind::Quic
    }

    /// Makes the call, records it, and checks the decision.
    pub(super) fn call(&mut self, call: Call) {
        if self.broken.is_some() {
            return;
        }
        let event = Event {
            now: self.now,
            conn: self.conn.clone(),
            call,
        };
        let before = self.cc.decision();
        let reads = event.apply(&mut self.cc, &mut self.rng);
        let decision = self.cc.decision();
        let mut row = Vec::new();
        self.cc.observe(&mut row);
        let unread = (!reads).then_some(before);
        let breach = rules::breach(self.descriptor, &event, unread, &decision)
            .or_else(|| rules::breach_of_row(self.descriptor, &row));
        if let Some(breach) = breach {
            // A window that a change of the segment size left too small may be used only later,
            // when the transport no longer owns it.
            let cause = self
                .outgrown
                .take()
                .filter(|(_, cwnd)| *cwnd == decision.cwnd);
            let cause = cause.map_or(&event, |(change, _)| &self.events[change]);
            let (problem, fix) = breach.of(cause);
            self.broken = Some(Broken {
                algorithm: self.descriptor.name,
                after: Some((rules::name(&cause.call), cause.now)),
                problem,
                fix,
                steps: Vec::new(),
            });
            return;
        }
        if event.call == Call::Path(PathChange::Mtu) {
            let outgrown = decision.cwnd < self.conn.smss;
            self.outgrown = outgrown.then_some((self.events.len(), decision.cwnd));
        }
        self.decision = decision;
        self.conn.pace(decision.pacing_rate);
        self.events.push(event);
        self.decisions.push(decision);
    }

    /// The flow makes no progress, whatever happens.
    fn stuck(&mut self, problem: &str) {
        let (cwnd, smss) = (self.decision.cwnd, self.conn.smss);
        let (problem, fix) = if cwnd < smss {
            let fix = "windows are in bytes: keep it at conn.smss or above";
            (rules::small(cwnd.get(), smss.get()), fix)
        } else {
            let fix = "let the window admit a segment when nothing is in flight";
            (problem.to_owned(), fix)
        };
        self.broken.get_or_insert_with(|| Broken {
            algorithm: self.descriptor.name,
            after: None,
            problem,
            fix: fix.to_owned(),
            steps: Vec::new(),
        });
    }

    /// Returns whether the flow has ended.
    pub fn has_ended(&self) -> bool {
        self.events
            .last()
            .is_some_and(|event| event.call == Call::End)
    }

    /// Returns the first breach of the contract.
    pub fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    /// Returns every call so far, with the decision after it.
    pub fn calls(&self) -> impl Iterator<Item = (&Event, &Decision)> {
        self.events.iter().zip(&self.decisions)
    }

    /// Makes the calls that `step` causes.
    pub fn play(&mut self, step: &Step) {
        if self.broken.is_some() {
            return;
        }
        match *step {
            Step::Wait(span) => self.now += span,
            Step::Send(packets) => self.send(packets),
            Step::Ack(arrival) => self.receive(&arrival),
            Step::Timeout { keeps } => self.time_out(keeps),
            Step::AppLimited(limited) => self.conn.app_limited = limited,
            Step::Timer => {
                if let Some(at) = self.decision.wake_at {
                    self.now = self.now.max(at);
                    self.call(Call::Timer);
                }
            }
            Step::Mtu(smss) if self.is_quic() => {
                self.conn.smss = smss;
                self.call(Call::Path(PathChange::Mtu));
            }
            Step::Path(change) if self.is_quic() => self.call(Call::Path(change)),
            Step::Mtu(_) | Step::Path(_) => {}
        }
        self.conn.next_departure = self.conn.next_departure.max(self.now);
    }

    fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            let prr = self.descriptor.recovery == RecoveryOwner::Prr && self.conn.in_recovery();
            // PRR never withholds the fast retransmit.
            let window = if prr {
                self.decision.ssthresh.max(self.conn.smss)
            } else {
                self.decision.cwnd
            };
            let again = self.lost.first_key_value().map(|(_, packet)| *packet);
            let size = again.map_or(self.conn.smss, |packet| packet.size());
            self.conn.cwnd_limited = self.conn.inflight + size > window;
            if self.conn.cwnd_limited {
                return;
            }
            if self.flight.is_empty() {
                (self.first_sent, self.delivered_at) = (self.now, self.now);
            }
            let seq = again.map_or(self.next, |packet| packet.seq);
            self.lost.remove(&seq);
            self.next = self.next.max(seq + 1);
            self.conn.inflight += size;
            let snapshot = Snapshot {
                sent: self.now,
                first_sent: self.first_sent,
                delivered_at: self.delivered_at,
                delivered: self.conn.delivered,
                delivered_ce: self.conn.delivered_ce,
                lost: self.conn.lost,
                inflight: self.conn.inflight,
                size: size.get() as u16,
                app_limited: self.conn.app_limited,
                ecn: self.decision.ecn,
                retransmit: again.is_some(),
            };
            let number = self.next_number;
            self.next_number += 1;
            self.flight.push_back(Packet {
                number,
                seq,
                snapshot,
            });
            self.call(Call::Sent(snapshot));
            let gap = self.decision.pacing_rate;
            self.conn.next_departure += gap.map_or(Span::ZERO, |rate| rate.time_for(size));
        }
    }

    pub(super) fn lose(&mut self, packet: Packet, cause: LossCause) {
        self.conn.inflight -= packet.size();
        self.conn.lost += packet.size();
        let new_range = packet.seq == 0 || !self.lost.contains_key(&(packet.seq - 1));
        if !self.is_quic() {
            self.lost.insert(packet.seq, packet);
        }
        self.call(Call::Lost(Lost {
            packet: packet.snapshot,
            lost_since_sent: self.conn.lost - packet.snapshot.lost,
            new_range,
            cause,
        }));
    }

    fn time_out(&mut self, keeps: usize) {
        if self.is_quic() || self.una == self.next {
            return;
        }
        let (state, again) = (self.conn.state, self.timed_out == Some(self.una));
        let again = again && state == CaState::Loss;
        // The first segment is lost in any case.
        let head = |packet: &Packet| packet.seq == self.una;
        let lost = self.flight.len().saturating_sub(keeps);
        let lost = lost.max(
            self.flight
                .iter()
                .position(head)
                .map_or(0, |place| place + 1),
        );
        for packet in self.flight.drain(..lost).collect::<Vec<_>>() {
            self.lose(packet, LossCause::Rto);
        }
        self.point = self.next;
        self.timed_out = Some(self.una);
        self.can_undo = matches!(state, CaState::Open | CaState::Loss);
        self.change(CaState::Loss, Recovery::Timeout { again });
    }

    /// Ends the flow, whose data is all acknowledged.
    pub fn end(&mut self) {
        self.call(Call::End);
    }

    /// Acknowledges all data, and checks that more can be sent.
    pub fn drain(&mut self) {
        let everything = Arrival {
            skips: 0,
            loses: false,
            acks: usize::MAX / 2,
            marked: 0,
            spurious: false,
            repaired: false,
            persistent: false,
        };
        self.conn.app_limited = false;
        let mut rounds = 0;
        while self.broken.is_none() && (rounds < 3 || self.is_repairing()) {
            let before = self.conn.delivered;
            self.send(u64::from(rounds < 3) + self.lost.len() as u64);
            self.now += Span::from_millis(1);
            self.receive(&everything);
            if self.conn.delivered == before {
                self.stuck(if rounds < 3 {
                    "the flow no longer sends data"
                } else {
                    "the flow repairs no losses"
                });
            }
            rounds += 1;
        }
        let empty = self.conn.inflight == Bytes::ZERO;
        debug_assert!(empty || self.broken.is_some(), "all data was acknowledged");
    }
}
