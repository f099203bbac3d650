//! The operating system's parts at work: before and after the sender sends.

use fullpipe_cc::{CaState, Controller, Observer, PathChange};
use fullpipe_units::{Bytes, Time};

use super::Sender;
use super::timer::Arming;
use crate::limit::Limit;
use crate::stack::{BeforeBurst, Burst, Closing, Queue, Writing, Written};
use crate::wire::Segment;

impl<C: Controller> Sender<C> {
    /// Sends up to `most` segments, until a limit stops it, as the operating system does. Returns
    /// the limit; sends nothing before the handshake completes.
    #[inline(never)] // most senders have no such parts
    pub(super) fn release_in_stack(
        &mut self,
        now: Time,
        most: u32,
        observer: &mut dyn Observer,
        mut emit: impl FnMut(Segment),
    ) -> Option<Limit> {
        let opened = self.opened?;
        if self.is_done() {
            self.leave_metrics(now);
        }
        let app = self
            .app
            .written(opened, now, self.una, self.accepted(), self.segments);
        let mut written = self.fill(app);
        self.before_flight(now, written, observer);
        let first = self.next;
        let mut left = most;
        let (limit, is_deferred) = loop {
            match self.release_written(now, &mut left, written, observer, &mut emit) {
                (Limit::Application, _) if written < app => {}
                limit => break limit,
            }
            let more = self.fill(app);
            if more == written {
                break (Limit::SendBuffer, false);
            }
            written = more;
        };
        self.stop_sending(now, limit);
        if self.next != first {
            self.arm(now, Arming::Sent);
        }
        self.after_write(now, written, (left < most, is_deferred), observer);
        Some(limit)
    }

    /// Returns one past the last segment that the application has handed over.
    pub(super) fn accepted(&self) -> u64 {
        self.stack
            .as_ref()
            .map_or(self.next, |stack| stack.accepted(self.next))
    }

    /// Lowers the window of a flow that continues after a pause.
    #[inline]
    fn before_flight(&mut self, now: Time, written: u64, observer: &mut dyn Observer) {
        if self.una == self.next && written != self.next && self.prr.is_none() {
            self.begin_flight(now, observer);
        }
    }

    #[cold]
    fn begin_flight(&mut self, now: Time, observer: &mut dyn Observer) {
        let writing = self.writing(now);
        let lower = self
            .stack
            .as_mut()
            .and_then(|stack| stack.before_flight(&writing));
        self.lower(now, lower, observer);
    }

    /// Lets the application, which has written up to `app` if there is room, fill the send buffer.
    /// Returns the end of the data in it. Data written after all before it has left mark the flow
    /// as application-limited; waiting for room does not (Linux: tcp_rate_check_app_limited).
    #[inline]
    fn fill(&mut self, app: u64) -> u64 {
        let cwnd = self.cwnd();
        let has_room = self.conn.inflight + self.conn.smss <= cwnd;
        let settled = self
            .stack
            .as_ref()
            .and_then(|stack| stack.settled(app, self.una, cwnd, has_room));
        settled.unwrap_or_else(|| self.fill_up_to(app, cwnd, has_room))
    }

    #[inline(never)] // most ACKs free too little
    fn fill_up_to(&mut self, app: u64, cwnd: Bytes, has_room: bool) -> u64 {
        let smss = self.conn.smss;
        let queue = Queue {
            una: self.una,
            next: self.next,
            app,
            cwnd,
            has_room,
            burst: self.burst_size().get() / smss.get(),
        };
        let Some(stack) = &mut self.stack else {
            return app;
        };
        let before = stack.written(app);
        let written = stack.fill(&queue);
        // Retransmissions leave before the application wakes.
        let has_room = self.conn.inflight + smss * (self.lost + 1) <= cwnd;
        if written > before && before <= self.next && has_room {
            self.flight.mark_app_limited(&mut self.conn);
        }
        written
    }

    /// Sends retransmissions and written data, until a limit stops it. Returns the limit, and
    /// whether the window made it wait for a larger burst.
    fn release_written(
        &mut self,
        now: Time,
        left: &mut u32,
        written: u64,
        observer: &mut dyn Observer,
        emit: &mut impl FnMut(Segment),
    ) -> (Limit, bool) {
        loop {
            let lost = match self.next_segment(now, written) {
                Ok((lost, _)) => lost,
                Err(limit) => return (limit, false),
            };
            if *left == 0 {
                return (Limit::Host, false);
            }
            let sent = match lost {
                Some(seq) => {
                    self.retransmit(now, seq, observer, emit);
                    if self.pacer.is_bucket() || self.has_tso() {
                        self.pacer.end_burst(now);
                    }
                    1
                }
                None => match self.next_burst(now, written) {
                    Burst::Send(segments) => {
                        let segments = segments.min((*left).into()) as u32;
                        self.send_burst(now, segments, written, observer, emit);
                        segments
                    }
                    Burst::Defer { cwnd_limited } => {
                        if cwnd_limited {
                            self.cwnd_limited_until = self.next;
                        }
                        return (Limit::Cwnd, cwnd_limited);
                    }
                },
            };
            *left -= sent;
        }
    }

    /// Sends `segments` back to back. The last of several has PSH (Linux: __tcp_transmit_skb).
    fn send_burst(
        &mut self,
        now: Time,
        segments: u32,
        written: u64,
        observer: &mut dyn Observer,
        emit: &mut impl FnMut(Segment),
    ) {
        let is_one = segments > 1 && (self.conn.paced || self.has_tso());
        let pushes = self.app.pushes();
        for left in (0..segments).rev() {
            let size = self.app.size(self.next, self.segments.smss);
            let push = |sender: &Self| left == 0 && is_one || pushes && sender.next >= written;
            self.send_new(now, size, push, observer, emit);
        }
        self.pacer.end_burst(now);
    }

    /// Returns the next burst.
    #[inline]
    fn next_burst(&mut self, now: Time, written: u64) -> Burst {
        let smss = self.conn.smss;
        let in_segments = |bytes: Bytes| bytes.get() / smss.get();
        let (cwnd, room) = (self.cwnd(), self.cwnd().saturating_sub(self.conn.inflight));
        let allowance = self.pacer.allowance(now);
        if self.pacer.is_bucket() && self.conn.paced {
            return Burst::Send(1);
        }
        let before = BeforeBurst {
            now,
            next: self.next,
            written,
            receive_window: self.right_edge - self.una,
            receive_room: self.right_edge - self.next,
            cwnd: in_segments(cwnd),
            room: in_segments(room).max(1),
            most: in_segments(self.burst_size()),
            repairs: self.conn.state.repairs(),
            head_sent: (self.una < self.next)
                .then(|| self.bursts.get(self.window.get(self.una).burst()).sent),
            srtt: self.rtt.srtt,
        };
        match self
            .stack
            .as_mut()
            .and_then(|stack| stack.next_burst(&before))
        {
            Some(burst) => burst,
            None => Burst::Send(before.room_for(in_segments(allowance))),
        }
    }

    /// Returns the size of a burst.
    fn burst_size(&mut self) -> Bytes {
        let (cwnd, outstanding) = (self.cwnd(), self.conn.smss * (self.next - self.una));
        let (ssthresh, rtts) = (self.decision.ssthresh, (self.rtt.srtt, self.rtt.min));
        let pacer = &self.pacer;
        let size = || pacer.burst_size(cwnd, outstanding, ssthresh, rtts);
        match &mut self.stack {
            // A larger window than the outstanding data decides alone.
            Some(stack) if pacer.rate.is_none() => {
                stack.burst_size((cwnd, cwnd.max(outstanding), ssthresh, rtts), size)
            }
            _ => size(),
        }
    }

    fn has_tso(&self) -> bool {
        self.stack.as_ref().is_some_and(|stack| stack.has_tso())
    }

    /// Lowers the window after a write of a flow that does not use it.
    #[inline(always)] // a part of `release_in_stack`
    fn after_write(
        &mut self,
        now: Time,
        written: u64,
        (sent, deferred): (bool, bool),
        observer: &mut dyn Observer,
    ) {
        let window = self.cwnd();
        let Some(stack) = &mut self.stack else {
            return;
        };
        let limited = stack.on_written(&Written {
            now,
            una: self.una,
            next: self.next,
            end: written,
            window,
            ssthresh: self.decision.ssthresh,
            smss: self.conn.smss,
            sent,
            limited: deferred || self.conn.inflight + self.conn.smss > window,
        });
        match limited {
            // Nothing changes it until the next ACK, whose growth depends on it.
            Some(limited) => self.cwnd_limited_until = if limited { u64::MAX } else { 0 },
            None => self.lower_after_write(now, observer),
        }
    }

    #[inline(never)] // Linux's rule lowers nothing
    fn lower_after_write(&mut self, now: Time, observer: &mut dyn Observer) {
        let writing = self.writing(now);
        let lower = self
            .stack
            .as_mut()
            .and_then(|stack| stack.after_write(&writing));
        self.lower(now, lower, observer);
    }

    /// Lowers the window to the part in use before a loss reduces it.
    pub(super) fn lower_at_loss(&mut self, now: Time, observer: &mut dyn Observer) {
        if self.stack.is_some() {
            let writing = self.writing(now);
            let lower = self
                .stack
                .as_mut()
                .and_then(|stack| stack.at_loss(&writing));
            self.lower(now, lower, observer);
        }
    }

    /// Begins with the values of earlier connections, after the handshake's RTT sample.
    pub(super) fn inherit(&mut self, now: Time, observer: &mut dyn Observer) {
        let known = self.stack.as_ref().and_then(|stack| stack.metrics(now));
        let Some(known) = known else { return };
        self.rtt.inherit(known.rtt);
        self.rack.inherit(known.reordering);
        if known.ssthresh > 0 {
            let ssthresh = self.conn.smss * known.ssthresh;
            let change = PathChange::Threshold { ssthresh };
            self.call(now, observer, |controller, cx| {
                controller.on_path(cx, change)
            });
        }
    }

    /// Leaves the values of this connection to later ones. All its data is acknowledged.
    fn leave_metrics(&mut self, now: Time) {
        let cache = self.stack.as_mut().and_then(|stack| stack.take_cache());
        let Some(cache) = cache else { return };
        let in_segments = |bytes: Bytes| bytes.get() / self.conn.smss.get();
        let ssthresh = self.decision.ssthresh;
        cache.write(&Closing {
            now,
            srtt: self.rtt.srtt,
            cwnd: in_segments(self.cwnd()),
            ssthresh: (ssthresh < Bytes::MAX).then(|| in_segments(ssthresh)),
            open: self.conn.state == CaState::Open,
            reordering: self.rack.degree(),
        });
    }

    /// Notes that a timeout or the end of recovery has set the window.
    pub(super) fn recovered(&mut self, now: Time) {
        if let Some(stack) = &mut self.stack {
            stack.on_recovery(now, self.una);
        }
    }

    fn lower(&mut self, now: Time, cwnd: Option<Bytes>, observer: &mut dyn Observer) {
        if let Some(cwnd) = cwnd {
            self.call(now, observer, |controller, cx| {
                controller.on_unused(cx, cwnd)
            });
            self.decide();
        }
    }

    fn writing(&self, now: Time) -> Writing {
        Writing {
            now,
            una: self.una,
            next: self.next,
            window: self.cwnd(),
            smss: self.conn.smss,
            initial: self.conn.initial_cwnd,
            srtt: self.rtt.srtt,
            rto: self.rtt.rto(),
            open: self.conn.state == CaState::Open,
        }
    }
}
