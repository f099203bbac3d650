//! Loss detection: RACK, tail loss probes and the retransmission timeout.

use core::cmp::Reverse;

use fullpipe_cc::{CaState, Controller, LossCause, Lost, Observer};
use fullpipe_units::{Bytes, Span, Time};

use super::Sender;
use super::timer::{Arming, TimerKind};
use crate::sent::State;
use crate::wire::Segment;

/// Longest time by which a receiver may delay the ACK of a lone segment (RFC 8985 §7.2
/// TLP.max_ack_delay; Linux: TCP_RTO_MIN).
const MAX_ACK_DELAY: Span = Span::from_millis(200);
/// Step of Linux's clock of timers, at 1000 Hz.
const JIFFY: Span = Span::from_millis(1);

impl<C: Controller> Sender<C> {
    /// Returns whether the handshake timer is due, so that the SYN must be retransmitted.
    pub fn must_resend_syn(&self, now: Time) -> bool {
        self.opened.is_none() && now >= self.timer.at
    }

    /// Processes expired timers. Call [`transmit`](Sender::transmit) afterwards.
    pub fn on_timer(
        &mut self,
        now: Time,
        observer: &mut dyn Observer,
        mut emit: impl FnMut(Segment),
    ) {
        if now >= self.timer.at {
            let arming = match self.timer.kind {
                TimerKind::None | TimerKind::Handshake => Arming::Expired,
                TimerKind::Reordering => {
                    self.on_reordering_timer(now, observer);
                    Arming::Reordering
                }
                TimerKind::Probe if self.timer.tlp.is_some() => Arming::NoProbe,
                TimerKind::Probe => {
                    self.send_probe(now, observer, &mut emit);
                    Arming::Expired
                }
                TimerKind::Rto => {
                    self.on_timeout(now, observer);
                    Arming::Expired
                }
            };
            self.decide();
            self.arm(now, arming);
        }
        if self.decision.wake_at.is_some_and(|at| now >= at) {
            self.call(now, observer, |controller, cx| controller.on_timer(cx));
            self.decide();
            assert!(
                self.decision.wake_at.is_none_or(|at| at > now),
                "wake_at is not after the call of on_timer at {now}: the timer would fire forever"
            );
        }
    }

    /// Arms the timer for the earliest event (RFC 8985 §7.2, RFC 6298 §5). Returns whether data is
    /// outstanding.
    #[inline]
    pub(super) fn arm(&mut self, now: Time, arming: Arming) -> bool {
        if self.una == self.next {
            self.timer.stop();
            return false;
        }
        if self.timer.is_linux() {
            self.arm_as_linux(now, arming);
            return true;
        }
        if let Some(at) = self.timer.reordering {
            (self.timer.kind, self.timer.at) = (TimerKind::Reordering, at);
            return true;
        }
        let rto = self.timer.rto_base + self.rtt.rto();
        let may_probe = !self.conn.state.repairs()
            && self.sacked == 0
            && self.lost == 0
            && self.timer.tlp.is_none();
        // RFC 8985 §7.3: one probe at a time. The ACK that answers it advances SND.UNA, so its
        // timestamp gives the RTT sample that is required before the next probe.
        if may_probe {
            (self.timer.kind, self.timer.at) = (TimerKind::Probe, (now + self.pto()).min(rto));
        } else {
            (self.timer.kind, self.timer.at) = (TimerKind::Rto, rto.max(now));
        }
        true
    }

    /// Arms the timer as Linux does (tcp_set_xmit_timer, tcp_rearm_rto, tcp_schedule_loss_probe): what
    /// does not concern it leaves it as it is.
    #[inline(never)] // so that the other rules' senders do not pay for it
    fn arm_as_linux(&mut self, now: Time, arming: Arming) {
        let kind = self.timer.kind;
        let rto = self.rtt.rto();
        let probes = match self.conn.state {
            CaState::Open => self.sacked == 0 && self.lost == 0,
            CaState::Reduced => true,
            CaState::Recovery | CaState::Loss => false,
        };
        let waits = matches!(kind, TimerKind::Reordering | TimerKind::Probe);
        let timer = match arming {
            Arming::Ack { advanced } => match self.timer.reordering {
                Some(at) => Some((TimerKind::Reordering, at)),
                None if !advanced => None,
                None if probes => Some((TimerKind::Probe, now + self.pto().min(rto))),
                None if waits => Some((TimerKind::Rto, self.timeout_of_first(now))),
                None => Some((TimerKind::Rto, now + rto)),
            },
            Arming::Sent if probes => {
                let at = (now + self.pto()).min(self.timeout_of_first(now));
                Some((TimerKind::Probe, at))
            }
            Arming::Sent => matches!(kind, TimerKind::None | TimerKind::Probe)
                .then(|| (TimerKind::Rto, self.timeout_of_first(now))),
            Arming::Resent { first } => {
                (first && kind != TimerKind::Reordering).then(|| (TimerKind::Rto, now + rto))
            }
            Arming::Reordering | Arming::NoProbe => {
                Some((TimerKind::Rto, self.timeout_of_first(now)))
            }
            Arming::Expired => Some((TimerKind::Rto, now + rto)),
        };
        if let Some((kind, at)) = timer {
            (self.timer.kind, self.timer.at) = (kind, at);
        }
    }

    /// Returns the time after which a tail loss probe is sent (RFC 8985 §7.2).
    #[inline]
    fn pto(&self) -> Span {
        let delay = if self.next - self.una == 1 {
            MAX_ACK_DELAY
        } else {
            self.timer.slack
        };
        self.rtt.srtt * 2 + delay
    }

    /// Returns the retransmission timeout from the departure of the first segment that is not
    /// acknowledged on (Linux: tcp_rto_delta_us).
    fn timeout_of_first(&self, now: Time) -> Time {
        let first = self.window.get(self.una);
        let sent = match first.state {
            State::Outstanding | State::Lost => self.bursts.get(first.burst()).sent,
            State::Sacked => now,
        };
        (sent + self.rtt.rto()).max(now + JIFFY)
    }

    /// Declares lost the segments that were sent long enough before the newest delivered segment
    /// (RFC 8985 §6.2 step 5).
    ///
    /// First transmissions are in order of sequence, and retransmissions are in a separate queue,
    /// so each segment is examined once, not once per ACK.
    #[inline(always)]
    pub(super) fn detect_losses(&mut self, now: Time, observer: &mut dyn Observer) {
        self.timer.reordering = None;
        // Otherwise everything sent before the newest delivered segment is acknowledged.
        if self.sacked > 0 || !self.retransmitted.is_empty() {
            self.detect_losses_before_newest(now, observer);
        }
    }

    #[inline(never)] // most ACKs need no look
    fn detect_losses_before_newest(&mut self, now: Time, observer: &mut dyn Observer) {
        let Some(newest) = self.rack.newest else {
            return;
        };
        let recovering = self.conn.state.repairs();
        let reordering =
            self.rack
                .reordering_window(recovering, self.sacked, self.rtt.min, self.rtt.srtt);
        let patience = self.rack.rtt + reordering;
        let mut waits = None;

        self.judged = self.judged.max(self.una);
        while self.judged < self.next {
            let seq = self.judged;
            let sent = *self.window.get(seq);
            if sent.state == State::Outstanding && sent.transmissions == 1 {
                let when = self.bursts.get(sent.burst()).sent;
                if (when, seq) >= newest {
                    break;
                }
                if now < when + patience {
                    waits = self.latest_before(newest).or(Some(when));
                    break;
                }
                self.lose(now, seq, LossCause::Rack, observer);
            }
            self.judged += 1;
        }
        while let Some(&(seq, when)) = self.retransmitted.front() {
            if self.is_current(seq, when) {
                if (when, seq) >= newest {
                    break;
                }
                if now < when + patience {
                    waits = waits.max(self.latest_again_before(newest));
                    break;
                }
                self.lose(now, seq, LossCause::Rack, observer);
            }
            self.retransmitted.pop_front();
        }
        self.timer.reordering = waits.map(|when| when + patience + self.timer.slack);
    }

    /// Returns the sending time of the last undelivered first transmission before `newest`. Skips
    /// SACKed segments run by run.
    fn latest_before(&self, newest: (Time, u64)) -> Option<Time> {
        // A retransmission below `judged` does not show which first transmissions it followed.
        let mut seq = if newest.1 >= self.judged {
            newest.1
        } else {
            self.next - 1
        };
        loop {
            if let Some(when) = self.sent_once(seq).filter(|when| (*when, seq) < newest) {
                return Some(when);
            }
            let sent = self.window.get(seq);
            let run = if sent.state == State::Sacked {
                sent.sacked_up_to_here()
            } else {
                1
            };
            seq = seq.checked_sub(run).filter(|seq| *seq >= self.judged)?;
        }
    }

    /// Returns the sending time of segment `seq`, if it was sent once and is outstanding.
    fn sent_once(&self, seq: u64) -> Option<Time> {
        let sent = self.window.get(seq);
        (sent.state == State::Outstanding && sent.transmissions == 1)
            .then(|| self.bursts.get(sent.burst()).sent)
    }

    /// Returns the sending time of the last unanswered retransmission before `newest`.
    fn latest_again_before(&self, newest: (Time, u64)) -> Option<Time> {
        let end = self
            .retransmitted
            .partition_point(|(seq, when)| (*when, *seq) < newest);
        let mut earlier = self.retransmitted.range(..end).rev();
        earlier
            .find(|(seq, when)| self.is_current(*seq, *when))
            .map(|(_, when)| *when)
    }

    /// Returns whether the retransmission of `seq` at `when` is the latest copy of a segment that
    /// is still outstanding.
    pub(super) fn is_current(&self, seq: u64, when: Time) -> bool {
        if seq < self.una {
            return false;
        }
        let sent = self.window.get(seq);
        sent.state == State::Outstanding && self.bursts.get(sent.burst()).sent == when
    }

    /// Declares the outstanding segment `seq` lost.
    pub(super) fn lose(
        &mut self,
        now: Time,
        seq: u64,
        cause: LossCause,
        observer: &mut dyn Observer,
    ) {
        let record = self.window.get_mut(seq);
        debug_assert_eq!(record.state, State::Outstanding);
        record.state = State::Lost;
        let packet = self.bursts.snapshot(record);
        let size = Bytes::new(u64::from(record.size));
        self.conn.inflight -= size;
        self.conn.lost += size;
        self.lost += 1;
        self.to_retransmit.push(Reverse(seq));
        let behind_lost = seq > self.una && self.window.get(seq - 1).state == State::Lost;
        let new_range = seq != self.last_lost_end && !behind_lost;
        self.last_lost_end = seq + 1;
        let lost = Lost {
            packet,
            lost_since_sent: self.conn.lost - packet.lost,
            new_range,
            cause,
        };
        self.call(now, observer, |controller, cx| {
            controller.on_lost(cx, &lost)
        });
    }

    fn on_reordering_timer(&mut self, now: Time, observer: &mut dyn Observer) {
        let (prior_lost, undelivered) = (
            self.conn.lost,
            self.conn.smss * (self.next - self.una - self.sacked),
        );
        self.detect_losses(now, observer);
        if self.timer.is_linux() {
            self.timer.reordering = None; // until the next ACK
        }
        if self.conn.lost > prior_lost && !self.conn.state.repairs() {
            self.enter_recovery(now, undelivered, observer);
            self.decide();
            // Linux counts a segment as delivered (tcp_rack_reo_timeout).
            let counted = self.conn.smss * u64::from(self.timer.is_linux());
            if let Some(prr) = &mut self.prr {
                prr.on_ack(counted, self.conn.inflight, false);
            }
        }
    }

    /// Sends a tail loss probe (RFC 8985 §7.3), regardless of the congestion window: new data if
    /// there is any and the peer's window has room, otherwise the last segment again.
    fn send_probe(
        &mut self,
        now: Time,
        observer: &mut dyn Observer,
        emit: &mut impl FnMut(Segment),
    ) {
        let Some(opened) = self.opened else { return };
        let app = self
            .app
            .written(opened, now, self.una, self.accepted(), self.segments);
        let written = self.stack.as_ref().map_or(app, |stack| stack.written(app));
        if self.next < written.min(self.right_edge) {
            let size = self.app.size(self.next, self.segments.smss);
            self.send_new(now, size, |_| false, observer, emit);
            self.timer.tlp = Some((self.next, false));
        } else {
            let seq = self.next - 1;
            let sent = *self.window.get(seq);
            if sent.state != State::Outstanding {
                return;
            }
            // The copy replaces the original in flight: one of the two is assumed lost.
            self.conn.inflight -= Bytes::new(u64::from(sent.size));
            self.bursts.leave(sent.burst());
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
            emit(Segment {
                retransmit: true,
                ecn,
                ..self.segment(now, seq, sent.size)
            });
            self.timer.tlp = Some((self.next, true));
        }
        self.timer.restart_rto(now);
        if let Some(stack) = &mut self.stack {
            stack.on_probe(now);
        }
    }

    /// Processes a retransmission timeout (RFC 6298 §5.4–5.7, RFC 8985 §6.3).
    fn on_timeout(&mut self, now: Time, observer: &mut dyn Observer) {
        self.timer.reordering = None;
        for seq in self.una..self.next {
            let sent = *self.window.get(seq);
            if sent.state == State::Outstanding {
                let when = self.bursts.get(sent.burst()).sent;
                // Without a reordering window, as in Linux (tcp_timeout_mark_lost).
                if seq == self.una || now >= when + self.rack.rtt {
                    self.lose(now, seq, LossCause::Rto, observer);
                }
            }
        }
        self.rtt.back_off();
        self.timer.restart_rto(now);
        self.enter_loss(now, observer);
    }
}
