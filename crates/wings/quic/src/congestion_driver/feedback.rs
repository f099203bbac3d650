//! Processing of an ACK: packets that were delivered, lost or marked.

use fullpipe_cc::replay::Call;
use fullpipe_cc::{
    Ack, EcnCounts, LossCause, Lost, Observer, Recovery, RecoveryCause, RttSample, Snapshot,
};
use fullpipe_tcp::rate_sample;
use fullpipe_units::{Bytes, Span, Time};

use super::CongestionDriver;
use crate::event_buffer::BufferedEvent;

/// Data acknowledged and lost by one event, while the event is processed.
#[derive(Debug, Default)]
struct Delivery {
    bytes: Bytes,
    newest: Option<(u64, Snapshot)>,
    lost: Bytes,
    last_lost: Option<u64>,
    /// Each packet, if the controller asks for it.
    each: Vec<Snapshot>,
}

impl CongestionDriver {
    /// Processes ACKs, losses and marks of one event. Returns true if it acknowledged packets that
    /// the driver counts.
    pub(super) fn on_feedback(
        &mut self,
        now: Time,
        event: &BufferedEvent,
        srtt: Span,
        observer: &mut dyn Observer,
    ) -> bool {
        let (prior_inflight, oldest) = (self.conn.inflight, self.ring.oldest());
        let mut delivery = self.acknowledge(&event.acked);
        if let Some(noqs) = event.in_flight {
            self.uncounted = noqs as i64 - self.conn.inflight.get() as i64;
        }
        if event.spurious && self.undo {
            self.leave(now, Recovery::Spurious, observer);
        }
        if event.marked {
            // At least one of these packets was marked; as with the ECE flag, all of them count.
            self.conn.delivered_ce += delivery.bytes;
        }
        let rtt = delivery
            .newest
            .and_then(|newest| self.on_delivered(now, newest, delivery.bytes, srtt, oldest));
        for pn in &event.lost {
            self.lose(now, *pn, &mut delivery, observer);
        }
        let anew = delivery
            .last_lost
            .is_some_and(|pn| self.episode.is_none_or(|episode| pn >= episode.point));
        let over = self.is_over(&delivery);
        if anew {
            self.lost_anew(now, prior_inflight, observer);
            if event.persistent {
                self.call(now, Call::Recovery(Recovery::Persistent), observer);
            }
        } else if event.marked && self.episode.is_none() {
            self.enter(now, RecoveryCause::Ecn, prior_inflight, observer);
        }
        if let Some((_, newest)) = delivery.newest {
            let ack = self.ack(now, newest, &delivery, prior_inflight, rtt, event.marked);
            for packet in delivery.each {
                self.call(now, Call::Acked(packet), observer);
            }
            self.call(now, Call::Ack(ack), observer);
        }
        if over && !anew {
            self.leave(now, Recovery::Exit, observer);
        }
        // PRR reduces the window to the ssthresh of the controller's latest decision.
        if let Some(prr) = &mut self.prr {
            prr.on_ack(
                delivery.bytes,
                self.conn.inflight,
                delivery.lost == Bytes::ZERO && delivery.bytes > Bytes::ZERO,
            );
        }
        delivery.newest.is_some()
    }

    /// Removes acknowledged packets from the data in flight.
    fn acknowledge(&mut self, acked: &[u64]) -> Delivery {
        let mut delivery = Delivery::default();
        for pn in acked {
            if let Some(snapshot) = self.ring.acknowledge(*pn) {
                let size = Bytes::new(snapshot.size.into());
                self.conn.inflight -= size;
                delivery.bytes += size;
                if self.acked_each {
                    delivery.each.push(snapshot);
                }
                if delivery.newest.is_none_or(|(newest, _)| *pn > newest) {
                    delivery.newest = Some((*pn, snapshot));
                }
            }
        }
        delivery
    }

    /// Returns the ACK to pass to the controller.
    fn ack(
        &mut self,
        now: Time,
        newest: Snapshot,
        delivery: &Delivery,
        prior_inflight: Bytes,
        rtt: Option<Span>,
        marked: bool,
    ) -> Ack {
        let rate = rate_sample(now, &self.conn, &newest);
        let rate = self
            .joined
            .join(now, newest.sent, self.conn.delivered, rate);
        self.last = (rtt.or(self.last.0), rate.rate);
        Ack {
            newest,
            newly_acked: delivery.bytes,
            cumulative: delivery.bytes,
            newly_lost: delivery.lost,
            prior_inflight,
            // noq does not report the delay of the ACK.
            rtt: rtt.map(|raw| RttSample {
                raw,
                local: Span::ZERO,
                remote: Span::ZERO,
            }),
            one_way: None,
            rate,
            // At least one packet was marked. The runner refuses algorithms that need the number.
            ecn: EcnCounts {
                ce_packets: u64::from(marked),
                ce_bytes: None,
            },
            ece: marked,
            feedback: None,
            tlp_repair: false,
        }
    }

    /// Updates the counters after an ACK whose most recently sent packet is `newest`. Returns its
    /// RTT sample, if it provides one (RFC 9002 §5.1).
    fn on_delivered(
        &mut self,
        now: Time,
        (pn, newest): (u64, Snapshot),
        bytes: Bytes,
        srtt: Span,
        oldest: u64,
    ) -> Option<Span> {
        self.conn.delivered += bytes;
        self.flight.on_delivered(now, newest.sent, &mut self.conn);
        self.conn.cwnd_limited = oldest < self.cwnd_limited_until;
        if self.largest_acked.is_some_and(|largest| pn < largest) {
            return None;
        }
        self.largest_acked = Some(pn);
        let rtt = now - newest.sent;
        self.conn.min_rtt = self.conn.min_rtt.min(rtt);
        self.conn.srtt = srtt;
        self.meter.on_rtt(now, rtt);
        Some(rtt)
    }

    fn lose(&mut self, now: Time, pn: u64, delivery: &mut Delivery, observer: &mut dyn Observer) {
        let Some((packet, new_range)) = self.ring.lose(pn) else {
            return;
        };
        let size = Bytes::new(packet.size.into());
        self.conn.inflight -= size;
        self.conn.lost += size;
        self.to_repair += 1;
        delivery.lost += size;
        delivery.last_lost = Some(pn);
        let lost_since_sent = self.conn.lost - packet.lost;
        self.call(
            now,
            Call::Lost(Lost {
                packet,
                lost_since_sent,
                new_range,
                cause: LossCause::Rack,
            }),
            observer,
        );
    }

    /// Returns whether a packet that was sent during the episode is acknowledged.
    fn is_over(&self, delivery: &Delivery) -> bool {
        match (self.episode, delivery.newest) {
            (Some(episode), Some((pn, _))) => pn >= episode.point,
            _ => false,
        }
    }
}
