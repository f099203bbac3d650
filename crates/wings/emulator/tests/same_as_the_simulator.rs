//! The same arrivals give the same drops, waits and departures as in the simulator, to the
//! nanosecond.

use fullpipe_cc::Registry;
use fullpipe_emulator::{
    Direction, DropCause, EmulatedPacket, Emulator, Observer, PacketKind, whole,
};
use fullpipe_path::{EcnCodepoint, Serializer};
use fullpipe_scenario::{PACKET, Scenario};
use fullpipe_trace::TraceLevel;
use fullpipe_trace::{Distribution, Histogram};
use fullpipe_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

/// Outcomes of each flow's packets.
#[derive(Default)]
struct Ends {
    waits: Vec<Histogram>,
    dropped: Vec<u64>,
    end: Time,
}

impl Observer<Time> for Ends {
    fn dropped(&mut self, at: Time, _: Option<usize>, _: DropCause, packet: &EmulatedPacket<Time>) {
        self.dropped[packet.flow as usize] += u64::from(at <= self.end);
    }

    fn delivered(&mut self, at: Time, waited: Span, packet: EmulatedPacket<Time>) {
        assert!(packet.payload <= at);
        if at <= self.end {
            self.waits[packet.flow as usize].add(waited);
        }
    }
}

/// Compares two floods, behind access links as in the simulator.
fn compare(path: &str, more: &str) {
    let route = if more.is_empty() {
        ""
    } else {
        "route = [\"bottleneck\", \"second\"]"
    };
    let flow = |rate: &str, start: &str, ecn: &str| {
        format!(
            "[[flow]]\ncc = \"none\"\napp_rate = \"{rate}\"\nstart = \"{start}\"\necn = \"{ecn}\"\n"
        )
    };
    let text = format!(
        "duration = \"4s\"\nmeasure_from = \"1s\"\n[path]\n{path}\n{more}\n{}{route}\n{}",
        flow("7.3mbit", "10ms", "ect0"),
        flow("6.1mbit", "500ms", "off"),
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let theirs = fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap()
        .summary;

    let end = Time::ZERO + scenario.duration;
    let mut arrivals = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let mut access = Serializer::new(Rate::from_bps(scenario.fastest().as_bps() * 10));
        for n in 0.. {
            let at =
                Time::ZERO + flow.start + flow.app_rate.unwrap().time_for(Bytes::new(1_448 * n));
            if at > end {
                break;
            }
            arrivals.push((access.transmit(at, PACKET).1, index as u32));
        }
    }
    arrivals.sort_unstable();
    let mut path = Emulator::new(&scenario, whole(&scenario));
    let mut ends = Ends {
        waits: vec![Histogram::default(); 2],
        dropped: vec![0; 2],
        end,
    };
    // The simulator does not count deliveries before `measure_from`.
    let from = Time::ZERO + scenario.measure_from;
    let mut begun = false;
    for (at, flow) in arrivals.into_iter().filter(|(at, _)| *at <= end) {
        if at >= from && !begun {
            path.advance(from - Span::from_nanos(1), &mut ends);
            (ends.waits, ends.dropped, begun) = (vec![Histogram::default(); 2], vec![0; 2], true);
        }
        let mut packet =
            EmulatedPacket::new(flow, Direction::Forward, PacketKind::Data, PACKET, at);
        packet.ecn = if flow == 0 {
            EcnCodepoint::Ect0
        } else {
            EcnCodepoint::NotEct
        };
        path.arrive(at, packet, &mut ends);
    }
    path.advance(end, &mut ends);
    assert_eq!(path.summaries(end), theirs.links, "{text}");
    for (flow, summary) in theirs.flows.iter().enumerate() {
        assert_eq!(
            Distribution::from(&ends.waits[flow]),
            summary.queue_delay_s,
            "{text}"
        );
        assert_eq!(ends.dropped[flow], summary.drops, "{text}");
    }
}

#[test]
fn every_queue_and_impairment_does_what_it_does_in_the_simulator() {
    let basis = "rate = \"12mbit\"\nrtt = \"30ms\"\nbuffer = \"50packets\"\n";
    for more in [
        "",
        "loss = \"2%\"\nduplicate = \"1%\"",
        "loss = \"gilbert-elliott p 1% r 30%\"\njitter = \"normal 5ms sigma 2ms\"",
        "jitter = \"10ms reorder\"",
        "jitter = \"hold 20ms every 100ms\"",
        "delay_trace = \"0s 20ms, 400ms 50ms, 700ms 5ms every 1s\"",
        "reverse_delay_trace = \"0s 5ms, 900ms 30ms\"",
        "policer = \"10mbit burst 60kB\"",
        "shaper = \"10mbit burst 60kB\"",
        "wifi = \"frames 16 overhead 500us\"",
        "suspend = \"30ms every 200ms random\"",
        "[[path.change]]\nat = \"2s\"\nrate = \"6mbit\"\nrtt = \"10ms\"\nbuffer = \"20packets\"\nloss = \"1%\"",
        "queue = \"codel\"",
        "queue = \"fq_codel\"",
        "queue = \"sfq\"",
        "queue = \"pie\"",
        "queue = \"red\"",
        "queue = \"cake\"",
        "queue = \"dualpi2\"",
        "queue = \"fq_codel\"\nshaper = \"10mbit burst 60kB\"\necn = \"strip\"",
        "queue = \"bfifo\"",
    ] {
        compare(&format!("{basis}{more}"), "");
    }
    let patterns = [
        "rate_pattern = \"walk 6mbit..20mbit step 100ms\"\nrtt = \"30ms\"\nbuffer = \"50packets\"",
        "rate_pattern = \"mahimahi 1, 2, 2, 5, 9, 10\"\nrtt = \"30ms\"\nbuffer = \"50packets\"",
    ];
    for path in patterns {
        compare(path, "");
    }
    for queue in ["pfifo", "codel"] {
        let second = format!(
            "[[link]]\nname = \"second\"\nrate = \"5mbit\"\nbuffer = \"30packets\"\ndelay = \"7ms\"\nloss = \"1%\"\nqueue = \"{queue}\"\n"
        );
        compare(basis, &second);
    }
}

/// docs/reference/metrics.md: a link's duplicates are copies of data packets.
#[test]
fn a_copy_of_an_ack_is_none_of_data() {
    let text = "duration = \"9s\"\n[path]\nrate = \"20mbit\"\nrtt = \"5ms\"\nbuffer = \"20packets\"\nduplicate = \"99.9999%\"\n\
                [[flow]]\ncc = \"cubic\"";
    let scenario = Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let mut path = Emulator::new(&scenario, whole(&scenario));
    struct Ignore;
    impl Observer<()> for Ignore {
        fn delivered(&mut self, _: Time, _: Span, _: EmulatedPacket<()>) {}
    }
    for (kind, size) in [
        (PacketKind::Data, 1_500),
        (PacketKind::Ack, 52),
        (PacketKind::Other, 60),
    ] {
        path.arrive(
            Time::ZERO,
            EmulatedPacket::new(0, Direction::Forward, kind, Bytes::new(size), ()),
            &mut Ignore,
        );
    }
    assert_eq!(path.in_flight(), 5, "two data packets, two ACKs, one SYN");
    assert_eq!(
        path.summaries(Time::ZERO + scenario.duration)[0].duplicates,
        1
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_goes_in_comes_out_is_dropped_or_is_on_its_way(
        queue in prop::sample::select(vec!["pfifo", "codel", "fq_codel", "sfq", "red", "cake"]),
        loss in 0_u32..20,
        gaps in prop::collection::vec(0_u64..2_000, 1..600),
    ) {
        #[derive(Default)]
        struct Count { delivered: usize, dropped: usize, last: Time }
        impl Observer<()> for Count {
            fn dropped(&mut self, _: Time, _: Option<usize>, _: DropCause, _: &EmulatedPacket<()>) { self.dropped += 1; }
            fn delivered(&mut self, at: Time, _: Span, _: EmulatedPacket<()>) {
                assert!(at >= self.last, "deliveries are reported in order");
                self.last = at;
                self.delivered += 1;
            }
        }
        let text = format!(
            "duration = \"9s\"\n[path]\nrate = \"20mbit\"\nrtt = \"5ms\"\nbuffer = \"20packets\"\nqueue = \"{queue}\"\n\
             loss = \"{loss}%\"\n[[flow]]\ncc = \"cubic\"\nreverse_route = [\"bottleneck\"]"
        );
        let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
        let mut path = Emulator::new(&scenario, whole(&scenario));
        let (mut now, mut count) = (0, Count::default());
        for (i, gap) in gaps.iter().enumerate() {
            now += gap * 1_000;
            let (direction, kind, size) =
                if i % 3 == 0 { (Direction::Reverse, PacketKind::Ack, 52) } else { (Direction::Forward, PacketKind::Data, 1_500) };
            path.arrive(Time::from_nanos(now), EmulatedPacket::new(0, direction, kind, Bytes::new(size), ()), &mut count);
            prop_assert_eq!(count.delivered + count.dropped + path.in_flight(), i + 1);
        }
        while let Some(at) = path.next_at() {
            path.advance(at, &mut count);
        }
        prop_assert_eq!(path.in_flight(), 0);
        prop_assert_eq!(count.delivered + count.dropped, gaps.len());
    }
}
