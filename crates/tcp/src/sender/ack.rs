//! Processing of ACKs: the scoreboard, RTT, the delivery-rate sample, and the controller's calls in
//! the order of the contract.

use fullpipe_cc::{CaState, Controller, EcnCounts, Observer, RateSample, Recovery, RttSample};
use fullpipe_units::{Bytes, Rate, Span, Time};

use super::Sender;
use super::timer::Arming;
use crate::rack::order;
use crate::rate::rate_sample;
use crate::sent::{Sent, State};
use crate::wire::{Ack, AckKind, Block};

/// Measurements that an ACK provides, for metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckOutcome {
    /// RTT of the newest newly acknowledged segment that was sent once; otherwise the RTT from the
    /// timestamp.
    pub rtt: Option<Span>,
    /// The delivery-rate sample.
    pub rate: Option<Rate>,
}

/// The data that one ACK newly acknowledges.
struct Delivery {
    bytes: Bytes,
    /// Bytes by which SND.UNA advanced, including those that were SACKed earlier.
    cumulative: Bytes,
    /// The most recently sent of these segments: (sent, seq), and its record.
    newest: Option<(Time, u64, Sent)>,
    /// Among the segments that were sent once: sending time of the first, and (sent, seq) of the
    /// newest.
    first_once: Option<Time>,
    newest_once: Option<(Time, u64)>,
    lowest_once: u64,
    highest: u64,
    /// Sending time of the highest of these segments, and whether it was retransmitted.
    last: (Time, bool),
    /// The same of the cumulatively acknowledged ones, if there are any.
    last_cumulative: Option<(Time, bool)>,
    /// Whether one of these segments was retransmitted.
    retransmitted: bool,
    /// Whether one of the cumulatively acknowledged segments was retransmitted.
    ambiguous: bool,
    /// Whether the ACK shows that a tail loss probe repaired a loss.
    tlp_repair: bool,
}

impl Default for Delivery {
    #[inline]
    fn default() -> Delivery {
        Delivery {
            bytes: Bytes::ZERO,
            cumulative: Bytes::ZERO,
            newest: None,
            first_once: None,
            newest_once: None,
            lowest_once: u64::MAX,
            highest: 0,
            last: (Time::ZERO, false),
            last_cumulative: None,
            retransmitted: false,
            ambiguous: false,
            tlp_repair: false,
        }
    }
}

/// The segments that an ACK acknowledges cumulatively before it reaches one that was sent again, lost or
/// SACKed.
#[derive(Clone, Copy)]
struct First {
    /// The first of them.
    begin: u64,
    bytes: Bytes,
    /// Sending time of the first.
    first: Time,
    /// The last: its sending time, its sequence and its record.
    newest: (Time, u64, Sent),
}

impl Delivery {
    /// Returns the delivery of these segments. They were sent in order of their sequence, so the last
    /// is the newest.
    #[inline(always)]
    fn of(
        First {
            begin,
            bytes,
            first,
            newest,
        }: First,
    ) -> Delivery {
        let (when, seq, _) = newest;
        Delivery {
            bytes,
            cumulative: bytes,
            newest: Some(newest),
            first_once: Some(first),
            newest_once: Some((when, seq)),
            lowest_once: begin,
            highest: seq + 1,
            last: (when, false),
            last_cumulative: Some((when, false)),
            ..Delivery::default()
        }
    }
}

/// The state of the connection before an ACK, and whether the ACK reports marks.
#[derive(Clone, Copy)]
struct Before {
    una: u64,
    inflight: Bytes,
    undelivered: Bytes,
    /// Whether the ACK reports marks.
    marks: bool,
}

impl<C: Controller> Sender<C> {
    /// Processes an ACK with its SACK blocks. Call [`transmit`](Sender::transmit) afterwards.
    #[inline]
    pub fn on_ack(
        &mut self,
        now: Time,
        ack: &Ack,
        blocks: &[Block],
        observer: &mut dyn Observer,
    ) -> AckOutcome {
        let (blocks, feedback) = ack.split(blocks);
        self.feedback = feedback.map(|feedback| feedback.value);
        self.acknowledged::<false>(now, ack, blocks, observer)
    }

    /// Processes an ACK as [`on_ack`](Sender::on_ack), on a host, where delivery-rate samples are
    /// joined. `arrived` is the time at which the ACK arrived.
    pub fn on_ack_in_turn(
        &mut self,
        now: Time,
        arrived: Time,
        ack: &Ack,
        blocks: &[Block],
        observer: &mut dyn Observer,
    ) -> AckOutcome {
        let (blocks, feedback) = ack.split(blocks);
        if let Some(hosts) = &mut self.hosts {
            hosts.on_ack(arrived, feedback);
        }
        self.feedback = feedback.map(|feedback| feedback.value);
        self.acknowledged::<true>(now, ack, blocks, observer)
    }

    #[inline]
    fn acknowledged<const HOSTED: bool>(
        &mut self,
        now: Time,
        ack: &Ack,
        blocks: &[Block],
        observer: &mut dyn Observer,
    ) -> AckOutcome {
        if ack.kind != AckKind::Plain && self.is_handshake(now, ack, observer) {
            return AckOutcome::default();
        }
        // RFC 9293 §3.10.7.4: an ACK of data that was not sent is dropped.
        if ack.next > self.next {
            return AckOutcome::default();
        }
        let before = self.read_header(ack);
        if self.acked.is_some() {
            self.collect_acked(ack, blocks);
        }
        let first = self.deliver_first(ack);
        if !HOSTED
            && self.is_usual(ack, blocks, before)
            && let Some(first) = first
        {
            let delivery = Delivery::of(first);
            return self.on_delivery::<false, true>(
                now,
                ack,
                before,
                &delivery,
                first.newest,
                observer,
            );
        }
        self.acknowledged_otherwise::<HOSTED>(now, ack, blocks, before, first, observer)
    }

    /// Returns whether an ACK whose first segments are delivered acknowledges nothing else, and neither
    /// losses, marks, a probe nor the operating system's rules need a look.
    #[inline(always)]
    fn is_usual(&self, ack: &Ack, blocks: &[Block], before: Before) -> bool {
        self.una >= ack.next.min(self.next)
            && blocks.is_empty()
            && !before.marks
            && self.conn.state == CaState::Open
            && self.sacked == 0
            && self.retransmitted.is_empty()
            && self.timer.tlp.is_none()
            && self.acked.is_none()
    }

    /// Processes an ACK that is not [usual](Sender::is_usual), after the delivery of its first segments.
    #[inline(never)]
    fn acknowledged_otherwise<const HOSTED: bool>(
        &mut self,
        now: Time,
        ack: &Ack,
        blocks: &[Block],
        before: Before,
        first: Option<First>,
        observer: &mut dyn Observer,
    ) -> AckOutcome {
        let mut delivery = first.map_or_else(Delivery::default, Delivery::of);
        if self.una < ack.next.min(self.next) || !blocks.is_empty() {
            self.deliver_others(ack, blocks, &mut delivery);
        }
        let advanced = self.una > before.una;
        if advanced {
            self.timer.restart_rto(now);
        }
        let undo = self.detect_spurious(ack, blocks, before.una);
        if undo {
            self.undo(now, observer);
        }
        if before.marks {
            self.take_marks(ack, delivery.bytes);
        }
        delivery.tlp_repair = self
            .timer
            .probe_repaired(ack, blocks, delivery.newest.is_some());
        if let Some(newest) = delivery.newest {
            return self
                .on_delivery::<HOSTED, false>(now, ack, before, &delivery, newest, observer);
        }
        // No newly acknowledged data: a pure duplicate, or the ACK of a probe.
        self.decide();
        if undo || advanced {
            self.arm(now, Arming::Ack { advanced });
        }
        AckOutcome::default()
    }

    /// Processes an ACK that newly acknowledges data: samples, losses, and the controller's calls.
    #[inline(always)] // the second half of its callers
    fn on_delivery<const HOSTED: bool, const USUAL: bool>(
        &mut self,
        now: Time,
        ack: &Ack,
        before: Before,
        delivery: &Delivery,
        (sent, seq, record): (Time, u64, Sent),
        observer: &mut dyn Observer,
    ) -> AckOutcome {
        let advanced = USUAL || self.una > before.una;
        if USUAL {
            self.timer.restart_rto(now);
        }
        self.conn.delivered += delivery.bytes;
        self.flight.on_delivered(now, sent, &mut self.conn);
        let rtt = self.measure_rtt(now, delivery, advanced.then_some(ack.echo));
        self.update_rack(now, ack, delivery, (sent, seq, record.transmissions));
        self.conn.cwnd_limited = before.una < self.cwnd_limited_until;
        let newly_lost = if USUAL {
            self.timer.reordering = None;
            Bytes::ZERO
        } else {
            self.find_losses(now, before, observer)
        };

        let mut told = fullpipe_cc::Ack {
            newest: self.bursts.snapshot(&record),
            newly_acked: delivery.bytes,
            cumulative: delivery.cumulative,
            newly_lost,
            prior_inflight: before.inflight,
            rtt: rtt.map(|raw| match &mut self.hosts {
                Some(hosts) if HOSTED => hosts.sample(now, raw),
                _ => RttSample {
                    raw,
                    local: Span::ZERO,
                    remote: Span::ZERO,
                },
            }),
            // RFC 7323 §4.1: an ACK that does not advance SND.UNA may echo an earlier timestamp.
            one_way: advanced.then(|| ack.sent.since(ack.echo)),
            rate: RateSample::default(),
            ecn: if before.marks {
                self.ecn.marks.counts()
            } else {
                EcnCounts::default()
            },
            ece: before.marks && self.ecn.marks.any,
            feedback: self.feedback,
            tlp_repair: delivery.tlp_repair,
        };
        told.rate = rate_sample(now, &self.conn, &told.newest);
        if HOSTED {
            told.rate = self.joined.join(now, sent, self.conn.delivered, told.rate);
        }
        let rate = told.rate.rate;
        if !USUAL && self.acked.is_some() {
            self.tell_acked(now, observer);
        }
        self.call(now, observer, |controller, cx| controller.on_ack(cx, &told));
        if !USUAL {
            self.end_recovery(now, delivery.tlp_repair, before.undelivered, observer);
        }
        self.decide();
        debug_assert!(!USUAL || self.prr.is_none());
        if let Some(prr) = self.prr.as_mut().filter(|_| !USUAL) {
            prr.on_ack(
                delivery.bytes,
                self.conn.inflight,
                advanced && newly_lost == Bytes::ZERO,
            );
        }
        if !self.arm(now, Arming::Ack { advanced }) {
            self.end_if_done(now, observer);
        }
        AckOutcome { rtt, rate }
    }

    /// Reads the window, timestamps and marks that an ACK reports; acknowledges nothing yet.
    #[inline(always)] // a step of `acknowledged`, like the next functions
    fn read_header(&mut self, ack: &Ack) -> Before {
        self.right_edge = self.right_edge.max(ack.next + u64::from(ack.window));
        let marks = self.ecn.concerns(ack);
        if marks {
            self.ecn.late = ack.sent < self.ts_recent;
        }
        self.ts_recent = self.ts_recent.max(ack.sent);
        Before {
            una: self.una,
            inflight: self.conn.inflight,
            undelivered: self.undelivered(),
            marks,
        }
    }

    /// Acknowledges cumulatively the segments from SND.UNA on that were sent once and are neither lost nor
    /// SACKed, up to the first one for which that is not so: usually all. Such segments were sent in
    /// order of their sequence, so the last is the newest.
    #[inline(always)]
    fn deliver_first(&mut self, ack: &Ack) -> Option<First> {
        let (begin, end) = (self.una, ack.next.min(self.next));
        let mut bytes = Bytes::ZERO;
        let (mut seq, mut first, mut last) = (begin, None, None);
        while seq < end {
            let sent = *self.window.get(seq);
            if sent.state != State::Outstanding || sent.transmissions != 1 {
                break;
            }
            bytes += Bytes::new(u64::from(sent.size));
            let when = self.bursts.leave(sent.burst());
            first.get_or_insert(when);
            last = Some((when, seq, sent));
            seq += 1;
        }
        let (first, newest) = (first?, last?);
        self.una = seq;
        self.conn.inflight -= bytes;
        Some(First {
            begin,
            bytes,
            first,
            newest,
        })
    }

    /// Updates the scoreboard with the rest of an ACK: the cumulatively acknowledged segments, then
    /// the SACK blocks.
    #[inline(never)] // most ACKs leave nothing
    fn deliver_others(&mut self, ack: &Ack, blocks: &[Block], delivery: &mut Delivery) {
        let una = self.una.max(ack.next.min(self.next));
        let before = delivery.bytes;
        for seq in self.una..una {
            self.deliver(seq, delivery);
        }
        self.una = una;
        delivery.cumulative += delivery.bytes - before;
        delivery.ambiguous = delivery.retransmitted;
        delivery.last_cumulative = (delivery.highest > 0).then_some(delivery.last);
        for block in &blocks[usize::from(ack.dsack)..] {
            self.deliver_block(*block, delivery);
        }
    }

    /// Updates RACK (RFC 8985 §6.2 steps 2 and 3) with the newest acknowledged segment: (sent, seq,
    /// transmissions).
    #[inline(always)]
    fn update_rack(
        &mut self,
        now: Time,
        ack: &Ack,
        delivery: &Delivery,
        (sent, seq, transmissions): (Time, u64, u8),
    ) {
        // Step 2: an ACK of the original says nothing about the retransmission.
        let original =
            transmissions > 1 && (now - sent < self.rtt.min || (seq < self.una && ack.echo < sent));
        if let Some((sent, seq)) = if original {
            delivery.newest_once
        } else {
            Some((sent, seq))
        } {
            self.rack.on_delivered(now, sent, seq);
        }
        if self.timer.is_linux() {
            let (sent, again) = delivery.last_cumulative.unwrap_or(delivery.last);
            self.rack.on_last_processed(now - sent, again, self.rtt.min);
        }
        self.rack
            .on_sequence(delivery.lowest_once, delivery.highest);
        self.note_reordering();
    }

    /// Declares the losses that this ACK reveals, and begins a recovery episode for them or for the
    /// ACK's marks. Returns the bytes newly lost.
    #[inline(always)]
    fn find_losses(&mut self, now: Time, before: Before, observer: &mut dyn Observer) -> Bytes {
        let prior_lost = self.conn.lost;
        self.detect_losses(now, observer);
        let newly_lost = self.conn.lost - prior_lost;
        if newly_lost > Bytes::ZERO && !self.conn.state.repairs() {
            self.enter_recovery(now, before.undelivered, observer);
        } else if self.conn.state.repairs()
            && self.una >= self.episode.point()
            && self.is_repairing()
        {
            self.next_episode(now, before.undelivered, observer);
        } else if before.marks && self.ecn.marks.any && self.conn.state == CaState::Open {
            self.reduce(now, before.undelivered, observer);
        }
        newly_lost
    }

    /// Ends the current episode, if this ACK completes it.
    #[inline(always)]
    fn end_recovery(
        &mut self,
        now: Time,
        tlp_repair: bool,
        prior_undelivered: Bytes,
        observer: &mut dyn Observer,
    ) {
        if self.conn.state != CaState::Open {
            if self.is_over() {
                self.exit_recovery(now, observer);
            }
        } else if tlp_repair {
            // RFC 8985 §7.4: the probe repaired the loss, but the loss remains a congestion signal
            // unless the window was already reduced in this round trip.
            self.enter_recovery(now, prior_undelivered, observer);
            self.leave(now, Recovery::Exit, observer);
        }
    }

    /// Returns the bytes between `una` and `next` that are not SACKed and can still be delivered.
    fn undelivered(&self) -> Bytes {
        // Only recovery reads this value, and then all segments except perhaps the last are full.
        self.conn.smss * (self.next - self.una - self.sacked)
    }

    /// Acknowledges segment `seq` cumulatively.
    #[inline]
    fn deliver(&mut self, seq: u64, delivery: &mut Delivery) {
        let sent = *self.window.get(seq);
        if sent.state == State::Sacked {
            let size = Bytes::new(u64::from(sent.size));
            self.sacked -= 1;
            self.sacked_bytes -= size;
            delivery.cumulative += size;
        } else {
            self.count(seq, sent, delivery);
        }
    }

    /// Processes a SACK block. Newly reported segments cost one step each. Runs that are already
    /// known are skipped, since the first record of a run stores the run's length.
    fn deliver_block(&mut self, block: Block, delivery: &mut Delivery) {
        let (start, end) = (block.start.max(self.una), block.end.min(self.next));
        let mut seq = start;
        while seq < end {
            let sent = *self.window.get(seq);
            if sent.state == State::Sacked {
                seq += sent.sacked_from_here();
            } else {
                self.count(seq, sent, delivery);
                self.window.get_mut(seq).sack();
                self.sacked += 1;
                self.sacked_bytes += Bytes::new(u64::from(sent.size));
                seq += 1;
            }
        }
        if start < end {
            self.window.get_mut(start).set_sacked_from_here(end - start);
            self.window
                .get_mut(end - 1)
                .set_sacked_up_to_here(end - start);
        }
    }

    #[inline]
    fn count(&mut self, seq: u64, sent: Sent, delivery: &mut Delivery) {
        let size = Bytes::new(u64::from(sent.size));
        delivery.bytes += size;
        match sent.state {
            State::Outstanding => self.conn.inflight -= size,
            State::Lost => self.lost -= 1,
            State::Sacked => {}
        }
        let when = self.bursts.leave(sent.burst());
        let this = order(when, seq);
        if delivery
            .newest
            .is_none_or(|(at, of, _)| order(at, of) <= this)
        {
            delivery.newest = Some((when, seq, sent));
        }
        if sent.transmissions == 1 {
            delivery.first_once.get_or_insert(when);
            if delivery
                .newest_once
                .is_none_or(|(at, of)| order(at, of) <= this)
            {
                delivery.newest_once = Some((when, seq));
            }
            delivery.lowest_once = delivery.lowest_once.min(seq);
        } else {
            delivery.retransmitted = true;
        }
        if seq >= delivery.highest {
            delivery.highest = seq + 1;
            delivery.last = (when, sent.transmissions > 1);
        }
    }

    /// Takes the RTT samples of an ACK and returns the RTT of the newest segment. RFC 6298 uses the
    /// oldest segment's RTT, which includes the delay of the ACK; controllers and users get the
    /// newest segment's. When a retransmission is acknowledged cumulatively, segments that were
    /// sent once may have waited behind it, so the echoed timestamp is used, which identifies the
    /// copy that is answered (RFC 7323 §4.1). It is `echo`, given if SND.UNA advanced (Linux:
    /// tcp_ack_update_rtt).
    #[inline]
    fn measure_rtt(&mut self, now: Time, delivery: &Delivery, echo: Option<Time>) -> Option<Span> {
        let (first, newest) = match (delivery.first_once, delivery.newest_once) {
            (Some(first), Some((newest, _))) if !delivery.ambiguous => (first, newest),
            _ => (echo?, echo?),
        };
        let rtt = now - newest;
        self.rtt.sample(now - first);
        self.rtt.sample_min(rtt);
        self.conn.srtt = self.rtt.srtt;
        self.conn.min_rtt = self.rtt.min;
        Some(rtt)
    }
}
