//! A minimal path: one bottleneck with a drop-tail queue and all propagation delay behind it, one
//! bulk flow, and an ACK per packet. This is enough to close a controller's loop; the real models
//! are in other crates.

use std::collections::VecDeque;

use fullpipe_cc::{
    Ack, AnyController, Conn, Context, Controller, EcnCodepoint, EcnCounts, LossCause, Lost,
    ParamValue, RateSample, Recovery, RecoveryCause, RttSample, Snapshot,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::driver::{Log, SMSS, build, fresh_conn, observed};

/// Size of a packet on the wire.
const WIRE: Bytes = Bytes::new(1_500);
/// Number of later packets that must arrive before a missing one counts as lost.
const REORDERING: u64 = 3;

#[derive(Clone, Copy, Debug)]
struct InFlight {
    number: u64,
    packet: Snapshot,
    /// Arrival time of its ACK; `None` for a dropped packet.
    acked_at: Option<Time>,
    marked: bool,
}

/// The flow and its path.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) cc: AnyController,
    pub(crate) conn: Conn,
    pub(crate) now: Time,
    pub(crate) log: Log,
    /// Queue limit, in packets.
    pub(crate) limit: u64,
    /// Packets of an ECN-capable flow that find a longer queue are marked: a step threshold, as in
    /// data centers.
    pub(crate) mark_above: u64,
    /// Owner of the window during recovery.
    transmission: Span,
    delay: Span,
    link_free: Time,
    flight: VecDeque<InFlight>,
    next_number: u64,
    recovery_point: Option<u64>,
    first_sent: Time,
    delivered_at: Time,
    /// The transport paces a controller without a pacing rate, as Linux does: at 2 and 1.2 times
    /// cwnd / srtt.
    pace_window: bool,
    rng: Rng,
    fields: Vec<&'static str>,
}

impl Path {
    pub(crate) fn new(
        name: &str,
        params: &[(&str, ParamValue)],
        rate: Rate,
        delay: Span,
        limit: u64,
    ) -> Path {
        let (cc, fields) = build(name, params);
        Path {
            cc,
            conn: fresh_conn(),
            now: Time::ZERO,
            log: Log::default(),
            limit,
            mark_above: u64::MAX,
            transmission: rate.time_for(WIRE),
            delay,
            link_free: Time::ZERO,
            flight: VecDeque::new(),
            next_number: 0,
            recovery_point: None,
            first_sent: Time::ZERO,
            delivered_at: Time::ZERO,
            pace_window: false,
            rng: Rng::stream(1, "flow", "cc"),
            fields,
        }
    }

    /// Marks packets that find more than `packets` in the queue.
    pub(crate) fn marking(mut self, packets: u64) -> Path {
        self.mark_above = packets;
        self
    }

    /// Paces a window as Linux does under `fq`.
    pub(crate) fn paced(mut self) -> Path {
        self.pace_window = true;
        self
    }

    pub(crate) fn field(&self, name: &str) -> f64 {
        observed(&self.cc, &self.fields, name)
    }

    /// Changes the rate; the departure times of packets in the queue remain.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.transmission = rate.time_for(WIRE);
    }

    /// Number of packets in the bottleneck's queue.
    pub(crate) fn queue(&self) -> u64 {
        (self.link_free.since(self.now).as_nanos().saturating_sub(1)) / self.transmission.as_nanos()
    }

    /// Runs until `end`; calls `watch` after every ACK, with the RTT.
    pub(crate) fn run(&mut self, end: Time, mut watch: impl FnMut(&Path, Span)) {
        loop {
            let decision = self.cc.decision();
            let may_send = self.conn.inflight + SMSS <= decision.cwnd;
            let send_at = if may_send {
                self.now.max(self.conn.next_departure)
            } else {
                Time::MAX
            };
            let ack_at = self
                .flight
                .iter()
                .find_map(|sent| sent.acked_at)
                .unwrap_or(Time::MAX);
            if send_at.min(ack_at) >= end {
                self.now = end;
                return;
            }
            if send_at < ack_at {
                self.now = send_at;
                self.send();
            } else {
                self.now = ack_at;
                let rtt = self.receive();
                watch(self, rtt);
            }
        }
    }

    fn call(&mut self, call: impl FnOnce(&mut AnyController, &mut Context<'_>)) {
        let mut cx = Context {
            now: self.now,
            conn: &self.conn,
            rng: &mut self.rng,
            observer: &mut self.log,
        };
        call(&mut self.cc, &mut cx);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let decision = self.cc.decision();
        let window_rate = || {
            let gain = if decision.cwnd < decision.ssthresh / 2 {
                2.0
            } else {
                1.2
            };
            Rate::from_delivery(decision.cwnd, self.conn.srtt).mul_f64(gain)
        };
        decision
            .pacing_rate
            .or_else(|| (self.pace_window && self.conn.srtt > Span::ZERO).then(window_rate))
    }

    fn send(&mut self) {
        if self.conn.inflight == Bytes::ZERO {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
        }
        self.conn.inflight += SMSS;
        let packet = Snapshot {
            sent: self.now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.conn.delivered,
            delivered_ce: self.conn.delivered_ce,
            lost: self.conn.lost,
            inflight: self.conn.inflight,
            size: SMSS.get() as u16,
            app_limited: self.conn.app_limited,
            ecn: self.cc.decision().ecn,
            retransmit: false,
        };
        let marked = packet.ecn != EcnCodepoint::NotEct && self.queue() > self.mark_above;
        let acked_at = (self.queue() <= self.limit).then(|| {
            self.link_free = self.link_free.max(self.now) + self.transmission;
            self.link_free + self.delay
        });
        self.flight.push_back(InFlight {
            number: self.next_number,
            packet,
            acked_at,
            marked,
        });
        self.next_number += 1;
        let rate = self.pacing_rate();
        self.conn.pace(rate);
        let gap = rate.map_or(Span::ZERO, |rate| rate.time_for(SMSS));
        self.conn.next_departure = self.conn.next_departure.max(self.now) + gap;
        self.call(|cc, cx| {
            cc.on_sent(cx, &packet);
        });
    }

    fn receive(&mut self) -> Span {
        let prior_inflight = self.conn.inflight;
        let at = self
            .flight
            .iter()
            .position(|sent| sent.acked_at.is_some())
            .expect("an ACK is due");
        let InFlight {
            number,
            packet,
            marked,
            ..
        } = self.flight.remove(at).expect("just found");
        let rtt = self.now - packet.sent;
        self.conn.inflight -= SMSS;
        self.conn.delivered += SMSS;
        self.take_rtt(rtt);
        self.first_sent = packet.sent;
        self.delivered_at = self.now;
        self.conn.next_departure = self.conn.next_departure.max(self.now);
        if self.cc.decision().mark_app_limited {
            self.conn.app_limited = true;
        } else if packet.app_limited || self.conn.app_limited {
            self.conn.app_limited = false;
        }

        if marked {
            self.conn.delivered_ce += SMSS;
        }
        let newly_lost = self.detect_losses(number);
        if marked && self.recovery_point.is_none() {
            self.enter(RecoveryCause::Ecn);
        }
        let ack = Ack {
            newest: packet,
            newly_acked: SMSS,
            cumulative: SMSS,
            newly_lost,
            prior_inflight,
            rtt: Some(RttSample {
                raw: rtt,
                local: Span::ZERO,
                remote: Span::ZERO,
            }),
            one_way: Some(rtt - self.delay / 2),
            rate: self.rate_sample(&packet),
            ecn: EcnCounts {
                ce_packets: u64::from(marked),
                ce_bytes: Some(SMSS * u64::from(marked)),
            },
            ece: marked,
            feedback: None,
            tlp_repair: false,
        };
        self.call(|cc, cx| cc.on_ack(cx, &ack));
        // Until then a packet from before the point may still prove lost.
        if self
            .recovery_point
            .is_some_and(|point| number >= point + REORDERING)
        {
            self.recovery_point = None;
            self.conn.state = fullpipe_cc::CaState::Open;
            self.call(|cc, cx| cc.on_recovery(cx, Recovery::Exit));
        }
        rtt
    }

    fn take_rtt(&mut self, rtt: Span) {
        self.conn.min_rtt = self.conn.min_rtt.min(rtt);
        self.conn.srtt = if self.conn.srtt == Span::ZERO {
            rtt
        } else {
            (self.conn.srtt * 7 + rtt) / 8
        };
    }

    fn rate_sample(&self, packet: &Snapshot) -> RateSample {
        let interval = (packet.sent - packet.first_sent).max(self.now - packet.delivered_at);
        let delivered = self.conn.delivered - packet.delivered;
        RateSample {
            rate: (interval >= self.conn.min_rtt).then(|| Rate::from_delivery(delivered, interval)),
            interval,
            delivered,
            lost: self.conn.lost - packet.lost,
            delivered_ce: self.conn.delivered_ce - packet.delivered_ce,
            app_limited: packet.app_limited,
        }
    }

    fn detect_losses(&mut self, newest: u64) -> Bytes {
        let mut newly_lost = Bytes::ZERO;
        while let Some(oldest) = self.flight.front()
            && oldest.acked_at.is_none()
            && oldest.number + REORDERING <= newest
        {
            let packet = oldest.packet;
            self.flight.pop_front();
            self.conn.inflight -= SMSS;
            self.conn.lost += SMSS;
            newly_lost += SMSS;
            let lost_since_sent = self.conn.lost - packet.lost;
            let lost = Lost {
                packet,
                lost_since_sent,
                new_range: true,
                cause: LossCause::Rack,
            };
            self.call(|cc, cx| cc.on_lost(cx, &lost));
        }
        if newly_lost > Bytes::ZERO && self.recovery_point.is_none() {
            self.enter(RecoveryCause::Loss);
        }
        newly_lost
    }

    fn enter(&mut self, cause: RecoveryCause) {
        self.recovery_point = Some(self.next_number);
        self.conn.state = match cause {
            RecoveryCause::Loss => fullpipe_cc::CaState::Recovery,
            RecoveryCause::Ecn => fullpipe_cc::CaState::Reduced,
        };
        self.call(|cc, cx| cc.on_recovery(cx, Recovery::Enter(cause)));
    }
}
