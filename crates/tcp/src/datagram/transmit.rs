//! Sending: the encoder's frames, then packets one by one until a limit stops the sender.

use fullpipe_cc::{Controller, Observer};
use fullpipe_units::{Bytes, Time};

use super::{DatagramApp, DatagramSender, Emitted};
use crate::limit::Limit;
use crate::wire::Segment;

impl<C: Controller> DatagramSender<C> {
    /// Takes over the frames that have come out by `now`, and sends everything that may be sent.
    pub fn transmit(
        &mut self,
        now: Time,
        observer: &mut dyn Observer,
        mut emit: impl FnMut(Emitted),
    ) {
        self.take_frames(now, observer, &mut emit);
        let written = self.written(now);
        let limit = loop {
            let Some(size) = self.next_size(written) else {
                break Limit::Application;
            };
            if self.conn.inflight + size > self.cwnd() {
                self.cwnd_limited_until = self.sent.next();
                break if self.conn.state.repairs() {
                    Limit::Recovery
                } else {
                    Limit::Cwnd
                };
            }
            if !self.pace.is_open(now) {
                break Limit::Pacing;
            }
            let segment = self.send(now, size, written, observer);
            emit(Emitted::Packet(segment));
        };
        let used_up = self.conn.inflight + self.conn.smss > self.cwnd();
        if limit == Limit::Application && used_up {
            self.cwnd_limited_until = self.sent.next();
        }
        if limit == Limit::Application && !used_up || self.decision.mark_app_limited {
            self.flight.mark_app_limited(&mut self.conn);
        }
        self.limits.set(now, limit);
    }

    /// Puts the frames that have come out by `now` into the queue, and tells the controller.
    fn take_frames(
        &mut self,
        now: Time,
        observer: &mut dyn Observer,
        emit: &mut impl FnMut(Emitted),
    ) {
        while let DatagramApp::Media(media) = &mut self.app
            && media.next_at() <= now
        {
            let (created, frame) = media.encode(self.decision.source_rate);
            self.conn.unsent = media.unsent();
            emit(Emitted::Frame(created, frame.size));
            self.call(now, observer, |controller, cx| {
                controller.on_frame(cx, &frame)
            });
            self.decide();
        }
    }

    /// Returns one past the last packet that an application without frames has written.
    fn written(&mut self, now: Time) -> u64 {
        let next = self.sent.next();
        match &mut self.app {
            DatagramApp::Media(_) => 0,
            DatagramApp::Data(app) => app.written(self.opened, now, next, next, self.segments),
        }
    }

    /// Returns the payload of the next packet, if there is data.
    fn next_size(&mut self, written: u64) -> Option<Bytes> {
        let (next, smss) = (self.sent.next(), self.conn.smss);
        match &self.app {
            DatagramApp::Media(media) => media.peek(smss),
            DatagramApp::Data(app) => {
                // Saturates for an application that writes without limit.
                let left = u128::from(written.saturating_sub(next)) * u128::from(smss.get());
                self.conn.unsent = Bytes::new(u64::try_from(left).unwrap_or(u64::MAX));
                (next < written).then(|| Bytes::new(app.size(next, smss).into()))
            }
        }
    }

    /// Sends the next packet, with a payload of `size`.
    fn send(
        &mut self,
        now: Time,
        size: Bytes,
        written: u64,
        observer: &mut dyn Observer,
    ) -> Segment {
        let seq = self.sent.next();
        let (created, last) = match &mut self.app {
            DatagramApp::Media(media) => {
                let taken = media.take(size);
                self.conn.unsent = media.unsent();
                taken
            }
            DatagramApp::Data(_) => {
                self.conn.unsent = self.conn.unsent.saturating_sub(size);
                (now, seq + 1 == written)
            }
        };
        if self.conn.inflight == Bytes::ZERO {
            self.progress = now;
        }
        self.flight.on_send(now, &self.conn);
        self.conn.inflight += size;
        if let Some(prr) = &mut self.prr {
            prr.on_sent(size);
        }
        let ecn = self.ecn.unwrap_or(self.decision.ecn);
        let payload = size.get() as u16;
        let snapshot = self.flight.snapshot(now, &self.conn, payload, ecn, false);
        self.sent.push(snapshot);
        if self.call(now, observer, |controller, cx| {
            controller.on_sent(cx, &snapshot)
        }) {
            self.decide();
        }
        self.pace.on_sent(now, size);
        Segment {
            seq,
            sent: now,
            echo: created,
            size: payload,
            syn: false,
            retransmit: false,
            push: last,
            ecn,
            ce: false,
            cwr: false,
        }
    }
}
