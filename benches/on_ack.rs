//! The cost of a controller: its part of a flow at 1 Gbit/s and 10 ms, recorded in a simulation and
//! replayed through the contract.
//!
//! `on_ack` is that call alone. `ack` is everything that follows from an ACK: the call, the packets
//! that it releases, and the decision after each. Times are per ACK, which covers two packets.
//!
//! `cargo bench -p fullpipe-benches -F criterion --bench on_ack`

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use cases::CASES;
use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use fullpipe_cc::replay::{Call, Event};
use fullpipe_cc::{
    Ack, AnyController, Config, Context, Controller, Decision, Descriptor, Lost, PathChange,
    Recovery, Registry, Shared, Snapshot,
};
use fullpipe_trace::TraceLevel;
use fullpipe_units::Rng;

/// The controllers, from the oldest to the newest.
const CONTROLLERS: [&str; 4] = ["cubic", "bbr1", "bbr2", "bbr3"];
/// Length of the recording. A replay starts at the beginning, so that the controller is in its
/// steady state when it is timed.
const SECONDS: u32 = 1;
/// Number of ACKs measured, the last ones of the recording: few enough to fit in the cache.
const ACKS: usize = 500;

thread_local! {
    /// The recording being made.
    static RECORDED: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// All calls of a controller in one run.
#[derive(Clone, Debug)]
struct Recording {
    descriptor: &'static Descriptor,
    config: Option<Config>,
    rng: Option<Rng>,
    events: Vec<Event>,
}

/// A controller that records its calls.
#[derive(Debug)]
struct Recorder(AnyController);

impl Recorder {
    fn build(config: &Config, shared: &mut Shared) -> AnyController {
        RECORDED.with_borrow_mut(|recording| {
            let recording = recording.as_mut().expect("a recording is under way");
            recording.config = Some(config.clone());
            AnyController::User(Box::new(Recorder((recording.descriptor.build)(
                config, shared,
            ))))
        })
    }

    fn take(&mut self, cx: &mut Context<'_>, call: Call) -> bool {
        let event = Event {
            now: cx.now,
            conn: cx.conn.clone(),
            call,
        };
        RECORDED.with_borrow_mut(|recording| {
            let recording = recording.as_mut().expect("a recording is under way");
            recording.rng.get_or_insert_with(|| cx.rng.clone());
            let reads = event.apply(&mut self.0, cx.rng);
            recording.events.push(event);
            reads
        })
    }
}

impl Controller for Recorder {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        self.take(cx, Call::Sent(*packet))
    }
    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        self.take(cx, Call::Lost(*lost));
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.take(cx, Call::Ack(*ack));
    }
    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        self.take(cx, Call::Recovery(change));
    }
    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        self.take(cx, Call::Path(change));
    }
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.take(cx, Call::Timer);
    }
    fn decision(&self) -> Decision {
        self.0.decision()
    }
    fn observe(&self, row: &mut Vec<f64>) {
        self.0.observe(row);
    }
}

/// Runs the controller's case for a second and returns all its calls.
fn record(name: &str) -> Recording {
    let registry = Registry::default();
    let descriptor = registry.get(name).expect("it is built in");
    RECORDED.set(Some(Recording {
        descriptor,
        config: None,
        rng: None,
        events: Vec::new(),
    }));
    let build: fn(&Config, &mut Shared) -> AnyController = Recorder::build;
    let recorder: &'static Descriptor = Box::leak(Box::new(Descriptor {
        build,
        ..*descriptor
    }));
    let case = CASES
        .iter()
        .find(|case| case.name == format!("{name}-1g"))
        .expect("every controller has a case");
    fullpipe_sim::run(
        &case.scenario(SECONDS),
        &registry.with(recorder),
        TraceLevel::Off,
    )
    .expect("a valid scenario");
    RECORDED.take().expect("the recording")
}

/// The events replayed untimed, and the last ACKs, with or without the events between them.
fn split(recording: &Recording, alone: bool) -> (&[Event], Vec<Event>) {
    let is_ack = |event: &Event| matches!(event.call, Call::Ack(_));
    let acks: Vec<usize> = (0..recording.events.len())
        .filter(|i| is_ack(&recording.events[*i]))
        .collect();
    let (before, measured) = recording.events.split_at(acks[acks.len() - ACKS]);
    (
        before,
        measured
            .iter()
            .filter(|event| !alone || is_ack(event))
            .cloned()
            .collect(),
    )
}

/// Time that `acks` ACKs take.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn time(recording: &Recording, before: &[Event], measured: &[Event], acks: u64) -> Duration {
    let mut spent = Duration::ZERO;
    for _ in 0..acks.div_ceil(ACKS as u64) {
        let config = recording.config.as_ref().expect("it was built");
        let mut controller = (recording.descriptor.build)(config, &mut Shared::default());
        let mut rng = recording.rng.clone().expect("it was called");
        for event in before {
            event.apply(&mut controller, &mut rng);
        }
        for event in measured {
            black_box(event.clone()); // into the cache
        }
        let start = Instant::now();
        for event in measured {
            event.apply(black_box(&mut controller), &mut rng);
            black_box(controller.decision());
        }
        spent += start.elapsed();
    }
    spent.mul_f64(acks as f64 / (acks.div_ceil(ACKS as u64) * ACKS as u64) as f64)
}

fn on_ack(criterion: &mut Criterion) {
    for (group, alone) in [("on_ack", true), ("ack", false)] {
        let mut group = criterion.benchmark_group(group);
        // Most of a replay is not timed, so a short measured time takes long.
        let (warm_up, measurement) = (Duration::from_millis(1), Duration::from_millis(30));
        group
            .sampling_mode(SamplingMode::Flat)
            .sample_size(20)
            .warm_up_time(warm_up)
            .measurement_time(measurement);
        for name in CONTROLLERS {
            let recording = LazyLock::new(|| record(name));
            group.bench_function(name, |bencher| {
                let (before, measured) = split(&recording, alone);
                bencher.iter_custom(|acks| time(&recording, before, &measured, acks));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, on_ack);
criterion_main!(benches);
