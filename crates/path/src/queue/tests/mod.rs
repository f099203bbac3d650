//! Every queue: what goes in comes out, is dropped or waits; and the reference numbers of each.

use fullpipe_units::{Rng, Span};
use proptest::prelude::*;

use super::*;

mod cake;

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

/// A queue with a log of what happens to its packets; packets are numbered.
struct Bench {
    queue: Q,
    now: u64,
    /// The codepoint of each packet sent.
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

    /// How long the packet that left last had waited, ms.
    fn waited(&self) -> f64 {
        let (now, packet) = self.left.last().expect("something left");
        (at(*now) - packet.arrived).as_secs_f64() * 1e3
    }

    fn marks(&self) -> usize {
        self.left.iter().filter(|(_, packet)| packet.marked).count()
    }
}

/// Times at which CoDel acts, ms, twice as much arriving as leaves, a departure every 100 us.
fn codel_acts(ecn: bool) -> Vec<f64> {
    let mut bench = Bench::new(queue(
        "codel",
        &[("ecn", OptionValue::Flag(ecn))],
        1_000_000,
    ));
    for step in 0..10_000 {
        bench.now = step * 100;
        bench.put_many(
            2,
            0,
            if ecn {
                EcnCodepoint::Ect0
            } else {
                EcnCodepoint::NotEct
            },
        );
        bench.take();
    }
    let acts = if ecn { &bench.left } else { &bench.dropped };
    acts.iter()
        .filter(|(_, packet)| packet.marked == ecn)
        .map(|(now, _)| *now as f64 / 1e3)
        .collect()
}

/// RFC 8289 §3.3: 100, 70.7, 57.7, 50, 44.7 ms… from one to the next.
#[test]
fn codel_drops_after_an_interval_over_the_root_of_the_count() {
    for ecn in [false, true] {
        let acts = codel_acts(ecn);
        // With twice the rate the delay is half the time: 5 ms at 10 ms.
        assert!(
            (acts[0] - 110.0).abs() < 0.2,
            "an interval after it first was above target: {}",
            acts[0]
        );
        let mut expected = acts[0];
        for (n, act) in acts.iter().enumerate().take(40) {
            assert!(
                (act - expected).abs() <= 0.11,
                "drop {n} at {act}, not {expected}"
            );
            expected += 100.0 / ((n + 1) as f64).sqrt();
        }
        let gaps: Vec<f64> = acts
            .windows(2)
            .take(5)
            .map(|pair| ((pair[1] - pair[0]) * 10.0).round() / 10.0)
            .collect();
        assert_eq!(gaps, [100.0, 70.8, 57.7, 50.0, 44.7], "on a grid of 0.1 ms");
    }
}

/// RFC 8289 §5.5: back within 16 intervals it begins with the drops that it needed beyond the last
/// time.
#[test]
fn codel_takes_up_dropping_where_it_left_off() {
    let mut bench = Bench::new(queue("codel", &[], 1_000_000));
    let load = |bench: &mut Bench, ms: u64, packets: u64| {
        for _ in 0..ms * 10 {
            bench.now += 100;
            bench.put_many(packets, 0, EcnCodepoint::NotEct);
            bench.take();
        }
    };
    load(&mut bench, 500, 2);
    let before = bench.dropped.len();
    while bench.take().is_some() {}
    load(&mut bench, 400, 2);
    let again: Vec<f64> = bench.dropped[before..]
        .iter()
        .map(|(now, _)| *now as f64 / 1e3)
        .collect();
    let gap = again[1] - again[0];
    assert!(
        (gap - 100.0 / ((before - 1) as f64).sqrt()).abs() < 0.2,
        "{gap} after {before} drops"
    );
}

#[test]
fn codel_lets_a_burst_and_a_lone_packet_pass() {
    let mut bench = Bench::new(queue("codel", &[], 1_000));
    bench.put_many(90, 0, EcnCodepoint::NotEct);
    for _ in 0..90 {
        bench.now += 1_000;
        bench.take().expect("no drop within an interval");
    }
    for _ in 0..50 {
        bench.put(0, 1_500, EcnCodepoint::NotEct);
        bench.now += 50_000;
        bench.take().expect("one packet is no standing queue");
    }
    assert!(bench.dropped.is_empty());
}

#[test]
fn codel_marks_beyond_the_threshold_besides() {
    let mut bench = Bench::new(queue("codel", &[("ce_threshold", ms(1))], 1_000));
    bench.put_many(4, 0, EcnCodepoint::Ect1);
    for _ in 0..4 {
        bench.now += 500;
        bench.take();
    }
    assert_eq!(
        bench
            .left
            .iter()
            .map(|(_, packet)| packet.marked)
            .collect::<Vec<_>>(),
        [false, false, true, true]
    );
}

/// RFC 8290: bytes, not packets, are shared, whatever the flows offer.
#[test]
fn fq_codel_shares_one_to_one() {
    let mut bench = Bench::new(queue("fq_codel", &[], 10_240));
    for step in 0..60_000 {
        bench.now = step * 100;
        bench.put_many(3, 1, EcnCodepoint::NotEct);
        (0..4).for_each(|_| bench.put(2, 500, EcnCodepoint::NotEct));
        bench.take();
    }
    let bytes = |flow| -> f64 {
        bench
            .left
            .iter()
            .filter(|(_, p)| p.flow == flow)
            .map(|(_, p)| p.size.as_f64())
            .sum()
    };
    let ratio = bytes(1) / bytes(2);
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// RFC 8290 §4.2: a flow that comes back after it was empty goes first.
#[test]
fn fq_codel_sends_a_sparse_flow_first() {
    let mut bench = Bench::new(queue("fq_codel", &[], 10_240));
    for step in 0..5_000 {
        bench.now = step * 1_000;
        (0..10).for_each(|flow| bench.put(flow, 1_500, EcnCodepoint::NotEct));
        if step % 100 == 50 {
            bench.put(77, 200, EcnCodepoint::NotEct);
            assert_eq!(
                bench.take().expect("there is a backlog").flow,
                77,
                "one packet's time at most"
            );
        }
        bench.take();
    }
}

/// §4.2: flows that come back as soon as they are empty are new all the time, and yet the old one
/// has its turn. Whether a flow of `kind` that always has a packet gets its share of four beside
/// three that send the next a while after the last.
fn share_beside_new_flows(kind: &str) -> f64 {
    let mut bench = Bench::new(queue(kind, &[], 10_240));
    bench.put_many(1_000, 1, EcnCodepoint::NotEct);
    (2..5).for_each(|flow| bench.put(flow, 1_500, EcnCodepoint::NotEct));
    let mut back = None;
    for _ in 0..1_000 {
        let sent = bench.take().expect("there is a backlog").flow;
        if let Some(flow) = back.take() {
            bench.put(flow, 1_500, EcnCodepoint::NotEct);
        }
        back = (sent > 1).then_some(sent);
    }
    bench
        .left
        .iter()
        .filter(|(_, packet)| packet.flow == 1)
        .count() as f64
        / 1_000.0
}

#[test]
fn fq_codel_lets_nobody_be_new_all_the_time() {
    let share = share_beside_new_flows("fq_codel");
    assert!((0.24..0.4).contains(&share), "{share}");
}

/// §4.1: the longest queue pays for the limit, half of it or 64 packets at once.
#[test]
fn fq_codel_drops_from_the_longest() {
    let mut bench = Bench::new(queue("fq_codel", &[], 1_000));
    bench.put_many(50, 2, EcnCodepoint::NotEct);
    bench.put_many(951, 1, EcnCodepoint::NotEct);
    assert_eq!(bench.dropped.len(), 64);
    assert!(bench.dropped.iter().all(|(_, packet)| packet.flow == 1));
    assert_eq!(bench.dropped[0].1.payload, 50, "from the head");
    let mut small = Bench::new(queue("fq_codel", &[], 20));
    small.put_many(21, 1, EcnCodepoint::NotEct);
    assert_eq!(small.dropped.len(), 11, "half the bytes of 21");
}

/// RFC 8033 §4.4: nothing is dropped for 150 ms; then the delay is held at target.
#[test]
fn pie_lets_a_burst_pass_and_holds_the_target() {
    let mut bench = Bench::new(queue("pie", &[], 1_000));
    let (mut delay, mut samples) = (0.0, 0.0);
    for step in 0..60_000 {
        bench.now = step * 1_000;
        bench.put(0, 1_500, EcnCodepoint::NotEct);
        if step % 2 == 0 {
            bench.put(0, 1_500, EcnCodepoint::NotEct);
        }
        bench.take();
        if step >= 30_000 {
            (delay, samples) = (delay + bench.waited(), samples + 1.0);
        }
    }
    let first = bench.dropped[0].0;
    assert!((150_000..400_000).contains(&first), "{first} us");
    let mean = delay / samples;
    assert!((mean - 15.0).abs() < 1.5, "{mean} ms");
    let late = bench
        .dropped
        .iter()
        .filter(|(now, _)| *now >= 30_000_000)
        .count() as f64;
    assert!(
        (late / 45_000.0 - 1.0 / 3.0).abs() < 0.01,
        "a third of what arrives is too much"
    );
}

/// RFC 9332 §2.1: with a base probability of 0.1 the classic queue is marked with its square, L4S
/// with twice as much.
#[test]
fn dualpi2_squares_for_classic_and_doubles_for_l4s() {
    for (ecn, expected) in [(EcnCodepoint::Ect0, 0.01), (EcnCodepoint::Ect1, 0.2)] {
        // Without the integral part p' = beta x delay, and that stands at 100 ms.
        let options = [
            ("alpha", OptionValue::Number(0.0)),
            ("beta", OptionValue::Number(1.0)),
            (
                "step_thresh",
                OptionValue::Depth(Depth::Time(Span::from_secs(1))),
            ),
        ];
        let mut bench = Bench::new(queue("dualpi2", &options, 10_000));
        for step in 0..200_000 {
            bench.now = step * 1_000;
            bench.put(0, 1_500, ecn);
            if step >= 100 {
                bench.take();
            }
        }
        let late = bench.left.iter().filter(|(now, _)| *now > 1_000_000);
        let (all, marked) = late.fold((0.0, 0.0), |(all, marked), (_, p)| {
            (all + 1.0, marked + f64::from(u8::from(p.marked)))
        });
        let share = marked / all;
        // 199,000 draws: sigma is 0.0002 and 0.0009.
        assert!(
            (share - expected).abs() < 4.0 * (expected * (1.0 - expected) / all).sqrt(),
            "{ecn:?}: {share}"
        );
    }
}

#[test]
fn dualpi2_puts_l4s_first_and_protects_the_classic_queue() {
    let mut bench = Bench::new(queue(
        "dualpi2",
        &[
            ("alpha", OptionValue::Number(0.0)),
            ("beta", OptionValue::Number(0.0)),
        ],
        10_000,
    ));
    bench.put_many(1_000, 0, EcnCodepoint::NotEct);
    bench.put_many(1_000, 1, EcnCodepoint::Ect1);
    bench.put_many(10, 2, EcnCodepoint::Ce);
    for _ in 0..1_000 {
        bench.take();
    }
    assert_eq!(bench.left[0].1.flow, 1);
    let classic = bench
        .left
        .iter()
        .filter(|(_, packet)| packet.flow == 0)
        .count();
    assert_eq!(classic, 100, "its tenth, and no more");
}

#[test]
fn dualpi2_marks_l4s_at_a_millisecond_and_drops_it_on_overload() {
    let mut bench = Bench::new(queue("dualpi2", &[], 10_000));
    bench.put_many(3, 0, EcnCodepoint::Ect1);
    for wait in [900, 101, 1] {
        bench.now += wait;
        bench.take();
    }
    assert_eq!(
        bench
            .left
            .iter()
            .map(|(_, packet)| packet.marked)
            .collect::<Vec<_>>(),
        [false, true, true]
    );
    // Twice the link's rate of traffic that does not answer to marks.
    for step in 0..60_000 {
        bench.now += 1_000;
        bench.put_many(2, 0, EcnCodepoint::Ect1);
        bench.take();
        assert!(
            step < 10_000 || bench.queue.backlog().0 < 100,
            "{:?} wait",
            bench.queue.backlog()
        );
    }
    assert!(
        bench.dropped.len() > 50_000,
        "half of it, not before the queue"
    );
}

/// RFC 9332 A.2: on a slow link a packet alone waits longer than the threshold, behind the one that
/// is being sent.
#[test]
fn dualpi2_spares_l4s_packets_that_find_too_few_before_them() {
    for (least, marked) in [
        (0, [true, true, true]),
        (1, [false, true, true]),
        (2, [false, false, true]),
    ] {
        let mut bench = Bench::new(queue(
            "dualpi2",
            &[("min_qlen_step", OptionValue::Count(least))],
            10_000,
        ));
        bench.put_many(3, 0, EcnCodepoint::Ect1);
        for _ in 0..3 {
            bench.now += 1_200;
            bench.take();
        }
        assert_eq!(
            bench
                .left
                .iter()
                .map(|(_, packet)| packet.marked)
                .collect::<Vec<_>>(),
            marked,
            "{least}"
        );
    }
}

/// Floyd and Jacobson 1993 §4 and §7: half way from min to max p_b is half of the maximum, and from
/// mark to mark there are 1 to 1/p_b arrivals, uniformly.
#[test]
fn red_marks_with_half_the_probability_half_way() {
    let options = [
        ("min", OptionValue::Size(Bytes::new(15_000))),
        ("max", OptionValue::Size(Bytes::new(45_000))),
        ("probability", OptionValue::Number(0.02)),
        ("ecn", OptionValue::Flag(true)),
    ];
    let mut bench = Bench::new(queue("red", &options, 200));
    // 20 packets wait whenever one arrives.
    bench.put_many(20, 0, EcnCodepoint::Ect0);
    for step in 0..1_000_000 {
        bench.now = step;
        bench.put(0, 1_500, EcnCodepoint::Ect0);
        bench.take();
    }
    let marked = bench
        .left
        .iter()
        .skip(10_000)
        .filter(|(_, packet)| packet.marked);
    let numbers: Vec<u64> = marked.map(|(_, packet)| packet.payload).collect();
    let gaps: Vec<u64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert!(
        (mean - 50.5).abs() < 1.0,
        "p_b = 0.01: uniform in 1 to 100, mean {mean}"
    );
    assert!(
        (99..=100).contains(gaps.iter().max().expect("marks")),
        "{:?}",
        gaps.iter().max()
    );
    assert!(bench.dropped.is_empty());
}

#[test]
fn red_forgets_while_idle_and_drops_beyond_max() {
    let options = [
        ("min", OptionValue::Size(Bytes::new(5_000))),
        ("max", OptionValue::Size(Bytes::new(15_000))),
    ];
    let mut bench = Bench::new(queue("red", &options, 200));
    bench.put_many(200, 0, EcnCodepoint::NotEct);
    let hard = bench.dropped.len();
    assert!(hard > 100, "the average is beyond max soon: {hard}");
    while bench.take().is_some() {}
    bench.now += 1_000_000;
    bench.put_many(3, 0, EcnCodepoint::NotEct);
    assert_eq!(
        bench.dropped.len(),
        hard,
        "a second is 1500 small packets: the average is back at zero"
    );
}

#[test]
fn step_ecn_marks_what_finds_more_than_the_threshold() {
    let marked = |threshold, drop| {
        let options = [
            ("threshold", OptionValue::Depth(threshold)),
            ("drop_not_ect", OptionValue::Flag(drop)),
        ];
        let mut bench = Bench::new(queue("step_ecn", &options, 100));
        bench.put_many(8, 0, EcnCodepoint::Ect0);
        bench.put(0, 1_500, EcnCodepoint::NotEct);
        for _ in 0..9 {
            bench.now += 1_000;
            bench.take();
        }
        (
            bench.marks(),
            bench.left.iter().position(|(_, packet)| packet.marked),
            bench.dropped.len(),
        )
    };
    assert_eq!(
        marked(Depth::Packets(5), false),
        (2, Some(6), 0),
        "the seventh finds six"
    );
    assert_eq!(
        marked(Depth::Bytes(Bytes::new(7_500)), true),
        (2, Some(6), 1)
    );
    assert_eq!(
        marked(Depth::Time(Span::from_millis(5)), true),
        (3, Some(5), 1),
        "the sixth leaves after six"
    );
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
        ecn in any::<bool>(),
    ) {
        let descriptor = QUEUES.iter().find(|queue| queue.name == name).unwrap();
        let mut options = vec![];
        if ecn && descriptor.params.iter().any(|param| param.name == "ecn") {
            options.push(("ecn", OptionValue::Flag(true)));
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
                        prop_assert!(taken.is_some() || bench.queue.backlog().0 == 0, "of {} waiting none", waiting);
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
        // A flow's packets keep their order; in dualpi2 those in the same of its two queues.
        for (flow, l4s) in (0..8).flat_map(|flow| [(flow, false), (flow, true)]) {
            let is_l4s = |number: u64| name == "dualpi2" && matches!(bench.sent[number as usize], EcnCodepoint::Ect1 | EcnCodepoint::Ce);
            let of_flow = bench.left.iter().filter(|(_, packet)| packet.flow == flow);
            let numbers: Vec<u64> = of_flow.map(|(_, packet)| packet.payload).filter(|n| is_l4s(*n) == l4s).collect();
            prop_assert!(numbers.is_sorted(), "{:?}", numbers);
        }
    }
}
