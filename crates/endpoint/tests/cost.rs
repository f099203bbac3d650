//! What SACK costs: a step a segment, however large the window.

mod script;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use cc::{NoProbe, RecoveryOwner};
use endpoint::{AckPolicy, Pacing, Receiver, Sender, SenderConfig};
use script::{Test, ms, segments, transfer};
use units::{Rng, Span, Time};

/// A window of `n` segments, of which every second is lost once, is sent, repaired and acknowledged; an ACK for each.
fn repair(n: u64, reordered: bool) -> Duration {
    let config = SenderConfig {
        controller: Test { logs: false, ..Test::fixed(n) },
        owner: RecoveryOwner::Own,
        app: transfer(n + 2),
        pacing: Pacing::Off,
        rng: Rng::stream(1, "test", "controller"),
    };
    let mut sender = Sender::new(config, Time::ZERO);
    let policy = AckPolicy { every: 1, delay: ms(40.0), coalesce: Span::ZERO };
    let mut receiver = Receiver::new(policy, segments(2 * n));
    let mut now = Time::ZERO;
    let mut flight = VecDeque::from([sender.syn(now)]);
    let started = clock();
    while !sender.is_done() {
        now += ms(100.0);
        assert!(now < Time::ZERO + Span::from_secs(60), "it goes on");
        let mut next = VecDeque::new();
        if reordered && flight.len() > 10 && flight[0].seq == 0 && !flight[0].retransmit {
            // Reordering once seen, every ACK looks for what may still be late.
            flight.swap(0, 2);
            flight[2].retransmit = true;
        }
        for segment in flight.drain(..).filter(|segment| segment.syn || segment.retransmit || segment.seq % 2 == 1) {
            now += Span::from_nanos(10);
            receiver.on_segment(now, &segment, |at, ack, blocks| {
                sender.on_ack(at, &ack, blocks, &mut NoProbe);
                sender.transmit(at, &mut NoProbe, |segment| next.push_back(segment));
            });
        }
        while next.is_empty() && !sender.is_done() && sender.timer_at() < Time::MAX {
            now = now.max(sender.timer_at());
            sender.on_timer(now, &mut NoProbe, |segment| next.push_back(segment));
            sender.transmit(now, &mut NoProbe, |segment| next.push_back(segment));
        }
        flight = next;
    }
    clock() - started
}

#[expect(clippy::disallowed_methods, reason = "the test measures what it costs to run, not the run")]
fn clock() -> Instant {
    Instant::now()
}

#[test]
fn a_step_a_segment() {
    for reordered in [false, true] {
        // The best of some, since others use the machine too.
        let best = |n| (0..3).map(|_| repair(n, reordered)).min().expect("three of them");
        let (small, large) = (best(12_500), best(100_000));
        // Eight times the window: 8 when linear, 64 when quadratic.
        assert!(large < small * 30, "{small:?} for 12 500, {large:?} for 100 000, reordered: {reordered}");
    }
}
