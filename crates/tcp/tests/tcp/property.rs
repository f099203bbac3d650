//! Sender and receiver joined by a path that loses, delays, reorders and duplicates packets.
//! Whatever the path does, the transfer completes, and the sender's state agrees with a model that
//! observes only the segments it emits and the calls to its controller.

use std::collections::BTreeMap;

use crate::script::controller::Call;
use crate::script::{Event, Test, segments};
use fullpipe_cc::{
    Config, Controller, Descriptor, EcnCodepoint, NoObserver, Recovery, RecoveryOwner, Registry,
    Snapshot,
};
use fullpipe_tcp::{
    Ack, AckKind, AckPolicy, App, Block, CwndValidation, EcnFeedback, Pacing, Receiver, SMSS,
    Segment, Sender, SenderConfig, Stack,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};
use proptest::prelude::*;

/// A path and the flow that crosses it.
#[derive(Clone, Debug)]
struct World {
    seed: u64,
    bytes: u64,
    window: u32,
    /// Whether the receive window is auto-tuned.
    tuned: bool,
    cwnd: u64,
    owner: RecoveryOwner,
    reduces: bool,
    paced: bool,
    /// An algorithm of the registry that replaces the scripted controller.
    algorithm: Option<&'static Descriptor>,
    loss: f64,
    ack_loss: f64,
    duplicates: f64,
    late: f64,
    marks: f64,
    feedback: EcnFeedback,
    /// Delays are in milliseconds.
    delay: u64,
    jitter: u64,
    coalesce: u64,
    stack: Stack,
    /// Whether the receiver has Linux's rules for ACKs, and compresses those out of order.
    rules: [bool; 2],
}

fn worlds() -> impl Strategy<Value = World> {
    let flow = (
        any::<u64>(),
        1_u64..600_000,
        1_u32..200,
        1_u64..80,
        any::<bool>(),
        any::<bool>(),
    );
    let path = (
        0.0..0.25,
        0.0..0.4,
        0.0..0.1,
        0.0..0.3,
        1_u64..60,
        0_u64..60,
        0_u64..3,
        0_u8..4,
    );
    let feedback = prop_oneof![
        Just(EcnFeedback::Accurate),
        Just(EcnFeedback::Classic),
        Just(EcnFeedback::Dctcp)
    ];
    let ecn = (prop_oneof![Just(0.0), 0.0..1.0], feedback);
    let receiver = any::<(bool, [bool; 2])>();
    (flow, receiver, path, ecn, stacks()).prop_map(
        |(flow, (tuned, rules), path, (marks, feedback), stack)| {
            let (seed, bytes, window, cwnd, reduces, paced) = flow;
            let (loss, ack_loss, duplicates, late, delay, jitter, coalesce, clean) = path;
            let owner = if reduces {
                RecoveryOwner::Prr
            } else {
                RecoveryOwner::Own
            };
            // Some paths only lose packets, some only reorder them.
            let (loss, ack_loss) = if clean == 0 {
                (0.0, 0.0)
            } else {
                (loss, ack_loss)
            };
            let late = if clean == 1 { 0.0 } else { late };
            World {
                seed,
                bytes,
                window,
                tuned,
                cwnd,
                owner,
                reduces,
                paced,
                algorithm: None,
                loss,
                ack_loss,
                duplicates,
                late,
                marks,
                feedback,
                delay,
                jitter,
                coalesce,
                stack,
                rules,
            }
        },
    )
}

/// Any parts of an operating system.
fn stacks() -> impl Strategy<Value = Stack> {
    let validation = prop_oneof![
        2 => Just(CwndValidation::Off),
        1 => Just(CwndValidation::Linux),
        1 => Just(CwndValidation::Rfc7661),
    ];
    let buffer = prop::option::of((3_000_u64..300_000).prop_map(Bytes::new));
    (validation, buffer, any::<[bool; 2]>()).prop_map(
        |(cwnd_validation, send_buffer, [tso, one_reduction])| Stack {
            cwnd_validation,
            send_buffer,
            tso,
            one_reduction,
        },
    )
}

/// Values that identify a transmission uniquely.
type Key = (Time, Bytes, Bytes, Bytes);

fn key(packet: &Snapshot) -> Key {
    (packet.sent, packet.inflight, packet.delivered, packet.lost)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Outstanding,
    Lost,
    Delivered,
}

/// The model of the sender's state, kept outside the sender.
#[derive(Debug, Default)]
struct Model {
    sent: BTreeMap<u64, (Key, Bytes, State)>,
    una: u64,
    inflight: Bytes,
    delivered: Bytes,
    lost: Bytes,
}

impl Model {
    fn deliver(&mut self, seq: u64) {
        let Some((_, size, state)) = self.sent.get_mut(&seq) else {
            return;
        };
        match state {
            State::Outstanding => self.inflight -= *size,
            State::Lost => {}
            State::Delivered => return,
        }
        *state = State::Delivered;
        self.delivered += *size;
    }

    fn on_ack(&mut self, ack: &Ack, blocks: &[Block]) {
        (self.una..ack.next).for_each(|seq| self.deliver(seq));
        for block in &blocks[usize::from(ack.dsack)..] {
            (block.start..block.end).for_each(|seq| self.deliver(seq));
        }
        self.una = self.una.max(ack.next);
        self.sent = self.sent.split_off(&self.una);
    }

    /// Replays the calls of one step, in which the sender emitted these segments.
    fn replay(&mut self, events: &[Event], emitted: &[Segment]) {
        let mut emitted = emitted.iter();
        let mut names = String::new();
        for event in events {
            match &event.call {
                Call::Sent(packet) => {
                    let segment = emitted.next().expect("every reported packet was sent");
                    let size = Bytes::new(u64::from(segment.size));
                    let before = self
                        .sent
                        .insert(segment.seq, (key(packet), size, State::Outstanding));
                    match before {
                        // The probe's copy replaces the original.
                        Some((_, size, State::Outstanding)) => self.inflight -= size,
                        Some((_, _, state)) => {
                            assert_eq!(state, State::Lost, "only lost segments are sent again")
                        }
                        None => assert!(!segment.retransmit),
                    }
                    self.inflight += size;
                    assert_eq!(packet.inflight, self.inflight);
                    assert_eq!(packet.retransmit, segment.retransmit);
                    assert_eq!(packet.size, segment.size);
                }
                Call::Lost(lost) => {
                    let of = key(&lost.packet);
                    let (_, size, state) = self
                        .sent
                        .values_mut()
                        .find(|(key, ..)| *key == of)
                        .expect("a segment that was sent");
                    assert_eq!(*state, State::Outstanding);
                    *state = State::Lost;
                    self.inflight -= *size;
                    self.lost += *size;
                    assert_eq!(lost.lost_since_sent, self.lost - lost.packet.lost);
                }
                Call::Recovery(Recovery::Spurious) => {
                    for (_, size, state) in self
                        .sent
                        .values_mut()
                        .filter(|(.., state)| *state == State::Lost)
                    {
                        *state = State::Outstanding;
                        self.inflight += *size;
                    }
                }
                Call::Ack(ack) => {
                    assert_eq!(event.conn.delivered, self.delivered);
                    assert!(ack.newly_acked > Bytes::ZERO);
                    assert!(ack.rate.delivered >= ack.newly_acked);
                    if let Some(rate) = ack.rate.rate {
                        assert!(
                            rate > Rate::from_bps(0) && ack.rate.interval >= event.conn.min_rtt
                        );
                    }
                }
                Call::Recovery(_) | Call::Timer => {}
            }
            assert_eq!(event.conn.inflight, self.inflight, "{event:?}");
            assert_eq!(event.conn.lost, self.lost);
            assert!(event.conn.next_departure >= event.now);
            // A controller's own timer may fire anywhere in the order.
            let name = event.name().filter(|_| !matches!(event.call, Call::Timer));
            names.extend(name.map(|name| name.chars().next().unwrap_or('?')));
        }
        assert_eq!(emitted.next(), None, "every sent packet was reported");
        let sum: Bytes = self
            .sent
            .values()
            .filter(|(.., state)| *state == State::Outstanding)
            .map(|(_, size, _)| *size)
            .sum();
        assert_eq!(sum, self.inflight);
        assert!(in_order(&names), "calls in the order {names}");
    }
}

/// Returns whether the calls of one step are in a permitted order: `s`purious, `l`ost, `e`nter,
/// `a`ck, e`x`it (which also begins with `e`) and `t`imeout.
fn in_order(names: &str) -> bool {
    let rest = names
        .strip_prefix('s')
        .unwrap_or(names)
        .trim_start_matches('l');
    // Before the ACK: Exit and Enter if one episode follows another. After it: Exit, or Enter and
    // Exit of a repair.
    let (before, behind) = rest.split_once('a').unwrap_or((rest, ""));
    ["", "e", "ee", "t"].contains(&before) && ["", "e", "ee"].contains(&behind)
}

enum Arrival {
    Segment(Segment),
    Ack(Ack, Vec<Block>),
}

struct Simulation {
    world: World,
    rng: Rng,
    now: Time,
    sender: Sender<Test>,
    receiver: Receiver,
    /// Right edge of the window that the receiver has advertised.
    right_edge: u64,
    model: Model,
    seen: usize,
    /// Packets in flight, by arrival time and number.
    path: BTreeMap<(Time, u64), Arrival>,
    number: u64,
    steps: u64,
}

impl Simulation {
    fn new(world: World) -> Simulation {
        let mut controller = if world.reduces {
            Test::halving(world.cwnd.max(2))
        } else {
            Test::fixed(world.cwnd)
        };
        if world.paced {
            controller = controller.paced(Rate::from_mbps(20), segments(2));
        }
        if let Some(descriptor) = world.algorithm {
            controller = Test::around((descriptor.build)(&Config::defaults(descriptor)));
        }
        let config = SenderConfig {
            controller,
            owner: world
                .algorithm
                .map_or(world.owner, |descriptor| descriptor.recovery),
            app: App::Transfer {
                bytes: Bytes::new(world.bytes),
            },
            pacing: Pacing::Auto,
            hosted: false,
            rate_interval: Span::ZERO,
            smss: SMSS,
            initial_cwnd: SMSS * 10,
            stack: world.stack,
            rng: Rng::stream(world.seed, "sender", "controller"),
        };
        let coalesce = Span::from_millis(world.coalesce);
        let policy = AckPolicy {
            every: 2,
            quick: 16,
            delay: Span::from_millis(40),
            coalesce,
        };
        let mut receiver = Receiver::new(policy, SMSS * u64::from(world.window), SMSS)
            .with_ecn_feedback(world.feedback);
        let [linux, compresses] = world.rules;
        if linux {
            receiver = receiver.with_linux_acks();
        }
        if compresses {
            receiver = receiver.with_sack_compression(0.05);
        }
        let mut simulation = Simulation {
            rng: Rng::stream(world.seed, "path", "all"),
            now: Time::ZERO,
            sender: Sender::new(config, Time::ZERO)
                .with_ecn(world.feedback, Some(EcnCodepoint::Ect0)),
            receiver: if world.tuned {
                receiver.with_auto_tuning()
            } else {
                receiver
            },
            right_edge: 0,
            model: Model::default(),
            seen: 0,
            path: BTreeMap::new(),
            number: 0,
            steps: 0,
            world,
        };
        let syn = simulation.sender.syn(Time::ZERO);
        simulation.carry(vec![syn]);
        simulation
    }

    fn put(&mut self, at: Time, arrival: Arrival) {
        self.number += 1;
        self.path.insert((at, self.number), arrival);
    }

    fn delay(&mut self) -> Span {
        let late = if self.rng.chance(self.world.late) {
            self.rng.below(self.world.jitter * 1_000_000 + 1)
        } else {
            0
        };
        Span::from_millis(self.world.delay) + Span::from_nanos(late)
    }

    fn carry(&mut self, segments: Vec<Segment>) {
        for segment in segments {
            assert!(
                segment.syn || segment.seq < self.right_edge,
                "nothing is sent beyond the window: {segment:?}"
            );
            let copies = 1 + u64::from(self.rng.chance(self.world.duplicates));
            for _ in 0..copies {
                let at = self.now + self.delay();
                let ce = segment.ecn != EcnCodepoint::NotEct && self.rng.chance(self.world.marks);
                if !self.rng.chance(self.world.loss) {
                    self.put(at, Arrival::Segment(Segment { ce, ..segment }));
                }
            }
        }
    }

    fn answer(&mut self, acks: Vec<(Time, Ack, Vec<Block>)>) {
        for (at, ack, blocks) in acks {
            assert!(at >= self.now, "an ACK leaves when it is due");
            let right_edge = ack.next + u64::from(ack.window);
            // A repeated SYN is answered like the first one.
            let again = ack.kind == AckKind::Syn;
            assert!(
                again || right_edge >= self.right_edge,
                "the right edge never moves left: {ack:?}"
            );
            self.right_edge = self.right_edge.max(right_edge);
            let at = at + self.delay();
            if !self.rng.chance(self.world.ack_loss) {
                self.put(at, Arrival::Ack(ack, blocks));
            }
        }
    }

    /// Processes one event. Returns false when the transfer is complete.
    fn step(&mut self) -> bool {
        if self.sender.is_done() {
            return false;
        }
        self.steps += 1;
        let timer = self.sender.timer_at().min(self.sender.departure_at());
        let arrival = self.path.keys().next().map_or(Time::MAX, |(at, _)| *at);
        let due = self.receiver.ack_due().unwrap_or(Time::MAX);
        let next = timer.min(arrival).min(due);
        assert_ne!(
            next,
            Time::MAX,
            "deadlock at {:?}: {:?}",
            self.now,
            self.sender.conn()
        );
        self.now = self.now.max(next);
        let now = self.now;
        let mut acks = Vec::new();
        let mut emitted = Vec::new();
        if due == next {
            self.receiver
                .on_time(now, |at, ack, blocks| acks.push((at, ack, blocks.to_vec())));
        } else if arrival == next {
            match self.path.pop_first().expect("an arrival").1 {
                Arrival::Segment(segment) => {
                    self.receiver.on_segment(now, &segment, |at, ack, blocks| {
                        acks.push((at, ack, blocks.to_vec()))
                    });
                }
                Arrival::Ack(ack, blocks) => {
                    self.model.on_ack(&ack, &blocks);
                    self.sender.on_ack(now, &ack, &blocks, &mut NoObserver);
                    self.replay(&emitted);
                    self.sender
                        .transmit(now, &mut NoObserver, |segment| emitted.push(segment));
                }
            }
        } else if self.sender.must_resend_syn(now) {
            let syn = self.sender.syn(now);
            self.carry(vec![syn]);
        } else {
            self.sender
                .on_timer(now, &mut NoObserver, |segment| emitted.push(segment));
            self.replay(&emitted);
            self.carry(std::mem::take(&mut emitted));
            self.sender
                .transmit(now, &mut NoObserver, |segment| emitted.push(segment));
        }
        self.replay(&emitted);
        self.carry(emitted);
        self.answer(acks);
        let conn = self.sender.conn();
        assert_eq!(
            (conn.inflight, conn.delivered, conn.lost),
            (self.model.inflight, self.model.delivered, self.model.lost)
        );
        assert!(conn.delivered_ce <= conn.delivered);
        assert!(self.world.marks > 0.0 || conn.delivered_ce == Bytes::ZERO);
        let decision = self.sender.controller().decision();
        assert!(
            decision.cwnd >= SMSS && decision.cwnd < Bytes::new(1 << 50),
            "{decision:?}"
        );
        assert!(
            decision.pacing_rate.is_none_or(|rate| rate > Rate::ZERO),
            "{decision:?}"
        );
        if !self.model.sent.is_empty() {
            assert_ne!(
                self.sender.timer_at(),
                Time::MAX,
                "outstanding data has a timer"
            );
        }
        true
    }

    fn replay(&mut self, emitted: &[Segment]) {
        let log = &self.sender.controller().log;
        self.model.replay(&log[self.seen..], emitted);
        self.seen = log.len();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_completes_and_the_books_agree(world in worlds()) {
        complete(world);
    }

    /// The same for every algorithm of the registry; its window and rate also stay sane.
    #[test]
    fn so_does_every_algorithm(world in worlds()) {
        for descriptor in Registry::default().iter() {
            complete(World { algorithm: Some(descriptor), ..world.clone() });
        }
    }
}

fn complete(world: World) {
    let total = Bytes::new(world.bytes);
    let mut simulation = Simulation::new(world);
    while simulation.step() {
        assert!(
            simulation.steps < 200_000,
            "the transfer does not end, at {:?}",
            simulation.now
        );
    }
    assert_eq!(simulation.receiver.in_order(), total);
    assert_eq!(simulation.sender.conn().delivered, total, "each byte once");
    assert_eq!(simulation.sender.conn().inflight, Bytes::ZERO);
}

/// The `Debug` output shows all state of a sender or a receiver, so its length measures memory.
#[test]
fn memory_follows_the_window_not_the_transfer() {
    let world = |thousands: u64| World {
        seed: 7,
        bytes: thousands * 1_448_000,
        window: 200,
        tuned: false,
        cwnd: 60,
        owner: RecoveryOwner::Own,
        reduces: false,
        paced: false,
        algorithm: None,
        loss: 0.03,
        ack_loss: 0.1,
        duplicates: 0.02,
        late: 0.05,
        marks: 0.1,
        feedback: EcnFeedback::Accurate,
        delay: 20,
        jitter: 10,
        coalesce: 0,
        stack: fullpipe_tcp::Stack::default(),
        rules: [false; 2],
    };
    let held = |world: World| {
        let mut simulation = Simulation::new(world);
        let mut most = 0;
        while simulation.step() {
            if simulation.steps.is_multiple_of(1000) {
                let log = format!("{:?}", simulation.sender.controller()).len();
                most = most
                    .max(format!("{:?}{:?}", simulation.sender, simulation.receiver).len() - log);
            }
        }
        most
    };
    let (short, long) = (held(world(2)), held(world(8)));
    assert!(long < short * 2, "{short} and {long} characters");
}
