//! rLEDBAT: RFC 9840. The transport's part, including the right edge of the window, is tested in
//! `crates/tcp`.

use fullpipe_cc::{Arrival, Config, ReceiverController, Registry};
use fullpipe_units::{Bytes, Span, Time};

use super::driver::SMSS;

const MS: fn(u64) -> Span = Span::from_millis;

/// A receiver on a path of 50 ms, with a sender that uses the whole advertised window.
#[derive(Debug)]
struct Bench {
    controller: Box<dyn ReceiverController>,
    now: Time,
    queue: Span,
    limited: bool,
}

impl Bench {
    fn new() -> Bench {
        let descriptor = Registry::default()
            .receiver("rledbat")
            .expect("a built-in algorithm");
        let controller = (descriptor.build)(&Config::defaults(descriptor));
        Bench {
            controller,
            now: Time::ZERO,
            queue: MS(0),
            limited: true,
        }
    }

    fn window(&self) -> f64 {
        self.controller
            .decision()
            .window
            .expect("it sets one")
            .as_f64()
            / SMSS.as_f64()
    }

    fn state(&self) -> &'static str {
        let mut row = Vec::new();
        self.controller.observe(&mut row);
        Registry::default().receiver("rledbat").unwrap().fields[0].labels[row[0] as usize]
    }

    fn arrive(&mut self, retransmit: bool) {
        let rtt = MS(50) + self.queue;
        let arrival = Arrival {
            seq: Bytes::ZERO,
            size: SMSS,
            tsval: self.now,
            tsecr: Time::ZERO,
            rtt: Some(rtt),
            srtt: rtt,
            retransmit,
            ce: false,
            limited: self.limited,
        };
        self.controller.on_arrival(self.now, &arrival);
    }

    /// Receives a round trip's worth of segments.
    fn round(&mut self) {
        let segments = self.window() as u64;
        for _ in 0..segments {
            self.now += (MS(50) + self.queue) / segments;
            self.arrive(false);
        }
    }

    /// Returns a bench in congestion avoidance, just after a slowdown.
    fn avoiding() -> Bench {
        let mut bench = Bench::new();
        while bench.window() < 60.0 {
            bench.round();
        }
        bench.queue = MS(50);
        while bench.state() == "slow_start" {
            bench.round();
        }
        bench.queue = MS(0);
        while bench.state() != "ramp" {
            bench.round();
        }
        while bench.state() == "ramp" {
            bench.round();
        }
        bench
    }
}

#[test]
fn offers_two_segments_and_then_more_by_gain() {
    let mut bench = Bench::new();
    assert_eq!(bench.window(), 2.0);
    while bench.window() < 60.0 {
        bench.round();
    }
    let before = bench.window();
    bench.round();
    // The base delay is 50 ms, so GAIN is 1/3.
    assert!(
        (bench.window() / before - 4.0 / 3.0).abs() < 0.02,
        "{}",
        bench.window() / before
    );
}

#[test]
fn grows_only_while_the_sender_uses_it() {
    let mut bench = Bench::avoiding();
    let before = bench.window();
    bench.limited = false;
    for _ in 0..10 {
        bench.round();
    }
    assert_eq!(bench.window(), before);
}

#[test]
fn a_queue_above_the_target_takes_from_the_window() {
    let mut bench = Bench::avoiding();
    bench.queue = MS(90);
    (0..10).for_each(|_| bench.arrive(false));
    let before = bench.window();
    bench.arrive(false);
    let change = (bench.window() - before) * before;
    assert!(
        (change / before + 0.5).abs() < 0.05,
        "half a window per round trip at 1.5 targets: {change} of {before}"
    );
}

#[test]
fn retransmissions_of_a_round_trip_halve_it_once() {
    let mut bench = Bench::avoiding();
    let before = bench.window();
    for _ in 0..5 {
        bench.now += MS(9);
        bench.arrive(true);
    }
    assert!(
        (bench.window() - before / 2.0).abs() < 0.01,
        "{} of {before}",
        bench.window()
    );
    bench.now += MS(18);
    bench.arrive(true);
    assert!(
        (bench.window() - before / 4.0).abs() < 0.01,
        "halved again a round trip later"
    );
}

#[test]
fn slowdowns_are_nine_times_their_length_apart() {
    let mut bench = Bench::new();
    let mut changes: Vec<(Time, &str)> = vec![(bench.now, bench.state())];
    while changes.len() < 16 {
        bench.round();
        bench.queue = MS(if bench.window() > 100.0 { 46 } else { 0 });
        if changes.last().unwrap().1 != bench.state() {
            changes.push((bench.now, bench.state()));
        }
    }
    let begins: Vec<Time> = changes
        .iter()
        .filter(|(_, state)| *state == "slowdown")
        .map(|(at, _)| *at)
        .collect();
    let ends: Vec<Time> = changes
        .windows(2)
        .filter(|pair| pair[0].1 == "ramp")
        .map(|pair| pair[1].0)
        .collect();
    assert!(begins.len() > 3);
    for (i, end) in ends.iter().enumerate().take(begins.len() - 1) {
        let (length, gap) = (*end - begins[i], begins[i + 1] - *end);
        let spacing = gap.as_secs_f64() / length.as_secs_f64();
        assert!((spacing - 9.0).abs() < 1.0, "{gap} after {length}");
    }
}
