//! The congestion control of a connection: converts noq's events into calls to the controller, in
//! the order that the contract requires.

mod feedback;
mod recovery;

use fullpipe_cc::replay::{Call, Event};
use fullpipe_cc::{
    AnyController, Conn, Context, Controller, Decision, EcnCodepoint, Observer, PathChange,
    RecoveryCause, RecoveryOwner, Signals,
};
use fullpipe_tcp::{Flight, Limit, LimitClock, Pacer, Pacing, Prr, RateAggregator};
use fullpipe_trace::{FlowMeter, FlowRow};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use crate::event_buffer::BufferedEvent;
use crate::ring::Ring;
use recovery::Episode;

/// The signals that [`CongestionDriver`] derives from noq. For marks, noq reports only that their
/// number has grown; it sends with ECT(0) or without ECN, and QUIC has no timestamps.
pub const PROVIDES: Signals = Signals::RATE_SAMPLE
    .and(Signals::LOST_EACH)
    .and(Signals::TX_INFLIGHT)
    .and(Signals::SPURIOUS)
    .and(Signals::PACING)
    .and(Signals::ACKED_EACH);

/// The parts and options of a [`CongestionDriver`].
#[derive(Debug)]
pub struct CongestionDriverConfig {
    /// The congestion controller.
    pub controller: AnyController,
    /// The component that sets the window during recovery.
    pub owner: RecoveryOwner,
    /// Whether to call [`Controller::on_acked`](fullpipe_cc::Controller::on_acked).
    pub acked_each: bool,
    /// When to pace.
    pub pacing: Pacing,
    /// ECN codepoint of packets.
    pub ecn: EcnCodepoint,
    /// Minimum time that a delivery-rate sample covers.
    pub rate_interval: Span,
    /// Random stream of the controller.
    pub rng: Rng,
    /// The largest QUIC packet. Windows are counted in bytes of QUIC packets with all overhead (RFC
    /// 9002 §2).
    pub smss: Bytes,
    /// The initial window.
    pub initial_cwnd: Bytes,
    /// Start of the metrics; earlier data is excluded as warm-up.
    pub measure_from: Time,
}

/// Congestion control of one connection, from the beginning of its data.
#[derive(Debug)]
pub struct CongestionDriver {
    controller: AnyController,
    owner: RecoveryOwner,
    acked_each: bool,
    rng: Rng,
    conn: Conn,
    decision: Decision,
    ring: Ring,
    flight: Flight,
    /// Number of the next packet when the window was last fully used.
    cwnd_limited_until: u64,
    largest_acked: Option<u64>,
    episode: Option<Episode>,
    /// Whether the latest episode can still be undone as spurious.
    undo: bool,
    prr: Option<Prr>,
    pacer: Pacer,
    ecn: EcnCodepoint,
    joined: RateAggregator,
    limits: LimitClock,
    /// Bytes that noq counts in flight and this driver does not: packets sent before its first one.
    uncounted: i64,
    /// Number of lost packets whose data was not yet sent again.
    to_repair: u64,
    last: (Option<Span>, Option<Rate>),
    meter: FlowMeter,
    /// Whether the controller knows that the flow has ended.
    ended: bool,
    /// Record of all calls, for a replay.
    record: Option<Box<Record>>,
}

/// The calls to a controller, and its decisions.
#[derive(Debug, Default)]
pub struct Record {
    /// Every call.
    pub events: Vec<Event>,
    /// Each decision, with the number of calls before it.
    pub decisions: Vec<(usize, Decision)>,
}

impl CongestionDriver {
    /// Creates a driver that has sent nothing.
    pub fn new(config: CongestionDriverConfig, now: Time, meter: FlowMeter) -> CongestionDriver {
        let CongestionDriverConfig {
            controller,
            owner,
            acked_each,
            pacing,
            ecn,
            rate_interval,
            rng,
            smss,
            initial_cwnd,
            measure_from,
        } = config;
        let decision = controller.decision();
        let mut limits = LimitClock::new(now);
        limits.restart(measure_from.max(now));
        let mut driver = CongestionDriver {
            controller,
            owner,
            acked_each,
            rng,
            // draft-ietf-ccwg-bbr-06 §5.6.4.2: QUIC's send quantum is the whole capacity of its
            // offload.
            conn: Conn {
                initial_cwnd,
                ..Conn::new(now, smss, 1)
            },
            decision,
            ring: Ring::default(),
            flight: Flight::new(now),
            cwnd_limited_until: 0,
            largest_acked: None,
            episode: None,
            undo: false,
            prr: None,
            pacer: Pacer::bucket(pacing, smss),
            ecn,
            joined: RateAggregator::new(rate_interval),
            limits,
            uncounted: 0,
            to_repair: 0,
            last: (None, None),
            meter,
            ended: false,
            record: None,
        };
        driver.decide();
        driver
    }

    /// Records every call from now on, for a replay.
    pub fn record(&mut self) {
        self.record = Some(Box::default());
    }

    /// Returns the recorded calls.
    pub fn take_record(&mut self) -> Record {
        self.record.take().map(|record| *record).unwrap_or_default()
    }

    /// Processes one event of noq, with noq's smoothed RTT after it. Returns true if the event was
    /// an ACK of packets that the driver counts.
    pub fn on_event(
        &mut self,
        now: Time,
        event: &BufferedEvent,
        srtt: Span,
        observer: &mut dyn Observer,
    ) -> bool {
        for (pn, size) in &event.sent {
            self.on_sent(now, *pn, *size, observer);
        }
        if event.cwnd_limited {
            self.cwnd_limited_until = self.ring.next();
        }
        if let Some(mtu) = event
            .mtu
            .map(|mtu| Bytes::new(mtu.into()))
            .filter(|mtu| *mtu != self.conn.smss)
        {
            self.conn.smss = mtu;
            self.call(now, Call::Path(PathChange::Mtu), observer);
            self.decide();
        }
        if event.acked.is_empty() && event.lost.is_empty() && !event.marked && !event.spurious {
            return false;
        }
        let acked = self.on_feedback(now, event, srtt, observer);
        self.decide();
        self.ring.trim();
        acked
    }

    /// Processes a packet that leaves.
    fn on_sent(&mut self, now: Time, pn: u64, size: u16, observer: &mut dyn Observer) {
        let bytes = Bytes::new(size.into());
        self.flight.on_send(now, &self.conn);
        self.conn.inflight += bytes;
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
        // QUIC sends data again in new packets, never the same packet (RFC 9000 §13.3).
        let snapshot = self.flight.snapshot(now, &self.conn, size, self.ecn, false);
        self.ring.push(pn, snapshot);
        // noq sends lost data before it sends new data.
        let again = self.to_repair > 0;
        self.to_repair -= u64::from(again);
        self.meter.on_sent(now, again);
        if self.call(now, Call::Sent(snapshot), observer) {
            self.decide();
        }
        self.pacer.on_sent(now, bytes);
    }

    /// Calls the controller's timer if it is due.
    pub fn on_time(&mut self, now: Time, observer: &mut dyn Observer) {
        if self.decision.wake_at.is_some_and(|at| now >= at) {
            self.call(now, Call::Timer, observer);
            self.decide();
            assert!(
                self.decision.wake_at.is_none_or(|at| at > now),
                "wake_at is not after the call of on_timer at {now}: the timer would fire forever"
            );
        }
    }

    /// Notifies the controller once that the connection has ended.
    pub fn on_end(&mut self, now: Time, observer: &mut dyn Observer) {
        if !self.ended {
            self.ended = true;
            self.call(now, Call::End, observer);
        }
    }

    /// Notes that datagrams leave at `now`: the host is the limit while it sends them, until
    /// another limit applies.
    pub fn on_burst(&mut self, now: Time) {
        self.limits.set(now, Limit::Host);
    }

    /// Notes that no more datagrams can leave at `now`, because of `limit`.
    pub fn on_limit(&mut self, now: Time, limit: Limit) {
        self.pacer.end_burst(now);
        self.conn.next_departure = self.pacer.next.max(now);
        let used_up = self.conn.inflight + self.conn.smss > self.cwnd();
        if limit == Limit::Application && !used_up || self.decision.mark_app_limited {
            self.flight.mark_app_limited(&mut self.conn);
        }
        let limit = match limit {
            Limit::Cwnd
                if self
                    .episode
                    .is_some_and(|episode| episode.cause == RecoveryCause::Loss) =>
            {
                Limit::Recovery
            }
            limit => limit,
        };
        self.limits.set(now, limit);
    }

    /// Calls the controller once, with the current connection state. Returns whether its decision
    /// may have changed.
    fn call(&mut self, now: Time, call: Call, observer: &mut dyn Observer) -> bool {
        self.conn.next_departure = self.pacer.next.max(now);
        let cx = &mut Context {
            now,
            conn: &self.conn,
            rng: &mut self.rng,
            observer,
        };
        let mut reads = true;
        match &call {
            Call::Sent(packet) => reads = self.controller.on_sent(cx, packet),
            Call::Lost(lost) => self.controller.on_lost(cx, lost),
            Call::Acked(packet) => self.controller.on_acked(cx, packet),
            Call::Ack(ack) => self.controller.on_ack(cx, ack),
            Call::Recovery(change) => self.controller.on_recovery(cx, *change),
            Call::Path(change) => self.controller.on_path(cx, *change),
            Call::Frame(frame) => self.controller.on_frame(cx, frame),
            Call::Timer => self.controller.on_timer(cx),
            Call::Unused(cwnd) => self.controller.on_unused(cx, *cwnd),
            Call::End => self.controller.on_end(cx),
        }
        if let Some(record) = &mut self.record {
            record.events.push(Event {
                now,
                conn: self.conn.clone(),
                call,
            });
        }
        reads
    }

    /// Reads the controller's decision after the calls of one event.
    fn decide(&mut self) {
        self.decision = self.controller.decision();
        if let Some(record) = &mut self.record {
            record.decisions.push((record.events.len(), self.decision));
        }
        if self.decision.mark_app_limited {
            self.flight.mark_app_limited(&mut self.conn);
        }
        let (
            cwnd,
            Decision {
                ssthresh,
                pacing_rate,
                send_quantum,
                ..
            },
        ) = (self.cwnd(), self.decision);
        let rtt = (self.conn.srtt, self.conn.min_rtt);
        self.pacer.set(
            pacing_rate,
            send_quantum,
            cwnd,
            self.conn.inflight,
            ssthresh,
            rtt,
        );
        self.conn.pace(self.pacer.rate);
    }

    /// Returns the current congestion window.
    pub fn cwnd(&self) -> Bytes {
        self.prr.as_ref().map_or(self.decision.cwnd, |prr| prr.cwnd)
    }

    /// Returns the window in noq's count, which includes packets from before the driver began.
    pub fn window(&self) -> u64 {
        self.cwnd().get().saturating_add_signed(self.uncounted)
    }

    /// Returns the bytes that pacing allows to leave back to back at `now`.
    pub fn allowance(&self, now: Time) -> Bytes {
        self.pacer.allowance(now)
    }

    /// Returns the time at which pacing allows the next burst.
    pub fn next_departure(&self) -> Time {
        self.pacer.next
    }

    /// Returns the time at which the controller requested a timer call.
    pub fn wake_at(&self) -> Option<Time> {
        self.decision.wake_at
    }

    /// Returns the latest decision.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns the state of the connection, as passed to the controller.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// Returns the bytes that noq counts in flight and the driver does not.
    pub fn uncounted(&self) -> i64 {
        self.uncounted
    }

    /// Returns the controller.
    pub fn controller(&self) -> &AnyController {
        &self.controller
    }

    /// Returns the measurements, and the time during which each limit applied until `now`.
    pub fn finish(&mut self, now: Time) -> (FlowMeter, Vec<Span>) {
        (self.meter.clone(), self.limits.held(now).to_vec())
    }

    /// Returns the row of the trace after an ACK.
    pub fn row(&self, time: Time, flow: u32) -> FlowRow {
        FlowRow {
            time,
            flow,
            cwnd: self.cwnd(),
            inflight: self.conn.inflight,
            ssthresh: self.decision.ssthresh,
            pacing_rate: self.conn.pacing(),
            delivery_rate: self.last.1,
            rtt: self.last.0,
            srtt: self.conn.srtt,
            min_rtt: self.conn.min_rtt,
            delivered: self.conn.delivered,
            acked: self.conn.delivered,
            lost: self.conn.lost,
            limited_by: self.limits.current() as u8,
        }
    }
}
