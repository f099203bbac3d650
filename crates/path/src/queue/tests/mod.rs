//! All queues: each packet that enters leaves, is dropped or waits; reference values for each
//! queue.

use fullpipe_units::{Rng, Span};
use proptest::prelude::*;

use super::*;

mod cake;
mod codel;
mod dualpi2;
mod fq_codel;
mod pie;
mod red;
mod sfq;
mod step_ecn;

type Q = Queue<u64>;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn config(name: &str, options: &[(&str, OptionValue)]) -> Config {
    let descriptor = QUEUES
        .iter()
        .find(|queue| queue.name == name)
        .expect("a queue");
    options
        .iter()
        .fold(Config::new(descriptor), |config, (name, value)| {
            config.with(name, *value).expect("in range")
        })
}

fn queue(name: &str, options: &[(&str, OptionValue)], limit: u64) -> Q {
    let config = config(name, options);
    let rng = Rng::stream(1, "link", "queue");
    Queue::new(&config, Limit::Packets(limit), Rate::from_mbps(12), rng).expect("not a plain one")
}

fn ms(ms: u64) -> OptionValue {
    OptionValue::Time(Span::from_millis(ms))
}

/// A queue with a log of its packets, which are numbered.
struct Bench {
    queue: Q,
    now: u64,
    /// Codepoint of each packet sent.
    sent: Vec<EcnCodepoint>,
    dropped: Vec<(u64, Packet<u64>)>,
    left: Vec<(u64, Packet<u64>)>,
}

impl Bench {
    fn new(queue: Q) -> Bench {
        Bench {
            queue,
            now: 0,
            sent: Vec::new(),
            dropped: Vec::new(),
            left: Vec::new(),
        }
    }

    fn put(&mut self, flow: u32, size: u64, ecn: EcnCodepoint) {
        let packet = Packet::new(
            flow,
            Bytes::new(size),
            ecn,
            at(self.now),
            self.sent.len() as u64,
        );
        self.sent.push(ecn);
        let (now, dropped) = (self.now, &mut self.dropped);
        self.queue
            .enqueue(at(now), packet, &mut |packet| dropped.push((now, packet)));
    }

    fn take(&mut self) -> Option<Packet<u64>> {
        let (now, dropped) = (self.now, &mut self.dropped);
        let packet = self
            .queue
            .dequeue(at(now), &mut |packet| dropped.push((now, packet)));
        self.left.extend(packet.map(|packet| (now, packet)));
        packet
    }

    fn put_many(&mut self, packets: u64, flow: u32, ecn: EcnCodepoint) {
        (0..packets).for_each(|_| self.put(flow, 1_500, ecn));
    }

    /// Returns the waiting time in ms of the packet that left last.
    fn waited(&self) -> f64 {
        let (now, packet) = self.left.last().expect("something left");
        (at(*now) - packet.arrived).as_secs_f64() * 1e3
    }

    fn marks(&self) -> usize {
        self.left.iter().filter(|(_, packet)| packet.marked).count()
    }
}

#[test]
fn what_contradicts_is_refused() {
    let refused = |name, options: &[(&str, OptionValue)], limit| {
        let config = config(name, options);
        (config.descriptor().check)(&config, Bytes::new(limit))
            .expect_err("refused")
            .name
    };
    assert_eq!(
        refused(
            "red",
            &[("max", OptionValue::Size(Bytes::new(50_000)))],
            40_000
        ),
        "max"
    );
    assert_eq!(
        refused(
            "red",
            &[("min", OptionValue::Size(Bytes::new(50_000)))],
            40_000
        ),
        "min"
    );
    assert_eq!(
        refused("red", &[("burst", OptionValue::Count(1))], 400_000),
        "burst"
    );
    let config = Config::new(QUEUES[4]).with("flows", OptionValue::Count(0));
    assert_eq!(
        config.expect_err("out of range").problem,
        "not in 1 to 65536"
    );
}

#[test]
fn options_are_declared_in_full() {
    for descriptor in QUEUES {
        assert!(
            descriptor.purpose.ends_with('.') && !descriptor.specifications.is_empty(),
            "{}",
            descriptor.name
        );
        for param in descriptor.params {
            let said = param.domain.default().is_some() == param.otherwise.is_empty();
            assert!(
                said && !param.purpose.is_empty() && !param.section.is_empty(),
                "{}.{}",
                descriptor.name,
                param.name
            );
            if let Some(default) = param.domain.default() {
                Config::new(descriptor)
                    .with(param.name, default)
                    .expect("a default is within its range");
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u32, u64, EcnCodepoint),
    Take,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ecn = prop_oneof![
        Just(EcnCodepoint::NotEct),
        Just(EcnCodepoint::Ect0),
        Just(EcnCodepoint::Ect1),
        Just(EcnCodepoint::Ce)
    ];
    let size = prop_oneof![Just(1_500_u64), 40_u64..1_500];
    let step = prop_oneof![
        6 => (0_u32..8, size, ecn).prop_map(|(flow, size, ecn)| Step::Put(flow, size, ecn)),
        4 => Just(Step::Take),
        3 => prop_oneof![0_u64..3_000, 0_u64..300_000].prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..800)
}

proptest! {
    #[test]
    fn packets_in_are_packets_out_dropped_or_waiting(
        steps in steps(),
        name in prop::sample::select(QUEUES[2..].iter().map(|queue| queue.name).collect::<Vec<_>>()),
        limit in 30_u64..200,
        varied in any::<bool>(),
    ) {
        let descriptor = QUEUES.iter().find(|queue| queue.name == name).unwrap();
        let mut options = vec![];
        if varied && descriptor.params.iter().any(|param| param.name == "ecn") {
            options.push(("ecn", OptionValue::Flag(true)));
        }
        if varied && name == "sfq" {
            let second = OptionValue::Time(Span::from_secs(1));
            options.extend([("perturb", second), ("headdrop", OptionValue::Flag(true))]);
            options.extend([("flows", 5), ("depth", limit / 8)].map(|(name, n)| (name, OptionValue::Count(n))));
        }
        let mut bench = Bench::new(queue(name, &options, limit));
        let mut again = Bench::new(queue(name, &options, limit));
        for step in &steps {
            for bench in [&mut bench, &mut again] {
                match *step {
                    Step::Put(flow, size, ecn) => bench.put(flow, size, ecn),
                    Step::Take => {
                        let waiting = bench.queue.backlog().0;
                        let taken = bench.take();
                        prop_assert!(taken.is_some() || bench.queue.backlog().0 == 0, "no packet of {} that wait", waiting);
                    }
                    Step::Wait(us) => bench.now += us,
                }
                let (packets, bytes) = bench.queue.backlog();
                prop_assert!(packets <= limit, "{} of {}", packets, limit);
                prop_assert_eq!(bench.sent.len(), packets as usize + bench.left.len() + bench.dropped.len());
                prop_assert_eq!(packets == 0, bytes == Bytes::ZERO);
            }
        }
        while bench.take().is_some() {}
        while again.take().is_some() {}
        prop_assert_eq!(bench.queue.backlog(), (0, Bytes::ZERO));
        let mut seen: Vec<u64> = bench.left.iter().chain(&bench.dropped).map(|(_, packet)| packet.payload).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..bench.sent.len() as u64).collect::<Vec<_>>(), "each once");
        let log = |bench: &Bench| {
            let row = |(now, packet): &(u64, Packet<u64>)| (*now, packet.payload, packet.marked);
            (bench.left.iter().map(row).collect::<Vec<_>>(), bench.dropped.iter().map(row).collect::<Vec<_>>())
        };
        prop_assert_eq!(log(&bench), log(&again), "same seed, same output");
        for (now, packet) in &bench.left {
            prop_assert!(packet.arrived <= at(*now), "a sojourn is never negative");
            prop_assert!(!packet.marked || packet.ecn == EcnCodepoint::Ce);
        }
        // A flow's packets keep their order; in dualpi2, those in the same one of its two queues.
        for (flow, l4s) in (0..8).flat_map(|flow| [(flow, false), (flow, true)]) {
            let is_l4s = |number: u64| name == "dualpi2" && matches!(bench.sent[number as usize], EcnCodepoint::Ect1 | EcnCodepoint::Ce);
            let of_flow = bench.left.iter().filter(|(_, packet)| packet.flow == flow);
            let numbers: Vec<u64> = of_flow.map(|(_, packet)| packet.payload).filter(|n| is_l4s(*n) == l4s).collect();
            prop_assert!(numbers.is_sorted(), "{:?}", numbers);
        }
    }
}
