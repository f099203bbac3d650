//! An ACK: deliveries, losses, marks, and the episodes that they begin and end.

use fullpipe_units::{Bytes, Rate, Span};

use super::steps::{Arrival, Kind};
use super::transport::{Packet, Transport};
use crate::replay::Call;
use crate::{
    Ack, CaState, EcnCounts, LossCause, RateSample, Recovery, RecoveryCause, RecoveryOwner,
    RttSample, Snapshot,
};

impl Transport {
    pub(super) fn receive(&mut self, arrival: &Arrival) {
        if self.flight.len() <= arrival.skips {
            return;
        }
        let prior_inflight = self.conn.inflight;
        let end = self.flight.len().min(arrival.skips + arrival.acks);
        let acked: Vec<Packet> = self.flight.drain(arrival.skips..end).collect();
        let newest = acked[acked.len() - 1];
        let newly_acked: Bytes = acked.iter().map(Packet::size).sum();
        let cumulative = self.deliver(&acked, newly_acked);
        let (ecn, ece) = self.take_marks(&acked, newly_acked, arrival.marked);
        let advanced = cumulative > Bytes::ZERO;
        let rtt = (advanced || !newest.snapshot.retransmit)
            .then(|| self.take_rtt(self.now - newest.snapshot.sent));
        let undone = arrival.spurious && advanced && self.undo();
        let (before, first_lost) = (self.conn.lost, self.flight.front().copied());
        if arrival.loses && !undone {
            for _ in 0..arrival.skips {
                let packet = self.flight.pop_front().expect("it was skipped");
                self.lose(packet, LossCause::Rack);
            }
        }
        let newly_lost = self.conn.lost - before;
        self.update_episode(newly_lost, first_lost, ece, arrival.persistent);
        let tlp_repair = arrival.repaired && !self.is_quic() && self.lost.is_empty();
        self.call(Call::Ack(Ack {
            newest: newest.snapshot,
            newly_acked,
            cumulative,
            newly_lost,
            prior_inflight,
            rtt,
            one_way: rtt
                .filter(|_| advanced && !self.is_quic())
                .map(|rtt| rtt.raw / 2),
            rate: self.rate_sample(&newest.snapshot),
            ecn,
            ece,
            feedback: None,
            tlp_repair,
        }));
        self.end_episode(&newest, tlp_repair);
    }

    /// Counts delivered data, and returns the bytes by which SND.UNA advanced.
    fn deliver(&mut self, acked: &[Packet], newly_acked: Bytes) -> Bytes {
        let newest = acked[acked.len() - 1].snapshot;
        self.conn.inflight -= newly_acked;
        self.conn.delivered += newly_acked;
        (self.first_sent, self.delivered_at) = (newest.sent, self.now);
        if self.is_quic() {
            return newly_acked;
        }
        // More than three places behind the highest delivered segment.
        let highest = self.sacked.keys().next_back().copied().unwrap_or(self.una);
        let late = acked.iter().any(|packet| packet.seq + 3 < highest);
        self.conn.reordering_seen |= late;
        let sizes = acked.iter().map(|packet| (packet.seq, packet.size()));
        self.sacked.extend(sizes);
        let mut cumulative = Bytes::ZERO;
        while let Some(size) = self.sacked.remove(&self.una) {
            cumulative += size;
            self.una += 1;
        }
        cumulative
    }

    fn take_marks(
        &mut self,
        acked: &[Packet],
        newly_acked: Bytes,
        marked: usize,
    ) -> (EcnCounts, bool) {
        let marked = &acked[..marked.min(acked.len())];
        let bytes: Bytes = marked.iter().map(Packet::size).sum();
        let (any, counts) = (!marked.is_empty(), self.kind == Kind::Counts);
        self.conn.delivered_ce += match (any, counts) {
            (false, _) => Bytes::ZERO,
            (true, true) => bytes,
            (true, false) => newly_acked,
        };
        let packets = match self.kind {
            Kind::Counts => marked.len() as u64,
            Kind::Ece => 0,
            Kind::Quic => u64::from(any),
        };
        let counts = EcnCounts {
            ce_packets: packets,
            ce_bytes: (any && counts).then_some(bytes),
        };
        (counts, any)
    }

    fn take_rtt(&mut self, raw: Span) -> RttSample {
        self.conn.min_rtt = self.conn.min_rtt.min(raw);
        self.conn.srtt = if self.conn.srtt == Span::ZERO {
            raw
        } else {
            (self.conn.srtt * 7 + raw) / 8
        };
        RttSample {
            raw,
            local: raw / 8,
            remote: raw / 4,
        }
    }

    fn rate_sample(&self, newest: &Snapshot) -> RateSample {
        let interval = (newest.sent - newest.first_sent).max(self.now - newest.delivered_at);
        let delivered = self.conn.delivered - newest.delivered;
        let valid = interval >= self.conn.min_rtt && interval > Span::ZERO;
        RateSample {
            rate: valid.then(|| Rate::from_delivery(delivered, interval)),
            interval,
            delivered,
            lost: self.conn.lost - newest.lost,
            delivered_ce: self.conn.delivered_ce - newest.delivered_ce,
            app_limited: newest.app_limited,
        }
    }

    /// Returns whether lost data is being repaired.
    pub(super) fn is_repairing(&self) -> bool {
        let again = |packet: &Packet| packet.snapshot.retransmit;
        !self.lost.is_empty() || (!self.is_quic() && self.flight.iter().any(again))
    }

    pub(super) fn change(&mut self, state: CaState, change: Recovery) {
        self.conn.state = state;
        self.call(Call::Recovery(change));
    }

    /// Begins fast recovery or, after a mark, a reduction.
    fn enter(&mut self, cause: RecoveryCause) {
        self.point = if self.is_quic() {
            self.next_number
        } else {
            self.next
        };
        self.can_undo = cause == RecoveryCause::Loss;
        let state = match cause {
            RecoveryCause::Loss => CaState::Recovery,
            RecoveryCause::Ecn => CaState::Reduced,
        };
        self.change(state, Recovery::Enter(cause));
    }

    fn update_episode(
        &mut self,
        newly_lost: Bytes,
        first_lost: Option<Packet>,
        ece: bool,
        persistent: bool,
    ) {
        let own = self.descriptor.recovery == RecoveryOwner::Own;
        let (state, lost) = (self.conn.state, newly_lost > Bytes::ZERO);
        let anew = if self.is_quic() {
            let later = |packet: Packet| packet.number >= self.point;
            lost && (state == CaState::Open || first_lost.is_some_and(later))
        } else if state.repairs() {
            self.una >= self.point && self.is_repairing()
        } else {
            lost
        };
        if anew && !own && !self.is_quic() && state == CaState::Reduced {
            // The window was already reduced in this round trip.
            (self.conn.state, self.point) = (CaState::Recovery, self.next);
            self.can_undo = false;
        } else if anew {
            let stays = own && state == CaState::Recovery;
            if state != CaState::Open && !stays {
                self.change(CaState::Open, Recovery::Exit);
            }
            self.enter(RecoveryCause::Loss);
            if persistent && self.is_quic() {
                self.call(Call::Recovery(Recovery::Persistent));
            }
        } else if ece && state == CaState::Open {
            self.enter(RecoveryCause::Ecn);
        }
    }

    fn end_episode(&mut self, newest: &Packet, tlp_repair: bool) {
        let over = match (self.is_quic(), self.conn.state) {
            (true, _) => newest.number >= self.point,
            (false, CaState::Reduced) => self.una > self.point,
            (false, _) => self.una >= self.point,
        };
        if self.conn.state != CaState::Open {
            if over {
                self.change(CaState::Open, Recovery::Exit);
            }
        } else if tlp_repair {
            self.enter(RecoveryCause::Loss);
            self.change(CaState::Open, Recovery::Exit);
        }
    }

    /// Undoes the episode, if that is possible: its losses are in flight.
    fn undo(&mut self) -> bool {
        if !(self.can_undo && self.conn.state.repairs()) {
            return false;
        }
        self.can_undo = false;
        for packet in core::mem::take(&mut self.lost).into_values() {
            self.conn.inflight += packet.size();
            self.flight.push_back(packet);
        }
        let order = |packet: &Packet| packet.number;
        self.flight.make_contiguous().sort_unstable_by_key(order);
        self.change(CaState::Open, Recovery::Spurious);
        true
    }
}
