//! A large window in which every second segment is lost, with and without reordering.

use std::collections::VecDeque;

use crate::script::{Test, ms, segments, transfer};
use fullpipe_cc::{NoObserver, RecoveryOwner};
use fullpipe_tcp::{AckPolicy, Pacing, Receiver, SMSS, Sender, SenderConfig};
use fullpipe_units::{Rng, Span, Time};

/// Sends a window of `n` segments, loses every second one once, and repairs the losses; the
/// receiver acknowledges every segment. Returns the number of retransmissions.
fn repair(n: u64, reordered: bool) -> usize {
    let config = SenderConfig {
        controller: Test {
            logs: false,
            ..Test::fixed(n)
        },
        owner: RecoveryOwner::Own,
        app: transfer(n + 2),
        pacing: Pacing::Off,
        hosted: false,
        rate_interval: Span::ZERO,
        smss: SMSS,
        initial_cwnd: SMSS * 10,
        stack: fullpipe_tcp::Stack::default(),
        rng: Rng::stream(1, "test", "controller"),
    };
    let mut sender = Sender::new(config, Time::ZERO);
    let policy = AckPolicy {
        every: 1,
        quick: 16,
        delay: ms(40.0),
        coalesce: Span::ZERO,
    };
    let mut receiver = Receiver::new(policy, segments(2 * n), SMSS);
    let mut now = Time::ZERO;
    let mut flight = VecDeque::from([sender.syn(now)]);
    let mut again = 0;
    while !sender.is_done() {
        now += ms(100.0);
        assert!(
            now < Time::ZERO + Span::from_secs(60),
            "the transfer does not end"
        );
        let mut next = VecDeque::new();
        if reordered && flight.len() > 10 && flight[0].seq == 0 && !flight[0].retransmit {
            // Once reordering was seen, every ACK searches for segments that may still arrive late.
            flight.swap(0, 2);
            flight[2].retransmit = true;
        }
        for segment in flight
            .drain(..)
            .filter(|segment| segment.syn || segment.retransmit || segment.seq % 2 == 1)
        {
            now += Span::from_nanos(10);
            receiver.on_segment(now, &segment, |at, ack, blocks| {
                sender.on_ack(at, &ack, blocks, &mut NoObserver);
                sender.transmit(at, &mut NoObserver, |segment| next.push_back(segment));
            });
        }
        while next.is_empty() && !sender.is_done() && sender.timer_at() < Time::MAX {
            now = now.max(sender.timer_at());
            sender.on_timer(now, &mut NoObserver, |segment| next.push_back(segment));
            sender.transmit(now, &mut NoObserver, |segment| next.push_back(segment));
        }
        again += next.iter().filter(|segment| segment.retransmit).count();
        flight = next;
    }
    again
}

#[test]
fn each_lost_segment_is_sent_again_once() {
    for reordered in [false, true] {
        // The even segments among 0 to 20,001, except the one that arrives late.
        assert_eq!(
            repair(20_000, reordered),
            10_001 - usize::from(reordered),
            "reordered: {reordered}"
        );
    }
}
