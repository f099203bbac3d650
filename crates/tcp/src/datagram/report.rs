//! Processing of a report: acknowledged packets, losses, and the controller's calls in the order
//! of the contract.

use fullpipe_cc::{
    Ack, CaState, Controller, EcnCounts, LossCause, Lost, Observer, Recovery, RecoveryCause,
    RttSample, Snapshot,
};
use fullpipe_units::{Bytes, Span, Time};

use super::DatagramSender;
use super::receiver::{Arrived, begin};
use super::window::State;
use crate::rate::rate_sample;
use crate::sender::AckOutcome;
use crate::wire;

/// The packets that one report newly acknowledges.
#[derive(Debug, Default)]
struct Delivery {
    bytes: Bytes,
    /// The packet with the highest number, and its arrival.
    newest: Option<(u64, Snapshot, Arrived)>,
    ce_packets: u64,
    ce_bytes: Bytes,
    /// Packets among these that were declared lost.
    late: u64,
}

impl<C: Controller> DatagramSender<C> {
    /// Processes a report, whose packets are `covered`, each with its arrival. Call
    /// [`transmit`](DatagramSender::transmit) afterwards. `on_lost` is called for each packet that
    /// is declared lost.
    pub fn on_report(
        &mut self,
        now: Time,
        report: &wire::Ack,
        covered: impl Iterator<Item = (u64, Option<Arrived>)>,
        observer: &mut dyn Observer,
        on_lost: impl FnMut(),
    ) -> AckOutcome {
        let prior_inflight = self.conn.inflight;
        let delivery = self.acknowledge(covered);
        self.sent.mark_missing();
        if delivery.late > 0 {
            self.on_late(now, delivery.late, observer);
        }
        let mut outcome = AckOutcome::default();
        if let Some(newest) = delivery.newest {
            outcome = self.on_delivery(
                now,
                report,
                &delivery,
                newest,
                prior_inflight,
                observer,
                on_lost,
            );
        }
        self.sent.forget_below(begin(report));
        outcome
    }

    /// Processes a report that newly acknowledges packets.
    #[expect(clippy::too_many_arguments, reason = "the second half of `on_report`")]
    fn on_delivery(
        &mut self,
        now: Time,
        report: &wire::Ack,
        delivery: &Delivery,
        (number, newest, arrived): (u64, Snapshot, Arrived),
        prior_inflight: Bytes,
        observer: &mut dyn Observer,
        on_lost: impl FnMut(),
    ) -> AckOutcome {
        self.progress = now;
        self.conn.delivered += delivery.bytes;
        self.conn.delivered_ce += delivery.ce_bytes;
        self.flight.on_delivered(now, newest.sent, &mut self.conn);
        self.conn.cwnd_limited = number < self.cwnd_limited_until;
        let rtt = (number + 1 == self.sent.highest).then(|| RttSample {
            raw: now - newest.sent,
            local: Span::ZERO,
            // RFC 8888 §3.1: the report gives the time from each arrival to itself.
            remote: report.sent - arrived.at,
        });
        let path_rtt = rtt.map(|rtt| rtt.raw.saturating_sub(rtt.remote));
        if let Some(rtt) = path_rtt {
            self.rtt.sample(rtt);
            (self.conn.srtt, self.conn.min_rtt) = (self.rtt.srtt, self.rtt.min);
        }
        let over = self.ends_episode(number);
        let prior_lost = self.conn.lost;
        let anew = self.detect_losses(now, report.sent, prior_inflight, observer, on_lost);
        let marked = delivery.ce_packets > 0;
        if marked && self.conn.state == CaState::Open && !over {
            self.enter(now, RecoveryCause::Ecn, prior_inflight, observer);
        }
        let rate = rate_sample(now, &self.conn, &newest);
        let told = Ack {
            newest,
            newly_acked: delivery.bytes,
            cumulative: delivery.bytes,
            newly_lost: self.conn.lost - prior_lost,
            prior_inflight,
            rtt,
            one_way: Some(arrived.at.since(newest.sent)),
            rate,
            ecn: EcnCounts {
                ce_packets: delivery.ce_packets,
                ce_bytes: marked.then_some(delivery.ce_bytes),
            },
            ece: marked,
            feedback: None,
            tlp_repair: false,
        };
        if let Some(mut acked) = self.acked.take() {
            for packet in acked.drain(..) {
                self.call(now, observer, |controller, cx| {
                    controller.on_acked(cx, &packet)
                });
            }
            self.acked = Some(acked);
        }
        self.call(now, observer, |controller, cx| controller.on_ack(cx, &told));
        if over && !anew {
            self.leave(now, Recovery::Exit, observer);
        }
        self.decide();
        if let Some(prr) = &mut self.prr {
            prr.on_ack(
                delivery.bytes,
                self.conn.inflight,
                told.newly_lost == Bytes::ZERO,
            );
        }
        AckOutcome {
            rtt: path_rtt,
            rate: rate.rate,
        }
    }

    /// Marks the packets that a report newly acknowledges.
    fn acknowledge(&mut self, covered: impl Iterator<Item = (u64, Option<Arrived>)>) -> Delivery {
        let mut delivery = Delivery::default();
        for (number, arrived) in covered {
            let (Some(arrived), Some(sent)) = (arrived, self.sent.get_mut(number)) else {
                continue;
            };
            let size = Bytes::new(sent.snapshot.size.into());
            match sent.state {
                State::Acked(_) => continue,
                State::Outstanding(None) => self.conn.inflight -= size,
                State::Outstanding(Some(since)) => {
                    self.conn.inflight -= size;
                    self.reordering = self.reordering.max(arrived.at.since(since));
                }
                // §4.2.1.1 of draft-ietf-ccwg-rfc8298bis-screamv2-01: the reordering window is the
                // time from the gap to the arrival of the packet after all.
                State::Lost(since) => {
                    delivery.late += 1;
                    self.reordering = self.reordering.max(arrived.at.since(since));
                }
            }
            sent.state = State::Acked(arrived.at);
            let snapshot = sent.snapshot;
            delivery.bytes += size;
            if arrived.ce {
                delivery.ce_packets += 1;
                delivery.ce_bytes += size;
            }
            if let Some(acked) = &mut self.acked {
                acked.push(snapshot);
            }
            delivery.newest = Some((number, snapshot, arrived));
            self.sent.highest = self.sent.highest.max(number + 1);
        }
        delivery
    }

    /// Returns the time for which a packet may be missing before it counts as lost: the reordering
    /// seen so far, at least a quarter of the minimum RTT (RFC 8985 §6.2).
    fn reordering_window(&self) -> Span {
        match self.conn.min_rtt {
            Span::MAX => Span::ZERO,
            min => self.reordering.max(min / 4).min(self.rtt.srtt),
        }
    }

    /// Returns the time at which everything in flight counts as lost: a retransmission timeout
    /// (RFC 6298) after the last progress.
    pub(super) fn timeout_at(&self) -> Time {
        if self.conn.inflight == Bytes::ZERO {
            Time::MAX
        } else {
            self.progress + self.rtt.rto()
        }
    }

    /// Declares the packets lost that were missing for too long when the report was sent, and begins
    /// an episode for them. Returns whether one began. Both times are the receiver's, so the interval
    /// of reports does not matter.
    fn detect_losses(
        &mut self,
        now: Time,
        reported: Time,
        prior_inflight: Bytes,
        observer: &mut dyn Observer,
        mut on_lost: impl FnMut(),
    ) -> bool {
        let window = self.reordering_window();
        let mut losses = None;
        while let Some((number, sent)) = self.sent.oldest() {
            let State::Outstanding(Some(since)) = sent.state else {
                break;
            };
            if reported < since + window {
                break;
            }
            self.lose(now, (number, since), LossCause::Rack, observer);
            on_lost();
            let (_, count) = losses.unwrap_or((number, 0));
            losses = Some((number, count + 1));
        }
        let Some(losses) = losses else {
            return false;
        };
        let point = self.episode.map(|episode| episode.point);
        self.on_losses(now, losses, prior_inflight, observer);
        self.episode.map(|episode| episode.point) != point
    }

    /// Declares one packet lost that is missing since `since`.
    fn lose(
        &mut self,
        now: Time,
        (number, since): (u64, Time),
        cause: LossCause,
        observer: &mut dyn Observer,
    ) {
        let new_range = !self.sent.follows_a_loss(number);
        let sent = self.sent.get_mut(number).expect("it is outstanding");
        sent.state = State::Lost(since);
        let packet = sent.snapshot;
        let size = Bytes::new(packet.size.into());
        self.conn.inflight -= size;
        self.conn.lost += size;
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

    /// Handles the timers that are due: the controller's, and the timeout.
    /// Call [`transmit`](DatagramSender::transmit) afterwards.
    ///
    /// # Panics
    /// If the controller asks to be woken at a time that has passed.
    pub fn on_timer(&mut self, now: Time, observer: &mut dyn Observer, mut on_lost: impl FnMut()) {
        if self.timeout_at() <= now {
            while let Some((number, _)) = self.sent.oldest() {
                // A late report of it says nothing about reordering.
                self.lose(now, (number, Time::MAX), LossCause::Rto, observer);
                on_lost();
            }
            self.rtt.back_off();
            self.progress = now;
            self.time_out(now, observer);
            self.decide();
        }
        if self.decision.wake_at.is_some_and(|at| at <= now) {
            self.call(now, observer, |controller, cx| controller.on_timer(cx));
            self.decide();
            assert!(
                self.decision.wake_at.is_none_or(|at| at > now),
                "wake_at is not after the call of on_timer at {now}: the timer would fire forever"
            );
        }
    }
}
