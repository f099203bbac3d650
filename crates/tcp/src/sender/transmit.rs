//! Sending: new segments and retransmissions, one by one until a limit stops the sender.

use core::cmp::Reverse;

use fullpipe_cc::{Controller, EcnCodepoint, Observer};
use fullpipe_units::{Bytes, Time};

use super::Sender;
use super::timer::Arming;
use crate::limit::Limit;
use crate::sent::{Sent, State};
use crate::wire::Segment;

impl<C: Controller> Sender<C> {
    /// Sends everything that may be sent at `now`.
    #[inline(always)] // the rest is a call either way
    pub fn transmit(&mut self, now: Time, observer: &mut dyn Observer, emit: impl FnMut(Segment)) {
        let limit = if self.stack.is_none() {
            self.release::<false>(now, 0, observer, emit)
        } else {
            self.release_in_stack(now, u32::MAX, observer, emit)
        };
        if let Some(limit) = limit {
            self.limits.set(now, limit);
        }
    }

    /// Sends up to `most` of the segments that may be sent at `now`, as one turn of a host. Returns
    /// the limit that stopped it, for the runner to record; call again at
    /// [`departure_at`](Sender::departure_at).
    pub fn transmit_batch(
        &mut self,
        now: Time,
        most: u32,
        observer: &mut dyn Observer,
        emit: impl FnMut(Segment),
    ) -> Option<Limit> {
        if self.stack.is_none() {
            self.release::<true>(now, most, observer, emit)
        } else {
            self.release_in_stack(now, most, observer, emit)
        }
    }

    /// Sends until a limit stops it and returns that limit; sends nothing before the handshake
    /// completes.
    #[inline(never)]
    fn release<const HOSTED: bool>(
        &mut self,
        now: Time,
        most: u32,
        observer: &mut dyn Observer,
        mut emit: impl FnMut(Segment),
    ) -> Option<Limit> {
        let opened = self.opened?;
        let mut left = most;
        let written = self
            .app
            .written(opened, now, self.una, self.next, self.segments);
        let first = self.next;
        let limit = loop {
            let (lost, size) = match self.next_segment(now, written) {
                Ok(next) => next,
                Err(limit) => break limit,
            };
            if HOSTED && left == 0 {
                break Limit::Host;
            }
            match lost {
                Some(seq) => self.retransmit(now, seq, observer, &mut emit),
                None => {
                    let joins = self.pacer.is_in_burst();
                    let push = |sender: &Self| {
                        joins && sender.ends_burst(written)
                            || sender.next >= written && sender.app.pushes()
                    };
                    self.send_new(now, size, push, observer, &mut emit);
                }
            }
            if HOSTED {
                left -= 1;
                self.pacer.end_burst(now);
            }
        };
        self.stop_sending(now, limit);
        if self.next != first {
            self.arm(now, Arming::Sent);
        }
        Some(limit)
    }

    /// Returns the segment to send, if it was lost, and its size; or the limit that keeps it back.
    #[inline(always)] // a part of `release`
    pub(super) fn next_segment(
        &mut self,
        now: Time,
        written: u64,
    ) -> Result<(Option<u64>, u16), Limit> {
        let cwnd = self.cwnd();
        let lost = if self.lost > 0 {
            self.next_lost()
        } else {
            None
        };
        let size = match lost {
            Some(seq) => self.window.get(seq).size,
            None if self.next >= written => return Err(Limit::Application),
            None if self.next >= self.right_edge => return Err(Limit::ReceiveWindow),
            None => self.app.size(self.next, self.segments.smss),
        };
        if self.conn.inflight + Bytes::new(u64::from(size)) > cwnd {
            self.cwnd_limited_until = self.next;
            return Err(if self.conn.state.repairs() {
                Limit::Recovery
            } else {
                Limit::Cwnd
            });
        }
        if !self.pacer.open(now) {
            return Err(Limit::Pacing);
        }
        Ok((lost, size))
    }

    /// Updates the pacer and the application-limited state when `limit` stops the sender.
    #[inline(always)] // a part of `release`
    pub(super) fn stop_sending(&mut self, now: Time, limit: Limit) {
        if self.conn.paced {
            self.pacer.end_burst(now);
            self.conn.next_departure = self.pacer.next.max(now);
        }
        // No whole segment fits any more; Linux counts windows in packets.
        let used_up = self.conn.inflight + self.conn.smss > self.cwnd();
        let out_of_data = matches!(limit, Limit::Application | Limit::SendBuffer);
        if out_of_data && used_up {
            self.cwnd_limited_until = self.next;
        }
        let is_idle = limit == Limit::Application && !used_up;
        if is_idle || self.decision.mark_app_limited {
            self.flight.mark_app_limited(&mut self.conn);
        }
    }

    /// Returns whether no segment can follow at once: the burst or the window is full, or no data
    /// remains.
    #[inline]
    fn ends_burst(&self, written: u64) -> bool {
        !self.pacer.is_in_burst()
            || self.conn.inflight + self.conn.smss > self.cwnd()
            || self.next >= written.min(self.right_edge)
    }

    /// Sends the next segment. `push` is called after it has left and returns whether the segment
    /// has PSH: it ends a burst, or data that was written at once.
    #[inline(always)] // once for each packet
    pub(super) fn send_new(
        &mut self,
        now: Time,
        size: u16,
        push: impl FnOnce(&Self) -> bool,
        observer: &mut dyn Observer,
        emit: &mut impl FnMut(Segment),
    ) {
        let seq = self.next;
        if seq == self.una {
            self.timer.restart_rto(now);
        }
        self.window.reserve(self.una, seq);
        self.next += 1;
        self.flight.on_send(now, &self.conn);
        let ecn = self.ecn.codepoint(self.decision.ecn, false);
        self.depart(now, seq, size, 1, ecn, observer);
        let push = push(self);
        let cwr = core::mem::take(&mut self.ecn.cwr);
        emit(Segment {
            push,
            cwr,
            ecn,
            ..self.segment(now, seq, size)
        });
    }

    #[inline(never)] // few segments are sent again
    pub(super) fn retransmit(
        &mut self,
        now: Time,
        seq: u64,
        observer: &mut dyn Observer,
        emit: &mut impl FnMut(Segment),
    ) {
        let sent = *self.window.get(seq);
        debug_assert_eq!(sent.state, State::Lost);
        self.to_retransmit.pop();
        self.lost -= 1;
        self.bursts.leave(sent.burst());
        self.flight.on_send(now, &self.conn);
        let ecn = self.ecn.codepoint(self.decision.ecn, true);
        self.depart_again(
            now,
            seq,
            sent.size,
            sent.transmissions.saturating_add(1),
            ecn,
            observer,
        );
        self.retransmitted.push_back((seq, now));
        self.resent += 1;
        self.episode.on_retransmit(now);
        let first = seq == self.una;
        if first {
            self.timer.restart_rto(now);
        }
        self.arm(now, Arming::Resent { first });
        emit(Segment {
            retransmit: true,
            ecn,
            ..self.segment(now, seq, sent.size)
        });
    }

    /// Returns a segment that leaves at `now` for the first time.
    #[inline]
    pub(super) fn segment(&self, now: Time, seq: u64, size: u16) -> Segment {
        Segment {
            seq,
            sent: now,
            echo: self.ts_recent,
            size,
            syn: false,
            retransmit: false,
            push: false,
            ecn: EcnCodepoint::NotEct,
            ce: false,
            cwr: false,
        }
    }

    /// Counts segment `seq` in flight, takes its snapshot and notifies the controller, whose
    /// decision already applies to the pacing of this segment.
    pub(super) fn depart_again(
        &mut self,
        now: Time,
        seq: u64,
        size: u16,
        transmissions: u8,
        ecn: EcnCodepoint,
        observer: &mut dyn Observer,
    ) {
        self.depart(now, seq, size, transmissions, ecn, observer);
    }

    #[inline(always)] // in `send_new`
    fn depart(
        &mut self,
        now: Time,
        seq: u64,
        size: u16,
        transmissions: u8,
        ecn: EcnCodepoint,
        observer: &mut dyn Observer,
    ) {
        let bytes = Bytes::new(u64::from(size));
        self.conn.inflight += bytes;
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
        let snapshot = self
            .flight
            .snapshot(now, &self.conn, size, ecn, transmissions > 1);
        let burst = self.bursts.join(&snapshot);
        *self.window.get_mut(seq) = Sent::new(&snapshot, burst, transmissions);
        debug_assert_eq!(self.bursts.snapshot(self.window.get(seq)), snapshot);
        let from_idle = self.conn.inflight == bytes;
        if self.controller.wants_sent(now, from_idle) {
            self.tell_sent(now, seq, observer);
        }
        if self.conn.paced {
            self.pacer.on_sent(now, bytes);
        }
    }

    /// Tells the controller of segment `seq`, which has just left.
    #[inline(never)] // most controllers listen to few
    fn tell_sent(&mut self, now: Time, seq: u64, observer: &mut dyn Observer) {
        let packet = self.bursts.snapshot(self.window.get(seq));
        if self.call(now, observer, |controller, cx| {
            controller.on_sent(cx, &packet)
        }) {
            self.decide();
        }
    }

    /// Returns the lowest lost segment that was not retransmitted.
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        while let Some(&Reverse(seq)) = self.to_retransmit.peek() {
            if seq >= self.una && self.window.get(seq).state == State::Lost {
                return Some(seq);
            }
            self.to_retransmit.pop();
        }
        None
    }
}
