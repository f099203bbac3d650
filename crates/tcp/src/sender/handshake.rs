//! The handshake: SYN and SYN-ACK.

use fullpipe_cc::{Controller, Observer};
use fullpipe_units::Time;

use super::Sender;
use crate::wire::{Ack, AckKind, Segment};

impl<C: Controller> Sender<C> {
    /// Returns the SYN to send at `now`, for the first time or again.
    pub fn syn(&mut self, now: Time) -> Segment {
        let retransmit = self.timer.handshake(now, &mut self.rtt);
        Segment {
            syn: true,
            retransmit,
            ..self.segment(now, 0, 0)
        }
    }

    /// Processes an ACK that is a SYN-ACK or a request. Returns whether it is a SYN-ACK; a request
    /// also acknowledges data.
    #[cold]
    pub(super) fn is_handshake(
        &mut self,
        now: Time,
        ack: &Ack,
        observer: &mut dyn Observer,
    ) -> bool {
        match ack.kind {
            AckKind::Syn => self.on_handshake(now, ack, observer),
            AckKind::Request => self.app.on_request(ack.next),
            AckKind::Plain => {}
        }
        ack.kind == AckKind::Syn
    }

    /// Processes the SYN-ACK: the first RTT sample, and the peer's window.
    fn on_handshake(&mut self, now: Time, ack: &Ack, observer: &mut dyn Observer) {
        if self.opened.is_some() {
            return;
        }
        self.opened = Some(now);
        self.right_edge = u64::from(ack.window);
        self.ts_recent = ack.sent;
        let rtt = now - ack.echo;
        self.rtt.sample(rtt);
        self.conn.srtt = rtt;
        self.conn.min_rtt = rtt;
        self.flight.restart(now);
        self.timer.stop();
        self.inherit(now, observer);
        self.decide();
    }
}
