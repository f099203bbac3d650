//! The contract, for every algorithm: for any legal behavior of the transport, decisions remain
//! valid and replay exactly.

use std::collections::VecDeque;

use fullpipe_cc::replay::{Call, Event, replay};
use fullpipe_cc::{
    Ack, AnyController, Config, Conn, Controller, Decision, Descriptor, Domain, EcnCounts,
    LossCause, Lost, ParamValue, PathChange, RateSample, Recovery, RecoveryCause, RecoveryOwner,
    Registry, RttSample, Snapshot,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};
use proptest::prelude::*;

const SMSS: Bytes = Bytes::new(1_448);

/// An event of the transport.
#[derive(Clone, Debug)]
enum Step {
    /// Time passes.
    Wait(Span),
    /// The application writes this number of packets; those that fit in the window leave.
    Send(u64),
    /// The oldest packets are declared lost or acknowledged, in these numbers.
    Ack {
        lost: usize,
        acked: usize,
        marked: bool,
    },
    /// The retransmission timer fires; `again` if it is for the same segment as before.
    Timeout { again: bool },
    /// The last reduction proves spurious.
    Spurious,
    /// Persistent congestion.
    Persistent,
    /// The application begins or ceases to limit the flow.
    AppLimited(bool),
    /// The segment size changes.
    Mtu(Bytes),
    /// The path changes in another way.
    Path(PathChange),
    /// The controller's timer fires.
    Timer,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // From microseconds to seconds, all orders of magnitude with the same probability.
    let wait =
        (0_u32..7, 1_u64..=10).prop_map(|(decade, n)| Span::from_micros(n * 10_u64.pow(decade)));
    let size =
        prop_oneof![Just(536_u64), Just(1_200), Just(1_448), Just(8_948)].prop_map(Bytes::new);
    let seed = (1_u64..10_000_000).prop_map(|bdp| PathChange::Seed {
        bdp: Bytes::new(bdp),
    });
    let step = prop_oneof![
        6 => wait.prop_map(Step::Wait),
        6 => (1_u64..100).prop_map(Step::Send),
        12 => (prop_oneof![4 => Just(0_usize), 1 => 1_usize..5], 1_usize..40, prop::bool::weighted(0.1))
            .prop_map(|(lost, acked, marked)| Step::Ack { lost, acked, marked }),
        1 => prop::bool::ANY.prop_map(|again| Step::Timeout { again }),
        1 => Just(Step::Spurious),
        1 => prop::bool::ANY.prop_map(Step::AppLimited),
        1 => prop_oneof![
            Just(Step::Persistent),
            size.prop_map(Step::Mtu),
            prop_oneof![Just(PathChange::EcnFailed), seed].prop_map(Step::Path),
            Just(Step::Timer),
        ],
    ];
    prop::collection::vec(step, 1..400)
}

/// A transport that follows the contract, and checks that the controller does.
#[derive(Debug)]
struct Transport {
    descriptor: &'static Descriptor,
    cc: AnyController,
    rng: Rng,
    now: Time,
    conn: Conn,
    flight: VecDeque<(u64, Snapshot)>,
    next_number: u64,
    /// The episode lasts until this packet is acknowledged.
    recovery_point: Option<u64>,
    first_sent: Time,
    delivered_at: Time,
    events: Vec<Event>,
    decisions: Vec<Decision>,
}

impl Transport {
    fn new(descriptor: &'static Descriptor, config: &Config) -> Transport {
        Transport {
            descriptor,
            cc: (descriptor.build)(config),
            rng: rng(),
            now: Time::ZERO,
            conn: Conn::new(Time::ZERO, SMSS, 3),
            flight: VecDeque::new(),
            next_number: 0,
            recovery_point: None,
            first_sent: Time::ZERO,
            delivered_at: Time::ZERO,
            events: Vec::new(),
            decisions: Vec::new(),
        }
    }

    /// Makes the call, records it, and checks the decision.
    fn call(&mut self, call: Call) {
        let event = Event {
            now: self.now,
            conn: self.conn.clone(),
            call,
        };
        event.apply(&mut self.cc, &mut self.rng);
        let decision = self.cc.decision();
        // Between Enter and Exit the transport owns the window of a controller with PRR.
        let ignored = self.descriptor.recovery == RecoveryOwner::Prr && self.conn.in_recovery;
        assert!(
            ignored || decision.cwnd >= self.conn.smss,
            "{decision:?} after {event:?}"
        );
        assert!(
            decision.cwnd < Bytes::new(1 << 50),
            "{decision:?} after {event:?}"
        );
        assert!(
            decision.pacing_rate.is_none_or(|rate| rate > Rate::ZERO),
            "{decision:?} after {event:?}"
        );
        let mut row = Vec::new();
        self.cc.observe(&mut row);
        assert_eq!(row.len(), self.descriptor.fields.len());
        assert!(
            row.iter().all(|value| value.is_finite()),
            "{row:?} after {event:?}"
        );
        self.events.push(event);
        self.decisions.push(decision);
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Wait(span) => self.now += span,
            Step::Send(packets) => self.send(packets),
            Step::Ack {
                lost,
                acked,
                marked,
            } => self.receive(lost, acked, marked),
            Step::Timeout { again } => self.time_out(Recovery::Timeout { again }),
            Step::Persistent => self.time_out(Recovery::Persistent),
            Step::Spurious => {
                self.recovery_point = None;
                self.conn.in_recovery = false;
                self.call(Call::Recovery(Recovery::Spurious));
            }
            Step::AppLimited(limited) => self.conn.app_limited = limited,
            Step::Mtu(smss) => {
                self.conn.smss = smss;
                self.call(Call::Path(PathChange::Mtu));
            }
            Step::Path(change) => self.call(Call::Path(change)),
            Step::Timer => self.call(Call::Timer),
        }
    }

    fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            let decision = self.cc.decision();
            let size = self.conn.smss;
            self.conn.cwnd_limited = self.conn.inflight + size > decision.cwnd;
            if self.conn.cwnd_limited {
                return;
            }
            if self.flight.is_empty() {
                (self.first_sent, self.delivered_at) = (self.now, self.now);
            }
            self.conn.inflight += size;
            let packet = Snapshot {
                sent: self.now,
                first_sent: self.first_sent,
                delivered_at: self.delivered_at,
                delivered: self.conn.delivered,
                delivered_ce: self.conn.delivered_ce,
                lost: self.conn.lost,
                inflight: self.conn.inflight,
                size: size.get() as u16,
                app_limited: self.conn.app_limited,
                ecn: decision.ecn,
                retransmit: false,
            };
            self.flight.push_back((self.next_number, packet));
            self.next_number += 1;
            self.conn.pacing_rate = decision.pacing_rate;
            self.conn.paced = decision.pacing_rate.is_some();
            let gap = decision
                .pacing_rate
                .map_or(Span::ZERO, |rate| rate.time_for(size));
            self.conn.next_departure = self.conn.next_departure.max(self.now) + gap;
            self.call(Call::Sent(packet));
        }
    }

    fn lose_oldest(&mut self, cause: LossCause) {
        let (_, packet) = self.flight.pop_front().expect("something is in flight");
        let size = Bytes::new(u64::from(packet.size));
        self.conn.inflight -= size;
        self.conn.lost += size;
        let lost_since_sent = self.conn.lost - packet.lost;
        self.call(Call::Lost(Lost {
            packet,
            lost_since_sent,
            new_range: true,
            cause,
        }));
    }

    fn receive(&mut self, lost: usize, acked: usize, marked: bool) {
        if self.flight.len() <= lost {
            return;
        }
        let prior_inflight = self.conn.inflight;
        let end = self.flight.len().min(lost.saturating_add(acked));
        let acked: Vec<(u64, Snapshot)> = self.flight.drain(lost..end).collect();
        let (number, newest) = acked[acked.len() - 1];
        let newly_acked: Bytes = acked
            .iter()
            .map(|(_, packet)| Bytes::new(u64::from(packet.size)))
            .sum();
        let rtt = self.now - newest.sent;
        let marked = if marked {
            Bytes::new(u64::from(newest.size))
        } else {
            Bytes::ZERO
        };

        self.conn.inflight -= newly_acked;
        self.conn.delivered += newly_acked;
        self.conn.delivered_ce += marked;
        self.take_rtt(rtt);
        self.first_sent = newest.sent;
        self.delivered_at = self.now;
        self.conn.next_departure = self.conn.next_departure.max(self.now);
        let lost_before = self.conn.lost;
        for _ in 0..lost {
            self.lose_oldest(LossCause::Rack);
        }
        let newly_lost = self.conn.lost - lost_before;
        self.enter_recovery(newly_lost, marked);
        self.call(Call::Ack(Ack {
            newest,
            newly_acked,
            newly_lost,
            prior_inflight,
            rtt: Some(RttSample {
                raw: rtt,
                ack_delay: Span::ZERO,
            }),
            one_way: Some(rtt / 2),
            rate: self.rate_sample(&newest),
            ecn: EcnCounts {
                ce_packets: u64::from(marked > Bytes::ZERO),
                ce_bytes: Some(marked),
            },
            tlp_repair: false,
        }));
        if self.recovery_point.is_some_and(|point| number + 1 >= point) {
            self.recovery_point = None;
            self.conn.in_recovery = false;
            self.call(Call::Recovery(Recovery::Exit));
        }
    }

    fn take_rtt(&mut self, rtt: Span) {
        self.conn.min_rtt = self.conn.min_rtt.min(rtt);
        self.conn.srtt = if self.conn.srtt == Span::ZERO {
            rtt
        } else {
            (self.conn.srtt * 7 + rtt) / 8
        };
    }

    fn enter_recovery(&mut self, newly_lost: Bytes, marked: Bytes) {
        if self.recovery_point.is_none() && (newly_lost > Bytes::ZERO || marked > Bytes::ZERO) {
            self.recovery_point = Some(self.next_number);
            self.conn.in_recovery = true;
            let cause = if newly_lost > Bytes::ZERO {
                RecoveryCause::Loss
            } else {
                RecoveryCause::Ecn
            };
            self.call(Call::Recovery(Recovery::Enter(cause)));
        }
    }

    fn rate_sample(&self, newest: &Snapshot) -> RateSample {
        let interval = (newest.sent - newest.first_sent).max(self.now - newest.delivered_at);
        let delivered = self.conn.delivered - newest.delivered;
        let valid = interval >= self.conn.min_rtt && interval > Span::ZERO;
        RateSample {
            rate: valid.then(|| Rate::from_delivery(delivered, interval)),
            interval,
            delivered,
            lost: self.conn.lost - newest.lost,
            delivered_ce: self.conn.delivered_ce - newest.delivered_ce,
            app_limited: newest.app_limited,
        }
    }

    fn time_out(&mut self, change: Recovery) {
        if self.flight.is_empty() {
            return;
        }
        while !self.flight.is_empty() {
            self.lose_oldest(LossCause::Rto);
        }
        self.conn.in_recovery = false;
        self.recovery_point = Some(self.next_number);
        self.call(Call::Recovery(change));
    }

    /// Acknowledges all data in flight, and checks that more can be sent.
    fn drain(&mut self) {
        self.now += Span::from_millis(1);
        self.receive(0, usize::MAX, false);
        assert_eq!(self.conn.inflight, Bytes::ZERO);
        self.conn.app_limited = false;
        for _ in 0..3 {
            let before = self.conn.delivered;
            self.send(1);
            self.now += Span::from_millis(1);
            self.receive(0, usize::MAX, false);
            assert!(
                self.conn.delivered > before,
                "{} no longer sends data",
                self.descriptor.name
            );
        }
    }
}

/// Every algorithm with its defaults, and with each keyword and flag that differs from them.
fn variants() -> Vec<(&'static Descriptor, Config)> {
    let mut all = Vec::new();
    for descriptor in Registry::default().iter() {
        let defaults = Config::defaults(descriptor);
        for param in descriptor.params {
            let values = match param.domain {
                Domain::Number { .. } => Vec::new(),
                Domain::Flag { default } => vec![ParamValue::Flag(!default)],
                Domain::Choice(words) => words[1..]
                    .iter()
                    .map(|word| ParamValue::Word((*word).into()))
                    .collect(),
            };
            for value in values {
                let given = [(param.name.to_owned(), value)].into();
                let config = Config::new(descriptor, &given, defaults.smss, defaults.initial_cwnd);
                all.push((descriptor, config.expect("a declared value is accepted")));
            }
        }
        all.push((descriptor, defaults));
    }
    all
}

fn rng() -> Rng {
    Rng::stream(1, "flow", "cc")
}

proptest! {
    #[test]
    fn decisions_stay_sane_and_replay_exactly(steps in steps()) {
        for (descriptor, config) in variants() {
            let mut transport = Transport::new(descriptor, &config);
            for step in &steps {
                transport.play(step);
            }
            transport.drain();

            let fresh = &mut (descriptor.build)(&config);
            prop_assert_eq!(replay(fresh, &mut rng(), &transport.events), transport.decisions);
        }
    }
}
