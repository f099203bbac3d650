//! A scripted transport: a window-limited flow whose ACKs arrive as the test specifies.

use std::collections::BTreeMap;

use fullpipe_cc::{
    Ack, AnyController, CaState, Config, Conn, Context, Controller, Decision, EcnCodepoint,
    EcnCounts, LossCause, Lost, Observer, ParamValue, RateSample, Recovery, RecoveryCause,
    Registry, RttSample, Shared, Snapshot, Transition,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

/// Payload of a packet.
pub(crate) const SMSS: Bytes = Bytes::new(1_448);

/// Records the transitions that a controller reports.
#[derive(Debug, Default)]
pub(crate) struct Log(pub(crate) Vec<(Time, Transition)>);

impl Observer for Log {
    fn transition(&mut self, now: Time, transition: Transition) {
        self.0.push((now, transition));
    }
}

/// Builds the algorithm `name` with these parameters; also returns the names of its trace fields.
pub(crate) fn build(
    name: &str,
    params: &[(&str, ParamValue)],
) -> (AnyController, Vec<&'static str>) {
    build_in(name, params, None, &mut Shared::default())
}

fn build_in(
    name: &str,
    params: &[(&str, ParamValue)],
    group: Option<&str>,
    shared: &mut Shared,
) -> (AnyController, Vec<&'static str>) {
    let descriptor = Registry::default().get(name).expect("a built-in algorithm");
    let given: BTreeMap<String, ParamValue> = params
        .iter()
        .map(|(key, value)| ((*key).into(), value.clone()))
        .collect();
    let config = Config::new(descriptor, &given, SMSS, SMSS * 10)
        .expect("declared parameters")
        .in_group(group.map(str::to_owned));
    (
        (descriptor.build)(&config, shared),
        descriptor.fields.iter().map(|field| field.name).collect(),
    )
}

/// A connection without any history.
pub(crate) fn fresh_conn() -> Conn {
    Conn {
        cwnd_limited: true,
        ..Conn::new(Time::ZERO, SMSS, 3)
    }
}

/// A keyword as a parameter.
pub(crate) fn word(text: &str) -> ParamValue {
    ParamValue::Word(text.to_owned())
}

/// Value of the trace field `name` of the controller.
pub(crate) fn observed(cc: &AnyController, fields: &[&str], name: &str) -> f64 {
    let mut row = Vec::new();
    cc.observe(&mut row);
    row[fields
        .iter()
        .position(|field| *field == name)
        .expect("a declared field")]
}

/// The scripted transport.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) cc: AnyController,
    pub(crate) conn: Conn,
    pub(crate) now: Time,
    pub(crate) log: Log,
    /// Rate of the rate samples.
    pub(crate) rate: Option<Rate>,
    /// Data lost according to the next ACK: declared with the ACK, and since its newest packet was
    /// sent.
    pub(crate) lost_in_ack: Bytes,
    pub(crate) lost_in_sample: Bytes,
    /// Fraction of each ACK's packets that are marked.
    pub(crate) marked: f64,
    /// The return path's part of each RTT.
    pub(crate) back: Span,
    rng: Rng,
    fields: Vec<&'static str>,
}

impl Driver {
    pub(crate) fn new(name: &str, params: &[(&str, ParamValue)]) -> Driver {
        Driver::around(build(name, params))
    }

    /// A flow of `group`, whose state is in `shared`.
    pub(crate) fn in_group(name: &str, group: &str, shared: &mut Shared) -> Driver {
        Driver::around(build_in(name, &[], Some(group), shared))
    }

    fn around((cc, fields): (AnyController, Vec<&'static str>)) -> Driver {
        let rng = Rng::stream(1, "flow", "cc");
        Driver {
            cc,
            conn: fresh_conn(),
            now: Time::ZERO,
            log: Log::default(),
            rate: None,
            lost_in_ack: Bytes::ZERO,
            lost_in_sample: Bytes::ZERO,
            marked: 0.0,
            back: Span::ZERO,
            rng,
            fields,
        }
    }

    /// Makes one call of the contract.
    pub(crate) fn call<T>(
        &mut self,
        call: impl FnOnce(&mut AnyController, &mut Context<'_>) -> T,
    ) -> T {
        let mut cx = Context {
            now: self.now,
            conn: &self.conn,
            rng: &mut self.rng,
            observer: &mut self.log,
        };
        call(&mut self.cc, &mut cx)
    }

    pub(crate) fn decision(&self) -> Decision {
        self.cc.decision()
    }

    /// The window, in segments.
    pub(crate) fn cwnd(&self) -> f64 {
        self.decision().cwnd.as_f64() / SMSS.as_f64()
    }

    /// The threshold, in segments.
    pub(crate) fn ssthresh(&self) -> f64 {
        self.decision().ssthresh.as_f64() / SMSS.as_f64()
    }

    pub(crate) fn field(&self, name: &str) -> f64 {
        observed(&self.cc, &self.fields, name)
    }

    /// Transitions so far, as `from>to`.
    pub(crate) fn transitions(&self) -> Vec<String> {
        self.log
            .0
            .iter()
            .map(|(_, change)| format!("{}>{}", change.from, change.to))
            .collect()
    }

    /// A full-sized packet sent when `delivered` bytes had been acknowledged.
    pub(crate) fn packet(&self, delivered: Bytes) -> Snapshot {
        Snapshot {
            sent: self.now,
            first_sent: self.now,
            delivered_at: self.now,
            delivered,
            delivered_ce: Bytes::ZERO,
            lost: self.conn.lost,
            inflight: self.conn.inflight,
            size: SMSS.get() as u16,
            app_limited: self.conn.app_limited,
            ecn: EcnCodepoint::NotEct,
            retransmit: false,
        }
    }

    /// Makes an ACK for `acked` bytes whose newest packet was sent when `delivered` bytes had been
    /// acknowledged.
    pub(crate) fn ack(&mut self, delivered: Bytes, acked: Bytes, rtt: Span) {
        let prior_inflight = self.conn.inflight;
        self.conn.delivered += acked;
        self.conn.inflight = self.conn.inflight.saturating_sub(acked);
        let marked = acked.mul_f64(self.marked);
        self.conn.delivered_ce += marked;
        self.conn.srtt = rtt;
        self.conn.min_rtt = self.conn.min_rtt.min(rtt);
        self.conn.next_departure = self.now;
        let ack = Ack {
            newest: self.packet(delivered),
            newly_acked: acked,
            cumulative: acked,
            newly_lost: core::mem::take(&mut self.lost_in_ack),
            prior_inflight,
            rtt: Some(RttSample {
                raw: rtt,
                local: Span::ZERO,
                remote: Span::ZERO,
            }),
            one_way: Some(rtt - self.back),
            rate: RateSample {
                rate: self.rate,
                interval: rtt,
                delivered: acked,
                lost: core::mem::take(&mut self.lost_in_sample),
                delivered_ce: marked,
                app_limited: self.conn.app_limited,
            },
            ecn: EcnCounts {
                ce_packets: u64::from(marked > Bytes::ZERO),
                ce_bytes: Some(marked),
            },
            ece: marked > Bytes::ZERO,
            feedback: None,
            tlp_repair: false,
        };
        self.call(|cc, cx| cc.on_ack(cx, &ack));
        // A bulk flow fills the window again.
        self.conn.inflight = self.decision().cwnd;
    }

    /// Makes a round: a window of packets acknowledged one by one, with the ACKs spread over `rtt`.
    pub(crate) fn round(&mut self, rtt: Span) {
        let packets = (self.cwnd() as u64).max(1);
        self.round_of(packets, rtt / packets, |_| rtt);
    }

    /// Makes a round of `packets` ACKs, `spacing` apart, the i-th with an RTT of `rtt(i)`.
    pub(crate) fn round_of(&mut self, packets: u64, spacing: Span, rtt: impl Fn(u64) -> Span) {
        let delivered = self.conn.delivered;
        for i in 0..packets {
            self.now += spacing;
            self.ack(delivered, SMSS, rtt(i));
        }
    }

    /// Loses a packet and begins fast recovery.
    pub(crate) fn lose(&mut self) {
        self.lose_packets(1);
    }

    /// Loses a number of packets at once and begins fast recovery.
    pub(crate) fn lose_packets(&mut self, packets: u64) {
        self.mark_lost(SMSS * packets, LossCause::Rack);
        self.conn.state = CaState::Recovery;
        self.recovery(Recovery::Enter(RecoveryCause::Loss));
    }

    /// Loses all outstanding data and fires the timer; `again` if it is for the same segment as
    /// before.
    pub(crate) fn time_out(&mut self, again: bool) {
        self.mark_lost(self.conn.inflight, LossCause::Rto);
        self.conn.state = CaState::Loss;
        self.recovery(Recovery::Timeout { again });
    }

    /// Requests a reduction because of marks.
    pub(crate) fn mark(&mut self) {
        self.conn.state = CaState::Reduced;
        self.recovery(Recovery::Enter(RecoveryCause::Ecn));
    }

    /// Ends fast recovery.
    pub(crate) fn recover(&mut self) {
        self.conn.state = CaState::Open;
        self.recovery(Recovery::Exit);
        self.conn.inflight = self.decision().cwnd;
    }

    pub(crate) fn recovery(&mut self, change: Recovery) {
        self.call(|cc, cx| cc.on_recovery(cx, change));
    }

    fn mark_lost(&mut self, bytes: Bytes, cause: LossCause) {
        for _ in 0..bytes.get() / SMSS.get() {
            let packet = self.packet(self.conn.delivered);
            self.conn.lost += SMSS;
            self.conn.inflight -= SMSS;
            let lost = Lost {
                packet,
                lost_since_sent: SMSS,
                new_range: true,
                cause,
            };
            self.call(|cc, cx| cc.on_lost(cx, &lost));
        }
    }
}
